// The innermost loops of products and convolutions: a tile of a few rows times a few vectors of
// columns is kept in registers while the depth goes by. Rows of the left side are reached through
// pointers, so a row may be a matrix's row, a pixel's channels or a row of zeros where there is
// padding. Each element is one chain of multiply-adds in the order of the depth: neither the shape
// of tiles nor where the depth is cut can be seen in results.

#pragma once

#include "cupel/kernels/FinishKernels.h"
#include "cupel/kernels/KernelTable.h"
#include "cupel/kernels/Simd.h"
#include "cupel/kernels/Vnni.h"

namespace cupel::kernels {
namespace {

/// The most rows of a tile of [vectors - 1]: as many sums as registers hold beside the row's factor and a row of the panel.
constexpr int kTileRows[kMostTileVectors] = {kWidth == 16 ? 16 : 8, kWidth == 16 ? 12 : kWidth == 8 ? 6 : 5,
                                             kWidth == 16 ? 8 : 4, kWidth == 16 ? 6 : 0};

/// What most steps have in common: they are done in one part, and sums are floats.
struct WholeStep {
  static constexpr int kParts = 1;
  static constexpr bool kHasFloats = true; // For sums.
  static constexpr bool kReadsLeft = false; // `multiplyAddFrom` is there, and better where a number
                                            // of the left side is needed once.
  static Vector left(Vector a, int) { return a; }
  static Vector right(Vector b, int) { return b; }
  static Vector add(Vector sum, Vector bias) { return sum + bias; }
};

/// A step of the depth is one element of each side ...
struct FloatStep : WholeStep {
  static Vector multiplyAdd(Vector sum, Vector a, Vector b) { return sum + a * b; }
};

#if defined(__AVX512BF16__)
/// ... or two neighbours in bf16, which take the place of one.
struct PairStep : WholeStep {
  static Vector multiplyAdd(Vector sum, Vector a, Vector b) {
    using Pairs = __bf16 __attribute__((vector_size(kWidth * 4)));
    using Sums = float __attribute__((vector_size(kWidth * 4)));
    return __builtin_bit_cast(Vector, __builtin_ia32_dpbf16ps_512(__builtin_bit_cast(Sums, sum),
                                                                 __builtin_bit_cast(Pairs, a),
                                                                 __builtin_bit_cast(Pairs, b)));
  }

  /// The compiler knows no form of the instruction that reads one pair for all: it would load it
  /// into a vector of its own, for which there are too few loads.
  static constexpr bool kReadsLeft = true;
  static void multiplyAddFrom(Vector &sum, const float *a, Vector b) {
    asm("vdpbf16ps %2%{1to16%}, %1, %0" : "+v"(sum) : "v"(b), "m"(*a));
  }
};
#endif

/// ... or two neighbours in 16-bit integers, whose sums are 32-bit ones.
struct IntegerPairStep : WholeStep {
  static constexpr bool kHasFloats = false;
  using Wrapping = unsigned __attribute__((vector_size(kWidth * 4)));
  using Pairs = short __attribute__((vector_size(kWidth * 4)));
  using Sums = int __attribute__((vector_size(kWidth * 4)));

  static Vector multiplyAdd(Vector sum, Vector a, Vector b) {
#if CUPEL_HAS_VNNI
    return __builtin_bit_cast(Vector, addPairProducts(__builtin_bit_cast(Sums, sum), __builtin_bit_cast(Sums, a),
                                                      __builtin_bit_cast(Sums, b)));
#else
    auto left = __builtin_bit_cast(Pairs, a), right = __builtin_bit_cast(Pairs, b);
#if defined(__AVX512BW__)
    auto both = __builtin_bit_cast(Wrapping, __builtin_ia32_pmaddwd512(left, right));
#elif defined(__AVX2__)
    auto both = __builtin_bit_cast(Wrapping, __builtin_ia32_pmaddwd256(left, right));
#elif defined(__SSE2__)
    auto both = __builtin_bit_cast(Wrapping, __builtin_ia32_pmaddwd128(left, right));
#else
    auto wideLeft = __builtin_bit_cast(Sums, a), wideRight = __builtin_bit_cast(Sums, b);
    auto low = __builtin_bit_cast(Wrapping, wideLeft << 16 >> 16) *
               __builtin_bit_cast(Wrapping, wideRight << 16 >> 16);
    auto both = low + __builtin_bit_cast(Wrapping, wideLeft >> 16) *
                          __builtin_bit_cast(Wrapping, wideRight >> 16);
#endif
    return __builtin_bit_cast(Vector, __builtin_bit_cast(Wrapping, sum) + both);
#endif
  }

