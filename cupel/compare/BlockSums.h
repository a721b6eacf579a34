// The inner loop of a comparison: sums, maxima and counts over one block of numbers. Always in four
// lanes and in the same order, so that the sums have the same bits on every machine, whatever its
// vectors. Blocks with NaN or infinities are told apart and summed with those pairs left out.

#pragma once

#include <cstdint>

namespace cupel::compare {

inline constexpr int64_t kBlock = 1024; // parts a block; two blocks of doubles fit the first cache

/// Both sides of a block; value = high + low, where low is null unless one side is a wide integer.
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
  double maxError = 0, maxExcess = 0; // excess: error - rtol * |expected|
  double maxActual = 0, maxExpected = 0;
  int64_t different = 0, misses = 0; // parts
  bool finite = true;
  bool relativeErrorGrows = false;
};

/// Adds to `sums`. Findings of a block that is not finite are maxima over its finite pairs, without
/// counts.
BlockFindings addBlock(const Block &block, const Watch &watch, PivotSums &sums);

} // namespace cupel::compare
