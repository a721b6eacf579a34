// Operations on quantized tensors that are more than moving stored values: by way of real numbers
// (dequantize, compute in the expressed type, quantize), and the integer forms of add, dot_general
// and convolution. Used by the plan; plain tensors never come here.

#pragma once

#include "cupel/reference/DotAndConvolution.h"

#include <functional>

namespace cupel::reference {

/// Whether any of these needs the functions below.
bool anyQuantized(std::span<const tensor::Tensor> operands, const tensor::ElementType &result);

/// Spec dequantize_op_quantize: quantized operands become real numbers, others pass as they are;
/// `compute` gives a result of the expressed type, which is quantized if `result` is.
using RealFunction = std::function<Result<tensor::Tensor>(std::span<const tensor::Tensor>)>;
Result<tensor::Tensor> throughRealNumbers(std::span<const tensor::Tensor> operands,
                                          const tensor::ElementType &result,
                                          const RealFunction &compute);

/// Both sides requantized to the result's scale without clamping, added as integers, the zero point
/// that is now there twice taken off, clamped. Types with a scale a slice, or that do not express
/// f32, go through real numbers.
Result<tensor::Tensor> quantizedAdd(const tensor::Tensor &lhs, const tensor::Tensor &rhs,
                                    const tensor::ElementType &result);

/// Integer form, where rhs and result have zero points 0 and express f32: the i32 product of stored
/// values times lhs scale * rhs scale / result scale (in f32, truncated; left out if within 0.001
/// of 1), less the part that the zero point of lhs contributes (scaled and truncated likewise).
/// Otherwise, and for a float lhs or result (hybrid), through real numbers.
Result<tensor::Tensor> quantizedDotGeneral(const tensor::Tensor &lhs, const tensor::Tensor &rhs,
                                           const DotDimensions &dimensions,
                                           const tensor::ElementType &result,
                                           Accumulate accumulate);

/// As quantizedDotGeneral. The integer form also needs channels last ([b, 0, .., f] x [0, .., i,
/// o]) in two or three spatial dimensions, and no lhs dilation. Padding stands for the real number
/// 0.
Result<tensor::Tensor> quantizedConvolution(const tensor::Tensor &lhs, const tensor::Tensor &rhs,
                                            const ConvolutionDimensions &dimensions,
                                            const ConvolutionWindow &window,
                                            const tensor::ElementType &result,
                                            Accumulate accumulate);

} // namespace cupel::reference
