// Launches of dot_general and convolution whose results are 32-bit integers, as quantized models have
// them, on the kernels of cupel/kernels. StableHLO's own operations; sums wrap around, so that bits are
// those of the specification in whatever order. Weights are packed once. Made when a program is loaded.

#pragma once

#include "cupel/compiler/backends/cpu/Kernel.h"

namespace cupel::compiler {

/// For a launch that holds one of these operations; refused with ErrorCode::Unsupported where its
/// elements are no such integers.
Result<KernelPointer> integerKernel(dev::LaunchOp launch);

} // namespace cupel::compiler
