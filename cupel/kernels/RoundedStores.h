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
/// block has.
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

/// A row without denormal numbers: two vectors at a time, as many as there are.
template <int vectors>
[[gnu::always_inline]] inline void storeNormal(uint16_t *to, const Vector (&values)[vectors]) {
  using Floats = float __attribute__((vector_size(kWidth * 4)));
  using Halves = __bf16 __attribute__((vector_size(kWidth * 2)));
  using Pair = __bf16 __attribute__((vector_size(kWidth * 4)));
#pragma unroll
  for (int j = 0; j + 1 < vectors; j += 2) {
    Pair pair = __builtin_ia32_cvtne2ps2bf16_512(__builtin_bit_cast(Floats, values[j + 1]),
                                                 __builtin_bit_cast(Floats, values[j]));
    __builtin_memcpy(to + j * kWidth, &pair, sizeof pair);
  }
  if constexpr (vectors % 2 == 1) {
    Halves halves =
        __builtin_ia32_cvtneps2bf16_512_mask(__builtin_bit_cast(Floats, values[vectors - 1]),
                                             Halves{}, static_cast<unsigned short>(0xffff));
    __builtin_memcpy(to + (vectors - 1) * kWidth, &halves, sizeof halves);
  }
}
#endif

/// Rows of a block, of whose last vectors `count` elements are there.
template <int rows, int vectors>
[[gnu::always_inline]] inline void storeRounded(const Vector (&sums)[rows][vectors], uint16_t *to, int64_t stride, int64_t count) {
#if defined(__AVX512BF16__)
  DenormalNumbers found;
#pragma unroll
  for (int i = 0; i < rows; ++i)
#pragma unroll
    for (int j = 0; j < vectors; ++j)
      found.lookAt(sums[i][j]);
  if (!found.any() && count == kWidth) {
#pragma unroll
    for (int i = 0; i < rows; ++i)
      storeNormal(to + i * stride, sums[i]);
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
