// Copies of matrices in bf16 into the order that products read: pairs of neighbours of the depth
// where the processor multiplies them, f32 elsewhere; and f32 rounded to bf16. Included by the files
// compiled for one instruction set.

#pragma once

#include "cupel/kernels/Simd.h"

namespace cupel::kernels {
namespace {

inline float widen(uint16_t value) {
  return __builtin_bit_cast(float, static_cast<uint32_t>(value) << 16);
}

/// The pair of elements k and k + 1 of a column or row; behind the last one there is zero.
inline float pairOf(const uint16_t *from, int64_t stride, int64_t k, int64_t depth) {
  uint32_t low = from[k * stride], high = k + 1 < depth ? from[(k + 1) * stride] : 0;
  return __builtin_bit_cast(float, low | high << 16);
}

void packPairs(const uint16_t *b, int64_t rowStride, int64_t columnStride, int64_t depth,
               int64_t columns, int64_t width, float *panel) {
  for (int64_t k = 0; k < depth; k += 2, panel += width)
    for (int64_t j = 0; j < width; ++j)
      panel[j] = j < columns ? pairOf(b + j * columnStride, rowStride, k, depth) : 0.0f;
}

void packWidened(const uint16_t *b, int64_t rowStride, int64_t columnStride, int64_t depth,
                 int64_t columns, int64_t width, float *panel) {
  for (int64_t k = 0; k < depth; ++k, panel += width)
    for (int64_t j = 0; j < width; ++j)
      panel[j] = j < columns ? widen(b[k * rowStride + j * columnStride]) : 0.0f;
}

void copyPairs(const uint16_t *from, int64_t rowStride, int64_t columnStride, int64_t rows,
               int64_t columns, float *to, int64_t toStride) {
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; c += 2)
      to[r * toStride + c / 2] = pairOf(from + r * rowStride, columnStride, c, columns);
}

void copyWidened(const uint16_t *from, int64_t rowStride, int64_t columnStride, int64_t rows,
                 int64_t columns, float *to, int64_t toStride) {
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c)
      to[r * toStride + c] = widen(from[r * rowStride + c * columnStride]);
}

void widenRows(const uint16_t *from, int64_t rowStride, int64_t rows, int64_t columns, float *to, int64_t toStride) {
  using Halves = uint16_t __attribute__((ext_vector_type(kWidth)));
  using Bits = uint32_t __attribute__((ext_vector_type(kWidth)));
  for (int64_t r = 0; r < rows; ++r, from += rowStride, to += toStride) {
    int64_t c = 0;
    for (; c + kWidth <= columns; c += kWidth) {
      Halves halves;
      __builtin_memcpy(&halves, from + c, sizeof halves);
      store(to + c, __builtin_bit_cast(Vector, __builtin_convertvector(halves, Bits) << 16));
    }
    for (; c < columns; ++c)
      to[c] = widen(from[c]);
  }
}

/// To the nearest, ties to even, in the upper half; NaN stays one.
inline uint32_t roundedBits(float value) {
  auto bits = __builtin_bit_cast(uint32_t, value);
  uint32_t rounded = bits + 0x7fff + (bits >> 16 & 1);
  return (value != value ? bits | 0x400000 : rounded) & 0xffff0000;
}

void roundToBf16(const float *from, int64_t count, uint16_t *to) {
  int64_t i = 0;
#if defined(__AVX512BF16__)
  for (; i + kWidth <= count; i += kWidth) {
    using Floats = float __attribute__((vector_size(kWidth * 4)));
    using Halves = __bf16 __attribute__((vector_size(kWidth * 2)));
    Halves halves = __builtin_ia32_cvtneps2bf16_512_mask(
        __builtin_bit_cast(Floats, load(from + i)), Halves{}, static_cast<unsigned short>(0xffff));
    __builtin_memcpy(to + i, &halves, sizeof halves);
  }
#endif
  for (; i < count; ++i)
    to[i] = static_cast<uint16_t>(roundedBits(from[i]) >> 16);
}

void roundFloats(const float *from, int64_t count, float *to) {
  for (int64_t i = 0; i < count; ++i)
    to[i] = __builtin_bit_cast(float, roundedBits(from[i]));
}

} // namespace
} // namespace cupel::kernels
