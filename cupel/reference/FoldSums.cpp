// Sums of f32 with one rounding, declared in FoldKernels.h: a fast sum in f64 beside a bound of the
// terms' absolute values, and a second look at those few results that the bound leaves in doubt.

#include "cupel/reference/ExactSum.h"
#include "cupel/reference/FoldKernels.h"
#include "cupel/reference/Parallel.h"
#include "cupel/reference/StridedCopy.h"

#include <algorithm>
#include <cstring>

#pragma clang fp contract(off)

namespace cupel::reference {

using tensor::DType;
using tensor::Storage;

namespace {

constexpr int64_t kBytes = sizeof(float);

/// Sums of absolute values are made in f32, over so few terms that this bounds what they lose.
constexpr double kInflate = 1 + 0x1p-9;
/// Terms of such a sum: of a column, of a row (which has many lanes).
constexpr int64_t kColumnRows = 4096, kRowPiece = 1 << 16;

// --- The loops. What they sum begins at -0, which leaves every number as it is. ---

/// sums[j] += the j-th elements of eight rows (or one), with their absolute values.
template <int rows>
[[gnu::always_inline]] inline void takeRowsInto(double *sums, float *absolute,
                                                const std::byte *const *row, int64_t step,
                                                int64_t count) {
  const float *base[rows];
  for (int r = 0; r < rows; ++r)
    base[r] = reinterpret_cast<const float *>(row[r]);
  auto take = [&](int64_t j, int64_t at) __attribute__((always_inline)) {
    float x[rows];
#pragma clang loop unroll(full)
    for (int r = 0; r < rows; ++r)
      x[r] = base[r][at];
    if constexpr (rows == 8) {
      sums[j] += ((double(x[0]) + double(x[1])) + (double(x[2]) + double(x[3]))) +
                 ((double(x[4]) + double(x[5])) + (double(x[6]) + double(x[7])));
#pragma clang loop unroll(full)
      for (float &value : x)
        value = __builtin_fabsf(value);
      absolute[j] += ((x[0] + x[1]) + (x[2] + x[3])) + ((x[4] + x[5]) + (x[6] + x[7]));
    } else {
      sums[j] += double(x[0]);
      absolute[j] += __builtin_fabsf(x[0]);
    }
  };
  // What is summed and the sums lie apart.
  if (step == kBytes) {
#pragma clang loop vectorize(assume_safety)
    for (int64_t j = 0; j < count; ++j)
      take(j, j);
  } else {
    for (int64_t j = 0; j < count; ++j)
      take(j, j * (step / kBytes));
  }
}

constexpr int kLanes = 16;
[[gnu::always_inline]] inline void takeRowInto(double *sums, float *absolute, const float *x,
                                               int64_t count) {
  double sum[kLanes];
  float size[kLanes];
  std::copy(sums, sums + kLanes, sum);
  std::copy(absolute, absolute + kLanes, size);
  for (int64_t i = 0; i < count; i += kLanes)
    for (int l = 0; l < kLanes; ++l) {
      sum[l] += double(x[i + l]);
      size[l] += __builtin_fabsf(x[i + l]);
    }
  std::copy(sum, sum + kLanes, sums);
  std::copy(size, size + kLanes, absolute);
}

struct Loops {
  void (*someRows)(double *, float *, const std::byte *const *, int64_t, int64_t);
  void (*oneRow)(double *, float *, const std::byte *const *, int64_t, int64_t);
  void (*row)(double *, float *, const float *, int64_t);
};

#define CUPEL_SUM_LOOPS(name, attribute)                                                           \
  attribute void someRows##name(double *sums, float *absolute, const std::byte *const *row,        \
                                int64_t step, int64_t count) {                                     \
    takeRowsInto<8>(sums, absolute, row, step, count);                                             \
  }                                                                                                \
  attribute void oneRow##name(double *sums, float *absolute, const std::byte *const *row,          \
                              int64_t step, int64_t count) {                                       \
    takeRowsInto<1>(sums, absolute, row, step, count);                                             \
  }                                                                                                \
  attribute void row##name(double *sums, float *absolute, const float *x, int64_t count) {         \
    takeRowInto(sums, absolute, x, count);                                                         \
  }                                                                                                \
  constexpr Loops k##name##Loops{someRows##name, oneRow##name, row##name};
