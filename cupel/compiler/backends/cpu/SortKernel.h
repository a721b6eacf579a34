// Sorts by one key or several: the device's own, for comparators that order single elements, where these are equal
// those of the next operand, and so on. Others are refused with ErrorCode::Unsupported.

#pragma once

#include "cupel/compiler/backends/cpu/Kernel.h"

namespace cupel::compiler {

Result<KernelPointer> sortKernel(stablehlo::SortOp op);

} // namespace cupel::compiler
