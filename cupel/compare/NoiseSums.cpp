#include "cupel/compare/NoiseSums.h"

#include "cupel/compare/NoiseLanes.h"
#include "cupel/support/ThreadPool.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>

using namespace cupel;
using namespace cupel::compare;

namespace {

constexpr int64_t kChunkParts = 128 * kNoiseBlock;
constexpr double kInfinite = std::numeric_limits<double>::infinity();

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

/// Of fewer elements the noise of many samples is widened.
constexpr int64_t kManyElements = 64;

/// Calls `take(block, first, chunk number)` for all parts; what is left by number of chunk does not
/// depend on the threads.
template <typename F> void forBlocks(const NoiseReaders &readers, int threads, F &&take) {
  int64_t size = readers.expected.size(), chunks = (size + kChunkParts - 1) / kChunkParts;
  runPieces(chunks, threads > 0 ? threads : coreCount(), [&](int64_t chunk) {
    auto block = std::make_unique<NoiseBlock>(readers.samples.size());
    double low[kNoiseBlock];
    int64_t end = std::min(size, (chunk + 1) * kChunkParts);
    for (int64_t at = chunk * kChunkParts; at < end; at += kNoiseBlock) {
      block->count = std::min(kNoiseBlock, end - at);
      auto read = [&](const ElementReader &reader, NoiseBlock::Numbers &to) {
        reader.read(at, block->count, to.values, reader.isWide() ? low : nullptr);
        std::fill(to.values + block->count, to.values + kNoiseBlock, 0.0);
      };
      read(readers.actual, block->actual);
      read(readers.expected, block->expected);
      if (!readers.samples.empty())
        read(readers.center, block->center);
      for (size_t s = 0; s < readers.samples.size(); ++s)
        read(readers.samples[s], block->samples[s]);
      take(*block, at, chunk);
    }
  });
}

int64_t chunkCount(const ElementReader &reader) {
  return (reader.size() + kChunkParts - 1) / kChunkParts;
}

/// Numbers and their squares, each as a number and a power of two, so that neither large nor small
/// magnitudes are lost.
class SquareSum {
public:
  void add(double x) {
    double size = std::fabs(x);
    if (size >= kLeastSquared && size <= kMostSquared)
      addUsual(x, x * x);
    else if (size != 0)
      (size > 1 ? huge : tiny).add(std::ldexp(x, size > 1 ? -600 : 600));
  }
  void addUsual(double sum, double squares) {
    usual.sum += sum;
    usual.squares += squares;
  }
  void add(const SquareSum &other) {
    for (auto [mine, theirs] : {std::pair(&usual, &other.usual), std::pair(&tiny, &other.tiny),
                                std::pair(&huge, &other.huge)}) {
      mine->sum += theirs->sum;
      mine->squares += theirs->squares;
    }
  }
  double rootMean(int64_t count) const {
    return count == 0 ? 0 : std::ldexp(std::sqrt(what().squares / double(count)), exponent());
  }
  /// The mean as a share of the root mean square.
  double meanShare(int64_t count) const {
    const Scaled &scaled = what();
    return scaled.squares > 0 ? scaled.sum / std::sqrt(scaled.squares) / std::sqrt(double(count))
                              : 0;
  }

private:
  struct Scaled {
    double sum = 0, squares = 0;
    void add(double x) {
      sum += x;
      squares += x * x;
    }
  };
  /// Of what is largest the rest is no noticeable part.
  const Scaled &what() const {
    return huge.squares > 0 ? huge : usual.squares > 0 ? usual : tiny;
  }
  int exponent() const { return huge.squares > 0 ? 600 : usual.squares > 0 ? 0 : -600; }
  Scaled usual, tiny, huge;
};

struct Sums {
  explicit Sums(size_t samples = 0) : noise(samples) {}
  SquareSum expected, error;
  std::vector<SquareSum> noise; // by sample
  int64_t count = 0;

