// Batch, layer, group, instance and root-mean-square normalization, and their gradients.

#include "cupel/frontends/torch/ops/Algebra.h"

#include <limits>

namespace cupel::frontends::torch_import {

using namespace mlir;

namespace {

using H = HloBuilder;

/// One number a channel as [1, C, 1, ...].
Value perChannel(HloBuilder &b, Value x, int64_t rank) {
  Dims shape(rank, 1);
  shape[1] = H::countOf(x);
  return b.reshape(x, shape);
}

/// Every dimension but the channels'.
Dims allButChannels(int64_t rank) {
  Dims dims{0};
  for (int64_t i = 2; i < rank; ++i)
    dims.push_back(i);
  return dims;
}

int64_t countOver(Value x, ArrayRef<int64_t> dims) {
  int64_t count = 1;
  for (int64_t dimension : dims)
    count *= H::shapeOf(x)[dimension];
  return count;
}

/// A result in the declared shape, of which it has the elements; zeros if it has not.
void outAs(Node &n, size_t i, Value value) {
  if (i >= n.outputCount() || !n.resultType(i))
    return;
  RankedTensorType type = n.resultType(i);
  if (value && H::countOf(value) == type.getNumElements())
    n.out(i, n.b.reshape(value, type.getShape()));
  else
    n.out(i, n.b.splat(0, type.getElementType(), type.getShape()));
}

struct Moments {
  Value mean, variance; ///< With reduced dimensions of size 1.
};

Moments moments(HloBuilder &b, Value x, ArrayRef<int64_t> dims) {
  Value mean = b.mean(x, dims, true);
  return {mean, b.mean(b.square(b.subtract(x, mean)), dims, true)};
}

Value inverseDeviation(HloBuilder &b, Value variance, double eps) {
  return b.rsqrt(b.add(variance, b.like(variance, eps)));
}

//===----------------------------------------------------------------------===//
// Batch and instance normalization
//===----------------------------------------------------------------------===//

struct BatchResult {
  Value y, mean, invstd, runningMean, runningVar; ///< The last two null if not updated.
};

/// Torch's kernels keep the statistics in the type of the parameters, if there are some, before
/// they use them.
Value stored(Node &n, Value x) {
  Type kept = n.element("input");
  for (StringRef name : {"weight", "bias", "running_mean", "running_var"})
    if (n.declares(name) && n.has(name)) {
      kept = n.element(name);
      break;
    }
  return n.b.convert(n.b.convert(x, kept), H::elementOf(x));
}

std::optional<BatchResult> normalizeBatch(Node &n, Value x, bool training, Type type) {
  HloBuilder &b = n.b;
  int64_t rank = H::rankOf(x);
  if (n.failed())
    return std::nullopt;
  if (isEmpty(x)) // Whatever its shape, there is nothing to normalize.
    return BatchResult{x, {}, {}, {}, {}};
  if (rank < 2) {
    n.fail("takes tensors with channels");
    return std::nullopt;
  }
  auto given = [&](StringRef name) {
    return n.declares(name) && n.has(name) ? n.in(name, type) : Value();
  };
  Dims dims = allButChannels(rank);
  double eps = n.real("eps", 1e-5), momentum = n.real("momentum", 0.1);
  Value runningMean = given("running_mean"), runningVar = given("running_var");
  for (StringRef name : {"weight", "bias", "running_mean", "running_var"})
    if (Value value = given(name); value && H::countOf(value) != H::shapeOf(x)[1]) {
      n.fail(name.str() + " is not one number a channel");
      return std::nullopt;
    }
  BatchResult result;
  Value mean, variance;
  if (training) {
    Moments m = moments(b, x, dims);
    mean = m.mean;
    variance = m.variance;
    if (runningMean && runningVar) {
      auto count = double(countOver(x, dims));
      auto mixed = [&](Value old, Value fresh) {
        fresh = b.reshape(fresh, H::shapeOf(old));
        return b.add(b.multiply(old, b.like(old, 1 - momentum)),
                     b.multiply(fresh, b.like(fresh, momentum)));
      };
      result.runningMean = mixed(runningMean, mean);
      Value unbiased = b.multiply(variance, b.like(variance, count / (count - 1)));
      result.runningVar = mixed(runningVar, unbiased);
    }
  } else {
    if (!runningMean || !runningVar) {
      n.fail("running_mean and running_var are missing");
      return std::nullopt;
    }
    mean = perChannel(b, runningMean, rank);
    variance = perChannel(b, runningVar, rank);
  }
  Value invstd = inverseDeviation(b, variance, eps);
  if (training) {
    mean = stored(n, mean);
    invstd = stored(n, invstd);
  }
  result.mean = mean;
  result.invstd = invstd;
  Value y = b.multiply(b.subtract(x, mean), invstd);
  if (Value weight = given("weight"))
    y = b.multiply(y, perChannel(b, weight, rank));
  if (Value bias = given("bias"))
    y = b.add(y, perChannel(b, bias, rank));
  result.y = y;
  return result;
}

/// The new running statistics are written to the arguments they came in.
void updateStatistics(Node &n, const BatchResult &result) {
  if (!result.runningMean)
    return;
  n.write("running_mean", result.runningMean);
  n.write("running_var", result.runningVar);
}

void lowerBatchNorm(Node &n) {
  Type type = n.computeType(n.resultElement());
  bool training = n.flag("training") || (!n.has("running_mean") && !n.has("running_var"));
  Value x = n.in("input", type);
  if (std::optional<BatchResult> result = normalizeBatch(n, x, training, type)) {
    n.out(0, result->y);
    updateStatistics(n, *result);
  }
}

enum class Update { Written, Returned, None };

/// The forms that give the statistics they used: mean and 1/deviation.
void lowerNativeBatchNorm(Node &n, bool training, Update update) {
  Type type = n.computeType(n.element("input"));
  Value x = n.in("input", type);
  std::optional<BatchResult> result = normalizeBatch(n, x, training, type);
  if (!result)
    return;
  n.out(0, result->y);
  outAs(n, 1, training ? result->mean : Value());
  outAs(n, 2, training ? result->invstd : Value());
  size_t at = 3;
  if (n.target().starts_with("aten._batch_norm"))
    outAs(n, at++, {}); // Room that other devices reserve.
  if (update == Update::Returned) {
    outAs(n, at, result->runningMean ? result->runningMean : n.in("running_mean"));
    outAs(n, at + 1, result->runningVar ? result->runningVar : n.in("running_var"));
  } else if (update == Update::Written) {
    updateStatistics(n, *result);
  }
}

void lowerInstanceNorm(Node &n) {
  HloBuilder &b = n.b;
  Type type = n.computeType(n.resultElement());
  Value x = n.in("input", type);
  if (n.failed())
    return;
  int64_t rank = H::rankOf(x);
  if (rank < 2)
    return n.fail("takes tensors with channels");
  if (!n.flag("use_input_stats")) {
    if (std::optional<BatchResult> result = normalizeBatch(n, x, false, type))
      n.out(result->y);
    return;
  }
  Dims dims = dimsFrom(2, rank);
  Moments m = moments(b, x, dims);
  if (n.has("running_mean") && n.has("running_var")) {
    // The running statistics follow the mean over the batch.
    double momentum = n.real("momentum", 0.1);
    auto count = double(countOver(x, dims));
    auto mixed = [&](StringRef name, Value fresh) {
      Value old = n.in(name, type);
      fresh = b.reshape(b.mean(fresh, {0}), H::shapeOf(old));
      return b.add(b.multiply(old, b.like(old, 1 - momentum)),
                   b.multiply(fresh, b.like(fresh, momentum)));
    };
    Value unbiased = b.multiply(m.variance, b.like(m.variance, count / (count - 1)));
    Value mean = mixed("running_mean", m.mean), var = mixed("running_var", unbiased);
    n.write("running_mean", mean);
    n.write("running_var", var);
  }
  Value invstd = stored(n, inverseDeviation(b, m.variance, n.real("eps", 1e-5)));
  Value y = b.multiply(b.subtract(x, stored(n, m.mean)), invstd);
  if (n.has("weight"))
    y = b.multiply(y, perChannel(b, n.in("weight", type), rank));
  if (n.has("bias"))
    y = b.add(y, perChannel(b, n.in("bias", type), rank));
  n.out(y);
}

/// dx = w / deviation * (g - mean(g) - xhat * mean(g * xhat)) where the statistics came from x.
Value standardGradient(HloBuilder &b, Value gradient, Value xhat, Value invstd,
                       ArrayRef<int64_t> dims) {
  Value first = b.mean(gradient, dims, true),
        second = b.mean(b.multiply(gradient, xhat), dims, true);
  Value inner = b.subtract(b.subtract(gradient, first), b.multiply(xhat, second));
  return b.multiply(inner, invstd);
}

void lowerBatchNormBackward(Node &n) {
  HloBuilder &b = n.b;
  Type type = n.computeType(n.element("input"));
  Value x = n.in("input", type), gradient = n.in("grad_out", type);
  bool train = n.flag(n.declares("train") ? "train" : "update");
  StringRef saved = n.declares("save_invstd") ? "save_invstd" : "save_var";
  if (n.failed())
    return;
  int64_t rank = H::rankOf(x);
  Dims dims = allButChannels(rank);
  Value mean, invstd;
  if (train) {
    mean = perChannel(b, n.in("save_mean", type), rank);
    invstd = perChannel(b, n.in(saved, type), rank);
  } else {
    mean = perChannel(b, n.in("running_mean", type), rank);
    invstd = inverseDeviation(b, perChannel(b, n.in("running_var", type), rank), n.real("eps"));
  }
  SmallVector<bool> mask = n.flags("output_mask");
  mask.resize(3, true);
  Value xhat = b.multiply(b.subtract(x, mean), invstd);
  if (mask[0]) {
    Value scaled = gradient;
    if (n.has("weight"))
      scaled = b.multiply(gradient, perChannel(b, n.in("weight", type), rank));
    n.out(0, train ? standardGradient(b, scaled, xhat, invstd, dims) : b.multiply(scaled, invstd));
  }
  if (mask[1])
    outAs(n, 1, b.reduce(b.multiply(gradient, xhat), dims, Fold::Add));
  if (mask[2])
    outAs(n, 2, b.reduce(gradient, dims, Fold::Add));
}

//===----------------------------------------------------------------------===//
// Layer and root-mean-square normalization
//===----------------------------------------------------------------------===//

/// The dimensions normalized_shape stands for: the last ones.
Dims normalizedDims(Node &n, Value x) {
  int64_t rank = H::rankOf(x), count = int64_t(n.integers("normalized_shape").size());
  if (count > rank)
    n.fail("normalized_shape is longer than the input's");
  return dimsFrom(std::max<int64_t>(rank - count, 0), rank);
}

DictionaryAttr normAttributes(HloBuilder &b, ArrayRef<int64_t> shape, double eps) {
  OpBuilder &ops = b.builder();
  auto type = RankedTensorType::get({int64_t(shape.size())}, b.i64());
  return ops.getDictionaryAttr(
      {ops.getNamedAttr("epsilon", ops.getF32FloatAttr(float(eps))),
       ops.getNamedAttr("normalized_shape", DenseElementsAttr::get(type, shape))});
}

struct LayerResult {
  Value y, mean, invstd;
};

LayerResult normalizeLayer(HloBuilder &b, Value x, Value weight, Value bias, ArrayRef<int64_t> dims,
                           double eps) {
  Moments m = moments(b, x, dims);
  Value invstd = inverseDeviation(b, m.variance, eps);
  Value y = b.multiply(b.subtract(x, m.mean), invstd);
  if (weight)
    y = b.multiply(y, weight);
  if (bias)
    y = b.add(y, bias);
  return {y, m.mean, invstd};
}

void lowerLayerNorm(Node &n) {
  HloBuilder &b = n.b;
  Type element = n.resultElement(), type = n.computeType(element);
  Value x = n.in("input");
  Dims dims = normalizedDims(n, x);
  double eps = n.real("eps", 1e-5);
  if (n.failed())
    return;
  SmallVector<Value> operands{x};
  bool weight = n.has("weight"), bias = n.has("bias");
  if (weight)
    operands.push_back(n.in("weight"));
  if (bias)
    operands.push_back(n.in("bias"));
  auto body = [=](HloBuilder &in, ValueRange values) -> SmallVector<Value> {
    size_t at = 1;
    Value w = weight ? in.convert(values[at++], type) : Value();
    Value c = bias ? in.convert(values[at], type) : Value();
    Value y = normalizeLayer(in, in.convert(values[0], type), w, c, dims, eps).y;
    return {in.convert(y, element)};
  };
  if (n.composites())
    n.out(b.composite("tenstorrent.layer_norm", operands,
                      normAttributes(b, n.integers("normalized_shape"), eps), body)[0]);
  else
    n.out(body(b, operands)[0]);
}

void lowerNativeLayerNorm(Node &n) {
  Type type = n.computeType(n.element("input"));
  Value x = n.in("input", type);
  Dims dims = normalizedDims(n, x);
  if (n.failed())
    return;
  LayerResult result =
      normalizeLayer(n.b, x, n.has("weight") ? n.in("weight", type) : Value(),
                     n.has("bias") ? n.in("bias", type) : Value(), dims, n.real("eps", 1e-5));
  n.out(0, result.y);
  outAs(n, 1, result.mean);
  outAs(n, 2, result.invstd);
}

void lowerLayerNormBackward(Node &n) {
  HloBuilder &b = n.b;
  Type type = n.computeType(n.element("input"));
  Value x = n.in("input", type), gradient = n.in("grad_out", type), mean = n.in("mean", type),
        invstd = n.in("rstd", type);
  Dims dims = normalizedDims(n, x);
  if (n.failed())
    return;
  SmallVector<bool> mask = n.flags("output_mask");
  mask.resize(3, true);
  Dims outer;
  for (int64_t i = 0; i < H::rankOf(x) - int64_t(dims.size()); ++i)
    outer.push_back(i);
  Value xhat = b.multiply(b.subtract(x, mean), invstd);
  if (mask[0])
    n.out(0, standardGradient(
                 b, n.has("weight") ? b.multiply(gradient, n.in("weight", type)) : gradient, xhat,
                 invstd, dims));
  if (mask[1])
    outAs(n, 1, b.reduce(b.multiply(gradient, xhat), outer, Fold::Add));
  if (mask[2])
    outAs(n, 2, b.reduce(gradient, outer, Fold::Add));
}

/// What torch adds if eps is None: the spacing of numbers near 1 in the input's type.
double epsilonOf(Type element) {
  if (auto real = dyn_cast<FloatType>(partType(element)))
    return std::ldexp(1.0, 1 - int(real.getFPMantissaWidth()));
  return 0;
}

Value meanSquareScale(HloBuilder &b, Value x, ArrayRef<int64_t> dims, double eps) {
  Value square = H::isComplex(x) ? b.multiply(x, x) : b.square(x);
  Value mean = b.mean(square, dims, true);
  return b.rsqrt(b.add(mean, b.like(mean, eps)));
}

void lowerRmsNorm(Node &n) {
  HloBuilder &b = n.b;
  Type element = n.resultElement(), type = n.computeType(element);
  Value x = n.in("input");
  Dims dims = normalizedDims(n, x);
  if (n.failed())
    return;
  double eps = n.has("eps") ? n.real("eps") : epsilonOf(H::elementOf(x));
  bool weight = n.has("weight");
  SmallVector<Value> operands{x};
  if (weight)
    operands.push_back(n.in("weight"));
  auto body = [=](HloBuilder &in, ValueRange values) -> SmallVector<Value> {
    Value wide = in.convert(values[0], type);
    Value y = in.multiply(wide, meanSquareScale(in, wide, dims, eps));
    if (weight)
      y = in.multiply(y, in.convert(values[1], type));
    return {in.convert(y, element)};
  };
  if (n.target().starts_with("aten._fused")) {
    n.out(0, body(b, operands)[0]);
    outAs(n, 1, meanSquareScale(b, b.convert(x, type), dims, eps));
  } else if (n.composites() && !H::isComplex(x)) {
    n.out(b.composite("tenstorrent.rms_norm", operands,
                      normAttributes(b, n.integers("normalized_shape"), eps), body)[0]);
  } else {
    n.out(body(b, operands)[0]);
  }
}

void lowerRmsNormBackward(Node &n) {
  HloBuilder &b = n.b;
  Type type = n.computeType(n.element("input"));
  Value x = n.in("input", type), gradient = n.in("grad_out", type), rstd = n.in("rstd", type);
  Dims dims = normalizedDims(n, x), outer;
  if (n.failed())
    return;
  for (int64_t i = 0; i < H::rankOf(x) - int64_t(dims.size()); ++i)
    outer.push_back(i);
  SmallVector<bool> mask = n.flags("output_mask");
  mask.resize(2, true);
  Value xhat = b.multiply(x, rstd);
  if (mask[0]) {
    Value g = n.has("weight") ? b.multiply(gradient, n.in("weight", type)) : gradient;
    Value along = b.mean(b.multiply(g, xhat), dims, true);
    n.out(0, b.multiply(b.subtract(g, b.multiply(xhat, along)), rstd));
  }
  if (mask[1])
    outAs(n, 1, b.reduce(b.multiply(gradient, xhat), outer, Fold::Add));
}

//===----------------------------------------------------------------------===//
// Group normalization
//===----------------------------------------------------------------------===//

LayerResult normalizeGroups(Node &n, Value x, int64_t groups, double eps, Type type) {
  HloBuilder &b = n.b;
  int64_t rank = H::rankOf(x);
  if (n.failed() || rank < 2 || groups < 1 || H::shapeOf(x)[1] % groups) {
    n.fail("the groups do not divide the channels");
    return {};
  }
  Dims shape(H::shapeOf(x));
  int64_t width = H::shapeOf(x)[0] == 0 ? 1 : H::shapeOf(x)[1] / groups;
  width = H::shapeOf(x)[1] / groups;
  for (int64_t i = 2; i < rank; ++i)
    width *= shape[i];
  Value flat = b.reshape(x, {shape[0], groups, width});
  LayerResult result = normalizeLayer(b, flat, {}, {}, {2}, eps);
  result.y = b.reshape(result.y, shape);
  for (auto [name, add] : {std::pair("weight", false), std::pair("bias", true)})
    if (n.has(name)) {
      Value each = perChannel(b, n.in(name, type), rank);
      result.y = add ? b.add(result.y, each) : b.multiply(result.y, each);
    }
  return result;
}

void lowerGroupNorm(Node &n) {
  Type type = n.computeType(n.resultElement());
  LayerResult result =
      normalizeGroups(n, n.in("input", type), n.integer("num_groups"), n.real("eps", 1e-5), type);
  if (result.y)
    n.out(result.y);
}

void lowerNativeGroupNorm(Node &n) {
  Type type = n.computeType(n.element("input"));
  LayerResult result =
      normalizeGroups(n, n.in("input", type), n.integer("group"), n.real("eps", 1e-5), type);
  if (!result.y)
    return;
  n.out(0, result.y);
  outAs(n, 1, result.mean);
  outAs(n, 2, result.invstd);
}

void lowerGroupNormBackward(Node &n) {
  HloBuilder &b = n.b;
  Type type = n.computeType(n.element("input"));
  Value x = n.in("input", type), gradient = n.in("grad_out", type);
  int64_t groups = n.integer("group");
  if (n.failed() || groups < 1 || H::rankOf(x) < 2 || H::shapeOf(x)[1] % groups)
    return n.fail("the groups do not divide the channels");
  Dims shape(H::shapeOf(x));
  int64_t rank = H::rankOf(x), width = shape[1] / groups;
  for (int64_t i = 2; i < rank; ++i)
    width *= shape[i];
  Dims flat{shape[0], groups, width}, one{shape[0], groups, 1};
  Value mean = b.reshape(n.in("mean", type), one), invstd = b.reshape(n.in("rstd", type), one);
  Value xhat = b.multiply(b.subtract(b.reshape(x, flat), mean), invstd);
  SmallVector<bool> mask = n.flags("output_mask");
  mask.resize(3, true);
  Dims dims = allButChannels(rank);
  if (mask[0]) {
    Value g = n.has("weight") ? b.multiply(gradient, perChannel(b, n.in("weight", type), rank))
                              : gradient;
    n.out(0, b.reshape(standardGradient(b, b.reshape(g, flat), xhat, invstd, {2}), shape));
  }
  if (mask[1])
    outAs(n, 1, b.reduce(b.multiply(gradient, b.reshape(xhat, shape)), dims, Fold::Add));
  if (mask[2])
    outAs(n, 2, b.reduce(gradient, dims, Fold::Add));
}

//===----------------------------------------------------------------------===//
// Weights normalized apart from their length
//===----------------------------------------------------------------------===//

void lowerWeightNorm(Node &n) {
  HloBuilder &b = n.b;
  Type type = n.computeType(n.resultElement());
  Value v = n.in("v", type), g = n.in("g", type);
  if (n.failed())
    return;
  int64_t rank = H::rankOf(v), dimension = n.integer("dim");
  Dims dims;
  for (int64_t i = 0; i < rank; ++i)
    if (dimension == -1 || i != n.wrapDim(dimension, rank))
      dims.push_back(i);
  Value norm = b.sqrt(b.reduce(b.square(v), dims, Fold::Add, true));
  n.out(0, b.multiply(v, b.divide(g, norm)));
  outAs(n, 1, norm);
}

void lowerWeightNormBackward(Node &n) {
  HloBuilder &b = n.b;
  Type type = n.computeType(n.resultElement());
  Value gradient = n.in("grad_w", type), v = n.in("saved_v", type), g = n.in("saved_g", type),
        norms = n.in("saved_norms", type);
  if (n.failed() || H::shapeOf(gradient) != H::shapeOf(v))
    return n.fail("grad_w does not fit saved_v");
  int64_t rank = H::rankOf(v), dimension = n.integer("dim");
  Dims dims, kept;
  for (int64_t i = 0; i < rank; ++i) {
    bool own = dimension != -1 && i == n.wrapDim(dimension, rank);
    kept.push_back(own ? H::shapeOf(v)[i] : 1);
    if (!own)
      dims.push_back(i);
  }
  Value norm = b.reshape(norms, kept), length = b.reshape(g, kept);
  Value along = b.reduce(b.multiply(gradient, v), dims, Fold::Add, true);
  Value slope = b.subtract(gradient, b.multiply(v, b.divide(along, b.square(norm))));
  n.out(0, b.multiply(slope, b.divide(length, norm)));
  outAs(n, 1, b.divide(along, norm));
}

} // namespace

void registerNormalization(OpTable &table) {
  table.add("aten.batch_norm", lowerBatchNorm);
  table.add("aten.native_batch_norm",
            [](Node &n) { lowerNativeBatchNorm(n, n.flag("training"), Update::Written); });
  table.add("aten._native_batch_norm_legit",
            [](Node &n) { lowerNativeBatchNorm(n, n.flag("training"), Update::Written); });
  table.add("aten._native_batch_norm_legit.no_stats",
            [](Node &n) { lowerNativeBatchNorm(n, true, Update::None); });
  table.add("aten._native_batch_norm_legit_functional",
            [](Node &n) { lowerNativeBatchNorm(n, n.flag("training"), Update::Returned); });
  table.add("aten._native_batch_norm_legit_no_training",
            [](Node &n) { lowerNativeBatchNorm(n, false, Update::None); });
  table.add("aten._batch_norm_with_update",
            [](Node &n) { lowerNativeBatchNorm(n, true, Update::Written); });
  table.add("aten._batch_norm_with_update_functional",
            [](Node &n) { lowerNativeBatchNorm(n, true, Update::Returned); });
  table.add("aten._batch_norm_no_update",
            [](Node &n) { lowerNativeBatchNorm(n, false, Update::None); });
  table.add("aten.native_batch_norm_backward", lowerBatchNormBackward);
  table.add("aten.batch_norm_backward", lowerBatchNormBackward);
  table.add("aten.instance_norm", lowerInstanceNorm);
  table.add("aten.layer_norm", lowerLayerNorm);
  table.add("aten.native_layer_norm", lowerNativeLayerNorm);
  table.add("aten.native_layer_norm_backward", lowerLayerNormBackward);
  table.add("aten.rms_norm", lowerRmsNorm);
  table.add("aten._fused_rms_norm", lowerRmsNorm);
  table.add("aten._fused_rms_norm_backward", lowerRmsNormBackward);
  table.add("aten.group_norm", lowerGroupNorm);
  table.add("aten.native_group_norm", lowerNativeGroupNorm);
  table.add("aten.native_group_norm_backward", lowerGroupNormBackward);
  table.add("aten._weight_norm", lowerWeightNorm);
  table.add("aten._weight_norm_interface", lowerWeightNorm);
  table.add("aten._weight_norm_interface_backward", lowerWeightNormBackward);
}

} // namespace cupel::frontends::torch_import
