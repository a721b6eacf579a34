// Evaluates Python statically: runs the top level of a zoo's modules and, when asked, small
// functions, over values that are either known exactly or unknown with a reason. It follows
// imports inside the zoo and nothing else, executes no foreign code, touches nothing outside, and
// ends after a bounded number of steps whatever it is given. Used by the loader reader alone; one
// evaluator belongs to one thread.
#pragma once

#include "cupel/testbench/zoo/ModuleLibrary.h"
#include "cupel/testbench/zoo/PythonValue.h"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cupel::testbench::zoo {

/// Where names are looked up while a block runs.
struct Frame {
  ModuleState *module = nullptr;
  Scope *locals = nullptr; ///< Of a function or class body; null at module level.
  Class *owner = nullptr;  ///< The class whose body, or whose method, this is.
  bool isClassBody = false;
  Frame *outer = nullptr; ///< The enclosing function's.
  Value self = {};        ///< First argument of a method, for super().
  Value result = {};
};

struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string_view, Value>> named;
  const Why *unknown = nullptr; ///< A `*x` or `**x` that is not known.
};

class Evaluator {
public:
  explicit Evaluator(ModuleLibrary &library);

  /// Runs the file's top level unless that was done; null, with the reason in `why`, if it cannot
  /// be read.
  ModuleState *module(const std::string &path, const Why **why);

  /// What `name` means in a finished module; nothing if it is not defined.
  std::optional<Value> global(ModuleState *module, std::string_view name);
  /// `object.name`, descriptors applied.
  Value attribute(Value object, std::string_view name, const Node *at, ModuleState *in);
  /// The same without applying descriptors, through the method resolution order; nothing if the
  /// class certainly has no such attribute.
  std::optional<Value> classAttribute(Class *type, std::string_view name,
                                      Class **definer = nullptr);
  Value call(Value callee, Arguments arguments, const Node *at, ModuleState *in);

  bool isSubclass(Class *type, Class *base) const;
  /// The same by name: no loader names a class of its own ForgePrefillModel.
  bool hasBaseNamed(Class *type, std::string_view name) const;
  /// Python's str(); nothing if it cannot be told.
  std::optional<std::string> stringOf(Value value);

  /// Files that a module depends on, through any number of imports, sorted; also those that were
  /// looked for in vain.
  std::vector<std::string> dependencies(const std::string &path) const;
  /// Starts a new account of steps, for the next loader.
  void resetBudget() { steps = 0; }

  Value unknown(const Node *at, ModuleState *in, std::string message);

private:
  enum class Flow : uint8_t { Next, Return, Break, Continue, Raised, Lost };

  // Statements (Statements.cpp).
  Flow run(const Node *block, Frame &frame);
  Flow runStatement(const Node *statement, Frame &frame);
  Flow runFor(const Node *statement, Frame &frame);
  Flow runTry(const Node *statement, Frame &frame);
  void assign(const Node *target, Value value, Frame &frame);
  void bind(std::string_view name, Value value, Frame &frame);
  void importFrom(const Node *statement, Frame &frame);
  void importModule(const Node *statement, Frame &frame);
  Value importedName(ModuleState *in, const Node *at, std::string_view dotted,
                     std::string_view name);
  /// Follows an import.
  Value force(Value value);
  Value outsideName(ModuleState *in, const Node *at, std::string_view module,
                    std::string_view name);
  Value defineClass(const Node *node, Frame &frame);
  Value defineFunction(const Node *node, Frame &frame);
  void linearize(Class *type);
  void makeEnumMembers(Class *type);
  /// Forgets what a statement that could not be followed may have changed.
  void loseTrack(const Node *statement, Frame &frame, const Why *why);
  /// Of a function that could not be followed to its end: the globals it mentions.
  void loseGlobals(const Node *body, Frame &frame, const Why *why);
  void collectBound(const Node *node, std::vector<std::string_view> &names);
  void taint(Value value, const Why *why);

  // Expressions (Expressions.cpp).
  Value eval(const Node *node, Frame &frame);
  Value evalInner(const Node *node, Frame &frame);
  Value lookup(std::string_view name, const Node *at, Frame &frame);
  Value evalCall(const Node *node, Frame &frame);
  Value evalBinary(std::string_view op, Value left, Value right, const Node *at, Frame &frame);
  Value evalCompare(const Node *node, Frame &frame);
  Value compare(std::string_view op, Value left, Value right, const Node *at, Frame &frame);
  Value evalComprehension(const Node *node, Frame &frame);
  const Why *runClauses(const Node *node, size_t clause, Frame &frame,
                        const std::function<const Why *(Frame &)> &leaf);
  Value subscript(Value object, Value index, const Node *at, Frame &frame);
  Value slice(Value object, const Node *node, Frame &frame);
  Value evalFormat(const Node *node, Frame &frame);
  /// The elements of an iterable; null with `why` set if they are not known.
  std::optional<std::vector<Value>> iterate(Value value, const Node *at, ModuleState *in,
                                            const Why **why);
  /// Python's bool(); nothing if it cannot be told.
  std::optional<bool> truth(Value value);
  /// Python's ==; nothing if it cannot be told.
  std::optional<bool> equal(Value left, Value right);
  static std::optional<size_t> hash(Value value);
  /// Dictionaries; `set` and `get` return false on an unhashable or unknown key.
  bool dictSet(Dict &dict, Value key, Value value);
  Value *dictGet(Dict &dict, Value key, bool *decided);
  void dictErase(Dict &dict, Value key);

  // Calls (Calls.cpp).
  Value callFunction(Function *function, std::optional<Value> self, Arguments arguments,
                     const Node *at, ModuleState *in);
  Value instantiate(Class *type, Arguments arguments, const Node *at, ModuleState *in);
  Value callBuiltin(std::string_view name, Arguments &arguments, const Node *at, ModuleState *in);
  Value callMethod(Value self, std::string_view name, Arguments &arguments, const Node *at,
                   ModuleState *in);
  Value stringMethod(std::string_view self, std::string_view name, Arguments &arguments,
                     const Node *at, ModuleState *in);
  Value dictMethod(Dict &self, std::string_view name, Arguments &arguments, const Node *at,
                   ModuleState *in);
  Value sequenceMethod(Sequence &self, std::string_view name, Arguments &arguments, const Node *at,
                       ModuleState *in);
  Value isInstance(Value value, Value type, const Node *at, ModuleState *in);
  Value memberOf(Class *type, Value value, const Node *at, ModuleState *in);
  Class *builtinClass(std::string_view name);

  /// A string of this evaluator's; unknown if it is absurdly long.
  Value string(std::string text);
  /// Whether the account of steps is used up.
  bool isExhausted() const;
  Value sequence(SequenceForm form, std::vector<Value> items = {}) {
    return Value::of(heap.make<Sequence>({form, std::move(items), nullptr}));
  }
  /// The loaders' interface as this project knows it, for a zoo that has no base module.
  ModuleState *interfaceModule();

  ModuleLibrary &library;
  Heap heap;
  std::map<std::string, std::unique_ptr<ModuleState>, std::less<>> modules;
  std::map<std::string, Class *, std::less<>> builtinClasses;
  std::deque<Frame> closures;
  std::deque<Scope> closureScopes;
  uint64_t steps = 0;
  int depth = 0;
};

} // namespace cupel::testbench::zoo
