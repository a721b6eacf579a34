// cholesky and triangular_solve on batches of matrices. Floats of 32 bits and below (and complex of
// them) are computed in f64 and rounded once; sums run in index order, so results are the same
// everywhere.

#pragma once

#include "cupel/tensor/Tensor.h"

namespace cupel::reference {

/// a = l * l^H (lower) or u^H * u, of the last two dimensions. Only the named triangle of `a` is
/// read, imaginary parts of the diagonal are not; the other triangle of the result is zero. A
/// matrix that is not positive definite gives NaN in all of its elements.
Result<tensor::Tensor> cholesky(const tensor::Tensor &a, bool lower);

enum class Transpose : uint8_t { None, Transpose, Adjoint };

/// x with op(a) * x = b (left side) or x * op(a) = b, where `a` is lower or upper triangular: the
/// other triangle is not read, nor the diagonal if it is to be one. A zero on the diagonal divides.
struct TriangularSolveOptions {
  bool leftSide = true, lower = true, unitDiagonal = false;
  Transpose transpose = Transpose::None;
};
Result<tensor::Tensor> triangularSolve(const tensor::Tensor &a, const tensor::Tensor &b,
                                       const TriangularSolveOptions &options);

} // namespace cupel::reference
