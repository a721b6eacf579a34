// What a Finish makes of results, written out element by element, and operands for one. Only for tests.

#pragma once

#include "cupel/kernels/Finish.h"
#include "cupel/kernels/TestBuffers.h"

#include <cmath>

namespace cupel::kernels {

/// All steps at once, or some of them.
struct FinishOperands {
  GuardedFloats first, second, addends, rows;
  int64_t columns;

  FinishOperands(int64_t rowCount, int64_t columns)
      : first(columns), second(columns), addends(columns), rows(rowCount * columns), columns(columns) {
    first.fill(5), second.fill(6), addends.fill(7), rows.fill(8);
  }

  /// Bits of `which`: factors, addends, rows, limits.
  Finish make(int which) {
    Finish finish;
    if (which & 1)
      finish.factors[0] = first.data(), finish.factors[1] = second.data();
    if (which & 2)
      finish.addends = addends.data();
    if (which & 4)
      finish.rows = rows.data(), finish.rowStride = columns;
    if (which & 8)
      finish.isClamped = finish.isPositive = true, finish.high = 1.5f;
    return finish;
  }
};

inline float finishedElement(const Finish &finish, float value, int64_t row, int64_t column) {
  // Each is stored, so that nothing is contracted.
  volatile float now = value;
  for (const float *factors : finish.factors)
    if (factors)
      now = now * factors[column];
  if (finish.addends)
    now = now + finish.addends[column];
  if (finish.rows)
    now = now + finish.rows[row * finish.rowStride + column];
  float whole = now;
  if (!finish.isClamped || std::isnan(whole))
    return whole;
  if (whole == finish.low && finish.isPositive)
    whole = 0;
  return std::fmin(whole < finish.low ? finish.low : whole, finish.high);
}

} // namespace cupel::kernels
