// How far a result may be from what was expected: the one type that every caller (device runs, the
// reference's checks, tests) says it with. What each bound means, and what happens where it has no
// meaning, is written in docs/reference/compare.md.

#pragma once

#include "cupel/support/Error.h"

#include <cstdint>
#include <optional>
#include <string>

namespace cupel::compare {

/// What a NaN that meets a NaN counts as. A NaN that meets a number is a mismatch always.
enum class NanPolicy : uint8_t { Equal, Unequal };

/// What atol and rtol bound of a complex number: its distance from the expected one, as in NumPy's
/// and PyTorch's allclose, or the difference of each part by itself.
enum class ComplexPolicy : uint8_t { Modulus, Parts };

struct UlpRange {
  uint64_t min = 0, max = 0;
  bool operator==(const UlpRange &) const = default;
};

/// Every bound that is set must hold. With none set, the tensors must be equal.
struct Tolerance {
  /// Pearson correlation of at least this.
  std::optional<double> pcc = std::nullopt;
  /// For every element |actual - expected| <= atol + rtol * |expected|; one that is not set is 0.
  std::optional<double> atol = std::nullopt, rtol = std::nullopt;
  /// Beside these, |actual - expected| of no element above this.
  std::optional<double> largest = std::nullopt;
  /// |actual - expected| / |expected|, as vectors, of at most this.
  std::optional<double> relativeL2 = std::nullopt;
  /// Cosine of the angle between the tensors as vectors, of at least this.
  std::optional<double> cosine = std::nullopt;
  /// ULP distance of every element.
  std::optional<UlpRange> ulp = std::nullopt;
  NanPolicy nan = NanPolicy::Equal;
  ComplexPolicy complex = ComplexPolicy::Modulus;

  static Tolerance withPcc(double pcc) { return {.pcc = pcc}; }
  static Tolerance allclose(double rtol, double atol, NanPolicy nan = NanPolicy::Unequal) {
    return {.atol = atol, .rtol = rtol, .nan = nan};
  }
  /// `==` of every element: NaN equals nothing, +0 equals -0 (check.expect_eq).
  static Tolerance equal() { return {.atol = 0.0, .nan = NanPolicy::Unequal}; }
  /// Absolute, never relative, for each part of a complex number; NaN equals NaN
  /// (check.expect_almost_eq).
  static Tolerance almostEqual(double atol) {
    return {.atol = atol, .complex = ComplexPolicy::Parts};
  }
  /// check.expect_close.
  static Tolerance close(uint64_t maxUlp, uint64_t minUlp = 0) {
    return {.ulp = UlpRange{minUlp, maxUlp}};
  }

  /// Whether single elements are judged by their difference.
  bool boundsDifference() const { return atol || rtol || isEmpty(); }
  bool isEmpty() const {
    return !pcc && !atol && !rtol && !largest && !relativeL2 && !cosine && !ulp;
  }

  /// An error where a bound is NaN, negative or out of its range.
  Status validate() const;
  bool operator==(const Tolerance &) const = default;
};

} // namespace cupel::compare
