// Custom calls between processes, for the planner of custom calls to hand on.

#pragma once

#include "cupel/reference/Registry.h"

namespace cupel::reference {

/// JAX's @ragged_all_to_all: each process sends rows of its first operand to those of its group,
/// different numbers to different ones, to places in their second operand.
Result<StepFunction> planRaggedAllToAll(mlir::Operation *op, Planning &planning);

} // namespace cupel::reference
