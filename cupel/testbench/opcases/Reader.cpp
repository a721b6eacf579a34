// From the tree of a YAML file to cases. Everything that is wrong is reported with its place and,
// where a word is wrong, with the nearest one that is right; a case with a problem is left out and
// the others go on.
#include "cupel/support/Text.h"
#include "cupel/testbench/opcases/Case.h"
#include "cupel/testbench/opcases/DTypes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <set>
#include <span>

namespace cupel::testbench::opcases {

namespace {

using config::YamlNode;
using Words = std::vector<std::string_view>;

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

constexpr std::array<std::string_view, 8> kErrorTypes = {
    "RuntimeError", "ValueError",          "TypeError",      "AssertionError",
    "IndexError",   "NotImplementedError", "AttributeError", "Exception"};

struct Defaults {
  std::string dtype{kDefaultDType};
  int64_t seed = 0;
  std::optional<double> rtol, atol;
  std::vector<SkipRule> skipIf;
};

class Reader {
public:
  Reader(const config::YamlFile &yaml, CaseFile &out) : yaml(yaml), out(out) {}

  void read() {
    const YamlNode *root = yaml.root();
    if (!root || !root->isMapping())
      return complain(root, "the file of operator cases is no mapping");
    checkKeys(*root, {"model", "default", "defaults", "cases", "description"}, "a file of cases");
    if (const YamlNode *model = root->find("model")) {
      if (std::optional<std::string> name = plainText(*model); name && !name->empty())
        out.model = *name;
      else
        complain(model, "'model' wants a name, found " + config::describe(*model));
    }
    for (const char *key : {"default", "defaults"})
      if (const YamlNode *node = root->find(key); node && !node->isNull())
        readDefaults(*node);
    const YamlNode *cases = root->find("cases");
    if (!cases || cases->isNull())
      return;
    if (!cases->isSequence())
      return complain(cases, "'cases' wants a list of cases, found " + config::describe(*cases));
    std::set<std::string> names;
    for (size_t i = 0; i < cases->items.size(); ++i) {
      size_t before = out.problems.size();
      Case one;
      one.number = uint32_t(i);
      readCase(cases->items[i], one);
      if (out.problems.size() != before)
        continue;
      if (!names.insert(one.name).second) {
        complain(cases->items[i].find("name"),
                 fmt::format("a second case is called '{}'", one.name));
        continue;
      }
      out.cases.push_back(std::move(one));
    }
  }

private:
  void complain(const YamlNode *at, std::string message) {
    out.problems.push_back(
        {yaml.path(), at ? at->line : 1, at ? at->column : 1, std::move(message)});
  }
  /// A problem inside a plain one-line text stands where its byte stands.
  void complainInside(const YamlNode &at, const LiteralError &error, std::string_view what) {
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

  static std::string unknown(std::string_view what, std::string_view word, const Words &words) {
    std::string_view near = nearestWord(word, words);
    return fmt::format("{} '{}'; {}", what, word.substr(0, 60),
                       near.empty() ? fmt::format("there are: {}", fmt::join(words, ", "))
                                    : fmt::format("did you mean '{}'?", near));
  }

  /// Complains of every key that is not meant to be there.
  bool checkKeys(const YamlNode &mapping, const Words &known, std::string_view what) {
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

  /// A scalar's text, whatever it means.
  static std::optional<std::string> plainText(const YamlNode &node) {
    if (!node.isScalar() || node.isNull())
      return std::nullopt;
    return std::string(node.text);
  }

  std::string readDType(const YamlNode &node) {
    if (std::optional<std::string> text = plainText(node)) {
      if (std::string_view name = canonicalDType(*text); !name.empty())
        return std::string(name);
      complain(&node, unknown("there is no dtype", *text, dtypeNames()));
    } else {
      complain(&node, "'dtype' wants a name such as fp16, found " + config::describe(node));
    }
    return std::string(kDefaultDType);
  }

  void readTolerance(const YamlNode &from, const char *key, std::optional<double> &into) {
    const YamlNode *node = from.find(key);
    if (!node || node->isNull())
      return;
    std::optional<double> number = config::asNumber(*node);
    if (number && *number >= 0 && std::isfinite(*number))
      into = *number;
    else
      complain(node, fmt::format("'{}' wants a number that is not negative, found {}", key,
                                 config::describe(*node)));
  }

  /// What defaults and cases have in common.
  void readCommon(const YamlNode &from, std::string &dtype, int64_t &seed,
                  std::optional<double> &rtol, std::optional<double> &atol) {
    if (const YamlNode *node = from.find("dtype"); node && !node->isNull())
      dtype = readDType(*node);
    if (const YamlNode *node = from.find("seed"); node && !node->isNull()) {
      if (std::optional<int64_t> number = config::asInteger(*node))
        seed = *number;
      else
        complain(node, "'seed' wants an integer, found " + config::describe(*node));
    }
    readTolerance(from, "rtol", rtol);
    readTolerance(from, "atol", atol);
  }

  void readDefaults(const YamlNode &node) {
    if (!node.isMapping())
      return complain(&node, "'default' wants a mapping, found " + config::describe(node));
    checkKeys(node, {"dtype", "seed", "rtol", "atol", "skip_if"}, "'default'");
    readCommon(node, defaults.dtype, defaults.seed, defaults.rtol, defaults.atol);
    if (const YamlNode *skip = node.find("skip_if"); skip && !skip->isNull())
      readSkips(*skip, defaults.skipIf);
  }

  void readCase(const YamlNode &node, Case &one) {
    one.line = node.line;
    one.column = node.column;
    if (!node.isMapping())
      return complain(&node, "a case is a mapping with 'name', 'op' and 'inputs', found " +
                                 config::describe(node));
    checkKeys(node,
              {"name", "op", "inputs", "attrs", "description", "expects_error", "mark", "marks",
               "skip_if", "dtype", "seed", "rtol", "atol"},
              "a case");
    for (auto [key, into] : {std::pair("name", &one.name), std::pair("op", &one.op)}) {
      const YamlNode *text = node.find(key);
      std::optional<std::string> found = text ? plainText(*text) : std::nullopt;
      if (found && !found->empty())
        *into = *found;
      else
        complain(text ? text : &node, fmt::format("a case wants a '{}'", key));
    }
    if (const YamlNode *text = node.find("description"); text && !text->isNull()) {
      if (text->isScalar())
        one.description = text->text;
      else
        complain(text, "'description' wants a text, found " + config::describe(*text));
    }
    one.dtype = defaults.dtype;
    one.seed = defaults.seed;
    one.rtol = defaults.rtol;
    one.atol = defaults.atol;
    one.skipIf = defaults.skipIf;
    readCommon(node, one.dtype, one.seed, one.rtol, one.atol);
    dtype = one.dtype;
    for (const char *key : {"mark", "marks"})
      if (const YamlNode *marks = node.find(key); marks && !marks->isNull())
        readMarks(*marks, one);
    if (const YamlNode *skip = node.find("skip_if"); skip && !skip->isNull()) {
      one.skipIf.clear();
      readSkips(*skip, one.skipIf);
    }
    if (const YamlNode *error = node.find("expects_error"); error && !error->isNull())
      readError(*error, one);
    if (const YamlNode *inputs = node.find("inputs"); inputs && !inputs->isNull())
      readInputs(*inputs, one);
    if (const YamlNode *attrs = node.find("attrs"); attrs && !attrs->isNull())
      readAttrs(*attrs, one);
  }

  void readMarks(const YamlNode &node, Case &one) {
    auto add = [&](const YamlNode &mark) {
      std::optional<std::string> text = plainText(mark);
      if (!text || text->empty())
        return complain(&mark, "a mark is a word, found " + config::describe(mark));
      std::string_view word = *text;
      if (word.starts_with("pytest.mark."))
        word.remove_prefix(12);
      bool isWord = !word.empty() && std::ranges::all_of(word, [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-' || c == '.';
      });
      if (!isWord)
        return complain(&mark, fmt::format("'{}' is no mark: a mark is one word of letters, digits "
                                           "and underscores, so that -m can name it",
                                           word.substr(0, 60)));
      one.marks.emplace_back(word);
    };
    if (node.isSequence())
      for (const YamlNode &mark : node.items)
        add(mark);
    else
      add(node);
  }

  void readSkips(const YamlNode &node, std::vector<SkipRule> &rules) {
    auto condition = [&](const YamlNode &text, std::string reason) {
      SkipRule rule;
      LiteralError problem;
      if (!text.isScalar() || text.isNull())
        return complain(&text, "'expr' wants an expression, found " + config::describe(text));
      rule.text = text.text;
      rule.reason = reason.empty() ? "skip_if: " + rule.text : std::move(reason);
      if (!Condition::parse(rule.text, rule.condition, problem))
        return complainInside(text, problem, "skip_if");
      rules.push_back(std::move(rule));
    };
    auto one = [&](const YamlNode &rule) {
      if (rule.isScalar())
        return condition(rule, "");
      if (!rule.isMapping())
        return complain(&rule,
                        "'skip_if' wants 'expr' and 'reason', found " + config::describe(rule));
      checkKeys(rule, {"expr", "reason"}, "'skip_if'");
      std::string reason;
      if (const YamlNode *text = rule.find("reason"); text && text->isScalar())
        reason = text->text;
      if (const YamlNode *text = rule.find("expr"))
        return condition(*text, std::move(reason));
      complain(&rule, "'skip_if' wants an 'expr'");
    };
    if (node.isSequence())
      for (const YamlNode &rule : node.items)
        one(rule);
    else
      one(node);
  }

  void readError(const YamlNode &node, Case &one) {
    if (!node.isMapping())
      return complain(&node,
                      "'expects_error' wants 'type' and 'match', found " + config::describe(node));
    checkKeys(node, {"type", "match"}, "'expects_error'");
    ExpectedError error;
    if (const YamlNode *type = node.find("type"); type && !type->isNull()) {
      error.type = std::string(type->text);
      Words known(kErrorTypes.begin(), kErrorTypes.end());
      if (std::ranges::find(known, error.type) == known.end())
        complain(type, unknown("there is no error type", error.type, known));
    }
    if (const YamlNode *match = node.find("match"); match && !match->isNull()) {
      if (std::optional<std::string> text = plainText(*match))
        error.match = *text;
      else
        complain(match, "'match' wants a text, found " + config::describe(*match));
    }
    one.expectsError = std::move(error);
  }

  void readInputs(const YamlNode &node, Case &one) {
    if (node.isMapping()) {
      // One argument a key, in their order.
      for (size_t i = 0; i < node.pairCount(); ++i)
        one.inputs.push_back(readInput(node.key(i), node.value(i)));
      return;
    }
    if (!node.isSequence())
      return complain(&node, "'inputs' wants a list of arguments, found " + config::describe(node));
    for (const YamlNode &item : node.items) {
      if (!item.isMapping() || item.pairCount() != 1) {
        complain(&item, "an input is one of 'tensor', 'value', 'py', 'tensor_list' and 'file', "
                        "found " +
                            config::describe(item));
        continue;
      }
      one.inputs.push_back(readInput(item.key(0), item.value(0)));
    }
  }

  void readAttrs(const YamlNode &node, Case &one) {
    if (!node.isMapping())
      return complain(&node, "'attrs' wants names with values, found " + config::describe(node));
    for (size_t i = 0; i < node.pairCount(); ++i) {
      const YamlNode &value = node.value(i);
      std::string name(node.key(i).text);
      // A tensor for a keyword argument is written as an input is.
      if (value.isMapping()) {
        if (value.pairCount() == 1) {
          one.attrs.emplace_back(std::move(name), readInput(value.key(0), value.value(0)));
          continue;
        }
        complain(&value, fmt::format("the attribute '{}' wants a value, or one of 'tensor', "
                                     "'tensor_list', 'py' and 'file'",
                                     name));
        continue;
      }
      Input input;
      input.value = readValue(value);
      one.attrs.emplace_back(std::move(name), std::move(input));
    }
  }

  Input readInput(const YamlNode &key, const YamlNode &value) {
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
        complainInside(value, problem, "py");
    } else if (kind == "file") {
      input.kind = Input::Kind::File;
      readFile(value, input);
    } else {
      complain(&key, unknown("there is no kind of input", kind,
                             {"tensor", "value", "py", "tensor_list", "tensor_tuple", "file"}));
    }
    return input;
  }

  void readFile(const YamlNode &node, Input &input) {
    const YamlNode *path = &node;
    if (node.isMapping()) {
      checkKeys(node, {"path", "key"}, "'file'");
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
                            : std::filesystem::absolute(yaml.path(), error).parent_path() / named;
    input.file = whole.lexically_normal().string();
  }

  /// A scalar, a list, or a text that is a tuple.
  Value readValue(const YamlNode &node) {
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
        complainInside(node, ignored, "value");
        return {};
      }
    }
    return Value::of(std::string(node.text));
  }

