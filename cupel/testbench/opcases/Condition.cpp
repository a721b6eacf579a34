#include "cupel/testbench/opcases/Condition.h"

#include "cupel/support/Text.h"
#include "cupel/testbench/opcases/DTypes.h"

#include <array>
#include <optional>
#include <utility>

namespace cupel::testbench::opcases {

namespace {

enum class Name : uint8_t { Device, RefDevice, DeviceIndex, Backend, Arch, Model, Case, Op, DType };

constexpr std::array<std::pair<std::string_view, Name>, 15> kNames = {{
    {"cfg.test_device.type", Name::Device},
    {"cfg.test_device", Name::Device},
    {"cfg.test_device.index", Name::DeviceIndex},
    {"cfg.ref_device.type", Name::RefDevice},
    {"cfg.ref_device", Name::RefDevice},
    {"cfg.compile_backend", Name::Backend},
    {"device", Name::Device},
    {"arch", Name::Arch},
    {"model", Name::Model},
    {"name", Name::Case},
    {"case_name", Name::Case},
    {"op", Name::Op},
    {"op_name", Name::Op},
    {"dtype", Name::DType},
    {"dtype_str", Name::DType},
}};

enum class Comparison : uint8_t { Equal, Unequal, Less, AtMost, More, AtLeast, In, NotIn };

constexpr uint32_t kMaxConditionDepth = 64;
constexpr size_t kMaxConditionBytes = 4096;

} // namespace

struct Condition::Node {
  enum class Kind : uint8_t { Constant, Name, List, Not, And, Or, Compare };
  Kind kind = Kind::Constant;
  Value value;
  Name name = Name::Device;
  std::vector<Node> children;
  std::vector<Comparison> comparisons; ///< One fewer than children.
};

namespace {

using Node = Condition::Node;

class Parser {
public:
  Parser(std::string_view text, LiteralError &problem) : text(text), problem(problem) {}

  bool parseAll(Node &node) {
    if (text.size() > kMaxConditionBytes)
      return fail("the expression is longer than 4096 bytes");
    if (!parseOr(node, 0))
      return false;
    skipBlanks();
    return at == text.size() ||
           fail(
               "expected a comparison, 'and' or 'or'; calls, arithmetic and indices are not taken");
  }

private:
  bool fail(std::string message, size_t where = std::string_view::npos) {
    problem = {where == std::string_view::npos ? at : where, std::move(message)};
    return false;
  }
  void skipBlanks() {
    while (at < text.size() && (text[at] == ' ' || text[at] == '\t' || text[at] == '\n'))
      ++at;
  }
  static bool isWordLetter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  }
  bool acceptWord(std::string_view word) {
    skipBlanks();
    if (!text.substr(at).starts_with(word))
      return false;
    size_t end = at + word.size();
    if (isWordLetter(word.back()) && end < text.size() && isWordLetter(text[end]))
      return false;
    at = end;
    return true;
  }

  template <typename Next>
  bool parseChain(Node &node, Node::Kind kind, std::string_view word, Next next, uint32_t depth) {
    if (!(this->*next)(node, depth))
      return false;
    if (!acceptWord(word))
      return true;
    Node chain;
    chain.kind = kind;
    chain.children.push_back(std::move(node));
    do {
      Node child;
      if (!(this->*next)(child, depth))
        return false;
      chain.children.push_back(std::move(child));
    } while (acceptWord(word));
    node = std::move(chain);
    return true;
  }
  bool parseOr(Node &node, uint32_t depth) {
    if (depth > kMaxConditionDepth)
      return fail("the expression is nested too deep");
    return parseChain(node, Node::Kind::Or, "or", &Parser::parseAnd, depth);
  }
  bool parseAnd(Node &node, uint32_t depth) {
    return parseChain(node, Node::Kind::And, "and", &Parser::parseNot, depth);
  }
  bool parseNot(Node &node, uint32_t depth) {
    if (depth > kMaxConditionDepth)
      return fail("the expression is nested too deep");
    if (!acceptWord("not"))
      return parseComparison(node, depth);
    node.kind = Node::Kind::Not;
    node.children.emplace_back();
    return parseNot(node.children[0], depth + 1);
  }

