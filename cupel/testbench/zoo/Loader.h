// What is known of one model loader: its variants, what its model info says of each, and which
// methods it offers. Read from the text of `loader.py`, or reported by Python where the text does
// not tell. A value that the matrix is built from and the cache stores.
#pragma once

#include "cupel/testbench/zoo/ModuleLibrary.h"
#include "cupel/testbench/zoo/Remark.h"

#include <optional>
#include <string>
#include <vector>

namespace cupel::testbench::zoo {

class Evaluator;

/// One variant and its model info; what could not be told is empty.
struct Variant {
  std::string name; ///< Empty: the model has no variants.
  std::string model, group, task, source, framework;

  bool operator==(const Variant &) const = default;
};

/// A method of ModelLoader, its own or inherited from anything but the common base.
struct Method {
  std::string name;
  std::vector<std::string> parameters; ///< Without self; `*args` and `**kwargs` with their stars.

  bool operator==(const Method &) const = default;
};

struct Loader {
  std::string file;      ///< The loader.py.
  std::string modelPath; ///< Its folder below the zoo's root: `llama/causal_lm/pytorch`.
  std::string framework; ///< The last part of that: `pytorch`.

  enum State : uint8_t {
    Decided,
    Undecided, ///< The variants cannot be told from the text; `why` says what stands in the way.
    Broken,    ///< Not readable, or not Python.
  } state = Decided;
  Remark why;

  std::vector<Variant> variants;        ///< At least one if decided.
  bool hasPrefill = false;              ///< A class derived from ForgePrefillModel is there ...
  std::vector<Variant> prefillVariants; ///< ... with these variants.
  bool hasDecode = false;               ///< ModelLoader has load_inputs_decode.
  std::vector<Method> methods;
  bool imported = false; ///< By Python, not from the text.

  /// What remains open although the variants are known: model info that depends on more than the
  /// text.
  std::vector<Remark> doubts;
  /// Files this was made from, also those that were looked for in vain.
  std::vector<std::string> dependencies;

  bool operator==(const Loader &) const = default;
};

/// Reads one loader. `file` lies below the root of the evaluator's library.
Loader readLoader(Evaluator &evaluator, const std::string &file, std::string modelPath);

} // namespace cupel::testbench::zoo
