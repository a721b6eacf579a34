// Scaled dot product attention in its forms.

#include "cupel/frontends/torch/ops/Algebra.h"

#include <cmath>

namespace cupel::frontends::torch_import {

using namespace mlir;

namespace {

using H = HloBuilder;

struct Attention {
  bool causal = false, groups = false;
  double scale = 1;
  Type type; ///< What is computed in.
};

struct Attended {
  Value y, weights, logSum; ///< logSum without the keys' dimension.
};

/// Key and value heads repeated until there are as many as the query has.
Value repeatHeads(HloBuilder &b, Value x, int64_t heads) {
  int64_t rank = H::rankOf(x), at = rank - 3, have = H::shapeOf(x)[at];
  if (have == heads || have == 0 || heads % have)
    return x;
  Dims apart(H::shapeOf(x)), wide, shape = apart, places;
  for (int64_t i = 0; i < rank; ++i) {
    wide.push_back(apart[i]);
    places.push_back(i > at ? i + 1 : i);
    if (i == at)
      wide.push_back(heads / have);
  }
  shape[at] = heads;
  return b.reshape(b.broadcastInDim(x, wide, places), shape);
}

/// What is added to the scores: a mask of numbers, of booleans, and what causality forbids.
Value biasOf(HloBuilder &b, Value mask, bool causal, int64_t queries, int64_t keys, Type type) {
  Value bias;
  Value low = b.lowest(type), zero = b.splat(0, type);
  if (mask)
    bias = H::isBool(mask) ? b.select(mask, zero, low) : b.convert(mask, type);
  if (causal) {
    Value rows = b.iota({queries, keys}, 0, b.i64()), columns = b.iota({queries, keys}, 1, b.i64());
    Value forbidden = b.select(b.greaterEqual(rows, columns), zero, low);
    bias = bias ? b.add(bias, forbidden) : forbidden;
  }
  return bias;
}

Attended attend(HloBuilder &b, Value q, Value k, Value v, Value mask, const Attention &how) {
  q = b.convert(q, how.type);
  k = b.convert(k, how.type);
  v = b.convert(v, how.type);
  int64_t rank = H::rankOf(q);
  if (how.groups && rank >= 3) {
    k = repeatHeads(b, k, H::shapeOf(q)[rank - 3]);
    v = repeatHeads(b, v, H::shapeOf(q)[rank - 3]);
  }
  int64_t queries = H::shapeOf(q)[rank - 2], keys = H::shapeOf(k)[H::rankOf(k) - 2];
  Value scores = b.matmul(b.multiply(q, b.splat(how.scale, how.type)), swapLast(b, k));
  if (Value bias = biasOf(b, mask, how.causal, queries, keys, how.type))
    scores = b.add(scores, bias);
  int64_t last = H::rankOf(scores) - 1;
  Value top = b.reduce(scores, {last}, Fold::Max, true);
  // A row in which nothing is allowed gives zeros.
  Value none = b.equal(top, b.broadcastTo(b.lowest(how.type), H::shapeOf(top)));
  Value base = b.select(none, b.like(top, 0), top);
  Value exponents = b.exp(b.subtract(scores, base));
  Value sum = b.reduce(exponents, {last}, Fold::Add, true);
  Value weights = b.divide(exponents, b.select(none, b.like(sum, 1), sum));
  Dims shape(H::shapeOf(sum).drop_back());
  Value logSum = b.reshape(b.add(b.log(sum), base), shape);
  return {b.matmul(weights, v), weights, logSum};
}

/// Reads what all forms have; complains about what none of them can do here.
std::optional<Attention> readAttention(Node &n) {
  Attention how;
  if (n.declares("dropout_p") && n.real("dropout_p") != 0) {
    n.never("dropout_p is not 0: dropout is random");
    return std::nullopt;
  }
  how.causal = n.declares("is_causal") && n.flag("is_causal");
  how.groups = n.declares("enable_gqa") && n.flag("enable_gqa");
  how.type = n.computeType(n.element("query"));
  if (n.failed())
    return std::nullopt;
  ArrayRef<int64_t> q = n.shape("query"), k = n.shape("key"), v = n.shape("value");
  if (q.size() < 2 || k.size() < 2 || v.size() < 2 || q.back() != k.back() ||
      k[k.size() - 2] != v[v.size() - 2]) {
    n.fail("query, key and value do not fit each other");
    return std::nullopt;
  }
  how.scale = n.has("scale") ? n.real("scale") : q.back() ? 1 / std::sqrt(double(q.back())) : 1;
  return how;
}

Value maskOf(Node &n) {
  for (StringRef name : {"attn_mask", "attn_bias"})
    if (n.declares(name) && n.has(name))
      return n.in(name);
  return {};
}

void lowerAttention(Node &n) {
  HloBuilder &b = n.b;
  std::optional<Attention> how = readAttention(n);
  if (!how)
    return;
  if (n.resultType().getNumElements() == 0 || isEmpty(n.in("key")))
    return n.out(b.splat(0, n.resultElement(), n.resultShape()));
  SmallVector<Value> operands{n.in("query"), n.in("key"), n.in("value")};
  if (Value mask = maskOf(n))
    operands.push_back(mask);
  Type element = n.resultElement();
  auto body = [how = *how, element](HloBuilder &in, ValueRange values) -> SmallVector<Value> {
    Value mask = values.size() > 3 ? values[3] : Value();
    return {in.convert(attend(in, values[0], values[1], values[2], mask, how).y, element)};
  };
  if (!n.composites())
    return n.out(body(b, operands)[0]);
  OpBuilder &ops = b.builder();
  DictionaryAttr attributes =
      ops.getDictionaryAttr({ops.getNamedAttr("enable_gqa", ops.getBoolAttr(how->groups)),
                             ops.getNamedAttr("is_causal", ops.getBoolAttr(how->causal)),
                             ops.getNamedAttr("scale", ops.getF32FloatAttr(float(how->scale)))});
  n.out(b.composite("cupel.scaled_dot_product_attention", operands, attributes, body)[0]);
}

/// The forms with more results: what the second is depends on the form, the rest is room or random
/// state of other devices.
void lowerAttentionParts(Node &n, bool weightsSecond) {
  HloBuilder &b = n.b;
  std::optional<Attention> how = readAttention(n);
  if (!how)
    return;
  Attended result;
  if (n.resultType().getNumElements())
    result = attend(b, n.in("query"), n.in("key"), n.in("value"), maskOf(n), *how);
  for (size_t i = 0; i < n.outputCount(); ++i) {
    RankedTensorType type = n.resultType(i);
    if (!type)
      continue;
    Value value = i == 0   ? result.y
                  : i == 1 ? (weightsSecond ? result.weights : result.logSum)
                           : Value();
    if (value && H::countOf(value) == type.getNumElements())
      n.out(i, b.reshape(value, type.getShape()));
    else
      n.out(i, b.splat(0, type.getElementType(), type.getShape()));
  }
}

/// Query, key and value gradients; softmax is computed again from the scores.
void lowerAttentionBackward(Node &n) {
  HloBuilder &b = n.b;
  std::optional<Attention> how = readAttention(n);
  if (!how)
    return;
  StringRef name = n.declares("grad_out") ? "grad_out" : "grad_out_";
  Value q = n.in("query", how->type), k = n.in("key", how->type), v = n.in("value", how->type),
        gradient = n.in(name, how->type);
  if (n.failed())
    return;
  Attended forward = attend(b, q, k, v, maskOf(n), *how);
  Value gradV = b.matmul(swapLast(b, forward.weights), gradient);
  Value gradWeights = b.matmul(gradient, swapLast(b, v));
  int64_t last = H::rankOf(gradWeights) - 1;
  Value along = b.reduce(b.multiply(gradWeights, forward.weights), {last}, Fold::Add, true);
  Value gradScores = b.multiply(forward.weights, b.subtract(gradWeights, along));
  Value scaled = b.multiply(gradScores, b.splat(how->scale, how->type));
  n.out(0, b.matmul(scaled, k));
  n.out(1, b.matmul(swapLast(b, scaled), q));
  n.out(2, gradV);
  if (n.outputCount() > 3 && n.resultType(3)) { // The bias: summed over what it was broadcast to.
    RankedTensorType type = n.resultType(3);
    Value bias = gradScores;
    Dims dims;
    int64_t offset = H::rankOf(bias) - type.getRank();
    for (int64_t i = 0; i < H::rankOf(bias); ++i)
      if (i < offset || (type.getDimSize(i - offset) == 1 && H::shapeOf(bias)[i] != 1))
        dims.push_back(i);
    n.out(3, b.reshape(b.reduce(bias, dims, Fold::Add), type.getShape()));
  }
}

} // namespace

void registerAttention(OpTable &table) {
  table.add("aten.scaled_dot_product_attention", lowerAttention);
  table.add("aten._scaled_dot_product_attention_math",
            [](Node &n) { lowerAttentionParts(n, true); });
  auto parts = [](Node &n) { lowerAttentionParts(n, false); };
  table.add("aten._scaled_dot_product_flash_attention_for_cpu", parts);
  table.add("aten._scaled_dot_product_flash_attention", parts);
  table.add("aten._scaled_dot_product_efficient_attention", parts);
  table.add("aten._scaled_dot_product_flash_attention_for_cpu_backward", lowerAttentionBackward);
  table.add("aten._scaled_dot_product_flash_attention_backward", lowerAttentionBackward);
  table.add("aten._scaled_dot_product_efficient_attention_backward", lowerAttentionBackward);
}

} // namespace cupel::frontends::torch_import
