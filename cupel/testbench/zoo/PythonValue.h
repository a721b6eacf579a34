// The values the static evaluator computes with: Python's, as far as loaders need them, and one
// more, Unknown, which carries the place and the reason why nothing can be said. Everything lives
// in the heap of one evaluator. A value derived from an unknown one is unknown, never a guess.
#pragma once

#include "cupel/testbench/zoo/PythonSyntax.h"

#include <cstdint>
#include <deque>
#include <memory_resource>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace cupel::testbench::zoo {

/// Why something cannot be told from the text.
struct Why {
  std::string_view file;
  uint32_t line = 0, column = 0;
  std::string message;
};

enum class ValueKind : uint8_t {
  Unknown,
  None,
  Bool,
  Int,
  Float,
  Str,
  Sequence, ///< list, tuple, set
  Dict,
  Member, ///< of an enum
  Class,
  Function,
  Bound, ///< a function or built-in method with its object
  Module,
  Instance,
  Promise, ///< an import that is followed when the name is used
  Builtin, ///< a function or type of Python's own that the evaluator knows by name
  Super,
};

struct Sequence;
struct Dict;
struct Member;
struct Class;
struct Function;
struct Bound;
struct ModuleState;
struct Instance;
struct Promise;

struct Value {
  ValueKind kind = ValueKind::None;
  union {
    const Why *why;
    bool truth;
    int64_t integer;
    double number;
    Sequence *sequence;
    Dict *dict;
    Member *member;
    Class *type;
    Function *function;
    Bound *bound;
    ModuleState *module;
    Instance *instance;
    Promise *promise;
    const char *data; ///< Str and Builtin, with `size`.
  };
  uint32_t size = 0;

  Value() : integer(0) {}
  static Value unknown(const Why *why) { return make(ValueKind::Unknown, &Value::why, why); }
  static Value boolean(bool truth) { return make(ValueKind::Bool, &Value::truth, truth); }
  static Value of(int64_t integer) { return make(ValueKind::Int, &Value::integer, integer); }
  static Value of(double number) { return make(ValueKind::Float, &Value::number, number); }
  static Value of(Sequence *s) { return make(ValueKind::Sequence, &Value::sequence, s); }
  static Value of(Dict *dict) { return make(ValueKind::Dict, &Value::dict, dict); }
  static Value of(Member *member) { return make(ValueKind::Member, &Value::member, member); }
  static Value of(Class *type) { return make(ValueKind::Class, &Value::type, type); }
  static Value of(Function *f) { return make(ValueKind::Function, &Value::function, f); }
  static Value of(Bound *bound) { return make(ValueKind::Bound, &Value::bound, bound); }
  static Value of(ModuleState *module) { return make(ValueKind::Module, &Value::module, module); }
  static Value of(Instance *i) { return make(ValueKind::Instance, &Value::instance, i); }
  static Value of(Promise *p) { return make(ValueKind::Promise, &Value::promise, p); }
  static Value super(Bound *bound) { return make(ValueKind::Super, &Value::bound, bound); }
  /// The text must outlive the value.
  static Value string(std::string_view text) { return text_(ValueKind::Str, text); }
  static Value builtin(std::string_view name) { return text_(ValueKind::Builtin, name); }

  std::string_view text() const { return {data, size}; }
  bool isUnknown() const { return kind == ValueKind::Unknown; }
  bool isNone() const { return kind == ValueKind::None; }
  bool isBuiltin(std::string_view name) const {
    return kind == ValueKind::Builtin && text() == name;
  }

private:
  template <typename T> static Value make(ValueKind kind, T Value::*field, T value) {
    Value made;
    made.kind = kind;
    made.*field = value;
    return made;
  }
  static Value text_(ValueKind kind, std::string_view text) {
    Value made;
    made.kind = kind;
    made.data = text.data();
    made.size = static_cast<uint32_t>(text.size());
    return made;
  }
};