  void add(const NoiseBlock &block, BlockSquares &found) {
    if (!addSquares(block, found))
      return addCarefully(block);
    count += block.count;
    expected.addUsual(found.sum, found.expected);
    error.addUsual(0, found.error);
    for (size_t s = 0; s < noise.size(); ++s)
      noise[s].addUsual(0, found.noise[s]);
  }

private:
  void addCarefully(const NoiseBlock &block) {
    for (int64_t i = 0; i < block.count; ++i) {
      double e = block.expected[i], off = block.actual[i] - e;
      if (!std::isfinite(e))
        continue;
      ++count;
      expected.add(e);
      if (std::isfinite(off))
        error.add(off);
      for (size_t s = 0; s < noise.size(); ++s)
        if (double moved = block.samples[s][i] - block.center[i]; std::isfinite(moved))
          noise[s].add(moved);
    }
  }
};

} // namespace

NoiseSizes compare::measureNoise(const NoiseReaders &readers, int threads) {
  size_t samples = readers.samples.size();
  std::vector<Sums> partial(chunkCount(readers.expected), Sums(samples));
  forBlocks(readers, threads, [&](const NoiseBlock &block, int64_t, int64_t chunk) {
    BlockSquares found;
    partial[chunk].add(block, found);
  });
  Sums total(samples);
  for (const Sums &each : partial) {
    total.expected.add(each.expected);
    total.error.add(each.error);
    total.count += each.count;
    for (size_t s = 0; s < samples; ++s)
      total.noise[s].add(each.noise[s]);
  }
  NoiseSizes sizes{total.expected.rootMean(total.count), total.error.rootMean(total.count)};
  sizes.meanShare = total.expected.meanShare(total.count);
  if (samples > kFewSamples) {
    SquareSum all;
    for (const SquareSum &noise : total.noise)
      all.add(noise);
    sizes.noise = (total.count < kManyElements ? kManyFactor : 1) *
                  all.rootMean(total.count * int64_t(samples));
    return sizes;
  }
  for (const SquareSum &noise : total.noise)
    sizes.noise = std::max(sizes.noise, noise.rootMean(total.count));
  return sizes;
}

ElementLimits compare::limitsFor(tensor::DType type, const Noise &noise,
                                 const NoiseFactors &factors, NoiseSizes &sizes) {
  ElementLimits limits;
  limits.factor = factors.element;
  limits.least = leastShare(type, noise.precision, factors);
  limits.smallest = smallestNormal(type);
  limits.size = sizes.expected;
  // Nothing rounds on the way to this output, or nobody could find out.
  if (sizes.noise == 0 && !noise.isNone) {
    bool isWide = mantissaBits(partType(type)) > 23;
    limits.noiseShare = isWide ? noise.precision.doubles.step : noise.precision.coarsest().step;
    sizes.noise = limits.noiseShare * sizes.expected;
  }
  limits.noise = sizes.noise;
  return limits;
}

/// What the samples say of one element.
static double movedBy(double e, const NoiseBlock &v, int64_t i) {
  double largest = 0, squares = 0;
  for (const NoiseBlock::Numbers &sample : v.samples) {
    double moved = std::fabs(sample[i] - v.center[i]);
    moved = std::isfinite(moved) ? moved : std::fabs(e);
    largest = std::max(largest, moved);
    squares += moved * moved;
  }
  // Squares of the smallest and largest numbers leave the range.
  if (v.samples.size() <= kFewSamples || !std::isfinite(squares) || squares == 0)
    return largest;
  return kManyFactor * std::sqrt(squares / double(v.samples.size()));
}

/// How far an element is off, 1 being its limit.
static double ratioOf(const NoiseBlock &v, int64_t i, const ElementLimits &limits) {
  double a = v.actual[i], e = v.expected[i];
  if (same(a, e))
    return 0;
  // The largest numbers of f32, as masks have them, are infinite in a narrower type of its range.
  constexpr double kLargestBf16 = 0x1.fep127, kLargestF32 = 0x1.fffffep127;
  if (std::isinf(a) && std::fabs(e) > kLargestBf16 && std::fabs(e) <= kLargestF32 &&
      std::signbit(a) == std::signbit(e))
    return 0;
  if (!std::isfinite(e) || !std::isfinite(a)) {
    // Where a rounding decides whether there is a number at all, there may be one or not.
    for (const NoiseBlock::Numbers &sample : v.samples)
      if (std::isfinite(sample[i]) != std::isfinite(v.center[i]))
        return 0;
    return kInfinite;
  }
  double size = std::max(std::fabs(e), limits.size);
  double noise = std::max({limits.noise, limits.noiseShare * size, movedBy(e, v, i)});
  double limit = limits.factor * noise + limits.least * size + limits.smallest;
  return limit > 0 ? std::fabs(a - e) / limit : kInfinite;
}

