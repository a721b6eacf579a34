// Attention and what stands around it in transformers: rotary embeddings, linear attention, causal
// convolutions with state.

#include "cupel/frontends/onnx/Repeat.h"

namespace cupel::frontends::onnx_import {

using namespace mlir;

Result<Value> splitHeads(Node &n, Value x, int64_t heads) {
  HloBuilder &b = n.b;
  ArrayRef<int64_t> shape = HloBuilder::shapeOf(x);
  if (shape.size() == 4)
    return x;
  if (shape.size() != 3 || heads < 1 || shape[2] % heads)
    return n.error("its operands should be [batch, heads, length, size], or of three dimensions "
                   "with a number of heads that divides the last");
  return b.transpose(b.reshape(x, {shape[0], shape[1], heads, shape[2] / heads}), {0, 2, 1, 3});
}

Value mergeHeads(HloBuilder &b, Value x) {
  Value turned = b.transpose(x, {0, 2, 1, 3});
  ArrayRef<int64_t> s = HloBuilder::shapeOf(turned);
  return b.reshape(turned, {s[0], s[1], s[2] * s[3]});
}

namespace {

Status checkAttention(Node &n, ArrayRef<int64_t> q, ArrayRef<int64_t> k, ArrayRef<int64_t> v) {
  if (q.size() != 4 || k.size() != 4 || v.size() != 4 || q[0] != k[0] || k[0] != v[0] ||
      q[3] != k[3] || k[1] != v[1] || k[2] != v[2] || k[1] == 0 || q[1] % k[1])
    return n.error("its query, key and value do not fit each other");
  return {};
}

} // namespace

Value rotate(HloBuilder &b, Value x, Value cosine, Value sine, int64_t size, bool interleaved) {
  Dims s(HloBuilder::shapeOf(x));
  Value turned = b.sliceDim(x, 3, 0, size), rest = b.sliceDim(x, 3, size, s[3]);
  Value first =
      interleaved ? b.sliceDim(turned, 3, 0, size, 2) : b.sliceDim(turned, 3, 0, size / 2);
  Value second =
      interleaved ? b.sliceDim(turned, 3, 1, size, 2) : b.sliceDim(turned, 3, size / 2, size);
  Value real = b.subtract(b.multiply(first, cosine), b.multiply(second, sine));
  Value imaginary = b.add(b.multiply(first, sine), b.multiply(second, cosine));
  Value y;
  if (interleaved)
    y = b.reshape(b.concatenate({b.unsqueeze(real, 4), b.unsqueeze(imaginary, 4)}, 4),
                  {s[0], s[1], s[2], size});
  else
    y = b.concatenate({real, imaginary}, 3);
  return size < s[3] ? b.concatenate({y, rest}, 3) : y;
}

Result<AttentionResult> attention(Node &n, const AttentionForm &form) {
  ArrayRef<int64_t> qs = HloBuilder::shapeOf(form.q), ks = HloBuilder::shapeOf(form.k);
  ONNX_TRY(checkAttention(n, qs, ks, HloBuilder::shapeOf(form.v)));
  if (HloBuilder::elementOf(form.q) != HloBuilder::elementOf(form.k) ||
      !HloBuilder::isFloat(form.q))
    return n.error("its query and key should be floats of one type");
  if (form.mask) {
    Dims scores{qs[0], qs[1], qs[2], ks[2]};
    std::optional<Dims> shape = HloBuilder::broadcastShape(HloBuilder::shapeOf(form.mask), scores);
    if (!shape || *shape != scores)
      return n.error("its mask does not broadcast to the scores");
  }
  if (form.lengths && HloBuilder::shapeOf(form.lengths) != ArrayRef<int64_t>({qs[0]}))
    return n.error("its lengths are not one a batch");
  return attention(n.b, form);
}

namespace {

/// The mask as long as the keys: what lies beyond it is not attended to.
Result<Value> paddedMask(Node &n, Value mask, int64_t keys) {
  HloBuilder &b = n.b;
  int64_t rank = HloBuilder::rankOf(mask);
  if (rank < 1 || HloBuilder::shapeOf(mask).back() > keys)
    return n.error("its mask does not fit its keys");
  int64_t missing = keys - HloBuilder::shapeOf(mask).back();
  if (missing == 0 || HloBuilder::shapeOf(mask).back() == 1)
    return mask;
  Dims low(rank, 0), high(rank, 0);
  high.back() = missing;
  Type type = HloBuilder::elementOf(mask);
  Value filler = HloBuilder::isBool(mask) ? b.splatInteger(0, type) : b.lowest(type);
  return b.pad(mask, filler, low, high);
}

Status lowerAttention(Node &n) {
  ONNX_TRY(n.expect(3, 7));
  HloBuilder &b = n.b;
  bool packed = n.rank(0) == 3;
  AttentionForm form;
  int64_t kvHeads = n.integer("kv_num_heads", 0);
  ONNX_LET(q, splitHeads(n, n.in(0), n.integer("q_num_heads", 0)));
  ONNX_LET(k, splitHeads(n, n.in(1), kvHeads));
  ONNX_LET(v, splitHeads(n, n.in(2), kvHeads));
  if (n.has(4) && n.has(5)) {
    if (n.rank(4) != 4 || n.rank(5) != 4)
      return n.error("its past should have four dimensions");
    form.past = n.shape(4)[2];
    k = b.concatenate({n.in(4), k}, 2);
    v = b.concatenate({n.in(5), v}, 2);
  }
  if (n.wants(1))
    n.out(1, k);
  if (n.wants(2))
    n.out(2, v);
  form.q = q;
  form.k = k;
  form.v = v;
  form.scale = n.hasAttribute("scale") ? n.real("scale", 1)
                                       : 1 / std::sqrt(double(HloBuilder::shapeOf(q)[3]));
  form.softcap = n.real("softcap", 0);
  form.causal = n.integer("is_causal", 0);
  form.left = n.integer("left_window_size", -1);
  form.right = n.integer("right_window_size", -1);
  if (n.has(3)) {
    ONNX_LET(mask, paddedMask(n, n.in(3), HloBuilder::shapeOf(k)[2]));
    form.mask = mask;
  }
  if (n.has(6))
    form.lengths = n.in(6);
  if (int64_t number = n.integer("softmax_precision", 0)) {
    ONNX_LET(type, n.elementTypeNumbered(number));
    form.precision = type;
  }
  if (n.wants(3))
    form.scoresAfter = int(n.integer("qk_matmul_output_mode", 0));
  ONNX_LET(made, attention(n, form));
  if (made.scores)
    n.out(3, made.scores);
  n.out(0, packed ? mergeHeads(b, made.y) : made.y);
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
  ArrayRef<int64_t> qs = n.shape(0), ks = n.shape(1);
  ONNX_TRY(checkAttention(n, qs, ks, n.shape(2)));
  Type element = n.element(0);
  double scale = n.real("scale", 1 / std::sqrt(double(qs[3])));
  Value scores = b.dotGeneral(n.in(0), repeatHeads(b, n.in(1), qs[1]), {0, 1}, {0, 1}, {3}, {3});
  ONNX_LET(modified, modify(n, "score_mod", b.multiply(scores, b.like(scores, scale))));
  Type precision = element;
  if (int64_t number = n.integer("softmax_precision", 0)) {
    ONNX_LET(type, n.elementTypeNumbered(number));
    precision = type;
  }
  Value sure = b.convert(safeSoftmax(b, b.convert(modified, precision), 3), element);
  ONNX_LET(probabilities, modify(n, "prob_mod", sure));
  n.out(0, b.dotGeneral(probabilities, repeatHeads(b, n.in(2), qs[1]), {0, 1}, {0, 1}, {3}, {2}));
  return {};
}

Status lowerRotary(Node &n) {
  ONNX_TRY(n.expect(3, 4));
  HloBuilder &b = n.b;
  bool packed = n.rank(0) == 3;
  ONNX_LET(x, splitHeads(n, n.in(0), n.integer("num_heads", 0)));
  ArrayRef<int64_t> s = HloBuilder::shapeOf(x);
  int64_t size = n.integer("rotary_embedding_dim", 0);
  size = size ? size : s[3];
  if (size < 2 || size % 2 || size > s[3])
    return n.error("its rotary_embedding_dim does not fit its operand");
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
  Value y = rotate(b, x, cosine, sine, size, n.integer("interleaved", 0));
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
  Value state = n.has(3) ? b.convert(n.in(3), wide) : b.splat(0, wide, {batch, heads, dk, dv});
  if (HloBuilder::shapeOf(state) != ArrayRef<int64_t>({batch, heads, dk, dv}))
    return n.error("its past state does not fit");
  if (delta && n.shape(5).back() != heads && n.shape(5).back() != 1)
    return n.error("its beta does not fit its heads");
  if (gated && n.shape(4).back() != heads && n.shape(4).back() != heads * dk)
    return n.error("its decay does not fit its heads");
  if (length < 1)
    return n.error("has no token");
  for (size_t i = 4; i < n.inputCount(); ++i)
    if (n.has(i) && (n.rank(i) != 3 || n.shape(i)[0] != batch || n.shape(i)[1] != length))
      return n.error("its decay or beta is not one a token");
  auto step = [&](Value at, int64_t known, ArrayRef<Value> carried) -> Result<Trip> {
    auto token = [&](size_t i, int64_t parts) {
      Value one = b.convert(entryAt(b, n.in(i), 1, at, known), wide);
      return b.reshape(one, {batch, parts, HloBuilder::shapeOf(one)[1] / parts});
    };
    Value q = b.reshape(token(0, qHeads), {batch, heads, group, dk});
    Value k = token(1, heads), v = token(2, heads), now = carried[0];
    if (gated) // [B, H, dk or 1, 1]
      now = b.multiply(now, b.unsqueeze(b.exp(token(4, heads)), 3));
    if (delta) {
      Value beta = token(5, n.shape(5).back()); // [B, H or 1, 1]
      Value had = b.dotGeneral(now, k, {0, 1}, {0, 1}, {2}, {2});
      v = b.multiply(beta, b.subtract(v, had));
    }
    now = b.add(now, b.multiply(b.unsqueeze(k, 3), b.unsqueeze(v, 2)));
    Value o = b.dotGeneral(q, now, {0, 1}, {0, 1}, {3}, {2}); // [B, H, group, dv]
    return Trip{{now}, {}, {b.reshape(b.multiply(o, b.like(o, scale)), {batch, qHeads * dv})}};
  };
  ONNX_LET(made, repeat(n, length, false, {state}, step));
  n.out(0, b.convert(b.transpose(made.stacked[0], {1, 0, 2}), n.element(0)));
  n.out(1, b.convert(made.carried[0], n.has(3) ? n.element(3) : n.element(0)));
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
  Dims all = dimsFrom(0, rest.size());
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
