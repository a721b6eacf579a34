// Tiles of products whose depth is short: rows of the left side lie a fixed distance apart, there is one tap, and all tiles below each other
// are computed in one go. Such tiles end so often that what lies between two of them counts as much as the multiplications: here it is nothing
// but the end itself, without pointers to rows, taps and parts of the depth. Sums are the same bits as those of TileKernel.h. Included by
// the files compiled for one instruction set.

#pragma once

#include "cupel/kernels/TileKernel.h"

namespace cupel::kernels {
namespace {

/// Rows of a tile of [vectors - 1]: of fewer, sums would wait for each other; of more, a processor would not see the next tile while one ends.
constexpr int kEvenRows[kMostTileVectors] = {12, 8, 5, 5};

template <typename Step, int rows, int vectors>
[[gnu::always_inline]] inline void computeEvenTile(const EvenRows &work, const Finish *finish, int64_t first) {
  // An address is a pointer and once or twice the distance between rows: so there are few pointers.
  constexpr int kApart = 3, kPointers = (rows + kApart - 1) / kApart;
  const int64_t stride = work.aStride;
  const float *left[kPointers], *right = work.b;
#pragma unroll
  for (int i = 0; i < kPointers; ++i)
    left[i] = work.a + (first + i * kApart) * stride;
  Vector sums[rows][vectors] = {};
  auto step = [&](int k) __attribute__((always_inline)) {
    Vector b[vectors];
#pragma unroll
    for (int j = 0; j < vectors; ++j)
      b[j] = load(right + (k * vectors + j) * kWidth);
#pragma unroll
    for (int i = 0; i < rows; ++i) {
      const float *from = left[i / kApart] + i % kApart * stride + k;
      if constexpr (vectors == 1 && Step::kReadsLeft) {
        Step::multiplyAddFrom(sums[i][0], from, b[0]);
        continue;
      }
      const Vector a = splatFrom(from);
#pragma unroll
      for (int j = 0; j < vectors; ++j)
        sums[i][j] = Step::multiplyAdd(sums[i][j], a, b[j]);
    }
  };
  int64_t k = work.depth;
#pragma clang loop unroll(disable)
  for (; k >= 2; k -= 2) {
    step(0);
    step(1);
#pragma unroll
    for (int i = 0; i < kPointers; ++i) {
      left[i] += 2;
      asm("" : "+r"(left[i])); // Compilers would make a pointer for each row.
    }
    right += 2 * vectors * kWidth;
  }
  if (k > 0)
    step(0);
  if (work.bias) {
#pragma unroll
    for (int j = 0; j < vectors; ++j) {
      const Vector bias = j + 1 < vectors ? load(work.bias + j * kWidth) : loadPart(work.bias + j * kWidth, work.lastColumns);
#pragma unroll
      for (int i = 0; i < rows; ++i)
        sums[i][j] = Step::add(sums[i][j], bias);
    }
  }
  putSums(sums, finish, work.row + first, work.column, work.lastColumns, work.c + first * work.ldc, work.ldc);
}

template <typename Step, int vectors> void computeEvenTiles(const EvenRows &given) {
  const EvenRows work = given; // Copies that stores cannot change.
  const Finish copy = work.finish ? *work.finish : Finish();
  const Finish *finish = work.finish ? &copy : nullptr;
  constexpr int kRows = kEvenRows[vectors - 1];
  // The last rows again, with some before them: nothing is accumulated in the result.
  for (int64_t row = 0; row < work.rows; row += kRows)
    computeEvenTile<Step, kRows, vectors>(work, finish, row + kRows <= work.rows ? row : work.rows - kRows);
}

template <typename Step, int vectors> constexpr void addEvenTiles(EvenFunction (&functions)[kMostTileVectors]) {
  if constexpr (vectors <= kMostTileVectors) {
    functions[vectors - 1] = computeEvenTiles<Step, vectors>;
    addEvenTiles<Step, vectors + 1>(functions);
  }
}

constexpr void addEvenTiles(KernelTable &table) {
  if constexpr (kWidth == 16) { // Measured there alone.
    addEvenTiles<FloatStep, 1>(table.evenTiles[0]);
#if defined(__AVX512BF16__)
    addEvenTiles<PairStep, 1>(table.evenTiles[1]);
#endif
    for (int i = 0; i < kMostTileVectors; ++i)
      table.evenRows[i] = kEvenRows[i];
  }
}

} // namespace
} // namespace cupel::kernels