/// How far all elements of a block are off; the farthest.
static double ratiosOf(const NoiseBlock &block, const ElementLimits &limits, double *ratios) {
  double farthest = 0;
  if (findRatios(block, limits, ratios, farthest))
    return farthest;
  farthest = 0;
  for (int64_t i = 0; i < block.count; ++i) {
    ratios[i] = ratioOf(block, i, limits);
    farthest = std::max(farthest, ratios[i]);
  }
  return farthest;
}

namespace {

/// Finds the box around elements that come in ascending order: along the last dimension by column,
/// and along the others once for every row.
class BoxFinder {
public:
  BoxFinder(std::span<const int64_t> shape, ElementsBeyond &found) : shape(shape), found(found) {}

  void add(int64_t element) {
    if (found.low.empty()) {
      found.low.assign(shape.size(), std::numeric_limits<int64_t>::max());
      found.high.assign(shape.size(), -1);
    }
    if (shape.empty())
      return;
    if (element >= rowEnd)
      enterRow(element / shape.back());
    widen(shape.size() - 1, element - (rowEnd - shape.back()));
  }

private:
  void enterRow(int64_t row) {
    rowEnd = (row + 1) * shape.back();
    for (size_t d = shape.size() - 1; d-- > 0; row /= shape[d])
      widen(d, row % shape[d]);
  }
  void widen(size_t d, int64_t index) {
    found.low[d] = std::min(found.low[d], index);
    found.high[d] = std::max(found.high[d], index);
  }

  std::span<const int64_t> shape;
  ElementsBeyond &found;
  int64_t rowEnd = 0; // of the row of the last element
};

} // namespace

ElementsBeyond compare::findBeyond(const NoiseReaders &readers, const ElementLimits &limits,
                                   int threads) {
  std::span<const int64_t> shape = readers.expected.tensor().shape();
  int parts = readers.expected.parts();
  std::vector<ElementsBeyond> partial(chunkCount(readers.expected));
  forBlocks(readers, threads, [&](const NoiseBlock &block, int64_t first, int64_t chunk) {
    ElementsBeyond &found = partial[chunk];
    alignas(64) double ratios[kNoiseBlock];
    double farthest = ratiosOf(block, limits, ratios);
    // Most blocks of a right result have nothing to add.
    if (farthest <= found.ratio && farthest <= 1)
      return;
    BoxFinder box(shape, found);
    int64_t last = -1; // the element counted last: a complex one counts once
    for (int64_t i = 0; i < block.count; ++i) {
      if (ratios[i] > found.ratio)
        found.ratio = ratios[i], found.position = first + i;
      if (ratios[i] <= 1)
        continue;
      int64_t element = (first + i) / parts;
      found.count += element != last;
      last = element;
      box.add(element);
    }
  });
  ElementsBeyond total;
  for (const ElementsBeyond &each : partial) {
    total.count += each.count;
    if (each.ratio > total.ratio)
      total.ratio = each.ratio, total.position = each.position;
    if (each.count == 0)
      continue;
    if (total.low.empty()) {
      total.low = each.low, total.high = each.high;
      continue;
    }
    for (size_t d = 0; d < shape.size(); ++d) {
      total.low[d] = std::min(total.low[d], each.low[d]);
      total.high[d] = std::max(total.high[d], each.high[d]);
    }
  }
  return total;
}

void compare::markBeyond(const NoiseReaders &readers, const ElementLimits &limits,
                         std::vector<bool> &marks) {
  int parts = readers.expected.parts();
  forBlocks(readers, 1, [&](const NoiseBlock &block, int64_t first, int64_t) {
    alignas(64) double ratios[kNoiseBlock];
    if (ratiosOf(block, limits, ratios) <= 1)
      return;
    for (int64_t i = 0; i < block.count; ++i)
      if (ratios[i] > 1)
        marks[size_t((first + i) / parts)] = true;
  });
}
