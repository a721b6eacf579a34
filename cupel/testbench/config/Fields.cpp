#include "cupel/testbench/config/Fields.h"

#include "cupel/support/Text.h"

#include <array>
#include <cmath>
#include <limits>

namespace cupel::testbench::config {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::array<std::string_view, 2> kExecutionPasses = {"FORWARD", "BACKWARD"};

FieldInfo plain(std::string_view name, FieldMember member, std::string_view defaultText = {}) {
  return {name, member, -kInfinity, kInfinity, {}, defaultText};
}
FieldInfo number(std::string_view name, FieldMember member, double least, double most,
                 std::string_view defaultText = {}) {
  return {name, member, least, most, {}, defaultText};
}

std::string shortNumber(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", value);
  return text;
}

/// Reads one field; a visitor over what kinds there are.
struct Reader {
  const FieldInfo &field;
  const YamlNode &value;
  const std::string &file;
  Fields &fields;
  std::vector<Diagnostic> &diagnostics;

  void complain(Code code, const YamlNode &at, std::string message, std::string hint) {
    diagnostics.push_back(Diagnostic{code, info(code).severity, file, at.line, at.column,
                                     std::string(field.name) + ": " + std::move(message),
                                     std::move(hint)});
  }
  void wrongKind(const YamlNode &at, std::string_view expected, std::string hint) {
    complain(Code::WrongKind, at, "expected " + std::string(expected) + ", found " + describe(at),
             std::move(hint));
  }

  template <typename Status>
  void readStatus(std::optional<Status> Fields::*member,
                  std::optional<Status> (*parse)(std::string_view), Code unknown, size_t count) {
    std::optional<std::string_view> text = asText(value);
    if (!text)
      return wrongKind(value, "a status", "one of " + statusNames<Status>(count));
    if (std::optional<Status> status = parse(*text)) {
      fields.*member = status;
      return;
    }
    std::vector<std::string_view> candidates;
    for (size_t i = 0; i < count; ++i)
      candidates.push_back(name(Status(i)));
    std::string upper(*text);
    for (char &c : upper)
      c = c >= 'a' && c <= 'z' ? char(c - 'a' + 'A') : c;
    std::string_view near = nearestWord(upper, candidates);
    complain(unknown, value, "no status is called \"" + upToLine(*text) + "\"",
             near.empty() ? "one of " + statusNames<Status>(count)
                          : "did you mean " + std::string(near) + "?");
  }
  template <typename Status> static std::string statusNames(size_t count) {
    std::string names;
    for (size_t i = 0; i < count; ++i)
      names += (i ? ", " : "") + std::string(name(Status(i)));
    return names;
  }
  static std::string upToLine(std::string_view text) {
    std::string result(text.substr(0, 60));
    for (char &c : result)
      if (c == '\n' || c == '\r')
        c = ' ';
    return result;
  }

  bool inRange(double number) {
    if (number >= field.least && number <= field.most)
      return true;
    complain(Code::OutOfRange, value, shortNumber(number) + " is out of range",
             field.most == kInfinity
                 ? "at least " + shortNumber(field.least)
                 : "from " + shortNumber(field.least) + " to " + shortNumber(field.most));
    return false;
  }

  void operator()(std::optional<TestStatus> Fields::*member) {
    readStatus(member, parseTestStatus, Code::UnknownStatus, 5);
  }
  void operator()(std::optional<BringupStatus> Fields::*member) {
    readStatus(member, parseBringupStatus, Code::UnknownBringupStatus, 7);
  }
  void operator()(std::optional<std::string_view> Fields::*member) {
    std::optional<std::string_view> text = asText(value);
    if (!text)
      return wrongKind(value, "text",
                       value.isPlain() && !value.isNull() ? "put it in quotes"
                       : value.isNull()                   ? "write some, or leave the field out"
                                                          : "");
    if (!field.words.empty()) {
      bool known = false;
      for (std::string_view word : field.words)
        known |= word == *text;
      if (!known) {
        std::vector<std::string_view> candidates(field.words.begin(), field.words.end());
        std::string_view near = nearestWord(*text, candidates);
        std::string all;
        for (std::string_view word : field.words)
          all += (all.empty() ? "" : ", ") + std::string(word);
        return complain(Code::UnknownWord, value,
                        "\"" + upToLine(*text) + "\" is not one of its words",
                        near.empty() ? "one of " + all : "did you mean " + std::string(near) + "?");
      }
    }
    fields.*member = *text;
  }
  void operator()(std::optional<std::vector<std::string_view>> Fields::*member) {
    if (!value.isSequence())
      return wrongKind(value, "a list of words", "write it as [first, second]");
    std::vector<std::string_view> words;
    for (const YamlNode &item : value.items) {
      std::optional<std::string_view> text = asText(item);
      if (!text)
        return wrongKind(item, "a word in the list", item.isPlain() ? "put it in quotes" : "");
      words.push_back(*text);
    }
    fields.*member = std::move(words);
  }
  void operator()(std::optional<double> Fields::*member) {
    std::optional<double> parsed = asNumber(value);
    if (!parsed)
      return wrongKind(value, "a number",
                       value.isScalar() && !value.isPlain() ? "leave the quotes out" : "");
    if (inRange(*parsed))
      fields.*member = parsed;
  }
  void operator()(std::optional<bool> Fields::*member) {
    std::optional<bool> parsed = asBool(value);
    if (!parsed)
      return wrongKind(value, "true or false",
                       value.isScalar() && !value.isPlain() ? "leave the quotes out" : "");
    fields.*member = parsed;
  }
  void operator()(std::optional<int64_t> Fields::*member) {
    std::optional<int64_t> parsed = asInteger(value);
    if (!parsed)
      return wrongKind(value, "a whole number",
                       value.isScalar() && !value.isPlain() ? "leave the quotes out" : "");
    if (inRange(double(*parsed)))
      fields.*member = parsed;
  }
};

} // namespace

