// What a Finish (Finish.h) does to sums: while they are in registers, and to a block in memory. Included by the files compiled for one
// instruction set. Every step rounds as it is written: nothing here may be contracted.

#pragma once

#include "cupel/kernels/KernelTable.h"
#include "cupel/kernels/Simd.h"

namespace cupel::kernels {
namespace {

/// Sums of some rows and vectors of columns, from (row, column) of the result on; `get` loads a vector. As a function of its own it would
/// take the sums out of the registers, and the loops before it would find them in memory.
template <int rows, int vectors, typename Get>
[[gnu::always_inline]] inline void finishSums(Vector (&sums)[rows][vectors], const Finish &finish, int64_t row, int64_t column, Get &&get) {
#pragma clang fp contract(off)
#pragma unroll
  for (const float *factors : finish.factors)
    if (factors) {
#pragma unroll
      for (int j = 0; j < vectors; ++j) {
        Vector factor = get(factors + column + j * kWidth);
#pragma unroll
        for (int i = 0; i < rows; ++i)
          sums[i][j] = sums[i][j] * factor;
      }
    }
  if (finish.addends) {
#pragma unroll
    for (int j = 0; j < vectors; ++j) {
      Vector addend = get(finish.addends + column + j * kWidth);
#pragma unroll
      for (int i = 0; i < rows; ++i)
        sums[i][j] = sums[i][j] + addend;
    }
  }
  if (finish.rows) {
    const float *from = finish.rows + row * finish.rowStride + column;
#pragma unroll
    for (int i = 0; i < rows; ++i)
#pragma unroll
      for (int j = 0; j < vectors; ++j)
        sums[i][j] = sums[i][j] + get(from + i * finish.rowStride + j * kWidth);
  }
  if (finish.isClamped) {
    // Each is one instruction that gives its second operand where one is a NaN. It does so for zeros of both signs as well: the sum behind a
    // limit of zero makes the positive one of them, and leaves all else.
    Vector low = splat(finish.low), high = splat(finish.high), zero = splat(finish.isPositive ? 0.0f : -0.0f);
#pragma unroll
    for (int i = 0; i < rows; ++i)
#pragma unroll
      for (int j = 0; j < vectors; ++j) {
        Vector more = (low > sums[i][j] ? low : sums[i][j]) + zero;
        sums[i][j] = high < more ? high : more;
      }
  }
}

template <int rows, int vectors>
[[gnu::always_inline]] inline void finishSums(Vector (&sums)[rows][vectors], const Finish *finish, int64_t row, int64_t column) {
  if (finish)
    finishSums(sums, *finish, row, column, [](const float *from) { return load(from); });
}

[[maybe_unused]] void finishBlock(const Finish &given, float *c, int64_t ldc, int64_t row, int64_t rows, int64_t column, int64_t columns) {
  const Finish finish = given; // A copy that stores cannot change.
  int64_t whole = columns / kWidth * kWidth, rest = columns - whole;
  for (int64_t i = 0; i < rows; ++i, c += ldc) {
    Vector sums[1][1];
    for (int64_t j = 0; j < whole; j += kWidth) {
      sums[0][0] = load(c + j);
      finishSums(sums, finish, row + i, column + j, [](const float *from) { return load(from); });
      store(c + j, sums[0][0]);
    }
    if (rest > 0) {
      auto get = [&](const float *from) { return loadPart(from, rest); };
      sums[0][0] = get(c + whole);
      finishSums(sums, finish, row + i, column + whole, get);
      storePart(c + whole, sums[0][0], rest);
    }
  }
}

} // namespace
} // namespace cupel::kernels
