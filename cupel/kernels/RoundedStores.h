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

/// Rows of a block, of whose last vectors `count` elements are there.
template <int rows, int vectors>
[[gnu::always_inline]] inline void storeRounded(const Vector (&sums)[rows][vectors], uint16_t *to, int64_t stride, int64_t count) {
#if defined(__AVX512BF16__)
  // The instruction takes denormal numbers for zero, which hardly any block has.
  using Floats = float __attribute__((vector_size(kWidth * 4)));
  using Halves = __bf16 __attribute__((vector_size(kWidth * 2)));
  constexpr int kDenormal = 0x20;
  constexpr unsigned short kAll = 0xffff;
  unsigned denormal = 0;
#pragma unroll
  for (int i = 0; i < rows; ++i)
#pragma unroll
    for (int j = 0; j < vectors; ++j)
      denormal |= __builtin_ia32_fpclassps512_mask(__builtin_bit_cast(Floats, sums[i][j]), kDenormal, kAll);
  if (__builtin_expect(denormal == 0 && count == kWidth, 1)) {
#pragma unroll
    for (int i = 0; i < rows; ++i)
#pragma unroll
      for (int j = 0; j < vectors; ++j) {
        Halves halves = __builtin_ia32_cvtneps2bf16_512_mask(__builtin_bit_cast(Floats, sums[i][j]), Halves{}, kAll);
        __builtin_memcpy(to + i * stride + j * kWidth, &halves, sizeof halves);
      }
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