CUPEL_SUM_LOOPS(Plain, )
#if defined(__x86_64__)
CUPEL_SUM_LOOPS(Avx2, __attribute__((target("avx2"))))
#endif
#undef CUPEL_SUM_LOOPS

const Loops &loops() {
#if defined(__x86_64__)
  static const bool hasAvx2 = __builtin_cpu_supports("avx2");
  if (hasAvx2)
    return kAvx2Loops;
#endif
  return kPlainLoops;
}

/// A sum and the sum of its terms' absolute values, which is no smaller than that.
struct Bounded {
  double sum = -0.0, absolute = 0;
  void operator+=(const Bounded &other) {
    sum += other.sum;
    absolute += other.absolute;
  }
};

/// Up to kRowPiece elements that lie together.
Bounded sumPiece(const float *x, int64_t count) {
  Bounded result;
  int64_t whole = count / kLanes * kLanes;
  if (whole >= 2 * kLanes) {
    double sums[kLanes];
    float absolute[kLanes] = {};
    std::fill(sums, sums + kLanes, -0.0);
    loops().row(sums, absolute, x, whole);
    for (int l = 0; l < kLanes; ++l)
      result += {sums[l], double(absolute[l])};
  } else {
    whole = 0;
  }
  for (int64_t i = whole; i < count; ++i)
    result += {double(x[i]), double(__builtin_fabsf(x[i]))};
  return result;
}

// --- Where the terms lie. ---

class Summation {
public:
  Summation(const std::byte *input, std::vector<double> inits, const FoldLayout &layout)
      : input(input), inits(std::move(inits)), layout(layout) {}

  virtual ~Summation() = default;
  void run() {
    if (layout.reduced.empty() ||
        (!layout.kept.empty() && layout.kept.back().size >= 8 &&
         (layout.kept.back().stride == kBytes || layout.reducedCount < 16)))
      return columns();
    const FoldDim &inner = layout.reduced.back();
    if (inner.stride == kBytes && (layout.reduced.size() == 1 || inner.size >= 16 ||
                                   layout.kept.empty() || layout.kept.back().size < 8))
      return rows();
    if (!layout.kept.empty() && layout.kept.back().size >= 8 && inner.stride != kBytes)
      return columns();
    scattered();
  }

protected:
  /// Rounds and stores results from the first-th on; no term took part in more additions than
  /// `depth`.
  virtual void finish(int64_t first, const double *sums, const double *absolute, int64_t count,
                      int64_t depth) = 0;

  double initOf(int64_t result) const { return inits[static_cast<size_t>(result) % inits.size()]; }

  /// All terms of a result, the initial value last.
  Terms termsOf(int64_t result) const {
    FoldWalk kept(layout.kept);
    kept.seek(result);
    return [this, base = input + kept.offset(), result](int64_t first, int64_t count, double *out) {
      FoldWalk walk(layout.reduced);
      walk.seek(first % layout.reducedCount);
      for (int64_t i = 0; i < count; ++i, walk.next()) {
        if (first + i == layout.reducedCount) {
          out[i] = initOf(result);
          continue;
        }
        float x;
        std::memcpy(&x, base + walk.offset(), sizeof x);
        out[i] = x;
      }
    };
  }

  const std::byte *input;
  std::vector<double> inits;
  const FoldLayout &layout;

private:
  static constexpr double kNanoseconds = 0.2; // for an element, about

