#include "cupel/results/store/RecordColumns.h"

#include "cupel/results/store/PlainText.h"

#include <charconv>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <limits>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace cupel::results {
namespace {

/// Reads JSON from left to right. Every member returns false at the first thing that is not JSON, or
/// not of the kind that was asked for.
class Scanner {
public:
  explicit Scanner(std::string_view text) : begin(text.data()), at(begin), end(begin + text.size()) {}

  bool isAtEnd() {
    space();
    return at == end;
  }
  size_t position() const { return size_t(at - begin); }
  /// Places of `\u0000`, which no database keeps.
  std::vector<size_t> nulls;

  /// The contents, or nothing where null; escapes are resolved.
  bool text(std::string *into);
  /// A number, or one of the words nan, inf and -inf.
  bool real(double &into);
  bool integer(uint64_t &into);
  bool boolean(bool &into);
  /// Any value.
  bool skip(int depth = 0);
  /// An object; `member` gets each name and must read its value.
  template <typename Member> bool object(Member &&member) {
    if (!take('{'))
      return false;
    if (take('}'))
      return true;
    std::string name;
    do {
      name.clear();
      if (!text(&name) || !take(':') || !member(name))
        return false;
    } while (take(','));
    return take('}');
  }
  template <typename Element> bool list(Element &&element) {
    if (!take('['))
      return false;
    if (take(']'))
      return true;
    do {
      if (!element())
        return false;
    } while (take(','));
    return take(']');
  }

private:
  void space() {
    while (at != end && (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r'))
      ++at;
  }
  bool take(char c) {
    space();
    if (at == end || *at != c)
      return false;
    ++at;
    return true;
  }
  bool word(std::string_view expected) {
    if (size_t(end - at) < expected.size() ||
        std::string_view(at, expected.size()) != expected)
      return false;
    at += expected.size();
    return true;
  }
  bool digits() {
    const char *first = at;
    while (at != end && *at >= '0' && *at <= '9')
      ++at;
    return at != first;
  }
  /// Over the characters of a number, by JSON's grammar.
  bool number();
  bool hex(uint32_t &code);
  bool escape(std::string *into);

  const char *begin, *at, *end;
};

bool Scanner::hex(uint32_t &code) {
  if (end - at < 4)
    return false;
  auto [stop, error] = std::from_chars(at, at + 4, code, 16);
  if (error != std::errc() || stop != at + 4)
    return false;
  at += 4;
  return true;
}

/// Behind the backslash.
bool Scanner::escape(std::string *into) {
  if (at == end)
    return false;
  char c = *at++;
  if (c != 'u') {
    constexpr std::string_view kNames = "\"\\/bfnrt", kMeanings = "\"\\/\b\f\n\r\t";
    size_t which = kNames.find(c);
    if (which == std::string_view::npos)
      return false;
    if (into)
      *into += kMeanings[which];
    return true;
  }
  uint32_t code = 0;
  if (!hex(code))
    return false;
  if (code == 0) {
    nulls.push_back(position() - 6);
    code = 0xfffd;
  }
  if (code >= 0xdc00 && code < 0xe000)
    return false;
  if (code >= 0xd800 && code < 0xdc00) {
    uint32_t low = 0;
    if (!word("\\u") || !hex(low) || low < 0xdc00 || low >= 0xe000)
      return false;
    code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
  }
  if (!into)
    return true;
  auto put = [&](uint32_t byte) { *into += char(byte); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xc0 | code >> 6), put(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    put(0xe0 | code >> 12), put(0x80 | (code >> 6 & 0x3f)), put(0x80 | (code & 0x3f));
  } else {
    put(0xf0 | code >> 18), put(0x80 | (code >> 12 & 0x3f)), put(0x80 | (code >> 6 & 0x3f)),
        put(0x80 | (code & 0x3f));
  }
  return true;
}

bool Scanner::text(std::string *into) {
  if (!take('"'))
    return false;
  while (true) {
    const char *first = at;
    while (at != end && *at != '"' && *at != '\\' && static_cast<unsigned char>(*at) >= 0x20)
      ++at;
    if (into)
      into->append(first, at);
    if (at == end || static_cast<unsigned char>(*at) < 0x20)
      return false;
    if (*at++ == '"')
      return true;
    if (!escape(into))
      return false;
  }
}

bool Scanner::number() {
  word("-");
  const char *first = at;
  if (!digits() || (*first == '0' && at - first > 1))
    return false;
  if (word(".") && !digits())
    return false;
  if (at != end && (*at == 'e' || *at == 'E')) {
    ++at;
    if (at != end && (*at == '+' || *at == '-'))
      ++at;
    return digits();
  }
  return true;
}

bool Scanner::real(double &into) {
  space();
  if (at != end && *at == '"') {
    std::string name;
    if (!text(&name))
      return false;
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    into = name == "nan" ? std::numeric_limits<double>::quiet_NaN() : name == "inf" ? kInfinity
                                                                                     : -kInfinity;
    return name == "nan" || name == "inf" || name == "-inf";
  }
  const char *first = at;
  if (!number())
    return false;
  std::from_chars(first, at, into);
  return true;
}

bool Scanner::integer(uint64_t &into) {
  space();
  const char *first = at;
  return number() && std::from_chars(first, at, into).ptr == at;
}

bool Scanner::boolean(bool &into) {
  space();
  into = word("true");
  return into || word("false");
}

bool Scanner::skip(int depth) {
  constexpr int kDeepest = 64;
  space();
  if (at == end || depth > kDeepest)
    return false;
  switch (*at) {
  case '"':
    return text(nullptr);
  case '{':
    return object([&](const std::string &) { return skip(depth + 1); });
  case '[':
    return list([&] { return skip(depth + 1); });
  case 't':
    return word("true");
  case 'f':
    return word("false");
  case 'n':
    return word("null");
  default:
    return number();
  }
}

/// Which column a field of the record goes to.
using TextColumn = std::string RecordColumns::*;

const std::unordered_map<std::string_view, TextColumn> kTexts = {
    {"suite", &RecordColumns::suite},
    {"id", &RecordColumns::id},
    {"file", &RecordColumns::file},
    {"framework", &RecordColumns::framework},
    {"model_path", &RecordColumns::modelPath},
    {"variant", &RecordColumns::variant},
    {"parallelism", &RecordColumns::parallelism},
    {"run_mode", &RecordColumns::runMode},
    {"model_name", &RecordColumns::modelName},
    {"group", &RecordColumns::group},
    {"test_status", &RecordColumns::testStatus},
    {"bringup_status", &RecordColumns::bringupStatus},
    {"error_class", &RecordColumns::errorClass},
    {"message", &RecordColumns::message},
};

/// Keeps the worse of a figure and what was seen before: NaN, then the smallest or the largest.
void keepWorst(std::optional<double> &worst, double value, bool smallest) {
  if (!worst || std::isnan(value) || (smallest ? value < *worst : value > *worst))
    worst = value;
}

bool readComparison(Scanner &scanner, RecordColumns &into) {
  return scanner.object([&](const std::string &name) {
    bool isPcc = name == "pcc";
    if (!isPcc && name != "max_absolute")
      return scanner.skip();
    double value = 0;
    if (!scanner.real(value))
      return false;
    keepWorst(isPcc ? into.pcc : into.maxAbsolute, value, isPcc);
    return true;
  });
}

/// The members whose values are read otherwise than as text, and those nobody asks about.
bool readMember(Scanner &scanner, std::string_view name, RecordColumns &into) {
  if (auto found = kTexts.find(name); found != kTexts.end()) {
    (into.*(found->second)).clear();
    return scanner.text(&(into.*(found->second)));
  }
  if (name == "outcome" || name == "last_stage") {
    std::string word;
    if (!scanner.text(&word))
      return false;
    if (name == "outcome") {
      std::optional<Outcome> outcome = parseOutcome(word);
      into.outcome = outcome.value_or(Outcome::NotRun);
      return outcome.has_value();
    }
    std::optional<Stage> stage = parseStage(word);
    into.lastStage = stage.value_or(Stage::None);
    return stage.has_value();
  }
  if (name == "started_at")
    return scanner.real(into.startedAt);
  if (name == "seconds")
    return scanner.real(into.seconds);
  if (name == "peak_memory_bytes")
    return scanner.integer(into.peakMemoryBytes);
  if (name == "flaky")
    return scanner.boolean(into.flaky);
  if (name == "comparisons")
    return scanner.list([&] { return readComparison(scanner, into); });
  if (name == "reasons") {
    bool isFirst = true;
    return scanner.list([&] {
      return scanner.object([&, first = std::exchange(isFirst, false)](const std::string &field) {
        return field == "name" && first ? scanner.text(&into.reason) : scanner.skip();
      });
    });
  }
  if (name == "stages" || name == "artifacts")
    return scanner.list([&] {
      return scanner.object([&](const std::string &) { return scanner.skip(); });
    });
  if (name == "notes")
    return scanner.object([&](const std::string &) { return scanner.text(nullptr); });
  return scanner.skip();
}

/// 64 bits of the contents as text: tells records apart, and guards against nobody.
std::string digestOf(std::string_view text) {
  uint64_t hash = 0x9e3779b97f4a7c15u ^ text.size();
  auto mix = [&](uint64_t word) {
    hash = (hash ^ word) * 0xff51afd7ed558ccdu;
    hash ^= hash >> 32;
  };
  for (; text.size() >= 8; text.remove_prefix(8)) {
    uint64_t word;
    std::memcpy(&word, text.data(), 8);
    mix(word);
  }
  uint64_t rest = 0;
  if (!text.empty())
    std::memcpy(&rest, text.data(), text.size());
  mix(rest);
  mix(0x2545f4914f6cdd1du);
  char digits[17];
  constexpr char kHex[] = "0123456789abcdef";
  for (int i = 0; i < 16; ++i)
    digits[i] = kHex[hash >> (60 - 4 * i) & 15];
  return std::string(digits, 16);
}

/// Empties a record whose memory is used again: thousands follow each other.
void forget(RecordColumns &columns) {
  for (const auto &[name, column] : kTexts)
    (columns.*column).clear();
  columns.reason.clear();
  columns.shard.clear();
  columns.outcome = Outcome::NotRun;
  columns.lastStage = Stage::None;
  columns.startedAt = columns.seconds = 0;
  columns.peakMemoryBytes = 0;
  columns.flaky = false;
  columns.pcc.reset();
  columns.maxAbsolute.reset();
  columns.attempt = 1;
}

} // namespace

Status readColumns(std::string_view json, RecordColumns &into) {
  forget(into);
  if (plainPrefix(json) == json.size())
    into.json = json;
  else
    into.json = plainText(json);
  Scanner scanner(into.json);
  std::string member;
  bool isRead = scanner.object([&](const std::string &name) {
    member = name;
    return readMember(scanner, name, into);
  });
  if (!isRead || !scanner.isAtEnd())
    return Error{member.empty() || isRead
                     ? "not a JSON object: " + into.json.substr(0, 60)
                     : fmt::format("field '{}' of a record is not what Cupel writes there: {}",
                                   member, into.json.substr(0, 60))};
  // The same number of bytes: what was read stays where it is.
  for (size_t at : scanner.nulls)
    into.json.replace(at, 6, "\\ufffd");
  into.digest = digestOf(into.json);
  return {};
}

Status readBriefly(std::string_view json, TestRecord &into) {
  static const std::unordered_map<std::string_view, std::string TestRecord::*> kBriefTexts = {
      {"suite", &TestRecord::suite},
      {"id", &TestRecord::id},
      {"file", &TestRecord::file},
      {"framework", &TestRecord::framework},
      {"model_path", &TestRecord::modelPath},
      {"variant", &TestRecord::variant},
      {"parallelism", &TestRecord::parallelism},
      {"run_mode", &TestRecord::runMode},
      {"model_name", &TestRecord::modelName},
      {"group", &TestRecord::group},
      {"task", &TestRecord::task},
      {"source", &TestRecord::source},
      {"test_status", &TestRecord::testStatus},
      {"bringup_status", &TestRecord::bringupStatus}};
  Scanner scanner(json);
  auto texts = [&](std::vector<std::string> &list) { return scanner.list([&] { return scanner.text(&list.emplace_back()); }); };
  bool isRead = scanner.object([&](const std::string &name) {
    if (auto found = kBriefTexts.find(name); found != kBriefTexts.end())
      return scanner.text(&(into.*(found->second)));
    if (name == "markers")
      return texts(into.markers);
    if (name == "guidance")
      return texts(into.guidance);
    if (name == "notes")
      return scanner.object([&](const std::string &note) { return scanner.text(&into.notes[note]); });
    return scanner.skip();
  });
  return isRead && scanner.isAtEnd() ? Status() : Status(Error{"not a record: " + std::string(json.substr(0, 60))});
}

bool countsBefore(const RecordColumns &a, const RecordColumns &b) {
  if (a.isFinal() != b.isFinal())
    return a.isFinal();
  // The rest decides only between what is otherwise alike, so that it is always the same one.
  if (a.isFinal())
    return std::tuple(a.finishedAt(), a.shard, a.attempt, a.digest) <
           std::tuple(b.finishedAt(), b.shard, b.attempt, b.digest);
  return std::tuple(a.attempt, a.finishedAt(), a.shard, a.digest) >
         std::tuple(b.attempt, b.finishedAt(), b.shard, b.digest);
}

} // namespace cupel::results
