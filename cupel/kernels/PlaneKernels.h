// Windows of 3 x 3 and of 5 x 5 that move by one, over images whose columns lie innermost: each line is read once and folded along its windows, and
// stays in registers until the lines below need it no more. Included by the files compiled for one instruction set.

#pragma once

#include "cupel/kernels/LineKernels.h"

namespace cupel::kernels {
namespace {

#if defined(__AVX512DQ__)

/// Some lanes; the others are `other`, and nothing is read for them.
inline Vector loadSome(const float *from, uint16_t lanes, Vector other) {
  using Plain = float __attribute__((vector_size(64)));
  return __builtin_bit_cast(Vector, __builtin_ia32_loadups512_mask(from, __builtin_bit_cast(Plain, other), lanes));
}

inline uint16_t lanesOfNan(Vector a, Vector b) {
  using Plain = float __attribute__((vector_size(64)));
  constexpr int kUnordered = 3, kWholeMask = 0xffff, kCurrentRounding = 4;
  return static_cast<uint16_t>(__builtin_ia32_cmpps512_mask(__builtin_bit_cast(Plain, a), __builtin_bit_cast(Plain, b), kUnordered,
                                                            static_cast<uint16_t>(kWholeMask), kCurrentRounding));
}

/// Which of the lanes from `first` on lie in [0, count).
inline uint16_t lanesInside(int64_t first, int64_t count) {
  auto upTo = [](int64_t end) { return end <= 0 ? 0u : end >= kWidth ? 0xffffu : (1u << end) - 1; };
  return static_cast<uint16_t>(upTo(count - first) & ~upTo(-first));
}

/// The numbers `by` columns further on.
template <int by, int... lanes> inline Vector furtherOn(Vector here, Vector beside, Lanes<lanes...>) {
  return __builtin_shufflevector(here, beside, (lanes + by)...);
}

/// `numbers`: without a look at NaNs, which are left out then.
template <WindowFold fold, bool numbers> inline Vector combineSome(Vector a, Vector b) {
  if constexpr (numbers)
    return combineNumbers<fold>(a, b);
  else
    return combine<fold>(a, b);
}

/// The next `size` - 1 numbers' windows along a line.
template <WindowFold fold, bool numbers, int size, int k = 1> inline Vector foldFurther(Vector value, Vector here, Vector beside) {
  if constexpr (k == size) {
    return value;
  } else {
    Vector next = furtherOn<k>(here, beside, typename LanesUpTo<kWidth>::Type());
    return foldFurther<fold, numbers, size, k + 1>(combineSome<fold, numbers>(value, next), here, beside);
  }
}

/// Some vectors of columns of all lines that are asked for. Returns whether there was a NaN, where these are left out.
template <WindowFold fold, bool numbers, int size, int vectors> bool foldStrip(const WindowPlane &plane, int64_t column) {
  constexpr bool kSeeksNan = numbers && fold != WindowFold::Sum;
  const Vector neutral = splat(plane.neutral);
  uint16_t lanes[vectors + 1];
  const int64_t first = column - plane.paddingLeft;
#pragma unroll
  for (int j = 0; j <= vectors; ++j)
    lanes[j] = lanesInside(first + j * kWidth, plane.columns);
  uint16_t nans = 0;
  auto foldLine = [&](int64_t line, Vector *along) __attribute__((always_inline)) {
    if (line < 0 || line >= plane.lines) {
#pragma unroll
      for (int j = 0; j < vectors; ++j)
        along[j] = neutral;
      return;
    }
    const float *from = plane.input + line * plane.columns + first;
    Vector read[vectors + 1];
#pragma unroll
    for (int j = 0; j <= vectors; ++j)
      read[j] = loadSome(from + j * kWidth, lanes[j], neutral);
    if constexpr (kSeeksNan)
#pragma unroll
      for (int j = 0; j <= vectors; j += 2)
        nans |= lanesOfNan(read[j], read[j < vectors ? j + 1 : j]);
#pragma unroll
    for (int j = 0; j < vectors; ++j)
      along[j] = foldFurther<fold, numbers, size>(read[j], read[j], read[j + 1]);
  };
  Vector kept[size][vectors];
  int64_t line = plane.firstResult - plane.paddingTop;
#pragma unroll
  for (int k = 0; k < size - 1; ++k)
    foldLine(line + k, kept[k]);
  line += size - 1;
  float *c = plane.c + plane.firstResult * plane.results + column;
  const int64_t left = plane.results - column - (vectors - 1) * kWidth, last = left < kWidth ? left : kWidth;
  for (int64_t result = 0; result < plane.resultLines;) {
#pragma unroll
    for (int turn = 0; turn < size; ++turn) { // So that nothing moves from register to register.
      if (result == plane.resultLines)
        break;
      foldLine(line, kept[(turn + size - 1) % size]);
#pragma unroll
      for (int j = 0; j < vectors; ++j) {
        Vector value = fold == WindowFold::Sum ? neutral + kept[turn][j] : kept[turn][j]; // A sum of negative zeros is none.
#pragma unroll
        for (int k = 1; k < size; ++k)
          value = combineSome<fold, numbers>(value, kept[(turn + k) % size][j]);
        if (j + 1 < vectors)
          store(c + j * kWidth, value);
        else
          storePart(c + j * kWidth, value, last);
      }
      ++line, ++result, c += plane.results;
    }
  }
  return nans != 0;
}

template <WindowFold fold, int size, int vectors> void foldColumns(const WindowPlane &plane, int64_t column) {
  if (foldStrip<fold, true, size, vectors>(plane, column))
    foldStrip<fold, false, size, vectors>(plane, column);
}

template <WindowFold fold, int size> void foldPlane(const WindowPlane &given) {
  const WindowPlane plane = given; // A copy that stores cannot change.
  int64_t column = 0;
  auto left = [&] { return plane.results - column; };
  for (; left() > 3 * kWidth; column += 4 * kWidth)
    foldColumns<fold, size, 4>(plane, column);
  for (; left() > kWidth; column += 2 * kWidth)
    foldColumns<fold, size, 2>(plane, column);
  if (left() > 0)
    foldColumns<fold, size, 1>(plane, column);
}

constexpr void addPlanes(KernelTable &table) {
  auto add = [&]<WindowFold fold>(int kind) {
    table.foldPlanes[kind][0] = foldPlane<fold, 3>;
    table.foldPlanes[kind][1] = foldPlane<fold, 5>;
  };
  add.template operator()<WindowFold::Max>(0);
  add.template operator()<WindowFold::Min>(1);
  add.template operator()<WindowFold::Sum>(2);
}

#else

constexpr void addPlanes(KernelTable &) {}

#endif

} // namespace
} // namespace cupel::kernels
