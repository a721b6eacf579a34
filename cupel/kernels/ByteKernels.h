// Loops over bytes beside the tiles of products (TileKernel.h): sums of them, and convolutions of channels each by
// itself. Included by the files compiled for one instruction set.

#pragma once

#include "cupel/kernels/KernelTable.h"
#include "cupel/kernels/Simd.h"
#include "cupel/kernels/Vnni.h"

#include <utility>

namespace cupel::kernels {
namespace {

template <bool isSigned> int32_t sumBytes(const uint8_t *bytes, int64_t count) {
  uint32_t sum = 0;
  for (int64_t i = 0; i < count; ++i)
    sum += isSigned ? bytes[i] ^ 0x80u : bytes[i];
  return static_cast<int32_t>(sum);
}

using ByteVector = uint8_t __attribute__((ext_vector_type(kWidth)));
using LooseBytes [[gnu::aligned(1), gnu::may_alias]] = ByteVector;
using IntegerVector = int32_t __attribute__((ext_vector_type(kWidth)));
using LooseIntegers [[gnu::aligned(4), gnu::may_alias]] = IntegerVector;
using SignedByteVector = int8_t __attribute__((ext_vector_type(kWidth)));

template <bool isSigned> inline IntegerVector widenBytes(ByteVector bytes) {
  if constexpr (isSigned)
    return __builtin_convertvector(__builtin_bit_cast(SignedByteVector, bytes), IntegerVector);
  return __builtin_convertvector(bytes, IntegerVector);
}

/// a * b of what both have 16 bits: one instruction where 32-bit products take several.
inline IntegerVector multiplySmall(IntegerVector a, IntegerVector b) {
#if defined(__AVX512BW__)
  using Pairs = short __attribute__((vector_size(kWidth * 4)));
  constexpr IntegerVector kLow = static_cast<IntegerVector>(0xffff);
  return __builtin_bit_cast(IntegerVector, __builtin_ia32_pmaddwd512(__builtin_bit_cast(Pairs, a & kLow),
                                                                    __builtin_bit_cast(Pairs, b)));
#else
  return a * b;
#endif
}

/// A vector of channels of some pixels.
template <bool isSigned, int pixels>
inline void addByteTaps(const ByteTaps &work, int64_t first, int64_t channel) {
  IntegerVector sums[pixels];
#pragma unroll
  for (int i = 0; i < pixels; ++i)
    sums[i] = *reinterpret_cast<const LooseIntegers *>(work.bias + channel);
  for (int64_t tap = 0; tap < work.taps; ++tap) {
    IntegerVector weights = *reinterpret_cast<const LooseIntegers *>(work.weights + tap * work.weightStride + channel);
    const uint8_t *const *rows = work.rows + tap * work.rowsPerTap + first;
#pragma unroll
    for (int i = 0; i < pixels; ++i) {
      ByteVector bytes = *reinterpret_cast<const LooseBytes *>(rows[i] + channel);
      sums[i] += multiplySmall(widenBytes<isSigned>(bytes), weights);
    }
  }
#pragma unroll
  for (int i = 0; i < pixels; ++i)
    *reinterpret_cast<LooseIntegers *>(work.c + (first + i) * work.ldc + channel) = sums[i];
}

using ShortVector = int16_t __attribute__((ext_vector_type(2 * kWidth)));
using WideBytes = uint8_t __attribute__((ext_vector_type(2 * kWidth)));
using LooseWideBytes [[gnu::aligned(1), gnu::may_alias]] = WideBytes;
using SignedWideBytes = int8_t __attribute__((ext_vector_type(2 * kWidth)));

template <bool isSigned> inline ShortVector widenToShorts(const uint8_t *from) {
  WideBytes bytes = *reinterpret_cast<const LooseWideBytes *>(from);
  if constexpr (isSigned)
    return __builtin_convertvector(__builtin_bit_cast(SignedWideBytes, bytes), ShortVector);
  return __builtin_convertvector(bytes, ShortVector);
}

/// Four of `a` and four of `b` by turns, from each 128 bits: the first of them (`half` 0) or the last.
template <int half, int... i>
inline ShortVector laced(ShortVector a, ShortVector b, std::integer_sequence<int, i...>) {
  return __builtin_shufflevector(a, b, (i / 8 * 8 + i % 8 / 2 + 4 * half + (i % 2) * 2 * kWidth)...);
}

/// sums + a pair of products each.
inline IntegerVector addPairs(IntegerVector sums, ShortVector a, IntegerVector weights) {
#if CUPEL_HAS_VNNI
  using Sums = int __attribute__((vector_size(kWidth * 4)));
  return __builtin_bit_cast(IntegerVector, addPairProducts(__builtin_bit_cast(Sums, sums), __builtin_bit_cast(Sums, a),
                                                           __builtin_bit_cast(Sums, weights)));
#else
  using Pairs = short __attribute__((vector_size(kWidth * 4)));
#if defined(__AVX512BW__)
  return sums + __builtin_bit_cast(IntegerVector, __builtin_ia32_pmaddwd512(__builtin_bit_cast(Pairs, a), __builtin_bit_cast(Pairs, weights)));
#elif defined(__AVX2__)
  return sums + __builtin_bit_cast(IntegerVector, __builtin_ia32_pmaddwd256(__builtin_bit_cast(Pairs, a), __builtin_bit_cast(Pairs, weights)));
#else
  return sums + __builtin_bit_cast(IntegerVector, __builtin_ia32_pmaddwd128(__builtin_bit_cast(Pairs, a), __builtin_bit_cast(Pairs, weights)));
#endif
#endif
}

/// Channels in their order again, vector `which` of two.
template <int which, int... i>
inline IntegerVector inOrder(IntegerVector low, IntegerVector high, std::integer_sequence<int, i...>) {
  return __builtin_shufflevector(low, high, ((which * kWidth + i) / 8 * 4 + i % 4 + ((which * kWidth + i) % 8 < 4 ? 0 : kWidth))...);
}

/// Two vectors of channels of some pixels, two taps at a time.
template <bool isSigned, int pixels>
inline void addPairedTaps(const ByteTaps &work, int64_t first, int64_t channel) {
  constexpr std::make_integer_sequence<int, 2 * kWidth> kShorts;
  constexpr std::make_integer_sequence<int, kWidth> kLanes;
  IntegerVector low[pixels], high[pixels];
#pragma unroll
  for (int i = 0; i < pixels; ++i)
    low[i] = high[i] = IntegerVector(0);
  int64_t whole = work.channels / (2 * kWidth) * (2 * kWidth);
  for (int64_t tap = 0; tap < work.taps; tap += 2) {
    const int32_t *weights = work.pairs + tap / 2 * whole + channel;
    auto forLow = *reinterpret_cast<const LooseIntegers *>(weights), forHigh = *reinterpret_cast<const LooseIntegers *>(weights + kWidth);
    const uint8_t *const *rows = work.rows + tap * work.rowsPerTap + first;
    const uint8_t *const *others = tap + 1 < work.taps ? rows + work.rowsPerTap : rows; // Times nothing.
#pragma unroll
    for (int i = 0; i < pixels; ++i) {
      ShortVector a = widenToShorts<isSigned>(rows[i] + channel), b = widenToShorts<isSigned>(others[i] + channel);
      low[i] = addPairs(low[i], laced<0>(a, b, kShorts), forLow);
      high[i] = addPairs(high[i], laced<1>(a, b, kShorts), forHigh);
    }
  }
#pragma unroll
  for (int i = 0; i < pixels; ++i) {
    int32_t *to = work.c + (first + i) * work.ldc + channel;
    *reinterpret_cast<LooseIntegers *>(to) =
        inOrder<0>(low[i], high[i], kLanes) + *reinterpret_cast<const LooseIntegers *>(work.bias + channel);
    *reinterpret_cast<LooseIntegers *>(to + kWidth) =
        inOrder<1>(low[i], high[i], kLanes) + *reinterpret_cast<const LooseIntegers *>(work.bias + channel + kWidth);
  }
}

template <bool isSigned> void depthwiseBytes(const ByteTaps &given) {
  const ByteTaps work = given;
  constexpr int kPixels = 4;
  int64_t whole = work.channels / kWidth * kWidth, first = 0;
  int64_t paired = work.pairs ? work.channels / (2 * kWidth) * (2 * kWidth) : 0;
  for (; first + kPixels <= work.pixels; first += kPixels) {
    for (int64_t channel = 0; channel < paired; channel += 2 * kWidth)
      addPairedTaps<isSigned, kPixels>(work, first, channel);
    for (int64_t channel = paired; channel < whole; channel += kWidth)
      addByteTaps<isSigned, kPixels>(work, first, channel);
  }
  for (; first < work.pixels; ++first) {
    for (int64_t channel = 0; channel < paired; channel += 2 * kWidth)
      addPairedTaps<isSigned, 1>(work, first, channel);
    for (int64_t channel = paired; channel < whole; channel += kWidth)
      addByteTaps<isSigned, 1>(work, first, channel);
  }
  for (int64_t i = 0; i < work.pixels; ++i)
    for (int64_t channel = whole; channel < work.channels; ++channel) {
      auto sum = static_cast<uint32_t>(work.bias[channel]);
      for (int64_t tap = 0; tap < work.taps; ++tap) {
        uint8_t byte = work.rows[tap * work.rowsPerTap + i][channel];
        int32_t value = isSigned ? static_cast<int8_t>(byte) : byte;
        sum += static_cast<uint32_t>(value * work.weights[tap * work.weightStride + channel]);
      }
      work.c[i * work.ldc + channel] = static_cast<int32_t>(sum);
    }
}

} // namespace
} // namespace cupel::kernels
