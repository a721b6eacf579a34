// Launches of products, convolutions and windows on the kernels of cupel/kernels, with their epilogues as
// machine code or, if they are small, operation by operation. Weights that are constants are packed when the program is loaded, weights that are
// arguments once for each buffer. Used when a program is loaded.

#pragma once

#include "cupel/compiler/backends/cpu/Kernel.h"

namespace cupel::compiler {

/// A kernel for a launch of a product, convolution or window; refused with ErrorCode::Unsupported where
/// there is none.
Result<KernelPointer> productKernel(dev::LaunchOp launch, KernelChoice choice);

} // namespace cupel::compiler
