// Chunks of elements as f32, f64 or complex<f64>, and back with one rounding. The loops use it for
// element types that no machine computes in. Knows nothing of MLIR.

#pragma once

#include "cupel/tensor/DType.h"

namespace cupel::reference {

/// Exact. `from` is any float type (f64 only for loadDouble).
void loadFloat(tensor::DType from, const void *in, float *out, int64_t count);
void loadDouble(tensor::DType from, const void *in, double *out, int64_t count);
/// Rounds to nearest, ties to even; overflow as the format has it (infinity or NaN).
void storeFloat(tensor::DType to, const float *in, void *out, int64_t count);
void storeDouble(tensor::DType to, const double *in, void *out, int64_t count);

/// Between any two types, as stablehlo.convert has it.
void convertLanes(tensor::DType from, tensor::DType to, const void *in, void *out, int64_t count);

} // namespace cupel::reference
