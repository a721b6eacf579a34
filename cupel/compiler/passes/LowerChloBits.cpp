// next_after and mulhi: arithmetic on the bits of numbers.
#include "cupel/compiler/passes/LowerChloPatterns.h"

#include <limits>

using namespace mlir;

namespace cupel::compiler {

// Floats of one sign are ordered as their bits are, so the neighbour is one more or one less.
Expr nextAfter(const Expr &x, const Expr &y) {
  MLIRContext *context = x.getEmitter().getContext();
  Type floatType = x.getElementType();
  unsigned width = stablehlo::getElementBits(floatType);
  Type bitsType = IntegerType::get(context, width);
  auto bitsConstant = [&](const APInt &value) { return x.getEmitter().constant(value, bitsType); };

  Expr xBits = bitcast(x, bitsType);
  Expr yBits = bitcast(y, bitsType);
  Expr signMask = bitsConstant(APInt::getSignMask(width));
  Expr magnitudeMask = bitsConstant(APInt::getSignedMaxValue(width));
  Expr xMagnitude = xBits & magnitudeMask;
  Expr yMagnitude = yBits & magnitudeMask;

  // Away from zero unless y is on the other side or nearer to zero.
  Expr signsDiffer = (xBits & signMask) != (yBits & signMask);
  Expr towardsZero = signsDiffer | (xMagnitude > yMagnitude);
  Expr step = select(towardsZero, xBits.like(-1), xBits.like(1));
  Expr next = xBits + step;
  // Formats with one zero read its negation as NaN: stepping there must give plain zero.
  if (isa<Float8E4M3FNUZType, Float8E4M3B11FNUZType, Float8E5M2FNUZType>(floatType))
    next = select(next == signMask, 0, next);
  // From zero, the smallest number with the sign of y.
  Expr fromZero = (yBits & signMask) | bitsConstant(APInt(width, 1));
  next = select(xMagnitude == 0, fromZero, next);

  Expr result = select(x == y, y, bitcast(next, floatType));
  Expr isNaN = (x != x) | (y != y);
  return select(isNaN, std::numeric_limits<double>::quiet_NaN(), result);
}

namespace {

// High 64 bits of the product of two ui64, from four products of 32-bit halves.
Expr mulhiUnsigned64(const Expr &a, const Expr &b) {
  Expr lowMask = a.getEmitter().constant(APInt(64, 0xffffffffu), a.getElementType());
  Expr aLow = a & lowMask, aHigh = shiftRightLogical(a, 32);
  Expr bLow = b & lowMask, bHigh = shiftRightLogical(b, 32);
  Expr lowLow = aLow * bLow;
  Expr highLow = aHigh * bLow + shiftRightLogical(lowLow, 32); // cannot overflow
  Expr lowHigh = aLow * bHigh + (highLow & lowMask);           // nor can this
  return aHigh * bHigh + shiftRightLogical(highLow, 32) + shiftRightLogical(lowHigh, 32);
}

Expr mulhi(const Expr &a, const Expr &b) {
  auto type = cast<IntegerType>(a.getElementType());
  MLIRContext *context = type.getContext();
  unsigned width = type.getWidth();
  if (width < 64) {
    auto wide = IntegerType::get(context, std::max(8u, 2 * width), type.getSignedness());
    Expr product = convert(a, wide) * convert(b, wide);
    Expr high = type.isUnsigned() ? shiftRightLogical(product, static_cast<int>(width))
                                  : shiftRightArithmetic(product, static_cast<int>(width));
    return convert(high, type);
  }
  if (type.isUnsigned())
    return mulhiUnsigned64(a, b);
  // Read as unsigned, a negative factor is 2^64 too large: take the other factor off again.
  auto asUnsigned = IntegerType::get(context, 64, IntegerType::Unsigned);
  Expr high = bitcast(mulhiUnsigned64(bitcast(a, asUnsigned), bitcast(b, asUnsigned)), type);
  return high - select(a < 0, b, 0) - select(b < 0, a, 0);
}

} // namespace

void populateLowerChloBits(RewritePatternSet &patterns) {
  patterns.add<FormulaPattern<chlo::NextAfterOp, nextAfter>, FormulaPattern<chlo::MulhiOp, mulhi>>(
      patterns.getContext());
}

} // namespace cupel::compiler
