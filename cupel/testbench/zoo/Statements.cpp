// The statements of the static evaluator: assignments, imports, classes, branches.

#include "cupel/testbench/zoo/Evaluator.h"

#include <algorithm>
#include <fmt/format.h>
#include <unordered_set>

namespace cupel::testbench::zoo {

Evaluator::Evaluator(ModuleLibrary &library) : library(library) {}

Value Evaluator::unknown(const Node *at, ModuleState *in, std::string message) {
  return Value::unknown(
      heap.make<Why>({in ? std::string_view(in->path) : std::string_view(), at ? at->line : 0,
                      at ? at->column : 0, std::move(message)}));
}

ModuleState *Evaluator::module(const std::string &path, const Why **why) {
  auto found = modules.find(path);
  if (found == modules.end()) {
    std::shared_ptr<const SourceFile> file = library.read(path);
    if (!file->module) {
      *why = heap.make<Why>(
          {heap.keep(path), file->problem.line, file->problem.column, file->problem.message});
      return nullptr;
    }
    auto state = std::make_unique<ModuleState>();
    state->path = path;
    state->name = state->path;
    state->syntax = file->module;
    found = modules.emplace(path, std::move(state)).first;
  }
  ModuleState *state = found->second.get();
  if (state->state == ModuleState::NotRun) {
    state->state = ModuleState::Running;
    Frame frame{state};
    run(state->syntax->root(), frame);
    state->state = ModuleState::Done;
  }
  return state;
}

std::vector<std::string> Evaluator::dependencies(const std::string &path) const {
  std::vector<std::string> all = {path};
  std::unordered_set<std::string_view> seen = {path};
  for (size_t i = 0; i < all.size(); ++i) {
    auto found = modules.find(all[i]);
    if (found == modules.end())
      continue;
    for (const std::string &next : found->second->looked)
      if (seen.insert(next).second)
        all.push_back(next);
  }
  std::sort(all.begin(), all.end());
  return all;
}

std::optional<Value> Evaluator::global(ModuleState *module, std::string_view name) {
  Value *value = module->globals.find(name);
  if (!value)
    return std::nullopt;
  if (value->kind == ValueKind::Promise) {
    Value followed = force(*value);
    module->globals.set(name, followed);
    return followed;
  }
  return *value;
}

Value Evaluator::force(Value value) {
  for (int hops = 0; value.kind == ValueKind::Promise && hops < 32; ++hops) {
    Promise *promise = value.promise;
    if (promise->name.empty()) {
      const Why *why = nullptr;
      ModuleState *state = module(std::string(promise->from), &why);
      return state ? Value::of(state) : Value::unknown(why);
    }
    value = importedName(promise->in, promise->at, promise->from, promise->name);
  }
  if (value.kind == ValueKind::Promise)
    return unknown(value.promise->at, value.promise->in, "this import leads back to itself");
  return value;
}

Evaluator::Flow Evaluator::run(const Node *block, Frame &frame) {
  if (!block)
    return Flow::Next;
  for (const Node *statement : block->children) {
    Flow flow = runStatement(statement, frame);
    if (flow != Flow::Next) {
      // Module and class bodies go on: what is wrong there concerns the names it binds.
      if (flow == Flow::Lost && (!frame.locals || frame.isClassBody))
        continue;
      return flow;
    }
  }
  return Flow::Next;
}

Evaluator::Flow Evaluator::runStatement(const Node *node, Frame &frame) {
  bool inFunction = frame.locals && !frame.isClassBody;
  // In a function what is lost makes the result unknown; elsewhere only what was touched.
  auto lost = [&](const Why *why) {
    if (inFunction)
      frame.result = Value::unknown(why);
    else
      loseTrack(node, frame, why);
    return Flow::Lost;
  };
  switch (node->kind) {
  case NodeKind::Expression: {
    eval(node->child(0), frame);
    return Flow::Next;
  }
  case NodeKind::Assign:
  case NodeKind::AnnotatedAssign: {
    const Node *value = node->child(1);
    if (node->kind == NodeKind::AnnotatedAssign && frame.isClassBody && node->child(0) &&
        node->child(0)->kind == NodeKind::Name)
      frame.owner->fields.emplace_back(node->child(0)->text, value);
    if (!value)
      return Flow::Next;
    std::vector<const Node *> targets = {node->child(0)};
    while (value && (value->kind == NodeKind::Assign || value->kind == NodeKind::AnnotatedAssign)) {
      targets.push_back(value->child(0));
      value = value->child(1);
    }
    Value result = value ? eval(value, frame) : Value();
    for (const Node *target : targets)
      assign(target, result, frame);
    return Flow::Next;
  }
  case NodeKind::AugmentedAssign: {
    const Node *target = node->child(0);
    Value old = eval(target, frame), added = eval(node->child(1), frame);
    if (node->text == "|" && old.kind == ValueKind::Dict && added.kind == ValueKind::Dict) {
      if (added.dict->tainted)
        old.dict->tainted = added.dict->tainted;
      for (auto &[key, value] : added.dict->entries)
        dictSet(*old.dict, key, value);
      return Flow::Next;
    }
    if (node->text == "+" && old.kind == ValueKind::Sequence &&
        old.sequence->form == SequenceForm::List && added.kind == ValueKind::Sequence &&
        !isExhausted()) {
      steps += added.sequence->items.size();
      if (added.sequence->tainted)
        old.sequence->tainted = added.sequence->tainted;
      std::vector<Value> items = added.sequence->items; // It may be the same list.
      old.sequence->items.insert(old.sequence->items.end(), items.begin(), items.end());
      return Flow::Next;
    }
    if (added.isUnknown())
      taint(old, added.why);
    assign(target, evalBinary(node->text, old, added, node, frame), frame);
    return Flow::Next;
  }
  case NodeKind::Return:
    frame.result = node->child(0) ? eval(node->child(0), frame) : Value();
    return Flow::Return;
  case NodeKind::If: {
    Value condition = eval(node->child(0), frame);
    std::optional<bool> holds = truth(condition);
    if (!holds) {
      const Why *why =
          condition.isUnknown()
              ? condition.why
              : unknown(node, frame.module, "a condition cannot be told without running it").why;
      return lost(why);
    }
    const Node *taken = node->child(*holds ? 1 : 2);
    if (!taken)
      return Flow::Next;
    return taken->kind == NodeKind::If ? runStatement(taken, frame) : run(taken, frame);
  }
  case NodeKind::For:
    return runFor(node, frame);
  case NodeKind::Try:
    return runTry(node, frame);
  case NodeKind::With:
    if (inFunction)
      return lost(unknown(node, frame.module, "a `with` block cannot be followed").why);
    return run(node->child(0), frame);
  case NodeKind::Block:
    return run(node, frame);
  case NodeKind::ClassDef:
    bind(node->text, defineClass(node, frame), frame);
    return Flow::Next;
  case NodeKind::FunctionDef:
    bind(node->text, defineFunction(node, frame), frame);
    return Flow::Next;
  case NodeKind::Import:
    importModule(node, frame);
    return Flow::Next;
  case NodeKind::ImportFrom:
    importFrom(node, frame);
    return Flow::Next;
  case NodeKind::Raise:
    frame.result = unknown(node, frame.module, "an exception is raised here");
    return Flow::Raised;
  case NodeKind::Break:
    return Flow::Break;
  case NodeKind::Continue:
    return Flow::Continue;
  case NodeKind::Pass:
    return Flow::Next;
  default:
    return lost(
        unknown(node, frame.module, fmt::format("a '{}' cannot be followed", node->text)).why);
  }
}

Evaluator::Flow Evaluator::runFor(const Node *node, Frame &frame) {
  bool inFunction = frame.locals && !frame.isClassBody;
  const Why *why = nullptr;
  std::optional<std::vector<Value>> items =
      iterate(eval(node->child(1), frame), node, frame.module, &why);
  if (!items) {
    if (inFunction)
      frame.result = Value::unknown(why);
    else
      loseTrack(node, frame, why);
    return Flow::Lost;
  }
  for (Value item : *items) {
    if (++steps, isExhausted()) {
      why = unknown(node, frame.module, "evaluating this takes too many steps").why;
      if (inFunction)
        frame.result = Value::unknown(why);
      else
        loseTrack(node, frame, why);
      return Flow::Lost;
    }
    assign(node->child(0), item, frame);
    Flow flow = run(node->child(2), frame);
    if (flow == Flow::Break)
      return Flow::Next;
    if (flow != Flow::Next && flow != Flow::Continue)
      return flow;
  }
  return run(node->child(3), frame);
}

Evaluator::Flow Evaluator::runTry(const Node *node, Frame &frame) {
  // Taken as if the body raised nothing; what a handler would bind instead is not known then,
  // unless the body cannot reach outside at all, which is rare enough not to be looked for.
  Flow flow = run(node->child(0), frame);
  std::vector<std::string_view> alternatives;
  const Node *otherwise = nullptr, *finally = nullptr;
  for (size_t i = 1; i < node->children.size(); ++i) {
    const Node *part = node->child(i);
    if (part->text == "except")
      collectBound(part, alternatives);
    else if (part->text == "else")
      otherwise = part;
    else
      finally = part;
  }
  bool inFunction = frame.locals && !frame.isClassBody;
  if (flow == Flow::Raised && inFunction) {
    frame.result = unknown(node, frame.module, "which handler runs cannot be told");
    return Flow::Lost;
  }
  if (!alternatives.empty()) {
    Value lost = unknown(node, frame.module, "which branch of this `try` runs cannot be told");
    for (std::string_view name : alternatives)
      bind(name, lost, frame);
  }
  if (flow != Flow::Next)
    return flow == Flow::Raised ? Flow::Next : flow;
  flow = run(otherwise, frame);
  if (flow != Flow::Next)
    return flow;
  return run(finally, frame);
}

void Evaluator::bind(std::string_view name, Value value, Frame &frame) {
  if (frame.locals)
    frame.locals->set(name, value);
  else
    frame.module->globals.set(name, value);
}

void Evaluator::assign(const Node *target, Value value, Frame &frame) {
  if (!target)
    return;
  switch (target->kind) {
  case NodeKind::Name:
    bind(target->text, value, frame);
    return;
  case NodeKind::Tuple:
  case NodeKind::List: {
    const Why *why = nullptr;
    std::optional<std::vector<Value>> items = iterate(value, target, frame.module, &why);
    bool starred = std::any_of(target->children.begin(), target->children.end(),
                               [](const Node *n) { return n->kind == NodeKind::Star; });
    if (items && (starred || items->size() != target->children.size())) {
      why = unknown(target, frame.module, "this unpacking cannot be followed").why;
      items.reset();
    }
    for (size_t i = 0; i < target->children.size(); ++i) {
      const Node *part = target->child(i);
      assign(part->kind == NodeKind::Star ? part->child(0) : part,
             items ? (*items)[i] : Value::unknown(why), frame);
    }
    return;
  }
  case NodeKind::Attribute: {
    Value object = eval(target->child(0), frame);
    if (object.kind == ValueKind::Class) {
      object.type->scope.set(target->text, value);
    } else if (object.kind == ValueKind::Instance) {
      if (Value *field = object.instance->find(target->text))
        *field = value;
      else
        object.instance->fields.emplace_back(target->text, value);
    } else if (object.kind == ValueKind::Module) {
      object.module->globals.set(target->text, value);
    }
    return;
  }
  case NodeKind::Subscript: {
    Value object = eval(target->child(0), frame), key = eval(target->child(1), frame);
    if (object.kind == ValueKind::Dict) {
      if (!dictSet(*object.dict, key, value))
        object.dict->tainted =
            key.isUnknown() ? key.why : unknown(target, frame.module, "this key is not known").why;
    } else if (object.kind == ValueKind::Sequence) {
      auto &items = object.sequence->items;
      int64_t index = key.kind == ValueKind::Int ? key.integer : INT64_MIN;
      if (index < 0 && index >= -static_cast<int64_t>(items.size()))
        index += static_cast<int64_t>(items.size());
      if (index >= 0 && index < static_cast<int64_t>(items.size()))
        items[static_cast<size_t>(index)] = value;
      else
        object.sequence->tainted = unknown(target, frame.module, "this index is not known").why;
    }
    return;
  }
  default:
    return;
  }
}

void Evaluator::importModule(const Node *node, Frame &frame) {
  std::string_view dotted = node->text;
  std::string_view name =
      node->child(0) ? node->child(0)->text : dotted.substr(0, dotted.find('.'));
  // `import a.b` binds `a`; only modules of Python's own are looked into through such a name.
  std::string_view meant = node->child(0) ? dotted : name;
  static constexpr std::string_view kKnown[] = {"enum",        "typing",    "dataclasses",
                                                "collections", "abc",       "copy",
                                                "functools",   "itertools", "types"};
  for (std::string_view known : kKnown)
    if (meant == known) {
      bind(name, Value::builtin(heap.keep(fmt::format("module:{}", known))), frame);
      return;
    }
  ModuleLibrary::Target target = library.resolve(frame.module->path, meant, frame.module->looked);
  if (target.kind == ModuleLibrary::Target::File) {
    // Bound to a promise: most imported modules are never asked for anything.
    bind(name, Value::of(heap.make<Promise>({frame.module, node, heap.keep(target.path), {}})),
         frame);
    return;
  }
  bind(name,
       unknown(node, frame.module,
               fmt::format("'{}' is not part of the zoo and is not imported", meant)),
       frame);
}

void Evaluator::importFrom(const Node *node, Frame &frame) {
  if (node->children.empty()) { // import *
    ModuleLibrary::Target target =
        library.resolve(frame.module->path, node->text, frame.module->looked);
    const Why *why = nullptr;
    ModuleState *from =
        target.kind == ModuleLibrary::Target::File ? module(target.path, &why) : nullptr;
    if (!from)
      return; // Names it would have bound are reported as undefined where they are used.
    for (std::string_view name : from->globals.names())
      if (!name.starts_with('_'))
        bind(name, *from->globals.find(name), frame);
    return;
  }
  for (const Node *imported : node->children) {
    std::string_view name = imported->child(0) ? imported->child(0)->text : imported->text;
    // A promise: the module is read when the name is used.
    bind(name, Value::of(heap.make<Promise>({frame.module, imported, node->text, imported->text})),
         frame);
  }
}

Value Evaluator::importedName(ModuleState *in, const Node *at, std::string_view dotted,
                              std::string_view name) {
  ModuleLibrary::Target target = library.resolve(in->path, dotted, in->looked);
  if (target.kind == ModuleLibrary::Target::File) {
    const Why *why = nullptr;
    ModuleState *from = module(target.path, &why);
    if (!from)
      return Value::unknown(why);
    if (Value *value = from->globals.find(name))
      return *value;
    if (target.path.ends_with("/__init__.py")) {
      std::string folder = target.path.substr(0, target.path.size() - 12);
      ModuleLibrary::Target inner = library.inside(folder, name, in->looked);
      if (inner.kind == ModuleLibrary::Target::File)
        return Value::of(heap.make<Promise>({in, at, heap.keep(inner.path), {}}));
    }
    return unknown(
        at, in,
        fmt::format("'{}' defines no '{}'{}", target.path.substr(library.root().size() + 1), name,
                    from->state == ModuleState::Running ? " yet (circular import)" : ""));
  }
  if (target.kind == ModuleLibrary::Target::Folder) {
    ModuleLibrary::Target inner = library.inside(target.path, name, in->looked);
    if (inner.kind == ModuleLibrary::Target::File)
      return Value::of(heap.make<Promise>({in, at, heap.keep(inner.path), {}}));
  }
  // A loader outside any zoo: the interface all loaders share is known.
  std::string_view last = dotted.substr(dotted.rfind('.') + 1);
  if (last == "base" || last == "config") {
    ModuleState *interface = interfaceModule();
    if (Value *value = interface->globals.find(name))
      return *value;
  }
  if (target.kind == ModuleLibrary::Target::Outside)
    return outsideName(in, at, dotted, name);
  return unknown(at, in, fmt::format("there is no module '{}' here", dotted));
}

Value Evaluator::outsideName(ModuleState *in, const Node *at, std::string_view module,
                             std::string_view name) {
  static constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"enum", "Enum"},
      {"enum", "StrEnum"},
      {"enum", "IntEnum"},
      {"enum", "Flag"},
      {"enum", "IntFlag"},
      {"enum", "auto"},
      {"enum", "unique"},
      {"dataclasses", "dataclass"},
      {"dataclasses", "field"},
      {"dataclasses", "replace"},
      {"abc", "ABC"},
      {"abc", "abstractmethod"},
      {"abc", "abstractclassmethod"},
      {"abc", "ABCMeta"},
      {"collections", "OrderedDict"},
      {"copy", "copy"},
      {"copy", "deepcopy"},
      {"functools", "lru_cache"},
      {"functools", "cache"},
      {"functools", "cached_property"},
      {"itertools", "chain"},
      {"itertools", "product"},
      {"types", "MappingProxyType"},
  };
  for (auto &[from, known] : kNames)
    if (module == from && name == known)
      return Value::builtin(known);
  if (module == "typing" || module == "typing_extensions" || module == "collections.abc") {
    if (name == "TYPE_CHECKING")
      return Value::boolean(false);
    if (name == "NamedTuple")
      return Value::builtin("NamedTuple");
    return Value::builtin("typing");
  }
  return unknown(at, in,
                 fmt::format("'{}' comes from '{}', which is not part of the zoo", name, module));
}

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
    else if (part->kind == NodeKind::Keyword)
      continue; // metaclass=ABCMeta and the like
    else if (part->kind == NodeKind::Star || part->kind == NodeKind::DoubleStar)
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
      if (isStandardStringEnum) {
        std::string lower(name);
        std::transform(lower.begin(), lower.end(), lower.begin(), ::tolower);
        value = string(std::move(lower));
      } else {
        value = Value::of(next);
      }
    }
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

