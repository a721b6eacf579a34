#include "cupel/frontends/math/Activations.h"

#include "cupel/frontends/math/Composites.h"
#include "cupel/ir/chlo/Chlo.h"

#include <numbers>

namespace cupel::frontends {

using namespace mlir;
using H = HloBuilder;
using stablehlo::Composite;

static Value expm1(HloBuilder &b, Value x) { return b.unary<stablehlo::ExponentialMinusOneOp>(x); }
static Value aboveZero(HloBuilder &b, Value x, Value above, Value below) {
  return b.select(b.greater(x, b.like(x, 0)), above, below);
}

Value relu(HloBuilder &b, Value x) { return b.maximum(x, b.like(x, 0)); }
Value leakyRelu(HloBuilder &b, Value x, double slope) {
  return aboveZero(b, x, x, b.multiply(x, b.like(x, slope)));
}
Value elu(HloBuilder &b, Value x, double alpha, double scale) {
  return aboveZero(b, x, scale == 1 ? x : b.multiply(x, b.like(x, scale)),
                   b.multiply(expm1(b, x), b.like(x, alpha * scale)));
}
Value celu(HloBuilder &b, Value x, double alpha) {
  Value size = b.like(x, alpha);
  return aboveZero(b, x, x, b.multiply(expm1(b, b.divide(x, size)), size));
}
Value hardSigmoid(HloBuilder &b, Value x, double alpha, double beta) {
  Value line = b.add(b.multiply(x, b.like(x, alpha)), b.like(x, beta));
  return b.clamp(b.like(x, 0), line, b.like(x, 1));
}
Value hardSwish(HloBuilder &b, Value x) {
  Value moved = b.clamp(b.like(x, 0), b.add(x, b.like(x, 3)), b.like(x, 6));
  return b.divide(b.multiply(x, moved), b.like(x, 6));
}
Value softplus(HloBuilder &b, Value x) {
  Value tail = b.unary<stablehlo::LogPlusOneOp>(b.exp(b.negate(b.abs(x))));
  return b.add(relu(b, x), tail);
}
/// tanh(log(1 + w)) = (w^2 + 2 w) / (w^2 + 2 w + 2) with w = e^x: one exponential instead of two and a logarithm. It is written in
/// e^-|x|, which cannot overflow; for x >= 0 above and below are divided by w^2. All terms are positive, so nothing cancels.
Value tanhOfSoftplus(HloBuilder &b, Value x) {
  Value e = b.exp(b.negate(b.abs(x))), two = b.like(x, 2), one = b.like(x, 1);
  Value square = b.multiply(e, e), twice = b.multiply(two, e);
  Value isNegative = b.less(x, b.like(x, 0));
  Value above = b.select(isNegative, b.add(square, twice), b.add(one, twice));
  Value below = b.add(above, b.select(isNegative, two, b.multiply(two, square)));
  return b.divide(above, below);
}
Value mish(HloBuilder &b, Value x) { return b.multiply(x, tanhOfSoftplus(b, x)); }
Value softsign(HloBuilder &b, Value x) { return b.divide(x, b.add(b.abs(x), b.like(x, 1))); }

Value gelu(HloBuilder &b, Value operand, bool byTanh, Type inner) {
  auto body = [=](HloBuilder &b, ValueRange v) -> SmallVector<Value> {
    Value x = b.convert(v[0], inner), half = b.like(x, 0.5), one = b.like(x, 1), share;
    if (byTanh) {
      Value cube = b.multiply(x, b.multiply(x, x));
      Value sum = b.add(x, b.multiply(b.like(x, 0.044715), cube));
      share = b.tanh(b.multiply(b.like(x, std::numbers::sqrt2 * std::numbers::inv_sqrtpi), sum));
    } else {
      share = b.unary<chlo::ErfOp>(b.multiply(x, b.like(x, 1 / std::numbers::sqrt2)));
    }
    Value y = b.multiply(b.multiply(half, x), b.add(one, share));
    return {b.convert(y, H::elementOf(v[0]))};
  };
  if (byTanh)
    return composite(b, Composite::GeluTanh, operand, {{"approximate", StringRef("tanh")}},
                     body)[0];
  return composite(b, Composite::Gelu, operand, {}, body)[0];
}

Value softmax(HloBuilder &b, Value x, int64_t axis) {
  if (H::rankOf(x) == 0)
    return b.reshape(softmax(b, b.reshape(x, {1}), 0), {});
  Value e = b.exp(b.subtract(x, b.reduce(x, {axis}, Fold::Max, true)));
  return b.divide(e, b.reduce(e, {axis}, Fold::Add, true));
}

Value logSoftmax(HloBuilder &b, Value x, int64_t axis) {
  if (H::rankOf(x) == 0)
    return b.reshape(logSoftmax(b, b.reshape(x, {1}), 0), {});
  Value moved = b.subtract(x, b.reduce(x, {axis}, Fold::Max, true));
  return b.subtract(moved, b.log(b.reduce(b.exp(moved), {axis}, Fold::Add, true)));
}

Value safeSoftmax(HloBuilder &b, Value x, int64_t axis) {
  Value top = b.reduce(x, {axis}, Fold::Max, true);
  Value none = b.equal(top, b.lowest(H::elementOf(x), H::shapeOf(top)));
  Value e = b.exp(b.subtract(x, b.select(none, b.like(top, 0), top)));
  Value sum = b.reduce(e, {axis}, Fold::Add, true);
  return b.divide(e, b.select(none, b.like(sum, 1), sum));
}

Value softmaxLayer(HloBuilder &b, Value operand, int64_t axis, bool logarithm, Type inner) {
  if (H::rankOf(operand) == 0)
    return b.reshape(softmaxLayer(b, b.reshape(operand, {1}), 0, logarithm, inner), {});
  auto body = [=](HloBuilder &b, ValueRange v) -> SmallVector<Value> {
    Value x = b.convert(v[0], inner), y = logarithm ? logSoftmax(b, x, axis) : softmax(b, x, axis);
    return {b.convert(y, H::elementOf(v[0]))};
  };
  return composite(b, logarithm ? Composite::LogSoftmax : Composite::Softmax, operand,
                   {{"axis", axis}}, body)[0];
}

} // namespace cupel::frontends