  void columns() {
    constexpr int64_t most = 1024;
    FoldDim inner = layout.kept.empty() ? FoldDim{1, 0} : layout.kept.back();
    std::span<const FoldDim> outer(layout.kept.data(),
                                   layout.kept.empty() ? 0 : layout.kept.size() - 1);
    int64_t outerCount = layout.keptCount / inner.size, height = layout.reducedCount;
    double nanoseconds = kNanoseconds * static_cast<double>(height) + 1;
    constexpr int64_t width = most;
    int64_t across = (inner.size + width - 1) / width, blocks = outerCount * across;
    // Few columns are cut into pieces of rows too.
    int64_t elements = height * std::min(width, inner.size);
    int64_t pieces = blocks < 16 ? std::clamp<int64_t>(elements >> 18, 1, 64) : 1;
    struct Sums {
      double sums[most], absolute[most];
    };
    auto take = [&](int64_t block, int64_t begin, int64_t end, Sums &result) {
      int64_t o = block / across, j0 = block % across * width;
      int64_t count = std::min(width, inner.size - j0);
      FoldWalk outerWalk(outer);
      outerWalk.seek(o);
      const std::byte *base = input + outerWalk.offset() + j0 * inner.stride, *row[8];
      float absolute[most];
      std::fill(result.sums, result.sums + count, -0.0);
      std::fill(result.absolute, result.absolute + count, 0.0);
      FoldWalk walk(layout.reduced);
      walk.seek(begin);
      for (int64_t r = begin; r < end;) {
        if (r > begin && isStopped())
          return;
        std::fill(absolute, absolute + count, 0.0f);
        int64_t stop = std::min(end, r + kColumnRows);
        for (; r + 8 <= stop; r += 8) {
          for (int k = 0; k < 8; ++k, walk.next())
            row[k] = base + walk.offset();
          loops().someRows(result.sums, absolute, row, inner.stride, count);
        }
        for (; r < stop; ++r, walk.next()) {
          row[0] = base + walk.offset();
          loops().oneRow(result.sums, absolute, row, inner.stride, count);
        }
        for (int64_t j = 0; j < count; ++j)
          result.absolute[j] += double(absolute[j]);
      }
    };
    int64_t depth = height / 8 + 16 + pieces;
    auto store = [&](int64_t block, Sums &result) {
      int64_t j0 = block % across * width, first = block / across * inner.size + j0;
      int64_t count = std::min(width, inner.size - j0);
      for (int64_t j = 0; j < count; ++j) {
        double init = initOf(first + j);
        result.sums[j] += init;
        result.absolute[j] += std::fabs(init);
      }
      finish(first, result.sums, result.absolute, count, depth);
    };
    double each = nanoseconds * static_cast<double>(std::min(width, inner.size));
    if (pieces == 1) {
      forBlocks(blocks, each, [&](int64_t begin, int64_t end) {
        Sums result;
        for (int64_t block = begin; block < end && !(block > begin && isStopped()); ++block) {
          take(block, 0, height, result);
          store(block, result);
        }
      });
      return;
    }
    std::vector<Sums> parts(static_cast<size_t>(pieces));
    for (int64_t block = 0; block < blocks && !isStopped(); ++block) {
      forEach(pieces, each / static_cast<double>(pieces), [&](int64_t p) {
        take(block, height * p / pieces, height * (p + 1) / pieces, parts[p]);
      });
      int64_t count = std::min(width, inner.size - block % across * width);
      for (size_t p = 1; p < parts.size(); ++p)
        for (int64_t j = 0; j < count; ++j) {
          parts[0].sums[j] += parts[p].sums[j];
          parts[0].absolute[j] += parts[p].absolute[j];
        }
      store(block, parts[0]);
    }
  }

  /// One run of elements that lie together, in pieces side by side if there is nothing else to do.
  Bounded sumRun(const float *x, int64_t count, bool alone) const {
    if (count <= kRowPiece)
      return sumPiece(x, count);
    int64_t pieces = (count + kRowPiece - 1) / kRowPiece;
    std::vector<Bounded> parts(static_cast<size_t>(pieces));
    auto piece = [&](int64_t p) {
      int64_t first = p * kRowPiece;
      parts[p] = sumPiece(x + first, std::min(kRowPiece, count - first));
    };
    if (alone)
      forEach(pieces, kNanoseconds * kRowPiece, piece);
    else
      for (int64_t p = 0; p < pieces && !isStopped(); ++p)
        piece(p);
    Bounded result;
    for (const Bounded &part : parts)
      result += part;
    return result;
  }

  /// Results of which `sumOf(number)` gives the sum without the initial value.
  template <typename F> void eachResult(double nanoseconds, int64_t depth, F &&sumOf) {
    auto some = [&](int64_t begin, int64_t end, bool alone) {
      constexpr int64_t most = 64;
      double sums[most], absolute[most];
      FoldWalk kept(layout.kept);
      kept.seek(begin);
      for (int64_t first = begin; first < end; first += most) {
        int64_t count = std::min(most, end - first);
        for (int64_t k = 0; k < count; ++k, kept.next()) {
          if (isStopped())
            return;
          Bounded result = sumOf(input + kept.offset(), alone);
          double init = initOf(first + k);
          result += {init, std::fabs(init)};
          sums[k] = result.sum;
          absolute[k] = result.absolute;
        }
        finish(first, sums, absolute, count, depth + 2);
      }
    };
    if (layout.keptCount < 16)
      return some(0, layout.keptCount, true);
    forBlocks(layout.keptCount, nanoseconds,
              [&](int64_t begin, int64_t end) { some(begin, end, false); });
  }

