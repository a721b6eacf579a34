// The inner loop of a comparison: sums, maxima and counts over one block of numbers. Always in
// eight lanes and in the same order, so that the sums have the same bits on every machine, whatever
// its vectors. Blocks with NaN or infinities are left to a careful loop that passes over those
// pairs.

#pragma once

#include "cupel/compare/Lanes.h"

#include <cstdint>

namespace cupel::compare {

inline constexpr int64_t kBlock = 1024; // parts a block; two blocks of doubles fit the first cache

/// Both sides of a block as they are stored.
struct RawBlock {
  Source source;
  const void *actual, *expected;
  /// Doubles only, null unless one side is a wide integer: what the first number could not hold.
  const double *actualLow, *expectedLow;
  int64_t count;
};

/// Both sides of a block as doubles; value = high + low.
struct Block {
  const double *actual, *actualLow;
  const double *expected, *expectedLow;
  int64_t count;
  /// actual - expected, zero only if they are equal.
  double difference(int64_t i) const {
    double d = actual[i] - expected[i];
    return actualLow ? d + (actualLow[i] - expectedLow[i]) : d;
  }
};

/// What the loop looks out for.
struct Watch {
  double pivotActual = 0, pivotExpected = 0; // near the means
  double scale = 1;                          // of the numbers that are summed
  double atol = 0, rtol = 0;                 // misses: error > atol + rtol * |expected|
  double relativeError = 0;                  // the largest so far
};

/// About the pivots; over pairs of finite numbers.
struct PivotSums {
  int64_t count = 0;
  double actual = 0, expected = 0, actualSquared = 0, expectedSquared = 0, product = 0;
  double errorSquared = 0;
};

struct BlockFindings {
  bool finite = true;                 // if not, nothing was added and nothing below is meant
  double maxError = 0, maxExcess = 0; // excess: error - rtol * |expected|
  int64_t different = 0;              // parts
  bool anyMisses = false, relativeErrorGrows = false;
};

/// Adds a block of finite numbers to `sums`, not scaled. Tests ask for an instruction set.
BlockFindings addBlock(const RawBlock &block, const Watch &watch, PivotSums &sums,
                       int instructionSet = -1);
/// Adds the pairs of finite numbers, scaled.
void addCarefully(const Block &block, const Watch &watch, PivotSums &sums);
/// How many parts miss the tolerance, in a block of finite numbers.
int64_t countMisses(const Block &block, const Watch &watch);

} // namespace cupel::compare
