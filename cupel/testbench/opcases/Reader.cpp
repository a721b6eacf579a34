// From the tree of a YAML file to cases. Everything that is wrong is reported with its place and,
// where a word is wrong, with the nearest one that is right; a case with a problem is left out and
// the others go on.
#include "cupel/testbench/opcases/Case.h"
#include "cupel/testbench/opcases/Complaints.h"
#include "cupel/testbench/opcases/DTypes.h"
#include "cupel/testbench/opcases/InputReader.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <set>

namespace cupel::testbench::opcases {

namespace {

using config::YamlNode;

constexpr std::array<std::string_view, 8> kErrorTypes = {
    "RuntimeError", "ValueError",          "TypeError",      "AssertionError",
    "IndexError",   "NotImplementedError", "AttributeError", "Exception"};

struct Defaults {
  std::string dtype{kDefaultDType};
  int64_t seed = 0;
  std::optional<double> rtol, atol;
  std::vector<SkipRule> skipIf;
};

class Reader : Complaints {
public:
  Reader(const config::YamlFile &yaml, CaseFile &out) : Complaints(yaml, out) {}

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
    InputReader reader(*this, one.dtype);
    if (node.isMapping()) {
      // One argument a key, in their order.
      for (size_t i = 0; i < node.pairCount(); ++i)
        one.inputs.push_back(reader.readInput(node.key(i), node.value(i)));
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
      one.inputs.push_back(reader.readInput(item.key(0), item.value(0)));
    }
  }

  void readAttrs(const YamlNode &node, Case &one) {
    if (!node.isMapping())
      return complain(&node, "'attrs' wants names with values, found " + config::describe(node));
    InputReader reader(*this, one.dtype);
    for (size_t i = 0; i < node.pairCount(); ++i) {
      const YamlNode &value = node.value(i);
      std::string name(node.key(i).text);
      // A tensor for a keyword argument is written as an input is.
      if (value.isMapping()) {
        if (value.pairCount() == 1) {
          one.attrs.emplace_back(std::move(name), reader.readInput(value.key(0), value.value(0)));
          continue;
        }
        complain(&value, fmt::format("the attribute '{}' wants a value, or one of 'tensor', "
                                     "'tensor_list', 'py' and 'file'",
                                     name));
        continue;
      }
      Input input;
      input.value = reader.readValue(value);
      one.attrs.emplace_back(std::move(name), std::move(input));
    }
  }

  Defaults defaults;
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