void Evaluator::collectBound(const Node *node, std::vector<std::string_view> &names) {
  if (!node)
    return;
  auto target = [&](auto &self, const Node *t) -> void {
    if (!t)
      return;
    if (t->kind == NodeKind::Name)
      names.push_back(t->text);
    else if (t->kind == NodeKind::Tuple || t->kind == NodeKind::List || t->kind == NodeKind::Star)
      for (const Node *part : t->children)
        self(self, part);
  };
  switch (node->kind) {
  case NodeKind::Assign:
  case NodeKind::AnnotatedAssign:
  case NodeKind::AugmentedAssign:
    target(target, node->child(0));
    collectBound(node->child(1), names);
    return;
  case NodeKind::For:
    target(target, node->child(0));
    collectBound(node->child(2), names);
    collectBound(node->child(3), names);
    return;
  case NodeKind::ClassDef:
  case NodeKind::FunctionDef:
    names.push_back(node->text);
    return;
  case NodeKind::Import:
    names.push_back(node->child(0) ? node->child(0)->text
                                   : node->text.substr(0, node->text.find('.')));
    return;
  case NodeKind::ImportFrom:
    for (const Node *name : node->children)
      names.push_back(name->child(0) ? name->child(0)->text : name->text);
    return;
  case NodeKind::If:
  case NodeKind::Try:
  case NodeKind::With:
  case NodeKind::Block:
    for (const Node *child : node->children)
      collectBound(child, names);
    return;
  default:
    return;
  }
}