  TensorSpec readTensor(const YamlNode &node) {
    TensorSpec tensor;
    tensor.dtype = dtype;
    if (!node.isMapping()) {
      complain(&node, "a tensor wants a mapping with 'shape', found " + config::describe(node));
      return tensor;
    }
    checkKeys(
        node,
        {"shape", "init", "init_args", "dtype", "preset", "preset_args", "data", "base_shape"},
        "a tensor");
    readShape(node, tensor);
    const YamlNode *init = node.find("init");
    if (init && !init->isNull()) {
      tensor.init = init->text;
      Words known(kInits.begin(), kInits.end());
      if (!init->isScalar() || std::ranges::find(known, tensor.init) == known.end())
        complain(init, unknown("there is no init", tensor.init, known));
    } else if (node.find("data")) {
      tensor.init = "data";
    }
    const YamlNode *type = node.find("dtype");
    if (type && !type->isNull())
      tensor.dtype = readDType(*type);
    else if (tensor.init == "randint")
      tensor.dtype = "int64"; // As torch.randint has it: only a dtype of its own makes it another.
    readInitArgs(node, tensor);
    readPreset(node, tensor);
    return tensor;
  }

  void readShape(const YamlNode &node, TensorSpec &tensor) {
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

  void readInitArgs(const YamlNode &node, TensorSpec &tensor) {
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
        checkKeys(*arguments, known, fmt::format("init_args of '{}'", tensor.init));
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

  void readPreset(const YamlNode &node, TensorSpec &tensor) {
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
      return complain(preset, unknown("there is no preset", preset->text, names));
    if (tensor.init == "data" && !node.find("shape"))
      return complain(preset, "a tensor with a preset wants a 'shape'");
    tensor.preset = info->name;
    if (arguments && !arguments->isNull()) {
      if (!arguments->isMapping())
        return complain(arguments,
                        "'preset_args' wants a mapping, found " + config::describe(*arguments));
      if (checkKeys(*arguments, info->arguments, fmt::format("preset_args of '{}'", info->name)))
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

  const config::YamlFile &yaml;
  CaseFile &out;
  Defaults defaults;
  std::string dtype; ///< Of the case that is being read.
};

} // namespace

CaseFile readCases(const config::YamlFile &yaml) {
  CaseFile file;
  file.path = yaml.path();
  file.model = std::filesystem::path(yaml.path()).stem().string();
  Reader(yaml, file).read();
  return file;
}

} // namespace cupel::testbench::opcases
