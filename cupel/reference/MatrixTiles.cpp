#include "cupel/reference/MatrixTiles.h"

#include "cupel/tensor/Float.h"

#include <cstring>

// Products and sums are rounded one by one, whatever the target could fuse.
#pragma clang fp contract(off)

namespace cupel::reference {
namespace {

using tensor::DType;

template <typename T, int bytes> struct VectorOf {
  typedef T type __attribute__((vector_size(bytes)));
};

/// `kRows` rows of two vectors each.
template <typename T, int bytes, int kRows, bool fused>
[[gnu::always_inline]] inline void vectorTile(int64_t depth, const T *a, const T *b, T *c,
                                              int64_t stride, bool adds) {
  using Vector = typename VectorOf<T, bytes>::type;
  constexpr int lanes = bytes / sizeof(T);
  Vector sums[kRows][2] = {};
  if (adds) {
#pragma clang loop unroll(full)
    for (int i = 0; i < kRows; ++i)
      std::memcpy(sums[i], c + i * stride, 2 * bytes);
  }
  for (int64_t k = 0; k < depth; ++k) {
    Vector right[2];
    std::memcpy(right, b, 2 * bytes);
#pragma clang loop unroll(full)
    for (int i = 0; i < kRows; ++i) {
      Vector left = a[i] - Vector{}; // the same in all lanes; subtracting zero keeps -0
      if constexpr (fused) {
        sums[i][0] = __builtin_elementwise_fma(left, right[0], sums[i][0]);
        sums[i][1] = __builtin_elementwise_fma(left, right[1], sums[i][1]);
      } else {
        sums[i][0] = sums[i][0] + left * right[0];
        sums[i][1] = sums[i][1] + left * right[1];
      }
    }
    a += kRows;
    b += 2 * lanes;
  }
#pragma clang loop unroll(full)
  for (int i = 0; i < kRows; ++i)
    std::memcpy(c + i * stride, sums[i], 2 * bytes);
}

// 16 vector registers hold 6 x 2 sums and the operands; 32 hold 12 x 2.
constexpr int kFewRows = 6, kManyRows = 12;

template <typename T>
void portableTile(int64_t depth, const T *a, const T *b, T *c, int64_t stride, bool adds) {
  vectorTile<T, 16, kFewRows, false>(depth, a, b, c, stride, adds);
}

#if defined(__x86_64__)
template <typename T, bool fused>
__attribute__((target("avx2,fma"))) void avx2Tile(int64_t depth, const T *a, const T *b, T *c,
                                                  int64_t stride, bool adds) {
  vectorTile<T, 32, kFewRows, fused>(depth, a, b, c, stride, adds);
}
template <typename T, bool fused>
__attribute__((target("avx512f,avx512dq,fma"))) void avx512Tile(int64_t depth, const T *a,
                                                                const T *b, T *c, int64_t stride,
                                                                bool adds) {
  vectorTile<T, 64, kManyRows, fused>(depth, a, b, c, stride, adds);
}
#endif

template <typename T, bool mayFuse> MatrixTile<T> chooseTile() {
#if defined(__x86_64__)
  constexpr int lane = sizeof(T);
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq"))
    return {kManyRows, 128 / lane, avx512Tile<T, mayFuse>};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return {kFewRows, 64 / lane, avx2Tile<T, mayFuse>};
#endif
  return {kFewRows, 32 / static_cast<int>(sizeof(T)), portableTile<T>};
}

template <DType type> float rounded(float value) {
  return tensor::toFloat<type>(tensor::fromFloat<type>(value));
}

constexpr int kNarrowRows = 4, kNarrowColumns = 32;

template <DType type>
[[gnu::always_inline]] inline void narrowRows(int64_t depth, const float *a, const float *b,
                                              float *c, int64_t stride, bool adds) {
  for (int i = 0; i < kNarrowRows; ++i) {
    float sums[kNarrowColumns] = {};
    if (adds)
      std::memcpy(sums, c + i * stride, sizeof sums);
    for (int64_t k = 0; k < depth; ++k) {
      float left = a[k * kNarrowRows + i];
      const float *right = b + k * kNarrowColumns;
      for (int j = 0; j < kNarrowColumns; ++j)
        sums[j] = rounded<type>(sums[j] + rounded<type>(left * right[j]));
    }
    std::memcpy(c + i * stride, sums, sizeof sums);
  }
}

template <DType type>
void portableNarrowTile(int64_t depth, const float *a, const float *b, float *c, int64_t stride,
                        bool adds) {
  narrowRows<type>(depth, a, b, c, stride, adds);
}
#if defined(__x86_64__)
template <DType type>
__attribute__((target("avx2"))) void avx2NarrowTile(int64_t depth, const float *a, const float *b,
                                                    float *c, int64_t stride, bool adds) {
  narrowRows<type>(depth, a, b, c, stride, adds);
}
template <DType type>
__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl"))) void
avx512NarrowTile(int64_t depth, const float *a, const float *b, float *c, int64_t stride, bool adds) {
  narrowRows<type>(depth, a, b, c, stride, adds);
}
#endif

template <DType type> MatrixTile<float> chooseNarrowTile() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    return {kNarrowRows, kNarrowColumns, avx512NarrowTile<type>};
  if (__builtin_cpu_supports("avx2"))
    return {kNarrowRows, kNarrowColumns, avx2NarrowTile<type>};
#endif
  return {kNarrowRows, kNarrowColumns, portableNarrowTile<type>};
}

} // namespace

MatrixTile<float> floatTile() { return chooseTile<float, false>(); }
MatrixTile<float> exactFloatTile() { return chooseTile<float, true>(); }
MatrixTile<double> doubleTile() { return chooseTile<double, false>(); }
MatrixTile<double> exactProductTile() { return chooseTile<double, true>(); }
MatrixTile<uint32_t> integerTile() { return chooseTile<uint32_t, false>(); }

MatrixTile<float> narrowTile(DType type) {
  return tensor::dispatch(type, []<DType t>() -> MatrixTile<float> {
    if constexpr (tensor::isNarrowFloat(t) && !tensor::isRareFloat(t))
      return chooseNarrowTile<t>();
    else
      return {};
  });
}

} // namespace cupel::reference
