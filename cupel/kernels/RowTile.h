// Tiles of a single row: two panels at once, since the sums of one are too few chains to keep the multipliers, and what loads weights, busy.
// Otherwise as TileKernel.h; sums are the same bits. Included by the files compiled for one instruction set.

#pragma once

#include "cupel/kernels/TileKernel.h"

namespace cupel::kernels {
namespace {

template <typename Step, int vectors> void computeRowTile(const RowTile &given) {
  const RowTile tile = given; // A copy that stores cannot change.
  constexpr int kPanels = 2, kVectors = kPanels * vectors;
  Vector sums[1][kVectors] = {};
  for (int64_t tap = 0; tap < tile.taps; ++tap) {
    const float *left = tile.rows[tap * tile.rowsPerTap];
    const float *right = tile.b + (tile.tapIndices ? tile.tapIndices[tap] * tile.tapStride : 0);
    for (int64_t k = 0; k < tile.depth; ++k, right += tile.bStride) {
      Vector a = Step::left(splatFrom(left + k), 0);
#pragma unroll
      for (int panel = 0; panel < kPanels; ++panel)
#pragma unroll
        for (int j = 0; j < vectors; ++j) {
          Vector &sum = sums[0][panel * vectors + j];
          sum = Step::multiplyAdd(sum, a, load(right + panel * tile.panelStride + j * kWidth));
        }
    }
  }
  const int64_t count = tile.ragged ? tile.ragged : kWidth; // Of the last vector.
  if (tile.bias)
#pragma unroll
    for (int j = 0; j < kVectors; ++j)
      sums[0][j] = Step::add(sums[0][j], j + 1 < kVectors ? load(tile.bias + j * kWidth) : loadPart(tile.bias + j * kWidth, count));
  putSums(sums, tile.finish, tile.row, tile.column, count, tile.c, 0);
}

} // namespace
} // namespace cupel::kernels
