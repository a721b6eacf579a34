// The fused forms of attention and of a transformer's encoder layer, which nn.TransformerEncoder
// calls outside of training. Written with the pieces they fuse.

#include "cupel/frontends/math/Activations.h"
#include "cupel/frontends/math/Normalization.h"
#include "cupel/frontends/torch/ops/Algebra.h"

#include <cmath>

namespace cupel::frontends::torch_import {

using namespace mlir;

namespace {

using H = HloBuilder;

Value linear(HloBuilder &b, Value x, Value weight, Value bias) {
  return b.add(b.matmul(x, b.transpose(weight, {1, 0})), bias);
}

/// [B, L, E] -> [B, heads, L, E / heads]
Value splitHeads(HloBuilder &b, Value x, int64_t heads) {
  ArrayRef<int64_t> shape = H::shapeOf(x);
  return b.transpose(b.reshape(x, {shape[0], shape[1], heads, shape[2] / heads}), {0, 2, 1, 3});
}

/// True where a key must not be looked at, as [B or 1, heads or 1, L or 1, L]; null and a complaint
/// where the mask has no such form.
Value forbidden(Node &n, ArrayRef<int64_t> scores) {
  Value mask = n.in("mask");
  ArrayRef<int64_t> shape = H::shapeOf(mask);
  int64_t kind = n.has("mask_type") ? n.integer("mask_type") : 2;
  if (!H::isBool(mask)) // As PyTorch does: what is not zero is forbidden.
    mask = n.b.notEqual(mask, n.b.like(mask, 0));
  Dims four(shape);
  if (kind == 0 && shape.size() == 2)
    four = {1, 1, shape[0], shape[1]};
  else if (kind == 1 && shape.size() == 2)
    four = {shape[0], 1, 1, shape[1]};
  if (H::broadcastShape(four, scores) != Dims(scores)) {
    n.fail("argument 'mask' does not fit the scores");
    return {};
  }
  return n.b.reshape(mask, four);
}

struct Attended {
  Value y, weights;
};

/// Attention of several heads with packed projections; nothing after a complaint.
std::optional<Attended> attend(Node &n, Value query, Value key, Value value, StringRef headsName) {
  HloBuilder &b = n.b;
  int64_t heads = n.integer(headsName), width = n.integer("embed_dim");
  Type type = H::elementOf(query);
  Value weight = n.in("qkv_weight", type), bias = n.in("qkv_bias", type);
  auto fits = [&](Value x) { return H::rankOf(x) == 3 && H::shapeOf(x)[2] == width; };
  if (n.failed() || heads <= 0 || width <= 0 || width % heads || !fits(query) || !fits(key) ||
      !fits(value) || H::shapeOf(weight) != ArrayRef<int64_t>{3 * width, width} ||
      H::shapeOf(bias) != ArrayRef<int64_t>{3 * width}) {
    n.fail("the projections do not fit the inputs");
    return std::nullopt;
  }
  auto project = [&](Value x, int64_t part) {
    return splitHeads(b,
                      linear(b, x, b.sliceDim(weight, 0, part * width, (part + 1) * width),
                             b.sliceDim(bias, 0, part * width, (part + 1) * width)),
                      heads);
  };
  Value q = project(query, 0), k = project(key, 1), v = project(value, 2);
  q = b.multiply(q, b.like(q, 1 / std::sqrt(double(width / heads))));
  Value scores = b.matmul(q, swapLast(b, k));
  if (n.has("mask")) {
    Value never = forbidden(n, H::shapeOf(scores));
    if (!never)
      return std::nullopt;
    scores = b.select(b.broadcastTo(never, H::shapeOf(scores)), b.lowest(type, H::shapeOf(scores)),
                      scores);
  }
  Value weights = softmax(b, scores, 3);
  Value joined = b.transpose(b.matmul(weights, v), {0, 2, 1, 3});
  Value y = b.reshape(joined, H::shapeOf(query));
  return Attended{linear(b, y, n.in("proj_weight", type), n.in("proj_bias", type)), weights};
}

void lowerMultiHeadAttention(Node &n) {
  HloBuilder &b = n.b;
  Type type = n.computeType(n.element("query"));
  std::optional<Attended> made =
      attend(n, n.in("query", type), n.in("key", type), n.in("value", type), "num_head");
  if (!made)
    return;
  n.out(0, made->y);
  if (!n.wants(1))
    return;
  if (!n.flag("need_weights"))
    return n.notYet("its weights are read but argument 'need_weights' is false");
  n.out(1, n.flag("average_attn_weights") ? b.mean(made->weights, {1}) : made->weights);
}

void lowerEncoderLayer(Node &n) {
  HloBuilder &b = n.b;
  Type type = n.computeType(n.element("src"));
  Value x = n.in("src", type);
  double eps = n.real("eps");
  auto norm = [&](Value v, StringRef weight, StringRef bias) {
    return layerNorm(b, v, n.in(weight, type), n.in(bias, type), H::rankOf(v) - 1, eps,
                     {type, type, type});
  };
  auto feedForward = [&](Value v) {
    Value wide = linear(b, v, n.in("ffn_weight_1", type), n.in("ffn_bias_1", type));
    wide = n.flag("use_gelu") ? gelu(b, wide, false, type) : relu(b, wide);
    return linear(b, wide, n.in("ffn_weight_2", type), n.in("ffn_bias_2", type));
  };
  bool first = n.flag("norm_first");
  Value attended = first ? norm(x, "norm_weight_1", "norm_bias_1") : x;
  std::optional<Attended> made = attend(n, attended, attended, attended, "num_heads");
  if (!made)
    return;
  x = b.add(x, made->y);
  if (!first)
    x = norm(x, "norm_weight_1", "norm_bias_1");
  Value before = first ? norm(x, "norm_weight_2", "norm_bias_2") : x;
  x = b.add(x, feedForward(before));
  n.out(first ? x : norm(x, "norm_weight_2", "norm_bias_2"));
}

} // namespace

void registerTransformerLayer(OpTable &table) {
  table.add("aten._native_multi_head_attention", lowerMultiHeadAttention);
  table.add("aten._transformer_encoder_layer_fwd", lowerEncoderLayer);
}

} // namespace cupel::frontends::torch_import
