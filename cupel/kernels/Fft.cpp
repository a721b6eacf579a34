#include "cupel/kernels/Fft.h"

#include "cupel/kernels/Isa.h"
#include "cupel/kernels/Scratch.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace cupel::kernels {

namespace {

/// Lines that are transformed side by side.
template <typename T> constexpr int kLanes = 32 / sizeof(T);

std::vector<int> factorsOf(int64_t length) {
  std::vector<int> factors;
  for (int factor : {4, 2, 3, 5, 7})
    while (length % factor == 0) {
      factors.push_back(factor);
      length /= factor;
    }
  return length == 1 ? factors : std::vector<int>();
}

/// cos and sin of -2 pi k / n, to the last bit of double where angles are reduced first.
void root(int64_t k, int64_t n, double &re, double &im) {
  k %= n;
  // Into the first eighth of the circle, where sine and cosine are best.
  int64_t eighths = 8 * k / n;
  double angle = 2 * std::numbers::pi / double(n);
  auto at = [&](int64_t x) { return angle * double(x) / 4; }; // x in quarters of a step.
  int64_t quarter = 4 * k;
  double c, s;
  switch (eighths) {
  case 0: c = std::cos(at(quarter)), s = std::sin(at(quarter)); break;
  case 1: c = std::sin(at(n - quarter)), s = std::cos(at(n - quarter)); break;
  case 2: c = -std::sin(at(quarter - n)), s = std::cos(at(quarter - n)); break;
  case 3: c = -std::cos(at(2 * n - quarter)), s = std::sin(at(2 * n - quarter)); break;
  case 4: c = -std::cos(at(quarter - 2 * n)), s = -std::sin(at(quarter - 2 * n)); break;
  case 5: c = -std::sin(at(3 * n - quarter)), s = -std::cos(at(3 * n - quarter)); break;
  case 6: c = std::sin(at(quarter - 3 * n)), s = -std::cos(at(quarter - 3 * n)); break;
  default: c = std::cos(at(4 * n - quarter)), s = -std::sin(at(4 * n - quarter)); break;
  }
  re = c;
  im = -s;
}

template <typename T> struct Stage {
  int factor;
  int64_t groups, together;    // Lengths that are left, and that were done before.
  std::vector<T> twiddles;     // For each group and each result but the first: re, im.
  std::vector<T> small;        // Roots of the factor: re, im.
};

template <typename T> struct Plan {
  explicit Plan(int64_t length) : length(length) {
    int64_t left = length, done = 1;
    for (int factor : factorsOf(length)) {
      Stage<T> stage{factor, left / factor, done, {}, {}};
      double re, im;
      for (int64_t j = 0; j < stage.groups; ++j)
        for (int r = 1; r < factor; ++r) {
          root(j * r, left, re, im);
          stage.twiddles.insert(stage.twiddles.end(), {T(re), T(im)});
        }
      for (int k = 0; k < factor; ++k) {
        root(k, factor, re, im);
        stage.small.insert(stage.small.end(), {T(re), T(im)});
      }
      stages.push_back(std::move(stage));
      left /= factor;
      done *= factor;
    }
  }
  int64_t length;
  std::vector<Stage<T>> stages;
};

/// As wide as the registers of the code that uses it.
template <typename T, int bytes> using Vector __attribute__((vector_size(bytes))) = T;

#define CUPEL_INLINE [[gnu::always_inline]] inline

/// Butterflies of one factor: x[q + s (j + m k)] to y[q + s (p j + r)].
template <typename T, int P, int bytes>
CUPEL_INLINE void runStage(const Stage<T> &stage, const T *xr, const T *xi, T *yr, T *yi) {
  using V = Vector<T, bytes>;
  constexpr int L = kLanes<T>, width = bytes / int(sizeof(T));
  int64_t m = stage.groups, s = stage.together;
  for (int64_t j = 0; j < m; ++j) {
    const T *w = stage.twiddles.data() + j * 2 * (P - 1);
    for (int64_t at = 0; at < s * L; at += width) {
      V ar[P], ai[P], br[P], bi[P];
#pragma clang loop unroll(full)
      for (int k = 0; k < P; ++k) {
        int64_t from = at + s * (j + m * k) * L;
        ar[k] = *reinterpret_cast<const V *>(xr + from);
        ai[k] = *reinterpret_cast<const V *>(xi + from);
      }
      if constexpr (P == 2) {
        br[0] = ar[0] + ar[1], bi[0] = ai[0] + ai[1];
        br[1] = ar[0] - ar[1], bi[1] = ai[0] - ai[1];
      } else if constexpr (P == 4) {
        V er = ar[0] + ar[2], ei = ai[0] + ai[2], fr = ar[0] - ar[2], fi = ai[0] - ai[2];
        V gr = ar[1] + ar[3], gi = ai[1] + ai[3], hr = ar[1] - ar[3], hi = ai[1] - ai[3];
        br[0] = er + gr, bi[0] = ei + gi;
        br[1] = fr + hi, bi[1] = fi - hr;
        br[2] = er - gr, bi[2] = ei - gi;
        br[3] = fr - hi, bi[3] = fi + hr;
      } else {
#pragma clang loop unroll(full)
        for (int r = 0; r < P; ++r) {
          br[r] = ar[0], bi[r] = ai[0];
#pragma clang loop unroll(full)
          for (int k = 1; k < P; ++k) {
            T c = stage.small[2 * (k * r % P)], d = stage.small[2 * (k * r % P) + 1];
            br[r] += c * ar[k] - d * ai[k];
            bi[r] += c * ai[k] + d * ar[k];
          }
        }
      }
#pragma clang loop unroll(full)
      for (int r = 0; r < P; ++r) {
        int64_t to = at + s * (P * j + r) * L;
        T c = r ? w[2 * (r - 1)] : T(1), d = r ? w[2 * (r - 1) + 1] : T(0);
        *reinterpret_cast<V *>(yr + to) = r ? c * br[r] - d * bi[r] : br[r];
        *reinterpret_cast<V *>(yi + to) = r ? c * bi[r] + d * br[r] : bi[r];
      }
    }
  }
}

template <typename T, int bytes> CUPEL_INLINE void runStages(const Plan<T> &plan, T *memory) {
  int64_t size = plan.length * kLanes<T>;
  T *x = memory, *y = memory + 2 * size;
  for (const Stage<T> &stage : plan.stages) {
    switch (stage.factor) {
    case 2: runStage<T, 2, bytes>(stage, x, x + size, y, y + size); break;
    case 3: runStage<T, 3, bytes>(stage, x, x + size, y, y + size); break;
    case 4: runStage<T, 4, bytes>(stage, x, x + size, y, y + size); break;
    case 5: runStage<T, 5, bytes>(stage, x, x + size, y, y + size); break;
    default: runStage<T, 7, bytes>(stage, x, x + size, y, y + size); break;
    }
    std::swap(x, y);
  }
}

template <typename T> void runBaseline(const Plan<T> &plan, T *memory) {
  runStages<T, 16>(plan, memory);
}
#if defined(__x86_64__)
template <typename T>
[[gnu::target("avx2,fma")]] void runWithAvx2(const Plan<T> &plan, T *memory) {
  runStages<T, 32>(plan, memory);
}
#endif

/// Transforms what lies in the first half of `memory`; returns where the result is.
template <typename T> T *runPlan(const Plan<T> &plan, T *memory) {
#if defined(__x86_64__)
  if (currentIsa() >= Isa::V3)
    runWithAvx2(plan, memory);
  else
#endif
    runBaseline(plan, memory);
  return plan.stages.size() % 2 ? memory + 2 * plan.length * kLanes<T> : memory;
}

int64_t startOf(const FftLines &lines, int64_t line) {
  return line / lines.inner * lines.outerStep + line % lines.inner * lines.innerStep;
}

/// Calls `work(first line, how many, memory for two copies of `length` numbers of each lane)`.
template <typename T, typename F>
void forLines(const FftLines &lines, int64_t length, const Pool &pool, F &&work) {
  constexpr int L = kLanes<T>;
  int64_t count = lines.outer * lines.inner, blocks = (count + L - 1) / L;
  double nanoseconds = double(length * L) * 2.0 * std::max(1.0, std::log2(double(length)) / 4);
  pool.parallelFor(blocks, nanoseconds, [&](int64_t block) {
    ScratchFrame frame;
    work(block * L, std::min<int64_t>(L, count - block * L), frame.take<T>(4 * length * L));
  });
}

} // namespace

