// Reductions that keep an element of each line and its place (argmax, argmin, max with indices): the device's own, for bodies
// that are such a choice (Comparator.h). Others are refused with ErrorCode::Unsupported.

#pragma once

#include "cupel/compiler/backends/cpu/Kernel.h"

namespace cupel::compiler {

/// A reduction that picks an element of each line and its place: where a line is largest or smallest.
Result<KernelPointer> pickKernel(stablehlo::ReduceOp op);

} // namespace cupel::compiler
