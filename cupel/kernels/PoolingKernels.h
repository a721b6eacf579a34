// Folding some rows of channels into one. Included by the files compiled for one instruction set.

#pragma once

#include "cupel/kernels/KernelTable.h"
#include "cupel/kernels/Simd.h"

namespace cupel::kernels {
namespace {

using Bits = int32_t __attribute__((ext_vector_type(kWidth)));

inline Bits bitsOf(Vector value) { return __builtin_bit_cast(Bits, value); }
inline Vector choose(Bits mask, Vector yes, Vector no) {
  return mask ? yes : no;
}

#if defined(__AVX512DQ__)
/// Of numbers, zeros in order; NaNs are left out.
template <WindowFold fold> inline Vector combineNumbers(Vector a, Vector b) {
  if constexpr (fold == WindowFold::Sum) {
    return a + b;
  } else {
    using Lanes = float __attribute__((vector_size(64)));
    constexpr int kHow = fold == WindowFold::Max ? 5 : 4, kWholeMask = 0xffff, kCurrentRounding = 4;
    return static_cast<Vector>(__builtin_ia32_rangeps512_mask(static_cast<Lanes>(a), static_cast<Lanes>(b), kHow, Lanes{},
                                                              static_cast<uint16_t>(kWholeMask), kCurrentRounding));
  }
}
#endif

/// The greater or the lesser: a NaN where one is, and of zeros that differ in their sign the positive or the negative one.
template <WindowFold fold> inline Vector combine(Vector a, Vector b) {
  if constexpr (fold == WindowFold::Sum) {
    return a + b;
  } else {
#if defined(__AVX512DQ__)
    Vector chosen = combineNumbers<fold>(a, b);
#else
    constexpr bool kIsMax = fold == WindowFold::Max;
    // Of equal numbers, which have the same bits unless they are zeros, each comparison gives another.
    Vector one = kIsMax ? (a > b ? a : b) : (a < b ? a : b), other = kIsMax ? (b > a ? b : a) : (b < a ? b : a);
    Bits both = kIsMax ? bitsOf(one) & bitsOf(other) : bitsOf(one) | bitsOf(other);
    auto chosen = __builtin_bit_cast(Vector, both);
#endif
    // One comparison: unordered.
    return choose((a != a) | (b != b), a + b, chosen);
  }
}

template <WindowFold fold> void foldRows(const WindowRows &rows) {
  auto compute = [&](int64_t channel, int64_t count) {
    auto get = [&](const float *from) {
      return count == kWidth ? load(from + channel) : loadPart(from + channel, count);
    };
    Vector value = splat(rows.initial);
    for (int64_t i = 0; i < rows.count; ++i)
      value = combine<fold>(value, get(rows.input[i]));
    if (rows.bias)
      value += get(rows.bias);
    if (count == kWidth)
      store(rows.c + channel, value);
    else
      storePart(rows.c + channel, value, count);
  };
  int64_t channel = 0;
  for (; channel + kWidth <= rows.channels; channel += kWidth)
    compute(channel, kWidth);
  if (channel < rows.channels)
    compute(channel, rows.channels - channel);
}

/// Each is one of the numbers, or a NaN, so that nothing is rounded.
[[maybe_unused]] void greatestHalves(const HalfWindowRows &rows) {
  using Halves = uint16_t __attribute__((ext_vector_type(kWidth)));
  auto compute = [&](int64_t channel, int64_t count) __attribute__((always_inline)) {
    Vector value = loadWidened(rows.input[0] + channel, count);
    for (int64_t i = 1; i < rows.count; ++i)
      value = combine<WindowFold::Max>(value, loadWidened(rows.input[i] + channel, count));
    Halves halves = __builtin_convertvector(bitsOf(value) >> 16, Halves);
    __builtin_memcpy(rows.c + channel, &halves, static_cast<size_t>(count) * sizeof(uint16_t));
  };
  int64_t channel = 0;
  for (; channel + kWidth <= rows.channels; channel += kWidth)
    compute(channel, kWidth);
  if (channel < rows.channels)
    compute(channel, rows.channels - channel);
}

template <typename Byte> void greatestBytes(const ByteWindowRows &rows) {
  constexpr int64_t kBytes = 4 * kWidth;
  using Bytes = Byte __attribute__((ext_vector_type(kBytes)));
  int64_t channel = 0;
  for (; channel + kBytes <= rows.channels; channel += kBytes) {
    Bytes most, one;
    __builtin_memcpy(&most, rows.input[0] + channel, kBytes);
    for (int64_t i = 1; i < rows.count; ++i) {
      __builtin_memcpy(&one, rows.input[i] + channel, kBytes);
      most = __builtin_elementwise_max(most, one);
    }
    __builtin_memcpy(rows.c + channel, &most, kBytes);
  }
  for (; channel < rows.channels; ++channel) {
    auto most = static_cast<Byte>(rows.input[0][channel]);
    for (int64_t i = 1; i < rows.count; ++i) {
      auto one = static_cast<Byte>(rows.input[i][channel]);
      most = one > most ? one : most;
    }
    rows.c[channel] = static_cast<uint8_t>(most);
  }
}

} // namespace
} // namespace cupel::kernels
