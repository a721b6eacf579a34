// com.microsoft: float operators that ONNX Runtime's optimizer makes of several of the standard's.

#include "cupel/frontends/math/Normalization.h"
#include "cupel/frontends/onnx/Lowering.h"

namespace cupel::frontends::onnx_import {

using namespace mlir;

namespace {

constexpr StringRef kDomain = "com.microsoft";

/// What a fused operator does last. Parameters come in the order of the activation's attributes.
Result<Value> activated(Node &n, Value x, const std::string &name, ArrayRef<double> parameters) {
  HloBuilder &b = n.b;
  auto parameter = [&](size_t i, double missing) {
    return i < parameters.size() ? parameters[i] : missing;
  };
  if (name.empty())
    return x;
  if (name == "Relu")
    return relu(b, x);
  if (name == "Tanh")
    return b.tanh(x);
  if (name == "Sigmoid")
    return b.logistic(x);
  if (name == "LeakyRelu")
    return leakyRelu(b, x, parameter(0, 0.01));
  if (name == "Clip")
    return b.clamp(b.like(x, parameter(0, -3.4028234663852886e38)), x,
                   b.like(x, parameter(1, 3.4028234663852886e38)));
  if (name == "HardSigmoid")
    return hardSigmoid(b, x, parameter(0, 0.2), parameter(1, 0.5));
  return n.refuse(ErrorCode::NotYet, "its activation '" + name + "' is not lowered");
}

Status lowerFusedConv(Node &n) {
  ONNX_TRY(n.expect(2, 4));
  HloBuilder &b = n.b;
  ONNX_LET(y, n.apply("Conv", {n.in(0), n.in(1), n.has(2) ? n.in(2) : Value()}));
  if (n.has(3)) {
    if (n.in(3).getType() != y.getType())
      return n.error("what it adds does not fit its result");
    y = b.add(y, n.in(3));
  }
  ONNX_LET(result, activated(n, y, n.text("activation", ""), n.reals("activation_params")));
  n.out(0, result);
  return {};
}

Status lowerFusedGemm(Node &n) {
  ONNX_TRY(n.expect(2, 3));
  ONNX_LET(y, n.apply("Gemm", {n.in(0), n.in(1), n.has(2) ? n.in(2) : Value()}));
  SmallVector<double> parameters;
  for (StringRef name : {"activation_alpha", "activation_beta", "activation_gamma"})
    if (n.hasAttribute(name))
      parameters.push_back(n.real(name, 0));
  ONNX_LET(result, activated(n, y, n.text("activation", ""), parameters));
  n.out(0, result);
  return {};
}

/// Swaps the last two dimensions; with `batch`, the first one moves behind all others but the last
/// before that.
Value transposed(HloBuilder &b, Value x, bool swap, bool batch) {
  int64_t rank = HloBuilder::rankOf(x);
  if (rank < 2)
    return x;
  Dims order = dimsFrom(0, rank);
  if (batch) {
    order.erase(order.begin());
    order.insert(order.end() - 1, 0);
  }
  if (swap)
    std::swap(order[rank - 1], order[rank - 2]);
  return b.transpose(x, order);
}

Status lowerFusedMatMul(Node &n) {
  ONNX_TRY(n.expect(2, 2));
  HloBuilder &b = n.b;
  Value x = transposed(b, n.in(0), n.integer("transA", 0), n.integer("transBatchA", 0));
  Value y = transposed(b, n.in(1), n.integer("transB", 0), n.integer("transBatchB", 0));
  ONNX_LET(product, n.apply("MatMul", {x, y}));
  if (double alpha = n.real("alpha", 1); alpha != 1)
    product = b.multiply(product, b.like(product, alpha));
  n.out(0, product);
  return {};
}

Status lowerGelu(Node &n) {
  ONNX_TRY(n.expect(1, 1));
  n.out(0, gelu(n.b, n.in(0), false, n.element(0)));
  return {};
}

Result<Value> withBias(Node &n, Value x, size_t operand) {
  if (!n.has(operand))
    return x;
  if (HloBuilder::rankOf(x) < 1 ||
      n.shape(operand) != ArrayRef<int64_t>({HloBuilder::shapeOf(x).back()}))
    return n.error("its bias does not fit its operand's last dimension");
  return n.b.add(x, n.in(operand));
}

template <bool byTanh> Status lowerBiasGelu(Node &n) {
  ONNX_TRY(n.expect(byTanh ? 1 : 2, 2));
  ONNX_LET(x, withBias(n, n.in(0), 1));
  n.out(0, gelu(n.b, x, byTanh, n.element(0)));
  return {};
}

Status lowerQuickGelu(Node &n) {
  ONNX_TRY(n.expect(1, 1));
  HloBuilder &b = n.b;
  Value x = n.in(0);
  n.out(0, b.multiply(x, b.logistic(b.multiply(x, b.like(x, n.real("alpha", 1.702))))));
  return {};
}

//===----------------------------------------------------------------------===//
// Normalisation
//===----------------------------------------------------------------------===//

/// Sums are taken in float32, or in the operand's own type where that is wider.
Type innerType(Node &n) { return n.element(0).isF64() ? n.element(0) : n.b.f32(); }

template <bool simplified> Status lowerSkipNorm(Node &n) {
  constexpr size_t biasAt = simplified ? 3 : 4;
  ONNX_TRY(n.expect(3, biasAt + 1));
  HloBuilder &b = n.b;
  Value x = n.in(0);
  std::optional<Dims> shape = HloBuilder::broadcastShape(n.shape(0), n.shape(1));
  if (n.rank(0) < 1 || !shape || ArrayRef<int64_t>(*shape) != n.shape(0) ||
      n.element(0) != n.element(1))
    return n.error("its skip does not fit its operand");
  x = b.add(x, n.in(1));
  ONNX_LET(sum, withBias(n, x, biasAt));
  double epsilon = n.real("epsilon", 1e-12);
  int64_t axis = n.rank(0) - 1;
  Type inner = innerType(n);
  if constexpr (simplified) {
    ONNX_LET(y, rmsNorm(n, sum, n.in(2), axis, epsilon, inner));
    n.out(0, y);
    if (n.wants(2))
      n.out(2, inverseRoot(b, b.convert(sum, inner), {axis}, epsilon));
  } else {
    ONNX_LET(y, layerNorm(n, sum, n.in(2), n.has(3) ? n.in(3) : Value(), axis, epsilon, inner));
    n.out(0, y);
    outMoments(n, sum, axis, epsilon, inner);
  }
  n.out(3, sum);
  return {};
}

Status lowerEmbedLayerNorm(Node &n) {
  ONNX_TRY(n.expect(1, 9));
  HloBuilder &b = n.b;
  for (size_t i : {2, 3, 5, 6})
    if (!n.has(i))
      return n.error("lacks operand " + std::to_string(i));
  if (n.rank(0) != 2 || n.rank(2) != 2 || n.rank(3) != 2)
    return n.error("its tokens and tables should have two dimensions");
  int64_t batch = n.shape(0)[0], length = n.shape(0)[1];
  Value words = b.take(n.in(2), n.in(0), 0), positions;
  if (n.has(8)) {
    if (n.rank(8) != 2 || n.shape(8)[1] != length || (n.shape(8)[0] != 1 && n.shape(8)[0] != batch))
      return n.error("its positions do not fit its tokens");
    positions = b.take(n.in(3), n.in(8), 0);
  } else {
    if (n.shape(3)[0] < length)
      return n.error("its table of positions is shorter than its tokens");
    positions = b.sliceDim(n.in(3), 0, 0, length);
  }
  ONNX_TRY(n.checkBroadcast(words, positions));
  Value sum = b.add(words, positions);
  if (n.has(1) && n.has(4)) {
    if (n.shape(1) != n.shape(0) || n.rank(4) != 2)
      return n.error("its segments do not fit its tokens");
    Value segments = b.take(n.in(4), n.in(1), 0);
    ONNX_TRY(n.checkBroadcast(sum, segments));
    sum = b.add(sum, segments);
  }
  ONNX_LET(y, layerNorm(n, sum, n.in(5), n.in(6), 2, n.real("epsilon", 1e-12), b.f32()));
  n.out(0, y);
  if (n.wants(1)) {
    Type element = n.element(0);
    Value count = b.splat(0, element, {batch});
    if (n.has(7)) {
      if (n.shape(7) != n.shape(0))
        return n.error("its mask does not fit its tokens");
      // How many tokens from the first on are not masked.
      Value one = b.convert(b.equal(n.in(7), b.like(n.in(7), 1)), element);
      count = b.reduce(one, {1}, Fold::Add);
    }
    n.out(1, count);
  }
  n.out(2, sum);
  return {};
}

} // namespace

void registerMicrosoft(OpTable &table) {
  auto add = [&](StringRef name, Lowering lower) { table.add(name, 1, lower, true, kDomain); };
  add("FusedConv", lowerFusedConv);
  add("FusedGemm", lowerFusedGemm);
  add("FusedMatMul", lowerFusedMatMul);
  add("TransposeMatMul", lowerFusedMatMul); // Its earlier name.
  add("Gelu", lowerGelu);
  add("BiasGelu", lowerBiasGelu<false>);
  add("FastGelu", lowerBiasGelu<true>);
  add("QuickGelu", lowerQuickGelu);
  add("SkipLayerNormalization", lowerSkipNorm<false>);
  add("SkipSimplifiedLayerNormalization", lowerSkipNorm<true>);
  add("EmbedLayerNormalization", lowerEmbedLayerNorm);
}

} // namespace cupel::frontends::onnx_import
