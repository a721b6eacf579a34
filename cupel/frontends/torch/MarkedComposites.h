// Composites that users mark: a function of theirs hands its inputs and its outputs through
// `cupel::mark_tensor` (cupel.torch.composites), and what is computed between becomes the decomposition of a
// `stablehlo.composite` of their name. In an imported program a mark is an identity until the program is whole.
#pragma once

#include "cupel/support/Error.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace cupel::frontends::torch_import {

inline constexpr char kMarkCall[] = "cupel.mark_tensor";

/// Makes composites of what is marked; without `keep`, or where nothing is between, the marks just go. An error names the
/// composite whose outputs depend on something that is not marked as an input.
Status outlineMarked(mlir::func::FuncOp function, bool keep);

} // namespace cupel::frontends::torch_import