  std::optional<Comparison> acceptComparison() {
    if (acceptWord("=="))
      return Comparison::Equal;
    if (acceptWord("!="))
      return Comparison::Unequal;
    if (acceptWord("<="))
      return Comparison::AtMost;
    if (acceptWord(">="))
      return Comparison::AtLeast;
    if (acceptWord("<"))
      return Comparison::Less;
    if (acceptWord(">"))
      return Comparison::More;
    if (acceptWord("in"))
      return Comparison::In;
    size_t before = at;
    if (acceptWord("not")) {
      if (acceptWord("in"))
        return Comparison::NotIn;
      at = before;
    }
    if (acceptWord("is"))
      return acceptWord("not") ? Comparison::Unequal : Comparison::Equal;
    return std::nullopt;
  }
  bool parseComparison(Node &node, uint32_t depth) {
    if (!parseOperand(node, depth))
      return false;
    Node chain;
    chain.kind = Node::Kind::Compare;
    while (std::optional<Comparison> comparison = acceptComparison()) {
      if (chain.children.empty())
        chain.children.push_back(std::move(node));
      Node next;
      if (!parseOperand(next, depth))
        return false;
      chain.children.push_back(std::move(next));
      chain.comparisons.push_back(*comparison);
    }
    if (!chain.children.empty())
      node = std::move(chain);
    return true;
  }

  bool parseOperand(Node &node, uint32_t depth) {
    skipBlanks();
    if (at == text.size())
      return fail("a value is missing");
    char c = text[at];
    if (c == '(' || c == '[') {
      size_t begin = at++;
      char end = c == '(' ? ')' : ']';
      Node list;
      list.kind = Node::Kind::List;
      bool sawComma = false;
      while (true) {
        skipBlanks();
        if (at == text.size())
          return fail(std::string("the '") + c + "' is never closed", begin);
        if (text[at] == end)
          break;
        if (!list.children.empty() && !sawComma)
          return fail(std::string("expected ',' or '") + end + "'");
        list.children.emplace_back();
        if (!parseOr(list.children.back(), depth + 1))
          return false;
        sawComma = acceptWord(",");
      }
      ++at;
      if (c == '(' && list.children.size() == 1 && !sawComma) {
        Node inner = std::move(list.children[0]);
        node = std::move(inner);
      } else {
        node = std::move(list);
      }
      return true;
    }
    if (c == '\'' || c == '"' || c == '-' || c == '.' || (c >= '0' && c <= '9')) {
      // A constant: as far as it goes.
      size_t end = at + 1;
      if (c == '\'' || c == '"') {
        while (end < text.size() && text[end] != c)
          end += text[end] == '\\' ? 2 : 1;
        ++end;
      } else {
        while (end < text.size() && (isWordLetter(text[end]) || text[end] == '.'))
          ++end;
      }
      end = std::min(end, text.size());
      LiteralError inner;
      if (!parseLiteral(text.substr(at, end - at), node.value, inner))
        return fail(inner.message, at + inner.at);
      node.kind = Node::Kind::Constant;
      at = end;
      return true;
    }
    size_t begin = at;
    while (at < text.size() && (isWordLetter(text[at]) || text[at] == '.'))
      ++at;
    std::string_view word = text.substr(begin, at - begin);
    if (word.empty())
      return fail(std::string("'") + c + "' begins no value");
    for (auto &[constant, value] : {std::pair<std::string_view, Value>{"True", Value::of(true)},
                                    {"False", Value::of(false)},
                                    {"None", Value::none()}})
      if (word == constant) {
        node.value = value;
        return true;
      }
    for (const auto &[spelt, name] : kNames)
      if (word == spelt) {
        node.kind = Node::Kind::Name;
        node.name = name;
        return true;
      }
    std::vector<std::string_view> candidates;
    for (const auto &[spelt, name] : kNames)
      candidates.push_back(spelt);
    std::string_view near = nearestWord(word, candidates);
    return fail("there is nothing called '" + std::string(word.substr(0, 60)) + "' here" +
                    (near.empty() ? "; there are cfg.test_device.type, cfg.compile_backend, "
                                    "dtype_str, arch, op, model and name"
                                  : "; did you mean " + std::string(near) + "?"),
                begin);
  }

  std::string_view text;
  size_t at = 0;
  LiteralError &problem;
};

/// A value and whether it names a dtype, which has several spellings.
struct Operand {
  Value value;
  bool isDType = false;
};

bool isTrue(const Value &value) {
  switch (value.kind) {
  case Value::Kind::None:
    return false;
  case Value::Kind::Bool:
    return value.flag;
  case Value::Kind::Int:
    return value.integer != 0;
  case Value::Kind::Float:
    return value.number != 0;
  case Value::Kind::Text:
    return !value.text.empty();
  case Value::Kind::List:
  case Value::Kind::Tuple:
    return !value.items.empty();
  default:
    return true;
  }
}

std::optional<double> numberOf(const Value &value) {
  if (value.kind == Value::Kind::Int)
    return double(value.integer);
  if (value.kind == Value::Kind::Float)
    return value.number;
  if (value.kind == Value::Kind::Bool)
    return value.flag;
  return std::nullopt;
}

bool areEqual(const Operand &a, const Operand &b) {
  if (a.isDType != b.isDType && a.value.kind == Value::Kind::Text &&
      b.value.kind == Value::Kind::Text) {
    std::string_view left = canonicalDType(a.value.text), right = canonicalDType(b.value.text);
    return !left.empty() && left == right;
  }
  if (std::optional<double> left = numberOf(a.value), right = numberOf(b.value); left && right)
    return *left == *right;
  return a.value == b.value;
}

class Evaluator {
public:
  explicit Evaluator(const Surroundings &names) : names(names) {}

