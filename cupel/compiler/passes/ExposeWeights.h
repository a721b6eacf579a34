// A program taken apart at the weights of its products, so that weights in other formats can be tried
// without compiling it again. Used by `cupel tune --formats`. The program is not changed.
#pragma once

#include "cupel/support/Error.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <string>
#include <vector>

namespace cupel::compiler {

struct ExposedWeight {
  std::string name; ///< As roundWeights calls it; products of one weight may take it in several forms.
  mlir::RankedTensorType type;
};

struct ExposedProgram {
  /// Takes what the program takes and gives the weights as products take them.
  mlir::OwningOpRef<mlir::ModuleOp> weights;
  /// Takes these behind its own arguments, and gives what each product of them gives behind its own results.
  mlir::OwningOpRef<mlir::ModuleOp> program;
  std::vector<ExposedWeight> all;
  std::vector<size_t> layers; ///< Of each product, which weight it takes.
  size_t results = 0;         ///< The program's own.
  size_t hidden = 0;          ///< Products inside loops, branches and other functions, which are not looked at.
};

/// Of the program's main function (`entryOf`).
Result<ExposedProgram> exposeWeights(mlir::ModuleOp module);

} // namespace cupel::compiler
