// What a program costs, estimated from its operations without running it. Used for cost analysis,
// memory statistics and the decision whether a run is worth a thread. Estimates only: nothing may
// depend on them for being right.

#pragma once

#include "cupel/ir/stablehlo/TypeRules.h"
#include "cupel/runtime/Executable.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace cupel::compiler {

using stablehlo::bytesOf;

/// All but the temporary bytes, for which see MemoryEstimate.h.
runtime::CostEstimate estimateCost(mlir::func::FuncOp entry);

/// About how long a run takes, in operations on numbers.
double workOf(const runtime::CostEstimate &cost);

} // namespace cupel::compiler
