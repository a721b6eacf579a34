// What the families of matrices, transforms and networks share beyond Lowering.h: complex numbers
// in parts, triangles and diagonals of stacks of matrices, factorizations, and calls of LAPACK's
// routines. Included by ops/*.cpp only; functions are defined in Matrices.cpp unless marked.
#pragma once

#include "cupel/frontends/torch/ops/Reductions.h"

namespace cupel::frontends::torch_import {

// Complex numbers. Real operands are their own real part and conjugate.
mlir::Value conjugate(HloBuilder &b, mlir::Value x);
mlir::Value realPart(HloBuilder &b, mlir::Value x);
mlir::Value imaginaryPart(HloBuilder &b, mlir::Value x);
mlir::Value makeComplex(HloBuilder &b, mlir::Value real, mlir::Value imaginary);
/// The type of the parts; of a real type itself.
mlir::Type partType(mlir::Type element);

/// The last two dimensions exchanged and conjugated.
mlir::Value adjoint(HloBuilder &b, mlir::Value x);
/// x[..., i, ..., i, ...] of two dimensions of one size; the diagonal comes last.
mlir::Value diagonalOf(HloBuilder &b, mlir::Value x, int64_t first, int64_t second);
/// Ones where row == column, in a matrix or in every matrix of a shape.
mlir::Value identityMatrix(HloBuilder &b, llvm::ArrayRef<int64_t> shape, mlir::Type element);
/// Zeros outside of the triangle on or beyond a diagonal.
mlir::Value triangleOf(HloBuilder &b, mlir::Value x, bool upper, int64_t diagonal = 0);
/// x - 0 and the same shape: sums of products along the last two dimensions.
mlir::Value multiplyMatrices(HloBuilder &b, mlir::Value x, mlir::Value y);
/// Whether any element of the tensor counts zero sizes.
inline bool isEmpty(mlir::Value x) { return HloBuilder::countOf(x) == 0; }

/// A routine of LAPACK by its name without the letter for the type; results follow operands' types.
llvm::SmallVector<mlir::Value> lapack(HloBuilder &b, llvm::StringRef routine,
                                      mlir::ValueRange operands, mlir::TypeRange results,
                                      llvm::ArrayRef<std::pair<llvm::StringRef, char>> letters);

/// Solves with a triangular matrix on the left (or right).
mlir::Value solveTriangular(HloBuilder &b, mlir::Value a, mlir::Value rhs, bool left, bool lower,
                            bool unit, bool adjointOfA = false, bool transposeOfA = false);

struct LuFactors {
  mlir::Value lu, pivots, info; ///< Pivots are i32 and count from 1, as LAPACK's do.
};
LuFactors luFactor(HloBuilder &b, mlir::Value a, bool pivot = true);
/// The rows' permutation that pivots stand for: row i of the result is row p[i] of the operand.
mlir::Value pivotPermutation(HloBuilder &b, mlir::Value pivots, int64_t rows);
mlir::Value luSolve(HloBuilder &b, const LuFactors &factors, mlir::Value rhs, bool adjointOfA);
mlir::Value inverseOf(HloBuilder &b, mlir::Value a);

struct Singular {
  mlir::Value u, s, vh;
};
Singular singularValues(HloBuilder &b, mlir::Value a, bool vectors, bool full,
                        llvm::StringRef driver = "gesdd");
struct Eigen {
  mlir::Value values, vectors;
};
Eigen eigenSymmetric(HloBuilder &b, mlir::Value a, bool vectors, bool lower);

/// An argument that holds a stack of matrices, in the type it is computed in; null after a
/// complaint.
mlir::Value matrices(Node &n, llvm::StringRef name, bool square);
/// Result i in its declared shape; zeros where there is no value of so many elements.
void outOrZeros(Node &n, size_t i, mlir::Value value);

} // namespace cupel::frontends::torch_import
