// Attributes and calls of the static evaluator: functions and classes of the zoo, and the part of
// Python's own that loaders are written with.

#include "cupel/testbench/zoo/Evaluator.h"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>

namespace cupel::testbench::zoo {
namespace {

/// What every loader is written against, for loaders that lie in no zoo of their own.
constexpr std::string_view kInterface = R"(
from enum import Enum
from dataclasses import dataclass

class StrEnum(Enum):
    def __str__(self):
        return self.value

class ModelGroup(StrEnum):
    GENERALITY = "generality"
    RED = "red"
    PRIORITY = "priority"
    VULCAN = "vulcan"

class Framework(StrEnum):
    JAX = "jax"
    TORCH = "pytorch"
    NUMPY = "numpy"
    ONNX = "onnx"
    PADDLE = "paddle"

class Parallelism(StrEnum):
    SINGLE_DEVICE = "single_device"
    DATA_PARALLEL = "data_parallel"
    TENSOR_PARALLEL = "tensor_parallel"

@dataclass
class ModelInfo:
    model: str
    variant: str
    group: str
    task: str
    source: str
    framework: str
    model_name_clean: str = None

@dataclass
class ModelConfig:
    pretrained_model_name: str

@dataclass
class LLMModelConfig(ModelConfig):
    max_length: int = None
    attention_mechanism: str = None
    sliding_window: int = None

class ForgeModel:
    _VARIANTS = {}
    DEFAULT_VARIANT = None

    @classmethod
    def query_available_variants(cls):
        return cls._VARIANTS

    @classmethod
    def get_model_info(cls, variant=None):
        if cls._VARIANTS and variant is None:
            variant = cls.DEFAULT_VARIANT
        return cls._get_model_info(variant)

    def load_shard_spec(self, model): ...
    def get_mesh_config(self, num_devices): ...
    def load_config(self): ...
    def unpack_forward_output(self, fwd_output): ...
    def decode_output(cls, **kwargs): ...

class ForgePrefillModel(ForgeModel):
    def load_inputs_prefill(self, dtype_override=None, batch_size=1, seq_len=128): ...
    def load_shard_spec(self, model, strategy, batch_axis): ...
)";

} // namespace

ModuleState *Evaluator::interfaceModule() {
  auto found = modules.find("<interface>");
  if (found != modules.end())
    return found->second.get();
  auto state = std::make_unique<ModuleState>();
  state->path = "<interface>";
  state->name = state->path;
  state->syntax = PythonModule::parse(std::string(kInterface));
  ModuleState *made = modules.emplace("<interface>", std::move(state)).first->second.get();
  made->state = ModuleState::Running;
  Frame frame{made};
  run(made->syntax->root(), frame);
  made->state = ModuleState::Done;
  return made;
}

Class *Evaluator::builtinClass(std::string_view name) {
  auto found = builtinClasses.find(name);
  if (found != builtinClasses.end())
    return found->second;
  Class *type = heap.make<Class>();
  type->name = heap.keep(std::string(name));
  type->order = {type};
  type->isEnum = name == "Enum" || name == "StrEnum" || name == "IntEnum" || name == "Flag" ||
                 name == "IntFlag";
  type->isStringEnum = name == "StrEnum";
  builtinClasses.emplace(std::string(name), type);
  return type;
}

bool Evaluator::isSubclass(Class *type, Class *base) const {
  return std::find(type->order.begin(), type->order.end(), base) != type->order.end();
}

bool Evaluator::hasBaseNamed(Class *type, std::string_view name) const {
  return std::any_of(type->order.begin(), type->order.end(),
                     [&](Class *base) { return base->name == name; });
}

std::optional<Value> Evaluator::classAttribute(Class *type, std::string_view name,
                                               Class **definer) {
  for (size_t i = 0; i < type->order.size(); ++i) {
    Class *base = type->order[i];
    if (type->unknownBase && i >= type->knownBefore)
      return Value::unknown(type->unknownBase);
    if (base->tainted)
      return Value::unknown(base->tainted);
    if (Value *value = base->scope.find(name)) {
      if (definer)
        *definer = base;
      return value->kind == ValueKind::Promise ? *value = force(*value) : *value;
    }
  }
  if (type->unknownBase)
    return Value::unknown(type->unknownBase);
  return std::nullopt;
}

