#include "cupel/frontends/math/Normalization.h"

#include "cupel/frontends/math/Composites.h"
#include "cupel/frontends/math/Shapes.h"

namespace cupel::frontends {

using namespace mlir;
using H = HloBuilder;
using stablehlo::Composite;

Moments moments(HloBuilder &b, Value x, ArrayRef<int64_t> dims) {
  Value mean = b.mean(x, dims, true);
  return {mean, b.mean(b.square(b.subtract(x, mean)), dims, true)};
}

Value inverseDeviation(HloBuilder &b, Value variance, double epsilon) {
  return b.rsqrt(b.add(variance, b.like(variance, epsilon)));
}

Value inverseRoot(HloBuilder &b, Value x, ArrayRef<int64_t> dims, double epsilon) {
  return inverseDeviation(b, b.mean(b.square(x), dims, true), epsilon);
}

Standardized standardize(HloBuilder &b, Value x, ArrayRef<int64_t> dims, double epsilon) {
  Moments m = moments(b, x, dims);
  Value inverse = inverseDeviation(b, m.variance, epsilon);
  return {b.multiply(b.subtract(x, m.mean), inverse), m.mean, inverse};
}

/// Operands of a normalization. Two are always read as input and weight, so that a bias alone gets
/// a weight of ones.
static SmallVector<Value> operandsOf(HloBuilder &b, Value x, Value weight, Value bias,
                                     ArrayRef<int64_t> shape) {
  SmallVector<Value> operands{x};
  if (weight)
    operands.push_back(b.broadcastTo(weight, shape));
  else if (bias)
    operands.push_back(b.splat(1, H::elementOf(bias), shape));
  if (bias)
    operands.push_back(b.broadcastTo(bias, shape));
  return operands;
}

/// `y` times weight plus bias, the operands after the first, each as `fit` shapes it.
static Value scaleAndShift(HloBuilder &b, Value y, ValueRange operands, const NormTypes &types,
                           function_ref<Value(Value)> fit) {
  y = b.convert(y, types.outer);
  if (operands.size() > 1)
    y = b.multiply(y, fit(b.convert(operands[1], types.outer)));
  if (operands.size() > 2)
    y = b.add(y, fit(b.convert(operands[2], types.outer)));
  return b.convert(y, types.result);
}

static Value normOverLast(HloBuilder &b, Composite which, Value x, Value weight, Value bias,
                          int64_t axis, double epsilon, NormTypes types) {
  ArrayRef<int64_t> shape = H::shapeOf(x).drop_front(axis);
  auto body = [=](HloBuilder &b, ValueRange v) -> SmallVector<Value> {
    Value wide = b.convert(v[0], types.inner);
    Dims dims = dimsFrom(axis, H::rankOf(wide));
    Value y = which == Composite::LayerNorm ? standardize(b, wide, dims, epsilon).value
                                            : b.multiply(wide, inverseRoot(b, wide, dims, epsilon));
    return {scaleAndShift(b, y, v, types, [](Value value) { return value; })};
  };
  return composite(b, which, operandsOf(b, x, weight, bias, shape),
                   {{"epsilon", epsilon}, {"normalized_shape", shape}}, body)[0];
}

Value layerNorm(HloBuilder &b, Value x, Value weight, Value bias, int64_t axis, double epsilon,
                NormTypes types) {
  return normOverLast(b, Composite::LayerNorm, x, weight, bias, axis, epsilon, types);
}

Value rmsNorm(HloBuilder &b, Value x, Value weight, int64_t axis, double epsilon,
              NormTypes types) {
  return normOverLast(b, Composite::RmsNorm, x, weight, {}, axis, epsilon, types);
}

Value groupNorm(HloBuilder &b, Value x, Value weight, Value bias, int64_t groups, double epsilon,
                NormTypes types) {
  auto body = [=](HloBuilder &b, ValueRange v) -> SmallVector<Value> {
    Dims shape(H::shapeOf(v[0])), apart = shape;
    apart[1] /= groups;
    apart.insert(apart.begin() + 1, groups);
    Value wide = b.reshape(b.convert(v[0], types.inner), apart);
    Value y = standardize(b, wide, dimsFrom(2, H::rankOf(wide)), epsilon).value;
    return {scaleAndShift(b, b.reshape(y, shape), v, types, [&](Value value) {
      return perChannel(b, value, int64_t(shape.size()));
    })};
  };
  return composite(b, Composite::GroupNorm, operandsOf(b, x, weight, bias, H::shapeOf(x)[1]),
                   {{"channel_dim", int64_t{1}}, {"epsilon", epsilon}, {"num_groups", groups}},
                   body)[0];
}

} // namespace cupel::frontends
