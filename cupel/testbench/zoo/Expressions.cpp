// The expressions of the static evaluator.

#include "cupel/testbench/zoo/Evaluator.h"
#include "cupel/testbench/zoo/ValueQuestions.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>

namespace cupel::testbench::zoo {
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
  if (name == "globals" || name == "exec") {
    // Whatever this module defines may be something else from here on.
    Value lost = unknown(at, frame.module, fmt::format("'{}' may change any name", name));
    frame.module->opaque = lost.why;
    return lost;
  }
  return unknown(at, frame.module,
                 fmt::format("'{}' is not defined in any way that can be followed", name));
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