Value Evaluator::attribute(Value object, std::string_view name, const Node *at, ModuleState *in) {
  auto bindTo = [&](Value self, Value function) {
    return Value::of(heap.make<Bound>({self, function, {}, nullptr}));
  };
  auto method = [&](Value self) {
    return Value::of(heap.make<Bound>({self, Value(), heap.keep(std::string(name)), nullptr}));
  };
  auto missing = [&](std::string_view what) {
    return unknown(at, in, fmt::format("{} has no attribute '{}'", what, name));
  };
  switch (object.kind) {
  case ValueKind::Unknown:
    return object;
  case ValueKind::Class: {
    Class *type = object.type;
    if (name == "__name__" || name == "__qualname__")
      return Value::string(type->name);
    if (name == "__members__" && type->isEnum) {
      Dict *members = heap.make<Dict>();
      for (std::string_view key : type->scope.names())
        if (Value *value = type->scope.find(key); value->kind == ValueKind::Member)
          dictSet(*members, Value::string(key), *value);
      return Value::of(members);
    }
    std::optional<Value> found = classAttribute(type, name);
    if (!found)
      return missing(fmt::format("'{}'", type->name));
    if (found->kind == ValueKind::Function && found->function->form == FunctionForm::ClassMethod)
      return bindTo(object, *found);
    return *found;
  }
  case ValueKind::Super: {
    Value self = object.bound->self;
    Class *type = self.kind == ValueKind::Class      ? self.type
                  : self.kind == ValueKind::Instance ? self.instance->type
                                                     : nullptr;
    if (!type)
      return unknown(at, in, "what super() means here is not known");
    auto after = std::find(type->order.begin(), type->order.end(), object.bound->after);
    if (after != type->order.end())
      ++after;
    for (; after != type->order.end(); ++after) {
      if (type->unknownBase &&
          static_cast<size_t>(after - type->order.begin()) >= type->knownBefore)
        return Value::unknown(type->unknownBase);
      Value *found = (*after)->scope.find(name);
      if (!found)
        continue;
      if (found->kind != ValueKind::Function || found->function->form == FunctionForm::StaticMethod)
        return *found;
      Value receiver = found->function->form == FunctionForm::ClassMethod ? Value::of(type) : self;
      return bindTo(receiver, *found);
    }
    if (type->unknownBase)
      return Value::unknown(type->unknownBase);
    return missing("super()");
  }
  case ValueKind::Instance: {
    if (Value *field = object.instance->find(name))
      return *field;
    if (name == "__class__")
      return Value::of(object.instance->type);
    std::optional<Value> found = classAttribute(object.instance->type, name);
    if (!found)
      return missing(fmt::format("this '{}'", object.instance->type->name));
    if (found->kind != ValueKind::Function)
      return *found;
    switch (found->function->form) {
    case FunctionForm::Property:
      return callFunction(found->function, object, {}, at, in);
    case FunctionForm::ClassMethod:
      return bindTo(Value::of(object.instance->type), *found);
    case FunctionForm::StaticMethod:
      return *found;
    case FunctionForm::Plain:
      return bindTo(object, *found);
    }
    return missing("this");
  }
  case ValueKind::Member: {
    Member *member = object.member;
    if (name == "value" || name == "_value_")
      return member->value;
    if (name == "name" || name == "_name_")
      return Value::string(member->name);
    if (name == "__class__")
      return Value::of(member->type);
    std::optional<Value> found = classAttribute(member->type, name);
    if (found && found->kind == ValueKind::Function) {
      if (found->function->form == FunctionForm::Property)
        return callFunction(found->function, object, {}, at, in);
      return bindTo(found->function->form == FunctionForm::ClassMethod ? Value::of(member->type)
                                                                       : object,
                    *found);
    }
    if (found)
      return *found;
    if (member->type->isStringEnum && member->value.kind == ValueKind::Str)
      return method(member->value);
    return missing(fmt::format("'{}.{}'", member->type->name, member->name));
  }
  case ValueKind::Module: {
    if (std::optional<Value> found = global(object.module, name))
      return *found;
    return unknown(at, in, fmt::format("'{}' defines no '{}'", object.module->path, name));
  }
  case ValueKind::Builtin:
    if (object.text().starts_with("module:"))
      return outsideName(in, at, object.text().substr(7), name);
    if (object.isBuiltin("dict") && name == "fromkeys")
      return Value::builtin("dict.fromkeys");
    if (object.isBuiltin("chain") && name == "from_iterable")
      return Value::builtin("chain.from_iterable");
    if (object.isBuiltin("object") || object.isBuiltin("typing"))
      return Value::builtin("typing");
    return missing(fmt::format("'{}'", object.text()));
  case ValueKind::Str:
  case ValueKind::Dict:
  case ValueKind::Sequence:
    return method(object);
  default:
    return missing("this");
  }
}

