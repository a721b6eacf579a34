// Lines of numbers in step: windows over images whose columns lie innermost, and the least of keys. Included by the files compiled for one
// instruction set.

#pragma once

#include "cupel/kernels/PoolingKernels.h"

namespace cupel::kernels {
namespace {

/// A number that the compiler knows.
template <int64_t number> struct Number {
  constexpr operator int64_t() const { return number; }
};

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

/// The numbers `by` further on, those at the end first.
template <int by, int... lanes> inline Vector turned(Vector value, Lanes<lanes...>) {
  return __builtin_shufflevector(value, value, (lanes + by) % kWidth...);
}

/// All of the first `count` numbers in one; the others up to the next power of two change nothing.
template <WindowFold fold> inline float combineAll(Vector value, int64_t count) {
  typename LanesUpTo<kWidth>::Type all;
  if constexpr (kWidth > 8)
    if (count > 8)
      value = combine<fold>(value, turned<8>(value, all));
  if constexpr (kWidth > 4)
    if (count > 4)
      value = combine<fold>(value, turned<4>(value, all));
  if (count > 2)
    value = combine<fold>(value, turned<2>(value, all));
  if (count > 1)
    value = combine<fold>(value, turned<1>(value, all));
  return value[0];
}

/// Down the windows, for all columns of a line.
template <WindowFold fold> inline void foldDown(const WindowLines &lines, const float *const *input, int64_t count, float *folded) {
  // The window's height is known to the compiler where it is usual: its loop would cost as much as what it does.
  auto down = [&](auto height) {
    auto at = [&](auto get) {
      Vector value = get(input[0]);
      for (int64_t i = 1; i < height; ++i)
        value = combine<fold>(value, get(input[i]));
      return value;
    };
    int64_t x = 0;
    for (; x + kWidth <= lines.columns; x += kWidth)
      store(folded + x, at([x](const float *from) { return load(from + x); }));
    if (int64_t left = lines.columns - x; left > 0)
      storePart(folded + x, at([x, left](const float *from) { return loadPart(from + x, left); }), left);
  };
  switch (count) {
  case 0:
    for (int64_t x = 0; x < lines.columns; ++x)
      folded[x] = lines.initial;
    return;
  case 1: return down(Number<1>());
  case 2: return down(Number<2>());
  case 3: return down(Number<3>());
  case 5: return down(Number<5>());
  default: return down(count);
  }
}

/// Along windows of usual widths, or of any. Beginning with the initial value is left out where that changes nothing.
template <WindowFold fold, typename Width> inline void foldAlong(const WindowLines &lines, const float *folded, float *c, bool begins, Width width) {
  for (int64_t column = 0; column < lines.results; column += kWidth) {
    auto get = [&](int64_t k) { return loadApart(folded + column * lines.stride + k * lines.dilation, lines.stride); };
    Vector value = begins ? combine<fold>(splat(lines.initial), get(0)) : get(0);
    for (int64_t k = 1; k < width; ++k)
      value = combine<fold>(value, get(k));
    if (column + kWidth <= lines.results)
      store(c + column, value);
    else
      storePart(c + column, value, lines.results - column);
  }
}

/// The same where windows lie far apart and numbers of one lie side by side: each by itself.
template <WindowFold fold> inline void foldEach(const WindowLines &lines, const float *folded, float *c) {
  Bits numbers = {};
  for (int lane = 0; lane < kWidth; ++lane)
    numbers[lane] = lane;
  Vector initial = splat(lines.initial);
  for (int64_t i = 0; i < lines.results; ++i) {
    const float *from = folded + i * lines.stride;
    Vector value = initial;
    int64_t k = 0;
    for (; k + kWidth <= lines.window; k += kWidth)
      value = combine<fold>(value, load(from + k));
    if (int64_t left = lines.window - k; left > 0)
      value = combine<fold>(value, choose(numbers < static_cast<int32_t>(left), load(from + k), initial));
    c[i] = combineAll<fold>(value, lines.window);
  }
}

/// Whether windows by themselves take less than vectors of them, each number of which is brought from another place.
inline bool isEachForItself(const WindowLines &lines) {
  if (lines.stride <= 2 || lines.dilation != 1)
    return false;
  int64_t vectors = (lines.results + kWidth - 1) / kWidth, steps = 0;
  while (steps < 4 && (int64_t{1} << steps) < lines.window)
    ++steps;
  int64_t each = lines.results * (2 * ((lines.window + kWidth - 1) / kWidth) + 4 * steps);
  return each < vectors * kWidth * lines.window;
}

template <WindowFold fold> void foldLines(const WindowLines &lines) {
  for (int64_t line = 0; line < lines.lines; ++line)
    foldDown<fold>(lines, lines.input + line * lines.taps, lines.counts[line], lines.scratch + line * lines.scratchColumns + lines.paddingLow);
  constexpr float kInfinity = __builtin_inff();
  bool begins = fold == WindowFold::Sum || lines.initial != (fold == WindowFold::Max ? -kInfinity : kInfinity);
  bool each = isEachForItself(lines);
  for (int64_t line = 0; line < lines.lines; ++line) {
    const float *folded = lines.scratch + line * lines.scratchColumns;
    float *c = lines.c + line * lines.results;
    if (each)
      foldEach<fold>(lines, folded, c);
    else if (lines.window == 3)
      foldAlong<fold>(lines, folded, c, begins, Number<3>());
    else if (lines.window == 2)
      foldAlong<fold>(lines, folded, c, begins, Number<2>());
    else
      foldAlong<fold>(lines, folded, c, begins, lines.window);
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

using Keys = uint32_t __attribute__((vector_size(kWidth * 4)));

inline Keys keysOf(Keys bits, const FloatOrder &order) {
  using Signed = int32_t __attribute__((vector_size(kWidth * 4)));
  constexpr uint32_t kSign = 0x80000000u;
  Keys one = bits == order.negativeZero ? Keys{} : bits;
  auto negative = __builtin_bit_cast(Keys, __builtin_bit_cast(Signed, one) >> 31);
  return (one & ~kSign) > order.infinity ? Keys{} + order.nan : one ^ (negative | kSign) ^ order.flip;
}

/// Some vectors of columns, whose keys stay in registers while the rows go by.
template <bool isLast, int vectors> void leastOfSome(const KeyColumns &of, const FloatOrder &given, int64_t column) {
  const FloatOrder order = given; // Known not to change while keys are written.
  Keys least[vectors], greatest[vectors], places[vectors] = {};
  auto read = [&](int64_t k, int j) __attribute__((always_inline)) {
    Keys bits;
    __builtin_memcpy(&bits, of.bits + k * of.step + column + j * kWidth, sizeof bits);
    return keysOf(bits, order);
  };
#pragma unroll
  for (int j = 0; j < vectors; ++j)
    least[j] = greatest[j] = read(0, j);
  for (int64_t k = 1; k < of.rows; ++k) {
    const Keys place = Keys{} + static_cast<uint32_t>(k);
#pragma unroll
    for (int j = 0; j < vectors; ++j) {
      Keys keys = read(k, j);
      auto takes = isLast ? keys <= least[j] : keys < least[j];
      least[j] = takes ? keys : least[j];
      places[j] = takes ? place : places[j];
      greatest[j] = keys > greatest[j] ? keys : greatest[j];
    }
  }
  __builtin_memcpy(of.least + column, least, sizeof least);
  __builtin_memcpy(of.places + column, places, sizeof places);
  __builtin_memcpy(of.greatest + column, greatest, sizeof greatest);
}

/// The columns that are no whole vector are done with those before them once more.
template <bool isLast> void leastOfColumns(const KeyColumns &of, const FloatOrder &order) {
  constexpr int kVectors = 4;
  int64_t j = 0;
  for (; j + kVectors * kWidth <= of.columns; j += kVectors * kWidth)
    leastOfSome<isLast, kVectors>(of, order, j);
  for (; j + kWidth <= of.columns; j += kWidth)
    leastOfSome<isLast, 1>(of, order, j);
  if (j < of.columns)
    leastOfSome<isLast, 1>(of, order, of.columns - kWidth);
}

/// Each line in a lane. Every key goes in before the first that is greater, and what was there and behind moves on by one.
template <int most> void firstOfLines(const uint32_t *keys, int64_t count, uint32_t *places) {
  using Mask = int32_t __attribute__((vector_size(kWidth * 4)));
  Keys found[most] = {}, at[most] = {};
  auto put = [&](int64_t i, auto taken) __attribute__((always_inline)) {
    Keys key, place = Keys{} + static_cast<uint32_t>(i);
    for (int lane = 0; lane < kWidth; ++lane)
      key[lane] = keys[lane * count + i];
    Mask isBehind = {}; // Where it, or what it pushed aside, was put before: all behind that moves.
#pragma unroll
    for (int k = 0; k < taken; ++k) {
      isBehind |= __builtin_bit_cast(Mask, key < found[k]);
      const Keys before = found[k], beforeAt = at[k];
      found[k] = isBehind ? key : before;
      at[k] = isBehind ? place : beforeAt;
      key = isBehind ? before : key;
      place = isBehind ? beforeAt : place;
    }
    if constexpr (taken < most)
      found[taken] = key, at[taken] = place;
  };
  auto putFirst = [&]<int... i>(Lanes<i...>) __attribute__((always_inline)) { ((i < count ? put(i, Number<i>()) : void()), ...); };
  putFirst(typename LanesUpTo<most>::Type());
  for (int64_t i = most; i < count; ++i)
    put(i, Number<most>());
  for (int k = 0; k < most && k < count; ++k)
    __builtin_memcpy(places + k * kWidth, &at[k], sizeof at[k]);
}

template <int i> constexpr void addFirstOfLines(KernelTable &table) {
  if constexpr (i < kFirstSizes) {
    table.firstOfLines[i] = firstOfLines<(1 << i)>;
    addFirstOfLines<i + 1>(table);
  }
}

} // namespace
} // namespace cupel::kernels
