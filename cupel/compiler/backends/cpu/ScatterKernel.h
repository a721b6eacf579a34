// StableHLO's scatter of one tensor, update after update in their order, in place where the plan has
// put the result on the operand. Made when a program is loaded.

#pragma once

#include "cupel/compiler/backends/cpu/Kernel.h"

namespace cupel::compiler {

/// Refused with ErrorCode::Unsupported for several tensors, or bodies that are no plain combination.
Result<KernelPointer> scatterKernel(cupel::stablehlo::ScatterOp op);

} // namespace cupel::compiler
