#include "cupel/testbench/triage/Causes.h"

#include "cupel/results/Explanation.h"
#include "cupel/results/report/Text.h"

#include <algorithm>
#include <re2/re2.h>

namespace cupel::testbench::triage {

using results::TestRecord;

namespace {

std::string_view noteOf(const TestRecord &record, const char *key) {
  auto found = record.notes.find(key);
  return found == record.notes.end() ? std::string_view() : std::string_view(found->second);
}

std::vector<std::string> split(std::string_view text, std::string_view between) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    size_t end = std::min(text.find(between), text.size());
    if (end)
      parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + between.size(), text.size()));
  }
  return parts;
}

/// Splits at commas outside of brackets and quotes.
std::vector<std::string> splitList(std::string_view text) {
  std::vector<std::string> parts(1);
  int depth = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '"' && (i == 0 || text[i - 1] != '\\'))
      quoted = !quoted;
    else if (!quoted && std::string_view("([{<").find(c) != std::string_view::npos)
      ++depth;
    else if (!quoted && std::string_view(")]}>").find(c) != std::string_view::npos &&
             !(c == '>' && i && text[i - 1] == '-'))
      --depth;
    if (c == ',' && depth == 0 && !quoted)
      parts.emplace_back();
    else if (c != ' ' || !parts.back().empty())
      parts.back() += c;
  }
  if (parts.back().empty())
    parts.pop_back();
  return parts;
}

/// Element types, ranks and shapes of all tensors in a text of types.
void addTypes(const GuiltyForm &form, const std::string &prefix, Properties &properties) {
  static const re2::RE2 kTensor(R"(tensor<((?:[\d?]+x)*)([a-zA-Z][\w.:!<>]*?)(?:, [^>]*)?>)");
  re2::StringPiece rest(form.types);
  std::string sizes, element;
  std::vector<std::string> types, ranks;
  auto add = [](std::vector<std::string> &list, std::string one) {
    if (std::ranges::find(list, one) == list.end())
      list.push_back(std::move(one));
  };
  while (re2::RE2::FindAndConsume(&rest, kTensor, &sizes, &element)) {
    add(types, element);
    add(ranks, std::to_string(std::ranges::count(sizes, 'x')));
  }
  auto joined = [](const std::vector<std::string> &list) {
    std::string text;
    for (const std::string &one : list)
      text += (text.empty() ? "" : ", ") + one;
    return text;
  };
  if (!types.empty()) {
    properties[prefix + "type"] = joined(types);
    properties[prefix + "rank"] = joined(ranks);
  }
  properties[prefix + "shapes"] = form.types;
}

} // namespace

std::vector<GuiltyForm> guiltyFormsOf(const TestRecord &record) {
  static const re2::RE2 kForm(R"((?s)^([\w.]+)(?: \{(.*)\})? : (\(.*)$)");
  // One line by older runs: `NAME (PLACE) : (TYPES) -> TYPES alone is wrong: ...`.
  static const re2::RE2 kExplained(R"(^([\w.]+) \(.*?\) : (\(.*?\) -> .*?) alone is wrong)");
  std::vector<GuiltyForm> forms;
  if (std::string_view text = noteOf(record, "explanation"); !text.empty())
    if (Result<results::Explanation> found = results::explanationFromJson(text))
      for (const results::Explanation::Operation &one : found->operations)
        forms.push_back({one.name, one.attributes, one.types});
  if (!forms.empty())
    return forms;
  for (const std::string &line : split(noteOf(record, "guilty form"), "\n")) {
    GuiltyForm form;
    if (re2::RE2::FullMatch(line, kForm, &form.name, &form.attributes, &form.types))
      forms.push_back(std::move(form));
  }
  std::string_view explained = noteOf(record, "explained");
  GuiltyForm form;
  if (forms.empty() && re2::RE2::PartialMatch(re2::StringPiece(explained.data(), explained.size()),
                                              kExplained, &form.name, &form.types))
    forms.push_back(std::move(form));
  return forms;
}