/// Names and what they are bound to, in order of binding.
class Scope {
public:
  Value *find(std::string_view name) {
    auto found = index.find(name);
    return found == index.end() ? nullptr : &found->second;
  }
  void set(std::string_view name, Value value) {
    auto [place, isNew] = index.insert_or_assign(name, value);
    if (isNew)
      order.push_back(name);
  }
  const std::vector<std::string_view> &names() const { return order; }

private:
  std::unordered_map<std::string_view, Value> index;
  std::vector<std::string_view> order;
};

enum class SequenceForm : uint8_t { List, Tuple, Set };

struct Sequence {
  SequenceForm form;
  std::vector<Value> items;
  const Why *tainted = nullptr; ///< Changed in ways that could not be followed.
};

struct Dict {
  std::vector<std::pair<Value, Value>> entries; ///< In Python's order.
  std::unordered_multimap<size_t, uint32_t> index;
  const Why *tainted = nullptr;
};

struct Member {
  Class *type;
  std::string_view name;
  Value value;
};

struct Class {
  std::string_view name;
  ModuleState *module = nullptr; ///< Null for the built-in ones.
  const Node *node = nullptr;
  std::vector<Value> bases;
  std::vector<Class *> order;       ///< Method resolution order, itself first.
  const Why *unknownBase = nullptr; ///< A base that is not known: it may define anything.
  size_t knownBefore = 0; ///< How many classes of `order` come before that base for certain.
  bool isEnum = false;
  bool isStringEnum = false;                                     ///< Its members are strings too.
  bool isRecord = false;                                         ///< A dataclass or NamedTuple.
  std::vector<std::pair<std::string_view, const Node *>> fields; ///< Of a record, own ones.
  std::vector<Member *> members;                                 ///< Of an enum, without aliases.
  Scope scope;
  const Why *tainted = nullptr;
};

enum class FunctionForm : uint8_t { Plain, ClassMethod, StaticMethod, Property };

struct Function {
  const Node *node = nullptr; ///< FunctionDef or Lambda.
  ModuleState *module = nullptr;
  Class *owner = nullptr;
  FunctionForm form = FunctionForm::Plain;
  std::vector<Value> defaults; ///< One a parameter; Unknown where it has none.
  const Why *opaque = nullptr; ///< A decorator that is not known changes what calling it does.
  struct Frame *closure = nullptr;
};

struct Bound {
  Value self;
  Value function;         ///< Function, or none for a built-in method.
  std::string_view name;  ///< Of a built-in method.
  Class *after = nullptr; ///< Of super(): the search begins behind this class.
};

struct Instance {
  Class *type;
  std::vector<std::pair<std::string_view, Value>> fields;

  Value *find(std::string_view name) {
    for (auto &[field, value] : fields)
      if (field == name)
        return &value;
    return nullptr;
  }
};

struct Promise {
  ModuleState *in; ///< The module that imports.
  const Node *at;
  std::string_view from; ///< Module, as the import spells it; a path where `name` is empty.
  std::string_view name; ///< Empty: the module itself.
};

struct ModuleState {
  std::string path; ///< Of the file.
  std::string_view name;
  std::shared_ptr<const PythonModule> syntax;
  Scope globals;
  const Why *opaque = nullptr;     ///< It changes its own names in ways that cannot be followed.
  std::vector<std::string> looked; ///< Files its imports led to, also in vain.
  enum { NotRun, Running, Done } state = NotRun;
};

/// Where everything an evaluator makes lives.
class Heap {
public:
  template <typename T> T *make(T value = {}) {
    auto &store = std::get<std::deque<T>>(stores);
    return &store.emplace_back(std::move(value));
  }
  std::string_view keep(std::string text) {
    return std::get<std::deque<std::string>>(stores).emplace_back(std::move(text));
  }

private:
  std::tuple<std::deque<Sequence>, std::deque<Dict>, std::deque<Member>, std::deque<Class>,
             std::deque<Function>, std::deque<Bound>, std::deque<Instance>, std::deque<Promise>,
             std::deque<Why>, std::deque<std::string>>
      stores;
};

} // namespace cupel::testbench::zoo