void Evaluator::loseTrack(const Node *statement, Frame &frame, const Why *why) {
  std::vector<std::string_view> bound;
  collectBound(statement, bound);
  for (std::string_view name : bound)
    bind(name, Value::unknown(why), frame);
  // Whatever else is mentioned in it may have been changed.
  std::string_view text = std::string_view(frame.module->syntax->source())
                              .substr(statement->begin, statement->end - statement->begin);
  auto isWord = [](char c) {
    return isalnum(static_cast<unsigned char>(c)) || c == '_' || (c & 0x80);
  };
  for (size_t i = 0; i < text.size();) {
    if (!isWord(text[i])) {
      ++i;
      continue;
    }
    size_t begin = i;
    while (i < text.size() && isWord(text[i]))
      ++i;
    std::string_view word = text.substr(begin, i - begin);
    Value *value = frame.locals ? frame.locals->find(word) : nullptr;
    if (!value)
      value = frame.module->globals.find(word);
    if (!value)
      continue;
    if (statement->kind == NodeKind::UnknownStatement)
      *value = Value::unknown(why);
    else
      taint(*value, why);
  }
}

void Evaluator::taint(Value value, const Why *why) {
  switch (value.kind) {
  case ValueKind::Sequence:
    value.sequence->tainted = why;
    return;
  case ValueKind::Dict:
    value.dict->tainted = why;
    return;
  case ValueKind::Class:
    if (value.type->module && !value.type->isEnum)
      value.type->tainted = why;
    return;
  default:
    return;
  }
}

} // namespace cupel::testbench::zoo
