// Attention and what stands around it in transformers: rotary embeddings, linear attention, causal
// convolutions with state.

#include "cupel/frontends/onnx/Lowering.h"

namespace cupel::frontends::onnx_import {

using namespace mlir;

namespace {

/// [B, S, heads * D] -> [B, heads, S, D]; four dimensions stay.
Result<Value> splitHeads(Node &n, Value x, StringRef attribute) {
  HloBuilder &b = n.b;
  ArrayRef<int64_t> shape = HloBuilder::shapeOf(x);
  if (shape.size() == 4)
    return x;
  int64_t heads = n.integer(attribute, 0);
  if (shape.size() != 3 || heads < 1 || shape[2] % heads)
    return n.error("its operands should be [batch, heads, length, size], or of three dimensions "
                   "with " +
                   attribute.str());
  return b.transpose(b.reshape(x, {shape[0], shape[1], heads, shape[2] / heads}), {0, 2, 1, 3});
}

Value mergeHeads(HloBuilder &b, Value x) {
  Value turned = b.transpose(x, {0, 2, 1, 3});
  ArrayRef<int64_t> s = HloBuilder::shapeOf(turned);
  return b.reshape(turned, {s[0], s[1], s[2] * s[3]});
}

/// Each head `times` in a row.
Value repeatHeads(HloBuilder &b, Value x, int64_t times) {
  ArrayRef<int64_t> s = HloBuilder::shapeOf(x);
  if (times == 1)
    return x;
  Value wide = b.broadcastInDim(x, {s[0], s[1], times, s[2], s[3]}, {0, 1, 3, 4});
  return b.reshape(wide, {s[0], s[1] * times, s[2], s[3]});
}

Value minusInfinityWhereNot(HloBuilder &b, Value allowed, Type element) {
  ArrayRef<int64_t> shape = HloBuilder::shapeOf(allowed);
  return b.select(allowed, b.splat(0, element, shape), b.lowest(element, shape));
}

/// What is added to the scores: the mask, the causal rule, windows and the lengths of the keys.
Result<Value> attentionBias(Node &n, ArrayRef<int64_t> scores, Type element, int64_t past) {
  HloBuilder &b = n.b;
  int64_t keys = scores[3];
  Dims table{scores[0], 1, scores[2], keys};
  Value bias;
  auto addBias = [&](Value more) { bias = bias ? b.add(bias, more) : more; };
  if (n.has(3)) {
    Value mask = n.in(3);
    int64_t rank = HloBuilder::rankOf(mask);
    if (rank < 1 || HloBuilder::shapeOf(mask).back() > keys)
      return n.error("its mask does not fit its keys");
    int64_t missing = keys - HloBuilder::shapeOf(mask).back();
    bool isBool = HloBuilder::isBool(mask);
    if (missing > 0 && HloBuilder::shapeOf(mask).back() != 1) {
      Dims low(rank, 0), high(rank, 0);
      high.back() = missing;
      Type type = HloBuilder::elementOf(mask);
      mask = b.pad(mask, isBool ? b.splatInteger(0, type) : b.lowest(type), low, high);
    }
    mask = isBool ? minusInfinityWhereNot(b, mask, element) : b.convert(mask, element);
    std::optional<Dims> shape = HloBuilder::broadcastShape(HloBuilder::shapeOf(mask), scores);
    if (!shape || ArrayRef<int64_t>(*shape) != scores)
      return n.error("its mask does not broadcast to the scores");
    addBias(mask);
  }
  Value lengths;
  if (n.has(6)) {
    lengths = b.broadcastInDim(b.convert(n.in(6), b.i64()), table, {0});
    addBias(minusInfinityWhereNot(b, b.less(b.iota(table, 3, b.i64()), lengths), element));
  }
  int64_t left = n.integer("left_window_size", -1), right = n.integer("right_window_size", -1);
  bool causal = n.integer("is_causal", 0);
  if (causal || left >= 0 || right >= 0) {
    Value offset = b.splatInteger(past, b.i64(), table);
    if (lengths)
      offset = b.subtract(lengths, b.like(lengths, double(scores[2])));
    Value ahead = b.subtract(b.iota(table, 3, b.i64()), b.add(b.iota(table, 2, b.i64()), offset));
    auto rule = [&](Value allowed) { addBias(minusInfinityWhereNot(b, allowed, element)); };
    if (causal)
      rule(b.lessEqual(ahead, b.like(ahead, 0)));
    if (left >= 0)
      rule(b.greaterEqual(ahead, b.like(ahead, -double(left))));
    if (right >= 0)
      rule(b.lessEqual(ahead, b.like(ahead, double(right))));
  }
  return bias;
}

/// Rows in which everything is masked give zeros.
Value maskedSoftmax(HloBuilder &b, Value x) {
  int64_t axis = HloBuilder::rankOf(x) - 1;
  Value top = b.reduce(x, {axis}, Fold::Max, true);
  top = b.select(b.equal(top, b.lowest(HloBuilder::elementOf(x), HloBuilder::shapeOf(top))),
                 b.like(top, 0), top);
  Value e = b.exp(b.subtract(x, top));
  Value sum = b.reduce(e, {axis}, Fold::Add, true);
  return b.divide(e, b.select(b.equal(sum, b.like(sum, 0)), b.like(sum, 1), sum));
}

Status lowerAttention(Node &n) {
  ONNX_TRY(n.expect(3, 7));
  HloBuilder &b = n.b;
  bool packed = n.rank(0) == 3;
  ONNX_LET(q, splitHeads(n, n.in(0), "q_num_heads"));
  ONNX_LET(k, splitHeads(n, n.in(1), "kv_num_heads"));
  ONNX_LET(v, splitHeads(n, n.in(2), "kv_num_heads"));
  int64_t past = 0;
  if (n.has(4) && n.has(5)) {
    if (n.rank(4) != 4 || n.rank(5) != 4)
      return n.error("its past should have four dimensions");
    past = n.shape(4)[2];
    k = b.concatenate({n.in(4), k}, 2);
    v = b.concatenate({n.in(5), v}, 2);
  }
  if (n.wants(1))
    n.out(1, k);
  if (n.wants(2))
    n.out(2, v);
  ArrayRef<int64_t> qs = HloBuilder::shapeOf(q), ks = HloBuilder::shapeOf(k),
                    vs = HloBuilder::shapeOf(v);
  if (qs[0] != ks[0] || ks[0] != vs[0] || qs[3] != ks[3] || ks[1] != vs[1] || ks[2] != vs[2] ||
      ks[1] == 0 || qs[1] % ks[1])
    return n.error("its query, key and value do not fit each other");
  Type element = HloBuilder::elementOf(q);
  int64_t times = qs[1] / ks[1];
  double scale =
      std::sqrt(n.hasAttribute("scale") ? n.real("scale", 1) : 1 / std::sqrt(double(qs[3])));
  Value keys = repeatHeads(b, k, times), values = repeatHeads(b, v, times);
  Value scores = b.dotGeneral(b.multiply(q, b.like(q, scale)),
                              b.multiply(keys, b.like(keys, scale)), {0, 1}, {0, 1}, {3}, {3});
  int64_t mode = n.integer("qk_matmul_output_mode", 0);
  auto report = [&](int64_t which) {
    if (mode == which && n.wants(3))
      n.out(3, scores);
  };
  report(0);
  if (double cap = n.real("softcap", 0); cap > 0)
    scores = b.multiply(b.like(scores, cap), b.tanh(b.divide(scores, b.like(scores, cap))));
  report(1);
  ONNX_LET(bias, attentionBias(n, HloBuilder::shapeOf(scores), element, past));
  if (bias)
    scores = b.add(scores, bias);
  report(2);
  Type precision = element;
  if (int64_t number = n.integer("softmax_precision", 0)) {
    ONNX_LET(type, n.elementTypeNumbered(number));
    precision = type;
  }
  scores = b.convert(maskedSoftmax(b, b.convert(scores, precision)), element);
  report(3);
  Value y = b.dotGeneral(scores, b.convert(values, element), {0, 1}, {0, 1}, {3}, {2});
  n.out(0, packed ? mergeHeads(b, y) : y);
  return {};
}

/// Passes a value through a subgraph of the node, where there is one; its type stays.
Result<Value> modify(Node &n, StringRef name, Value x) {
  const proto::GraphProto *graph = n.graph(name);
  if (!graph)
    return x;
  Item item;
  item.value = x;
  for (size_t i = 0; i < 3; ++i)
    item.sources |= n.item(i).sources;
  ONNX_LET(made, n.inlineGraph(*graph, {item}));
  if (made.size() != 1 || !made[0].isTensor() || n.materialize(made[0]).getType() != x.getType())
    return n.error("its " + name.str() + " should give one tensor of the type it takes");
  return n.materialize(made[0]);
}

Status lowerFlexAttention(Node &n) {
  ONNX_TRY(n.expect(3, 3));
  HloBuilder &b = n.b;
  if (n.rank(0) != 4 || n.rank(1) != 4 || n.rank(2) != 4)
    return n.error("its operands should have four dimensions");
  ArrayRef<int64_t> qs = n.shape(0), ks = n.shape(1), vs = n.shape(2);
  if (qs[0] != ks[0] || ks[0] != vs[0] || qs[3] != ks[3] || ks[1] != vs[1] || ks[2] != vs[2] ||
      ks[1] == 0 || qs[1] % ks[1])
    return n.error("its query, key and value do not fit each other");
  int64_t times = qs[1] / ks[1];
  Type element = n.element(0);
  double scale = n.real("scale", 1 / std::sqrt(double(qs[3])));
  Value scores = b.dotGeneral(n.in(0), repeatHeads(b, n.in(1), times), {0, 1}, {0, 1}, {3}, {3});
  ONNX_LET(modified, modify(n, "score_mod", b.multiply(scores, b.like(scores, scale))));
  Type precision = element;
  if (int64_t number = n.integer("softmax_precision", 0)) {
    ONNX_LET(type, n.elementTypeNumbered(number));
    precision = type;
  }
  Value sure = b.convert(maskedSoftmax(b, b.convert(modified, precision)), element);
  ONNX_LET(probabilities, modify(n, "prob_mod", sure));
  n.out(0, b.dotGeneral(probabilities, repeatHeads(b, n.in(2), times), {0, 1}, {0, 1}, {3}, {2}));
  return {};
}

Status lowerRotary(Node &n) {
  ONNX_TRY(n.expect(3, 4));
  HloBuilder &b = n.b;
  bool packed = n.rank(0) == 3;
  ONNX_LET(x, splitHeads(n, n.in(0), "num_heads"));
  ArrayRef<int64_t> s = HloBuilder::shapeOf(x);
  int64_t size = n.integer("rotary_embedding_dim", 0);
  size = size ? size : s[3];
  if (size < 2 || size % 2 || size > s[3])
    return n.error("its rotary_embedding_dim does not fit its operand");
  Value rotated = b.sliceDim(x, 3, 0, size), rest = b.sliceDim(x, 3, size, s[3]);
  // Angles as [B, 1, S, size / 2].
  auto angles = [&](size_t i) -> Result<Value> {
    Value cache = n.in(i);
    if (n.has(3)) {
      if (n.rank(i) != 2)
        return n.error("its caches should have two dimensions where positions are given");
      cache = b.take(cache, n.in(3), 0);
    }
    if (HloBuilder::rankOf(cache) != 3 || HloBuilder::shapeOf(cache)[2] < size / 2)
      return n.error("its caches do not fit its operand");
    Value made = b.unsqueeze(b.sliceDim(cache, 2, 0, size / 2), 1);
    std::optional<Dims> shape =
        HloBuilder::broadcastShape(HloBuilder::shapeOf(made), {s[0], s[1], s[2], size / 2});
    if (!shape || (*shape)[0] != s[0] || (*shape)[2] != s[2])
      return n.error("its caches do not fit its operand");
    return made;
  };
  ONNX_LET(cosine, angles(1));
  ONNX_LET(sine, angles(2));
  bool interleaved = n.integer("interleaved", 0);
  Value first, second;
  if (interleaved) {
    first = b.sliceDim(rotated, 3, 0, size, 2);
    second = b.sliceDim(rotated, 3, 1, size, 2);
  } else {
    first = b.sliceDim(rotated, 3, 0, size / 2);
    second = b.sliceDim(rotated, 3, size / 2, size);
  }
  Value real = b.subtract(b.multiply(first, cosine), b.multiply(second, sine));
  Value imaginary = b.add(b.multiply(first, sine), b.multiply(second, cosine));
  Value y;
  if (interleaved)
    y = b.reshape(b.concatenate({b.unsqueeze(real, 4), b.unsqueeze(imaginary, 4)}, 4),
                  {s[0], s[1], s[2], size});
  else
    y = b.concatenate({real, imaginary}, 3);
  if (size < s[3])
    y = b.concatenate({y, rest}, 3);
  n.out(0, packed ? mergeHeads(b, y) : y);
  return {};
}

/// The recurrence token by token.
Status lowerLinearAttention(Node &n) {
  ONNX_TRY(n.expect(3, 6));
  HloBuilder &b = n.b;
  int64_t qHeads = n.integer("q_num_heads", 0), heads = n.integer("kv_num_heads", 0);
  if (n.rank(0) != 3 || n.rank(1) != 3 || n.rank(2) != 3 || heads < 1 || qHeads < heads ||
      qHeads % heads || n.shape(0)[2] % qHeads || n.shape(1)[2] % heads || n.shape(2)[2] % heads)
    return n.error("its heads do not fit its operands");
  int64_t batch = n.shape(0)[0], length = n.shape(0)[1], group = qHeads / heads,
          dk = n.shape(1)[2] / heads, dv = n.shape(2)[2] / heads;
  if (n.shape(0)[2] != qHeads * dk || n.shape(1)[1] != length || n.shape(2)[1] != length)
    return n.error("its query, key and value do not fit each other");
  std::string rule = n.text("update_rule", "gated_delta");
  bool gated = rule == "gated" || rule == "gated_delta",
       delta = rule == "delta" || rule == "gated_delta";
  if (!gated && !delta && rule != "linear")
    return n.error("its update_rule '" + rule + "' is unknown");
  if ((gated && !n.has(4)) || (delta && !n.has(5)))
    return n.error("its rule needs decay or beta");
  Type wide = n.element(0).isF64() ? b.f64() : b.f32();
  double scale = n.real("scale", 0);
  if (scale == 0)
    scale = 1 / std::sqrt(double(dk));
  auto token = [&](size_t i, int64_t t, int64_t parts) {
    Value one = b.convert(b.sliceDim(n.in(i), 1, t, t + 1), wide);
    return b.reshape(one, {batch, parts, HloBuilder::shapeOf(one)[2] / parts});
  };
  Value state = n.has(3) ? b.convert(n.in(3), wide) : b.splat(0, wide, {batch, heads, dk, dv});
  if (HloBuilder::shapeOf(state) != ArrayRef<int64_t>({batch, heads, dk, dv}))
    return n.error("its past state does not fit");
  if (delta && n.shape(5).back() != heads && n.shape(5).back() != 1)
    return n.error("its beta does not fit its heads");
  if (gated && n.shape(4).back() != heads && n.shape(4).back() != heads * dk)
    return n.error("its decay does not fit its heads");
  SmallVector<Value> tokens;
  for (int64_t t = 0; t < length; ++t) {
    Value q = b.reshape(token(0, t, qHeads), {batch, heads, group, dk});
    Value k = token(1, t, heads), v = token(2, t, heads);
    if (gated) // [B, H, dk or 1, 1]
      state = b.multiply(state, b.unsqueeze(b.exp(token(4, t, heads)), 3));
    if (delta) {
      Value beta = token(5, t, n.shape(5).back()); // [B, H or 1, 1]
      Value had = b.dotGeneral(state, k, {0, 1}, {0, 1}, {2}, {2});
      v = b.multiply(beta, b.subtract(v, had));
    }
    state = b.add(state, b.multiply(b.unsqueeze(k, 3), b.unsqueeze(v, 2)));
    Value o = b.dotGeneral(q, state, {0, 1}, {0, 1}, {3}, {2}); // [B, H, group, dv]
    tokens.push_back(b.reshape(b.multiply(o, b.like(o, scale)), {batch, 1, qHeads * dv}));
  }
  if (tokens.empty())
    return n.error("has no token");
  n.out(0, b.convert(b.concatenate(tokens, 1), n.element(0)));
  n.out(1, b.convert(state, n.has(3) ? n.element(3) : n.element(0)));
  return {};
}

Status lowerCausalConv(Node &n) {
  ONNX_TRY(n.expect(2, 4));
  HloBuilder &b = n.b;
  if (n.rank(0) != 3 || n.rank(1) != 3 || n.shape(1)[0] != n.shape(0)[1] || n.shape(1)[1] != 1)
    return n.error("its weight does not fit its operand");
  int64_t channels = n.shape(0)[1], k = n.shape(1)[2];
  Value past = n.has(3) ? n.in(3) : b.splat(0, n.element(0), {n.shape(0)[0], channels, k - 1});
  if (HloBuilder::shapeOf(past) != ArrayRef<int64_t>({n.shape(0)[0], channels, k - 1}))
    return n.error("its past state does not fit");
  Value x = b.concatenate({past, n.in(0)}, 2);
  int64_t length = HloBuilder::shapeOf(x)[2];
  HloBuilder::Convolution how;
  how.groups = channels;
  Type element = n.element(0), wide = element.isF64() ? b.f64() : b.f32();
  Value y = b.convolution(b.convert(x, wide), b.convert(n.in(1), wide), how);
  if (n.has(2))
    y = b.add(y, perChannel(b, b.convert(n.in(2), wide), 3));
  std::string activation = n.text("activation", "none");
  if (activation == "silu" || activation == "swish")
    y = b.multiply(y, b.logistic(y));
  else if (activation != "none" && !activation.empty())
    return n.error("its activation '" + activation + "' is unknown");
  n.out(0, b.convert(y, element));
  n.out(1, b.sliceDim(x, 2, length - (k - 1), length));
  return {};
}

Status lowerSwiGlu(Node &n) {
  ONNX_TRY(n.expect(2, 2));
  HloBuilder &b = n.b;
  if (n.shape(0) != n.shape(1))
    return n.error("its operands differ in shape");
  Value x = n.in(0);
  Value gate = b.multiply(x, b.logistic(b.multiply(x, b.like(x, n.real("alpha", 1)))));
  n.out(0, b.multiply(gate, n.in(1)));
  return {};
}

//===----------------------------------------------------------------------===//
// Losses
//===----------------------------------------------------------------------===//

/// The negative log likelihood from log probabilities.
Result<Value> nllLoss(Node &n, Value logs, Value target) {
  HloBuilder &b = n.b;
  ArrayRef<int64_t> shape = HloBuilder::shapeOf(logs);
  Dims rest{shape[0]};
  rest.append(shape.begin() + 2, shape.end());
  if (shape.size() < 2 || HloBuilder::shapeOf(target) != ArrayRef<int64_t>(rest))
    return n.error("its target does not fit its scores");
  Type element = HloBuilder::elementOf(logs);
  target = b.convert(target, b.i64());
  Value weights = b.splat(1, element, rest);
  Value ignored;
  if (n.hasAttribute("ignore_index")) {
    ignored = b.equal(target, b.splatInteger(n.integer("ignore_index", 0), b.i64(), rest));
    target = b.select(ignored, b.like(target, 0), target);
  }
  if (n.has(2)) {
    if (HloBuilder::countOf(n.in(2)) != shape[1])
      return n.error("its weights are not one a class");
    weights = b.take(b.reshape(n.in(2), {shape[1]}), target, 0);
  }
  if (ignored)
    weights = b.select(ignored, b.like(weights, 0), weights);
  Value picked = b.reshape(b.takeAlong(logs, b.unsqueeze(target, 1), 1), rest);
  Value loss = b.multiply(b.negate(picked), weights);
  std::string how = n.text("reduction", "mean");
  Dims all = dimensionsFrom(0, rest.size());
  if (how == "sum" || how == "mean")
    loss = b.reduce(loss, all, Fold::Add);
  else if (how != "none")
    return n.error("its reduction '" + how + "' is unknown");
  if (how == "mean")
    loss = b.divide(loss, b.reduce(weights, all, Fold::Add));
  return loss;
}

Status lowerNll(Node &n) {
  ONNX_TRY(n.expect(2, 3));
  if (n.rank(0) < 2)
    return n.error("its scores should have classes");
  ONNX_LET(loss, nllLoss(n, n.in(0), n.in(1)));
  n.out(0, loss);
  return {};
}

Status lowerCrossEntropy(Node &n) {
  ONNX_TRY(n.expect(2, 3));
  if (n.rank(0) < 2)
    return n.error("its scores should have classes");
  Value logs = logSoftmax(n.b, n.in(0), 1);
  ONNX_LET(loss, nllLoss(n, logs, n.in(1)));
  n.out(0, loss);
  if (n.wants(1))
    n.out(1, logs);
  return {};
}

} // namespace

void registerAttention(OpTable &table) {
  table.add("Attention", 23, lowerAttention);
  table.add("FlexAttention", 1, lowerFlexAttention, /*foldable=*/false, "ai.onnx.preview");
  table.add("RotaryEmbedding", 23, lowerRotary);
  table.add("LinearAttention", 27, lowerLinearAttention);
  table.add("CausalConvWithState", 27, lowerCausalConv);
  table.add("SwiGLU", 28, lowerSwiGlu);
  table.add("NegativeLogLikelihoodLoss", 12, lowerNll);
  table.add("SoftmaxCrossEntropyLoss", 12, lowerCrossEntropy);
}

} // namespace cupel::frontends::onnx_import