  void rows() {
    int64_t run = layout.reduced.back().size, outerCount = layout.reducedCount / run;
    std::span<const FoldDim> outer(layout.reduced.data(), layout.reduced.size() - 1);
    int64_t depth = std::min(run, kRowPiece) / kLanes + 4 * kLanes + outerCount + run / kRowPiece;
    eachResult(20 + kNanoseconds * static_cast<double>(layout.reducedCount), depth,
               [&](const std::byte *base, bool alone) {
                 auto at = [&](int64_t offset) {
                   return reinterpret_cast<const float *>(base + offset);
                 };
                 if (outerCount == 1)
                   return sumRun(at(0), run, alone);
                 Bounded result;
                 FoldWalk walk(outer);
                 for (int64_t r = 0; r < outerCount; ++r, walk.next()) {
                   if (r % 1024 == 1023 && isStopped())
                     break;
                   result += sumRun(at(walk.offset()), run, alone);
                 }
                 return result;
               });
  }

  /// Elements lie anywhere: they are brought together first.
  void scattered() {
    std::vector<int64_t> shape, source;
    for (const FoldDim &dim : layout.reduced) {
      shape.push_back(dim.size);
      source.push_back(dim.stride);
    }
    StridedCopy copy(shape, contiguousStrides(shape, kBytes), source, kBytes);
    int64_t count = layout.reducedCount;
    int64_t depth = std::min(count, kRowPiece) / kLanes + 4 * kLanes + count / kRowPiece;
    eachResult(40 + 1.0 * static_cast<double>(count), depth,
               [&](const std::byte *base, bool alone) {
                 thread_local std::vector<float> row;
                 row.resize(static_cast<size_t>(count));
                 copy.run(reinterpret_cast<std::byte *>(row.data()), base);
                 return sumRun(row.data(), count, alone);
               });
  }
};

/// With results of a type.
template <DType type> class SummationTo final : public Summation {
public:
  SummationTo(const std::byte *input, std::vector<double> inits, const FoldLayout &layout,
              std::byte *output)
      : Summation(input, std::move(inits), layout),
        output(reinterpret_cast<Storage<type> *>(output)) {}

private:
  void finish(int64_t first, const double *sums, const double *absolute, int64_t count,
              int64_t depth) override {
    double factor = sumErrorBound(depth, kInflate);
    if constexpr (type == DType::F32)
      if (roundSafely(sums, absolute, factor, output + first, count))
        return;
    for (int64_t j = 0; j < count; ++j) {
      int64_t result = first + j;
      double error = factor * absolute[j];
      if (std::isfinite(sums[j]) && (error == 0 || roundsSafely<type>(sums[j], error)))
        output[result] = tensor::fromDouble<type>(sums[j]);
      else
        output[result] = roundedSum<type>(sums[j], error, layout.reducedCount + 1, termsOf(result));
    }
  }

  Storage<type> *output;
};

} // namespace

void foldSums(const KnownFold &fold, const FoldLayout &layout) {
  if (fold.result == DType::C64) {
    // Real and imaginary parts are neighbours, with an initial value each.
    FoldLayout parts = layout;
    if (!parts.kept.empty() && parts.kept.back().stride == 2 * kBytes)
      parts.kept.back() = {2 * parts.kept.back().size, kBytes};
    else
      parts.kept.push_back({2, kBytes});
    parts.keptCount *= 2;
    float init[2];
    std::memcpy(init, fold.init, sizeof init);
    SummationTo<DType::F32>(fold.input, {init[0], init[1]}, parts, fold.output).run();
    return;
  }
  tensor::dispatch(fold.result, [&]<DType type>() {
    if constexpr (tensor::isFloat(type) && type != DType::F64) {
      Storage<type> init;
      std::memcpy(&init, fold.init, sizeof init);
      SummationTo<type>(fold.input, {tensor::toDouble<type>(init)}, layout, fold.output).run();
    }
  });
}

} // namespace cupel::reference
