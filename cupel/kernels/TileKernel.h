// The innermost loops of products and convolutions: a tile of a few rows times a few vectors of
// columns is kept in registers while the depth goes by. Rows of the left side are reached through
// pointers, so a row may be a matrix's row, a pixel's channels or a row of zeros where there is
// padding. Each element is one chain of multiply-adds in the order of the depth: neither the shape
// of tiles nor where the depth is cut can be seen in results.

#pragma once

#include "cupel/kernels/KernelTable.h"
#include "cupel/kernels/Simd.h"

namespace cupel::kernels {
namespace {

template <int rows, int vectors> void computeTile(const Tile &tile) {
  Vector sums[rows][vectors];
#pragma unroll
  for (int i = 0; i < rows; ++i)
#pragma unroll
    for (int j = 0; j < vectors; ++j)
      sums[i][j] = tile.accumulate ? load(tile.c + i * tile.ldc + j * kWidth) : Vector{};
  for (int64_t tap = 0; tap < tile.taps; ++tap) {
    const float *left[rows];
#pragma unroll
    for (int i = 0; i < rows; ++i)
      left[i] = tile.rows[tap * tile.rowsPerTap + i] + tile.offset;
    const float *right = tile.b + (tile.tapIndices ? tile.tapIndices[tap] * tile.tapStride : 0);
#pragma clang loop unroll_count(2)
    for (int64_t k = 0; k < tile.depth; ++k) {
      Vector b[vectors];
#pragma unroll
      for (int j = 0; j < vectors; ++j)
        b[j] = *reinterpret_cast<const Vector *>(right + j * kWidth);
      right += vectors * kWidth;
#pragma unroll
      for (int i = 0; i < rows; ++i) {
        Vector a = splat(left[i][k]);
#pragma unroll
        for (int j = 0; j < vectors; ++j)
          sums[i][j] += a * b[j];
      }
    }
  }
#pragma unroll
  for (int i = 0; i < rows; ++i)
#pragma unroll
    for (int j = 0; j < vectors; ++j)
      store(tile.c + i * tile.ldc + j * kWidth,
            tile.bias ? sums[i][j] + load(tile.bias + j * kWidth) : sums[i][j]);
}

} // namespace
} // namespace cupel::kernels