  Result<Operand> evaluate(const Node &node) {
    switch (node.kind) {
    case Node::Kind::Constant:
      return Operand{node.value};
    case Node::Kind::Name:
      return lookUp(node.name);
    case Node::Kind::List: {
      std::vector<Value> items;
      for (const Node &child : node.children) {
        Result<Operand> item = evaluate(child);
        if (!item)
          return item;
        items.push_back(std::move(item->value));
      }
      return Operand{Value::list(std::move(items))};
    }
    case Node::Kind::Not: {
      Result<Operand> inner = evaluate(node.children[0]);
      if (!inner)
        return inner;
      return Operand{Value::of(!isTrue(inner->value))};
    }
    case Node::Kind::And:
    case Node::Kind::Or: {
      bool isOr = node.kind == Node::Kind::Or;
      for (const Node &child : node.children) {
        Result<Operand> item = evaluate(child);
        if (!item)
          return item;
        if (isTrue(item->value) == isOr)
          return Operand{Value::of(isOr)};
      }
      return Operand{Value::of(!isOr)};
    }
    case Node::Kind::Compare:
      break;
    }
    Result<Operand> left = evaluate(node.children[0]);
    for (size_t i = 0; i < node.comparisons.size(); ++i) {
      if (!left)
        return left;
      Result<Operand> right = evaluate(node.children[i + 1]);
      if (!right)
        return right;
      Result<bool> is = compare(*left, node.comparisons[i], *right);
      if (!is)
        return is.error();
      if (!*is)
        return Operand{Value::of(false)};
      left = std::move(right);
    }
    return Operand{Value::of(true)};
  }

private:
  Result<Operand> lookUp(Name name) {
    switch (name) {
    case Name::Device:
      return Operand{Value::of(names.device)};
    case Name::RefDevice:
      return Operand{Value::of(std::string("cpu"))};
    case Name::DeviceIndex:
      return Operand{Value::of(int64_t(0))};
    case Name::Backend:
      return Operand{Value::of(names.compileBackend)};
    case Name::Arch:
      return Operand{Value::of(names.arch)};
    case Name::Model:
      return Operand{Value::of(names.model)};
    case Name::Case:
      return Operand{Value::of(names.name)};
    case Name::Op:
      return Operand{Value::of(names.op)};
    case Name::DType:
      return Operand{Value::of(names.dtype), true};
    }
    return Operand{};
  }

  Result<bool> compare(const Operand &a, Comparison comparison, const Operand &b) {
    switch (comparison) {
    case Comparison::Equal:
      return areEqual(a, b);
    case Comparison::Unequal:
      return !areEqual(a, b);
    case Comparison::In:
    case Comparison::NotIn: {
      bool isIn = false;
      if (b.value.kind == Value::Kind::List || b.value.kind == Value::Kind::Tuple) {
        for (const Value &item : b.value.items)
          isIn |= areEqual(a, {item});
      } else if (b.value.kind == Value::Kind::Text && a.value.kind == Value::Kind::Text) {
        isIn = b.value.text.find(a.value.text) != std::string::npos;
      } else {
        return Error{"'in' wants a list or a text on its right, not " + b.value.str()};
      }
      return isIn == (comparison == Comparison::In);
    }
    default:
      break;
    }
    int order = 0;
    if (std::optional<double> left = numberOf(a.value), right = numberOf(b.value); left && right)
      order = *left < *right ? -1 : *left > *right;
    else if (a.value.kind == Value::Kind::Text && b.value.kind == Value::Kind::Text)
      order = a.value.text.compare(b.value.text);
    else
      return Error{a.value.str() + " and " + b.value.str() + " have no order"};
    return comparison == Comparison::Less     ? order < 0
           : comparison == Comparison::AtMost ? order <= 0
           : comparison == Comparison::More   ? order > 0
                                              : order >= 0;
  }

  const Surroundings &names;
};

} // namespace

bool Condition::parse(std::string_view text, Condition &condition, LiteralError &problem) {
  auto node = std::make_shared<Node>();
  if (!Parser(text, problem).parseAll(*node))
    return false;
  condition.root = std::move(node);
  return true;
}

Result<bool> Condition::holds(const Surroundings &surroundings) const {
  if (!root)
    return false;
  Result<Operand> value = Evaluator(surroundings).evaluate(*root);
  if (!value)
    return value.error();
  return isTrue(value->value);
}

} // namespace cupel::testbench::opcases