bool hasFft(int64_t length) { return length == 1 || (length > 1 && !factorsOf(length).empty()); }

template <typename T> struct Fft<T>::Stages : Plan<T> {
  using Plan<T>::Plan;
};

template <typename T>
Fft<T>::Fft(int64_t length) : length(length), whole(std::make_unique<Stages>(length)) {
  if (length % 2 != 0)
    return;
  half = std::make_unique<Stages>(length / 2);
  for (int64_t k = 0; k <= length / 2; ++k) {
    double re, im;
    root(k, length, re, im);
    roots.insert(roots.end(), {T(re), T(im)});
  }
}
template <typename T> Fft<T>::~Fft() = default;

template <typename T>
void Fft<T>::transform(const std::complex<T> *from, const FftLines &fromLines, std::complex<T> *to,
                       const FftLines &toLines, bool backwards, T scale, const Pool &pool) const {
  constexpr int L = kLanes<T>;
  forLines<T>(fromLines, length, pool, [&](int64_t first, int64_t many, T *memory) {
    T *re = memory, *im = memory + length * L;
    if (backwards)
      std::swap(re, im); // The conjugate of the conjugate's transform.
    for (int64_t l = 0; l < many; ++l) {
      const std::complex<T> *line = from + startOf(fromLines, first + l);
      for (int64_t k = 0; k < length; ++k) {
        re[k * L + l] = line[k * fromLines.stride].real();
        im[k * L + l] = line[k * fromLines.stride].imag();
      }
    }
    for (int64_t l = many; l < L; ++l)
      for (int64_t k = 0; k < length; ++k)
        re[k * L + l] = im[k * L + l] = 0;
    T *result = runPlan<T>(*whole, memory);
    re = result, im = result + length * L;
    if (backwards)
      std::swap(re, im);
    for (int64_t l = 0; l < many; ++l) {
      std::complex<T> *line = to + startOf(toLines, first + l);
      for (int64_t k = 0; k < length; ++k)
        line[k * toLines.stride] = {re[k * L + l] * scale, im[k * L + l] * scale};
    }
  });
}

