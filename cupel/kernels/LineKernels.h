// Lines of numbers in step: windows over images whose columns lie innermost, and the least of keys. Included by the files compiled for one
// instruction set.

#pragma once

#include "cupel/kernels/PoolingKernels.h"

namespace cupel::kernels {
namespace {

template <int... lanes> struct Lanes {};
template <int count, int... lanes> struct LanesUpTo : LanesUpTo<count - 1, count - 1, lanes...> {};
template <int... lanes> struct LanesUpTo<0, lanes...> {
  using Type = Lanes<lanes...>;
};
/// Every second number from `from` on; 2 * kWidth of them are read.
template <int... lanes> inline Vector everySecond(const float *from, Lanes<lanes...>) {
  return __builtin_shufflevector(load(from), load(from + kWidth), 2 * lanes...);
}

/// Numbers `step` apart.
inline Vector loadApart(const float *from, int64_t step) {
  if (step == 1)
    return load(from);
  if (step == 2)
    return everySecond(from, typename LanesUpTo<kWidth>::Type());
  Vector value = {};
  for (int lane = 0; lane < kWidth; ++lane)
    value[lane] = from[lane * step];
  return value;
}

template <WindowFold fold> void foldLines(const WindowLines &lines) {
  // Down the window first, for all columns, then along it.
  float *folded = lines.scratch, *inside = folded + lines.paddingLow;
  for (int64_t x = 0; x < lines.paddingLow; ++x)
    folded[x] = lines.initial;
  for (int64_t x = lines.paddingLow + lines.columns; x < lines.scratchColumns; ++x)
    folded[x] = lines.initial;
  auto down = [&](int64_t x, int64_t count) {
    auto get = [&](const float *from) { return count == kWidth ? load(from + x) : loadPart(from + x, count); };
    Vector value = lines.count ? get(lines.input[0]) : splat(lines.initial);
    for (int64_t i = 1; i < lines.count; ++i)
      value = combine<fold>(value, get(lines.input[i]));
    if (count == kWidth)
      store(inside + x, value);
    else
      storePart(inside + x, value, count);
  };
  int64_t x = 0;
  for (; x + kWidth <= lines.columns; x += kWidth)
    down(x, kWidth);
  if (x < lines.columns)
    down(x, lines.columns - x);
  for (int64_t column = 0; column < lines.results; column += kWidth) {
    Vector value = splat(lines.initial);
    for (int64_t k = 0; k < lines.window; ++k)
      value = combine<fold>(value, loadApart(folded + column * lines.stride + k * lines.dilation, lines.stride));
    if (column + kWidth <= lines.results)
      store(lines.c + column, value);
    else
      storePart(lines.c + column, value, lines.results - column);
  }
}

/// `isLast`: equal keys are better too.
template <bool isLast> void keepLeast(const uint32_t *keys, int64_t count, uint32_t place, uint32_t *least, uint32_t *places) {
  for (int64_t i = 0; i < count; ++i) {
    bool takes = isLast ? keys[i] <= least[i] : keys[i] < least[i];
    least[i] = takes ? keys[i] : least[i];
    places[i] = takes ? place : places[i];
  }
}

void floatKeys(const uint32_t *bits, int64_t count, const FloatOrder &order, uint32_t *keys) {
  constexpr uint32_t kSign = 0x80000000u;
  FloatOrder local = order; // Known not to change while keys are written.
  for (int64_t i = 0; i < count; ++i) {
    uint32_t one = bits[i] == local.negativeZero ? 0 : bits[i];
    auto negative = static_cast<uint32_t>(static_cast<int32_t>(one) >> 31);
    uint32_t key = one ^ (negative | kSign) ^ local.flip;
    keys[i] = (one & ~kSign) > local.infinity ? local.nan : key;
  }
}

/// Where `key` is in `keys`, which have it. Without an early end, so that compilers make vectors of
/// it.
template <bool isLast> uint32_t placeOf(uint32_t key, const uint32_t *keys, int64_t count) {
  auto all = static_cast<uint32_t>(count);
  uint32_t place = isLast ? 0 : all;
  for (uint32_t i = 0; i < all; ++i) {
    uint32_t here = keys[i] == key ? i : isLast ? 0 : all;
    place = (isLast ? here > place : here < place) ? here : place;
  }
  return place;
}

template <bool isLast>
void leastOfLines(const uint32_t *bits, int64_t lines, int64_t count, const FloatOrder &order,
                  LeastKey *found) {
  constexpr int64_t kChunk = 256;
  uint32_t keys[kChunk];
  for (int64_t line = 0; line < lines; ++line, bits += count) {
    LeastKey best = {};
    for (int64_t begin = 0; begin < count; begin += kChunk) {
      int64_t many = count - begin < kChunk ? count - begin : kChunk;
      floatKeys(bits + begin, many, order, keys);
      uint32_t least = keys[0], greatest = keys[0];
      for (int64_t i = 1; i < many; ++i) {
        least = keys[i] < least ? keys[i] : least;
        greatest = keys[i] > greatest ? keys[i] : greatest;
      }
      best.greatest = best.greatest > greatest ? best.greatest : greatest;
      if (begin > 0 && !(isLast ? least <= best.key : least < best.key))
        continue;
      best.key = least;
      best.place = static_cast<uint32_t>(begin) + placeOf<isLast>(least, keys, many);
    }
    found[line] = best;
  }
}

} // namespace
} // namespace cupel::kernels
