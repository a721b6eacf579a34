// What the fields of a job's form allow. Whatever is not allowed here never becomes a word of a
// command.

#include "cupel/results/serve/Jobs.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>

namespace cupel::results::serve {
namespace {

constexpr size_t kLongestText = 200, kLongestList = 200'000, kLargestFile = 700'000;

bool isNumber(std::string_view text, int64_t least, int64_t most) {
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return !text.empty() && error == std::errc() && end == text.data() + text.size() && value >= least && value <= most;
}

template <typename Check> bool allOf(std::string_view list, Check check) {
  while (!list.empty()) {
    std::string_view one = list.substr(0, list.find(','));
    if (!check(one))
      return false;
    list.remove_prefix(std::min(list.size(), one.size() + 1));
  }
  return true;
}

bool isNode(std::string_view text) { return isNumber(text, 0, 100'000'000); }

/// `12:fusion-barrier` or `12:precision=bf16`.
bool isEdit(std::string_view text, const std::vector<EditOption> &options) {
  size_t colon = std::min(text.find(':'), text.size()), equals = std::min(text.find('='), text.size());
  if (colon == text.size() || equals < colon || !isNode(text.substr(0, colon)))
    return false;
  auto option = std::ranges::find(options, text.substr(colon + 1, equals - colon - 1), &EditOption::name);
  if (option == options.end())
    return false;
  return option->choices.empty() ? equals == text.size()
                                 : equals < text.size() && std::ranges::find(option->choices, text.substr(equals + 1)) != option->choices.end();
}

} // namespace

Result<std::string> checkJobValue(const JobField &field, const std::string &value) {
  auto wrong = [&](std::string_view wanted) {
    return Error{fmt::format("{}: '{}' is not {}", field.label, value.substr(0, 80), wanted)};
  };
  switch (field.kind) {
  case JobField::Kind::Choice:
    if (std::ranges::find(field.choices, value) == field.choices.end())
      return wrong(fmt::format("one of {}", fmt::join(field.choices, ", ")));
    return value;
  case JobField::Kind::Integer:
    if (!value.empty() && !isNumber(value, field.least, field.most))
      return wrong(fmt::format("a whole number from {} to {}", field.least, field.most));
    return value;
  case JobField::Kind::Toggle:
    if (value != "true" && value != "false")
      return wrong("true or false");
    return value;
  case JobField::Kind::Text:
    if (value.size() > kLongestText || value.starts_with('-') || value.find('\0') != std::string::npos)
      return wrong("a short text that begins with something else than -");
    return value;
  case JobField::Kind::Nodes:
    if (value.size() > kLongestList || !allOf(value, isNode))
      return wrong("a list of nodes");
    return value;
  case JobField::Kind::Edits:
    if (value.size() > kLongestList || !allOf(value, [&](std::string_view one) { return isEdit(one, field.edits); }))
      return wrong("a list of changes such as 12:fusion-barrier");
    return value;
  case JobField::Kind::File: {
    Result<std::string> bytes = bytesOfBase64(value);
    if (!bytes || bytes->size() > kLargestFile)
      return Error{fmt::format("{}: this is no file of at most {} KB in base 64", field.label, kLargestFile / 1000)};
    return bytes;
  }
  }
  return wrong("known");
}

Result<std::string> bytesOfBase64(std::string_view text) {
  while (text.ends_with('='))
    text.remove_suffix(1);
  std::string bytes;
  uint32_t bits = 0;
  int count = 0;
  for (char c : text) {
    int value = c >= 'A' && c <= 'Z'   ? c - 'A'
                : c >= 'a' && c <= 'z' ? c - 'a' + 26
                : c >= '0' && c <= '9' ? c - '0' + 52
                : c == '+'             ? 62
                : c == '/'             ? 63
                                       : -1;
    if (value < 0)
      return Error{"this is no text in base 64"};
    bits = bits << 6 | uint32_t(value);
    if ((count += 6) >= 8)
      bytes += char(bits >> (count -= 8) & 0xff);
  }
  return bytes;
}

} // namespace cupel::results::serve
