// The expressions of the static evaluator.

#include "cupel/testbench/zoo/Evaluator.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fmt/format.h>

namespace cupel::testbench::zoo {
namespace {

/// Loaders need a few thousand; a runaway loop is stopped within a tenth of a second.
constexpr uint64_t kMaxSteps = 1'000'000;
constexpr int kMaxDepth = 250;
/// No text or list of a loader comes near these.
constexpr size_t kMaxText = size_t{1} << 20;
constexpr size_t kMaxItems = 200'000;

bool isNumber(Value value) {
  return value.kind == ValueKind::Int || value.kind == ValueKind::Float ||
         value.kind == ValueKind::Bool;
}

double asDouble(Value value) {
  return value.kind == ValueKind::Float  ? value.number
         : value.kind == ValueKind::Bool ? (value.truth ? 1.0 : 0.0)
                                         : static_cast<double>(value.integer);
}

int64_t asInteger(Value value) {
  return value.kind == ValueKind::Bool ? (value.truth ? 1 : 0) : value.integer;
}

/// What a member of a string enum is as a string.
Value unwrapped(Value value) {
  if (value.kind == ValueKind::Member && value.member->type->isStringEnum)
    return value.member->value;
  return value;
}

} // namespace

bool Evaluator::isExhausted() const { return steps > kMaxSteps; }

Value Evaluator::string(std::string text) {
  if (text.size() > kMaxText)
    return unknown(nullptr, nullptr, "a text grows beyond all bounds");
  steps += text.size() / 64;
  return Value::string(heap.keep(std::move(text)));
}

Value Evaluator::eval(const Node *node, Frame &frame) {
  if (!node)
    return unknown(nullptr, frame.module, "something is missing here");
  if (++steps > kMaxSteps)
    return unknown(node, frame.module, "evaluating this takes too many steps");
  if (depth > kMaxDepth)
    return unknown(node, frame.module, "this is nested too deeply");
  ++depth;
  Value value = evalInner(node, frame);
  --depth;
  return value;
}

Value Evaluator::evalInner(const Node *node, Frame &frame) {
  switch (node->kind) {
  case NodeKind::Name:
    return lookup(node->text, node, frame);
  case NodeKind::String:
    return Value::string(node->text);
  case NodeKind::FString:
    return evalFormat(node, frame);
  case NodeKind::Number: {
    std::string digits;
    for (char c : node->text)
      if (c != '_')
        digits += c;
    int base = 10;
    size_t skip = 0;
    if (digits.size() > 2 && digits[0] == '0') {
      char form = static_cast<char>(tolower(digits[1]));
      base = form == 'x' ? 16 : form == 'o' ? 8 : form == 'b' ? 2 : 10;
      skip = base == 10 ? 0 : 2;
    }
    const char *begin = digits.data() + skip, *end = digits.data() + digits.size();
    int64_t integer = 0;
    if (auto [stop, error] = std::from_chars(begin, end, integer, base);
        error == std::errc() && stop == end)
      return Value::of(integer);
    double number = 0;
    if (auto [stop, error] = std::from_chars(begin, end, number);
        base == 10 && error == std::errc() && stop == end)
      return Value::of(number);
    return unknown(node, frame.module, "this number cannot be held");
  }
  case NodeKind::True:
    return Value::boolean(true);
  case NodeKind::False:
    return Value::boolean(false);
  case NodeKind::None:
    return {};
  case NodeKind::Ellipsis:
    return Value::builtin("...");
  case NodeKind::Tuple:
  case NodeKind::List:
  case NodeKind::Set: {
    SequenceForm form = node->kind == NodeKind::Tuple  ? SequenceForm::Tuple
                        : node->kind == NodeKind::List ? SequenceForm::List
                                                       : SequenceForm::Set;
    Value made = sequence(form);
    for (const Node *part : node->children) {
      if (part->kind != NodeKind::Star) {
        made.sequence->items.push_back(eval(part, frame));
        continue;
      }
      const Why *why = nullptr;
      if (auto items = iterate(eval(part->child(0), frame), part, frame.module, &why))
        made.sequence->items.insert(made.sequence->items.end(), items->begin(), items->end());
      else
        made.sequence->tainted = why;
    }
    return made;
  }
  case NodeKind::Dict: {
    Dict *dict = heap.make<Dict>();
    for (const Node *part : node->children) {
      if (part->kind == NodeKind::DoubleStar) {
        Value merged = eval(part->child(0), frame);
        if (merged.kind != ValueKind::Dict) {
          dict->tainted = merged.isUnknown()
                              ? merged.why
                              : unknown(part, frame.module, "this is not a dictionary").why;
          continue;
        }
        if (merged.dict->tainted)
          dict->tainted = merged.dict->tainted;
        for (auto &[key, value] : merged.dict->entries)
          dictSet(*dict, key, value);
        continue;
      }
      Value key = eval(part->child(0), frame), value = eval(part->child(1), frame);
      if (!dictSet(*dict, key, value))
        dict->tainted =
            key.isUnknown() ? key.why : unknown(part, frame.module, "this key is not known").why;
    }
    return Value::of(dict);
  }
  case NodeKind::Attribute:
    return attribute(eval(node->child(0), frame), node->text, node, frame.module);
  case NodeKind::Subscript: {
    Value object = eval(node->child(0), frame);
    if (node->child(1) && node->child(1)->kind == NodeKind::Slice)
      return slice(object, node->child(1), frame);
    // Types with parameters (Dict[str, int], Generic[T]) are the types.
    if (object.kind == ValueKind::Builtin)
      return object;
    return subscript(object, eval(node->child(1), frame), node, frame);
  }
  case NodeKind::Call:
    return evalCall(node, frame);
  case NodeKind::Unary: {
    Value operand = eval(node->child(0), frame);
    if (node->text == "not") {
      std::optional<bool> holds = truth(operand);
      if (holds)
        return Value::boolean(!*holds);
      return operand.isUnknown() ? operand
                                 : unknown(node, frame.module, "whether this holds is not known");
    }
    if (operand.isUnknown())
      return operand;
    if (operand.kind == ValueKind::Float && (node->text == "-" || node->text == "+"))
      return Value::of(node->text == "-" ? -operand.number : operand.number);
    if (isNumber(operand) && operand.kind != ValueKind::Float) {
      int64_t integer = asInteger(operand);
      if (node->text == "-" && integer != INT64_MIN)
        return Value::of(-integer);
      if (node->text == "+")
        return Value::of(integer);
      if (node->text == "~")
        return Value::of(~integer);
    }
    return unknown(node, frame.module, "this operator cannot be applied here");
  }
  case NodeKind::Binary:
    return evalBinary(node->text, eval(node->child(0), frame), eval(node->child(1), frame), node,
                      frame);
  case NodeKind::Boolean: {
    Value left = eval(node->child(0), frame);
    std::optional<bool> holds = truth(left);
    if (!holds)
      return left.isUnknown() ? left
                              : unknown(node, frame.module, "whether this holds is not known");
    return *holds == (node->text == "or") ? left : eval(node->child(1), frame);
  }
  case NodeKind::Compare:
    return evalCompare(node, frame);
  case NodeKind::Conditional: {
    Value condition = eval(node->child(1), frame);
    std::optional<bool> holds = truth(condition);
    if (!holds)
      return condition.isUnknown() ? condition
                                   : unknown(node, frame.module, "whether this holds is not known");
    return eval(node->child(*holds ? 0 : 2), frame);
  }
  case NodeKind::NamedExpression: {
    Value value = eval(node->child(0), frame);
    bind(node->text, value, frame);
    return value;
  }
  case NodeKind::Lambda:
    return defineFunction(node, frame);
  case NodeKind::ListComprehension:
  case NodeKind::SetComprehension:
  case NodeKind::Generator:
  case NodeKind::DictComprehension:
    return evalComprehension(node, frame);
  default:
    return unknown(node, frame.module,
                   fmt::format("a '{}' cannot be evaluated",
                               node->text.empty() ? "this kind of expression" : node->text));
  }
}

Value Evaluator::lookup(std::string_view name, const Node *at, Frame &frame) {
  bool first = true;
  for (Frame *current = &frame; current; current = current->outer) {
    // Names of a class body are seen by that body alone.
    if (current->locals && (first || !current->isClassBody))
      if (Value *value = current->locals->find(name)) {
        if (value->kind == ValueKind::Promise)
          *value = force(*value);
        return *value;
      }
    first = false;
  }
  if (std::optional<Value> value = global(frame.module, name))
    return *value;
  static constexpr std::string_view kBuiltins[] = {"len",
                                                   "str",
                                                   "int",
                                                   "float",
                                                   "bool",
                                                   "list",
                                                   "tuple",
                                                   "dict",
                                                   "set",
                                                   "frozenset",
                                                   "sorted",
                                                   "reversed",
                                                   "enumerate",
                                                   "zip",
                                                   "range",
                                                   "isinstance",
                                                   "issubclass",
                                                   "type",
                                                   "getattr",
                                                   "hasattr",
                                                   "any",
                                                   "all",
                                                   "min",
                                                   "max",
                                                   "sum",
                                                   "print",
                                                   "super",
                                                   "object",
                                                   "property",
                                                   "staticmethod",
                                                   "classmethod",
                                                   "map",
                                                   "filter",
                                                   "iter",
                                                   "next",
                                                   "abs",
                                                   "repr",
                                                   "Exception",
                                                   "ValueError",
                                                   "TypeError",
                                                   "KeyError",
                                                   "RuntimeError",
                                                   "NotImplementedError",
                                                   "AttributeError",
                                                   "ImportError",
                                                   "callable"};
  for (std::string_view known : kBuiltins)
    if (name == known)
      return Value::builtin(known);
  if (name == "__name__")
    return Value::string(frame.module->name);
  if (name == "__file__")
    return Value::string(frame.module->path);
  return unknown(at, frame.module,
                 fmt::format("'{}' is not defined in any way that can be followed", name));
}

std::optional<bool> Evaluator::truth(Value value) {
  switch (value.kind) {
  case ValueKind::None:
    return false;
  case ValueKind::Bool:
    return value.truth;
  case ValueKind::Int:
    return value.integer != 0;
  case ValueKind::Float:
    return value.number != 0;
  case ValueKind::Str:
    return value.size != 0;
  case ValueKind::Sequence:
    if (value.sequence->tainted)
      return std::nullopt;
    return !value.sequence->items.empty();
  case ValueKind::Dict:
    if (!value.dict->entries.empty())
      return true;
    return value.dict->tainted ? std::nullopt : std::optional(false);
  case ValueKind::Member:
    if (value.member->type->isStringEnum)
      return truth(value.member->value);
    return true;
  case ValueKind::Class:
  case ValueKind::Function:
  case ValueKind::Bound:
  case ValueKind::Module:
    return true;
  default:
    return std::nullopt;
  }
}

std::optional<bool> Evaluator::equal(Value left, Value right) {
  left = unwrapped(left);
  right = unwrapped(right);
  if (left.isUnknown() || right.isUnknown())
    return std::nullopt;
  if (isNumber(left) && isNumber(right)) {
    if (left.kind != ValueKind::Float && right.kind != ValueKind::Float)
      return asInteger(left) == asInteger(right);
    return asDouble(left) == asDouble(right);
  }
  if (left.kind != right.kind)
    return left.kind == ValueKind::Instance || right.kind == ValueKind::Instance
               ? std::optional<bool>()
               : std::optional(false);
  switch (left.kind) {
  case ValueKind::None:
    return true;
  case ValueKind::Str:
  case ValueKind::Builtin:
    return left.text() == right.text();
  case ValueKind::Member:
    return left.member == right.member;
  case ValueKind::Class:
    return left.type == right.type;
  case ValueKind::Module:
    return left.module == right.module;
  case ValueKind::Sequence: {
    if (left.sequence == right.sequence)
      return true;
    if (left.sequence->tainted || right.sequence->tainted)
      return std::nullopt;
    if (left.sequence->form != right.sequence->form)
      return false;
    if (left.sequence->form == SequenceForm::Set)
      return std::nullopt;
    auto &a = left.sequence->items, &b = right.sequence->items;
    if (a.size() != b.size())
      return false;
    if (++depth > kMaxDepth) {
      --depth;
      return std::nullopt;
    }
    std::optional<bool> result = true;
    for (size_t i = 0; i < a.size() && result && *result; ++i)
      result = equal(a[i], b[i]);
    --depth;
    return result;
  }
  case ValueKind::Dict:
    return left.dict == right.dict ? std::optional(true) : std::nullopt;
  default:
    return std::nullopt;
  }
}

std::optional<size_t> Evaluator::hash(Value value) {
  value = unwrapped(value);
  switch (value.kind) {
  case ValueKind::None:
    return 1;
  case ValueKind::Bool:
  case ValueKind::Int:
    return std::hash<int64_t>()(asInteger(value));
  case ValueKind::Float: {
    double whole = std::nearbyint(value.number);
    if (whole == value.number && std::abs(whole) < 9e18)
      return std::hash<int64_t>()(static_cast<int64_t>(whole));
    return std::hash<double>()(value.number);
  }
  case ValueKind::Str:
    return std::hash<std::string_view>()(value.text());
  case ValueKind::Member:
    return std::hash<void *>()(value.member);
  case ValueKind::Class:
    return std::hash<void *>()(value.type);
  case ValueKind::Sequence: {
    if (value.sequence->form != SequenceForm::Tuple || value.sequence->tainted)
      return std::nullopt;
    size_t combined = 7;
    for (Value item : value.sequence->items) {
      std::optional<size_t> one = hash(item);
      if (!one)
        return std::nullopt;
      combined = combined * 31 + *one;
    }
    return combined;
  }
  default:
    return std::nullopt;
  }
}

bool Evaluator::dictSet(Dict &dict, Value key, Value value) {
  bool decided = true;
  if (Value *known = dictGet(dict, key, &decided)) {
    *known = value;
    return true;
  }
  if (!decided)
    return false;
  dict.index.emplace(*hash(key), static_cast<uint32_t>(dict.entries.size()));
  dict.entries.emplace_back(key, value);
  return true;
}

Value *Evaluator::dictGet(Dict &dict, Value key, bool *decided) {
  std::optional<size_t> code = hash(key);
  *decided = code.has_value();
  if (!code)
    return nullptr;
  auto [begin, end] = dict.index.equal_range(*code);
  for (auto at = begin; at != end; ++at) {
    auto &[known, value] = dict.entries[at->second];
    if (equal(known, key).value_or(false))
      return &value;
  }
  return nullptr;
}

void Evaluator::dictErase(Dict &dict, Value key) {
  for (size_t i = 0; i < dict.entries.size(); ++i)
    if (equal(dict.entries[i].first, key).value_or(false)) {
      dict.entries.erase(dict.entries.begin() + static_cast<ptrdiff_t>(i));
      dict.index.clear();
      for (size_t k = 0; k < dict.entries.size(); ++k)
        dict.index.emplace(*hash(dict.entries[k].first), static_cast<uint32_t>(k));
      return;
    }
}

std::optional<std::string> Evaluator::stringOf(Value value) {
  switch (value.kind) {
  case ValueKind::Str:
    return std::string(value.text());
  case ValueKind::None:
    return "None";
  case ValueKind::Bool:
    return value.truth ? "True" : "False";
  case ValueKind::Int:
    return std::to_string(value.integer);
  case ValueKind::Float: {
    if (!std::isfinite(value.number))
      return std::nullopt;
    std::string text = fmt::format("{}", value.number);
    if (text.find_first_of(".e") == std::string::npos)
      text += ".0";
    return text;
  }
  case ValueKind::Member:
    // Enums of zoos print as their value; one with a method of its own is asked.
    if (std::optional<Value> method = classAttribute(value.member->type, "__str__");
        method && method->kind == ValueKind::Function) {
      Value made = callFunction(method->function, value, {}, nullptr, method->function->module);
      return made.kind == ValueKind::Str ? std::optional(std::string(made.text())) : std::nullopt;
    }
    return stringOf(value.member->value);
  default:
    return std::nullopt;
  }
}

Value Evaluator::evalFormat(const Node *node, Frame &frame) {
  std::string out;
  for (const Node *part : node->children) {
    if (part->kind == NodeKind::String) {
      out += part->text;
      continue;
    }
    if (part->kind != NodeKind::Interpolation)
      return eval(part, frame);
    Value value = eval(part->child(0), frame);
    if (value.isUnknown())
      return value;
    std::string_view format = part->text;
    if (format.starts_with('!'))
      format = format == "!s" ? std::string_view() : format;
    if (value.kind == ValueKind::Int && format.starts_with(":0") && format.size() <= 4 &&
        std::all_of(format.begin() + 1, format.end(), ::isdigit)) {
      int width = 0;
      std::from_chars(format.data() + 1, format.data() + format.size(), width);
      out += fmt::format("{:0{}}", value.integer, width);
      continue;
    }
    std::optional<std::string> text = stringOf(value);
    if (!text || !format.empty())
      return unknown(part, frame.module, "how this is printed cannot be told");
    out += *text;
  }
  return string(std::move(out));
}

Value Evaluator::evalBinary(std::string_view op, Value left, Value right, const Node *at,
                            Frame &frame) {
  if (left.isUnknown())
    return left;
  if (right.isUnknown())
    return right;
  if (op == "|" && left.kind == ValueKind::Dict && right.kind == ValueKind::Dict) {
    Dict *merged = heap.make<Dict>(*left.dict);
    if (right.dict->tainted)
      merged->tainted = right.dict->tainted;
    for (auto &[key, value] : right.dict->entries)
      dictSet(*merged, key, value);
    return Value::of(merged);
  }
  left = unwrapped(left);
  right = unwrapped(right);
  if (op == "+" && left.kind == ValueKind::Str && right.kind == ValueKind::Str)
    return string(std::string(left.text()) + std::string(right.text()));
  if (op == "+" && left.kind == ValueKind::Sequence && right.kind == ValueKind::Sequence &&
      left.sequence->form == right.sequence->form) {
    size_t total = left.sequence->items.size() + right.sequence->items.size();
    if (total > kMaxItems)
      return unknown(at, frame.module, "a list grows beyond all bounds");
    steps += total / 8;
    Value joined = sequence(left.sequence->form, left.sequence->items);
    joined.sequence->items.insert(joined.sequence->items.end(), right.sequence->items.begin(),
                                  right.sequence->items.end());
    joined.sequence->tainted =
        left.sequence->tainted ? left.sequence->tainted : right.sequence->tainted;
    return joined;
  }
  if (left.kind == ValueKind::Sequence && right.kind == ValueKind::Sequence &&
      left.sequence->form == SequenceForm::Set && right.sequence->form == SequenceForm::Set &&
      (op == "|" || op == "&" || op == "-")) {
    Value made = sequence(SequenceForm::Set);
    made.sequence->tainted =
        left.sequence->tainted ? left.sequence->tainted : right.sequence->tainted;
    auto has = [&](Sequence *s, Value value) {
      return std::any_of(s->items.begin(), s->items.end(),
                         [&](Value item) { return equal(item, value).value_or(false); });
    };
    for (Value item : left.sequence->items)
      if (op == "|" || has(right.sequence, item) == (op == "&"))
        made.sequence->items.push_back(item);
    if (op == "|")
      for (Value item : right.sequence->items)
        if (!has(left.sequence, item))
          made.sequence->items.push_back(item);
    return made;
  }
  if (op == "%" && left.kind == ValueKind::Str) {
    std::vector<Value> values =
        right.kind == ValueKind::Sequence && right.sequence->form == SequenceForm::Tuple
            ? right.sequence->items
            : std::vector<Value>{right};
    std::string out;
    size_t next = 0;
    std::string_view text = left.text();
    for (size_t i = 0; i < text.size(); ++i) {
      if (text[i] != '%') {
        out += text[i];
        continue;
      }
      char form = i + 1 < text.size() ? text[++i] : '\0';
      if (form == '%') {
        out += '%';
        continue;
      }
      std::optional<std::string> one =
          next < values.size() &&
                  (form == 's' || (form == 'd' && values[next].kind == ValueKind::Int))
              ? stringOf(values[next++])
              : std::nullopt;
      if (!one)
        return unknown(at, frame.module, "this formatting cannot be followed");
      out += *one;
    }
    return string(std::move(out));
  }
  if (isNumber(left) && isNumber(right)) {
    if (left.kind != ValueKind::Float && right.kind != ValueKind::Float) {
      int64_t a = asInteger(left), b = asInteger(right), r = 0;
      bool overflow = false;
      if (op == "+")
        overflow = __builtin_add_overflow(a, b, &r);
      else if (op == "-")
        overflow = __builtin_sub_overflow(a, b, &r);
      else if (op == "*")
        overflow = __builtin_mul_overflow(a, b, &r);
      else if ((op == "//" || op == "%") && b != 0 && !(a == INT64_MIN && b == -1)) {
        int64_t quotient = a / b - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
        r = op == "//" ? quotient : a - quotient * b;
      } else if (op == "/" && b != 0)
        return Value::of(static_cast<double>(a) / static_cast<double>(b));
      else if (op == "**" && b >= 0 && b < 64) {
        r = 1;
        for (int64_t i = 0; i < b && !overflow; ++i)
          overflow = __builtin_mul_overflow(r, a, &r);
      } else if (op == "&")
        r = a & b;
      else if (op == "|")
        r = a | b;
      else if (op == "<<" && a >= 0 && b >= 0 && b < 62 && a < (int64_t{1} << (62 - b)))
        r = a << b;
      else if (op == ">>" && b >= 0 && b < 64)
        r = a >> b;
      else
        overflow = true;
      if (!overflow)
        return Value::of(r);
    } else {
      double a = asDouble(left), b = asDouble(right);
      if (op == "+")
        return Value::of(a + b);
      if (op == "-")
        return Value::of(a - b);
      if (op == "*")
        return Value::of(a * b);
      if (op == "/" && b != 0)
        return Value::of(a / b);
    }
  }
  if (op == "*" && (left.kind == ValueKind::Str || right.kind == ValueKind::Str)) {
    Value text = left.kind == ValueKind::Str ? left : right,
          count = left.kind == ValueKind::Str ? right : left;
    if (count.kind == ValueKind::Int && count.integer >= 0 &&
        count.integer * static_cast<int64_t>(text.size) < 100000) {
      std::string out;
      for (int64_t i = 0; i < count.integer; ++i)
        out += text.text();
      return string(std::move(out));
    }
  }
  return unknown(at, frame.module, fmt::format("the result of '{}' here is not known", op));
}

Value Evaluator::evalCompare(const Node *node, Frame &frame) {
  Value left = eval(node->child(0), frame);
  for (size_t i = 1; i + 1 < node->children.size(); i += 2) {
    Value right = eval(node->child(i + 1), frame);
    Value one = compare(node->child(i)->text, left, right, node, frame);
    if (one.kind != ValueKind::Bool || !one.truth)
      return one;
    left = right;
  }
  return Value::boolean(true);
}

Value Evaluator::compare(std::string_view op, Value left, Value right, const Node *at,
                         Frame &frame) {
  if (left.isUnknown())
    return left;
  if (right.isUnknown())
    return right;
  auto undecided = [&] { return unknown(at, frame.module, "this comparison cannot be told"); };
  if (op == "==" || op == "!=") {
    std::optional<bool> same = equal(left, right);
    return same ? Value::boolean(*same == (op == "==")) : undecided();
  }
  if (op == "is" || op == "is not") {
    bool same;
    if (left.kind != right.kind)
      same = false;
    else if (left.kind == ValueKind::Dict)
      same = left.dict == right.dict;
    else if (left.kind == ValueKind::Sequence)
      same = left.sequence == right.sequence;
    else if (std::optional<bool> result = equal(left, right))
      same = *result;
    else
      return undecided();
    return Value::boolean(same == (op == "is"));
  }
  if (op == "in" || op == "not in") {
    std::optional<bool> has;
    if (right.kind == ValueKind::Dict) {
      bool decided = true;
      if (dictGet(*right.dict, left, &decided))
        has = true;
      else if (decided && !right.dict->tainted)
        has = false;
    } else if (right.kind == ValueKind::Str && unwrapped(left).kind == ValueKind::Str) {
      has = right.text().find(unwrapped(left).text()) != std::string_view::npos;
    } else {
      const Why *why = nullptr;
      if (auto items = iterate(right, at, frame.module, &why)) {
        has = false;
        for (Value item : *items) {
          std::optional<bool> same = equal(item, left);
          if (!same) {
            has.reset();
            break;
          }
          if (*same) {
            has = true;
            break;
          }
        }
      }
    }
    return has ? Value::boolean(*has == (op == "in")) : undecided();
  }
  left = unwrapped(left);
  right = unwrapped(right);
  int order;
  if (isNumber(left) && isNumber(right)) {
    double a = asDouble(left), b = asDouble(right);
    order = a < b ? -1 : a > b ? 1 : 0;
  } else if (left.kind == ValueKind::Str && right.kind == ValueKind::Str) {
    order = left.text().compare(right.text());
  } else {
    return undecided();
  }
  return Value::boolean(op == "<"    ? order < 0
                        : op == "<=" ? order <= 0
                        : op == ">"  ? order > 0
                                     : order >= 0);
}

std::optional<std::vector<Value>> Evaluator::iterate(Value value, const Node *at, ModuleState *in,
                                                     const Why **why) {
  switch (value.kind) {
  case ValueKind::Unknown:
    *why = value.why;
    return std::nullopt;
  case ValueKind::Sequence:
    if (value.sequence->tainted) {
      *why = value.sequence->tainted;
      return std::nullopt;
    }
    steps += value.sequence->items.size() / 8;
    return value.sequence->items;
  case ValueKind::Dict: {
    if (value.dict->tainted) {
      *why = value.dict->tainted;
      return std::nullopt;
    }
    std::vector<Value> keys;
    for (auto &[key, item] : value.dict->entries)
      keys.push_back(key);
    return keys;
  }
  case ValueKind::Class:
    if (value.type->isEnum) {
      std::vector<Value> members;
      for (Member *member : value.type->members)
        members.push_back(Value::of(member));
      return members;
    }
    break;
  case ValueKind::Str: {
    std::vector<Value> letters;
    std::string_view text = value.text();
    for (size_t i = 0; i < text.size();) {
      size_t length = 1;
      while (i + length < text.size() && (text[i + length] & 0xC0) == 0x80)
        ++length;
      letters.push_back(Value::string(text.substr(i, length)));
      i += length;
    }
    return letters;
  }
  default:
    break;
  }
  *why = unknown(at, in, "what this iterates over is not known").why;
  return std::nullopt;
}

const Why *Evaluator::runClauses(const Node *node, size_t clause, Frame &frame,
                                 const std::function<const Why *(Frame &)> &leaf) {
  if (clause >= node->children.size())
    return leaf(frame);
  const Node *current = node->child(clause);
  if (current->kind == NodeKind::IfClause) {
    Value condition = eval(current->child(0), frame);
    std::optional<bool> holds = truth(condition);
    if (!holds)
      return condition.isUnknown()
                 ? condition.why
                 : unknown(current, frame.module, "whether this holds is not known").why;
    return *holds ? runClauses(node, clause + 1, frame, leaf) : nullptr;
  }
  const Why *why = nullptr;
  std::optional<std::vector<Value>> items =
      iterate(eval(current->child(1), frame), current, frame.module, &why);
  if (!items)
    return why;
  for (Value item : *items) {
    if (++steps, isExhausted())
      return unknown(current, frame.module, "evaluating this takes too many steps").why;
    assign(current->child(0), item, frame);
    if (const Why *failed = runClauses(node, clause + 1, frame, leaf))
      return failed;
  }
  return nullptr;
}

Value Evaluator::evalComprehension(const Node *node, Frame &frame) {
  Scope scope;
  Frame inner{frame.module, &scope, frame.owner, false, &frame, frame.self, {}};
  // In a class body Python evaluates only the first iterable there; seeing the others too merely
  // accepts what would raise NameError.
  const Node *element = node->child(0);
  if (node->kind == NodeKind::DictComprehension) {
    Dict *dict = heap.make<Dict>();
    const Why *why = runClauses(node, 1, inner, [&](Frame &f) -> const Why * {
      Value key = eval(element->child(0), f), value = eval(element->child(1), f);
      if (dictSet(*dict, key, value))
        return nullptr;
      return key.isUnknown() ? key.why : unknown(element, f.module, "this key is not known").why;
    });
    return why ? Value::unknown(why) : Value::of(dict);
  }
  SequenceForm form =
      node->kind == NodeKind::SetComprehension ? SequenceForm::Set : SequenceForm::List;
  Value made = sequence(form);
  const Why *why = runClauses(node, 1, inner, [&](Frame &f) -> const Why * {
    made.sequence->items.push_back(eval(element, f));
    return nullptr;
  });
  return why ? Value::unknown(why) : made;
}

Value Evaluator::subscript(Value object, Value index, const Node *at, Frame &frame) {
  if (object.isUnknown())
    return object;
  if (index.isUnknown())
    return index;
  if (object.kind == ValueKind::Dict) {
    bool decided = true;
    if (Value *found = dictGet(*object.dict, index, &decided))
      return *found;
    if (object.dict->tainted)
      return Value::unknown(object.dict->tainted);
    return unknown(at, frame.module, "the dictionary has no such key");
  }
  if (object.kind == ValueKind::Sequence && index.kind == ValueKind::Int) {
    if (object.sequence->tainted)
      return Value::unknown(object.sequence->tainted);
    auto size = static_cast<int64_t>(object.sequence->items.size());
    int64_t position = index.integer < 0 ? index.integer + size : index.integer;
    if (position >= 0 && position < size && object.sequence->form != SequenceForm::Set)
      return object.sequence->items[static_cast<size_t>(position)];
  }
  if (object.kind == ValueKind::Str && index.kind == ValueKind::Int) {
    const Why *why = nullptr;
    auto letters = iterate(object, at, frame.module, &why);
    auto size = static_cast<int64_t>(letters->size());
    int64_t position = index.integer < 0 ? index.integer + size : index.integer;
    if (position >= 0 && position < size)
      return (*letters)[static_cast<size_t>(position)];
  }
  if (object.kind == ValueKind::Class && object.type->isEnum && index.kind == ValueKind::Str)
    if (Value *member = object.type->scope.find(index.text());
        member && member->kind == ValueKind::Member)
      return *member;
  if (object.kind == ValueKind::Class && !object.type->isEnum)
    return object; // Base[T]
  return unknown(at, frame.module, "this index cannot be followed");
}

Value Evaluator::slice(Value object, const Node *node, Frame &frame) {
  if (object.isUnknown())
    return object;
  const Why *why = nullptr;
  std::optional<std::vector<Value>> items;
  if (object.kind == ValueKind::Str || object.kind == ValueKind::Sequence)
    items = iterate(object, node, frame.module, &why);
  if (!items || node->child(2))
    return why ? Value::unknown(why) : unknown(node, frame.module, "this slice cannot be followed");
  auto size = static_cast<int64_t>(items->size());
  auto bound = [&](const Node *end, int64_t otherwise) -> std::optional<int64_t> {
    if (!end)
      return otherwise;
    Value value = eval(end, frame);
    if (value.isNone())
      return otherwise;
    if (value.kind != ValueKind::Int)
      return std::nullopt;
    int64_t position = value.integer < 0 ? value.integer + size : value.integer;
    return std::clamp<int64_t>(position, 0, size);
  };
  std::optional<int64_t> begin = bound(node->child(0), 0), end = bound(node->child(1), size);
  if (!begin || !end)
    return unknown(node, frame.module, "this slice cannot be followed");
  if (object.kind == ValueKind::Str) {
    std::string out;
    for (int64_t i = *begin; i < *end; ++i)
      out += (*items)[static_cast<size_t>(i)].text();
    return string(std::move(out));
  }
  Value made = sequence(object.sequence->form);
  for (int64_t i = *begin; i < *end; ++i)
    made.sequence->items.push_back((*items)[static_cast<size_t>(i)]);
  return made;
}

} // namespace cupel::testbench::zoo
