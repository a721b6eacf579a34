// Takes the rounding of weights that arrive as arguments (to block floats, to bf16) out of a program: it takes them in the form
// that its products multiply with, as further arguments behind its own, and who runs it makes that
// form once for each buffer instead of once for each run. Used by RoundedArguments.h alone.
#pragma once

#include "cupel/compiler/passes/RoundWeights.h"

#include "mlir/IR/OwningOpRef.h"

namespace cupel::compiler {

struct RoundedForm {
  unsigned argument = 0; ///< Of the program's own, of which the form is made.
  std::optional<tensor::BlockFormat> format; ///< Nothing: the program does all there is to do.
  /// Brings the argument into the form, before it is rounded; null where it is in it.
  mlir::OwningOpRef<mlir::ModuleOp> program;
  std::string name; ///< Of the further argument.
};

/// Changes the program, whose main function is the only public one; gives the further arguments in order.
/// Weights that are constants stay, and so do those of products inside loops, branches and other functions.
std::vector<RoundedForm> splitRounding(mlir::ModuleOp module, mlir::StringRef main, const WeightFormats &formats);

/// The same of what narrowProducts has rounded: the right sides of products, kernels of convolutions. Of the
/// first `own` arguments of main.
std::vector<RoundedForm> splitNarrowing(mlir::ModuleOp module, mlir::StringRef main, unsigned own);

} // namespace cupel::compiler
