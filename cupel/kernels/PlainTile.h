// Tiles of products that need nothing but their sums: rows of the left side lie a fixed distance apart, the depth is one piece, and what the last
// vector of columns has too many is neither read nor written. So small products, and those of a few columns more than whole vectors, are
// computed where both sides lie. Elements are the same chains of multiply-adds as those of TileKernel.h. Included by the files compiled for
// one instruction set.

#pragma once

#include "cupel/kernels/TileKernel.h"

namespace cupel::kernels {
namespace {

/// What the last columns are held in.
template <PlainEnd end> struct LastVector {
  using Type = Vector;
  static Vector load(const float *from, int64_t columns) { return loadPart(from, columns); }
};
#if defined(__AVX512VL__)
template <> struct LastVector<PlainEnd::Half> {
  using Type = HalfVector;
  static HalfVector load(const float *from, int64_t columns) { return loadHalfPart(from, columns); }
};
#endif

/// `vectors` whole ones and, but for PlainEnd::Whole, the first `lastColumns` elements of one more.
template <int rows, int vectors, PlainEnd end> void computePlainTile(const PlainTile &given) {
  using Last = typename LastVector<end>::Type;
  constexpr bool hasLast = end != PlainEnd::Whole;
  const PlainTile tile = given; // A copy that stores cannot change.
  Vector sums[rows][vectors ? vectors : 1];
  Last lastSums[rows];
  const float *left[rows];
#pragma unroll
  for (int i = 0; i < rows; ++i) {
#pragma unroll
    for (int j = 0; j < vectors; ++j)
      sums[i][j] = Vector{};
    lastSums[i] = Last{};
    left[i] = tile.a + i * tile.aStride;
  }
  const float *right = tile.b;
  for (int64_t k = 0; k < tile.depth; ++k) {
    Vector b[vectors ? vectors : 1];
#pragma unroll
    for (int j = 0; j < vectors; ++j)
      b[j] = load(right + j * kWidth);
    Last lastB = {};
    if constexpr (hasLast)
      lastB = LastVector<end>::load(right + vectors * kWidth, tile.lastColumns);
#pragma unroll
    for (int i = 0; i < rows; ++i) {
      const float a = left[i][k];
#pragma unroll
      for (int j = 0; j < vectors; ++j)
        sums[i][j] = sums[i][j] + splat(a) * b[j];
      if constexpr (hasLast)
        lastSums[i] = lastSums[i] + static_cast<Last>(a) * lastB;
    }
    right += tile.bStride;
  }
#pragma unroll
  for (int i = 0; i < rows; ++i) {
    float *c = tile.c + i * tile.ldc;
#pragma unroll
    for (int j = 0; j < vectors; ++j)
      store(c + j * kWidth, sums[i][j]);
    if constexpr (hasLast)
      storePart(c + vectors * kWidth, lastSums[i], tile.lastColumns);
  }
}

template <int vectors, int rows> constexpr void addPlainTiles(KernelTable &table) {
  if constexpr (rows <= kTileRows[vectors - 1]) {
    table.plainTiles[int(PlainEnd::Whole)][vectors - 1][rows - 1] = computePlainTile<rows, vectors, PlainEnd::Whole>;
    table.plainTiles[int(PlainEnd::Part)][vectors - 1][rows - 1] = computePlainTile<rows, vectors - 1, PlainEnd::Part>;
    table.plainTiles[int(PlainEnd::Half)][vectors - 1][rows - 1] = computePlainTile<rows, vectors - 1, PlainEnd::Half>;
    addPlainTiles<vectors, rows + 1>(table);
  }
}

} // namespace
} // namespace cupel::kernels
