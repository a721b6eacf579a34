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
  bool isClamped = false;
  bool isPositive = false; // The low limit is a zero without a sign.
  float low = 0, high = 0; // Never NaN; where only one is there, the other is an infinity.
};

} // namespace cupel::kernels
