#include "cupel/testbench/triage/Reasons.h"

#include "cupel/support/Files.h"
#include "cupel/support/Process.h"
#include "cupel/support/Text.h"
#include "cupel/testbench/config/Yaml.h"
#include "cupel/testbench/triage/Predicate.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <re2/re2.h>

namespace cupel::testbench::triage {
namespace {

using config::YamlNode;
using results::Outcome;
using results::Stage;

/// Texts are looked at up to this much, from their end.
constexpr size_t kMostText = size_t{1} << 20;
constexpr size_t kMostSummary = 300;

constexpr std::string_view kChecks[] = {"pcc", "pcc-nan", "pcc-not-asserted", "atol", "allclose",
                                          "noise"};

struct Check {
  std::vector<Outcome> outcomes;
  std::vector<Stage> stages;
  std::vector<int64_t> signals;
  std::vector<std::string> checks, testStatuses;
  std::vector<Predicate> error, message, output, text;
};

struct Reason {
  std::string name, description, component;
  bool general = false;
  std::vector<Check> checks; ///< Any one suffices; a reason without any is only ever given by name.
  std::vector<std::unique_ptr<re2::RE2>> summaries;
};

struct Component {
  std::string name;
  std::vector<Check> checks;
};

struct WrongTable {
  std::string message;
};

/// Reads one file into reasons and components; throws WrongTable inside this file.
class TableReader {
public:
  explicit TableReader(std::string file) : file(std::move(file)) {}

  std::vector<Reason> reasons;
  std::vector<Component> components;

  void read(const YamlNode &root) {
    if (!root.isMapping())
      fail(root, "expected the sections reasons: and components:, found " + describe(root));
    eachField(root, {"reasons", "components"}, [&](const std::string &key, const YamlNode &value) {
      for (const YamlNode &item : listOf(value, key))
        key == "reasons" ? readReason(item) : readComponent(item);
    });
  }

private:
  [[noreturn]] void fail(const YamlNode &node, const std::string &message) const {
    throw WrongTable{file + ":" + std::to_string(node.line) + ":" + std::to_string(node.column) +
                     ": " + message};
  }

  std::string text(const YamlNode &node, const std::string &what) const {
    // A number or a word like `null` is as good a text as any here.
    if (!node.isScalar() || (node.isPlain() && node.text.empty()))
      fail(node, what + " should be a text, found " + describe(node));
    return std::string(node.text);
  }

  const std::vector<YamlNode> &listOf(const YamlNode &node, const std::string &what) const {
    if (!node.isSequence())
      fail(node, what + " should be a list, found " + describe(node));
    return node.items;
  }

  /// One text or a list of them.
  std::vector<const YamlNode *> oneOrMore(const YamlNode &node) const {
    std::vector<const YamlNode *> nodes;
    if (node.isSequence())
      for (const YamlNode &item : node.items)
        nodes.push_back(&item);
    else
      nodes.push_back(&node);
    return nodes;
  }

  template <typename Visit>
  void eachField(const YamlNode &node, std::vector<std::string_view> known, Visit &&visit) const {
    std::map<std::string, uint32_t> seen;
    for (size_t i = 0; i < node.pairCount(); ++i) {
      std::string key = text(node.key(i), "a field's name");
      if (std::find(known.begin(), known.end(), key) == known.end()) {
        std::string_view nearest = nearestWord(key, known);
        fail(node.key(i), key + ": unknown field" +
                              (nearest.empty() ? std::string()
                                               : "; did you mean " + std::string(nearest) + "?"));
      }
      if (auto [entry, added] = seen.emplace(key, node.key(i).line); !added)
        fail(node.key(i), key + ": is there already, in line " + std::to_string(entry->second));
      visit(key, node.value(i));
    }
  }

  std::unique_ptr<re2::RE2> regex(const YamlNode &node) const {
    std::string pattern = text(node, "a regular expression");
    re2::RE2::Options options;
    options.set_log_errors(false);
    options.set_encoding(re2::RE2::Options::EncodingLatin1); // Output may hold any bytes.
    auto compiled = std::make_unique<re2::RE2>("(?m)" + pattern, options);
    if (!compiled->ok()) {
      std::string error = compiled->error();
      if (size_t ours = error.find("(?m)"); ours != std::string::npos)
        error.erase(ours, 4);
      fail(node, "not a regular expression (RE2 syntax): " + error);
    }
    return compiled;
  }

  std::vector<Predicate> predicates(const YamlNode &node) const {
    std::vector<Predicate> list;
    for (const YamlNode *item : oneOrMore(node))
      list.push_back(predicate(*item));
    if (list.empty())
      fail(node, "an empty list of predicates");
    return list;
  }

