// Classes and functions as the static evaluator defines them: bases, order of resolution, enums.

#include "cupel/testbench/zoo/Evaluator.h"

#include <algorithm>
#include <fmt/format.h>

namespace cupel::testbench::zoo {

Value Evaluator::defineFunction(const Node *node, Frame &frame) {
  Function *function = heap.make<Function>();
  function->node = node;
  function->module = frame.module;
  function->owner = frame.isClassBody ? frame.owner : nullptr;
  if (frame.locals && !frame.isClassBody) {
    // Keeps what it can see of the enclosing function, as it is now.
    closureScopes.push_back(*frame.locals);
    closures.push_back(frame);
    closures.back().locals = &closureScopes.back();
    function->closure = &closures.back();
  }
  for (const Node *parameter : node->child(0)->children)
    function->defaults.push_back(parameter->child(0)
                                     ? eval(parameter->child(0), frame)
                                     : unknown(node, frame.module, "no argument is given for it"));
  for (size_t i = node->children.size(); i-- > 1;) {
    if (node->child(i)->kind != NodeKind::Decorator)
      continue; // The body of a lambda.
    const Node *expression = node->child(i)->child(0);
    if (expression->kind == NodeKind::Attribute &&
        (expression->text == "setter" || expression->text == "deleter"))
      continue;
    Value decorator = eval(expression, frame);
    if (decorator.isBuiltin("classmethod") || decorator.isBuiltin("abstractclassmethod"))
      function->form = FunctionForm::ClassMethod;
    else if (decorator.isBuiltin("staticmethod"))
      function->form = FunctionForm::StaticMethod;
    else if (decorator.isBuiltin("property") || decorator.isBuiltin("cached_property"))
      function->form = FunctionForm::Property;
    else if (decorator.isBuiltin("abstractmethod") || decorator.isBuiltin("lru_cache") ||
             decorator.isBuiltin("cache") || decorator.isBuiltin("typing"))
      continue;
    else
      function->opaque = decorator.isUnknown()
                             ? decorator.why
                             : unknown(expression, frame.module, "this decorator is not known").why;
  }
  return Value::of(function);
}

Value Evaluator::defineClass(const Node *node, Frame &frame) {
  Class *type = heap.make<Class>();
  type->name = node->text;
  type->module = frame.module;
  type->node = node;
  std::vector<const Node *> decorators;
  for (size_t i = 1; i < node->children.size(); ++i) {
    const Node *part = node->child(i);
    if (part->kind == NodeKind::Decorator)
      decorators.push_back(part->child(0));
    else if (part->kind == NodeKind::Keyword) {
      // A metaclass may do anything to the class, except the ones of Python's own.
      Value metaclass = eval(part->child(0), frame);
      if (part->text == "metaclass" && metaclass.kind != ValueKind::Builtin)
        type->tainted =
            metaclass.isUnknown()
                ? metaclass.why
                : unknown(part, frame.module, "what this metaclass does is not known").why;
    } else if (part->kind == NodeKind::Star || part->kind == NodeKind::DoubleStar)
      type->bases.push_back(unknown(part, frame.module, "these bases are not known"));
    else
      type->bases.push_back(eval(part, frame));
  }
  for (Value &base : type->bases) {
    if (base.kind == ValueKind::Builtin) {
      type->isRecord |= base.isBuiltin("NamedTuple");
      type->isStringEnum |= base.isBuiltin("str") || base.isBuiltin("StrEnum");
      base = Value::of(builtinClass(base.text()));
    }
    if (base.kind == ValueKind::Class) {
      type->isEnum |= base.type->isEnum;
      type->isStringEnum |= base.type->isStringEnum && base.type->isEnum;
      type->isRecord |= base.type->isRecord;
    }
  }
  linearize(type);
  Frame body{frame.module, &type->scope, type, true,
             frame.locals && !frame.isClassBody ? &frame : frame.outer};
  run(node->child(0), body);
  if (type->isEnum)
    makeEnumMembers(type);
  Value result = Value::of(type);
  // A base may have something to say about classes derived from it.
  for (size_t i = 1; i < type->order.size(); ++i)
    if (Value *hook = type->order[i]->scope.find("__init_subclass__")) {
      Value said = hook->kind == ValueKind::Function
                       ? callFunction(hook->function, result, {}, node, frame.module)
                       : unknown(node, frame.module, "what __init_subclass__ does is not known");
      if (said.isUnknown())
        type->tainted = said.why;
      break;
    }
  for (const Node *decorator : decorators) {
    Value value = eval(decorator, frame);
    if (value.isBuiltin("dataclass"))
      type->isRecord = true;
    else if (!value.isBuiltin("unique") && !value.isBuiltin("typing"))
      result = value.isUnknown() ? value
                                 : unknown(decorator, frame.module, "this decorator is not known");
  }
  return result;
}

void Evaluator::linearize(Class *type) {
  // C3: repeatedly the first head that stands in no other tail. An unknown base stands for itself:
  // what comes after it cannot be trusted.
  std::vector<std::vector<Class *>> lists;
  std::vector<Class *> direct;
  for (Value base : type->bases) {
    if (base.kind == ValueKind::Class) {
      lists.push_back(base.type->order);
      direct.push_back(base.type);
      if (base.type->unknownBase && !type->unknownBase)
        type->unknownBase = base.type->unknownBase;
    } else if (!type->unknownBase) {
      type->unknownBase = base.isUnknown()
                              ? base.why
                              : unknown(type->node, type->module, "a base is not a class").why;
    }
  }
  lists.push_back(direct);
  type->order = {type};
  while (true) {
    std::erase_if(lists, [](const std::vector<Class *> &list) { return list.empty(); });
    if (lists.empty())
      break;
    Class *next = nullptr;
    for (auto &list : lists) {
      Class *head = list.front();
      bool inTail = std::any_of(lists.begin(), lists.end(), [&](const std::vector<Class *> &other) {
        return std::find(other.begin() + 1, other.end(), head) != other.end();
      });
      if (!inTail) {
        next = head;
        break;
      }
    }
    if (!next) {
      type->unknownBase =
          unknown(type->node, type->module, "the bases of this class contradict each other").why;
      break;
    }
    type->order.push_back(next);
    for (auto &list : lists)
      if (!list.empty() && list.front() == next)
        list.erase(list.begin());
  }
  // What stands before the first unknown base, or before a class that has one, is certain.
  type->knownBefore = type->order.size();
  if (type->unknownBase) {
    type->knownBefore = 1;
    for (Value base : type->bases) {
      if (base.kind != ValueKind::Class || base.type->unknownBase) {
        if (base.kind == ValueKind::Class)
          type->knownBefore += base.type->knownBefore;
        break;
      }
      type->knownBefore += base.type->order.size();
    }
    type->knownBefore = std::min(type->knownBefore, type->order.size());
  }
}

void Evaluator::makeEnumMembers(Class *type) {
  int64_t next = 1;
  std::optional<Value> generate = classAttribute(type, "_generate_next_value_");
  std::optional<Value> construct = classAttribute(type, "__new__");
  for (std::string_view name : type->scope.names()) {
    Value &value = *type->scope.find(name);
    if (name.starts_with('_') || value.kind == ValueKind::Function ||
        value.kind == ValueKind::Class || value.kind == ValueKind::Bound)
      continue;
    if (value.kind == ValueKind::Builtin) {
      if (!value.isBuiltin("auto()"))
        continue;
      bool isStandardStringEnum = std::any_of(type->order.begin(), type->order.end(), [](Class *c) {
        return !c->module && c->name == "StrEnum";
      });
      if (generate) {
        Arguments arguments;
        arguments.positional = {Value::string(name), Value::of(int64_t{1}),
                                Value::of(static_cast<int64_t>(type->members.size())),
                                sequence(SequenceForm::List)};
        value = call(*generate, std::move(arguments), type->node, type->module);
      } else if (isStandardStringEnum) {
        std::string lower(name);
        std::transform(lower.begin(), lower.end(), lower.begin(), ::tolower);
        value = string(std::move(lower));
      } else {
        value = Value::of(next);
      }
    }
    if (construct)
      value = unknown(type->node, type->module, "the values of this enum are made by its __new__");
    if (value.kind == ValueKind::Int)
      next = value.integer + 1;
    Member *member = nullptr;
    if (!value.isUnknown())
      for (Member *earlier : type->members)
        if (equal(earlier->value, value).value_or(false))
          member = earlier; // An alias.
    if (!member) {
      member = heap.make<Member>({type, name, value});
      type->members.push_back(member);
    }
    value = Value::of(member);
  }
}

} // namespace cupel::testbench::zoo
