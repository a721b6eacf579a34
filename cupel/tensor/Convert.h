// Conversions between any two plain element types, as `stablehlo.convert` defines them. Used by the
// interpreter, comparison and readers. Quantized values are not converted here (see Quantize.h).
//
//   to i1               non-zero is true, NaN is true
//   integer to integer  keeps the low bits; widens by the source's signedness
//   float to integer    toward zero, saturating; NaN gives 0
//   to float            nearest, ties to even, rounded once; overflow as the format has it
//   complex             to real drops the imaginary part, from real adds zero

#pragma once

#include "cupel/tensor/Tensor.h"

namespace cupel::tensor {

/// A contiguous tensor of the same shape with the converted values. Shares the bytes if there is
/// nothing to do.
Result<Tensor> convert(const Tensor &source, DType to);

/// The same on `count` contiguous elements; `target` may not overlap `source`.
void convertElements(DType from, const void *source, DType to, void *target, int64_t count);

} // namespace cupel::tensor
