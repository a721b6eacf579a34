// What Python's ==, bool(), hash(), str() and iteration say of values, and dictionaries.

#include "cupel/testbench/zoo/Evaluator.h"
#include "cupel/testbench/zoo/ValueQuestions.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace cupel::testbench::zoo {

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

} // namespace cupel::testbench::zoo
