// Decomposition of chlo to stablehlo, as patterns and as a function; the pass lower-chlo wraps it
// and the golden reference calls it before it evaluates a program. The formulas are what our
// reference means by these operations: they must not trade accuracy for fewer operations.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/PatternMatch.h"

namespace cupel::compiler {

/// Patterns that turn each chlo operation into stablehlo. None of them makes new chlo operations.
/// One that cannot (unranked operands) emits an error at the operation and fails.
void populateLowerChloPatterns(mlir::RewritePatternSet &patterns);

/// Decomposes every chlo operation in `module`; fails, with a diagnostic at each, if some remain.
mlir::LogicalResult lowerChlo(mlir::ModuleOp module);

} // namespace cupel::compiler
