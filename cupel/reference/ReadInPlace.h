// Which operations write nothing out: whoever takes their result reads their operand where it lies.
// Shared by the planner and by those who estimate what a program takes. Looks at programs only; whether
// an operand lies so that it can be read is seen when it is there (`readsRows`).

#pragma once

#include "mlir/IR/Operation.h"

namespace cupel::reference {

/// Whether elementwise operations alone take the result of a broadcast, and what they read has long
/// rows, if the operand lies together.
bool isReadInPlace(mlir::Operation *op);

} // namespace cupel::reference
