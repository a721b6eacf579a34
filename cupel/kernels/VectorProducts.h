// One row times a matrix that was not packed: each of its elements is used once, so it is read where
// it lies, at the speed of memory. Included by the files compiled for one instruction set.

#pragma once

#include "cupel/kernels/Simd.h"

namespace cupel::kernels {
namespace {

/// `vectors` vectors of columns, over the whole depth.
template <int vectors>
inline void rowTimesColumns(const float *x, int64_t xStride, const float *b, int64_t rowStride,
                            int64_t k, float *y) {
  Vector sums[vectors] = {};
  for (int64_t i = 0; i < k; ++i) {
    Vector factor = splat(x[i * xStride]);
#pragma unroll
    for (int j = 0; j < vectors; ++j)
      sums[j] += factor * load(b + i * rowStride + j * kWidth);
  }
#pragma unroll
  for (int j = 0; j < vectors; ++j)
    store(y + j * kWidth, sums[j]);
}

void vectorTimesRows(const float *x, int64_t xStride, const float *b, int64_t rowStride, int64_t k,
                     int64_t n, float *y) {
  int64_t j = 0;
  for (; j + 8 * kWidth <= n; j += 8 * kWidth)
    rowTimesColumns<8>(x, xStride, b + j, rowStride, k, y + j);
  for (; j + 4 * kWidth <= n; j += 4 * kWidth) // As many sums as keep the multipliers busy.
    rowTimesColumns<4>(x, xStride, b + j, rowStride, k, y + j);
  for (; j + 2 * kWidth <= n; j += 2 * kWidth)
    rowTimesColumns<2>(x, xStride, b + j, rowStride, k, y + j);
  for (; j + kWidth <= n; j += kWidth)
    rowTimesColumns<1>(x, xStride, b + j, rowStride, k, y + j);
  if (j == n)
    return;
  Vector sum = {};
  for (int64_t i = 0; i < k; ++i)
    sum += splat(x[i * xStride]) * loadPart(b + i * rowStride + j, n - j);
  storePart(y + j, sum, n - j);
}

/// Halves are added, until one number is left.
template <typename Some> inline float sumOf(Some value) {
  if constexpr (sizeof(value) == 2 * sizeof(float))
    return value.x + value.y;
  else
    return sumOf(value.lo + value.hi);
}

/// The dot products of `columns` columns, each contiguous.
template <int columns>
inline void rowDotColumns(const float *x, const float *b, int64_t columnStride, int64_t k,
                          float *y) {
  Vector even[columns] = {}, odd[columns] = {};
  int64_t i = 0;
  for (; i + 2 * kWidth <= k; i += 2 * kWidth) {
    Vector first = load(x + i), second = load(x + i + kWidth);
#pragma unroll
    for (int j = 0; j < columns; ++j) {
      even[j] += first * load(b + j * columnStride + i);
      odd[j] += second * load(b + j * columnStride + i + kWidth);
    }
  }
  for (; i < k; i += kWidth) {
    int64_t count = k - i < kWidth ? k - i : kWidth;
    Vector rest = count == kWidth ? load(x + i) : loadPart(x + i, count);
#pragma unroll
    for (int j = 0; j < columns; ++j) {
      const float *column = b + j * columnStride + i;
      even[j] += rest * (count == kWidth ? load(column) : loadPart(column, count));
    }
  }
#pragma unroll
  for (int j = 0; j < columns; ++j)
    y[j] = sumOf(even[j] + odd[j]);
}

void vectorTimesColumns(const float *x, const float *b, int64_t columnStride, int64_t k, int64_t n,
                        float *y) {
  int64_t j = 0;
  for (; j + 4 <= n; j += 4)
    rowDotColumns<4>(x, b + j * columnStride, columnStride, k, y + j);
  for (; j < n; ++j)
    rowDotColumns<1>(x, b + j * columnStride, columnStride, k, y + j);
}

/// Elements are the chains of multiply-adds that tiles make (TileKernel.h).
template <int depth> void tinyProducts(const TinyProducts &given) {
  const TinyProducts work = given; // A copy that stores cannot change.
  const float *a = work.a, *b = work.b;
  float *c = work.c;
  for (int64_t product = 0; product < work.count;
       ++product, a += work.aNext, b += work.bNext, c += work.cNext)
    for (int64_t i = 0; i < work.rows; ++i) {
      float left[depth];
#pragma unroll
      for (int k = 0; k < depth; ++k)
        left[k] = a[i * work.aRow + k * work.aColumn];
#pragma clang loop vectorize(disable)
      for (int64_t j = 0; j < work.columns; ++j) {
        const float *right = b + j * work.bColumn;
        float sum = 0;
#pragma unroll
        for (int k = 0; k < depth; ++k)
          sum = sum + left[k] * right[k * work.bRow];
        c[i * work.cRow + j] = sum;
      }
    }
}

template <int depth> constexpr void addTinyProducts(KernelTable &table) {
  if constexpr (depth <= kMostTinyDepth) {
    table.tinyProducts[depth - 1] = tinyProducts<depth>;
    addTinyProducts<depth + 1>(table);
  }
}

} // namespace
} // namespace cupel::kernels
