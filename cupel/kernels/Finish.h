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
  const float *rows = nullptr; // As many rows and columns as the result has: added.
  int64_t rowStride = 0;
  bool isPositive = false; // The low limit is a zero without a sign.
  bool hasLow = false;     // It is another number.
  bool hasHigh = false;
  float low = 0, high = 0; // Never NaN.
  /// Not null: the result goes there, rounded to bf16, and not to C. As many columns, rows `narrowStride` apart.
  uint16_t *narrow = nullptr;
  int64_t narrowStride = 0;
};

} // namespace cupel::kernels