Value Evaluator::evalCall(const Node *node, Frame &frame) {
  const Node *target = node->child(0);
  // super() needs to know where it stands.
  if (target && target->kind == NodeKind::Name && target->text == "super") {
    Frame *method = &frame;
    while (method && (!method->owner || method->isClassBody))
      method = method->outer;
    if (!method || method->self.isNone())
      return unknown(node, frame.module, "what super() means here is not known");
    return Value::super(heap.make<Bound>({method->self, Value(), {}, method->owner}));
  }
  Value callee = eval(target, frame);
  Arguments arguments;
  for (size_t i = 1; i < node->children.size(); ++i) {
    const Node *argument = node->child(i);
    if (argument->kind == NodeKind::Keyword) {
      arguments.named.emplace_back(argument->text, eval(argument->child(0), frame));
    } else if (argument->kind == NodeKind::Star) {
      const Why *why = nullptr;
      if (auto items = iterate(eval(argument->child(0), frame), argument, frame.module, &why))
        arguments.positional.insert(arguments.positional.end(), items->begin(), items->end());
      else
        arguments.unknown = why;
    } else if (argument->kind == NodeKind::DoubleStar) {
      Value merged = eval(argument->child(0), frame);
      if (merged.kind == ValueKind::Dict && !merged.dict->tainted) {
        for (auto &[key, value] : merged.dict->entries)
          if (key.kind == ValueKind::Str)
            arguments.named.emplace_back(key.text(), value);
      } else {
        arguments.unknown =
            merged.isUnknown()
                ? merged.why
                : unknown(argument, frame.module, "these arguments are not known").why;
      }
    } else {
      arguments.positional.push_back(eval(argument, frame));
    }
  }
  return call(callee, std::move(arguments), node, frame.module);
}

Value Evaluator::call(Value callee, Arguments arguments, const Node *at, ModuleState *in) {
  // Something unknown is called: what it was given may be changed by it.
  auto lose = [&](Value result) {
    if (result.isUnknown()) {
      for (Value value : arguments.positional)
        taint(value, result.why);
      for (auto &[name, value] : arguments.named)
        taint(value, result.why);
    }
    return result;
  };
  switch (callee.kind) {
  case ValueKind::Unknown:
    return lose(callee);
  case ValueKind::Function:
    return lose(callFunction(callee.function, std::nullopt, arguments, at, in));
  case ValueKind::Bound: {
    Bound *bound = callee.bound;
    if (bound->function.kind == ValueKind::Function)
      return lose(callFunction(bound->function.function, bound->self, arguments, at, in));
    Value result = callMethod(bound->self, bound->name, arguments, at, in);
    if (result.isUnknown())
      taint(bound->self, result.why);
    return result;
  }
  case ValueKind::Class:
    return instantiate(callee.type, std::move(arguments), at, in);
  case ValueKind::Builtin:
    if (arguments.unknown)
      return lose(Value::unknown(arguments.unknown));
    return callBuiltin(callee.text(), arguments, at, in);
  default:
    return lose(unknown(at, in, "this cannot be called"));
  }
}

