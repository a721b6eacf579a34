// Launches of attention on the kernel of cupel/kernels, with the function of rows as machine code. Used
// when a program is loaded.

#pragma once

#include "cupel/compiler/backends/cpu/Kernel.h"
#include "cupel/compiler/tensor/TensorIr.h"

namespace cupel::compiler {

/// Refused with ErrorCode::Unsupported where there is none.
Result<KernelPointer> attentionKernel(tir::AttentionOp op);

} // namespace cupel::compiler
