#include "cupel/testbench/opcases/InputReader.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fmt/format.h>

namespace cupel::testbench::opcases {

namespace {

using config::YamlNode;

constexpr int64_t kMaxRank = 64;
constexpr int64_t kMaxElements = int64_t{1} << 40;
constexpr int64_t kMaxDefaultHigh = 1000;

struct PresetInfo {
  std::string_view name;
  std::vector<std::string_view> arguments;
};

/// Ways to make a tensor whose elements do not lie one after another.
const std::vector<PresetInfo> &presets() {
  static const std::vector<PresetInfo> kPresets = {
      {"noncontig_slice", {"dim", "step", "base_shape"}},
      {"transpose_view", {"dim0", "dim1", "base_shape"}},
      {"permute_view", {"dims"}},
      {"expand_view", {"dims", "base_shape"}},
      {"expand_view0", {"base_shape"}},
      {"narrow", {"dim", "start", "after"}},
      {"select_view", {"dim", "index", "size"}},
      {"storage_offset", {"offset"}},
      {"strided", {"strides", "storage_offset"}},
      {"channels_last", {}},
      {"channels_last_3d", {}},
      {"contiguous", {}},
  };
  return kPresets;
}

constexpr std::array<std::string_view, 8> kInits = {"rand",   "randn",   "zeros",   "ones",
                                                    "arange", "randint", "uniform", "data"};

} // namespace

Input InputReader::readInput(const YamlNode &key, const YamlNode &value) {
  Input input;
  std::string_view kind = key.isScalar() ? key.text : std::string_view();
  if (kind == "tensor") {
    input.kind = Input::Kind::Tensor;
    input.tensors.push_back(readTensor(value));
  } else if (kind == "tensor_list" || kind == "tensor_tuple") {
    input.kind = Input::Kind::TensorList;
    input.isTuple = kind == "tensor_tuple";
    if (!value.isSequence())
      complain(&value, "'tensor_list' wants a list of tensors, found " + config::describe(value));
    for (const YamlNode &item : value.isSequence() ? value.items : std::vector<YamlNode>()) {
      if (item.isNull()) {
        input.tensors.emplace_back().isNone = true;
        continue;
      }
      // `- {shape: ...}` and `- tensor: {shape: ...}` are both seen.
      const YamlNode *inner =
          item.isMapping() && item.pairCount() == 1 ? item.find("tensor") : nullptr;
      input.tensors.push_back(readTensor(inner ? *inner : item));
    }
  } else if (kind == "value") {
    input.value = readValue(value);
  } else if (kind == "py") {
    LiteralError problem;
    if (!value.isScalar())
      complain(&value, "'py' wants a literal, found " + config::describe(value));
    else if (!parseLiteral(value.text, input.value, problem))
      complaints.complainInside(value, problem, "py");
  } else if (kind == "file") {
    input.kind = Input::Kind::File;
    readFile(value, input);
  } else {
    complain(&key, Complaints::unknown("there is no kind of input", kind,
                           {"tensor", "value", "py", "tensor_list", "tensor_tuple", "file"}));
  }
  return input;
}

void InputReader::readFile(const YamlNode &node, Input &input) {
  const YamlNode *path = &node;
  if (node.isMapping()) {
    complaints.checkKeys(node, {"path", "key"}, "'file'");
    path = node.find("path");
    if (const YamlNode *key = node.find("key"); key && key->isScalar())
      input.key = key->text;
  }
  if (!path || !path->isScalar() || path->isNull() || path->text.empty())
    return complain(path ? path : &node, "'file' wants the path of a .pt file");
  std::filesystem::path named(path->text);
  std::error_code error;
  std::filesystem::path whole =
      named.is_absolute() ? named
                          : std::filesystem::absolute(complaints.path(), error).parent_path() / named;
  input.file = whole.lexically_normal().string();
}

Value InputReader::readValue(const YamlNode &node) {
  if (node.isSequence()) {
    std::vector<Value> items;
    for (const YamlNode &item : node.items)
      items.push_back(readValue(item));
    return Value::list(std::move(items));
  }
  if (!node.isScalar()) {
    complain(&node, "a value is a number, a text or a list, found " + config::describe(node));
    return {};
  }
  if (node.isNull())
    return {};
  if (std::optional<bool> flag = config::asBool(node))
    return Value::of(*flag);
  if (std::optional<int64_t> integer = config::asInteger(node))
    return Value::of(*integer);
  if (std::optional<double> number = config::asNumber(node))
    return Value::of(*number);
  // What Python people write without thinking of YAML; a tuple needs quotes in a flow.
  if (node.isPlain() || node.text.starts_with('(')) {
    Value literal;
    LiteralError ignored;
    if (parseLiteral(node.text, literal, ignored))
      return literal;
    if (node.text.starts_with('(')) {
      complaints.complainInside(node, ignored, "value");
      return {};
    }
  }
  return Value::of(std::string(node.text));
}

TensorSpec InputReader::readTensor(const YamlNode &node) {
  TensorSpec tensor;
  tensor.dtype = dtype;
  if (!node.isMapping()) {
    complain(&node, "a tensor wants a mapping with 'shape', found " + config::describe(node));
    return tensor;
  }
  complaints.checkKeys(
      node,
      {"shape", "init", "init_args", "dtype", "preset", "preset_args", "data", "base_shape"},
      "a tensor");
  readShape(node, tensor);
  const YamlNode *init = node.find("init");
  if (init && !init->isNull()) {
    tensor.init = init->text;
    Words known(kInits.begin(), kInits.end());
    if (!init->isScalar() || std::ranges::find(known, tensor.init) == known.end())
      complain(init, Complaints::unknown("there is no init", tensor.init, known));
  } else if (node.find("data")) {
    tensor.init = "data";
  }
  const YamlNode *type = node.find("dtype");
  if (type && !type->isNull())
    tensor.dtype = complaints.readDType(*type);
  else if (tensor.init == "randint")
    tensor.dtype = "int64"; // As torch.randint has it: only a dtype of its own makes it another.
  readInitArgs(node, tensor);
  readPreset(node, tensor);
  return tensor;
}

void InputReader::readShape(const YamlNode &node, TensorSpec &tensor) {
  const YamlNode *shape = node.find("shape");
  if (!shape) {
    // Exact values have a shape of their own.
    if (node.find("data") || (node.find("init") && node.find("init")->text == "data")) {
      tensor.shape = {-1};
      return;
    }
    return complain(&node, "a tensor wants a 'shape'");
  }
  if (!shape->isSequence() || int64_t(shape->items.size()) > kMaxRank)
    return complain(shape, "'shape' wants a list of sizes, found " + config::describe(*shape));
  int64_t elements = 1;
  for (const YamlNode &item : shape->items) {
    std::optional<int64_t> size = config::asInteger(item);
    if (!size || *size < 0)
      return complain(&item, "a size is an integer that is not negative, found " +
                                 config::describe(item));
    if (*size && elements > kMaxElements / *size)
      return complain(shape, "the tensor would have more than 2^40 elements");
    elements *= *size;
    tensor.shape.push_back(*size);
  }
}

void InputReader::readInitArgs(const YamlNode &node, TensorSpec &tensor) {
  const YamlNode *arguments = node.find("init_args");
  const YamlNode *data = node.find("data");
  if (arguments && arguments->isSequence() && tensor.init == "data") {
    data = arguments;
  } else if (arguments && !arguments->isNull()) {
    if (!arguments->isMapping())
      return complain(arguments,
                      "'init_args' wants a mapping, found " + config::describe(*arguments));
    Words known;
    if (tensor.init == "randint" || tensor.init == "uniform")
      known = {"low", "high"};
    else if (tensor.init == "data")
      known = {"data"};
    for (size_t i = 0; i < arguments->pairCount(); ++i)
      if (known.empty())
        complain(&arguments->key(i), fmt::format("'{}' takes no init_args", tensor.init));
    if (!known.empty())
      complaints.checkKeys(*arguments, known, fmt::format("init_args of '{}'", tensor.init));
    for (auto [key, into] : {std::pair("low", &tensor.low), std::pair("high", &tensor.high)})
      if (const YamlNode *bound = arguments->find(key)) {
        *into = config::asNumber(*bound);
        if (!*into || !std::isfinite(**into))
          complain(bound,
                   fmt::format("'{}' wants a number, found {}", key, config::describe(*bound)));
      }
    if (const YamlNode *given = arguments->find("data"))
      data = given;
  }
  if (tensor.init == "randint" && !tensor.high) {
    if (tensor.dtype == "bool")
      tensor.high = 2;
    else
      complain(arguments ? arguments : &node, "'randint' wants init_args with 'high'");
  }
  if (tensor.init == "randint" || tensor.init == "uniform") {
    double low = tensor.low.value_or(0), high = tensor.high.value_or(1);
    if (tensor.init == "randint" ? low >= high : low > high)
      complain(arguments ? arguments : &node,
               fmt::format("the bounds {} and {} leave nothing between them", low, high));
    tensor.low = low;
    tensor.high = high;
  }
  if (tensor.init == "data") {
    if (!data)
      return complain(&node, "'init: data' wants the values as 'data'");
    tensor.data = readValue(*data);
  } else if (data) {
    complain(data, fmt::format("'data' goes with 'init: data', not with '{}'", tensor.init));
  }
}

void InputReader::readPreset(const YamlNode &node, TensorSpec &tensor) {
  const YamlNode *preset = node.find("preset");
  const YamlNode *arguments = node.find("preset_args");
  if (!preset || preset->isNull()) {
    if (arguments && !arguments->isNull())
      complain(arguments, "'preset_args' go with a 'preset'");
    return;
  }
  const PresetInfo *info = nullptr;
  Words names;
  for (const PresetInfo &known : presets()) {
    names.push_back(known.name);
    if (preset->text == known.name)
      info = &known;
  }
  if (!info)
    return complain(preset, Complaints::unknown("there is no preset", preset->text, names));
  if (tensor.init == "data" && !node.find("shape"))
    return complain(preset, "a tensor with a preset wants a 'shape'");
  tensor.preset = info->name;
  if (arguments && !arguments->isNull()) {
    if (!arguments->isMapping())
      return complain(arguments,
                      "'preset_args' wants a mapping, found " + config::describe(*arguments));
    if (complaints.checkKeys(*arguments, info->arguments, fmt::format("preset_args of '{}'", info->name)))
      for (size_t i = 0; i < arguments->pairCount(); ++i)
        tensor.presetArgs.emplace_back(arguments->key(i).text, readValue(arguments->value(i)));
  }
  if (const YamlNode *base = node.find("base_shape"); base && !base->isNull()) {
    if (std::ranges::find(info->arguments, "base_shape") == info->arguments.end())
      complain(base, fmt::format("the preset '{}' takes no base_shape", info->name));
    else
      tensor.presetArgs.emplace_back("base_shape", readValue(*base));
  }
  // Every argument but the lists is an integer.
  for (const auto &[name, value] : tensor.presetArgs) {
    bool isList = name == "dims" || name == "strides" || name == "base_shape";
    bool fits = isList ? value.kind == Value::Kind::List || value.kind == Value::Kind::Tuple
                       : value.kind == Value::Kind::Int;
    for (const Value &item : value.items)
      fits &= item.kind == Value::Kind::Int;
    if (!fits)
      complain(arguments ? arguments : &node,
               fmt::format("'{}' wants {}, found {}", name,
                           isList ? "a list of integers" : "an integer", value.str()));
    if (fits && (name == "dim" || name == "dim0" || name == "dim1")) {
      auto rank = int64_t(tensor.shape.size());
      if (value.integer < -rank || value.integer >= rank)
        complain(arguments, fmt::format("'{}' is {}, and the tensor has {} dimensions", name,
                                        value.integer, rank));
    }
    if (fits && (name == "step" || name == "size") &&
        (value.integer < 1 || value.integer > kMaxDefaultHigh))
      complain(arguments, fmt::format("'{}' is {}, which is not from 1 to {}", name,
                                      value.integer, kMaxDefaultHigh));
  }
}

} // namespace cupel::testbench::opcases
