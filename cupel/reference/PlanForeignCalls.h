// Custom calls that a handler of cupel/calls answers: LAPACK's and those that users
// register. Used by the planner of stablehlo.custom_call for names it does not know itself.
#pragma once

#include "cupel/reference/Registry.h"

namespace cupel::reference {

/// Null if no handler answers to the call's name.
Result<StepFunction> planForeignCall(mlir::Operation *op);

} // namespace cupel::reference