std::string_view name(Cause::Kind kind) {
  switch (kind) {
  case Cause::Kind::Operation:
    return "operation";
  case Cause::Kind::Reason:
    return "reason";
  case Cause::Kind::Message:
    return "message";
  }
  return "";
}

std::string messageShape(std::string_view message) {
  struct Rule {
    re2::RE2 pattern;
    const char *with;
  };
  // In this order: what comes first may hold what comes later.
  static const Rule kRules[] = {
      {re2::RE2("\x1b\\[[0-9;]*[A-Za-z]"), ""},
      {re2::RE2(R"('[^'\n]*'|"[^"\n]*"|`[^`\n]*`)"), "'...'"},
      {re2::RE2(R"(\b0x[0-9a-fA-F]+\b|\b[0-9a-f]{12,}\b)"), "ADDRESS"},
      {re2::RE2(R"((?:[A-Za-z]:)?(?:~|\.{0,2})/[\w.+@%/-]+|\b[\w.-]+(?:/[\w.+@%-]+)+)"), "PATH"},
      {re2::RE2(R"(\btensor<[^\n>]*>|\b(?:\d+x)+[a-z]\w*\b|\b\d+(?:x\d+)+\b)"), "SHAPE"},
      {re2::RE2(R"([\[(]\s*-?\d+(?:\s*,\s*-?\d+)*\s*,?\s*[\])])"), "SHAPE"},
      {re2::RE2(R"([-+]?\b\d+(?:\.\d+)?(?:[eE][-+]?\d+)?\b|\bnan\b|\binf\b)"), "N"},
      {re2::RE2(R"(\s+)"), " "},
  };
  std::string text(message.substr(0, message.find('\n')));
  for (const Rule &rule : kRules)
    re2::RE2::GlobalReplace(&text, rule.pattern, rule.with);
  return results::cutTo(text, 160);
}

std::vector<Cause> causesOf(const TestRecord &record) {
  if (!results::isFailure(record.outcome) &&
      results::familyOf(record.outcome) != results::Family::KnownFailure)
    return {};
  if (std::string_view guilty = noteOf(record, "guilty"); !guilty.empty()) {
    std::string together;
    for (const std::string &operation : split(guilty, ", "))
      together += (together.empty() ? "" : " + ") + operation;
    return {{Cause::Kind::Operation, together}};
  }
  std::vector<Cause> causes;
  for (const results::ReasonRecord &reason : record.reasons)
    if (reason.name != "UNCLASSIFIED")
      causes.push_back({Cause::Kind::Reason, reason.name});
  if (causes.empty()) {
    const std::string &text = record.reasons.empty() || record.reasons.front().summary.empty()
                                  ? record.message
                                  : record.reasons.front().summary;
    causes.push_back({Cause::Kind::Message, text.empty() ? "(no message)" : messageShape(text)});
  }
  std::ranges::sort(causes);
  causes.erase(std::unique(causes.begin(), causes.end()), causes.end());
  return causes;
}

Properties propertiesOf(const TestRecord &record) {
  Properties properties;
  std::vector<GuiltyForm> forms = guiltyFormsOf(record);
  for (const GuiltyForm &form : forms) {
    std::string prefix = forms.size() == 1 ? "" : form.name + " ";
    addTypes(form, prefix, properties);
    for (const std::string &attribute : splitList(form.attributes)) {
      size_t equals = attribute.find(" = ");
      properties[prefix + attribute.substr(0, equals)] =
          equals == std::string::npos ? "set" : attribute.substr(equals + 3);
    }
  }
  return properties;
}

Properties sharedProperties(std::span<const Properties *const> all) {
  if (all.empty())
    return {};
  Properties shared = *all.front();
  for (const Properties *other : all.subspan(1))
    std::erase_if(shared, [&](const auto &one) {
      auto found = other->find(one.first);
      return found == other->end() || found->second != one.second;
    });
  return shared;
}

} // namespace cupel::testbench::triage
