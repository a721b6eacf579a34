// Modules and imports of the static evaluator. Imported names are promises until they are used, so
// that only what matters is read.

#include "cupel/testbench/zoo/Evaluator.h"

#include <algorithm>
#include <fmt/format.h>
#include <unordered_set>

namespace cupel::testbench::zoo {

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
  if (module->opaque)
    return Value::unknown(module->opaque);
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
    if (from->opaque)
      return Value::unknown(from->opaque);
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

} // namespace cupel::testbench::zoo
