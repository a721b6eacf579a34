// Vectors of the width that the translation unit is compiled for. Only files that are compiled once
// per instruction set include it (see IsaKernels.h); everything is in an unnamed namespace and
// nothing of the standard library is used, so that no function compiled for one instruction set can
// be linked into another's place. A vector is never wider than the target's registers: the compiler
// would take such types and make code of them that is tens of times slower.

#pragma once

#include <cstdint>

namespace cupel::kernels {
namespace {

#if defined(__AVX512F__)
constexpr int kWidth = 16;
#elif defined(__AVX__)
constexpr int kWidth = 8;
#else
constexpr int kWidth = 4;
#endif

using Vector = float __attribute__((ext_vector_type(kWidth)));
using LooseVector [[gnu::aligned(4), gnu::may_alias]] = Vector;

inline Vector load(const float *from) { return *reinterpret_cast<const LooseVector *>(from); }
inline void store(float *to, Vector value) { *reinterpret_cast<LooseVector *>(to) = value; }
inline Vector splat(float value) { return static_cast<Vector>(value); }

/// Brings a vector's place into the nearest cache, to be read or to be written soon.
inline void fetch(const void *from) { __builtin_prefetch(from, 0, 3); }
inline void fetchToWrite(const void *to) { __builtin_prefetch(to, 1, 3); }

/// A sum at the end: plus the bias, where there is one.
inline Vector finished(Vector sum, const float *bias) {
  return bias ? sum + load(bias) : sum;
}

#if defined(__AVX512VL__)
/// Processors that do their widest vectors in two halves take half the time for one.
using HalfVector = float __attribute__((ext_vector_type(kWidth / 2)));
#endif

/// The first `count` <= kWidth elements, the others zero; reads nothing behind them.
inline Vector loadPart(const float *from, int64_t count) {
#if defined(__AVX512VL__)
  using Plain = float __attribute__((vector_size(64)));
  return __builtin_bit_cast(Vector, __builtin_ia32_loadups512_mask(from, Plain{}, static_cast<uint16_t>((1u << count) - 1)));
#elif defined(__AVX2__)
  using Plain = float __attribute__((vector_size(32)));
  using Lanes = int __attribute__((vector_size(32)));
  return __builtin_bit_cast(Vector, __builtin_ia32_maskloadps256(reinterpret_cast<const Plain *>(from),
                                                                 Lanes{0, 1, 2, 3, 4, 5, 6, 7} < static_cast<int>(count)));
#else
  if (count >= kWidth)
    return load(from);
  Vector value = {};
  for (int i = 0; i < kWidth; ++i)
    if (i < count)
      value[i] = from[i];
  return value;
#endif
}

inline void storePart(float *to, Vector value, int64_t count) {
#if defined(__AVX512VL__)
  using Plain = float __attribute__((vector_size(64)));
  __builtin_ia32_storeups512_mask(to, __builtin_bit_cast(Plain, value), static_cast<uint16_t>((1u << count) - 1));
#else
  // Some processors take long for stores with a mask.
  for (int i = 0; i < kWidth; ++i)
    if (i < count)
      to[i] = value[i];
#endif
}

/// The first `count` <= kWidth numbers in bf16, the others zero.
inline Vector loadWidened(const uint16_t *from, int64_t count) {
  using Bits = uint32_t __attribute__((ext_vector_type(kWidth)));
  using Halves = uint16_t __attribute__((ext_vector_type(kWidth)));
  Halves halves = {};
#if defined(__AVX512VL__) && defined(__AVX512BW__)
  if (count < kWidth) {
    using Plain = short __attribute__((vector_size(32)));
    halves = __builtin_bit_cast(Halves, __builtin_ia32_loaddquhi256_mask(reinterpret_cast<const Plain *>(from), Plain{}, static_cast<uint16_t>((1u << count) - 1)));
    return __builtin_bit_cast(Vector, __builtin_convertvector(halves, Bits) << 16);
  }
#endif
  if (count >= kWidth)
    __builtin_memcpy(&halves, from, sizeof halves);
  else
    for (int i = 0; i < kWidth; ++i)
      if (i < count)
        halves[i] = from[i];
  return __builtin_bit_cast(Vector, __builtin_convertvector(halves, Bits) << 16);
}

/// The greater of each number and zero, which has no sign; NaNs stay.
inline Vector positive(Vector value) {
#if defined(__AVX512F__)
  // One instruction that says for each kind of number what becomes of it: zero (8) of zeros, of the negative infinity and of negative numbers.
  using Lanes = float __attribute__((vector_size(64)));
  using Table = int __attribute__((vector_size(64)));
  constexpr int kKinds = 0x08080800, kWholeMask = 0xffff, kCurrentRounding = 4;
  auto lanes = static_cast<Lanes>(value);
  return static_cast<Vector>(__builtin_ia32_fixupimmps512_mask(lanes, lanes, Table{} + kKinds, 0, static_cast<uint16_t>(kWholeMask), kCurrentRounding));
#else
  // The maximum is one instruction that gives its second operand where one is a NaN, and where both are zeros: the sum makes the positive
  // one of them, and leaves all else.
  Vector zero = {};
  return (zero > value ? zero : value) + zero;
#endif
}

#if defined(__AVX512VL__)
inline HalfVector loadHalfPart(const float *from, int64_t count) {
  using Plain = float __attribute__((vector_size(32)));
  return __builtin_bit_cast(HalfVector, __builtin_ia32_loadups256_mask(reinterpret_cast<const Plain *>(from), Plain{}, static_cast<uint8_t>((1u << count) - 1)));
}
inline void storePart(float *to, HalfVector value, int64_t count) {
  using Plain = float __attribute__((vector_size(32)));
  __builtin_ia32_storeups256_mask(reinterpret_cast<Plain *>(to), __builtin_bit_cast(Plain, value), static_cast<uint8_t>((1u << count) - 1));
}
#endif

} // namespace
} // namespace cupel::kernels
