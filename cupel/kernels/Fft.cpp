#include "cupel/kernels/Fft.h"

#include "cupel/kernels/FftKernels.h"
#include "cupel/kernels/Isa.h"
#include "cupel/kernels/Scratch.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>
#include <optional>

namespace cupel::kernels {

namespace {

/// As few stages as there can be, powers of two first; empty where a prime is left. A multiple of four has no 2
/// among them.
std::vector<int> factorsOf(int64_t length) {
  int twos = length > 0 ? std::countr_zero(uint64_t(length)) : 0;
  std::vector<int> factors;
  length >>= twos;
  for (; twos >= 3 && twos != 4; twos -= 3)
    factors.push_back(8);
  for (; twos >= 2; twos -= 2)
    factors.push_back(4);
  if (twos > 0)
    factors.push_back(2);
  for (int factor : {3, 5, 7})
    for (; length % factor == 0 && length > 0; length /= factor)
      factors.push_back(factor);
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

/// The tables of stages, and what they look like to steps.
template <typename T> class Plan {
public:
  Plan(int64_t length, std::vector<int> factors) : tables(factors.size()), length(length) {
    int64_t left = length, done = 1;
    for (size_t i = 0; i < factors.size(); ++i) {
      int factor = factors[i];
      int64_t groups = left / factor;
      double re, im;
      for (int64_t j = 0; j < groups; ++j)
        for (int r = 1; r < factor; ++r) {
          root(j * r, left, re, im);
          tables[i].twiddles.insert(tables[i].twiddles.end(), {T(re), T(im)});
        }
      for (int k = 0; k < factor; ++k) {
        root(k, factor, re, im);
        tables[i].small.insert(tables[i].small.end(), {T(re), T(im)});
      }
      stages.push_back({factor, groups, done, tables[i].twiddles.data(), tables[i].small.data()});
      left = groups;
      done *= factor;
    }
  }
  FftStages<T> view() const { return {stages.data(), int(stages.size()), length}; }

private:
  struct Table {
    std::vector<T> twiddles, small;
  };
  std::vector<Table> tables;
  std::vector<FftStage<T>> stages;
  int64_t length;
};

template <typename T> const FftTable<T> &tableOf(Isa isa) {
#if defined(__x86_64__)
  if (isa >= Isa::V4)
    return fftV4<T>();
  if (isa >= Isa::V3)
    return fftV3<T>();
#endif
  return fftBaseline<T>();
}

/// How a line becomes a matrix whose columns and rows fill vectors.
struct Shape {
  int64_t high = 0, wide = 0;
};
Shape shapeOf(int64_t length, int lanes) {
  int64_t unit = std::max(lanes, 4); // Four, for the factors that steps read and store pairs with.
  if (length <= 0 || length % (unit * unit) != 0)
    return {};
  int64_t rest = length / (unit * unit);
  auto part = int64_t(std::sqrt(double(rest)));
  while (rest % part != 0)
    --part;
  return {unit * part, unit * (rest / part)};
}

/// Of lines that are long the narrowest vectors are better than none.
constexpr int64_t kLong = 2048;

template <typename T> const FftTable<T> *lineTableFor(int64_t length) {
  for (Isa isa : {Isa::V4, Isa::V3, Isa::Baseline}) {
    if (isa > currentIsa() || (isa == Isa::Baseline && currentIsa() != isa && length <= kLong))
      continue;
    const FftTable<T> &table = tableOf<T>(isa);
    if (shapeOf(length, table.lanes).high > 0)
      return &table;
  }
  return nullptr;
}

/// A line by itself, as a matrix.
template <typename T> class LinePlan {
public:
  LinePlan(int64_t length, const FftTable<T> &table)
      : table(table), shape(shapeOf(length, table.lanes)), length(length),
        columns(shape.high, factorsOf(shape.high)), rows(shape.wide, reversed(factorsOf(shape.wide))) {
    int64_t lanes = table.lanes;
    // Roots by their products with every 256th one: sines and cosines of all would take long.
    constexpr int64_t kStep = 256;
    std::vector<std::complex<double>> near, far;
    for (int64_t k = 0; k < std::min(kStep, length); ++k)
      near.push_back(rootOf(k));
    for (int64_t k = 0; k < length; k += kStep)
      far.push_back(rootOf(k));
    twiddles.resize(size_t(2 * length));
    T *to = twiddles.data();
    for (int64_t block = 0; block < shape.wide; block += lanes)
      for (int64_t k = 0; k < shape.high; ++k, to += 2 * lanes)
        for (int64_t lane = 0; lane < lanes; ++lane) {
          int64_t power = (block + lane) * k;
          std::complex<double> value = std::is_same_v<T, float>
                                           ? near[size_t(power % kStep)] * far[size_t(power / kStep)]
                                           : rootOf(power);
          to[lane] = T(value.real());
          to[lanes + lane] = T(value.imag());
        }
  }

  FftLine<T> view() const { return {columns.view(), rows.view(), twiddles.data()}; }
  /// The parts that threads may take: blocks of columns, then blocks of rows.
  int64_t columnBlocks() const { return shape.wide / table.lanes; }
  int64_t rowBlocks() const { return shape.high / table.lanes; }
  int64_t blockNumbers() const { return 4 * std::max(shape.high, shape.wide) * table.lanes; }

  /// Threads share one line's blocks if `pool` is given.
  void run(FftNumbers<T> from, FftNumbers<T> to, T scale, T sign, const Pool *pool) const {
    ScratchFrame frame;
    FftNumbers<T> between{frame.take<T>(length), frame.take<T>(length)};
    FftLine<T> line = view();
    auto blocks = [&](int64_t count, auto &&work) {
      if (!pool) {
        ScratchFrame own;
        return work(0, count, own.take<T>(blockNumbers()));
      }
      double nanoseconds = double(length) / double(count) * kNanosecondsPerNumber / 2;
      pool->parallelFor(count, nanoseconds, [&](int64_t block) {
        ScratchFrame own;
        work(block, block + 1, own.take<T>(blockNumbers()));
      });
    };
    blocks(columnBlocks(), [&](int64_t begin, int64_t end, T *memory) {
      table.columns(line, from, sign, between, begin, end, memory);
    });
    blocks(rowBlocks(), [&](int64_t begin, int64_t end, T *memory) {
      table.rows(line, between, to, scale, sign, begin, end, memory);
    });
  }

  static constexpr double kNanosecondsPerNumber = 1.5;
  const FftTable<T> &table;

private:
  static std::vector<int> reversed(std::vector<int> factors) {
    std::ranges::reverse(factors);
    return factors;
  }
  std::complex<double> rootOf(int64_t k) const {
    double re, im;
    root(k, length, re, im);
    return {re, im};
  }

  Shape shape;
  int64_t length;
  Plan<T> columns, rows;
  std::vector<T> twiddles;
};

int64_t startOf(const FftLines &lines, int64_t line) {
  return line / lines.inner * lines.outerStep + line % lines.inner * lines.innerStep;
}

} // namespace

bool hasFft(int64_t length) { return length == 1 || (length > 1 && !factorsOf(length).empty()); }
bool hasFftOfOneLine(int64_t length) {
  return hasFft(length) && lineTableFor<float>(length) && lineTableFor<double>(length);
}

/// A length's stages for lines side by side, and where there is one its matrix for lines by themselves.
template <typename T> struct Fft<T>::Stages {
  explicit Stages(int64_t length)
      : length(length), sideBySide(length, factorsOf(length)), table(tableOf<T>(currentIsa())) {
    if (const FftTable<T> *found = lineTableFor<T>(length))
      alone.emplace(length, *found);
  }

  /// Calls `work(first line, how many, memory for two copies of all lanes)`.
  template <typename F> void forLines(const FftLines &lines, const Pool &pool, F &&work) const {
    int64_t count = lines.outer * lines.inner, lanes = table.lanes, blocks = (count + lanes - 1) / lanes;
    double nanoseconds = double(length * lanes) * std::max(1.0, std::log2(double(length)) / 4);
    pool.parallelFor(blocks, nanoseconds, [&](int64_t block) {
      ScratchFrame frame;
      work(block * lanes, std::min(lanes, count - block * lanes), frame.take<T>(4 * length * lanes));
    });
  }

  /// Calls `work(line, pool or nothing)`; few lines are shared each by itself.
  template <typename F> void forLinesAlone(const FftLines &lines, const Pool &pool, F &&work) const {
    int64_t count = lines.outer * lines.inner;
    if (count < 2 * pool.threads() && length >= 4 * kLong) {
      for (int64_t line = 0; line < count; ++line)
        work(line, &pool);
      return;
    }
    pool.parallelFor(count, double(length) * LinePlan<T>::kNanosecondsPerNumber,
                     [&](int64_t line) { work(line, static_cast<const Pool *>(nullptr)); });
  }

  /// Whether lines are transformed by themselves: they lie in one piece, or are so long that a copy of each
  /// is better than many side by side.
  bool areAlone(const FftLines &from, const FftLines &to) const {
    return alone && ((from.stride == 1 && to.stride == 1) || length > kLong);
  }

  int64_t length;
  Plan<T> sideBySide;
  const FftTable<T> &table;
  std::optional<LinePlan<T>> alone;
};

template <typename T>
Fft<T>::Fft(int64_t length) : length(length), whole(std::make_unique<Stages>(length)) {
  if (length % 2 != 0)
    return;
  half = std::make_unique<Stages>(length / 2);
  for (int64_t k = 0; k <= length / 2; ++k) {
    double re, im;
    root(k, length, re, im);
    cosines.push_back(T(re));
    sines.push_back(T(im));
  }
}
template <typename T> Fft<T>::~Fft() = default;

/// A line in one piece: itself, or a copy in `frame`.
template <typename N> const N *inOnePiece(const N *line, int64_t stride, int64_t count, ScratchFrame &frame) {
  if (stride == 1)
    return line;
  N *copy = frame.take<N>(count);
  for (int64_t k = 0; k < count; ++k)
    copy[k] = line[k * stride];
  return copy;
}
template <typename N> void spread(const N *piece, N *line, int64_t stride, int64_t count) {
  if (piece != line)
    for (int64_t k = 0; k < count; ++k)
      line[k * stride] = piece[k];
}

template <typename T>
void Fft<T>::transform(const std::complex<T> *from, const FftLines &fromLines, std::complex<T> *to,
                       const FftLines &toLines, bool backwards, T scale, const Pool &pool) const {
  using Complex = std::complex<T>;
  if (whole->areAlone(fromLines, toLines)) {
    whole->forLinesAlone(fromLines, pool, [&](int64_t i, const Pool *shared) {
      ScratchFrame frame;
      Complex *line = to + startOf(toLines, i);
      Complex *result = toLines.stride == 1 ? line : frame.take<Complex>(length);
      const Complex *source =
          inOnePiece(from + startOf(fromLines, i), fromLines.stride, length, frame);
      whole->alone->run({const_cast<T *>(reinterpret_cast<const T *>(source))},
                        {reinterpret_cast<T *>(result)}, scale, backwards ? T(-1) : T(1), shared);
      spread(result, line, toLines.stride, length);
    });
    return;
  }
  int64_t lanes = whole->table.lanes;
  whole->forLines(fromLines, pool, [&](int64_t first, int64_t many, T *memory) {
    T *re = memory, *im = memory + length * lanes;
    if (backwards)
      std::swap(re, im); // The conjugate of the conjugate's transform.
    if (many < lanes)
      std::fill_n(memory, 2 * length * lanes, T(0));
    bool areNeighbours = fromLines.innerStep == 1 && toLines.innerStep == 1 &&
                         first / fromLines.inner == (first + many - 1) / fromLines.inner;
    if (areNeighbours) {
      const Complex *lines = from + startOf(fromLines, first);
      for (int64_t k = 0; k < length; ++k)
        for (int64_t l = 0; l < many; ++l) {
          re[k * lanes + l] = lines[k * fromLines.stride + l].real();
          im[k * lanes + l] = lines[k * fromLines.stride + l].imag();
        }
    } else {
      for (int64_t l = 0; l < many; ++l) {
        const Complex *line = from + startOf(fromLines, first + l);
        for (int64_t k = 0; k < length; ++k) {
          re[k * lanes + l] = line[k * fromLines.stride].real();
          im[k * lanes + l] = line[k * fromLines.stride].imag();
        }
      }
    }
    T *result = whole->table.sideBySide(whole->sideBySide.view(), memory);
    re = result, im = result + length * lanes;
    if (backwards)
      std::swap(re, im);
    if (areNeighbours) {
      Complex *lines = to + startOf(toLines, first);
      for (int64_t k = 0; k < length; ++k)
        for (int64_t l = 0; l < many; ++l)
          lines[k * toLines.stride + l] = {re[k * lanes + l] * scale, im[k * lanes + l] * scale};
      return;
    }
    for (int64_t l = 0; l < many; ++l) {
      Complex *line = to + startOf(toLines, first + l);
      for (int64_t k = 0; k < length; ++k)
        line[k * toLines.stride] = {re[k * lanes + l] * scale, im[k * lanes + l] * scale};
    }
  });
}

template <typename T>
void Fft<T>::transformReals(const T *from, const FftLines &fromLines, std::complex<T> *to,
                            const FftLines &toLines, const Pool &pool) const {
  using Complex = std::complex<T>;
  int64_t n = half ? length / 2 : length;
  if (half && half->areAlone(fromLines, toLines)) {
    half->forLinesAlone(fromLines, pool, [&](int64_t i, const Pool *shared) {
      ScratchFrame frame;
      Complex *line = to + startOf(toLines, i);
      Complex *result = toLines.stride == 1 ? line : frame.take<Complex>(n + 1);
      const T *source = inOnePiece(from + startOf(fromLines, i), fromLines.stride, length, frame);
      FftNumbers<T> pairs{frame.take<T>(n), frame.take<T>(n)};
      half->alone->run({const_cast<T *>(source)}, pairs, 1, 1, shared);
      half->alone->table.joinReals(pairs, n, cosines.data(), sines.data(), reinterpret_cast<T *>(result));
      spread(result, line, toLines.stride, n + 1);
    });
    return;
  }
  const Stages &stages = half ? *half : *whole;
  int64_t lanes = stages.table.lanes;
  stages.forLines(fromLines, pool, [&](int64_t first, int64_t many, T *memory) {
    T *re = memory, *im = memory + n * lanes;
    for (int64_t l = 0; l < lanes; ++l) {
      const T *line = l < many ? from + startOf(fromLines, first + l) : nullptr;
      for (int64_t k = 0; k < n; ++k) {
        // Of an even length, neighbours are one complex number.
        int64_t at = (half ? 2 * k : k) * fromLines.stride;
        re[k * lanes + l] = line ? line[at] : T(0);
        im[k * lanes + l] = line && half ? line[at + fromLines.stride] : T(0);
      }
    }
    const T *zr = stages.table.sideBySide(stages.sideBySide.view(), memory), *zi = zr + n * lanes;
    for (int64_t l = 0; l < many; ++l) {
      Complex *line = to + startOf(toLines, first + l);
      for (int64_t k = 0; k <= length / 2; ++k) {
        Complex &out = line[k * toLines.stride];
        if (!half) {
          out = {zr[k * lanes + l], zi[k * lanes + l]};
          continue;
        }
        // Even and odd elements' transforms, put together.
        int64_t a = k % n * lanes + l, b = (n - k) % n * lanes + l;
        T er = (zr[a] + zr[b]) / 2, ei = (zi[a] - zi[b]) / 2;
        T or_ = (zi[a] + zi[b]) / 2, oi = (zr[b] - zr[a]) / 2;
        T c = cosines[size_t(k)], d = sines[size_t(k)];
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
  using Complex = std::complex<T>;
  int64_t n = half ? length / 2 : length;
  if (half && half->areAlone(fromLines, toLines)) {
    half->forLinesAlone(fromLines, pool, [&](int64_t i, const Pool *shared) {
      ScratchFrame frame;
      T *line = to + startOf(toLines, i);
      T *result = toLines.stride == 1 ? line : frame.take<T>(length);
      const Complex *source = inOnePiece(from + startOf(fromLines, i), fromLines.stride, n + 1, frame);
      FftNumbers<T> pairs{frame.take<T>(n), frame.take<T>(n)};
      half->alone->table.splitReals(reinterpret_cast<const T *>(source), n, cosines.data(), sines.data(),
                                    pairs);
      half->alone->run(pairs, {result}, scale, -1, shared);
      spread(result, line, toLines.stride, length);
    });
    return;
  }
  const Stages &stages = half ? *half : *whole;
  int64_t lanes = stages.table.lanes;
  stages.forLines(fromLines, pool, [&](int64_t first, int64_t many, T *memory) {
    // Backwards: real and imaginary parts change places.
    T *im = memory, *re = memory + n * lanes;
    for (int64_t l = 0; l < lanes; ++l) {
      const Complex *line = l < many ? from + startOf(fromLines, first + l) : nullptr;
      auto number = [&](int64_t k) {
        Complex value = line[k * fromLines.stride];
        if (k == 0 || 2 * k == length)
          value = {value.real(), 0};
        return value;
      };
      for (int64_t k = 0; k < n; ++k) {
        if (!line) {
          re[k * lanes + l] = im[k * lanes + l] = 0;
        } else if (!half) {
          Complex value = 2 * k <= length ? number(k) : std::conj(number(length - k));
          re[k * lanes + l] = value.real();
          im[k * lanes + l] = value.imag();
        } else {
          Complex a = number(k), b = std::conj(number(n - k));
          T er = a.real() + b.real(), ei = a.imag() + b.imag();
          T dr = a.real() - b.real(), di = a.imag() - b.imag();
          T c = cosines[size_t(k)], d = -sines[size_t(k)];
          T or_ = c * dr - d * di, oi = c * di + d * dr;
          re[k * lanes + l] = er - oi;
          im[k * lanes + l] = ei + or_;
        }
      }
    }
    const T *result = stages.table.sideBySide(stages.sideBySide.view(), memory);
    const T *zi = result, *zr = result + n * lanes;
    for (int64_t l = 0; l < many; ++l) {
      T *line = to + startOf(toLines, first + l);
      for (int64_t k = 0; k < n; ++k) {
        if (!half) {
          line[k * toLines.stride] = zr[k * lanes + l] * scale;
        } else {
          line[2 * k * toLines.stride] = zr[k * lanes + l] * scale;
          line[(2 * k + 1) * toLines.stride] = zi[k * lanes + l] * scale;
        }
      }
    }
  });
}

template class Fft<float>;
template class Fft<double>;

} // namespace cupel::kernels
