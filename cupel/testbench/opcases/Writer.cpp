#include "cupel/testbench/opcases/Writer.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace cupel::testbench::opcases {

namespace {

/// Between quotes, with what YAML would read otherwise escaped.
std::string inQuotes(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\')
      out += '\\';
    if (c == '\n')
      out += "\\n";
    else if (c == '\t')
      out += "\\t";
    else if (static_cast<unsigned char>(c) < 0x20)
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    else
      out += c;
  }
  return out + "\"";
}

/// As it is where it can only be read as this text, else between quotes.
std::string word(std::string_view text) {
  bool isPlain = !text.empty() && std::isalpha(static_cast<unsigned char>(text[0])) &&
                 std::ranges::all_of(text, [](char c) {
                   return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' ||
                          c == '-' || c == '/';
                 });
  for (std::string_view reserved : {"true", "false", "null", "True", "False", "None", "Ellipsis",
                                    "inf", "nan", "yes", "no", "on", "off"})
    isPlain &= text != reserved;
  return isPlain ? std::string(text) : inQuotes(text);
}

/// Whether YAML has no form of its own for it.
bool isPython(const Value &value) {
  return value.kind == Value::Kind::Tuple || value.kind == Value::Kind::Slice ||
         value.kind == Value::Kind::Ellipsis || std::ranges::any_of(value.items, isPython);
}

std::string yamlOf(const Value &value) {
  switch (value.kind) {
  case Value::Kind::None:
    return "null";
  case Value::Kind::Bool:
    return value.flag ? "true" : "false";
  case Value::Kind::Float:
    if (std::isnan(value.number))
      return ".nan";
    if (std::isinf(value.number))
      return value.number > 0 ? ".inf" : "-.inf";
    return value.str();
  case Value::Kind::Text:
    return word(value.text);
  case Value::Kind::List: {
    std::vector<std::string> items;
    for (const Value &item : value.items)
      items.push_back(yamlOf(item));
    return fmt::format("[{}]", fmt::join(items, ", "));
  }
  default:
    return value.str();
  }
}

std::string yamlOf(const TensorSpec &tensor, const std::string &dtype) {
  if (tensor.isNone)
    return "null";
  std::string out = "{";
  bool isOwnShape = tensor.shape == std::vector<int64_t>{-1};
  if (!isOwnShape)
    out += fmt::format("shape: [{}]", fmt::join(tensor.shape, ", "));
  auto add = [&](std::string_view key, const std::string &value) {
    out += fmt::format("{}{}: {}", out.size() > 1 ? ", " : "", key, value);
  };
  if (tensor.dtype != (tensor.init == "randint" ? "int64" : dtype))
    add("dtype", tensor.dtype);
  if (tensor.init == "data")
    add("data", yamlOf(tensor.data));
  else if (tensor.init != "rand")
    add("init", tensor.init);
  if (tensor.init == "randint" || tensor.init == "uniform") {
    auto number = [&](double bound) {
      return tensor.init == "randint" ? std::to_string(int64_t(bound)) : yamlOf(Value::of(bound));
    };
    std::string bounds;
    if (tensor.low.value_or(0) != 0)
      bounds = fmt::format("low: {}, ", number(*tensor.low));
    add("init_args", fmt::format("{{{}high: {}}}", bounds, number(tensor.high.value_or(1))));
  }
  if (!tensor.preset.empty()) {
    add("preset", tensor.preset);
    std::vector<std::string> arguments;
    for (const auto &[name, value] : tensor.presetArgs)
      arguments.push_back(name + ": " + yamlOf(value));
    if (!arguments.empty())
      add("preset_args", fmt::format("{{{}}}", fmt::join(arguments, ", ")));
  }
  return out + "}";
}

