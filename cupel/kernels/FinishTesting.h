// What a Finish makes of results, written out element by element, and operands for one. Only for tests.

#pragma once

#include "cupel/kernels/Finish.h"
#include "cupel/kernels/Isa.h"
#include "cupel/kernels/KernelTable.h"
#include "cupel/kernels/TestBuffers.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

namespace cupel::kernels {

/// All steps at once, or some of them.
struct FinishOperands {
  GuardedFloats first, second, addends, rows;
  GuardedFloats halves; // The rows in bf16, two in each.
  std::vector<uint16_t> narrow;
  int64_t columns;

  FinishOperands(int64_t rowCount, int64_t columns)
      : first(columns), second(columns), addends(columns), rows(rowCount * columns), halves((rowCount * columns + 1) / 2), narrow(static_cast<size_t>(rowCount * columns)),
        columns(columns) {
    first.fill(5), second.fill(6), addends.fill(7), rows.fill(8);
    for (int64_t i = 3; i < columns;
         i += 17) // What is denormal is rounded as well, with steps that are joined too.
      first[i] *= 1e-38f, second[i] *= 1e-38f, addends[i] = 0;
  }

  /// Bits of `which`: factors, addends, rows, the low limit zero, another one, a high limit, a result in bf16, a factor and an addend
  /// that are one step, rows in bf16, numbers that may be lost, a gate instead of limits.
  Finish make(int which) {
    Finish finish;
    if (which & 1)
      finish.factors[0] = first.data(), finish.factors[1] = second.data();
    if (which & 2)
      finish.addends = addends.data();
    if (which & 4)
      finish.rows = rows.data(), finish.rowStride = columns;
    if (which & 256) {
      auto *to = reinterpret_cast<uint16_t *>(halves.data() + halves.length()) - rows.length(); // Nothing lies behind the last one.
      for (int64_t i = 0; i < rows.length(); ++i)
        to[i] = static_cast<uint16_t>(std::bit_cast<uint32_t>(rows[i]) >> 16);
      finish.narrowRows = to, finish.rowStride = columns;
    }
    if (which & 8)
      finish.isPositive = true;
    else if (which & 16)
      finish.hasLow = true, finish.low = -0.5f;
    if (which & 32)
      finish.hasHigh = true, finish.high = 1.5f;
    if (which & 64)
      finish.narrow = narrow.data(), finish.narrowStride = columns;
    if (which & 128) {
      finish.factors[0] = second.data();
      finish.addends = addends.data();
      finish.isJoined = true;
    }
    if (which & 1024) {
      finish.isPositive = finish.hasLow = finish.hasHigh = false;
      finish.isGated = true;
      finish.gateScale = 0.75f, finish.gateShift = 0.625f, finish.gateFactor = 1 / 3.0f;
      finish.low = -0.25f, finish.high = 1.5f;
    }
    finish.losesDenormals = (which & 512) != 0;
    return finish;
  }
};

inline float finishedElement(const Finish &finish, float value, int64_t row, int64_t column) {
  // Each is stored, so that nothing is contracted.
  volatile float now = value;
  for (const float *factors : finish.factors)
    if (factors && !finish.isJoined)
      now = now * factors[column];
  if (finish.isJoined && currentKernels().width > 4) // Those with wider vectors round once.
    now = std::fma(now, finish.factors[0][column], finish.addends[column]);
  else if (finish.isJoined)
    now = now * finish.factors[0][column];
  if (finish.addends && !(finish.isJoined && currentKernels().width > 4))
    now = now + finish.addends[column];
  if (finish.rows)
    now = now + finish.rows[row * finish.rowStride + column];
  if (finish.narrowRows)
    now = now + std::bit_cast<float>(uint32_t{finish.narrowRows[row * finish.rowStride + column]} << 16);
  float whole = now;
  if (std::isnan(whole))
    return whole;
  if (finish.isGated) {
    volatile float gate = whole * finish.gateScale;
    gate = currentKernels().width > 4 ? std::fma(whole, finish.gateScale, finish.gateShift) : gate + finish.gateShift;
    now = whole * std::clamp(float{gate}, finish.low, finish.high);
    now = now * finish.gateFactor;
    return now;
  }
  if (finish.isPositive && !(whole > 0))
    whole = 0;
  if (finish.hasLow && whole < finish.low)
    whole = finish.low;
  return finish.hasHigh && whole > finish.high ? finish.high : whole;
}

/// To the nearest, ties to even; NaN keeps what it has room for.
inline uint16_t roundedToBf16(float value) {
  auto bits = std::bit_cast<uint32_t>(value);
  return static_cast<uint16_t>((std::isnan(value) ? bits | 0x400000 : bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/// What a finish makes of it, where its result is in bf16.
inline uint16_t narrowedElement(const Finish &finish, float value) {
  // Those that round to bf16 in one instruction multiply it too.
  bool isLost = finish.losesDenormals && currentKernels().pairTiles[0][0] && std::fpclassify(value) == FP_SUBNORMAL;
  return roundedToBf16(isLost ? std::copysign(0.0f, value) : value);
}

} // namespace cupel::kernels
