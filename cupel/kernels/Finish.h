// The part of an epilogue (Epilogue.h) that the innermost loops do themselves. Plain data without any standard library, because files
// compiled for different processors include it.

#pragma once

#include <cstdint>

namespace cupel::kernels {

/// What is done to sums behind the bias while they are in registers, in this order; what is null is left out. Of the whole result: kernels
/// know which row and column they are at.
struct Finish {
  const float *factors[2] = {}; // One for each column.
  const float *addends = nullptr;
  /// The first factor and the addend are one multiply-add, rounded once where the processor can; there is no second factor.
  bool isJoined = false;
  const float *rows = nullptr; // As many rows and columns as the result has: added.
  int64_t rowStride = 0;
  const uint16_t *narrowRows = nullptr; // The same in bf16, where there are no `rows`.
  bool isPositive = false; // The low limit is a zero without a sign.
  bool hasLow = false;     // It is another number.
  bool hasHigh = false;
  float low = 0, high = 0; // Never NaN.
  /// Instead of limits: the number times what limits leave of it times `gateScale` plus `gateShift` (one multiply-add, as above), times
  /// `gateFactor`. A hard swish is such a gate. Nothing is NaN, and the shift not zero.
  bool isGated = false;
  float gateScale = 1, gateShift = 0, gateFactor = 1;
  /// Not null: the result goes there, rounded to bf16, and not to C. As many columns, rows `narrowStride` apart.
  uint16_t *narrow = nullptr;
  int64_t narrowStride = 0;
  /// Numbers below 2^-126 may become zero while they are rounded, as they do in products of bf16: either all of a result that are
  /// rounded in registers do, or none.
  bool losesDenormals = false;
};

/// Steps with a number for each column, in this order: a sum, factors, a sum. What is null is left out, but the first factor is there.
struct ColumnTerms {
  const float *bias = nullptr;
  const float *factors[2] = {};
  const float *addends = nullptr;
  bool subtractsBias = false, subtractsAddends = false;
  int64_t columns = 0;
};

/// `factor` and `addend` such that x * factor + addend is what the terms make of x, up to rounding. False where that cannot be said: a
/// number is infinite, NaN or so large that one of both ways may overflow and the other not, or a product of factors lost digits.
bool joinTerms(const ColumnTerms &terms, float *factor, float *addend);

} // namespace cupel::kernels
