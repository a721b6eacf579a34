// Elementary functions on vectors of f32, and NaN-correct extremes on f32 and f64. Exact at NaN,
// infinities, signed zeros and subnormals; errors are measured by VectorMathTest and stated in
// docs/reference/device-accuracy.md. f64 goes to the C library (RuntimeMath.h).

#pragma once

#include "cupel/compiler/codegen/Emitter.h"

namespace cupel::codegen {

// In f32 throughout (VectorMath.cpp): what models spend their time in.
V emitExp(Emitter &e, V x);
V emitExpOfNotPositive(Emitter &e, V x); ///< Where no number is above 0.
V emitLog(Emitter &e, V x);
V emitLog1p(Emitter &e, V x);
V emitTanh(Emitter &e, V x);
V emitLogistic(Emitter &e, V x);
/// value * logistic(x), no further from it than the product of both, in two steps: what the first one makes of x is a gate for any value.
V emitGate(Emitter &e, V x);
V emitGated(Emitter &e, V value, V gate);
V emitErf(Emitter &e, V x);
V emitRsqrt(Emitter &e, V x);

// Of f32 operands, computed in f64 lanes and rounded once (VectorMathInDouble.cpp).
V emitExpm1(Emitter &e, V x);
V emitSin(Emitter &e, V x);
V emitCos(Emitter &e, V x);
V emitTan(Emitter &e, V x);
V emitPow(Emitter &e, V x, V y);
V emitCbrt(Emitter &e, V x);
V emitAtan2(Emitter &e, V y, V x);
V emitRemainder(Emitter &e, V x, V y); ///< Exact, as fmod.

/// A divisor that many vectors share, with what makes their divisions quick.
struct SharedDivisor {
  V divisor, reciprocal;
  V isSafe; ///< One bit: the reciprocal is neither subnormal nor infinite.
};
/// `divisor` has the same number in f32 in all lanes.
SharedDivisor shareDivisor(Emitter &e, V divisor);
/// x / divisor, at most the last bit away from it, on targets with fused multiply-add. A rough one is at
/// most two bits away: for numbers that were rounded themselves and are seldom whole (those of exp).
V emitDivide(Emitter &e, V x, const SharedDivisor &by, bool isRough);

/// IEEE 754-2019 maximum and minimum: NaN wins, -0 is below +0. f32 or f64.
V emitMaximum(Emitter &e, V a, V b);
V emitMinimum(Emitter &e, V a, V b);

} // namespace cupel::codegen
