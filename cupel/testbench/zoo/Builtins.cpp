// The functions of Python's own that loaders are written with.

#include "cupel/testbench/zoo/Evaluator.h"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>

namespace cupel::testbench::zoo {

Value Evaluator::isInstance(Value value, Value type, const Node *at, ModuleState *in) {
  if (value.isUnknown())
    return value;
  if (type.kind == ValueKind::Sequence) {
    for (Value one : type.sequence->items) {
      Value result = isInstance(value, one, at, in);
      if (result.kind != ValueKind::Bool || result.truth)
        return result;
    }
    return Value::boolean(false);
  }
  if (type.kind == ValueKind::Class) {
    Class *actual = value.kind == ValueKind::Instance ? value.instance->type
                    : value.kind == ValueKind::Member ? value.member->type
                                                      : nullptr;
    if (!actual)
      return Value::boolean(false);
    if (isSubclass(actual, type.type))
      return Value::boolean(true);
    return actual->unknownBase ? Value::unknown(actual->unknownBase) : Value::boolean(false);
  }
  if (type.kind == ValueKind::Builtin) {
    std::string_view name = type.text();
    bool isStringMember = value.kind == ValueKind::Member && value.member->type->isStringEnum;
    if (name == "str")
      return Value::boolean(value.kind == ValueKind::Str || isStringMember);
    if (name == "int")
      return Value::boolean(value.kind == ValueKind::Int || value.kind == ValueKind::Bool);
    if (name == "bool")
      return Value::boolean(value.kind == ValueKind::Bool);
    if (name == "float")
      return Value::boolean(value.kind == ValueKind::Float);
    if (name == "dict")
      return Value::boolean(value.kind == ValueKind::Dict);
    if (name == "list" || name == "tuple" || name == "set")
      return Value::boolean(value.kind == ValueKind::Sequence &&
                            value.sequence->form == (name == "list"    ? SequenceForm::List
                                                     : name == "tuple" ? SequenceForm::Tuple
                                                                       : SequenceForm::Set));
    if (name == "NoneType")
      return Value::boolean(value.isNone());
    if (name == "Enum")
      return Value::boolean(value.kind == ValueKind::Member);
  }
  return type.isUnknown() ? type : unknown(at, in, "what type this is cannot be told");
}

Value Evaluator::memberOf(Class *type, Value value, const Node *at, ModuleState *in) {
  if (value.kind == ValueKind::Member && value.member->type == type)
    return value;
  for (Member *member : type->members) {
    std::optional<bool> same = equal(member->value, value);
    if (!same)
      return unknown(at, in, "which member this is cannot be told");
    if (*same)
      return Value::of(member);
  }
  return unknown(at, in, fmt::format("'{}' has no member of this value", type->name));
}

Value Evaluator::callBuiltin(std::string_view name, Arguments &arguments, const Node *at,
                             ModuleState *in) {
  auto &given = arguments.positional;
  const Why *why = nullptr;
  auto lost = [&] {
    return why ? Value::unknown(why)
               : unknown(at, in, fmt::format("this use of '{}' cannot be followed", name));
  };
  auto items = [&](size_t index) { return iterate(given[index], at, in, &why); };

  // Decorators with arguments are the decorators.
  if (name == "dataclass" || name == "lru_cache" || name == "unique" || name == "typing" ||
      name == "cache") {
    if (given.size() == 1 && given[0].kind == ValueKind::Class) {
      given[0].type->isRecord |= name == "dataclass";
      return given[0];
    }
    return Value::builtin(name);
  }
  if (name == "auto")
    return Value::builtin("auto()");
  if (name == "field") {
    for (auto &[key, value] : arguments.named)
      if (key == "default")
        return value;
    return Value::builtin("field()");
  }
  if (name == "print")
    return {};
  if (name == "replace" && given.size() == 1 && given[0].kind == ValueKind::Instance) {
    Instance *copy = heap.make<Instance>(*given[0].instance);
    for (auto &[key, value] : arguments.named) {
      Value *field = copy->find(key);
      if (!field)
        return lost();
      *field = value;
    }
    return Value::of(copy);
  }
  if (name == "dict" || name == "OrderedDict") {
    Dict *dict = heap.make<Dict>();
    if (given.size() > 1)
      return lost();
    if (given.size() == 1 && given[0].kind == ValueKind::Dict) {
      *dict = *given[0].dict;
    } else if (given.size() == 1) {
      auto pairs = items(0);
      if (!pairs)
        return lost();
      for (Value pair : *pairs) {
        auto parts = iterate(pair, at, in, &why);
        if (!parts || parts->size() != 2 || !dictSet(*dict, (*parts)[0], (*parts)[1]))
          return lost();
      }
    }
    for (auto &[key, value] : arguments.named)
      dictSet(*dict, Value::string(key), value);
    return Value::of(dict);
  }
  if (name == "dict.fromkeys" && !given.empty()) {
    auto keys = items(0);
    if (!keys)
      return lost();
    Dict *dict = heap.make<Dict>();
    for (Value key : *keys)
      if (!dictSet(*dict, key, given.size() > 1 ? given[1] : Value()))
        return lost();
    return Value::of(dict);
  }
  if ((name == "list" || name == "tuple" || name == "set" || name == "frozenset") &&
      given.size() <= 1 && arguments.named.empty()) {
    SequenceForm form = name == "list"    ? SequenceForm::List
                        : name == "tuple" ? SequenceForm::Tuple
                                          : SequenceForm::Set;
    if (given.empty())
      return sequence(form);
    auto all = items(0);
    if (!all)
      return lost();
    if (form != SequenceForm::Set)
      return sequence(form, std::move(*all));
    Value made = sequence(form);
    Dict seen;
    for (Value value : *all) {
      bool decided = true;
      if (!dictGet(seen, value, &decided)) {
        if (!decided)
          return lost();
        dictSet(seen, value, {});
        made.sequence->items.push_back(value);
      }
    }
    return made;
  }
  if (given.size() == 1 && arguments.named.empty()) {
    Value value = given[0];
    if (name == "len") {
      if (value.kind == ValueKind::Str) {
        auto letters = items(0);
        return Value::of(static_cast<int64_t>(letters->size()));
      }
      if (auto all = items(0))
        return Value::of(static_cast<int64_t>(all->size()));
      return lost();
    }
    if (name == "str") {
      if (value.isUnknown())
        return value;
      if (std::optional<std::string> text = stringOf(value))
        return string(std::move(*text));
      return lost();
    }
    if (name == "bool") {
      std::optional<bool> holds = truth(value);
      return holds ? Value::boolean(*holds) : lost();
    }
    if (name == "int") {
      if (value.kind == ValueKind::Int)
        return value;
      if (value.kind == ValueKind::Bool)
        return Value::of(int64_t{value.truth});
      if (value.kind == ValueKind::Str && value.size > 0 && value.size < 18 &&
          std::all_of(value.text().begin(), value.text().end(), ::isdigit))
        return Value::of(int64_t{std::stoll(std::string(value.text()))});
      return lost();
    }
    if (name == "type") {
      switch (value.kind) {
      case ValueKind::Instance:
        return Value::of(value.instance->type);
      case ValueKind::Member:
        return Value::of(value.member->type);
      case ValueKind::None:
        return Value::builtin("NoneType");
      case ValueKind::Str:
        return Value::builtin("str");
      case ValueKind::Int:
        return Value::builtin("int");
      case ValueKind::Dict:
        return Value::builtin("dict");
      default:
        return lost();
      }
    }
    if (name == "any" || name == "all") {
      auto all = items(0);
      if (!all)
        return lost();
      for (Value one : *all) {
        std::optional<bool> holds = truth(one);
        if (!holds)
          return lost();
        if (*holds == (name == "any"))
          return Value::boolean(name == "any");
      }
      return Value::boolean(name == "all");
    }
    if (name == "reversed" || name == "iter") {
      auto all = items(0);
      if (!all)
        return lost();
      if (name == "reversed")
        std::reverse(all->begin(), all->end());
      return sequence(SequenceForm::List, std::move(*all));
    }
    if (name == "copy" || name == "deepcopy" || name == "MappingProxyType") {
      if (value.kind == ValueKind::Dict)
        return Value::of(heap.make<Dict>(*value.dict));
      if (value.kind == ValueKind::Sequence)
        return Value::of(heap.make<Sequence>(*value.sequence));
      if (value.kind == ValueKind::Instance)
        return Value::of(heap.make<Instance>(*value.instance));
      return value;
    }
    if (name == "chain.from_iterable") {
      auto lists = items(0);
      if (!lists)
        return lost();
      given = *lists;
      return callBuiltin("chain", arguments, at, in);
    }
    if (name == "callable")
      return Value::boolean(value.kind == ValueKind::Function || value.kind == ValueKind::Bound ||
                            value.kind == ValueKind::Class);
  }
  if (name == "sorted" && given.size() == 1) {
    auto all = items(0);
    if (!all)
      return lost();
    std::vector<std::pair<Value, Value>> keyed;
    bool reverse = false;
    Value by;
    for (auto &[key, value] : arguments.named) {
      if (key == "reverse")
        reverse = truth(value).value_or(false);
      else if (key == "key")
        by = value;
    }
    for (Value value : *all) {
      Arguments one;
      one.positional = {value};
      Value key = by.isNone() ? value : call(by, std::move(one), at, in);
      if (key.kind == ValueKind::Member && key.member->type->isStringEnum)
        key = key.member->value;
      if (key.kind != ValueKind::Str && key.kind != ValueKind::Int)
        return lost();
      if (!keyed.empty() && keyed[0].first.kind != key.kind)
        return lost();
      keyed.emplace_back(key, value);
    }
    std::vector<uint32_t> order(keyed.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      Value left = keyed[a].first, right = keyed[b].first;
      int sign = left.kind == ValueKind::Str    ? left.text().compare(right.text())
                 : left.integer < right.integer ? -1
                 : left.integer > right.integer ? 1
                                                : 0;
      return sign == 0 ? a < b : reverse ? sign > 0 : sign < 0;
    });
    Value made = sequence(SequenceForm::List);
    for (uint32_t index : order)
      made.sequence->items.push_back(keyed[index].second);
    return made;
  }
  if (name == "enumerate" && !given.empty()) {
    auto all = items(0);
    int64_t next = given.size() > 1 && given[1].kind == ValueKind::Int ? given[1].integer : 0;
    for (auto &[key, value] : arguments.named)
      if (key == "start" && value.kind == ValueKind::Int)
        next = value.integer;
    if (!all)
      return lost();
    Value made = sequence(SequenceForm::List);
    for (Value value : *all)
      made.sequence->items.push_back(sequence(SequenceForm::Tuple, {Value::of(next++), value}));
    return made;
  }
  if (name == "zip" || name == "chain" || name == "product") {
    if (!arguments.named.empty())
      return lost();
    std::vector<std::vector<Value>> lists;
    for (size_t i = 0; i < given.size(); ++i) {
      auto all = items(i);
      if (!all)
        return lost();
      lists.push_back(std::move(*all));
    }
    Value made = sequence(SequenceForm::List);
    auto &out = made.sequence->items;
    if (name == "chain") {
      for (auto &list : lists)
        out.insert(out.end(), list.begin(), list.end());
    } else if (name == "zip") {
      size_t shortest = lists.empty() ? 0 : lists[0].size();
      for (auto &list : lists)
        shortest = std::min(shortest, list.size());
      for (size_t i = 0; i < shortest; ++i) {
        Value row = sequence(SequenceForm::Tuple);
        for (auto &list : lists)
          row.sequence->items.push_back(list[i]);
        out.push_back(row);
      }
    } else {
      std::vector<std::vector<Value>> rows = {{}};
      for (auto &list : lists) {
        if (rows.size() * list.size() > 100000)
          return lost();
        std::vector<std::vector<Value>> longer;
        for (auto &row : rows)
          for (Value value : list) {
            longer.push_back(row);
            longer.back().push_back(value);
          }
        rows = std::move(longer);
      }
      for (auto &row : rows)
        out.push_back(sequence(SequenceForm::Tuple, std::move(row)));
    }
    return made;
  }
  if (name == "range" && !given.empty() && given.size() <= 3) {
    int64_t bounds[3] = {0, 0, 1};
    for (size_t i = 0; i < given.size(); ++i) {
      if (given[i].kind != ValueKind::Int)
        return given[i].isUnknown() ? given[i] : lost();
      bounds[given.size() == 1 ? 1 : i] = given[i].integer;
    }
    if (bounds[2] <= 0 || bounds[1] > 100000 || bounds[0] < -100000)
      return lost();
    Value made = sequence(SequenceForm::List);
    for (int64_t i = bounds[0]; i < bounds[1]; i += bounds[2])
      made.sequence->items.push_back(Value::of(i));
    return made;
  }
  if ((name == "map" || name == "filter") && given.size() == 2) {
    auto all = items(1);
    if (!all)
      return lost();
    Value made = sequence(SequenceForm::List);
    for (Value value : *all) {
      Arguments one;
      one.positional = {value};
      Value result = given[0].isNone() ? value : call(given[0], std::move(one), at, in);
      if (name == "map") {
        made.sequence->items.push_back(result);
        continue;
      }
      std::optional<bool> keep = truth(result);
      if (!keep)
        return result.isUnknown() ? result : lost();
      if (*keep)
        made.sequence->items.push_back(value);
    }
    return made;
  }
  if (name == "isinstance" && given.size() == 2)
    return isInstance(given[0], given[1], at, in);
  if (name == "issubclass" && given.size() == 2 && given[0].kind == ValueKind::Class &&
      given[1].kind == ValueKind::Class)
    return isSubclass(given[0].type, given[1].type) ? Value::boolean(true)
           : given[0].type->unknownBase             ? Value::unknown(given[0].type->unknownBase)
                                                    : Value::boolean(false);
  if ((name == "getattr" || name == "hasattr") && given.size() >= 2 &&
      given[1].kind == ValueKind::Str &&
      (given[0].kind == ValueKind::Class || given[0].kind == ValueKind::Instance)) {
    Class *type = given[0].kind == ValueKind::Class ? given[0].type : given[0].instance->type;
    bool present = given[0].kind == ValueKind::Instance && given[0].instance->find(given[1].text());
    if (!present) {
      std::optional<Value> found = classAttribute(type, given[1].text());
      if (found && found->isUnknown())
        return *found;
      present = found.has_value();
    }
    if (name == "hasattr")
      return Value::boolean(present);
    if (!present && given.size() > 2)
      return given[2];
    return attribute(given[0], given[1].text(), at, in);
  }
  if ((name == "min" || name == "max" || name == "sum") && given.size() == 1) {
    auto all = items(0);
    if (!all || (all->empty() && name != "sum"))
      return lost();
    int64_t result = name == "sum" ? 0 : all->front().integer;
    for (Value value : *all) {
      if (value.kind != ValueKind::Int)
        return lost();
      result = name == "min"   ? std::min(result, value.integer)
               : name == "max" ? std::max(result, value.integer)
                               : result + value.integer;
    }
    return Value::of(result);
  }
  if (name == "next" && !given.empty()) {
    auto all = items(0);
    if (!all)
      return lost();
    if (!all->empty())
      return all->front();
    return given.size() > 1 ? given[1] : lost();
  }
  if (name.ends_with("Error") || name == "Exception" || name == "object")
    return Value::builtin("typing");
  if (name == "property" || name == "classmethod" || name == "staticmethod") {
    if (given.size() == 1 && given[0].kind == ValueKind::Function) {
      Function *copy = heap.make<Function>(*given[0].function);
      copy->form = name == "property"      ? FunctionForm::Property
                   : name == "classmethod" ? FunctionForm::ClassMethod
                                           : FunctionForm::StaticMethod;
      return Value::of(copy);
    }
  }
  return lost();
}

} // namespace cupel::testbench::zoo
