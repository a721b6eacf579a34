#include "cupel/frontends/math/Attention.h"

#include "cupel/frontends/math/Activations.h"
#include "cupel/frontends/math/Composites.h"
#include "cupel/frontends/math/Shapes.h"

#include <cmath>

namespace cupel::frontends {

using namespace mlir;
using H = HloBuilder;
using stablehlo::Composite;

Value repeatHeads(HloBuilder &b, Value x, int64_t heads) {
  int64_t at = H::rankOf(x) - 3, have = at < 0 ? heads : H::shapeOf(x)[at];
  if (have == heads || have == 0 || heads % have)
    return x;
  Dims shape(H::shapeOf(x)), wide = shape, places = dimsFrom(0, H::rankOf(x));
  shape[at] = heads;
  wide.insert(wide.begin() + at + 1, heads / have);
  for (int64_t i = at + 1; i < H::rankOf(x); ++i)
    ++places[i];
  return b.reshape(b.broadcastInDim(x, wide, places), shape);
}

/// What is added to the scores: the mask, the causal rule, windows and the lengths of the keys;
/// null if nothing is.
static Value biasOf(HloBuilder &b, const AttentionForm &form, ArrayRef<int64_t> scores,
                    Type element) {
  Value bias;
  auto allow = [&](Value allowed) {
    Value more = b.select(allowed, b.splat(0, element), b.lowest(element));
    bias = bias ? b.add(bias, more) : more;
  };
  if (form.mask && H::isBool(form.mask))
    allow(form.mask);
  else if (form.mask)
    bias = b.convert(form.mask, element);
  Dims table(scores.take_back(2));
  int64_t row = 0;
  Value lengths;
  if (form.lengths) {
    table = {scores[0], 1, scores[2], scores[3]};
    row = 2;
    lengths = b.broadcastInDim(b.convert(form.lengths, b.i64()), table, {0});
    allow(b.less(b.iota(table, row + 1, b.i64()), lengths));
  }
  if (form.causal || form.left >= 0 || form.right >= 0) {
    Value offset = lengths ? b.subtract(lengths, b.like(lengths, double(scores[2])))
                           : b.splatInteger(form.past, b.i64(), table);
    Value ahead = b.subtract(b.iota(table, row + 1, b.i64()),
                             b.add(b.iota(table, row, b.i64()), offset));
    auto bound = [&](int64_t steps) { return b.splatInteger(steps, b.i64(), table); };
    if (form.causal)
      allow(b.lessEqual(ahead, bound(0)));
    if (form.left >= 0)
      allow(b.greaterEqual(ahead, bound(-form.left)));
    if (form.right >= 0)
      allow(b.lessEqual(ahead, bound(form.right)));
  }
  return bias;
}

Attended attend(HloBuilder &b, const AttentionForm &form, bool wantsLogSum) {
  Type inner = form.inner ? form.inner : H::elementOf(form.q);
  Value q = b.convert(form.q, inner), k = b.convert(form.k, inner), v = b.convert(form.v, inner);
  if (int64_t rank = H::rankOf(q); rank >= 3) {
    k = repeatHeads(b, k, H::shapeOf(q)[rank - 3]);
    v = repeatHeads(b, v, H::shapeOf(q)[rank - 3]);
  }
  // In narrow types both sides take the root, as ONNX defines it: products keep their range.
  bool isNarrow = inner.getIntOrFloatBitWidth() < 32;
  double scale = isNarrow ? std::sqrt(form.scale) : form.scale;
  q = b.multiply(q, b.like(q, scale));
  if (isNarrow)
    k = b.multiply(k, b.like(k, scale));
  Attended result;
  Value scores = b.matmul(q, swapLast(b, k));
  auto report = [&](int which) {
    if (form.scoresAfter == which)
      result.scores = scores;
  };
  report(0);
  if (form.softcap > 0) {
    Value cap = b.like(scores, form.softcap);
    scores = b.multiply(cap, b.tanh(b.divide(scores, cap)));
  }
  report(1);
  if (Value bias = biasOf(b, form, Dims(H::shapeOf(scores)), inner))
    scores = b.add(scores, bias);
  report(2);
  scores = b.convert(scores, form.precision ? form.precision : inner);
  int64_t last = H::rankOf(scores) - 1;
  if (wantsLogSum) {
    Value top = b.reduce(scores, {last}, Fold::Max, true);
    Value none = b.equal(top, b.lowest(H::elementOf(top), H::shapeOf(top)));
    Value base = b.select(none, b.like(top, 0), top);
    Value sum = b.reduce(b.exp(b.subtract(scores, base)), {last}, Fold::Add, true);
    result.logSum = b.reshape(b.add(b.log(sum), base), H::shapeOf(sum).drop_back());
  }
  scores = result.weights = b.convert(safeSoftmax(b, scores, last), inner);
  report(3);
  result.y = b.matmul(scores, v);
  return result;
}

AttentionResult attention(HloBuilder &b, const AttentionForm &form) {
  SmallVector<Value> operands{form.q, form.k, form.v};
  for (Value optional : {form.mask, form.lengths})
    if (optional)
      operands.push_back(optional);
  auto body = [&form](HloBuilder &b, ValueRange v) -> SmallVector<Value> {
    AttentionForm inside = form;
    inside.q = v[0];
    inside.k = v[1];
    inside.v = v[2];
    inside.mask = form.mask ? v[3] : Value();
    inside.lengths = form.lengths ? v.back() : Value();
    Attended made = attend(b, inside);
    SmallVector<Value> results{
        b.convert(made.y, form.result ? form.result : H::elementOf(v[0]))};
    if (made.scores)
      results.push_back(made.scores);
    return results;
  };
  SmallVector<Value> results =
      form.isPlain() ? composite(b, Composite::ScaledDotProductAttention, operands,
                                 {{"is_causal", form.causal}, {"scale", form.scale}}, body)
                     : composite(b, Composite::Attention, operands,
                                 {{"has_lengths", bool(form.lengths)},
                                  {"has_mask", bool(form.mask)},
                                  {"is_causal", form.causal},
                                  {"left_window", form.left},
                                  {"past", form.past},
                                  {"right_window", form.right},
                                  {"scale", form.scale},
                                  {"softcap", form.softcap}},
                                 body);
  return {results[0], results.size() > 1 ? results[1] : Value()};
}

} // namespace cupel::frontends
