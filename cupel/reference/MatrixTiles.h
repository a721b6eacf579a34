// The innermost loops of the matrix product: one tile of C kept in registers while a panel of A and
// a panel of B stream by. Used by MatrixProduct.cpp only. All instruction sets must give the same
// bits.

#pragma once

#include "cupel/tensor/DType.h"

#include <cstdint>

namespace cupel::reference {

/// Adds to the tile c (rows x columns, rows `stride` apart), or to zeros, the products of a (depth x
/// rows) and b (depth x columns), both packed without gaps, in order of depth.
template <typename T> struct MatrixTile {
  int rows, columns;
  void (*run)(int64_t depth, const T *a, const T *b, T *c, int64_t stride, bool adds);
};

MatrixTile<float> floatTile();
/// For operands whose products are exact in f32 (short ones, away from the ends of its exponents): the
/// same bits as `floatTile`, with fused operations where the machine has them.
MatrixTile<float> exactFloatTile();
MatrixTile<double> doubleTile();
/// For operands that were floats: their products are exact in f64, so fused operations, where the
/// machine has them, give the same bits as separate ones.
MatrixTile<double> exactProductTile();
MatrixTile<uint32_t> integerTile();
/// Floats that are rounded to the narrow format after each multiplication and each addition.
MatrixTile<float> narrowTile(tensor::DType type);

} // namespace cupel::reference
