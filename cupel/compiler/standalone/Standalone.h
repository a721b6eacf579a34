// Standalone code: a program becomes a folder of source text that computes it without Cupel, in
// Python on NumPy or in C++. `generate` is the door; the verb `codegen`, and through it Python's
// codegen_py and codegen_cpp, use it. Nothing is written before everything is known to work:
// what has no form in the language is an error that names the operation.

#pragma once

#include "cupel/support/Error.h"
#include "cupel/tensor/Tensor.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <utility>
#include <vector>

namespace cupel::compiler::standalone {

using NamedTensors = std::vector<std::pair<std::string, tensor::Tensor>>;

enum class Language { Python, Cpp };

struct GenerateOptions {
  Language language = Language::Python;
  std::string model; ///< How comments call the program.
  /// The first arguments of main are inputs, the rest weights. Without values (not exporting
  /// tensors) the generated code takes ones.
  size_t inputs = 0;
  NamedTensors inputValues, weightValues;
  std::vector<std::string> inputNames, weightNames; ///< All of them, in order.
  std::vector<std::string> outputNames; ///< As far as known.
  bool exportTensors = true;
};

struct GeneratedFile {
  std::string path; ///< Below the folder.
  std::string bytes;
  bool isExecutable = false;
};

struct GeneratedTensors {
  std::string path;
  NamedTensors tensors;
};

struct GeneratedFolder {
  std::vector<GeneratedFile> files;
  std::vector<GeneratedTensors> tensors;
  size_t functions = 0, operations = 0, repeats = 0; ///< repeats: calls of repeated blocks.
};

/// Changes the module on the way.
Result<GeneratedFolder> generate(mlir::ModuleOp module, const GenerateOptions &options);

/// Writes the folder whole or not at all: beside it first, then in its place. A folder that is there
/// is replaced only if it is empty or was generated.
Status writeFolder(const std::string &path, const GeneratedFolder &folder);

} // namespace cupel::compiler::standalone
