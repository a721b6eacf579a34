// What planners of collectives (PlanCollectives.cpp) and of other ways between processes
// (PlanProcesses.cpp) share, and the custom call between processes, for the planner of custom calls
// to hand on.

#pragma once

#include "cupel/reference/Grid.h"
#include "cupel/reference/Registry.h"

#include <utility>
#include <vector>

namespace cupel::reference {

/// The number of the operation's channel, 0 where it names none.
int64_t channelOf(mlir::Operation *op);
/// Pairs of ids, as source_target_pairs has them.
std::vector<std::pair<int64_t, int64_t>> pairsOf(mlir::Operation *op);
/// The first `count` operands.
Grid::Tensors tensorsOf(StepArguments &arguments, size_t count);

/// JAX's @ragged_all_to_all: each process sends rows of its first operand to those of its group,
/// different numbers to different ones, to places in their second operand.
Result<StepFunction> planRaggedAllToAll(mlir::Operation *op, Planning &planning);

} // namespace cupel::reference
