// What a comparison found, before anybody judges it. Made by Compare.h, read by Verdict.h and by
// reports. The same numbers whatever the number of threads.

#pragma once

#include "cupel/tensor/Tensor.h"

#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace cupel::compare {

/// The distance of two elements of which one is not finite.
inline constexpr uint64_t kInfiniteUlp = std::numeric_limits<uint64_t>::max();

/// One element, with both its values as text in the precision of its type.
struct Element {
  int64_t position = 0; // row-major
  std::vector<int64_t> index;
  std::string actual, expected;
  double error = 0; // |actual - expected|; infinite where exactly one is not finite
};

struct UlpStatistics {
  /// Buckets 0, 1, 2, 3..4, 5..8, ..., 2^63+1..; infinite distances are counted apart.
  static constexpr int kBuckets = 66;
  static constexpr int bucketOf(uint64_t distance) {
    return distance == 0 ? 0 : 1 + std::bit_width(distance - 1);
  }
  /// The largest distance that a bucket counts.
  static constexpr uint64_t bucketEnd(int bucket) {
    return bucket == 0 ? 0 : bucket > 64 ? kInfiniteUlp - 1 : uint64_t{1} << (bucket - 1);
  }

  uint64_t max = 0; // kInfiniteUlp if any is
  uint64_t maxFinite = 0;
  int64_t infinite = 0;
  std::array<int64_t, kBuckets> histogram{};
  tensor::DType unit = tensor::DType::F32; // the type whose steps were counted
};

/// Whether a correlation could be measured, and why not.
enum class PccState : uint8_t {
  Measured,
  Equal,            // all values are equal: 1 by definition
  ActualConstant,   // the result does not vary though the expected values do: 0 by definition
  ExpectedConstant, // expected values vary no more than their type's rounding: no meaning
  WithinRounding,   // they vary by some roundings, and no element is off by more than a few: what
                    // would correlate is the noise of both sides
  TooFew,           // one or two elements: no meaning
  NothingFinite,    // no pair of finite numbers: no meaning
};

struct NonFinite {
  int64_t nans = 0, infinities = 0;
  std::optional<int64_t> firstNan, firstInfinity; // row-major positions
};

struct Statistics {
  tensor::ElementType actualType, expectedType;
  tensor::Shape actualShape, expectedShape;
  bool sameShape() const { return actualShape == expectedShape; }

  // All below is meaningful only if the shapes are the same. A complex element is a mismatch if
  // either part is; sums and maxima run over both parts.
  int64_t count = 0;           // elements
  int64_t different = 0;       // elements that are not equal (two NaNs are equal here)
  int64_t mismatches = 0;      // elements that miss the tolerance's bounds for single elements
  int64_t finitePairs = 0;     // what pcc, L2 and cosine are computed over (parts)
  double maxError = 0;         // absolute; infinite where exactly one is not finite
  double maxRelativeError = 0; // over finite pairs with expected != 0

  PccState pccState = PccState::Equal;
  double pcc = 1;        // NaN where it has no meaning
  double relativeL2 = 0; // infinite if expected is zero and actual is not
  double cosine = 1;     // 0 if exactly one is zero
  double rmsExpected = 0;

  NonFinite nonFiniteActual, nonFiniteExpected;
  int64_t nonFiniteMismatches = 0; // NaN or infinity against something else; also NaN against NaN
                                   // if the tolerance says that they are not equal
  int64_t bothNan = 0;

  std::optional<UlpStatistics> ulp;               // if asked for, by the tolerance or the options
  int64_t ulpMismatches = 0, closeMismatches = 0; // by which bound; an element may miss both
  std::vector<Element> worst;                     // farthest first, ties by position
  std::vector<int64_t> firstMismatches;           // row-major positions, ascending

  std::vector<int64_t> indexOf(int64_t position) const;
};

} // namespace cupel::compare