template <typename T>
void Fft<T>::transformReals(const T *from, const FftLines &fromLines, std::complex<T> *to,
                            const FftLines &toLines, const Pool &pool) const {
  constexpr int L = kLanes<T>;
  int64_t n = half ? length / 2 : length;
  forLines<T>(fromLines, n, pool, [&](int64_t first, int64_t many, T *memory) {
    T *re = memory, *im = memory + n * L;
    for (int64_t l = 0; l < L; ++l) {
      const T *line = l < many ? from + startOf(fromLines, first + l) : nullptr;
      for (int64_t k = 0; k < n; ++k) {
        // Of an even length, neighbours are one complex number.
        int64_t at = (half ? 2 * k : k) * fromLines.stride;
        re[k * L + l] = line ? line[at] : T(0);
        im[k * L + l] = line && half ? line[at + fromLines.stride] : T(0);
      }
    }
    const T *zr = runPlan<T>(half ? *half : *whole, memory), *zi = zr + n * L;
    for (int64_t l = 0; l < many; ++l) {
      std::complex<T> *line = to + startOf(toLines, first + l);
      for (int64_t k = 0; k <= length / 2; ++k) {
        std::complex<T> &out = line[k * toLines.stride];
        if (!half) {
          out = {zr[k * L + l], zi[k * L + l]};
          continue;
        }
        // Even and odd elements' transforms, put together.
        int64_t a = k % n * L + l, b = (n - k) % n * L + l;
        T er = (zr[a] + zr[b]) / 2, ei = (zi[a] - zi[b]) / 2;
        T or_ = (zi[a] + zi[b]) / 2, oi = (zr[b] - zr[a]) / 2;
        T c = roots[2 * k], d = roots[2 * k + 1];
        out = {er + c * or_ - d * oi, ei + c * oi + d * or_};
      }
      line[0] = {line[0].real(), 0};
      if (half)
        line[length / 2 * toLines.stride] = {line[length / 2 * toLines.stride].real(), 0};
    }
  });
}

template <typename T>
void Fft<T>::transformToReals(const std::complex<T> *from, const FftLines &fromLines, T *to,
                              const FftLines &toLines, T scale, const Pool &pool) const {
  constexpr int L = kLanes<T>;
  int64_t n = half ? length / 2 : length;
  forLines<T>(fromLines, n, pool, [&](int64_t first, int64_t many, T *memory) {
    // Backwards: real and imaginary parts change places.
    T *im = memory, *re = memory + n * L;
    for (int64_t l = 0; l < L; ++l) {
      const std::complex<T> *line = l < many ? from + startOf(fromLines, first + l) : nullptr;
      auto number = [&](int64_t k) {
        std::complex<T> value = line[k * fromLines.stride];
        if (k == 0 || 2 * k == length)
          value = {value.real(), 0};
        return value;
      };
      for (int64_t k = 0; k < n; ++k) {
        if (!line) {
          re[k * L + l] = im[k * L + l] = 0;
        } else if (!half) {
          std::complex<T> value = 2 * k <= length ? number(k) : std::conj(number(length - k));
          re[k * L + l] = value.real();
          im[k * L + l] = value.imag();
        } else {
          std::complex<T> a = number(k), b = std::conj(number(n - k));
          T er = a.real() + b.real(), ei = a.imag() + b.imag();
          T dr = a.real() - b.real(), di = a.imag() - b.imag();
          T c = roots[2 * k], d = -roots[2 * k + 1];
          T or_ = c * dr - d * di, oi = c * di + d * dr;
          re[k * L + l] = er - oi;
          im[k * L + l] = ei + or_;
        }
      }
    }
    const T *result = runPlan<T>(half ? *half : *whole, memory);
    const T *zi = result, *zr = result + n * L;
    for (int64_t l = 0; l < many; ++l) {
      T *line = to + startOf(toLines, first + l);
      for (int64_t k = 0; k < n; ++k) {
        if (!half) {
          line[k * toLines.stride] = zr[k * L + l] * scale;
        } else {
          line[2 * k * toLines.stride] = zr[k * L + l] * scale;
          line[(2 * k + 1) * toLines.stride] = zi[k * L + l] * scale;
        }
      }
    }
  });
}

template class Fft<float>;
template class Fft<double>;

} // namespace cupel::kernels