std::span<const FieldInfo> fieldTable() {
  // In the order in which a new entry is written.
  static const std::array<FieldInfo, 19> kTable = {
      plain("supported_archs", &Fields::supportedArchs, "[n150, p150]"),
      plain("status", &Fields::status, "UNSPECIFIED"),
      plain("bringup_status", &Fields::bringupStatus),
      plain("reason", &Fields::reason),
      plain("markers", &Fields::markers, "[]"),
      number("required_pcc", &Fields::requiredPcc, -1, 1, "0.99"),
      plain("assert_pcc", &Fields::assertPcc, "true"),
      number("required_atol", &Fields::requiredAtol, 0, kInfinity),
      plain("assert_atol", &Fields::assertAtol, "false"),
      plain("assert_allclose", &Fields::assertAllclose, "false"),
      number("allclose_rtol", &Fields::allcloseRtol, 0, kInfinity),
      number("allclose_atol", &Fields::allcloseAtol, 0, kInfinity),
      number("batch_size", &Fields::batchSize, 1, kInfinity),
      FieldInfo{"execution_pass", &Fields::executionPass, 0, 0, kExecutionPasses, {}},
      plain("filechecks", &Fields::filechecks, "[]"),
      plain("enable_weight_bfp8_conversion", &Fields::enableWeightBfp8Conversion, "false"),
      number("optimization_level", &Fields::optimizationLevel, 0, 2),
      plain("inject_custom_moe", &Fields::injectCustomMoe, "false"),
      plain("emitpy_assert_exact", &Fields::emitpyAssertExact, "false"),
  };
  return kTable;
}

const FieldInfo *findField(std::string_view name) {
  for (const FieldInfo &field : fieldTable())
    if (field.name == name)
      return &field;
  return nullptr;
}

bool FieldInfo::isSet(const Fields &fields) const {
  return std::visit([&](auto m) { return (fields.*m).has_value(); }, member);
}

bool FieldInfo::isEqual(const Fields &a, const Fields &b) const {
  return std::visit([&](auto m) { return a.*m == b.*m; }, member);
}

void FieldInfo::assign(Fields &to, const Fields &from) const {
  std::visit([&](auto m) { to.*m = from.*m; }, member);
}

bool FieldInfo::isDefault(const Fields &fields) const {
  if (!isSet(fields) || defaultText.empty())
    return false;
  static const std::vector<std::string_view> kArchs = {"n150", "p150"};
  if (const auto *m = std::get_if<std::optional<TestStatus> Fields::*>(&member))
    return *(fields.**m) == TestStatus::Unspecified;
  if (const auto *m = std::get_if<std::optional<std::vector<std::string_view>> Fields::*>(&member))
    return (fields.**m)->empty() || (*m == &Fields::supportedArchs && *(fields.**m) == kArchs);
  if (const auto *m = std::get_if<std::optional<bool> Fields::*>(&member))
    return *(fields.**m) == (defaultText == "true");
  if (const auto *m = std::get_if<std::optional<double> Fields::*>(&member))
    return shortNumber(*(fields.**m)) == defaultText;
  return false;
}

void Fields::overrideWith(const Fields &other) {
  for (const FieldInfo &field : fieldTable())
    if (field.isSet(other))
      field.assign(*this, other);
}

void readField(const FieldInfo &field, const YamlNode &value, const std::string &file,
               Fields &fields, std::vector<Diagnostic> &diagnostics) {
  std::visit(Reader{field, value, file, fields, diagnostics}, field.member);
}

} // namespace cupel::testbench::config