  static Vector add(Vector sum, Vector bias) {
    return __builtin_bit_cast(Vector, __builtin_bit_cast(Wrapping, sum) + __builtin_bit_cast(Wrapping, bias));
  }
};

/// ... or four neighbouring bytes, A's without sign and B's with one. A's that have a sign are multiplied as if each
/// were greater by 128. Without an instruction for it, the even and the odd ones are pairs: those that multiply bytes
/// with sums of 16 bits saturate.
template <bool isSigned> struct ByteStep : IntegerPairStep {
#if CUPEL_HAS_VNNI
  static constexpr int kParts = 1;
#else
  static constexpr int kParts = 2;
#endif

  static Vector left(Vector a, int part) {
    auto bytes = __builtin_bit_cast(Wrapping, a);
    if constexpr (isSigned)
      bytes ^= 0x80808080u;
    if constexpr (kParts == 2)
      bytes = (part == 0 ? bytes : bytes >> 8) & 0x00ff00ffu;
    return __builtin_bit_cast(Vector, bytes);
  }

  static Vector right(Vector b, int part) {
    if constexpr (kParts == 1)
      return b;
    auto bytes = __builtin_bit_cast(Pairs, b);
    return __builtin_bit_cast(Vector, part == 0 ? bytes << 8 >> 8 : bytes >> 8);
  }

  static Vector multiplyAdd(Vector sum, Vector a, Vector b) {
#if CUPEL_HAS_VNNI
    return __builtin_bit_cast(Vector, addByteProducts(__builtin_bit_cast(Sums, sum), __builtin_bit_cast(Sums, a),
                                                      __builtin_bit_cast(Sums, b)));
#else
    return IntegerPairStep::multiplyAdd(sum, a, b);
#endif
  }
};

inline Vector splatFrom(const float *from) {
  float value;
  __builtin_memcpy(&value, from, sizeof value); // Rows of pairs may lie on odd places.
  return splat(value);
}

/// One tap: `depth` steps from `right` on, whose rows are `rightStride` apart.
template <typename Step, int rows, int vectors, bool fetchesNext>
inline void addTap(Vector (&sums)[rows][vectors], const float *(&left)[rows], const float *right,
                   int64_t rightStride, int64_t depth, const char *next, int64_t nextStep) {
  auto step = [&](int64_t k) __attribute__((always_inline)) {
    if constexpr (fetchesNext) {
      __builtin_prefetch(next, 0, 2);
      next += nextStep;
    }
#pragma unroll
    for (int part = 0; part < Step::kParts; ++part) {
      Vector b[vectors];
#pragma unroll
      for (int j = 0; j < vectors; ++j)
        b[j] = Step::right(load(right + j * kWidth), part);
#pragma unroll
      for (int i = 0; i < rows; ++i) {
        if constexpr (vectors == 1 && Step::kReadsLeft) {
          Step::multiplyAddFrom(sums[i][0], left[i] + k, b[0]);
          continue;
        }
        Vector a = Step::left(splatFrom(left[i] + k), part);
#pragma unroll
        for (int j = 0; j < vectors; ++j)
          sums[i][j] = Step::multiplyAdd(sums[i][j], a, b[j]);
      }
    }
    right += rightStride;
  };
  int64_t k = 0;
#pragma clang loop unroll(disable)
  for (; k + 1 < depth; k += 2) {
    // Compilers would advance a pointer for each row instead, and there are more of them than registers.
    asm("" : "+r"(k));
    step(k);
    step(k + 1);
  }
  if (k < depth)
    step(k);
}

/// Results that are wider than caches, and what is added to them, arrive while the depth goes by: tiles touch a piece of each of some rows,
/// which no prefetcher follows.
template <int rows, int vectors>
[[gnu::always_inline]] inline void fetchEnds(const Tile &tile, const float *c, int64_t row) {
  if (tile.finish && tile.finish->narrow) {
    const uint16_t *to = tile.finish->narrow + row * tile.finish->narrowStride + tile.column;
#pragma unroll
    for (int i = 0; i < rows; ++i)
#pragma unroll
      for (int j = 0; j < vectors; j += 2)
        fetchToWrite(to + i * tile.finish->narrowStride + j * kWidth);
  } else if (!tile.accumulate) {
#pragma unroll
    for (int i = 0; i < rows; ++i)
#pragma unroll
      for (int j = 0; j < vectors; ++j)
        fetchToWrite(c + i * tile.ldc + j * kWidth);
  }
  auto fetchRows = [&](const auto *all) __attribute__((always_inline)) {
    constexpr int kVectorsOfLine = 4 / sizeof *all;
    const auto *from = all + row * tile.finish->rowStride + tile.column;
#pragma unroll
    for (int i = 0; i < rows; ++i)
#pragma unroll
      for (int j = 0; j < vectors; j += kVectorsOfLine)
        fetch(from + i * tile.finish->rowStride + j * kWidth);
  };
  if (tile.finish && tile.finish->rows)
    fetchRows(tile.finish->rows);
  if (tile.finish && tile.finish->narrowRows)
    fetchRows(tile.finish->narrowRows);
}

/// Tiles below each other. What lies between the multiplications of one and of the next must be few
/// instructions: a processor looks a few hundred of them ahead, and multiplies nothing while there
/// is no multiplication among these.
template <typename Step, int rows, int vectors> void computeTile(const Tile &given) {
  const Tile tile = given; // A copy that stores cannot change.
  const int64_t count = tile.ragged ? tile.ragged : kWidth; // Of the last vectors.
  auto get = [&](const float *from, int j) __attribute__((always_inline)) {
    return j + 1 < vectors ? load(from + j * kWidth) : loadPart(from + j * kWidth, count);
  };
  // Those of shallow tiles would not arrive in time.
  constexpr int64_t kShallow = 48;
  const bool fetches = tile.taps * tile.depth >= kShallow;
  const char *next = tile.next;
  float *c = tile.c;
  int64_t row = tile.row;
  const float *const *from = tile.rows;
#pragma clang loop unroll(disable)
  for (int64_t below = 0; below < tile.below;
       ++below, c += rows * tile.ldc, row += rows, from += rows) {
    Vector sums[rows][vectors];
    if (fetches)
      fetchEnds<rows, vectors>(tile, c, row);
    if (tile.accumulate) {
#pragma unroll
      for (int i = 0; i < rows; ++i)
#pragma unroll
        for (int j = 0; j < vectors; ++j)
          sums[i][j] = get(c + i * tile.ldc, j);
    } else {
#pragma unroll
      for (int i = 0; i < rows; ++i)
#pragma unroll
        for (int j = 0; j < vectors; ++j)
          sums[i][j] = Vector{};
    }
    for (int64_t tap = 0; tap < tile.taps; ++tap) {
      const float *left[rows];
#pragma unroll
      for (int i = 0; i < rows; ++i)
        left[i] = from[tap * tile.rowsPerTap + i] + tile.offset;
      const float *right = tile.b + (tile.tapIndices ? tile.tapIndices[tap] * tile.tapStride : 0);
      if (tile.nextStep) {
        addTap<Step, rows, vectors, true>(sums, left, right, tile.bStride, tile.depth, next,
                                          tile.nextStep);
        next += tile.nextStep * tile.depth;
      } else {
        addTap<Step, rows, vectors, false>(sums, left, right, tile.bStride, tile.depth, nullptr, 0);
      }
    }
    if (tile.bias) {
      Vector bias[vectors];
#pragma unroll
      for (int j = 0; j < vectors; ++j)
        bias[j] = get(tile.bias, j);
#pragma unroll
      for (int i = 0; i < rows; ++i)
#pragma unroll
        for (int j = 0; j < vectors; ++j)
          sums[i][j] = Step::add(sums[i][j], bias[j]);
    }
    putSums(sums, Step::kHasFloats ? tile.finish : nullptr, row, tile.column, count, c, tile.ldc);
  }
}

} // namespace
} // namespace cupel::kernels
