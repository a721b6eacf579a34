// Attributes and calls of the static evaluator: functions and classes of the zoo.

#include "cupel/testbench/zoo/Evaluator.h"

#include <algorithm>
#include <fmt/format.h>

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
    const Node *body = function->module->syntax->body(function->node);
    Flow flow = run(body, frame);
    if (flow == Flow::Lost && frame.result.isUnknown())
      loseGlobals(body, frame, frame.result.why);
    result =
        flow == Flow::Return || flow == Flow::Lost || flow == Flow::Raised ? frame.result : Value();
  }
  --depth;
  return result;
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

} // namespace cupel::testbench::zoo
