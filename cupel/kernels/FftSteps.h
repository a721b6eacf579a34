// The steps of Fourier transforms, compiled for the instruction set of the file that includes it
// (FftBaseline.cpp, FftV3.cpp, FftV4.cpp). Nobody else may include it. Every number of a line goes
// through the same operations whatever lies in the lanes beside it.

#pragma once

#include "cupel/kernels/FftKernels.h"
#include "cupel/kernels/Simd.h"

#include <cstddef>
#include <utility>

namespace cupel::kernels {
namespace {

#define CUPEL_INLINE [[gnu::always_inline]] inline

template <typename T> constexpr int kLanesOf = kWidth * int(sizeof(float)) / int(sizeof(T));
template <typename T, int lanes>
using VectorOf __attribute__((vector_size(lanes * sizeof(T)))) = T;

template <typename T> struct Steps {
  static constexpr int L = kLanesOf<T>;
  using V = VectorOf<T, L>;
  using Lanes = std::make_index_sequence<L>;

  CUPEL_INLINE static V load(const T *from) {
    V value;
    __builtin_memcpy(&value, from, sizeof(V));
    return value;
  }
  CUPEL_INLINE static void store(T *to, V value) { __builtin_memcpy(to, &value, sizeof(V)); }

  template <std::size_t... I>
  CUPEL_INLINE static void takeApart(V a, V b, V &re, V &im, std::index_sequence<I...>) {
    re = __builtin_shufflevector(a, b, (2 * I)...);
    im = __builtin_shufflevector(a, b, (2 * I + 1)...);
  }
  template <std::size_t... I>
  CUPEL_INLINE static void putTogether(V re, V im, V &a, V &b, std::index_sequence<I...>) {
    a = __builtin_shufflevector(re, im, (I % 2 * L + I / 2)...);
    b = __builtin_shufflevector(re, im, (I % 2 * L + I / 2 + L / 2)...);
  }
  template <std::size_t... I> CUPEL_INLINE static V reversed(V v, std::index_sequence<I...>) {
    return __builtin_shufflevector(v, v, (L - 1 - I)...);
  }
  CUPEL_INLINE static void loadPairs(const T *from, V &re, V &im) {
    takeApart(load(from), load(from + L), re, im, Lanes());
  }
  CUPEL_INLINE static void storePairs(T *to, V re, V im) {
    V a, b;
    putTogether(re, im, a, b, Lanes());
    store(to, a);
    store(to + L, b);
  }

  /// Changes halves of blocks of 2 h lanes between rows i and i + h.
  template <int h, std::size_t... I>
  CUPEL_INLINE static void exchange(V &a, V &b, std::index_sequence<I...>) {
    V low = __builtin_shufflevector(a, b, (I & h ? L + I - h : I)...);
    b = __builtin_shufflevector(a, b, (I & h ? L + I : I + h)...);
    a = low;
  }
  template <int h = 1> CUPEL_INLINE static void transpose(V *rows) {
    if constexpr (h < L) {
#pragma clang loop unroll(full)
      for (int i = 0; i < L; ++i)
        if ((i & h) == 0)
          exchange<h>(rows[i], rows[i + h], Lanes());
      transpose<2 * h>(rows);
    }
  }

  /// Number e of each lane, `step` apart: parts by themselves, or pairs.
  struct Apart {
    T *re, *im;
    int64_t step;
    CUPEL_INLINE void get(int64_t e, V &r, V &i) const {
      r = load(re + e * step);
      i = load(im + e * step);
    }
    CUPEL_INLINE void put(int64_t e, V r, V i) const {
      store(re + e * step, r);
      store(im + e * step, i);
    }
  };
  struct Paired {
    T *numbers;
    int64_t step;
    T scale, imScale;
    CUPEL_INLINE void get(int64_t e, V &r, V &i) const {
      loadPairs(numbers + e * step, r, i);
      i *= imScale;
    }
    CUPEL_INLINE void put(int64_t e, V r, V i) const {
      storePairs(numbers + e * step, r * scale, i * imScale);
    }
  };

  CUPEL_INLINE static void butterfly4(const V *ar, const V *ai, int step, V *br, V *bi) {
    V er = ar[0] + ar[2 * step], ei = ai[0] + ai[2 * step];
    V fr = ar[0] - ar[2 * step], fi = ai[0] - ai[2 * step];
    V gr = ar[step] + ar[3 * step], gi = ai[step] + ai[3 * step];
    V hr = ar[step] - ar[3 * step], hi = ai[step] - ai[3 * step];
    br[0] = er + gr, bi[0] = ei + gi;
    br[1] = fr + hi, bi[1] = fi - hr;
    br[2] = er - gr, bi[2] = ei - gi;
    br[3] = fr - hi, bi[3] = fi + hr;
  }

  template <int P>
  CUPEL_INLINE static void butterfly(const T *small, const V *ar, const V *ai, V *br, V *bi) {
    if constexpr (P == 2) {
      br[0] = ar[0] + ar[1], bi[0] = ai[0] + ai[1];
      br[1] = ar[0] - ar[1], bi[1] = ai[0] - ai[1];
    } else if constexpr (P == 4) {
      butterfly4(ar, ai, 1, br, bi);
    } else if constexpr (P == 8) {
      V er[4], ei[4], hr[4], hi[4];
      butterfly4(ar, ai, 2, er, ei);
      butterfly4(ar + 1, ai + 1, 2, hr, hi);
      constexpr T kHalf = T(0.70710678118654752440);
      V turnedR[4] = {hr[0], kHalf * (hr[1] + hi[1]), hi[2], kHalf * (hi[3] - hr[3])};
      V turnedI[4] = {hi[0], kHalf * (hi[1] - hr[1]), -hr[2], -kHalf * (hr[3] + hi[3])};
#pragma clang loop unroll(full)
      for (int k = 0; k < 4; ++k) {
        br[k] = er[k] + turnedR[k], bi[k] = ei[k] + turnedI[k];
        br[k + 4] = er[k] - turnedR[k], bi[k + 4] = ei[k] - turnedI[k];
      }
    } else {
#pragma clang loop unroll(full)
      for (int r = 0; r < P; ++r) {
        br[r] = ar[0], bi[r] = ai[0];
#pragma clang loop unroll(full)
        for (int k = 1; k < P; ++k) {
          T c = small[2 * (k * r % P)], d = small[2 * (k * r % P) + 1];
          br[r] += c * ar[k] - d * ai[k];
          bi[r] += c * ai[k] + d * ar[k];
        }
      }
    }
  }

  /// The last stage has one group, which is not turned.
  template <int P, bool isLast, typename From, typename To>
  static void runStage(const FftStage<T> &stage, From from, To to) {
    int64_t m = isLast ? 1 : stage.groups, s = stage.together;
    for (int64_t j = 0; j < m; ++j) {
      const T *w = stage.twiddles + j * 2 * (P - 1);
      for (int64_t q = 0; q < s; ++q) {
        V ar[P], ai[P], br[P], bi[P];
#pragma clang loop unroll(full)
        for (int k = 0; k < P; ++k)
          from.get(q + s * (j + m * k), ar[k], ai[k]);
        butterfly<P>(stage.small, ar, ai, br, bi);
#pragma clang loop unroll(full)
        for (int r = 0; r < P; ++r) {
          int64_t e = q + s * (P * j + r);
          if (isLast || r == 0) {
            to.put(e, br[r], bi[r]);
          } else {
            T c = w[2 * (r - 1)], d = w[2 * (r - 1) + 1];
            to.put(e, c * br[r] - d * bi[r], c * bi[r] + d * br[r]);
          }
        }
      }
    }
  }

  template <bool isLast> static void anyStage(const FftStage<T> &stage, Apart from, Apart to) {
    switch (stage.factor) {
    case 2: return runStage<2, isLast>(stage, from, to);
    case 3: return runStage<3, isLast>(stage, from, to);
    case 4: return runStage<4, isLast>(stage, from, to);
    case 5: return runStage<5, isLast>(stage, from, to);
    case 7: return runStage<7, isLast>(stage, from, to);
    default: return runStage<8, isLast>(stage, from, to);
    }
  }

  /// Two halves of a memory that stages go to and fro between.
  struct Halves {
    T *x, *y;
    int64_t size;
    Halves(T *memory, int64_t length) : x(memory), y(memory + 2 * length * L), size(length * L) {}
    Apart source() const { return {x, x + size, L}; }
    Apart target() const { return {y, y + size, L}; }
    void swap() {
      T *z = x;
      x = y;
      y = z;
    }
  };

  static void remaining(const FftStages<T> &stages, int begin, int end, Halves &halves) {
    for (int i = begin; i < end; ++i) {
      if (i + 1 == stages.count)
        anyStage<true>(stages.stages[i], halves.source(), halves.target());
      else
        anyStage<false>(stages.stages[i], halves.source(), halves.target());
      halves.swap();
    }
  }

  static T *sideBySide(const FftStages<T> &stages, T *memory) {
    Halves halves(memory, stages.length);
    remaining(stages, 0, stages.count, halves);
    return halves.x;
  }

  template <bool isLast, typename From, typename To>
  static void fourOrEight(const FftStage<T> &stage, From from, To to) {
    return stage.factor == 4 ? runStage<4, isLast>(stage, from, to)
                             : runStage<8, isLast>(stage, from, to);
  }

  static void columns(const FftLine<T> &line, FftNumbers<T> from, T sign, FftNumbers<T> between,
                      int64_t begin, int64_t end, T *memory) {
    int64_t high = line.columns.length, wide = line.rows.length;
    const FftStage<T> &first = line.columns.stages[0];
    bool isOne = line.columns.count == 1;
    for (int64_t block = begin; block < end; ++block) {
      Halves halves(memory, high);
      int64_t column = block * L;
      if (from.im) {
        Apart source{from.re + column, from.im + column, wide};
        if (isOne)
          fourOrEight<true>(first, source, halves.target());
        else
          fourOrEight<false>(first, source, halves.target());
      } else {
        Paired source{from.re + 2 * column, 2 * wide, 1, sign};
        if (isOne)
          fourOrEight<true>(first, source, halves.target());
        else
          fourOrEight<false>(first, source, halves.target());
      }
      halves.swap();
      remaining(line.columns, 1, line.columns.count, halves);
      const T *turn = line.twiddles + 2 * block * L * high;
      for (int64_t k = 0; k < high; k += L) {
        V re[L], im[L];
#pragma clang loop unroll(full)
        for (int i = 0; i < L; ++i) {
          V r, v;
          halves.source().get(k + i, r, v);
          V c = load(turn + 2 * (k + i) * L), d = load(turn + (2 * (k + i) + 1) * L);
          re[i] = c * r - d * v;
          im[i] = c * v + d * r;
        }
        transpose(re);
        transpose(im);
#pragma clang loop unroll(full)
        for (int i = 0; i < L; ++i) {
          store(between.re + (column + i) * high + k, re[i]);
          store(between.im + (column + i) * high + k, im[i]);
        }
      }
    }
  }

  static void rows(const FftLine<T> &line, FftNumbers<T> between, FftNumbers<T> to, T scale, T sign,
                   int64_t begin, int64_t end, T *memory) {
    int64_t high = line.columns.length;
    const FftStages<T> &stages = line.rows;
    const FftStage<T> &last = stages.stages[stages.count - 1];
    for (int64_t block = begin; block < end; ++block) {
      Halves halves(memory, stages.length);
      int64_t row = block * L;
      Apart source{between.re + row, between.im + row, high};
      if (stages.count > 1) {
        anyStage<false>(stages.stages[0], source, halves.target());
        halves.swap();
        remaining(stages, 1, stages.count - 1, halves);
        source = halves.source();
      }
      if (to.im)
        fourOrEight<true>(last, source, Apart{to.re + row, to.im + row, high});
      else
        fourOrEight<true>(last, source, Paired{to.re + 2 * row, 2 * high, scale, scale * sign});
    }
  }

  /// Even and odd elements' transforms, put together.
  template <typename N>
  CUPEL_INLINE static void join(N ar, N ai, N br, N bi, N c, N d, N &re, N &im) {
    constexpr T kHalf = T(0.5);
    N er = (ar + br) * kHalf, ei = (ai - bi) * kHalf;
    N hr = (ai + bi) * kHalf, hi = (br - ar) * kHalf;
    re = er + c * hr - d * hi;
    im = ei + c * hi + d * hr;
  }
  static void joinReals(FftNumbers<T> pairs, int64_t n, const T *cosines, const T *sines, T *to) {
    const T *zr = pairs.re, *zi = pairs.im;
    auto number = [&](int64_t k) {
      int64_t a = k == n ? 0 : k, b = k == 0 ? 0 : n - k;
      join<T>(zr[a], zi[a], zr[b], zi[b], cosines[k], sines[k], to[2 * k], to[2 * k + 1]);
    };
    number(0);
    number(n);
    to[1] = to[2 * n + 1] = 0;
    int64_t k = 1;
    for (; k + L <= n; k += L) {
      int64_t b = n - k - L + 1;
      V re, im;
      join<V>(load(zr + k), load(zi + k), reversed(load(zr + b), Lanes()),
              reversed(load(zi + b), Lanes()), load(cosines + k), load(sines + k), re, im);
      storePairs(to + 2 * k, re, im);
    }
    for (; k < n; ++k)
      number(k);
  }

  template <typename N>
  CUPEL_INLINE static void split(N ar, N ai, N br, N bi, N c, N d, N &re, N &im) {
    N er = ar + br, ei = ai - bi, dr = ar - br, di = ai + bi;
    re = er - (c * di - d * dr);
    im = ei + (c * dr + d * di);
  }
  static void splitReals(const T *from, int64_t n, const T *cosines, const T *sines,
                         FftNumbers<T> pairs) {
    auto number = [&](int64_t k, T ai, T bi) {
      split<T>(from[2 * k], ai, from[2 * (n - k)], bi, cosines[k], sines[k], pairs.re[k], pairs.im[k]);
      pairs.im[k] = -pairs.im[k];
    };
    number(0, 0, 0); // What has no imaginary part is taken to have none.
    int64_t k = 1;
    for (; k + L <= n; k += L) {
      V ar, ai, br, bi, re, im;
      loadPairs(from + 2 * k, ar, ai);
      loadPairs(from + 2 * (n - k - L + 1), br, bi);
      split<V>(ar, ai, reversed(br, Lanes()), reversed(bi, Lanes()), load(cosines + k),
               load(sines + k), re, im);
      store(pairs.re + k, re);
      store(pairs.im + k, -im);
    }
    for (; k < n; ++k)
      number(k, from[2 * k + 1], from[2 * (n - k) + 1]);
  }

  static constexpr FftTable<T> table = {L, sideBySide, columns, rows, joinReals, splitReals};
};

#undef CUPEL_INLINE

} // namespace
} // namespace cupel::kernels
