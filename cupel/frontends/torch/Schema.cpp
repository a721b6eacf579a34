#include "cupel/frontends/torch/Schema.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <mutex>

// The table, as it lies in the source tree.
asm(".section .rodata\n"
    ".global cupel_torch_schemas_begin\n"
    ".global cupel_torch_schemas_end\n"
    "cupel_torch_schemas_begin:\n"
    ".incbin \"" CUPEL_TORCH_SCHEMAS "\"\n"
    "cupel_torch_schemas_end:\n"
    ".byte 0\n"
    ".text\n");
extern "C" const char cupel_torch_schemas_begin[], cupel_torch_schemas_end[];

namespace cupel::frontends::torch_import {

namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ')
    text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ')
    text.remove_suffix(1);
  return text;
}

/// Splits at commas that stand in no brackets and no string.
std::vector<std::string_view> splitList(std::string_view text) {
  std::vector<std::string_view> parts;
  int depth = 0;
  bool quoted = false;
  size_t start = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (quoted) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '(' || c == '[') {
      ++depth;
    } else if (c == ')' || c == ']') {
      --depth;
    } else if (c == ',' && depth == 0) {
      parts.push_back(trimmed(text.substr(start, i - start)));
      start = i + 1;
    }
  }
  if (std::string_view last = trimmed(text.substr(start)); !last.empty())
    parts.push_back(last);
  return parts;
}

SchemaType parseType(std::string_view text) {
  SchemaType type;
  size_t end = text.find_first_of("([?");
  type.base = text.substr(0, end);
  while (end < text.size()) {
    char c = text[end];
    if (c == '(') {
      size_t close = std::min(text.find(')', end), text.size());
      std::string_view note = text.substr(end + 1, close - end - 1);
      if (size_t arrow = note.find(" -> "); arrow != note.npos)
        note = note.substr(0, arrow);
      if (note.ends_with('!')) {
        type.isWritten = true;
        note.remove_suffix(1);
      }
      type.alias = note;
      end = close + 1;
    } else if (c == '[') {
      type.elementsOptional = type.isOptional;
      type.isOptional = false;
      type.isList = true;
      end = std::min(text.find(']', end), text.size()) + 1;
    } else if (c == '?') {
      type.isOptional = true;
      ++end;
    } else {
      break;
    }
  }
  return type;
}

double realOf(std::string_view text) { return std::strtod(std::string(text).c_str(), nullptr); }
int64_t integerOf(std::string_view text) {
  int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}
bool looksReal(std::string_view text) { return text.find_first_of(".en") != text.npos; }

Argument parseDefault(const SchemaType &type, std::string_view text) {
  Argument result;
  if (text == "None")
    return result;
  if (text.starts_with('[')) {
    std::vector<std::string_view> parts = splitList(text.substr(1, text.size() - 2));
    if (type.base == "bool") {
      std::vector<bool> values;
      for (std::string_view part : parts)
        values.push_back(part == "True");
      result.value = std::move(values);
    } else if (type.base == "float" || std::ranges::any_of(parts, looksReal)) {
      std::vector<double> values;
      for (std::string_view part : parts)
        values.push_back(realOf(part));
      result.value = std::move(values);
    } else {
      std::vector<int64_t> values;
      for (std::string_view part : parts)
        values.push_back(integerOf(part));
      result.value = std::move(values);
    }
    return result;
  }
  if (text == "True" || text == "False") {
    result.value = text == "True";
  } else if (text.starts_with('"')) {
    std::string value;
    for (size_t i = 1; i + 1 < text.size(); ++i) {
      if (text[i] == '\\')
        ++i;
      value += text[i];
    }
    result.value = std::move(value);
  } else if (type.base == "MemoryFormat") {
    // The framework's own numbers: contiguous, preserve, channels last in 2 and 3 dimensions.
    constexpr MemoryFormat formats[] = {MemoryFormat::Contiguous, MemoryFormat::Preserve,
                                        MemoryFormat::ChannelsLast, MemoryFormat::ChannelsLast3d};
    int64_t number = text == "contiguous_format" ? 0 : integerOf(text);
    result.value = formats[std::clamp<int64_t>(number, 0, 3)];
  } else if (type.base == "float" || looksReal(text)) {
    result.value = realOf(text);
  } else {
    result.value = integerOf(text);
  }
  return result;
}

std::string_view table() {
  return {cupel_torch_schemas_begin,
          static_cast<size_t>(cupel_torch_schemas_end - cupel_torch_schemas_begin)};
}

/// The line that starts with `key`; the table is sorted by bytes.
std::string_view findLine(std::string_view key) {
  std::string_view text = table();
  size_t low = 0, high = text.size();
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    size_t start = middle == 0 ? 0 : text.rfind('\n', middle - 1) + 1; // npos + 1 is 0
    size_t end = std::min(text.find('\n', start), text.size());
    std::string_view line = text.substr(start, end - start);
    if (line.starts_with(key))
      return line;
    if (line < key)
      low = end + 1;
    else
      high = start;
  }
  return {};
}

} // namespace

const SchemaArgument *Schema::find(std::string_view name) const {
  for (const SchemaArgument &argument : arguments)
    if (argument.name == name)
      return &argument;
  return nullptr;
}

bool Schema::writes() const {
  return std::ranges::any_of(arguments, [](const SchemaArgument &a) { return a.type.isWritten; });
}

std::optional<Schema> parseSchema(std::string_view line) {
  size_t open = line.find('('), arrow = line.rfind(") -> ");
  if (open == line.npos || arrow == line.npos || arrow < open)
    return std::nullopt;
  Schema schema;
  for (std::string_view part : splitList(line.substr(open + 1, arrow - open - 1))) {
    if (part == "*")
      continue;
    SchemaArgument argument;
    // "Type name" or "Type name=default"; a type may hold a space: "Tensor(a -> *) self".
    size_t equals = part.find('=');
    std::string_view declared = part.substr(0, equals);
    size_t space = declared.rfind(' ');
    if (space == declared.npos)
      return std::nullopt;
    argument.type = parseType(declared.substr(0, space));
    argument.name = declared.substr(space + 1);
    if (equals != part.npos)
      argument.missing = parseDefault(argument.type, part.substr(equals + 1));
    schema.arguments.push_back(std::move(argument));
  }
  std::string_view results = trimmed(line.substr(arrow + 5));
  if (results.starts_with('('))
    results = results.substr(1, results.size() - 2);
  for (std::string_view part : splitList(results)) {
    // Results may have names: "Tensor values".
    size_t space = part.rfind(' ');
    if (space != part.npos && part.find(')', space) == part.npos)
      part = part.substr(0, space);
    schema.results.push_back(parseType(part));
  }
  return schema;
}

const Schema *findSchema(std::string_view target) {
  static std::mutex mutex;
  static std::map<std::string, std::optional<Schema>, std::less<>> parsed;
  std::lock_guard lock(mutex);
  if (auto found = parsed.find(target); found != parsed.end())
    return found->second ? &*found->second : nullptr;
  size_t first = target.find('.');
  if (first == target.npos)
    return nullptr;
  std::string key =
      std::string(target.substr(0, first)) + "::" + std::string(target.substr(first + 1));
  if (key.ends_with(".default"))
    key.resize(key.size() - 8);
  std::string_view line = findLine(key + "(");
  auto &made = parsed[std::string(target)];
  if (!line.empty())
    made = parseSchema(line);
  return made ? &*made : nullptr;
}

} // namespace cupel::frontends::torch_import
