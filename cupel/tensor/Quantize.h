// Between real numbers and quantized ones: real = (stored - zero point) * scale, per tensor or per
// slice of one axis. Used by the interpreter's quantized ops. Arithmetic is done in the expressed
// type, step by step, as the StableHLO specification writes it: no step may be fused or widened,
// since one quantum of difference is a wrong result.

#pragma once

#include "cupel/tensor/Tensor.h"

namespace cupel::tensor {

/// Whether a quantized type makes sense on this shape: integer storage of at most 32 bits, range
/// inside the storage type's, scales finite and positive, zero points in range, one scale a slice.
Status checkQuantization(const ElementType &type, std::span<const int64_t> shape);

/// (stored - zero point), converted to the expressed type, times scale.
Result<Tensor> dequantize(const Tensor &source);

/// real / scale + zero point, clamped to the storage range, rounded to nearest even. NaN becomes
/// the stored 0 (clamped). `source` has the type that `type` expresses.
Result<Tensor> quantize(const Tensor &source, const ElementType &type);

/// From one quantized type to another: stored * (s1 / s2) + (z2 - z1 * (s1 / s2)), in f32 (f64 if
/// that is expressed), clamped, rounded to nearest even.
Result<Tensor> requantize(const Tensor &source, const ElementType &type);

} // namespace cupel::tensor
