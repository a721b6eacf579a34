// Batch, layer, group, instance and root-mean-square normalization, and their gradients.

#include "cupel/frontends/math/Normalization.h"
#include "cupel/frontends/torch/ops/Algebra.h"

#include <limits>

namespace cupel::frontends::torch_import {

using namespace mlir;

namespace {

using H = HloBuilder;

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

//===----------------------------------------------------------------------===//
// Batch and instance normalization
//===----------------------------------------------------------------------===//

struct BatchResult {
  Value y, mean, invstd, runningMean, runningVar; ///< The last two null if not updated.
};

/// In the type it computes in: torch's CPU kernels round statistics to the type of the parameters,
/// which leaves nothing of a spread that is small beside the mean, and no other device does
/// (docs/decisions/0136).
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
  outOrZeros(n, 1, training ? result->mean : Value());
  outOrZeros(n, 2, training ? result->invstd : Value());
  size_t at = 3;
  if (n.target().starts_with("aten._batch_norm"))
    outOrZeros(n, at++, {}); // Room that other devices reserve.
  if (update == Update::Returned) {
    outOrZeros(n, at, result->runningMean ? result->runningMean : n.in("running_mean"));
    outOrZeros(n, at + 1, result->runningVar ? result->runningVar : n.in("running_var"));
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
  Value invstd = inverseDeviation(b, m.variance, n.real("eps", 1e-5));
  Value y = b.multiply(b.subtract(x, m.mean), invstd);
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
  if (train && (n.element("save_mean") != type || n.element(saved) != type)) {
    // What the forward pass gave is rounded; what it used is not.
    Moments m = moments(b, x, dims);
    mean = m.mean;
    invstd = inverseDeviation(b, m.variance, n.real("eps"));
  } else if (train) {
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
    outOrZeros(n, 1, b.reduce(b.multiply(gradient, xhat), dims, Fold::Add));
  if (mask[2])
    outOrZeros(n, 2, b.reduce(gradient, dims, Fold::Add));
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

void lowerLayerNorm(Node &n) {
  Type element = n.resultElement(), type = n.computeType(element);
  Value x = n.in("input");
  Dims dims = normalizedDims(n, x);
  if (n.failed())
    return;
  n.out(layerNorm(n.b, x, n.has("weight") ? n.in("weight") : Value(),
                  n.has("bias") ? n.in("bias") : Value(), H::rankOf(x) - int64_t(dims.size()),
                  n.real("eps", 1e-5), {type, type, element}));
}

void lowerNativeLayerNorm(Node &n) {
  Type type = n.computeType(n.element("input"));
  Value x = n.in("input", type);
  Dims dims = normalizedDims(n, x);
  if (n.failed())
    return;
  Standardized made = standardize(n.b, x, dims, n.real("eps", 1e-5));
  Value y = made.value;
  if (n.has("weight"))
    y = n.b.multiply(y, n.in("weight", type));
  if (n.has("bias"))
    y = n.b.add(y, n.in("bias", type));
  n.out(0, y);
  outOrZeros(n, 1, made.mean);
  outOrZeros(n, 2, made.inverse);
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
    outOrZeros(n, 1, b.reduce(b.multiply(gradient, xhat), outer, Fold::Add));
  if (mask[2])
    outOrZeros(n, 2, b.reduce(gradient, outer, Fold::Add));
}

/// What torch adds if eps is None: the spacing of numbers near 1 in the input's type.
double epsilonOf(Type element) {
  if (auto real = dyn_cast<FloatType>(partType(element)))
    return std::ldexp(1.0, 1 - int(real.getFPMantissaWidth()));
  return 0;
}

void lowerRmsNorm(Node &n) {
  HloBuilder &b = n.b;
  Type element = n.resultElement(), type = n.computeType(element);
  Value x = n.in("input"), weight = n.has("weight") ? n.in("weight") : Value();
  Dims dims = normalizedDims(n, x);
  if (n.failed())
    return;
  double eps = n.has("eps") ? n.real("eps") : epsilonOf(H::elementOf(x));
  bool fused = n.target().starts_with("aten._fused");
  if (!fused && !H::isComplex(x))
    return n.out(rmsNorm(b, x, weight, H::rankOf(x) - int64_t(dims.size()), eps,
                         {type, type, element}));
  Value wide = b.convert(x, type), inverse = inverseRoot(b, wide, dims, eps);
  Value y = b.multiply(wide, inverse);
  n.out(0, weight ? b.multiply(y, b.convert(weight, type)) : y);
  if (fused)
    outOrZeros(n, 1, inverse);
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
    outOrZeros(n, 1, b.reduce(b.multiply(gradient, xhat), outer, Fold::Add));
}

//===----------------------------------------------------------------------===//
// Group normalization
//===----------------------------------------------------------------------===//

bool groupsFit(Node &n, Value x, int64_t groups) {
  bool fits = !n.failed() && H::rankOf(x) >= 2 && groups >= 1 && H::shapeOf(x)[1] % groups == 0;
  if (!fits)
    n.fail("the groups do not divide the channels");
  return fits;
}

void lowerGroupNorm(Node &n) {
  Type element = n.resultElement(), type = n.computeType(element);
  Value x = n.in("input");
  int64_t groups = n.integer("num_groups");
  if (!groupsFit(n, x, groups))
    return;
  n.out(groupNorm(n.b, x, n.has("weight") ? n.in("weight") : Value(),
                  n.has("bias") ? n.in("bias") : Value(), groups, n.real("eps", 1e-5),
                  {type, type, element}));
}

void lowerNativeGroupNorm(Node &n) {
  HloBuilder &b = n.b;
  Type type = n.computeType(n.element("input"));
  Value x = n.in("input", type);
  int64_t groups = n.integer("group"), rank = H::rankOf(x);
  if (!groupsFit(n, x, groups))
    return;
  Dims shape(H::shapeOf(x));
  int64_t width = shape[1] / groups;
  for (int64_t i = 2; i < rank; ++i)
    width *= shape[i];
  Standardized made =
      standardize(b, b.reshape(x, {shape[0], groups, width}), {2}, n.real("eps", 1e-5));
  Value y = b.reshape(made.value, shape);
  if (n.has("weight"))
    y = b.multiply(y, perChannel(b, n.in("weight", type), rank));
  if (n.has("bias"))
    y = b.add(y, perChannel(b, n.in("bias", type), rank));
  n.out(0, y);
  outOrZeros(n, 1, made.mean);
  outOrZeros(n, 2, made.inverse);
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
    outOrZeros(n, 1, b.reduce(b.multiply(gradient, b.reshape(xhat, shape)), dims, Fold::Add));
  if (mask[2])
    outOrZeros(n, 2, b.reduce(gradient, dims, Fold::Add));
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
  outOrZeros(n, 1, norm);
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
  outOrZeros(n, 1, b.divide(along, norm));
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