  Predicate predicate(const YamlNode &node) const {
    Predicate result;
    if (!node.isMapping()) {
      result.text = text(node, "a predicate");
      return result;
    }
    eachField(
        node,
        {"contains", "starts-with", "equals", "regex", "any-of", "all-of", "not", "last-line"},
        [&](const std::string &key, const YamlNode &value) {
          Predicate part;
          if (key == "regex") {
            part.kind = Predicate::Kind::Regex;
            part.regex = regex(value);
          } else if (key == "contains" || key == "starts-with" || key == "equals") {
            part.kind = key == "contains"      ? Predicate::Kind::Contains
                        : key == "starts-with" ? Predicate::Kind::StartsWith
                                               : Predicate::Kind::Equals;
            part.text = text(value, key);
          } else {
            part.kind = key == "any-of"   ? Predicate::Kind::AnyOf
                        : key == "all-of" ? Predicate::Kind::AllOf
                        : key == "not"    ? Predicate::Kind::Not
                                          : Predicate::Kind::LastLine;
            part.parts = predicates(value);
          }
          result.parts.push_back(std::move(part));
        });
    if (result.parts.empty())
      fail(node, "an empty predicate");
    if (result.parts.size() == 1) {
      Predicate only = std::move(result.parts.front());
      return only;
    }
    result.kind = Predicate::Kind::AllOf;
    return result;
  }

  /// Words out of a fixed set.
  template <typename Parse>
  void words(const YamlNode &node, const std::string &what, std::vector<std::string_view> known,
             Parse &&parse) const {
    for (const YamlNode *item : oneOrMore(node)) {
      std::string word = text(*item, what);
      if (parse(word))
        continue;
      std::string_view nearest = nearestWord(word, known);
      std::string all;
      for (std::string_view name : known)
        all += (all.empty() ? "" : ", ") + std::string(name);
      fail(*item, word + ": unknown " + what +
                      (nearest.empty() ? "; there are " + all
                                       : "; did you mean " + std::string(nearest) + "?"));
    }
  }

  Check check(const YamlNode &node) const {
    if (!node.isMapping())
      fail(node, "a check should name what must hold (message: ...), found " + describe(node));
    Check result;
    std::vector<std::string_view> outcomes, stages;
    for (size_t i = 0; i <= size_t(Outcome::NotRun); ++i)
      outcomes.push_back(name(Outcome(i)));
    for (size_t i = 0; i <= size_t(Stage::Done); ++i)
      stages.push_back(name(Stage(i)));
    eachField(
        node,
        {"outcome", "stage", "signal", "check", "status", "error", "message", "output", "text"},
        [&](const std::string &key, const YamlNode &value) {
          if (key == "outcome") {
            words(value, key, outcomes, [&](const std::string &word) {
              auto parsed = results::parseOutcome(word);
              if (parsed)
                result.outcomes.push_back(*parsed);
              return parsed.has_value();
            });
          } else if (key == "stage") {
            words(value, key, stages, [&](const std::string &word) {
              auto parsed = results::parseStage(word);
              if (parsed)
                result.stages.push_back(*parsed);
              return parsed.has_value();
            });
          } else if (key == "check") {
            std::vector<std::string_view> known(std::begin(kChecks), std::end(kChecks));
            words(value, key, known, [&](const std::string &word) {
              result.checks.push_back(word);
              return std::find(known.begin(), known.end(), word) != known.end();
            });
          } else if (key == "signal") {
            for (const YamlNode *item : oneOrMore(value)) {
              std::optional<int64_t> number = asInteger(*item);
              if (!number || *number < 1 || *number > 64)
                fail(*item, "signal should be a number from 1 to 64, found " + describe(*item));
              result.signals.push_back(*number);
            }
          } else if (key == "status") {
            for (const YamlNode *item : oneOrMore(value))
              result.testStatuses.push_back(text(*item, key));
          } else if (key == "error") {
            result.error = predicates(value);
            // A class is named whole unless a predicate says otherwise.
            for (Predicate &each : result.error)
              if (each.kind == Predicate::Kind::Contains && value.isScalar())
                each.kind = Predicate::Kind::Equals;
          } else if (key == "message") {
            result.message = predicates(value);
          } else if (key == "output") {
            result.output = predicates(value);
          } else {
            result.text = predicates(value);
          }
        });
    return result;
  }

  std::vector<Check> checks(const YamlNode &node) const {
    std::vector<Check> list;
    for (const YamlNode *item : oneOrMore(node))
      list.push_back(check(*item));
    return list;
  }

