// Activations, the softmax family, and dropout where it drops nothing.

#include "cupel/frontends/torch/ops/Elementwise.h"
#include "cupel/ir/chlo/Chlo.h"

#include <cmath>
#include <limits>
#include <numbers>

namespace cupel::frontends::torch_import {

using namespace mlir;

Value softmax(HloBuilder &b, Value x, int64_t dim) {
  if (HloBuilder::rankOf(x) == 0)
    return b.reshape(softmax(b, b.reshape(x, {1}), 0), {});
  Value top = b.reduce(x, {dim}, Fold::Max, true);
  Value e = b.exp(b.subtract(x, top));
  return b.divide(e, b.reduce(e, {dim}, Fold::Add, true));
}

Value logSoftmax(HloBuilder &b, Value x, int64_t dim) {
  if (HloBuilder::rankOf(x) == 0)
    return b.reshape(logSoftmax(b, b.reshape(x, {1}), 0), {});
  Value moved = b.subtract(x, b.reduce(x, {dim}, Fold::Max, true));
  return b.subtract(moved, b.log(b.reduce(b.exp(moved), {dim}, Fold::Add, true)));
}

namespace {

/// The operand in the type of computation; NaN stays NaN in all that follows.
Value operand(Node &n) { return n.in("self", n.computeType(n.element("self"))); }

Value relu(HloBuilder &b, Value x) { return b.maximum(x, b.like(x, 0)); }
Value relu6(HloBuilder &b, Value x) { return b.clamp(b.like(x, 0), x, b.like(x, 6)); }
Value silu(HloBuilder &b, Value x) {
  if (HloBuilder::isComplex(x))
    return b.divide(x, b.add(b.like(x, 1), b.exp(b.negate(x))));
  return b.multiply(x, b.logistic(x));
}
Value mish(HloBuilder &b, Value x) { return b.multiply(x, b.tanh(softplusOf(b, x))); }
Value sixth(HloBuilder &b, Value x) {
  Value moved = b.add(x, b.like(x, 3));
  return b.divide(b.clamp(b.like(x, 0), moved, b.like(x, 6)), b.like(x, 6));
}
Value hardSwish(HloBuilder &b, Value x) {
  Value moved = b.clamp(b.like(x, 0), b.add(x, b.like(x, 3)), b.like(x, 6));
  return b.divide(b.multiply(x, moved), b.like(x, 6));
}
Value selu(HloBuilder &b, Value x) {
  constexpr double alpha = 1.6732632423543772848170429916717,
                   scale = 1.0507009873554804934193349852946;
  Value below = b.multiply(expm1(b, x), b.like(x, alpha * scale));
  return b.select(b.greater(x, b.like(x, 0)), b.multiply(x, b.like(x, scale)), below);
}

void lowerLeakyRelu(Node &n) {
  HloBuilder &b = n.b;
  Value x = operand(n);
  Value below = b.multiply(x, n.in("negative_slope", HloBuilder::elementOf(x)));
  n.out(b.select(b.greater(x, b.like(x, 0)), x, below));
}

void lowerElu(Node &n) {
  HloBuilder &b = n.b;
  Value x = operand(n);
  double alpha = n.scalar("alpha").real(), scale = n.scalar("scale").real(),
         inputScale = n.scalar("input_scale").real();
  Value below =
      b.multiply(expm1(b, b.multiply(x, b.like(x, inputScale))), b.like(x, alpha * scale));
  n.out(b.select(b.greater(x, b.like(x, 0)), b.multiply(x, b.like(x, scale)), below));
}

void lowerCelu(Node &n) {
  HloBuilder &b = n.b;
  Value x = operand(n);
  double alpha = n.scalar("alpha").real();
  Value below = b.multiply(expm1(b, b.divide(x, b.like(x, alpha))), b.like(x, alpha));
  n.out(b.select(b.greater(x, b.like(x, 0)), x, below));
}

void lowerHardtanh(Node &n) {
  HloBuilder &b = n.b;
  Value x = operand(n);
  n.out(b.clamp(n.in("min_val", HloBuilder::elementOf(x)), x,
                n.in("max_val", HloBuilder::elementOf(x))));
}

void lowerHardshrink(Node &n) {
  HloBuilder &b = n.b;
  Value x = operand(n), edge = b.like(x, n.scalar("lambd").real());
  Value inside = b.logicalAnd(b.greaterEqual(x, b.negate(edge)), b.lessEqual(x, edge));
  n.out(b.select(inside, b.like(x, 0), x));
}

void lowerSoftshrink(Node &n) {
  HloBuilder &b = n.b;
  Value x = operand(n), edge = b.like(x, n.scalar("lambd").real());
  Value inner = b.multiply(x, b.like(x, 0)); // Keeps NaN.
  Value low = b.select(b.less(x, b.negate(edge)), b.add(x, edge), inner);
  n.out(b.select(b.greater(x, edge), b.subtract(x, edge), low));
}

void lowerSoftplus(Node &n) {
  HloBuilder &b = n.b;
  Value x = operand(n);
  Value beta = b.like(x, n.scalar("beta").real());
  Value scaled = b.multiply(x, beta);
  Value curve = b.divide(log1p(b, b.exp(scaled)), beta);
  n.out(b.select(b.greater(scaled, b.like(x, n.scalar("threshold").real())), x, curve));
}

void lowerThreshold(Node &n) {
  HloBuilder &b = n.b;
  Value x = n.in("self");
  Type type = HloBuilder::elementOf(x);
  n.out(b.select(b.lessEqual(x, n.in("threshold", type)), n.in("value", type), x));
}

void lowerGlu(Node &n) {
  HloBuilder &b = n.b;
  Value x = operand(n);
  int64_t rank = HloBuilder::rankOf(x), dim = n.dim("dim", rank);
  if (n.failed())
    return;
  if (rank == 0 || HloBuilder::shapeOf(x)[dim] % 2)
    return n.fail("argument 'self': its dimension cannot be halved");
  int64_t half = HloBuilder::shapeOf(x)[dim] / 2;
  n.out(b.multiply(b.sliceDim(x, dim, 0, half), b.logistic(b.sliceDim(x, dim, half, 2 * half))));
}

Value logSigmoid(HloBuilder &b, Value x) {
  Value tail = log1p(b, b.exp(b.negate(b.abs(x))));
  return b.subtract(b.minimum(x, b.like(x, 0)), tail);
}

/// The buffer holds exp(-|x|) on the CPU.
void lowerLogSigmoidForward(Node &n) {
  HloBuilder &b = n.b;
  Value x = operand(n);
  n.out(0, logSigmoid(b, x));
  if (n.wants(1))
    n.out(1, b.reshape(b.exp(b.negate(b.abs(x))), n.resultShape(1)));
}

void lowerPrelu(Node &n) {
  HloBuilder &b = n.b;
  Value x = operand(n), weight = n.in("weight", HloBuilder::elementOf(x));
  int64_t rank = HloBuilder::rankOf(x), count = HloBuilder::countOf(weight);
  if (n.declares("weight") && n.target().starts_with("aten.prelu") && count != 1) {
    if (rank < 2 || HloBuilder::shapeOf(x)[1] != count)
      return n.fail("argument 'weight' is not one number a channel");
    weight = b.broadcastInDim(b.reshape(weight, {count}), HloBuilder::shapeOf(x), {1});
  } else if (count == 1) {
    weight = b.reshape(weight, {});
  }
  if (fitTogether(n, {x, weight}))
    n.out(b.select(b.greater(x, b.like(x, 0)), x, b.multiply(x, weight)));
}

void lowerRrelu(Node &n) {
  HloBuilder &b = n.b;
  Value x = operand(n);
  double lower = n.scalar("lower").real(), upper = n.scalar("upper").real();
  if (n.flag("training") && lower != upper && HloBuilder::countOf(x) != 0)
    return n.never("argument 'training' is true: its slopes are random");
  Value below = b.multiply(x, b.like(x, (lower + upper) / 2));
  Value result = b.select(b.greaterEqual(x, b.like(x, 0)), x, below);
  n.out(result);
}

void lowerGelu(Node &n) {
  std::string approximate = n.text("approximate", "none");
  if (approximate != "none" && approximate != "tanh")
    return n.fail("argument 'approximate' is '" + approximate + "', not none or tanh");
  bool tanh = approximate == "tanh";
  Type compute = n.computeType(n.element("self")), element = n.element("self");
  auto formula = [&](HloBuilder &b, ValueRange v) -> SmallVector<Value> {
    Value x = b.convert(v[0], compute), half = b.like(x, 0.5), one = b.like(x, 1);
    Value inner;
    if (tanh) {
      Value cube = b.multiply(x, b.multiply(x, x));
      Value sum = b.add(x, b.multiply(b.like(x, 0.044715), cube));
      inner = b.tanh(b.multiply(b.like(x, std::numbers::sqrt2 * std::numbers::inv_sqrtpi), sum));
    } else {
      inner = b.unary<chlo::ErfOp>(b.multiply(x, b.like(x, 1 / std::numbers::sqrt2)));
    }
    return {b.convert(b.multiply(b.multiply(half, x), b.add(one, inner)), element)};
  };
  if (!n.composites())
    return n.out(formula(n.b, {n.in("self")})[0]);
  DictionaryAttr attributes;
  OpBuilder &ops = n.b.builder();
  if (tanh)
    attributes = ops.getDictionaryAttr(ops.getNamedAttr("approximate", ops.getStringAttr("tanh")));
  n.out(n.b.composite(tanh ? "tenstorrent.gelu_tanh" : "tenstorrent.gelu", {n.in("self")},
                      attributes, formula)[0]);
}

/// softmax with and without logarithm. The result's type is the type of computation where a dtype
/// is given.
template <Value (*build)(HloBuilder &, Value, int64_t)>
void lowerSoftmax(Node &n, StringRef composite) {
  HloBuilder &b = n.b;
  Value x = n.in("self");
  Type type = n.resultElement();
  if (n.failed())
    return;
  x = cast(b, x, type);
  Type compute = n.computeType(type);
  int64_t rank = HloBuilder::rankOf(x), dim = n.dim("dim", rank);
  if (n.failed())
    return;
  if (HloBuilder::countOf(x) == 0)
    return n.out(x);
  Dims shape(HloBuilder::shapeOf(x));
  if (rank == 0)
    x = b.reshape(x, {1});
  auto formula = [&](HloBuilder &inner, ValueRange v) -> SmallVector<Value> {
    return {inner.convert(build(inner, inner.convert(v[0], compute), dim), type)};
  };
  if (!n.composites())
    return n.out(b.reshape(formula(b, {x})[0], shape));
  OpBuilder &ops = b.builder();
  auto attributes = ops.getDictionaryAttr(ops.getNamedAttr("axis", ops.getI64IntegerAttr(dim)));
  n.out(b.reshape(b.composite(composite, {x}, attributes, formula)[0], shape));
}
void lowerSoftmaxPlain(Node &n) { lowerSoftmax<softmax>(n, "cupel.softmax"); }
void lowerLogSoftmax(Node &n) { lowerSoftmax<logSoftmax>(n, "cupel.log_softmax"); }

/// Rows where everything is masked out are zero.
void lowerSafeSoftmax(Node &n) {
  HloBuilder &b = n.b;
  Type type = n.computeType(n.resultElement());
  Value x = n.in("self", type);
  int64_t rank = HloBuilder::rankOf(x), dim = n.dim("dim", rank);
  if (n.failed())
    return;
  if (HloBuilder::countOf(x) == 0)
    return n.out(x);
  if (rank == 0)
    x = b.reshape(x, {1});
  Value masked = b.equal(x, b.lowest(type, HloBuilder::shapeOf(x)));
  Value all = b.reduce(masked, {dim}, Fold::And, true);
  Value result = b.select(all, b.like(x, 0), softmax(b, x, dim));
  n.out(b.reshape(result, n.resultShape()));
}

void lowerMaskedSoftmax(Node &n) {
  HloBuilder &b = n.b;
  Type type = n.computeType(n.resultElement());
  Value x = n.in("self", type), mask = n.in("mask", b.i1());
  if (n.has("mask_type") && n.integer("mask_type") != 2)
    return n.notYet("argument 'mask_type' is not 2");
  int64_t rank = HloBuilder::rankOf(x);
  int64_t dim = n.has("dim") ? n.dim("dim", rank) : rank - 1;
  if (!fitTogether(n, {x, mask}) || rank == 0)
    return;
  x = b.select(mask, b.lowest(type, HloBuilder::shapeOf(x)), x);
  n.out(softmax(b, x, dim));
}

/// Drops nothing outside training or with probability 0, everything with probability 1.
void lowerDropout(Node &n) {
  HloBuilder &b = n.b;
  StringRef input = n.declares("self") ? "self" : "input";
  bool train = n.declares("train") && n.has("train") && n.flag("train");
  if (n.target().starts_with("aten.native_dropout") && !n.has("train"))
    train = true;
  double p = n.real("p");
  Value x = n.in(input);
  if (train && p != 0 && p != 1 && HloBuilder::countOf(x) != 0)
    return n.never("argument 'train' is true: it drops at random");
  bool all = train && p == 1;
  n.out(0, all ? b.multiply(x, b.like(x, 0)) : x);
  if (n.outputCount() > 1)
    n.out(1, b.splatInteger(all ? 0 : 1, b.i1(), HloBuilder::shapeOf(x)));
}

Value softsign(HloBuilder &b, Value x) { return b.divide(x, b.add(b.abs(x), b.like(x, 1))); }

} // namespace

void registerActivations(OpTable &table) {
  table.add("aten.relu", sameUnary<relu>);
  table.add("aten.relu6", sameUnary<relu6>);
  table.add("aten.leaky_relu", lowerLeakyRelu);
  table.add("aten.elu", lowerElu);
  table.add("aten.celu", lowerCelu);
  table.add("aten.selu", sameUnary<selu>);
  table.add("aten.silu", sameUnary<silu>);
  table.add("aten.mish", sameUnary<mish>);
  table.add("aten.softsign", sameUnary<softsign>);
  table.add("aten.hardsigmoid", sameUnary<sixth>);
  table.add("aten.hardswish", sameUnary<hardSwish>);
  table.add("aten.hardtanh", lowerHardtanh);
  table.add("aten.hardshrink", lowerHardshrink);
  table.add("aten.softshrink", lowerSoftshrink);
  table.add("aten.softplus", lowerSoftplus);
  table.add("aten.threshold", lowerThreshold);
  table.add("aten.glu", lowerGlu);
  table.add("aten.log_sigmoid", sameUnary<logSigmoid>);
  table.add("aten.log_sigmoid_forward", lowerLogSigmoidForward);
  table.add("aten.prelu", lowerPrelu);
  table.add("aten._prelu_kernel", lowerPrelu);
  for (const char *name :
       {"aten.rrelu", "aten.rrelu_with_noise", "aten.rrelu_with_noise_functional"})
    table.add(name, lowerRrelu);
  table.add("aten.gelu", lowerGelu);
  for (const char *name : {"aten.softmax", "aten._softmax", "aten.special_softmax"})
    table.add(name, lowerSoftmaxPlain);
  for (const char *name : {"aten.log_softmax", "aten._log_softmax", "aten.special_log_softmax"})
    table.add(name, lowerLogSoftmax);
  table.add("aten._safe_softmax", lowerSafeSoftmax);
  table.add("aten._masked_softmax", lowerMaskedSoftmax);
  for (const char *name : {"aten.dropout", "aten.feature_dropout", "aten.alpha_dropout",
                           "aten.feature_alpha_dropout", "aten.native_dropout"})
    table.add(name, lowerDropout);
}

} // namespace cupel::frontends::torch_import
