// Windows of any rank, stride and dilation that are combined one by one, and the gradients of pools that
// pick one element of each: for what is neither a pool of images nor cumulative. What combines
// otherwise is refused with ErrorCode::Unsupported.

#pragma once

#include "cupel/compiler/backends/cpu/Kernel.h"

namespace cupel::compiler {

Result<KernelPointer> windowKernel(stablehlo::ReduceWindowOp op);
Result<KernelPointer> selectAndScatterKernel(stablehlo::SelectAndScatterOp op);

} // namespace cupel::compiler
