#include "cupel/compare/NoiseSums.h"

#include "cupel/support/ThreadPool.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace cupel;
using namespace cupel::compare;

namespace {

// Even, so that both parts of a complex number are in one block.
constexpr int64_t kBlockParts = 2048, kChunkParts = 32 * kBlockParts;
constexpr double kInfinite = std::numeric_limits<double>::infinity();

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

/// The larger of two samples is the noise. Of more of them none decides, and the root mean square of
/// all does, widened as far as the larger of two numbers mostly lies above it; where there are many
/// elements the larger of two does not.
constexpr size_t kFew = 2;
constexpr double kManyFactor = 1.25;
constexpr int64_t kManyElements = 64;

/// One block of all tensors, as doubles.
struct Values {
  Values(size_t sampleCount, size_t parts)
      : actual(parts), expected(parts), center(parts), low(parts),
        samples(sampleCount, std::vector<double>(parts)) {}
  std::vector<double> actual, expected, center, low;
  std::vector<std::vector<double>> samples;
};

/// Calls `block(values, first, count, chunk number)` for all parts; what is left by number of chunk
/// does not depend on the threads.
template <typename F> void forBlocks(const NoiseReaders &readers, int threads, F &&block) {
  int64_t size = readers.expected.size(), chunks = (size + kChunkParts - 1) / kChunkParts;
  runPieces(chunks, threads > 0 ? threads : coreCount(), [&](int64_t chunk) {
    Values values(readers.samples.size(), size_t(std::min(size, kBlockParts)));
    int64_t end = std::min(size, (chunk + 1) * kChunkParts);
    for (int64_t at = chunk * kChunkParts; at < end; at += kBlockParts) {
      int64_t count = std::min(kBlockParts, end - at);
      readers.actual.read(at, count, values.actual.data(), values.low.data());
      readers.expected.read(at, count, values.expected.data(), values.low.data());
      if (!readers.samples.empty())
        readers.center.read(at, count, values.center.data(), values.low.data());
      for (size_t s = 0; s < readers.samples.size(); ++s)
        readers.samples[s].read(at, count, values.samples[s].data(), values.low.data());
      block(values, at, count, chunk);
    }
  });
}

int64_t chunkCount(const ElementReader &reader) {
  return (reader.size() + kChunkParts - 1) / kChunkParts;
}

/// Squares as a number and a power of two, so that neither large nor small magnitudes are lost.
class SquareSum {
public:
  void add(double x) {
    double magnitude = std::fabs(x);
    if (magnitude < 0x1p-400 || magnitude > 0x1p400) {
      if (magnitude != 0)
        addExtreme(magnitude);
      return;
    }
    usual += x * x;
  }
  void add(const SquareSum &other) {
    usual += other.usual;
    tiny += other.tiny;
    huge += other.huge;
  }
  double rootMean(int64_t count) const {
    if (count == 0)
      return 0;
    if (huge > 0)
      return std::ldexp(std::sqrt(huge / double(count)), 600);
    return usual > 0 ? std::sqrt(usual / double(count))
                     : std::ldexp(std::sqrt(tiny / double(count)), -600);
  }

private:
  void addExtreme(double magnitude) {
    bool isHuge = magnitude > 1;
    double scaled = std::ldexp(magnitude, isHuge ? -600 : 600);
    (isHuge ? huge : tiny) += scaled * scaled;
  }
  double usual = 0, tiny = 0, huge = 0;
};

struct Sums {
  SquareSum expected, error;
  std::vector<SquareSum> noise; // by sample
  int64_t count = 0;
};

} // namespace

