// Blocks of sums that leave the registers as bf16. Included by the files compiled for one instruction set.

#pragma once

#include "cupel/kernels/Simd.h"

namespace cupel::kernels {
namespace {

/// The first `count` numbers of a vector, to the nearest, ties to even; denormal ones are rounded as others are, and NaN stays one.
inline void storeRounded(uint16_t *to, Vector value, int64_t count) {
  using Bits = uint32_t __attribute__((ext_vector_type(kWidth)));
  using Halves = uint16_t __attribute__((ext_vector_type(kWidth)));
  auto bits = __builtin_bit_cast(Bits, value);
  Bits rounded = bits + 0x7fff + (bits >> 16 & 1);
  rounded = value != value ? bits | 0x400000 : rounded;
  Halves halves = __builtin_convertvector(rounded >> 16, Halves);
  if (count >= kWidth)
    __builtin_memcpy(to, &halves, sizeof halves);
  else
    for (int i = 0; i < kWidth; ++i)
      if (i < count)
        to[i] = halves[i];
}

#if defined(__AVX512BF16__)
/// The processor's instructions that round to bf16 take denormal numbers for zero, which hardly any
/// block has. What is rounded is looked at, unless they may be lost (Finish::losesDenormals).
class DenormalNumbers {
public:
  [[gnu::always_inline]] void lookAt(Vector value) {
    using Floats = float __attribute__((vector_size(kWidth * 4)));
    constexpr int kDenormal = 0x20;
    found |= __builtin_ia32_fpclassps512_mask(__builtin_bit_cast(Floats, value), kDenormal,
                                              static_cast<unsigned short>(0xffff));
  }
  [[gnu::always_inline]] bool any() const { return __builtin_expect(found != 0, 0); }

private:
  unsigned found = 0;
};

/// The first `count` of a vector's numbers.
[[gnu::always_inline]] inline void storePart(uint16_t *to, __bf16 __attribute__((vector_size(kWidth * 2))) halves, int64_t count) {
  using Shorts = short __attribute__((vector_size(kWidth * 2)));
  __builtin_ia32_storedquhi256_mask(reinterpret_cast<Shorts *>(to), __builtin_bit_cast(Shorts, halves), static_cast<uint16_t>((1u << count) - 1));
}

/// A row without denormal numbers, or whose denormal numbers may become zero: two vectors at a time, as many as there are. Of the
/// last one, `count` elements are there.
template <int vectors>
[[gnu::always_inline]] inline void storeNormal(uint16_t *to, const Vector (&values)[vectors], int64_t count) {
  using Floats = float __attribute__((vector_size(kWidth * 4)));
  using Halves = __bf16 __attribute__((vector_size(kWidth * 2)));
  using Pair = __bf16 __attribute__((vector_size(kWidth * 4)));
  auto halvesOf = [](Vector value) __attribute__((always_inline)) {
    return __builtin_ia32_cvtneps2bf16_512_mask(__builtin_bit_cast(Floats, value), Halves{}, static_cast<unsigned short>(0xffff));
  };
  constexpr int kLast = vectors - 1;
  const bool isWhole = count == kWidth;
#pragma unroll
  for (int j = 0; j + 1 < vectors; j += 2) {
    if (j + 1 == kLast && !isWhole) {
      const Halves halves = halvesOf(values[j]);
      __builtin_memcpy(to + j * kWidth, &halves, sizeof halves);
      break;
    }
    Pair pair = __builtin_ia32_cvtne2ps2bf16_512(__builtin_bit_cast(Floats, values[j + 1]),
                                                 __builtin_bit_cast(Floats, values[j]));
    __builtin_memcpy(to + j * kWidth, &pair, sizeof pair);
  }
  if (vectors % 2 == 0 && isWhole)
    return;
  const Halves halves = halvesOf(values[kLast]);
  if (isWhole)
    __builtin_memcpy(to + kLast * kWidth, &halves, sizeof halves);
  else
    storePart(to + kLast * kWidth, halves, count);
}
#endif

/// Rows of a block, of whose last vectors `count` elements are there. Denormal numbers become zero where that is allowed and the
/// processor does it by the way.
template <int rows, int vectors>
[[gnu::always_inline]] inline void storeRounded(const Vector (&sums)[rows][vectors], uint16_t *to, int64_t stride, int64_t count,
                                                [[maybe_unused]] bool losesDenormals) {
#if defined(__AVX512BF16__)
  DenormalNumbers found;
  if (!losesDenormals) {
#pragma unroll
    for (int i = 0; i < rows; ++i)
#pragma unroll
      for (int j = 0; j < vectors; ++j)
        found.lookAt(sums[i][j]);
  }
  if (!found.any()) {
#pragma unroll
    for (int i = 0; i < rows; ++i)
      storeNormal(to + i * stride, sums[i], count);
    return;
  }
#endif
#pragma unroll
  for (int i = 0; i < rows; ++i)
#pragma unroll
    for (int j = 0; j < vectors; ++j)
      storeRounded(to + i * stride + j * kWidth, sums[i][j], j + 1 < vectors ? kWidth : count);
}

} // namespace
} // namespace cupel::kernels
