// Activations, the softmax family, and dropout where it drops nothing.

#include "cupel/frontends/math/Activations.h"
#include "cupel/frontends/torch/ops/Elementwise.h"

namespace cupel::frontends::torch_import {

using namespace mlir;

namespace {

/// The operand in the type of computation; NaN stays NaN in all that follows.
Value operand(Node &n) { return n.in("self", n.computeType(n.element("self"))); }

Value relu6(HloBuilder &b, Value x) { return b.clamp(b.like(x, 0), x, b.like(x, 6)); }
Value silu(HloBuilder &b, Value x) {
  if (HloBuilder::isComplex(x))
    return b.divide(x, b.add(b.like(x, 1), b.exp(b.negate(x))));
  return b.multiply(x, b.logistic(x));
}
Value sixth(HloBuilder &b, Value x) {
  Value moved = b.add(x, b.like(x, 3));
  return b.divide(b.clamp(b.like(x, 0), moved, b.like(x, 6)), b.like(x, 6));
}
Value selu(HloBuilder &b, Value x) {
  return elu(b, x, 1.6732632423543772848170429916717, 1.0507009873554804934193349852946);
}

void lowerLeakyRelu(Node &n) {
  n.out(leakyRelu(n.b, operand(n), n.scalar("negative_slope").real()));
}

void lowerElu(Node &n) {
  HloBuilder &b = n.b;
  Value x = operand(n);
  double alpha = n.scalar("alpha").real(), scale = n.scalar("scale").real(),
         inputScale = n.scalar("input_scale").real();
  if (inputScale == 1)
    return n.out(elu(b, x, alpha, scale));
  Value below =
      b.multiply(expm1(b, b.multiply(x, b.like(x, inputScale))), b.like(x, alpha * scale));
  n.out(b.select(b.greater(x, b.like(x, 0)), b.multiply(x, b.like(x, scale)), below));
}

void lowerCelu(Node &n) { n.out(celu(n.b, operand(n), n.scalar("alpha").real())); }

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
    return n.refuse(ErrorCode::Random, "argument 'training' is true: its slopes are random");
  Value below = b.multiply(x, b.like(x, (lower + upper) / 2));
  Value result = b.select(b.greaterEqual(x, b.like(x, 0)), x, below);
  n.out(result);
}

void lowerGelu(Node &n) {
  std::string approximate = n.text("approximate", "none");
  if (approximate != "none" && approximate != "tanh")
    return n.fail("argument 'approximate' is '" + approximate + "', not none or tanh");
  n.out(gelu(n.b, n.in("self"), approximate == "tanh", n.computeType(n.element("self"))));
}

/// softmax with and without logarithm. The result's type is the type of computation where a dtype
/// is given.
template <bool logarithm> void lowerSoftmax(Node &n) {
  Type type = n.resultElement();
  Value x = n.in("self");
  int64_t dim = n.dim("dim", HloBuilder::rankOf(x));
  if (n.failed())
    return;
  x = cast(n.b, x, type);
  n.out(HloBuilder::countOf(x) ? softmaxLayer(n.b, x, dim, logarithm, n.computeType(type)) : x);
}

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
  n.out(b.reshape(safeSoftmax(b, x, dim), n.resultShape()));
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
    return n.refuse(ErrorCode::Random, "argument 'train' is true: it drops at random");
  bool all = train && p == 1;
  n.out(0, all ? b.multiply(x, b.like(x, 0)) : x);
  if (n.outputCount() > 1)
    n.out(1, b.splatInteger(all ? 0 : 1, b.i1(), HloBuilder::shapeOf(x)));
}

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
    table.add(name, lowerSoftmax<false>);
  for (const char *name : {"aten.log_softmax", "aten._log_softmax", "aten.special_log_softmax"})
    table.add(name, lowerSoftmax<true>);
  table.add("aten._safe_softmax", lowerSafeSoftmax);
  table.add("aten._masked_softmax", lowerMaskedSoftmax);
  for (const char *name : {"aten.dropout", "aten.feature_dropout", "aten.alpha_dropout",
                           "aten.feature_alpha_dropout", "aten.native_dropout"})
    table.add(name, lowerDropout);
}

} // namespace cupel::frontends::torch_import
