// Sorts by one key: the device's own, for comparators that order single elements. Others are refused
// with ErrorCode::Unsupported.

#pragma once

#include "cupel/compiler/backends/cpu/Kernel.h"

namespace cupel::compiler {

Result<KernelPointer> sortKernel(stablehlo::SortOp op);

} // namespace cupel::compiler