NoiseSizes compare::measureNoise(const NoiseReaders &readers, int threads) {
  std::span<const ElementReader> samples = readers.samples;
  std::vector<Sums> partial(chunkCount(readers.expected));
  for (Sums &sums : partial)
    sums.noise.resize(samples.size());
  forBlocks(readers, threads,
            [&](const Values &v, int64_t, int64_t count, int64_t chunk) {
              Sums &sums = partial[chunk];
              for (int64_t i = 0; i < count; ++i) {
                double e = v.expected[i], error = v.actual[i] - e;
                if (!std::isfinite(e))
                  continue;
                ++sums.count;
                sums.expected.add(e);
                if (std::isfinite(error))
                  sums.error.add(error);
                for (size_t s = 0; s < samples.size(); ++s)
                  if (double noise = v.samples[s][i] - v.center[i]; std::isfinite(noise))
                    sums.noise[s].add(noise);
              }
            });
  Sums total;
  total.noise.resize(samples.size());
  for (const Sums &each : partial) {
    total.expected.add(each.expected);
    total.error.add(each.error);
    total.count += each.count;
    for (size_t s = 0; s < samples.size(); ++s)
      total.noise[s].add(each.noise[s]);
  }
  NoiseSizes sizes{total.expected.rootMean(total.count), total.error.rootMean(total.count)};
  if (samples.size() > kFew) {
    SquareSum all;
    for (const SquareSum &noise : total.noise)
      all.add(noise);
    sizes.noise = (total.count < kManyElements ? kManyFactor : 1) *
                  all.rootMean(total.count * int64_t(samples.size()));
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
static double movedBy(double e, const Values &v, int64_t i) {
  double largest = 0, squares = 0;
  for (const std::vector<double> &sample : v.samples) {
    double moved = std::fabs(sample[i] - v.center[i]);
    moved = std::isfinite(moved) ? moved : std::fabs(e);
    largest = std::max(largest, moved);
    squares += moved * moved;
  }
  // Squares of the smallest and largest numbers leave the range.
  if (v.samples.size() <= kFew || !std::isfinite(squares) || squares == 0)
    return largest;
  return kManyFactor * std::sqrt(squares / double(v.samples.size()));
}

/// How far an element is off, 1 being its limit.
static double ratioOf(double a, double e, const Values &v, int64_t i, const ElementLimits &limits) {
  if (same(a, e))
    return 0;
  // The largest numbers of f32, as masks have them, are infinite in a narrower type of its range.
  constexpr double kLargestBf16 = 0x1.fep127, kLargestF32 = 0x1.fffffep127;
  if (std::isinf(a) && std::fabs(e) > kLargestBf16 && std::fabs(e) <= kLargestF32 &&
      std::signbit(a) == std::signbit(e))
    return 0;
  if (!std::isfinite(e) || !std::isfinite(a)) {
    // Where a rounding decides whether there is a number at all, there may be one or not.
    for (const std::vector<double> &sample : v.samples)
      if (std::isfinite(sample[i]) != std::isfinite(v.center[i]))
        return 0;
    return kInfinite;
  }
  double size = std::max(std::fabs(e), limits.size);
  double noise = std::max({limits.noise, limits.noiseShare * size, movedBy(e, v, i)});
  double limit = limits.factor * noise + limits.least * size + limits.smallest;
  return limit > 0 ? std::fabs(a - e) / limit : kInfinite;
}

ElementsBeyond compare::findBeyond(const NoiseReaders &readers, const ElementLimits &limits,
                                   int threads) {
  std::span<const int64_t> shape = readers.expected.tensor().shape();
  size_t rank = shape.size();
  int parts = readers.expected.parts();
  std::vector<ElementsBeyond> partial(chunkCount(readers.expected));
  forBlocks(readers, threads,
            [&](const Values &v, int64_t first, int64_t count, int64_t chunk) {
              ElementsBeyond &found = partial[chunk];
              int64_t last = -1; // the element counted last: a complex one counts once
              for (int64_t i = 0; i < count; ++i) {
                double ratio = ratioOf(v.actual[i], v.expected[i], v, i, limits);
                if (ratio > found.ratio)
                  found.ratio = ratio, found.position = first + i;
                if (ratio <= 1)
                  continue;
                int64_t element = (first + i) / parts, rest = element;
                found.count += element != last;
                last = element;
                if (found.low.empty()) {
                  found.low.assign(rank, std::numeric_limits<int64_t>::max());
                  found.high.assign(rank, -1);
                }
                for (size_t d = rank; d-- > 0; rest /= shape[d]) {
                  found.low[d] = std::min(found.low[d], rest % shape[d]);
                  found.high[d] = std::max(found.high[d], rest % shape[d]);
                }
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
    for (size_t d = 0; d < rank; ++d) {
      total.low[d] = std::min(total.low[d], each.low[d]);
      total.high[d] = std::max(total.high[d], each.high[d]);
    }
  }
  return total;
}

void compare::markBeyond(const NoiseReaders &readers, const ElementLimits &limits,
                         std::vector<bool> &marks) {
  int parts = readers.expected.parts();
  forBlocks(readers, 1, [&](const Values &v, int64_t first, int64_t count, int64_t) {
    for (int64_t i = 0; i < count; ++i)
      if (ratioOf(v.actual[i], v.expected[i], v, i, limits) > 1)
        marks[size_t((first + i) / parts)] = true;
  });
}