Value Evaluator::callFunction(Function *function, std::optional<Value> self, Arguments arguments,
                              const Node *at, ModuleState *in) {
  if (function->opaque)
    return Value::unknown(function->opaque);
  if (arguments.unknown)
    return Value::unknown(arguments.unknown);
  if (function->node->flag && function->node->kind == NodeKind::FunctionDef)
    return unknown(at, in, "an async function cannot be followed");
  if (depth > 200)
    return unknown(at, in, "calls are nested too deeply");
  if (self)
    arguments.positional.insert(arguments.positional.begin(), *self);

  Scope locals;
  Frame frame{function->module, &locals, function->owner, false, function->closure, {}, {}};
  const Node *parameters = function->node->child(0);
  size_t position = 0;
  std::vector<bool> used(arguments.named.size(), false);
  for (size_t i = 0; i < parameters->children.size(); ++i) {
    const Node *parameter = parameters->child(i);
    switch (static_cast<ParameterForm>(parameter->flag)) {
    case ParameterForm::Star: {
      std::vector<Value> rest(
          arguments.positional.begin() +
              static_cast<ptrdiff_t>(std::min(position, arguments.positional.size())),
          arguments.positional.end());
      position = arguments.positional.size();
      locals.set(parameter->text, sequence(SequenceForm::Tuple, std::move(rest)));
      continue;
    }
    case ParameterForm::DoubleStar: {
      Dict *rest = heap.make<Dict>();
      for (size_t k = 0; k < arguments.named.size(); ++k)
        if (!used[k]) {
          dictSet(*rest, Value::string(arguments.named[k].first), arguments.named[k].second);
          used[k] = true;
        }
      locals.set(parameter->text, Value::of(rest));
      continue;
    }
    default:
      break;
    }
    bool positional = static_cast<ParameterForm>(parameter->flag) == ParameterForm::Plain;
    Value value = function->defaults[i];
    if (positional && position < arguments.positional.size()) {
      value = arguments.positional[position++];
    } else {
      for (size_t k = 0; k < arguments.named.size(); ++k)
        if (arguments.named[k].first == parameter->text) {
          value = arguments.named[k].second;
          used[k] = true;
        }
    }
    locals.set(parameter->text, value);
    if (i == 0 && function->owner)
      frame.self = value;
  }
  if (position < arguments.positional.size() ||
      std::find(used.begin(), used.end(), false) != used.end())
    return unknown(at, in, fmt::format("'{}' does not take these arguments", function->node->text));

  ++depth;
  Value result;
  if (function->node->kind == NodeKind::Lambda) {
    result = eval(function->node->child(1), frame);
  } else {
    Flow flow = run(function->module->syntax->body(function->node), frame);
    result =
        flow == Flow::Return || flow == Flow::Lost || flow == Flow::Raised ? frame.result : Value();
  }
  --depth;
  return result;
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

Value Evaluator::instantiate(Class *type, Arguments arguments, const Node *at, ModuleState *in) {
  if (type->tainted)
    return Value::unknown(type->tainted);
  if (type->isEnum) {
    if (arguments.positional.size() == 1 && arguments.named.empty())
      return memberOf(type, arguments.positional[0], at, in);
    return unknown(at, in, "this use of an enum cannot be followed");
  }
  Instance *instance = heap.make<Instance>({type, {}});
  if (type->isRecord) {
    // Fields of the bases first, each name once.
    std::vector<std::tuple<std::string_view, const Node *, Class *>> fields;
    for (size_t i = type->order.size(); i-- > 0;)
      for (auto &[name, value] : type->order[i]->fields) {
        auto known = std::find_if(fields.begin(), fields.end(),
                                  [&](auto &field) { return std::get<0>(field) == name; });
        if (known != fields.end())
          *known = {name, value, type->order[i]};
        else
          fields.emplace_back(name, value, type->order[i]);
      }
    size_t position = 0;
    for (auto &[name, node, owner] : fields) {
      Value value;
      auto named = std::find_if(arguments.named.begin(), arguments.named.end(),
                                [&](auto &argument) { return argument.first == name; });
      if (position < arguments.positional.size())
        value = arguments.positional[position++];
      else if (named != arguments.named.end())
        value = named->second;
      else if (arguments.unknown)
        value = Value::unknown(arguments.unknown);
      else if (Value *preset = owner->scope.find(name); preset && node)
        value = preset->kind == ValueKind::Builtin
                    ? unknown(node, owner->module, "the default of this field is made by a call")
                    : *preset;
      else
        value = unknown(at, in, fmt::format("'{}' is not given", name));
      instance->fields.emplace_back(name, value);
    }
    return Value::of(instance);
  }
  if (std::optional<Value> init = classAttribute(type, "__init__");
      init && init->kind == ValueKind::Function) {
    Value self = Value::of(instance);
    Value result = callFunction(init->function, self, std::move(arguments), at, in);
    return result.isUnknown() ? result : self;
  }
  if (type->unknownBase)
    return Value::unknown(type->unknownBase);
  return Value::of(instance);
}

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

Value Evaluator::callMethod(Value self, std::string_view name, Arguments &arguments, const Node *at,
                            ModuleState *in) {
  if (arguments.unknown)
    return Value::unknown(arguments.unknown);
  switch (self.kind) {
  case ValueKind::Str:
    return stringMethod(self.text(), name, arguments, at, in);
  case ValueKind::Dict:
    return dictMethod(*self.dict, name, arguments, at, in);
  case ValueKind::Sequence:
    return sequenceMethod(*self.sequence, name, arguments, at, in);
  default:
    return unknown(at, in, fmt::format("'{}' cannot be called here", name));
  }
}

Value Evaluator::dictMethod(Dict &self, std::string_view name, Arguments &arguments, const Node *at,
                            ModuleState *in) {
  auto &given = arguments.positional;
  if (name == "update") {
    Arguments copy = arguments;
    Value added = given.empty() && arguments.named.empty() ? Value::of(heap.make<Dict>())
                                                           : callBuiltin("dict", copy, at, in);
    if (added.kind != ValueKind::Dict)
      return added; // The caller taints the dictionary.
    if (added.dict->tainted)
      self.tainted = added.dict->tainted;
    for (auto &[key, value] : added.dict->entries)
      dictSet(self, key, value);
    return {};
  }
  if (self.tainted)
    return Value::unknown(self.tainted);
  if (name == "keys" || name == "values" || name == "items") {
    Value made = sequence(SequenceForm::List);
    for (auto &[key, value] : self.entries)
      made.sequence->items.push_back(name == "keys" ? key
                                     : name == "values"
                                         ? value
                                         : sequence(SequenceForm::Tuple, {key, value}));
    return made;
  }
  if (name == "copy")
    return Value::of(heap.make<Dict>(self));
  if (name == "clear") {
    self.entries.clear();
    self.index.clear();
    return {};
  }
  if ((name == "get" || name == "pop" || name == "setdefault") && !given.empty()) {
    bool decided = true;
    Value *found = dictGet(self, given[0], &decided);
    if (!decided)
      return given[0].isUnknown() ? given[0] : unknown(at, in, "this key is not known");
    Value result = found ? *found : given.size() > 1 ? given[1] : Value();
    if (!found && name == "pop" && given.size() < 2)
      return unknown(at, in, "the dictionary has no such key");
    if (name == "pop" && found)
      dictErase(self, given[0]);
    if (name == "setdefault" && !found)
      dictSet(self, given[0], result);
    return result;
  }
  return unknown(at, in, fmt::format("'{}' of a dictionary cannot be followed", name));
}

Value Evaluator::sequenceMethod(Sequence &self, std::string_view name, Arguments &arguments,
                                const Node *at, ModuleState *in) {
  auto &given = arguments.positional;
  const Why *why = nullptr;
  if ((name == "append" || name == "add") && given.size() == 1) {
    bool present = self.form == SequenceForm::Set &&
                   std::any_of(self.items.begin(), self.items.end(),
                               [&](Value item) { return equal(item, given[0]).value_or(false); });
    if (!present)
      self.items.push_back(given[0]);
    return {};
  }
  if ((name == "extend" || name == "update" || name == "union") && given.size() == 1) {
    auto all = iterate(given[0], at, in, &why);
    if (!all)
      return Value::unknown(why);
    steps += all->size();
    if (isExhausted())
      return unknown(at, in, "evaluating this takes too many steps");
    Sequence *target = name == "union" ? heap.make<Sequence>(self) : &self;
    for (Value value : *all)
      if (self.form != SequenceForm::Set ||
          std::none_of(target->items.begin(), target->items.end(),
                       [&](Value item) { return equal(item, value).value_or(false); }))
        target->items.push_back(value);
    return name == "union" ? Value::of(target) : Value();
  }
  if (self.tainted)
    return Value::unknown(self.tainted);
  if (name == "copy")
    return Value::of(heap.make<Sequence>(self));
  if (name == "index" && given.size() == 1)
    for (size_t i = 0; i < self.items.size(); ++i)
      if (equal(self.items[i], given[0]).value_or(false))
        return Value::of(static_cast<int64_t>(i));
  if (name == "remove" && given.size() == 1)
    for (size_t i = 0; i < self.items.size(); ++i)
      if (equal(self.items[i], given[0]).value_or(false)) {
        self.items.erase(self.items.begin() + static_cast<ptrdiff_t>(i));
        return {};
      }
  return unknown(at, in, fmt::format("'{}' of a list cannot be followed", name));
}

Value Evaluator::stringMethod(std::string_view self, std::string_view name, Arguments &arguments,
                              const Node *at, ModuleState *in) {
  std::vector<std::string_view> given;
  std::vector<int64_t> numbers;
  bool isAscii = std::none_of(self.begin(), self.end(), [](char c) { return c & 0x80; });
  if (name == "format") {
    std::string out;
    size_t next = 0;
    for (size_t i = 0; i < self.size(); ++i) {
      char c = self[i];
      if ((c == '{' || c == '}') && i + 1 < self.size() && self[i + 1] == c) {
        out += c;
        ++i;
        continue;
      }
      if (c != '{') {
        out += c;
        continue;
      }
      size_t end = self.find('}', i);
      if (end == std::string_view::npos)
        return unknown(at, in, "this formatting cannot be followed");
      std::string_view key = self.substr(i + 1, end - i - 1);
      i = end;
      std::optional<Value> value;
      if (key.empty() && next < arguments.positional.size())
        value = arguments.positional[next++];
      else if (key.size() == 1 && isdigit(static_cast<unsigned char>(key[0])) &&
               static_cast<size_t>(key[0] - '0') < arguments.positional.size())
        value = arguments.positional[static_cast<size_t>(key[0] - '0')];
      for (auto &[known, one] : arguments.named)
        if (known == key)
          value = one;
      if (value && value->isUnknown())
        return *value;
      std::optional<std::string> text = value ? stringOf(*value) : std::nullopt;
      if (!text)
        return unknown(at, in, "this formatting cannot be followed");
      out += *text;
    }
    return string(std::move(out));
  }
  if (name == "join" && arguments.positional.size() == 1) {
    const Why *why = nullptr;
    auto parts = iterate(arguments.positional[0], at, in, &why);
    if (!parts)
      return Value::unknown(why);
    std::string out;
    for (size_t i = 0; i < parts->size(); ++i) {
      Value part = (*parts)[i];
      if (part.kind == ValueKind::Member && part.member->type->isStringEnum)
        part = part.member->value;
      if (part.kind != ValueKind::Str)
        return part.isUnknown() ? part : unknown(at, in, "this is not a string");
      if (i)
        out += self;
      out += part.text();
    }
    return string(std::move(out));
  }
  for (auto &[key, value] : arguments.named)
    if (key == "maxsplit" || key == "sep")
      arguments.positional.push_back(value);
  for (Value value : arguments.positional) {
    if (value.isUnknown())
      return value;
    if (value.kind == ValueKind::Str)
      given.push_back(value.text());
    else if (value.kind == ValueKind::Int)
      numbers.push_back(value.integer);
    else if (value.kind == ValueKind::Sequence && (name == "startswith" || name == "endswith")) {
      for (Value one : value.sequence->items)
        if (one.kind == ValueKind::Str)
          given.push_back(one.text());
        else
          return unknown(at, in, "this is not a string");
    } else
      return unknown(at, in, fmt::format("'{}' of a string cannot be followed here", name));
  }
  if ((name == "lower" || name == "upper" || name == "casefold") && isAscii) {
    std::string out(self);
    for (char &c : out)
      c = static_cast<char>(name == "upper" ? toupper(c) : tolower(c));
    return string(std::move(out));
  }
  if ((name == "title" || name == "capitalize") && isAscii) {
    std::string out(self);
    bool start = true;
    for (char &c : out) {
      c = static_cast<char>(start ? toupper(c) : tolower(c));
      start = name == "title" && !isalpha(static_cast<unsigned char>(c));
    }
    return string(std::move(out));
  }
  if (name == "startswith" || name == "endswith") {
    for (std::string_view one : given)
      if (name == "startswith" ? self.starts_with(one) : self.ends_with(one))
        return Value::boolean(true);
    return Value::boolean(false);
  }
  if (name == "replace" && given.size() == 2 && !given[0].empty() && numbers.empty()) {
    std::string out;
    for (size_t i = 0; i < self.size();) {
      if (self.substr(i).starts_with(given[0])) {
        out += given[1];
        i += given[0].size();
      } else {
        out += self[i++];
      }
    }
    return string(std::move(out));
  }
  if (name == "removeprefix" && given.size() == 1)
    return string(std::string(self.starts_with(given[0]) ? self.substr(given[0].size()) : self));
  if (name == "removesuffix" && given.size() == 1)
    return string(std::string(
        self.ends_with(given[0]) ? self.substr(0, self.size() - given[0].size()) : self));
  if ((name == "strip" || name == "lstrip" || name == "rstrip") && given.size() <= 1) {
    std::string_view letters = given.empty() ? std::string_view(" \t\r\n\f\v") : given[0];
    size_t begin = name == "rstrip" ? 0 : self.find_first_not_of(letters);
    if (begin == std::string_view::npos)
      return string("");
    size_t end = name == "lstrip" ? self.size() : self.find_last_not_of(letters) + 1;
    return string(std::string(self.substr(begin, end - begin)));
  }
  if ((name == "split" || name == "rsplit") && given.size() == 1 && !given[0].empty()) {
    int64_t limit = numbers.empty() || numbers[0] < 0 ? INT64_MAX : numbers[0];
    std::vector<std::string_view> parts;
    std::string_view rest = self;
    if (name == "split") {
      for (size_t at2; limit-- > 0 && (at2 = rest.find(given[0])) != std::string_view::npos;
           rest.remove_prefix(at2 + given[0].size()))
        parts.push_back(rest.substr(0, at2));
      parts.push_back(rest);
    } else {
      for (size_t at2; limit-- > 0 && (at2 = rest.rfind(given[0])) != std::string_view::npos;
           rest = rest.substr(0, at2))
        parts.push_back(rest.substr(at2 + given[0].size()));
      parts.push_back(rest);
      std::reverse(parts.begin(), parts.end());
    }
    Value made = sequence(SequenceForm::List);
    for (std::string_view part : parts)
      made.sequence->items.push_back(string(std::string(part)));
    return made;
  }
  if (name == "isdigit" && isAscii)
    return Value::boolean(!self.empty() && std::all_of(self.begin(), self.end(), ::isdigit));
  return unknown(at, in, fmt::format("'{}' of a string cannot be followed here", name));
}

} // namespace cupel::testbench::zoo
