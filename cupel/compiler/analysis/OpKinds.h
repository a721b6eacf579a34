// What several analyses of programs ask about operations.

#pragma once

#include "mlir/IR/Operation.h"

namespace cupel::compiler {

/// Writes element i of its result from elements i of its operands (and scalars) alone.
bool isElementwise(mlir::Operation &op);

} // namespace cupel::compiler
