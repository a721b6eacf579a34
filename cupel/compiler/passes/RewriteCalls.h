// Custom calls that say what a program already has operations for, rewritten into these before the
// program is planned: ApproxTopK (computed exactly), CustomSPMDPartitioning (the computation it
// names), AllocateBuffer. A call that is not as it should be stays, and is reported by its name.
// Composites that frameworks make of chlo's hyperbolic functions become these again for complex
// numbers: the decomposition that comes with them loses all digits near the axes.

#pragma once

#include "mlir/IR/BuiltinOps.h"

namespace cupel::compiler {

void rewriteCalls(mlir::ModuleOp module);

} // namespace cupel::compiler