  void readReason(const YamlNode &node) {
    if (!node.isMapping())
      fail(node, "a reason should be a mapping with name:, found " + describe(node));
    Reason reason;
    eachField(node, {"name", "description", "component", "general", "when", "summary"},
              [&](const std::string &key, const YamlNode &value) {
                if (key == "name") {
                  reason.name = text(value, key);
                } else if (key == "description") {
                  reason.description = text(value, key);
                } else if (key == "component") {
                  reason.component = text(value, key);
                } else if (key == "general") {
                  std::optional<bool> flag = asBool(value);
                  if (!flag)
                    fail(value, "general should be true or false, found " + describe(value));
                  reason.general = *flag;
                } else if (key == "when") {
                  reason.checks = checks(value);
                } else {
                  for (const YamlNode *item : oneOrMore(value)) {
                    reason.summaries.push_back(regex(*item));
                    if (reason.summaries.back()->NumberOfCapturingGroups() < 1)
                      fail(*item, "a summary needs a group (...) that is the summary");
                  }
                }
              });
    if (reason.name.empty())
      fail(node, "a reason without name:");
    if (auto [entry, added] = lines.emplace(reason.name, node.line); !added)
      fail(node, reason.name + ": is there already, in line " + std::to_string(entry->second));
    reasons.push_back(std::move(reason));
  }

  void readComponent(const YamlNode &node) {
    if (!node.isMapping())
      fail(node, "a component should be a mapping with name: and when:, found " + describe(node));
    Component component;
    eachField(node, {"name", "when"}, [&](const std::string &key, const YamlNode &value) {
      if (key == "name")
        component.name = text(value, key);
      else
        component.checks = checks(value);
    });
    if (component.name.empty() || component.checks.empty())
      fail(node, "a component needs name: and when:");
    components.push_back(std::move(component));
  }

  std::string file;
  std::map<std::string, uint32_t> lines;
};

/// The texts of one test, cut and cleaned once for all reasons, when the first of them asks.
class Texts {
public:
  explicit Texts(const Evidence &evidence) : evidence(evidence) {}
  const std::string &message() { return ready().messageText; }
  const std::string &output() { return ready().outputText; }
  const std::string &both() { return ready().bothTexts; }

private:
  Texts &ready() {
    if (made)
      return *this;
    auto tail = [](std::string_view text) {
      return text.substr(text.size() - std::min(text.size(), kMostText));
    };
    messageText = withoutColours(tail(evidence.message));
    outputText = withoutColours(tail(evidence.output));
    bothTexts = messageText + "\n" + outputText;
    made = true;
    return *this;
  }

  const Evidence &evidence;
  bool made = false;
  std::string messageText, outputText, bothTexts;
};

bool allHold(const std::vector<Predicate> &predicates, std::string_view text) {
  return std::all_of(predicates.begin(), predicates.end(),
                     [&](const Predicate &predicate) { return predicate.holds(text); });
}

template <typename List, typename T> bool holds(const List &list, const T &value) {
  return std::find(std::begin(list), std::end(list), value) != std::end(list);
}

bool matches(const Check &check, const Evidence &evidence, Texts &texts) {
  if (check.outcomes.empty() ? !results::needsReason(evidence.outcome)
                             : !holds(check.outcomes, evidence.outcome))
    return false;
  if (!check.stages.empty() && !holds(check.stages, evidence.stage))
    return false;
  if (!check.signals.empty() &&
      !(evidence.signal && holds(check.signals, int64_t(*evidence.signal))))
    return false;
  if (!check.checks.empty() &&
      std::none_of(check.checks.begin(), check.checks.end(),
                   [&](const std::string &name) { return holds(evidence.checks, name); }))
    return false;
  if (!check.testStatuses.empty() && !holds(check.testStatuses, evidence.testStatus))
    return false;
  // What was not captured supports nothing, not even a negation.
  if (!check.output.empty() && texts.output().empty())
    return false;
  return allHold(check.error, evidence.errorClass) &&
         (check.message.empty() || allHold(check.message, texts.message())) &&
         (check.output.empty() || allHold(check.output, texts.output())) &&
         (check.text.empty() || allHold(check.text, texts.both()));
}

bool anyMatches(const std::vector<Check> &checks, const Evidence &evidence, Texts &texts) {
  return std::any_of(checks.begin(), checks.end(),
                     [&](const Check &check) { return matches(check, evidence, texts); });
}

std::string summaryOf(const Reason &reason, Texts &texts) {
  for (const auto &regex : reason.summaries) {
    re2::StringPiece found;
    if (!re2::RE2::PartialMatch(texts.both(), *regex, &found))
      continue;
    std::string text(found.data(), found.size());
    std::replace_if(
        text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
    return text.substr(0, kMostSummary);
  }
  return "";
}

} // namespace

struct ReasonTable::Impl {
  std::vector<Reason> reasons;
  std::vector<Component> components;

