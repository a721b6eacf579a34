// Puts the bodies of functions and composites where they are called, so that what looks at a whole
// program sees one function. The pass inline-calls wraps it; the pass partition calls it.

#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace cupel::compiler {

/// Leaves no call in the function and none of the private functions that were called; false, with
/// some of it done, where that would take too many operations.
/// Composites may be left as they are.
bool inlineCalls(mlir::func::FuncOp entry, bool keepsComposites = false);

} // namespace cupel::compiler
