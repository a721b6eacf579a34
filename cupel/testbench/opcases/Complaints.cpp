#include "cupel/testbench/opcases/Complaints.h"

#include "cupel/support/Text.h"
#include "cupel/testbench/opcases/DTypes.h"

#include <algorithm>
#include <fmt/format.h>

namespace cupel::testbench::opcases {

using config::YamlNode;

void Complaints::complain(const YamlNode *at, std::string message) {
  out.problems.push_back(
      {yaml.path(), at ? at->line : 1, at ? at->column : 1, std::move(message)});
}

void Complaints::complainInside(const YamlNode &at, const LiteralError &error, std::string_view what) {
  uint32_t column = at.column;
  bool isOneLine = at.text.find('\n') == std::string_view::npos;
  if (isOneLine && at.style == YamlNode::Style::Plain)
    column += uint32_t(error.at);
  else if (isOneLine && (at.style == YamlNode::Style::SingleQuoted ||
                         at.style == YamlNode::Style::DoubleQuoted))
    column += uint32_t(error.at) + 1;
  out.problems.push_back(
      {yaml.path(), at.line, column, fmt::format("{}: {}", what, error.message)});
}

std::string Complaints::unknown(std::string_view what, std::string_view word, const Words &words) {
  std::string_view near = nearestWord(word, words);
  return fmt::format("{} '{}'; {}", what, word.substr(0, 60),
                     near.empty() ? fmt::format("there are: {}", fmt::join(words, ", "))
                                  : fmt::format("did you mean '{}'?", near));
}

bool Complaints::checkKeys(const YamlNode &mapping, const Words &known, std::string_view what) {
  bool fine = true;
  for (size_t i = 0; i < mapping.pairCount(); ++i) {
    const YamlNode &key = mapping.key(i);
    if (key.isScalar() && std::ranges::find(known, key.text) != known.end())
      continue;
    fine = false;
    complain(&key, key.isScalar() ? unknown(fmt::format("{} has no key", what), key.text, known)
                                  : fmt::format("{} has keys that are words", what));
  }
  return fine;
}

std::optional<std::string> Complaints::plainText(const YamlNode &node) {
  if (!node.isScalar() || node.isNull())
    return std::nullopt;
  return std::string(node.text);
}

std::string Complaints::readDType(const YamlNode &node) {
  if (std::optional<std::string> text = plainText(node)) {
    if (std::string_view name = canonicalDType(*text); !name.empty())
      return std::string(name);
    complain(&node, unknown("there is no dtype", *text, dtypeNames()));
  } else {
    complain(&node, "'dtype' wants a name such as fp16, found " + config::describe(node));
  }
  return std::string(kDefaultDType);
}

} // namespace cupel::testbench::opcases
