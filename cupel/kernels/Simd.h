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
inline void fetch(const float *from) { __builtin_prefetch(from, 0, 3); }
inline void fetchToWrite(const float *to) { __builtin_prefetch(to, 1, 3); }

/// A sum at the end: plus the bias, where there is one.
inline Vector finished(Vector sum, const float *bias) {
  return bias ? sum + load(bias) : sum;
}

/// The first `count` < kWidth elements, the others zero; reads nothing behind them.
inline Vector loadPart(const float *from, int64_t count) {
  Vector value = {};
  for (int i = 0; i < kWidth; ++i)
    if (i < count)
      value[i] = from[i];
  return value;
}

inline void storePart(float *to, Vector value, int64_t count) {
  for (int i = 0; i < kWidth; ++i)
    if (i < count)
      to[i] = value[i];
}

} // namespace
} // namespace cupel::kernels