  const Reason *find(std::string_view name) const {
    for (const Reason &reason : reasons)
      if (reason.name == name)
        return &reason;
    return nullptr;
  }
};

ReasonTable::ReasonTable() : impl(std::make_unique<Impl>()) {}
ReasonTable::ReasonTable(ReasonTable &&) noexcept = default;
ReasonTable &ReasonTable::operator=(ReasonTable &&) noexcept = default;
ReasonTable::~ReasonTable() = default;

Status ReasonTable::add(std::string_view yaml, const std::string &name) {
  std::vector<config::Diagnostic> diagnostics;
  config::YamlFile file(name, std::string(yaml), diagnostics);
  for (const config::Diagnostic &diagnostic : diagnostics)
    if (diagnostic.severity == config::Severity::Error)
      return Error{render(diagnostic)};
  if (!file.root())
    return Status(); // An empty file adds nothing.
  TableReader reader(name);
  try {
    reader.read(*file.root());
  } catch (const WrongTable &wrong) {
    return Error{wrong.message};
  }
  for (Reason &reason : reader.reasons) {
    auto same = std::find_if(impl->reasons.begin(), impl->reasons.end(),
                             [&](const Reason &other) { return other.name == reason.name; });
    if (same == impl->reasons.end())
      impl->reasons.push_back(std::move(reason));
    else
      *same = std::move(reason);
  }
  for (Component &component : reader.components) {
    auto same = std::find_if(impl->components.begin(), impl->components.end(),
                             [&](const Component &other) { return other.name == component.name; });
    if (same == impl->components.end())
      impl->components.push_back(std::move(component));
    else
      *same = std::move(component);
  }
  return {};
}

Result<ReasonTable> ReasonTable::parse(std::string_view yaml, const std::string &name) {
  ReasonTable table;
  if (Status status = table.add(yaml, name); !status)
    return status.error();
  return table;
}

Result<ReasonTable> ReasonTable::load(std::span<const std::string> files) {
  ReasonTable table;
  for (const std::string &path : files) {
    Result<FileContents> contents = readInput(path, config::YamlFile::kMaxBytes);
    if (!contents)
      return contents.error();
    if (Status status = table.add(contents->bytes(), path); !status)
      return status.error();
  }
  table.addErrorCodes();
  return table;
}

void ReasonTable::addErrorCodes() {
  for (const ErrorCodeInfo &code : errorCodes()) {
    Evidence bare;
    bare.errorClass = code.name;
    if (!match(bare).empty())
      continue;
    Reason reason;
    for (char c : code.name)
      reason.name += char(std::toupper(static_cast<unsigned char>(c)));
    reason.description = code.meaning;
    reason.general = true;
    Predicate &isCode = reason.checks.emplace_back().error.emplace_back();
    isCode.kind = Predicate::Kind::Equals;
    isCode.text = code.name;
    impl->reasons.push_back(std::move(reason));
  }
}

std::vector<results::ReasonRecord> ReasonTable::match(const Evidence &evidence) const {
  Texts texts(evidence);
  std::vector<results::ReasonRecord> found;
  for (bool general : {false, true})
    for (const Reason &reason : impl->reasons) {
      if (general && !found.empty())
        return found; // Special ones, or the first of the general.
      if (reason.general == general && anyMatches(reason.checks, evidence, texts))
        found.push_back({reason.name, reason.description,
                         reason.component.empty() ? component(evidence) : reason.component,
                         summaryOf(reason, texts)});
    }
  return found;
}

std::string ReasonTable::component(const Evidence &evidence) const {
  Texts texts(evidence);
  for (const Component &component : impl->components)
    if (anyMatches(component.checks, evidence, texts))
      return component.name;
  return "";
}

size_t ReasonTable::size() const { return impl->reasons.size(); }

std::vector<std::string> ReasonTable::names() const {
  std::vector<std::string> names;
  for (const Reason &reason : impl->reasons)
    names.push_back(reason.name);
  return names;
}

std::string ReasonTable::description(std::string_view name) const {
  const Reason *reason = impl->find(name);
  return reason ? reason->description : "";
}

std::string defaultReasonsFile() {
  namespace fs = std::filesystem;
  fs::path bin = executableFolder();
  std::error_code error;
  // An installation, or the source tree around a build folder (one deeper for unit tests).
  for (const char *place :
       {"../share/cupel/reasons.yaml", "../../zoo/reasons.yaml", "../../../zoo/reasons.yaml"}) {
    fs::path path = (bin / place).lexically_normal();
    if (fs::is_regular_file(path, error))
      return path;
  }
  return "";
}

} // namespace cupel::testbench::triage
