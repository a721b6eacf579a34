// The inner loops of the passes by noise (NoiseSums.h): squares of one block of numbers, and how far
// its elements are off. In eight lanes and always in the same order (Lanes.h). Blocks with numbers
// that these loops do not take are left to careful ones.

#pragma once

#include "cupel/compare/NoiseSums.h"

namespace cupel::compare {

// Even, so that both parts of a complex number are in one block; some samples fit the first cache.
inline constexpr int64_t kNoiseBlock = 512;
/// The larger of two samples is the noise. Of more of them none decides, and the root mean square of
/// all does, widened as far as the larger of two numbers mostly lies above it; where there are many
/// elements the larger of two does not.
inline constexpr size_t kFewSamples = 2;
inline constexpr double kManyFactor = 1.25;

/// One block of all tensors as doubles, with zeros behind the last number.
struct NoiseBlock {
  explicit NoiseBlock(size_t sampleCount) : samples(sampleCount) {}
  struct Numbers {
    alignas(64) double values[kNoiseBlock];
    double operator[](int64_t i) const { return values[i]; }
  };
  Numbers actual, expected, center;
  std::vector<Numbers> samples;
  int64_t count = 0;
};

/// Sums over a block.
struct BlockSquares {
  double sum = 0, expected = 0, error = 0; // of expected values; squares
  std::vector<double> noise;               // squares, by sample
};

/// Squares of numbers beyond these leave the range, or come near it.
inline constexpr double kLeastSquared = 0x1p-400, kMostSquared = 0x1p400;

/// False, and nothing is meant, if a number is not finite or too large or small to be squared. Tests
/// ask for an instruction set.
bool addSquares(const NoiseBlock &block, BlockSquares &sums, int instructionSet = -1);

/// How far each element is off, 1 being its limit, and the farthest. False, and nothing is meant, if
/// a number is not finite or limits may be zero.
bool findRatios(const NoiseBlock &block, const ElementLimits &limits, double *ratios,
                double &farthest, int instructionSet = -1);

} // namespace cupel::compare
