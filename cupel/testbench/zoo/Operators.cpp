// The operators of the static evaluator: arithmetic, unions, comparisons.

#include "cupel/testbench/zoo/Evaluator.h"
#include "cupel/testbench/zoo/ValueQuestions.h"

#include <algorithm>
#include <fmt/format.h>

namespace cupel::testbench::zoo {

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

} // namespace cupel::testbench::zoo
