// What the functions that reductions combine with leave as it is.

#include "cupel/ir/stablehlo/Stablehlo.h"

using namespace mlir;

namespace cupel::stablehlo {

/// What `isFloat` and `isInteger` say of the one number of a constant. Complex and quantized numbers
/// are nobody's neutral element: no reduction on them is taken apart.
template <typename IsFloat, typename IsInteger>
static bool isNumber(DenseElementsAttr splat, IsFloat isFloat, IsInteger isInteger) {
  if (!splat || !splat.isSplat())
    return false;
  Type element = splat.getElementType();
  if (isa<FloatType>(element))
    return isFloat(splat.getSplatValue<APFloat>());
  return element.isIntOrIndex() && isInteger(splat.getSplatValue<APInt>());
}

static bool isUnsigned(DenseElementsAttr splat) {
  return splat && (splat.getElementType().isUnsignedInteger() ||
                   splat.getElementType().isInteger(1));
}

static bool isZero(DenseElementsAttr splat) {
  return isNumber(
      splat, [](const APFloat &x) { return x.isZero(); },
      [](const APInt &x) { return x.isZero(); });
}

bool AddOp::isNeutral(DenseElementsAttr splat) { return isZero(splat); }
bool OrOp::isNeutral(DenseElementsAttr splat) { return isZero(splat); }
bool XorOp::isNeutral(DenseElementsAttr splat) { return isZero(splat); }

bool AndOp::isNeutral(DenseElementsAttr splat) {
  return isNumber(
      splat, [](const APFloat &) { return false; },
      [](const APInt &x) { return x.isAllOnes(); });
}

bool MultiplyOp::isNeutral(DenseElementsAttr splat) {
  return isNumber(
      splat, [](const APFloat &x) { return x.isExactlyValue(1.0); },
      [](const APInt &x) { return x.isOne(); });
}

bool MaximumOp::isNeutral(DenseElementsAttr splat) {
  return isNumber(
      splat, [](const APFloat &x) { return x.isInfinity() && x.isNegative(); },
      [&](const APInt &x) { return isUnsigned(splat) ? x.isZero() : x.isMinSignedValue(); });
}

bool MinimumOp::isNeutral(DenseElementsAttr splat) {
  return isNumber(
      splat, [](const APFloat &x) { return x.isInfinity() && !x.isNegative(); },
      [&](const APInt &x) { return isUnsigned(splat) ? x.isAllOnes() : x.isMaxSignedValue(); });
}

} // namespace cupel::stablehlo
