// Instructions that add products of four bytes, or of two 16-bit integers, to 32-bit sums that wrap around: AVX512_VNNI's,
// or AVX_VNNI's on processors with AVX2. Included by the files compiled for one instruction set.

#pragma once

#include "cupel/kernels/Simd.h"

#if defined(__AVX512VNNI__) || defined(__AVXVNNI__)
#define CUPEL_HAS_VNNI 1
#else
#define CUPEL_HAS_VNNI 0
#endif

#if CUPEL_HAS_VNNI
namespace cupel::kernels {
namespace {

using VnniVector = int __attribute__((vector_size(kWidth * 4)));

/// The bytes of `a` have no sign, those of `b` have one.
inline VnniVector addByteProducts(VnniVector sums, VnniVector a, VnniVector b) {
#if defined(__AVX512VNNI__)
  return __builtin_ia32_vpdpbusd512(sums, a, b);
#else
  return __builtin_ia32_vpdpbusd256(sums, a, b);
#endif
}

inline VnniVector addPairProducts(VnniVector sums, VnniVector a, VnniVector b) {
#if defined(__AVX512VNNI__)
  return __builtin_ia32_vpdpwssd512(sums, a, b);
#else
  return __builtin_ia32_vpdpwssd256(sums, a, b);
#endif
}

} // namespace
} // namespace cupel::kernels
#endif
