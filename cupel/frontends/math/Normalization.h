// Normalization of layers, groups and channels, as composites where devices have kernels for them.
// Importers say which type sums are taken in and where results are rounded: that is where formats
// differ. Operands fit: the lowering that calls has checked.
#pragma once

#include "cupel/frontends/HloBuilder.h"

namespace cupel::frontends {

struct Moments {
  mlir::Value mean, variance; ///< Reduced dimensions have size 1.
};
Moments moments(HloBuilder &b, mlir::Value x, llvm::ArrayRef<int64_t> dims);
/// 1 / sqrt(variance + epsilon).
mlir::Value inverseDeviation(HloBuilder &b, mlir::Value variance, double epsilon);
/// 1 / sqrt(mean square + epsilon) over `dims`, which keep size 1.
mlir::Value inverseRoot(HloBuilder &b, mlir::Value x, llvm::ArrayRef<int64_t> dims, double epsilon);

/// (x - mean) / deviation, with what it was made by.
struct Standardized {
  mlir::Value value, mean, inverse;
};
Standardized standardize(HloBuilder &b, mlir::Value x, llvm::ArrayRef<int64_t> dims,
                         double epsilon);

/// What a normalization does with types: sums are taken in `inner`, weight and bias are applied in
/// `outer`, the result has type `result`.
struct NormTypes {
  mlir::Type inner, outer, result;
};

/// Over the dimensions from `axis` on. Weight and bias may be null; they broadcast to the
/// normalized shape.
mlir::Value layerNorm(HloBuilder &b, mlir::Value x, mlir::Value weight, mlir::Value bias,
                      int64_t axis, double epsilon, NormTypes types);
mlir::Value rmsNorm(HloBuilder &b, mlir::Value x, mlir::Value weight, int64_t axis, double epsilon,
                    NormTypes types);
/// Channels are dimension 1; weight and bias are one number a channel, or null.
mlir::Value groupNorm(HloBuilder &b, mlir::Value x, mlir::Value weight, mlir::Value bias,
                      int64_t groups, double epsilon, NormTypes types);

} // namespace cupel::frontends
