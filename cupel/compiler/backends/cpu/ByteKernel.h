// Launches of products and convolutions of 8-bit integers, with what is done to their sums: results are written as the
// epilogue makes them, and sums never go to memory. Weights are packed once. Used when a program is loaded.

#pragma once

#include "cupel/compiler/backends/cpu/Kernel.h"
#include "cupel/compiler/tensor/TensorIr.h"
#include "cupel/kernels/Convolution.h"

namespace cupel::compiler {

/// Refused with ErrorCode::Unsupported where a side is padded.
Result<KernelPointer> byteProduct(tir::ProductOp op, dev::LaunchOp launch, KernelChoice choice);

/// `shape` is that of the convolution; its kernel is not padded.
Result<KernelPointer> byteConvolution(tir::ConvolutionOp op, const kernels::ConvolutionShape &shape, dev::LaunchOp launch,
                                      KernelChoice choice);

} // namespace cupel::compiler
