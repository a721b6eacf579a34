// Scaled dot product attention in its forms.

#include "cupel/frontends/math/Attention.h"
#include "cupel/frontends/torch/ops/Algebra.h"

#include <cmath>

namespace cupel::frontends::torch_import {

using namespace mlir;

namespace {

using H = HloBuilder;

Value maskOf(Node &n) {
  for (StringRef name : {"attn_mask", "attn_bias"})
    if (n.declares(name) && n.has(name))
      return n.in(name);
  return {};
}

/// Reads what all forms have; complains about what none of them can do here.
std::optional<AttentionForm> readAttention(Node &n) {
  if (n.declares("dropout_p") && n.real("dropout_p") != 0) {
    n.refuse(ErrorCode::Random, "dropout_p is not 0: dropout is random");
    return std::nullopt;
  }
  AttentionForm form;
  form.q = n.in("query");
  form.k = n.in("key");
  form.v = n.in("value");
  form.mask = maskOf(n);
  form.causal = n.declares("is_causal") && n.flag("is_causal");
  form.inner = n.computeType(n.element("query"));
  form.result = n.resultElement();
  if (n.failed())
    return std::nullopt;
  ArrayRef<int64_t> q = n.shape("query"), k = n.shape("key"), v = n.shape("value");
  if (q.size() < 2 || k.size() < 2 || v.size() < 2 || q.back() != k.back() ||
      k[k.size() - 2] != v[v.size() - 2]) {
    n.fail("query, key and value do not fit each other");
    return std::nullopt;
  }
  form.scale = n.has("scale") ? n.real("scale") : q.back() ? 1 / std::sqrt(double(q.back())) : 1;
  return form;
}

void lowerAttention(Node &n) {
  std::optional<AttentionForm> form = readAttention(n);
  if (!form)
    return;
  if (n.resultType().getNumElements() == 0 || isEmpty(form->k))
    return n.out(n.b.splat(0, n.resultElement(), n.resultShape()));
  n.out(attention(n.b, *form).y);
}

/// The forms with more results: what the second is depends on the form, the rest is room or random
/// state of other devices.
void lowerAttentionParts(Node &n, bool weightsSecond) {
  std::optional<AttentionForm> form = readAttention(n);
  if (!form)
    return;
  Attended made;
  if (n.resultType().getNumElements())
    made = attend(n.b, *form, !weightsSecond);
  for (size_t i = 0; i < n.outputCount(); ++i)
    outOrZeros(n, i,
               i == 0   ? made.y
               : i == 1 ? (weightsSecond ? made.weights : made.logSum)
                        : Value());
}

/// A gradient by heads that were repeated, for those that there are.
Value sumRepeatedHeads(HloBuilder &b, Value gradient, ArrayRef<int64_t> wanted) {
  int64_t at = H::rankOf(gradient) - 3;
  if (at < 0 || wanted[at] == 0 || H::shapeOf(gradient)[at] == wanted[at])
    return gradient;
  Dims grouped(H::shapeOf(gradient));
  grouped[at] = H::shapeOf(gradient)[at] / wanted[at];
  grouped.insert(grouped.begin() + at, wanted[at]);
  return b.reduce(b.reshape(gradient, grouped), {at + 1}, Fold::Add);
}

/// Query, key and value gradients; softmax is computed again from the scores.
void lowerAttentionBackward(Node &n) {
  HloBuilder &b = n.b;
  std::optional<AttentionForm> form = readAttention(n);
  if (!form)
    return;
  StringRef name = n.declares("grad_out") ? "grad_out" : "grad_out_";
  Type type = form->inner;
  Value q = n.in("query", type), k = n.in("key", type), v = n.in("value", type),
        gradient = n.in(name, type);
  if (n.failed())
    return;
  if (int64_t rank = H::rankOf(q); rank >= 3) {
    k = repeatHeads(b, k, H::shapeOf(q)[rank - 3]);
    v = repeatHeads(b, v, H::shapeOf(q)[rank - 3]);
  }
  Attended forward = attend(b, *form);
  Value gradV = b.matmul(swapLast(b, forward.weights), gradient);
  Value gradWeights = b.matmul(gradient, swapLast(b, v));
  int64_t last = H::rankOf(gradWeights) - 1;
  Value along = b.reduce(b.multiply(gradWeights, forward.weights), {last}, Fold::Add, true);
  Value gradScores = b.multiply(forward.weights, b.subtract(gradWeights, along));
  Value scaled = b.multiply(gradScores, b.splat(form->scale, type));
  n.out(0, b.matmul(scaled, k));
  n.out(1, sumRepeatedHeads(b, b.matmul(swapLast(b, scaled), q), n.shape("key")));
  n.out(2, sumRepeatedHeads(b, gradV, n.shape("value")));
  if (n.outputCount() > 3 && n.resultType(3)) { // The bias: summed over what it was broadcast to.
    RankedTensorType wanted = n.resultType(3);
    Value bias = gradScores;
    Dims dims;
    int64_t offset = H::rankOf(bias) - wanted.getRank();
    for (int64_t i = 0; i < H::rankOf(bias); ++i)
      if (i < offset || (wanted.getDimSize(i - offset) == 1 && H::shapeOf(bias)[i] != 1))
        dims.push_back(i);
    n.out(3, b.reshape(b.reduce(bias, dims, Fold::Add), wanted.getShape()));
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
