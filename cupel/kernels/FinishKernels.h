// What a Finish (Finish.h) does to sums: while they are in registers, and to a block in memory. Included by the files compiled for one
// instruction set. Every step rounds as it is written: nothing but what is joined may be contracted.

#pragma once

#include "cupel/kernels/KernelTable.h"
#include "cupel/kernels/RoundedStores.h"
#include "cupel/kernels/Simd.h"

namespace cupel::kernels {
namespace {

inline Vector multiplyAdd(Vector a, Vector b, Vector c) { return a * b + c; }

/// Sums of some rows and vectors of columns, from (row, column) of the result on; of the last vectors, `count` elements are there. As a
/// function of its own it would take the sums out of the registers, and the loops before it would find them in memory.
template <int rows, int vectors>
[[gnu::always_inline]] inline void finishSums(Vector (&sums)[rows][vectors], const Finish &finish, int64_t row, int64_t column, int64_t count) {
#pragma clang fp contract(off)
  auto get = [&](const float *from, int j) __attribute__((always_inline)) {
    return j + 1 < vectors ? load(from + j * kWidth) : loadPart(from + j * kWidth, count);
  };
  if (finish.isJoined) {
#pragma unroll
    for (int j = 0; j < vectors; ++j) {
      Vector factor = get(finish.factors[0] + column, j), addend = get(finish.addends + column, j);
#pragma unroll
      for (int i = 0; i < rows; ++i)
        sums[i][j] = multiplyAdd(sums[i][j], factor, addend);
    }
  }
#pragma unroll
  for (const float *factors : finish.factors)
    if (factors && !finish.isJoined) {
#pragma unroll
      for (int j = 0; j < vectors; ++j) {
        Vector factor = get(factors + column, j);
#pragma unroll
        for (int i = 0; i < rows; ++i)
          sums[i][j] = sums[i][j] * factor;
      }
    }
  if (finish.addends && !finish.isJoined) {
#pragma unroll
    for (int j = 0; j < vectors; ++j) {
      Vector addend = get(finish.addends + column, j);
#pragma unroll
      for (int i = 0; i < rows; ++i)
        sums[i][j] = sums[i][j] + addend;
    }
  }
  auto addRows = [&](auto *all, auto read) __attribute__((always_inline)) {
    const auto *from = all + row * finish.rowStride + column;
#pragma unroll
    for (int i = 0; i < rows; ++i)
#pragma unroll
      for (int j = 0; j < vectors; ++j)
        sums[i][j] = sums[i][j] + read(from + i * finish.rowStride, j);
  };
  if (finish.rows)
    addRows(finish.rows, get);
  if (finish.narrowRows)
    addRows(finish.narrowRows, [&](const uint16_t *from, int j) __attribute__((always_inline)) {
      return loadWidened(from + j * kWidth, j + 1 < vectors ? kWidth : count);
    });
  // A comparison with a choice is one instruction that gives the sum where that is a NaN.
  if (finish.isGated) {
    const Vector scale = splat(finish.gateScale), shift = splat(finish.gateShift), low = splat(finish.low), high = splat(finish.high), factor = splat(finish.gateFactor);
#pragma unroll
    for (int i = 0; i < rows; ++i)
#pragma unroll
      for (int j = 0; j < vectors; ++j) {
        Vector gate = multiplyAdd(sums[i][j], scale, shift);
        gate = low > gate ? low : gate;
        gate = high < gate ? high : gate;
        sums[i][j] = sums[i][j] * gate * factor;
      }
    return;
  }
  if (finish.isPositive) {
#pragma unroll
    for (int i = 0; i < rows; ++i)
#pragma unroll
      for (int j = 0; j < vectors; ++j)
        sums[i][j] = positive(sums[i][j]);
  } else if (finish.hasLow) {
    Vector low = splat(finish.low);
#pragma unroll
    for (int i = 0; i < rows; ++i)
#pragma unroll
      for (int j = 0; j < vectors; ++j)
        sums[i][j] = low > sums[i][j] ? low : sums[i][j];
  }
  if (finish.hasHigh) {
    Vector high = splat(finish.high);
#pragma unroll
    for (int i = 0; i < rows; ++i)
#pragma unroll
      for (int j = 0; j < vectors; ++j)
        sums[i][j] = high < sums[i][j] ? high : sums[i][j];
  }
}

/// What hidden layers do most, row by row, so that the first rows leave the registers while the
/// last ones are computed: a factor, an addend and limits from zero on. False where nothing was
/// done: it was something else.
template <int rows, int vectors>
[[gnu::always_inline]] inline bool putLimited(const Vector (&sums)[rows][vectors],
                                              const Finish &finish, int64_t row, int64_t column,
                                              int64_t count, float *c, int64_t ldc) {
  if (!finish.isJoined || !finish.isPositive || finish.rows || finish.narrowRows || count != kWidth)
    return false;
  const Vector high = splat(finish.hasHigh ? finish.high : __builtin_inff());
  Vector factor[vectors], addend[vectors];
#pragma unroll
  for (int j = 0; j < vectors; ++j) {
    factor[j] = load(finish.factors[0] + column + j * kWidth);
    addend[j] = load(finish.addends + column + j * kWidth);
  }
  auto limited = [&](int i, int j) __attribute__((always_inline)) {
    Vector value = positive(multiplyAdd(sums[i][j], factor[j], addend[j]));
    return high < value ? high : value;
  };
  if (!finish.narrow) {
#pragma unroll
    for (int i = 0; i < rows; ++i)
#pragma unroll
      for (int j = 0; j < vectors; ++j)
        store(c + i * ldc + j * kWidth, limited(i, j));
    return true;
  }
#if defined(__AVX512BF16__)
  DenormalNumbers found;
  uint16_t *to = finish.narrow + row * finish.narrowStride + column;
  auto putRows = [&](auto &&lookAt) __attribute__((always_inline)) {
#pragma unroll
    for (int i = 0; i < rows; ++i) {
      Vector values[vectors];
#pragma unroll
      for (int j = 0; j < vectors; ++j) {
        values[j] = limited(i, j);
        lookAt(values[j]);
      }
      storeNormal(to + i * finish.narrowStride, values, kWidth);
    }
  };
  if (finish.losesDenormals) {
    putRows([](Vector) {});
    return true;
  }
  putRows([&](Vector value) __attribute__((always_inline)) { found.lookAt(value); });
  // Rows that had one are put again, as it has to be.
  return !found.any();
#else
  return false;
#endif
}

/// Finishes sums where there is something to do, and puts them where they belong: rows of `c` are `ldc` apart.
template <int rows, int vectors>
[[gnu::always_inline]] inline void putSums(Vector (&sums)[rows][vectors], const Finish *finish, int64_t row, int64_t column, int64_t count,
                                           float *c, int64_t ldc) {
  if (finish) {
    if (putLimited(sums, *finish, row, column, count, c, ldc))
      return;
    finishSums(sums, *finish, row, column, count);
    if (finish->narrow)
      return storeRounded(sums, finish->narrow + row * finish->narrowStride + column, finish->narrowStride, count, finish->losesDenormals);
  }
#pragma unroll
  for (int i = 0; i < rows; ++i)
#pragma unroll
    for (int j = 0; j + 1 < vectors; ++j)
      store(c + i * ldc + j * kWidth, sums[i][j]);
  constexpr int kLast = vectors - 1;
  if (count == kWidth) {
#pragma unroll
    for (int i = 0; i < rows; ++i)
      store(c + i * ldc + kLast * kWidth, sums[i][kLast]);
  } else {
#pragma unroll
    for (int i = 0; i < rows; ++i)
      storePart(c + i * ldc + kLast * kWidth, sums[i][kLast], count);
  }
}

/// Some rows and vectors of them, from memory to memory.
template <int rows, int vectors>
[[gnu::always_inline]] inline void finishPart(const Finish *finish, const float *from, int64_t fromStride, float *c, int64_t ldc, int64_t row,
                                              int64_t column, int64_t count) {
  Vector sums[rows][vectors];
#pragma unroll
  for (int i = 0; i < rows; ++i)
#pragma unroll
    for (int j = 0; j < vectors; ++j)
      sums[i][j] = j + 1 < vectors ? load(from + i * fromStride + j * kWidth) : loadPart(from + i * fromStride + j * kWidth, count);
  putSums(sums, finish, row, column, count, c, ldc);
}

template <int rows>
inline void finishRows(const Finish *finish, const float *from, int64_t fromStride, float *c, int64_t ldc, int64_t row, int64_t column,
                       int64_t columns) {
  for (int64_t j = 0; j < columns; j += 2 * kWidth) {
    int64_t left = columns - j;
    if (left > kWidth)
      finishPart<rows, 2>(finish, from + j, fromStride, c + j, ldc, row, column + j, left < 2 * kWidth ? left - kWidth : kWidth);
    else
      finishPart<rows, 1>(finish, from + j, fromStride, c + j, ldc, row, column + j, left);
  }
}

[[maybe_unused]] void finishBlock(const Finish *given, const float *from, int64_t fromStride, float *c, int64_t ldc, int64_t row, int64_t rows,
                                  int64_t column, int64_t columns) {
  constexpr int kRows = 4; // What is looked up for each column is so for some rows.
  const Finish copy = given ? *given : Finish(); // Which stores cannot change.
  const Finish *finish = given ? &copy : nullptr;
  int64_t i = 0;
  for (; i + kRows <= rows; i += kRows)
    finishRows<kRows>(finish, from + i * fromStride, fromStride, c + i * ldc, ldc, row + i, column, columns);
  for (; i < rows; ++i)
    finishRows<1>(finish, from + i * fromStride, fromStride, c + i * ldc, ldc, row + i, column, columns);
}

[[maybe_unused]] bool joinColumns(const ColumnTerms &terms, float *factor, float *addend) {
  // Far beyond what networks have, and far below what sums of any size overflow with.
  constexpr float kLargest = 0x1p30f, kSmallestNormal = 0x1p-126f;
  using Lanes = decltype(Vector{} <= Vector{});
  const Vector largest = splat(kLargest), smallest = splat(kSmallestNormal);
  auto size = [](Vector value) { return value < 0 ? -value : value; };
  Lanes areFit = Vector{} == Vector{};
  for (int64_t j = 0; j < terms.columns; j += kWidth) {
    int64_t count = terms.columns - j < kWidth ? terms.columns - j : kWidth;
    Vector first = loadPart(terms.factors[0] + j, count), product = first;
    if (terms.factors[1]) {
      Vector second = loadPart(terms.factors[1] + j, count);
      product = first * second;
      areFit &= (size(first) <= largest) & (size(second) <= largest);
      areFit &= (size(product) >= smallest) | (first == 0) | (second == 0);
    }
    Vector sum = terms.addends ? loadPart(terms.addends + j, count) : Vector{};
    sum = terms.subtractsAddends ? -sum : sum;
    areFit &= size(sum) <= largest;
    if (terms.bias) {
      Vector bias = loadPart(terms.bias + j, count);
      bias = terms.subtractsBias ? -bias : bias;
      areFit &= size(bias) <= largest;
      sum = multiplyAdd(bias, product, sum);
    }
    areFit &= (size(product) <= largest) & (size(sum) <= largest);
    storePart(factor + j, product, count);
    storePart(addend + j, sum, count);
  }
  for (int i = 0; i < kWidth; ++i)
    if (!areFit[i])
      return false;
  return true;
}

} // namespace
} // namespace cupel::kernels
