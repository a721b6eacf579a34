// A tile of a sum of outer products: rows of the left side and columns of the right lie side by side at every step of
// the depth, so that nothing is packed. Included by the files compiled for one instruction set. Each element is
// one chain of multiply-adds in the order of the steps.

#pragma once

#include "cupel/kernels/KernelTable.h"
#include "cupel/kernels/Simd.h"

namespace cupel::kernels {
namespace {

template <int rows, int vectors> void computeOuter(const OuterTile &given) {
  const OuterTile tile = given; // A copy that stores cannot change.
  Vector sums[rows][vectors];
  if (tile.accumulate) {
#pragma unroll
    for (int i = 0; i < rows; ++i)
#pragma unroll
      for (int j = 0; j < vectors; ++j)
        sums[i][j] = load(tile.c + i * tile.ldc + j * kWidth);
  } else {
#pragma unroll
    for (int i = 0; i < rows; ++i)
#pragma unroll
      for (int j = 0; j < vectors; ++j)
        sums[i][j] = Vector{};
  }
  for (int64_t line = 0; line < tile.lines; ++line) {
    const float *left = tile.left[line] + tile.leftOffset;
    const float *right = tile.right[line] + tile.rightOffset;
    for (int64_t k = tile.steps[line]; k > 0; --k) {
      Vector b[vectors];
#pragma unroll
      for (int j = 0; j < vectors; ++j)
        b[j] = load(right + j * kWidth);
#pragma unroll
      for (int i = 0; i < rows; ++i) {
        Vector a = splat(left[i]);
#pragma unroll
        for (int j = 0; j < vectors; ++j)
          sums[i][j] += a * b[j];
      }
      left += tile.leftStep;
      right += tile.rightStep;
    }
  }
#pragma unroll
  for (int i = 0; i < rows; ++i)
#pragma unroll
    for (int j = 0; j < vectors; ++j)
      store(tile.c + i * tile.ldc + j * kWidth, sums[i][j]);
}

} // namespace
} // namespace cupel::kernels