/// `tensor: {...}`, `value: 3`, ...
std::string yamlOf(const Input &input, const std::string &dtype) {
  switch (input.kind) {
  case Input::Kind::Tensor:
    return "tensor: " + yamlOf(input.tensors[0], dtype);
  case Input::Kind::TensorList: {
    std::vector<std::string> items;
    for (const TensorSpec &tensor : input.tensors)
      items.push_back(yamlOf(tensor, dtype));
    return fmt::format("{}: [{}]", input.isTuple ? "tensor_tuple" : "tensor_list",
                       fmt::join(items, ", "));
  }
  case Input::Kind::File:
    return input.key.empty()
               ? "file: " + word(input.file)
               : fmt::format("file: {{path: {}, key: {}}}", word(input.file), word(input.key));
  case Input::Kind::Value:
    break;
  }
  return isPython(input.value) ? "py: " + inQuotes(input.value.str())
                               : "value: " + yamlOf(input.value);
}

} // namespace

std::string toYaml(const CaseFile &file, const Case &defaults, const std::string &heading) {
  std::string out;
  for (size_t begin = 0; begin < heading.size();) {
    size_t end = std::min(heading.find('\n', begin), heading.size());
    out += "# " + heading.substr(begin, end - begin) + "\n";
    begin = end + 1;
  }
  out += fmt::format("model: {}\ndefault:\n  dtype: {}\n  seed: {}\n", word(file.model),
                     defaults.dtype, defaults.seed);
  for (auto [key, value] : {std::pair("rtol", defaults.rtol), std::pair("atol", defaults.atol)})
    if (value)
      out += fmt::format("  {}: {}\n", key, yamlOf(Value::of(*value)));
  out += file.cases.empty() ? "\ncases: []\n" : "\ncases:\n";
  for (const Case &one : file.cases) {
    out += fmt::format("  - name: {}\n    op: {}\n", word(one.name), word(one.op));
    if (one.dtype != defaults.dtype)
      out += "    dtype: " + one.dtype + "\n";
    if (one.seed != defaults.seed)
      out += fmt::format("    seed: {}\n", one.seed);
    for (auto [key, value, usual] :
         {std::tuple("rtol", one.rtol, defaults.rtol), std::tuple("atol", one.atol, defaults.atol)})
      if (value && value != usual)
        out += fmt::format("    {}: {}\n", key, yamlOf(Value::of(*value)));
    if (!one.marks.empty())
      out += fmt::format("    mark: [{}]\n", fmt::join(one.marks, ", "));
    if (!one.attrs.empty()) {
      std::vector<std::string> attrs;
      for (const auto &[name, input] : one.attrs) {
        bool isPlain = input.kind == Input::Kind::Value && !isPython(input.value);
        attrs.push_back(word(name) + ": " +
                        (isPlain ? yamlOf(input.value) : "{" + yamlOf(input, one.dtype) + "}"));
      }
      out += fmt::format("    attrs: {{{}}}\n", fmt::join(attrs, ", "));
    }
    if (one.inputs.empty())
      out += "    inputs: []\n";
    else
      out += "    inputs:\n";
    for (const Input &input : one.inputs)
      out += "      - " + yamlOf(input, one.dtype) + "\n";
    if (one.expectsError)
      out += fmt::format("    expects_error: {{type: {}, match: {}}}\n", one.expectsError->type,
                         inQuotes(one.expectsError->match));
    if (!one.skipIf.empty()) {
      out += "    skip_if:\n";
      for (const SkipRule &rule : one.skipIf)
        out += fmt::format("      - {{expr: {}, reason: {}}}\n", inQuotes(rule.text),
                           inQuotes(rule.reason));
    }
    if (!one.description.empty()) {
      out += "    description: |\n";
      for (size_t begin = 0; begin < one.description.size();) {
        size_t end = std::min(one.description.find('\n', begin), one.description.size());
        std::string text = one.description.substr(begin, end - begin);
        // A literal block keeps what it is given, but no control characters.
        std::ranges::replace_if(
            text, [](char c) { return static_cast<unsigned char>(c) < 0x20; }, ' ');
        out += text.empty() ? "\n" : "      " + text + "\n";
        begin = end + 1;
      }
    }
    out += "\n";
  }
  if (out.ends_with("\n\n"))
    out.pop_back();
  return out;
}

} // namespace cupel::testbench::opcases
