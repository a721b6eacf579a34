// Collectives that follow each other without need become one: devices meet less often. The pass
// combine-reductions wraps it; the pass partition calls it, since the partitioner makes them one by
// one.

#pragma once

#include "mlir/IR/Operation.h"

namespace cupel::compiler {

/// Makes one all_reduce of those of a block that have the same groups, elements and computation and
/// of which none needs another's result.
void combineReductions(mlir::Operation *root);

} // namespace cupel::compiler
