// Copies of matrices into the order that other kernels read: panels of columns for the right side of
// a product, rows for the left one, and transposes. Included by the files compiled for one
// instruction set. Nothing is read or written outside the given elements.

#pragma once

#include "cupel/kernels/Simd.h"

#include <utility>

namespace cupel::kernels {
namespace {

template <int... i>
inline Vector interleaveLow(Vector a, Vector b, std::integer_sequence<int, i...>) {
  return __builtin_shufflevector(a, b, (i % 2 ? kWidth + i / 2 : i / 2)...);
}

template <int... i>
inline Vector interleaveHigh(Vector a, Vector b, std::integer_sequence<int, i...>) {
  return __builtin_shufflevector(a, b, (i % 2 ? kWidth + (kWidth + i) / 2 : (kWidth + i) / 2)...);
}

/// Rows become columns: as many perfect shuffles as the width has binary digits.
inline void transposeBlock(Vector (&rows)[kWidth]) {
  constexpr auto kIndices = std::make_integer_sequence<int, kWidth>{};
  Vector others[kWidth];
#pragma unroll
  for (int round = 1; round < kWidth; round *= 2) {
#pragma unroll
    for (int i = 0; i < kWidth / 2; ++i) {
      others[2 * i] = interleaveLow(rows[i], rows[i + kWidth / 2], kIndices);
      others[2 * i + 1] = interleaveHigh(rows[i], rows[i + kWidth / 2], kIndices);
    }
#pragma unroll
    for (int i = 0; i < kWidth; ++i)
      rows[i] = others[i];
  }
}

inline void copyRow(const float *from, int64_t count, float *to) {
  int64_t i = 0;
  for (; i + kWidth <= count; i += kWidth)
    store(to + i, load(from + i));
  for (; i < count; ++i)
    to[i] = from[i];
}

/// A block of at most kWidth x kWidth: `to`'s rows are `from`'s columns. Columns of `to` up to
/// `fill` are written, with zeros where `from` has no row.
inline void transposePart(const float *from, int64_t fromStride, int64_t rows, int64_t columns,
                          float *to, int64_t toStride, int64_t fill) {
  Vector block[kWidth];
  for (int i = 0; i < kWidth; ++i)
    block[i] = i >= rows           ? Vector{}
               : columns == kWidth ? load(from + i * fromStride)
                                   : loadPart(from + i * fromStride, columns);
  transposeBlock(block);
  for (int i = 0; i < kWidth; ++i)
    if (i < columns) {
      if (fill == kWidth)
        store(to + i * toStride, block[i]);
      else
        storePart(to + i * toStride, block[i], fill);
    }
}

template <bool isStreamed = false>
inline void transposeWhole(const float *from, int64_t fromStride, float *to, int64_t toStride) {
  Vector block[kWidth];
#pragma unroll
  for (int i = 0; i < kWidth; ++i)
    block[i] = load(from + i * fromStride);
  transposeBlock(block);
#pragma unroll
  for (int i = 0; i < kWidth; ++i)
    if constexpr (isStreamed)
      __builtin_nontemporal_store(block[i], reinterpret_cast<Vector *>(to + i * toStride));
    else
      store(to + i * toStride, block[i]);
}

template <bool isStreamed>
inline void transposeBlocks(const float *from, int64_t fromStride, int64_t rows, int64_t columns,
                            float *to, int64_t toStride) {
  // A band of columns of `from` at a time: whole lines of `to` are written one after the other.
  for (int64_t c = 0; c < columns; c += kWidth)
    for (int64_t r = 0; r < rows; r += kWidth) {
      const float *source = from + r * fromStride + c;
      float *target = to + c * toStride + r;
      int64_t height = rows - r < kWidth ? rows - r : kWidth;
      int64_t breadth = columns - c < kWidth ? columns - c : kWidth;
      if (height == kWidth && breadth == kWidth)
        transposeWhole<isStreamed>(source, fromStride, target, toStride);
      else
        transposePart(source, fromStride, height, breadth, target, toStride, height);
    }
}

/// to[c, r] = from[r, c] for `rows` x `columns` of `from`.
void transpose(const float *from, int64_t fromStride, int64_t rows, int64_t columns, float *to,
               int64_t toStride, bool isLarge) {
  // Past the caches only whole lines: an AVX2 block writes halves of them.
  bool isAligned = reinterpret_cast<uintptr_t>(to) % (kWidth * 4) == 0 && toStride % kWidth == 0;
  if (isLarge && isAligned && kWidth == 16) {
    transposeBlocks<true>(from, fromStride, rows, columns, to, toStride);
#if defined(__SSE__)
    __builtin_ia32_sfence(); // Whoever is told that we are done must see it.
#endif
  } else {
    transposeBlocks<false>(from, fromStride, rows, columns, to, toStride);
  }
}

void copyMatrix(const float *from, int64_t rowStride, int64_t columnStride, int64_t rows,
                int64_t columns, float *to, int64_t toStride) {
  if (columnStride == 1 || columns == 1) {
    for (int64_t r = 0; r < rows; ++r)
      copyRow(from + r * rowStride, columns, to + r * toStride);
  } else if (rowStride == 1) {
    transpose(from, columnStride, columns, rows, to, toStride, false);
  } else {
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < columns; ++c)
        to[r * toStride + c] = from[r * rowStride + c * columnStride];
  }
}

void packPanel(const float *b, int64_t rowStride, int64_t columnStride, int64_t depth,
               int64_t columns, int64_t width, float *panel) {
  if (rowStride == 1 && columnStride != 1 && depth > 1) {
    for (int64_t j = 0; j < width; j += kWidth)
      for (int64_t k = 0; k < depth; k += kWidth) {
        int64_t height = columns - j < kWidth ? columns - j : kWidth;
        int64_t breadth = depth - k < kWidth ? depth - k : kWidth;
        const float *source = b + j * columnStride + k;
        float *target = panel + k * width + j;
        if (height == kWidth && breadth == kWidth)
          transposeWhole(source, columnStride, target, width);
        else
          transposePart(height > 0 ? source : b, columnStride, height, breadth, target, width,
                        kWidth);
      }
    return;
  }
  for (int64_t k = 0; k < depth; ++k) {
    const float *row = b + k * rowStride;
    float *to = panel + k * width;
    if (columnStride == 1)
      copyRow(row, columns, to);
    else
      for (int64_t j = 0; j < columns; ++j)
        to[j] = row[j * columnStride];
    for (int64_t j = columns; j < width; ++j)
      to[j] = 0;
  }
}

} // namespace
} // namespace cupel::kernels
