// com.microsoft: attention with its projections, and rotary embeddings.

#include "cupel/frontends/onnx/Lowering.h"

namespace cupel::frontends::onnx_import {

using namespace mlir;

namespace {

constexpr StringRef kDomain = "com.microsoft";

/// 0 where tokens are attended to, `filler` where not.
Value additive(HloBuilder &b, Value attended, Type element, double filler) {
  ArrayRef<int64_t> shape = HloBuilder::shapeOf(attended);
  return b.select(attended, b.splat(0, element, shape), b.splat(filler, element, shape));
}

/// The mask in any of its documented forms, as what is added to the scores [B, heads, S, T]: of the
/// whole keys ([B, T], [B, S, T], [B, 1, M, M]), lengths ([B]), or ends and starts ([2 * B]).
Result<Value> additiveMask(Node &n, size_t operand, int64_t batch, int64_t length, int64_t total,
                           int64_t past) {
  HloBuilder &b = n.b;
  Value mask = b.convert(n.in(operand), b.i64());
  Type element = n.element(0);
  ArrayRef<int64_t> s = HloBuilder::shapeOf(mask);
  double filler = n.real("mask_filter_value", -10000);
  Dims row{batch, 1, 1, total};
  Value positions = b.iota(row, 3, b.i64());
  auto perBatch = [&](int64_t from) {
    return b.reshape(b.sliceDim(mask, 0, from, from + batch), {batch, 1, 1, 1});
  };
  if (s == ArrayRef<int64_t>({batch}))
    return additive(b, b.less(positions, perBatch(0)), element, filler);
  if (s == ArrayRef<int64_t>({2 * batch})) {
    Value inside =
        b.logicalAnd(b.less(positions, perBatch(0)), b.greaterEqual(positions, perBatch(batch)));
    return additive(b, inside, element, filler);
  }
  Value wide;
  if (s == ArrayRef<int64_t>({batch, total}))
    wide = b.reshape(mask, row);
  else if (s == ArrayRef<int64_t>({batch, length, total}))
    wide = b.reshape(mask, {batch, 1, length, total});
  else if (s.size() == 4 && s[0] == batch && s[1] == 1 && s[2] == s[3] && s[2] >= total)
    wide = b.slice(mask, {0, 0, past, 0}, {batch, 1, past + length, total});
  else
    return n.error("its mask has none of the documented shapes");
  return additive(b, b.greater(wide, b.like(wide, 0)), element, filler);
}

/// What is common once query, key and value are [B, heads, S, D]: masks, the causal rule, scaling.
Result<Value> attend(Node &n, Value q, Value k, Value v, int64_t past, size_t maskAt,
                     size_t biasAt) {
  HloBuilder &b = n.b;
  AttentionForm form;
  form.q = q;
  form.k = k;
  form.v = v;
  form.past = past;
  ArrayRef<int64_t> qs = HloBuilder::shapeOf(q);
  int64_t batch = qs[0], length = qs[2], total = HloBuilder::shapeOf(k)[2];
  double scale = n.real("scale", 0);
  form.scale = scale != 0 ? scale : 1 / std::sqrt(double(qs[3]));
  form.causal = n.integer("unidirectional", 0);
  if (n.has(maskAt)) {
    ONNX_LET(mask, additiveMask(n, maskAt, batch, length, total, past));
    form.mask = mask;
  }
  if (n.has(biasAt)) {
    if (n.element(biasAt) != n.element(0))
      return n.error("its attention_bias has another element type");
    if (form.mask)
      ONNX_TRY(n.checkBroadcast(form.mask, n.in(biasAt)));
    form.mask = form.mask ? b.add(form.mask, n.in(biasAt)) : n.in(biasAt);
  }
  ONNX_LET(made, attention(n, form));
  return mergeHeads(b, made.y);
}

Status lowerMicrosoftAttention(Node &n) {
  ONNX_TRY(n.expect(2, 7));
  HloBuilder &b = n.b;
  int64_t heads = n.integer("num_heads", 0);
  if (n.integer("do_rotary", 0) || n.integer("past_present_share_buffer", 0))
    return n.refuse(ErrorCode::NotYet, "do_rotary and past_present_share_buffer are not lowered");
  if (n.rank(0) != 3 || n.rank(1) != 2 || heads < 1 || n.shape(0)[2] != n.shape(1)[0])
    return n.error("its weights do not fit its operand");
  Dims sizes = n.integers("qkv_hidden_sizes");
  int64_t all = n.shape(1)[1];
  if (sizes.empty()) {
    if (all % 3)
      return n.error("its weights are not three of one width");
    sizes.assign(3, all / 3);
  }
  if (sizes.size() != 3 || sizes[0] + sizes[1] + sizes[2] != all)
    return n.error("its qkv_hidden_sizes do not make up its weights");
  Value projected = b.matmul(n.in(0), n.in(1));
  if (n.has(2)) {
    if (n.shape(2) != ArrayRef<int64_t>({all}))
      return n.error("its bias does not fit its weights");
    projected = b.add(projected, n.in(2));
  }
  SmallVector<Value> parts;
  int64_t at = 0;
  for (int64_t size : sizes) {
    if (size < 0 || at + size > all)
      return n.error("its qkv_hidden_sizes do not make up its weights");
    ONNX_LET(part, splitHeads(n, b.sliceDim(projected, 2, at, at + size), heads));
    parts.push_back(part);
    at += size;
  }
  int64_t past = 0;
  if (n.has(4)) {
    if (n.rank(4) != 5 || n.shape(4)[0] != 2)
      return n.error("its past should be [2, batch, heads, length, size]");
    past = n.shape(4)[3];
    Dims each(n.shape(4).drop_front());
    for (int64_t i : {0, 1})
      parts[1 + i] =
          b.concatenate({b.reshape(b.sliceDim(n.in(4), 0, i, i + 1), each), parts[1 + i]}, 2);
  }
  if (n.wants(1)) {
    if (parts[1].getType() != parts[2].getType())
      return n.error("its key and value differ in size, and cannot be one present");
    n.out(1, b.concatenate({b.unsqueeze(parts[1], 0), b.unsqueeze(parts[2], 0)}, 0));
  }
  ONNX_LET(y, attend(n, parts[0], parts[1], parts[2], past, 3, 5));
  n.out(0, y);
  return {};
}

Status lowerMultiHeadAttention(Node &n) {
  ONNX_TRY(n.expect(1, 10));
  HloBuilder &b = n.b;
  int64_t heads = n.integer("num_heads", 0);
  if (heads < 1)
    return n.error("num_heads should be positive");
  if (n.has(8) || n.has(9))
    return n.refuse(ErrorCode::NotYet, "shared buffers and beams are not lowered");
  Value q = n.in(0), k, v;
  // Piece `i` of [B, S, heads, pieces, D] as [B, heads, S, D].
  auto piece = [&](Value packed, int64_t i) {
    Dims shape(HloBuilder::shapeOf(packed));
    shape.erase(shape.begin() + 3);
    return b.transpose(b.reshape(b.sliceDim(packed, 3, i, i + 1), shape), {0, 2, 1, 3});
  };
  // One third of the bias, before heads are split.
  int64_t biasAt = 0;
  auto biased = [&](Value x) -> Result<Value> {
    int64_t width = HloBuilder::shapeOf(x).back();
    if (!n.has(3))
      return x;
    if (n.rank(3) != 1 || biasAt + width > n.shape(3)[0])
      return n.error("its bias does not fit its operands");
    Value part = b.sliceDim(n.in(3), 0, biasAt, biasAt + width);
    biasAt += width;
    return b.add(x, part);
  };
  if (n.rank(0) == 5) {
    if (n.has(1) || n.has(2) || n.has(3) || n.shape(0)[3] != 3)
      return n.error("a packed query stands alone, and is [batch, length, heads, 3, size]");
    k = piece(q, 1);
    v = piece(q, 2);
    q = piece(q, 0);
  } else {
    if (n.rank(0) != 3 || !n.has(1))
      return n.error("its query should have three dimensions and a key beside it");
    ONNX_LET(biasedQ, biased(q));
    ONNX_LET(splitQ, splitHeads(n, biasedQ, heads));
    q = splitQ;
    if (n.rank(1) == 5) {
      if (n.has(2) || n.has(3) || n.shape(1)[3] != 2)
        return n.error("a packed key is [batch, length, heads, 2, size]");
      k = piece(n.in(1), 0);
      v = piece(n.in(1), 1);
    } else if (n.has(2) && n.rank(1) == 4 && n.rank(2) == 4) {
      // Keys and values of cross attention, computed before; their share of the bias is in them.
      k = n.in(1);
      v = n.in(2);
    } else if (n.has(2) && n.rank(1) == 3 && n.rank(2) == 3) {
      ONNX_LET(biasedK, biased(n.in(1)));
      ONNX_LET(biasedV, biased(n.in(2)));
      ONNX_LET(splitK, splitHeads(n, biasedK, heads));
      ONNX_LET(splitV, splitHeads(n, biasedV, heads));
      k = splitK;
      v = splitV;
    } else {
      return n.error("its key and value have none of the documented shapes");
    }
  }
  int64_t past = 0;
  if (n.has(6) && n.has(7)) {
    if (n.rank(6) != 4 || n.rank(7) != 4)
      return n.error("its past should have four dimensions");
    past = n.shape(6)[2];
    k = b.concatenate({n.in(6), k}, 2);
    v = b.concatenate({n.in(7), v}, 2);
  }
  n.out(1, k);
  n.out(2, v);
  if (HloBuilder::rankOf(q) != 4 || HloBuilder::rankOf(k) != 4)
    return n.error("its operands do not fit each other");
  ONNX_LET(y, attend(n, q, k, v, past, 4, 5));
  n.out(0, y);
  return {};
}

/// Positions are the second operand, [B, S] or one offset for all.
Status lowerMicrosoftRotary(Node &n) {
  ONNX_TRY(n.expect(4, 4));
  HloBuilder &b = n.b;
  if (n.integer("is_packed_batching", 0))
    return n.refuse(ErrorCode::NotYet, "packed batches are not lowered");
  int64_t heads = n.integer("num_heads", 0), size = n.integer("rotary_embedding_dim", 0);
  if (n.rank(2) != 2 || n.shape(2) != n.shape(3) || n.rank(0) < 3)
    return n.error("its caches should be two tables of one shape");
  bool packed = n.rank(0) == 3;
  if (packed && heads == 0) {
    int64_t width = 2 * n.shape(2)[1];
    if (width == 0 || n.shape(0)[2] % width)
      return n.error("its caches do not fit its operand");
    heads = n.shape(0)[2] / width;
  }
  ONNX_LET(x, splitHeads(n, n.in(0), heads));
  Dims s(HloBuilder::shapeOf(x));
  size = size ? size : s[3];
  if (size < 2 || size % 2 || size > s[3] || n.shape(2)[1] != size / 2)
    return n.error("its caches do not fit its operand");
  Value positions = b.convert(n.in(1), b.i64());
  if (n.rank(1) == 2) {
    if (n.shape(1) != ArrayRef<int64_t>({s[0], s[2]}))
      return n.error("its positions do not fit its operand");
  } else {
    if (HloBuilder::countOf(positions) != 1)
      return n.error("its positions should be one offset, or one a token");
    positions = b.add(b.iota({1, s[2]}, 1, b.i64()), b.reshape(positions, {1, 1}));
  }
  auto angles = [&](size_t i) { return b.unsqueeze(b.take(n.in(i), positions, 0), 1); };
  Value cosine = angles(2), sine = angles(3);
  Value y = rotate(b, x, cosine, sine, size, n.integer("interleaved", 0));
  if (double scale = n.real("scale", 1); scale != 1)
    y = b.multiply(y, b.like(y, scale));
  n.out(0, packed ? mergeHeads(b, y) : y);
  return {};
}

//===----------------------------------------------------------------------===//
// GroupQueryAttention
//===----------------------------------------------------------------------===//

/// Its operands, by position.
enum Gqa : size_t {
  kQuery,
  kKey,
  kValue,
  kPastKey,
  kPastValue,
  kLengths, ///< Of all tokens, less one.
  kTotal,
  kCosines,
  kSines,
  kPositions,
  kBias,
  kSink,
};

/// What of the operator there is no lowering of.
Status refuseRareGqa(Node &n) {
  auto refuse = [&](const char *what) -> Status {
    return n.refuse(ErrorCode::NotYet, std::string(what) + " is not lowered");
  };
  for (size_t i = kSink + 1; i < n.inputCount(); ++i)
    if (n.has(i))
      return refuse(i < 14 ? "a quantized cache" : "normalization of queries and keys");
  for (StringRef name : {"k_quant_type", "v_quant_type"})
    if (std::string kind = n.text(name, "NONE"); !kind.empty() && kind != "NONE")
      return refuse("a quantized cache");
  if (n.integer("sliding_window_cache", 0))
    return refuse("a cache of the window's size (sliding_window_cache)");
  if (n.integer("qk_output", 0) || n.wants(3))
    return refuse("the product of queries and keys as a result (qk_output)");
  return {};
}

/// Keys or values of all tokens, [B, heads, total, D]: those of the past up to where each batch's
/// new ones begin (`starts`, [B]; null: all at 0), the new ones, zeros.
Value withPast(HloBuilder &b, Value past, Value fresh, Value starts, int64_t total) {
  Dims shape(HloBuilder::shapeOf(fresh));
  int64_t length = shape[2];
  shape[2] = total;
  Value zero = b.splat(0, HloBuilder::elementOf(fresh));
  auto padded = [&](Value x) {
    Dims high(4, 0);
    high[2] = total - HloBuilder::shapeOf(x)[2];
    return b.pad(x, zero, Dims(4, 0), high);
  };
  if (!starts)
    return padded(fresh);
  Value at = b.subtract(b.iota(shape, 2, b.i64()), b.broadcastInDim(starts, shape, {0}));
  Value inside = b.clamp(b.like(at, 0), at, b.like(at, double(length - 1)));
  Value moved = b.takeAlong(fresh, inside, 2);
  Value old = past ? padded(past) : b.broadcastInDim(zero, shape, {});
  Value isNew = b.less(at, b.splatInteger(length, b.i64(), shape));
  moved = b.select(isNew, moved, b.like(moved, 0));
  return b.select(b.less(at, b.like(at, 0)), old, moved);
}

/// What is added to the scores [B, N, S, T + 1] where the last key stands for a sink: its logit
/// there, the rules of causality, window and length elsewhere.
Value maskWithSink(Node &n, const AttentionForm &form, Value starts, int64_t batch, int64_t heads,
                   int64_t length, int64_t total) {
  HloBuilder &b = n.b;
  Type element = n.element(kQuery);
  Dims table{batch, 1, length, total};
  Value key = b.iota(table, 3, b.i64()), query = b.iota(table, 2, b.i64());
  if (starts)
    query = b.add(query, b.broadcastInDim(starts, table, {0}));
  Value allowed = b.less(key, b.splatInteger(total, b.i64(), table));
  if (form.lengths)
    allowed = b.less(key, b.broadcastInDim(form.lengths, table, {0}));
  if (form.causal)
    allowed = b.logicalAnd(allowed, b.lessEqual(key, query));
  if (form.left >= 0)
    allowed = b.logicalAnd(
        allowed, b.greaterEqual(key, b.subtract(query, b.like(query, double(form.left)))));
  Dims wide{batch, heads, length, total};
  Value bias = b.broadcastInDim(
      b.select(allowed, b.splat(0, element, table), b.lowest(element, table)), wide, {0, 1, 2, 3});
  if (form.mask)
    bias = b.add(bias, form.mask);
  Dims column{batch, heads, length, 1};
  Value sink =
      n.has(kSink) ? b.broadcastInDim(n.in(kSink), column, {1}) : b.splat(0, element, column);
  return b.concatenate({bias, sink}, 3);
}

Status lowerGroupQueryAttention(Node &n) {
  ONNX_TRY(n.expect(1, 16));
  ONNX_TRY(refuseRareGqa(n));
  HloBuilder &b = n.b;
  int64_t heads = n.integer("num_heads", 0), kvHeads = n.integer("kv_num_heads", 0);
  if (!n.has(kLengths) || !n.has(kTotal))
    return n.error("lacks seqlens_k or total_sequence_length");
  if (heads < 1 || kvHeads < 1 || heads % kvHeads)
    return n.error("num_heads should be a multiple of kv_num_heads");
  if (n.rank(kQuery) != 3 || !HloBuilder::isFloat(n.in(kQuery)))
    return n.error("its query should be floats of three dimensions");
  Value q, k, v;
  if (n.has(kKey) && n.has(kValue)) {
    ONNX_LET(splitQ, splitHeads(n, n.in(kQuery), heads));
    ONNX_LET(splitK, splitHeads(n, n.in(kKey), kvHeads));
    ONNX_LET(splitV, splitHeads(n, n.in(kValue), kvHeads));
    q = splitQ;
    k = splitK;
    v = splitV;
  } else {
    ONNX_LET(all, splitHeads(n, n.in(kQuery), heads + 2 * kvHeads));
    q = b.sliceDim(all, 1, 0, heads);
    k = b.sliceDim(all, 1, heads, heads + kvHeads);
    v = b.sliceDim(all, 1, heads + kvHeads, heads + 2 * kvHeads);
  }
  Dims qs(HloBuilder::shapeOf(q));
  int64_t batch = qs[0], length = qs[2], size = qs[3];
  if (Dims(HloBuilder::shapeOf(k)) != Dims({batch, kvHeads, length, size}) ||
      k.getType() != v.getType() || HloBuilder::elementOf(k) != HloBuilder::elementOf(q))
    return n.error("its query, key and value do not fit each other");
  int64_t past = 0;
  if (n.has(kPastKey) != n.has(kPastValue))
    return n.error("has one of past_key and past_value without the other");
  for (size_t i : {kPastKey, kPastValue})
    if (n.has(i)) {
      past = n.rank(i) == 4 ? n.shape(i)[2] : -1;
      if (past < 0 || n.shape(i) != ArrayRef<int64_t>({batch, kvHeads, past, size}) ||
          n.element(i) != n.element(kQuery) || n.shape(i) != n.shape(kPastKey))
        return n.error("its past does not fit its keys");
    }
  ONNX_LET(totals, n.knownIntegers(kTotal, "the total sequence length"));
  if (totals.size() != 1 || totals[0] < length || totals[0] > past + length)
    return n.error("its total_sequence_length is not between its tokens and these with its past");
  // The cache grows, unless it has room.
  int64_t total = std::max(past, totals[0]);
  if (HloBuilder::countOf(n.in(kLengths)) != batch)
    return n.error("its seqlens_k are not one a batch");
  Value counts = b.convert(b.reshape(n.in(kLengths), {batch}), b.i64());
  counts = b.add(counts, b.like(counts, 1));
  // All tokens are new in a prompt, also those that fill up shorter ones.
  bool isPrompt = totals[0] == length;
  Value starts = isPrompt ? Value() : b.subtract(counts, b.like(counts, double(length)));

  if (n.integer("do_rotary", 0)) {
    if (!n.has(kCosines) || !n.has(kSines) || n.rank(kCosines) != 2 ||
        n.shape(kCosines) != n.shape(kSines) || n.shape(kCosines)[1] < 1 ||
        2 * n.shape(kCosines)[1] > size || n.element(kCosines) != n.element(kQuery) ||
        n.element(kSines) != n.element(kQuery))
      return n.error("its caches of angles do not fit its query");
    Dims tokens{batch, length};
    Value positions = b.iota(tokens, 1, b.i64());
    if (n.has(kPositions)) {
      if (n.shape(kPositions) != ArrayRef<int64_t>(tokens))
        return n.error("its position_ids are not one a token");
      Value given = b.convert(n.in(kPositions), b.i64());
      // Of a prompt the first one alone counts.
      positions = isPrompt ? b.add(positions,
                                   b.broadcastInDim(b.slice(given, {0, 0}, {1, 1}), tokens, {0, 1}))
                           : given;
    } else if (starts) {
      positions = b.add(positions, b.broadcastInDim(starts, tokens, {0}));
    }
    auto angles = [&](size_t i) { return b.unsqueeze(b.take(n.in(i), positions, 0), 1); };
    Value cosine = angles(kCosines), sine = angles(kSines);
    bool interleaved = n.integer("rotary_interleaved", 0);
    int64_t turned = 2 * n.shape(kCosines)[1];
    q = rotate(b, q, cosine, sine, turned, interleaved);
    k = rotate(b, k, cosine, sine, turned, interleaved);
  }

  AttentionForm form;
  form.q = q;
  form.k = withPast(b, n.has(kPastKey) ? n.in(kPastKey) : Value(), k, starts, total);
  form.v = withPast(b, n.has(kPastValue) ? n.in(kPastValue) : Value(), v, starts, total);
  n.out(1, form.k);
  n.out(2, form.v);
  double scale = n.real("scale", 0);
  if (scale < 0)
    return n.error("its scale is negative");
  form.scale = scale != 0 ? scale : 1 / std::sqrt(double(size));
  form.softcap = n.real("softcap", 0);
  form.causal = n.integer("causal", 1);
  int64_t window = n.integer("local_window_size", -1);
  if (window > 0)
    form.left = window - 1;
  if (!isPrompt || !form.causal)
    form.lengths = counts;
  if (!n.element(kQuery).isF64())
    form.precision = b.f32();
  if (n.has(kBias)) {
    Dims scores{batch, heads, length, total};
    Value bias = n.in(kBias);
    if (n.rank(kBias) != 4 || n.element(kBias) != n.element(kQuery))
      return n.error("its attention_bias should have four dimensions and the query's type");
    if (n.shape(kBias)[3] < total) { // Of the tokens there are; a cache may be longer.
      Dims high(4, 0);
      high[3] = total - n.shape(kBias)[3];
      bias = b.pad(bias, b.splat(0, n.element(kBias)), Dims(4, 0), high);
    }
    std::optional<Dims> shape = HloBuilder::broadcastShape(HloBuilder::shapeOf(bias), scores);
    if (!shape || *shape != scores)
      return n.error("its attention_bias does not fit its scores");
    form.mask = bias;
  }
  if (n.has(kSink) && n.shape(kSink) != ArrayRef<int64_t>({heads}))
    return n.error("its head_sink is not one a head");
  if (n.has(kSink) && n.element(kSink) != n.element(kQuery))
    return n.error("its head_sink has another type than its query");
  if (n.has(kSink) || n.integer("smooth_softmax", 0)) {
    // One more key of zeros, with a value of zeros: it takes its share of the weights and adds
    // none.
    form.mask = maskWithSink(n, form, starts, batch, heads, length, total);
    form.causal = false;
    form.left = -1;
    form.lengths = Value();
    for (Value *x : {&form.k, &form.v})
      *x = b.concatenate({*x, b.splat(0, n.element(kQuery), {batch, kvHeads, 1, size})}, 2);
  }
  ONNX_LET(made, attention(n, form));
  n.out(0, mergeHeads(b, made.y));
  return {};
}

} // namespace

void registerMicrosoftAttention(OpTable &table) {
  table.add("Attention", 1, lowerMicrosoftAttention, true, kDomain);
  table.add("MultiHeadAttention", 1, lowerMultiHeadAttention, true, kDomain);
  table.add("RotaryEmbedding", 1, lowerMicrosoftRotary, true, kDomain);
  table.add("GroupQueryAttention", 1, lowerGroupQueryAttention, true, kDomain);
}

} // namespace cupel::frontends::onnx_import
