#include "cupel/compare/NoiseLanes.h"

#include "cupel/compare/Lanes.h"

#include <limits>

using namespace cupel;
using namespace cupel::compare;

namespace {

/// By reference, as all vectors are: they are passed differently by different targets.
__attribute__((always_inline)) inline void magnitude(const Lanes &of, Lanes &to) {
  to = (Lanes)((Masks)of & (Masks{} + INT64_MAX));
}
__attribute__((always_inline)) inline void takeLarger(Lanes &of, const Lanes &other) {
  of = other > of ? other : of;
}

/// Adds squares, and marks what cannot be squared.
__attribute__((always_inline)) inline void square(const Lanes &x, Lanes &squares, Masks &strange) {
  Lanes size;
  magnitude(x, size);
  strange |= ~(size <= kMostSquared) | ((size < kLeastSquared) & (size > 0.0));
  squares += x * x;
}

__attribute__((always_inline)) inline bool addSquaresInLanes(const NoiseBlock &block,
                                                             BlockSquares &sums) {
  Lanes sum{}, expected{}, error{}, a, e, c, s;
  Masks strange{};
  for (int64_t i = 0; i < block.count; i += kLanes) {
    load<Source::Doubles>(block.actual.values + i, a);
    load<Source::Doubles>(block.expected.values + i, e);
    sum += e;
    square(e, expected, strange);
    square(a - e, error, strange);
  }
  sums.sum = sumOf(sum);
  sums.expected = sumOf(expected);
  sums.error = sumOf(error);
  for (size_t k = 0; k < block.samples.size(); ++k) {
    Lanes noise{};
    for (int64_t i = 0; i < block.count; i += kLanes) {
      load<Source::Doubles>(block.samples[k].values + i, s);
      load<Source::Doubles>(block.center.values + i, c);
      square(s - c, noise, strange);
    }
    sums.noise[k] = sumOf(noise);
  }
  for (int k = 0; k < kLanes; ++k)
    if (strange[k])
      return false;
  return true;
}

__attribute__((always_inline)) inline bool findRatiosInLanes(const NoiseBlock &block,
                                                             const ElementLimits &limits,
                                                             double *ratios, double &farthest) {
  constexpr double kLargest = std::numeric_limits<double>::max();
  Lanes largest{}, a, e, c, s;
  Masks strange{};
  size_t samples = block.samples.size();
  for (int64_t i = 0; i < block.count; i += kLanes) {
    load<Source::Doubles>(block.actual.values + i, a);
    load<Source::Doubles>(block.expected.values + i, e);
    Lanes size, error;
    magnitude(e, size);
    magnitude(a - e, error);
    strange |= ~(size <= kLargest) | ~(error <= kLargest);
    takeLarger(size, Lanes{} + limits.size);
    Lanes noise = Lanes{} + limits.noise;
    takeLarger(noise, limits.noiseShare * size);
    if (samples > 0) {
      Lanes most{}, squares{}, moved;
      load<Source::Doubles>(block.center.values + i, c);
      for (size_t k = 0; k < samples; ++k) {
        load<Source::Doubles>(block.samples[k].values + i, s);
        magnitude(s - c, moved);
        strange |= ~(moved <= kLargest);
        takeLarger(most, moved);
        squares += moved * moved;
      }
      if (samples > kFewSamples) {
        // Squares of the smallest and largest numbers leave the range.
        strange |= ~(squares <= kLargest) | ((squares == 0.0) & (most > 0.0));
        most = kManyFactor * __builtin_elementwise_sqrt(squares / double(samples));
      }
      takeLarger(noise, most);
    }
    Lanes ratio = error / (limits.factor * noise + limits.least * size + limits.smallest);
    std::memcpy(ratios + i, &ratio, sizeof ratio);
    takeLarger(largest, ratio);
  }
  farthest = maxOf(largest);
  for (int k = 0; k < kLanes; ++k)
    if (strange[k])
      return false;
  return true;
}

struct Loops {
  bool (*squares)(const NoiseBlock &, BlockSquares &);
  bool (*ratios)(const NoiseBlock &, const ElementLimits &, double *, double &);
};

bool squaresPlain(const NoiseBlock &b, BlockSquares &s) { return addSquaresInLanes(b, s); }
bool ratiosPlain(const NoiseBlock &b, const ElementLimits &l, double *r, double &f) {
  return findRatiosInLanes(b, l, r, f);
}
#if defined(__x86_64__)
__attribute__((target("avx2"))) bool squaresAvx2(const NoiseBlock &b, BlockSquares &s) {
  return addSquaresInLanes(b, s);
}
__attribute__((target("avx2"))) bool ratiosAvx2(const NoiseBlock &b, const ElementLimits &l,
                                                double *r, double &f) {
  return findRatiosInLanes(b, l, r, f);
}
__attribute__((target("avx512f,avx512dq,avx512vl,avx512bw"))) bool
squaresAvx512(const NoiseBlock &b, BlockSquares &s) {
  return addSquaresInLanes(b, s);
}
__attribute__((target("avx512f,avx512dq,avx512vl,avx512bw"))) bool
ratiosAvx512(const NoiseBlock &b, const ElementLimits &l, double *r, double &f) {
  return findRatiosInLanes(b, l, r, f);
}
constexpr Loops kLoops[] = {
    {squaresPlain, ratiosPlain}, {squaresAvx2, ratiosAvx2}, {squaresAvx512, ratiosAvx512}};
#else
constexpr Loops kLoops[] = {{squaresPlain, ratiosPlain}};
#endif

const Loops &loopsOf(int instructionSet) {
  static const int best = instructionSets() - 1;
  return kLoops[instructionSet < 0 ? best : instructionSet];
}

} // namespace

bool compare::addSquares(const NoiseBlock &block, BlockSquares &sums, int instructionSet) {
  sums.noise.resize(block.samples.size());
  return loopsOf(instructionSet).squares(block, sums);
}

bool compare::findRatios(const NoiseBlock &block, const ElementLimits &limits, double *ratios,
                         double &farthest, int instructionSet) {
  // Without a limit there is no ratio.
  if (!(limits.smallest > 0))
    return false;
  return loopsOf(instructionSet).ratios(block, limits, ratios, farthest);
}
