// Normalisation over batches, layers, groups and channels. Those that devices have kernels for are
// written as composites.

#include "cupel/frontends/math/Normalization.h"
#include "cupel/frontends/onnx/Lowering.h"

namespace cupel::frontends::onnx_import {

using namespace mlir;

namespace {

/// The type that sums are taken in; an error names an unknown one.
Result<Type> stashType(Node &n, Type element) {
  if (!n.hasAttribute("stash_type") && (!isa<FloatType>(element) || element.isF64()))
    return element;
  return n.elementTypeNumbered(n.integer("stash_type", 1));
}

Status checkBroadcastsTo(Node &n, Value small, Value x) {
  std::optional<Dims> shape =
      HloBuilder::broadcastShape(HloBuilder::shapeOf(small), HloBuilder::shapeOf(x));
  if (!shape || ArrayRef<int64_t>(*shape) != HloBuilder::shapeOf(x))
    return n.error("its scale or bias does not broadcast to its operand");
  return {};
}

} // namespace

/// `bias` may be null; without mean where `isRms`.
static Result<Value> normOverLast(Node &n, Value x, Value scale, Value bias, int64_t axis,
                                  double epsilon, Type inner, bool isRms) {
  ONNX_TRY(checkBroadcastsTo(n, scale, x));
  if (bias)
    ONNX_TRY(checkBroadcastsTo(n, bias, x));
  HloBuilder &b = n.b;
  Type element = HloBuilder::elementOf(scale);
  NormTypes types{inner, element, element};
  auto norm = [&](Value weight, Value shift) {
    return isRms ? rmsNorm(b, x, weight, axis, epsilon, types)
                 : layerNorm(b, x, weight, shift, axis, epsilon, types);
  };
  // A scale that varies over the dimensions before the axis is no weight of the norm.
  int64_t width = HloBuilder::rankOf(x) - axis;
  if (HloBuilder::rankOf(scale) <= width && (!bias || HloBuilder::rankOf(bias) <= width))
    return norm(scale, bias);
  Value y = b.multiply(norm({}, {}), scale);
  return bias ? b.add(y, bias) : y;
}

Result<Value> layerNorm(Node &n, Value x, Value scale, Value bias, int64_t axis, double epsilon,
                        Type inner) {
  return normOverLast(n, x, scale, bias, axis, epsilon, inner, false);
}

Result<Value> rmsNorm(Node &n, Value x, Value scale, int64_t axis, double epsilon, Type inner) {
  return normOverLast(n, x, scale, {}, axis, epsilon, inner, true);
}

void outMoments(Node &n, Value x, int64_t axis, double epsilon, Type inner) {
  if (!n.wants(1) && !n.wants(2))
    return;
  Standardized made = standardize(n.b, n.b.convert(x, inner),
                                  dimsFrom(axis, HloBuilder::rankOf(x)), epsilon);
  n.out(1, made.mean);
  n.out(2, made.inverse);
}

namespace {

Status lowerLayerNorm(Node &n) {
  ONNX_TRY(n.expect(2, 3));
  ONNX_LET(axis, n.axis(n.integer("axis", -1), n.rank(0)));
  ONNX_LET(stash, stashType(n, n.element(0)));
  double epsilon = n.real("epsilon", 1e-5);
  ONNX_LET(y, layerNorm(n, n.in(0), n.in(1), n.has(2) ? n.in(2) : Value(), axis, epsilon, stash));
  n.out(0, y);
  outMoments(n, n.in(0), axis, epsilon, stash);
  return {};
}

/// ONNX Runtime's name for it has a second result.
Status lowerRmsNorm(Node &n) {
  ONNX_TRY(n.expect(2, 2));
  ONNX_LET(axis, n.axis(n.integer("axis", -1), n.rank(0)));
  ONNX_LET(stash, stashType(n, n.element(0)));
  double epsilon = n.real("epsilon", 1e-5);
  ONNX_LET(y, rmsNorm(n, n.in(0), n.in(1), axis, epsilon, stash));
  n.out(0, y);
  if (n.wants(1))
    n.out(1, inverseRoot(n.b, n.b.convert(n.in(0), stash), dimsFrom(axis, n.rank(0)), epsilon));
  return {};
}

Status lowerInstanceNorm(Node &n) {
  ONNX_TRY(n.expect(3, 3));
  HloBuilder &b = n.b;
  if (n.rank(0) < 3 || HloBuilder::countOf(n.in(1)) != n.shape(0)[1] ||
      HloBuilder::countOf(n.in(2)) != n.shape(0)[1])
    return n.error("its scale and bias should be one number a channel");
  Value y = standardize(b, n.in(0), dimsFrom(2, n.rank(0)), n.real("epsilon", 1e-5)).value;
  y = b.multiply(y, perChannel(b, n.in(1), n.rank(0)));
  n.out(0, b.add(y, perChannel(b, n.in(2), n.rank(0))));
  return {};
}

Status lowerGroupNorm(Node &n) {
  ONNX_TRY(n.expect(3, 3));
  HloBuilder &b = n.b;
  int64_t groups = n.integer("num_groups", 0), rank = n.rank(0);
  if (rank < 3 || groups < 1 || n.shape(0)[1] % groups)
    return n.error("its groups do not divide its channels");
  int64_t channels = n.shape(0)[1], each = n.opset < 21 ? groups : channels;
  if (HloBuilder::countOf(n.in(1)) != each || HloBuilder::countOf(n.in(2)) != each)
    return n.error("its scale and bias have the wrong size");
  ONNX_LET(stash, stashType(n, n.element(0)));
  // Before opset 21 they are one number a group.
  auto eachChannel = [&](Value x) {
    x = b.reshape(x, {each});
    return each == channels ? x
                            : b.reshape(b.broadcastInDim(x, {each, channels / each}, {0}),
                                        {channels});
  };
  Type element = n.element(0);
  n.out(0, groupNorm(b, n.in(0), eachChannel(n.in(1)), eachChannel(n.in(2)), groups,
                     n.real("epsilon", 1e-5), {n.opset < 21 ? element : stash, element, element}));
  return {};
}

Status lowerBatchNorm(Node &n) {
  ONNX_TRY(n.expect(5, 5));
  HloBuilder &b = n.b;
  int64_t rank = n.rank(0);
  if (rank < 2)
    return n.error("takes a tensor with channels");
  for (size_t i = 1; i < 5; ++i)
    if (HloBuilder::countOf(n.in(i)) != n.shape(0)[1])
      return n.error("its scale, bias, mean and variance should be one number a channel");
  Type element = n.element(0);
  Value x = n.in(0), mean = n.in(3), variance = n.in(4);
  // Before opset 14 results tell training: the running statistics and those of the batch.
  // Before opset 7 an attribute says that this is no training.
  bool training = n.opset >= 14 ? n.integer("training_mode", 0)
                                : n.wants(1) && (n.opset >= 7 || !n.integer("is_test", 0));
  if (training) {
    Dims axes{0};
    axes.append(dimsFrom(2, rank));
    Type wide = HloBuilder::elementOf(mean);
    Moments batch = moments(b, b.convert(x, wide), axes);
    Value batchMean = b.reshape(batch.mean, {n.shape(0)[1]});
    Value batchVariance = b.reshape(batch.variance, {n.shape(0)[1]});
    double momentum = n.real("momentum", 0.9);
    auto blend = [&](Value old, Value now) {
      return b.add(b.multiply(old, b.like(old, momentum)),
                   b.multiply(now, b.like(now, 1 - momentum)));
    };
    n.out(1, blend(mean, batchMean));
    n.out(2, blend(variance, batchVariance));
    if (n.opset < 14) {
      n.out(3, batchMean);
      n.out(4, batchVariance);
    }
    mean = batchMean;
    variance = batchVariance;
  }
  auto channel = [&](Value v) { return perChannel(b, b.convert(v, element), rank); };
  Value inverse = inverseDeviation(b, variance, n.real("epsilon", 1e-5));
  Value y = b.multiply(b.subtract(x, channel(mean)), channel(inverse));
  n.out(0, b.add(b.multiply(y, channel(n.in(1))), channel(n.in(2))));
  return {};
}

Status lowerMeanVariance(Node &n) {
  ONNX_TRY(n.expect(1, 1));
  HloBuilder &b = n.b;
  Dims given = n.hasAttribute("axes") ? n.integers("axes") : Dims{0, 2, 3};
  ONNX_LET(axes, n.axes(given, n.rank(0)));
  Value x = n.in(0), moved = b.subtract(x, b.mean(x, axes, true));
  Value deviation = b.sqrt(b.mean(b.square(moved), axes, true));
  n.out(0, b.divide(moved, b.add(deviation, b.like(deviation, 1e-9))));
  return {};
}

Status lowerLpNorm(Node &n) {
  ONNX_TRY(n.expect(1, 1));
  HloBuilder &b = n.b;
  ONNX_LET(axis, n.axis(n.integer("axis", -1), n.rank(0)));
  int64_t p = n.integer("p", 2);
  if (p != 1 && p != 2)
    return n.error("p should be 1 or 2");
  Value x = n.in(0);
  Value norm = p == 1 ? b.reduce(b.abs(x), {axis}, Fold::Add, true)
                      : b.sqrt(b.reduce(b.square(x), {axis}, Fold::Add, true));
  Value zero = b.equal(norm, b.like(norm, 0));
  // Nothing divided by nothing is nothing.
  n.out(0, b.divide(x, b.select(zero, b.like(norm, 1), norm)));
  return {};
}

} // namespace

void registerNormalization(OpTable &table) {
  table.add("LayerNormalization", 17, lowerLayerNorm);
  table.add("RMSNormalization", 23, lowerRmsNorm);
  // ONNX Runtime's optimizer writes this one into the standard's domain.
  table.add("SimplifiedLayerNormalization", 1, lowerRmsNorm);
  table.add("InstanceNormalization", 1, lowerInstanceNorm);
  table.add("GroupNormalization", 18, lowerGroupNorm);
  table.add("BatchNormalization", 1, lowerBatchNorm);
  table.add("MeanVarianceNormalization", 9, lowerMeanVariance);
  table.add("LpNormalization", 1, lowerLpNorm);
}

} // namespace cupel::frontends::onnx_import
