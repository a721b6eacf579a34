// The matrix product below dot_general and convolution: C[i][j] = sum over k of A[i][k] * B[k][j],
// where elements lie anywhere (tables of offsets), in every element type. Each sum starts at zero
// and runs over k in order, or is rounded once from its exact value, so neither blocking nor threads
// nor the instruction set may ever change a bit of a result.

#pragma once

#include "cupel/reference/Accumulate.h"
#include "cupel/tensor/DType.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace cupel::reference {

/// Element (i, j) lies at base + rows[i] + columns[j] bytes.
template <typename Byte> struct IndexedMatrixOf {
  Byte *base;
  std::span<const int64_t> rows, columns;
  IndexedMatrixOf transposed() const { return {base, columns, rows}; }
};
using IndexedMatrix = IndexedMatrixOf<const std::byte>;
using MutableIndexedMatrix = IndexedMatrixOf<std::byte>;

/// All three matrices have the element type `type`. Integers wrap; i1 multiplies by `and` and adds
/// by `or`. Native: multiply and add are each rounded to `type`. Wide: floats of 32 bits and below
/// get the value of the type nearest to the exact sum; complex numbers of them are summed in f64
/// and rounded once.
void multiplyMatrices(tensor::DType type, Accumulate accumulate, IndexedMatrix a, IndexedMatrix b,
                      MutableIndexedMatrix c);

} // namespace cupel::reference
