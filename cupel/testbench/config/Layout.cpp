#include "cupel/testbench/config/Layout.h"

#include <algorithm>
#include <charconv>

namespace cupel::testbench::config {

namespace {

/// Whether `text` may stand without quotes, also inside brackets, and then means itself.
bool isPlainText(std::string_view text) {
  if (text.empty() || text.back() == ' ' || text.back() == ':')
    return false;
  auto isWord = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_./-+() ").find(c) != std::string_view::npos;
  };
  if (!std::all_of(text.begin(), text.end(), isWord) ||
      std::string_view("-+() .").find(text.front()) != std::string_view::npos)
    return false;
  YamlNode node;
  node.text = text;
  return asText(node).has_value();
}

std::string doubleQuoted(std::string_view text) {
  std::string result = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (c == '\n') {
      result += "\\n";
    } else if (c == '\t') {
      result += "\\t";
    } else if (c == '\r') {
      result += "\\r";
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\x%02x", static_cast<unsigned char>(c));
      result += escape;
    } else {
      result += c;
    }
  }
  return result + "\"";
}

std::string singleQuoted(std::string_view text) {
  std::string result = "'";
  for (char c : text)
    result += c == '\'' ? "''" : std::string(1, c);
  return result + "'";
}

std::string renderedNumber(double number) {
  char text[40];
  auto [end, error] = std::to_chars(text, text + sizeof text, number);
  std::string result(text, error == std::errc{} ? end : text);
  if (result == "nan")
    return ".nan";
  if (result == "inf" || result == "-inf")
    return number < 0 ? "-.inf" : ".inf";
  // Always with a point: YAML 1.1 takes 1e-05 for text and 1 for an integer.
  size_t exponent = result.find('e');
  if (result.find('.') == std::string::npos)
    result.insert(exponent == std::string::npos ? result.size() : exponent, ".0");
  return result;
}

/// How a value is written; `old` is what stood there before, if anything.
struct Renderer {
  const FieldInfo &field;
  std::string_view source;
  const YamlNode *old;

  bool isStatus() const {
    return std::holds_alternative<std::optional<TestStatus> Fields::*>(field.member) ||
           std::holds_alternative<std::optional<BringupStatus> Fields::*>(field.member);
  }

  std::string operator()(const std::string &text) const {
    std::optional<YamlNode::Style> style;
    if (old && old->isScalar() && !old->isNull())
      style = old->style;
    else if (!isStatus() && field.words.empty())
      style = YamlNode::Style::DoubleQuoted; // Prose: a later colon must not surprise.
    if (isStatus() && old && old->isScalar() && !old->text.empty() &&
        std::none_of(old->text.begin(), old->text.end(),
                     [](char c) { return c >= 'A' && c <= 'Z'; })) {
      std::string lower(text);
      for (char &c : lower)
        c = c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c;
      return renderText(lower, style);
    }
    return renderText(text, style);
  }
  std::string operator()(double number) const { return renderedNumber(number); }
  std::string operator()(int64_t number) const { return std::to_string(number); }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(const std::vector<std::string> &words) const {
    std::string result = "[";
    for (const std::string &word : words) {
      result += result.size() > 1 ? ", " : "";
      result += renderedItem(word);
    }
    return result + "]";
  }

  /// A word as it stood in the old list, else plain if possible.
  std::string renderedItem(const std::string &word) const {
    if (old && old->isSequence())
      for (const YamlNode &item : old->items)
        if (item.isScalar() && item.text == word && asText(item))
          return std::string(source.substr(item.begin, item.end - item.begin));
    return renderText(word, std::nullopt);
  }
};

std::string_view trimmed(std::string_view line) {
  while (!line.empty() &&
         (line.back() == '\n' || line.back() == '\r' || line.back() == ' ' || line.back() == '\t'))
    line.remove_suffix(1);
  while (!line.empty() && (line.front() == ' ' || line.front() == '\t'))
    line.remove_prefix(1);
  return line;
}

} // namespace

bool isOneLine(std::string_view text) {
  return std::none_of(text.begin(), text.end(),
                      [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

std::string renderText(std::string_view text, std::optional<YamlNode::Style> before) {
  if (before == YamlNode::Style::SingleQuoted && isOneLine(text))
    return singleQuoted(text);
  if (before == YamlNode::Style::DoubleQuoted || !isPlainText(text))
    return doubleQuoted(text);
  return std::string(text);
}

std::string renderValue(const FieldInfo &field, const FieldValue &value, std::string_view source,
                        const YamlNode *old) {
  return std::visit(Renderer{field, source, old}, value);
}

size_t lineStart(std::string_view text, size_t at) {
  size_t newline = at == 0 ? std::string_view::npos : text.rfind('\n', at - 1);
  return newline == std::string_view::npos ? 0 : newline + 1;
}

size_t lineEnd(std::string_view text, size_t at) {
  size_t newline = text.find('\n', at);
  return newline == std::string_view::npos ? text.size() : newline + 1;
}

bool isBlank(std::string_view text, size_t start) {
  return trimmed(text.substr(start, lineEnd(text, start) - start)).empty();
}

std::string newlineOf(std::string_view text) {
  size_t newline = text.find('\n');
  return newline != std::string_view::npos && newline > 0 && text[newline - 1] == '\r' ? "\r\n"
                                                                                       : "\n";
}

std::optional<std::string> indentOf(std::string_view text, const YamlNode &key) {
  size_t start = lineStart(text, key.begin);
  std::string_view before = text.substr(start, key.begin - start);
  if (before.find_first_not_of(' ') != std::string_view::npos)
    return std::nullopt;
  return std::string(before);
}

size_t pairEnd(std::string_view text, const YamlNode &key, const YamlNode &value) {
  return lineEnd(text, std::max(key.end, value.end));
}

size_t skipDeeperComments(std::string_view text, size_t at, size_t indent) {
  while (at < text.size()) {
    size_t end = lineEnd(text, at);
    std::string_view line = text.substr(at, end - at);
    size_t first = line.find_first_not_of(' ');
    if (first == std::string_view::npos || line[first] != '#' || first <= indent)
      break;
    at = end;
  }
  return at;
}

std::string asInsertion(std::string_view text, size_t at, std::string lines,
                        const std::string &newline) {
  bool afterUnfinishedLine = at == text.size() && at > 0 && text[at - 1] != '\n';
  if (!afterUnfinishedLine)
    return lines;
  // The last line of the file had no newline; neither has the new one.
  return newline + lines.substr(0, lines.size() - newline.size());
}

} // namespace cupel::testbench::config
