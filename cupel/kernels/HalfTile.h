// Tiles whose last vector of columns is no more than half filled (24, 40 or 72 columns where a vector has 16): it is computed as half a vector, which
// takes half the time where processors do their widest vectors in two halves, and no more elsewhere. Otherwise as TileKernel.h; sums are the same
// bits. Included by the files compiled for one instruction set.

#pragma once

#include "cupel/kernels/TileKernel.h"

namespace cupel::kernels {
namespace {

#if defined(__AVX512VL__)
inline HalfVector loadHalf(const float *from) {
  using Loose [[gnu::aligned(4), gnu::may_alias]] = HalfVector;
  return *reinterpret_cast<const Loose *>(from);
}

template <int rows, int vectors, bool fetchesNext>
inline void addHalfTap(Vector (&sums)[rows][vectors ? vectors : 1], HalfVector (&halves)[rows], const float *(&left)[rows], const float *right,
                       int64_t rightStride, int64_t depth, const char *next, int64_t nextStep) {
  // Two steps at a time need more registers than there are.
#pragma clang loop unroll(disable)
  for (int64_t k = 0; k < depth; ++k) {
    if constexpr (fetchesNext) {
      __builtin_prefetch(next, 0, 2);
      next += nextStep;
    }
    Vector b[vectors ? vectors : 1];
#pragma unroll
    for (int j = 0; j < vectors; ++j)
      b[j] = load(right + j * kWidth);
    HalfVector half = loadHalf(right + vectors * kWidth);
#pragma unroll
    for (int i = 0; i < rows; ++i) {
      float a = left[i][k];
#pragma unroll
      for (int j = 0; j < vectors; ++j)
        sums[i][j] = sums[i][j] + splat(a) * b[j];
      halves[i] = halves[i] + static_cast<HalfVector>(a) * half;
    }
    right += rightStride;
  }
}

/// `vectors` whole ones and half of one. What is done to sums in registers is left to others.
template <int rows, int vectors> void computeHalfTile(const Tile &given) {
  const Tile tile = given; // A copy that stores cannot change.
  const int64_t count = tile.ragged ? tile.ragged : kWidth / 2; // Of the half: behind that lies what others wrote.
  const char *next = tile.next;
#pragma clang loop unroll(disable)
  for (int64_t below = 0; below < tile.below; ++below) {
    Vector sums[rows][vectors ? vectors : 1];
    HalfVector halves[rows];
    float *first = tile.c + below * rows * tile.ldc;
#pragma unroll
    for (int i = 0; i < rows; ++i) {
      const float *c = first + i * tile.ldc;
#pragma unroll
      for (int j = 0; j < vectors; ++j)
        sums[i][j] = tile.accumulate ? load(c + j * kWidth) : Vector{};
      halves[i] = tile.accumulate ? loadHalfPart(c + vectors * kWidth, count) : HalfVector{};
    }
    for (int64_t tap = 0; tap < tile.taps; ++tap) {
      const float *left[rows];
#pragma unroll
      for (int i = 0; i < rows; ++i)
        left[i] = tile.rows[tap * tile.rowsPerTap + below * rows + i] + tile.offset;
      const float *right = tile.b + (tile.tapIndices ? tile.tapIndices[tap] * tile.tapStride : 0);
      if (tile.nextStep) {
        addHalfTap<rows, vectors, true>(sums, halves, left, right, tile.bStride, tile.depth, next,
                                        tile.nextStep);
        next += tile.nextStep * tile.depth;
      } else {
        addHalfTap<rows, vectors, false>(sums, halves, left, right, tile.bStride, tile.depth,
                                         nullptr, 0);
      }
    }
    if (tile.bias) {
#pragma unroll
      for (int j = 0; j < vectors; ++j) {
        Vector bias = load(tile.bias + j * kWidth);
#pragma unroll
        for (int i = 0; i < rows; ++i)
          sums[i][j] = sums[i][j] + bias;
      }
      HalfVector bias = loadHalfPart(tile.bias + vectors * kWidth, count);
#pragma unroll
      for (int i = 0; i < rows; ++i)
        halves[i] = halves[i] + bias;
    }
#pragma unroll
    for (int i = 0; i < rows; ++i) {
      float *c = first + i * tile.ldc;
#pragma unroll
      for (int j = 0; j < vectors; ++j)
        store(c + j * kWidth, sums[i][j]);
      storePart(c + vectors * kWidth, halves[i], count);
    }
  }
}
#endif

template <int vectors, int rows> constexpr void addHalfTiles(KernelTable &table) {
#if defined(__AVX512VL__)
  if constexpr (rows <= kTileRows[vectors - 1]) {
    table.halfTiles[vectors - 1][rows - 1] = computeHalfTile<rows, vectors - 1>;
    addHalfTiles<vectors, rows + 1>(table);
  }
#endif
}

} // namespace
} // namespace cupel::kernels
