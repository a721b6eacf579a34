// An exported PyTorch program made into a StableHLO module of static shapes: calls are lowered by
// the table of operators (OpTable.h), writes in place become new values, sizes that were symbols
// become numbers. Used by the worker's verbs. Parameters, buffers and large constants stay outside
// the module, as arguments that share the archive's memory.
#pragma once

#include "cupel/frontends/ModelImport.h"
#include "cupel/frontends/torch/Program.h"

namespace cupel::frontends::torch_import {

/// Shapes and values of inputs go by name or position among the tensors; of values only the shapes
/// are looked at.
struct ImportOptions : frontends::ImportOptions {
  /// Numbers for inputs that are symbolic integers, by name.
  std::map<std::string, int64_t> numbers;
};

/// A leaf of what the exported function returns, in order.
struct ImportedLeaf {
  /// Which result of @main it is; -1 for a constant (None, a number, a string).
  int64_t result = -1;
  Argument constant;
};

/// Its outputs are what the function returns, then the new values of buffers, parameters and inputs
/// that it writes to ("mutated:NAME").
struct Imported : ImportedModel {
  std::vector<ImportedLeaf> leaves;
};

/// An error names operator, overload, arguments and the model's source line.
Result<Imported> importProgram(const Program &program, mlir::MLIRContext &context,
                               const ImportOptions &options);

/// Goes through the whole program, past what fails. Calls stand in the order they are computed;
/// those of subgraphs too.
ModelSurvey surveyProgram(const Program &program, mlir::MLIRContext &context,
                          const ImportOptions &options);

} // namespace cupel::frontends::torch_import
