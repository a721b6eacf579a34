// Losses of predictions against targets.

#include "cupel/frontends/math/Activations.h"
#include "cupel/frontends/torch/ops/Elementwise.h"
#include "cupel/frontends/torch/ops/Reductions.h"
#include "cupel/frontends/torch/ops/Shapes.h"

#include <cmath>
#include <limits>
#include <numbers>

namespace cupel::frontends::torch_import {

using namespace mlir;

namespace {

void outLoss(Node &n, Value loss) { n.out(reduceLoss(n.b, loss, n.integer("reduction", 1))); }

/// A loss of `self` against `target`, element by element.
/// Losses that torch composes of operators (`composed`) round narrow floats after each step.
template <Value (*formula)(Node &, Value, Value), bool composed = false> void elementLoss(Node &n) {
  Type type = n.promote({"self", "target"});
  if (!composed)
    type = n.computeType(type);
  Value x = n.in("self", type), y = n.in("target", type);
  if (!fitTogether(n, {x, y}))
    return;
  std::tie(x, y) = n.b.broadcastPair(x, y);
  Value loss = formula(n, x, y);
  if (!n.failed())
    outLoss(n, loss);
}

Value absolute(Node &n, Value x, Value y) { return n.b.abs(n.b.subtract(x, y)); }
Value squared(Node &n, Value x, Value y) { return n.b.square(n.b.subtract(x, y)); }

Value smoothAbsolute(Node &n, Value x, Value y) {
  HloBuilder &b = n.b;
  double beta = n.real("beta", 1);
  Value gap = b.abs(b.subtract(x, y));
  if (beta == 0)
    return gap;
  Value curve = b.divide(b.multiply(b.like(gap, 0.5), b.square(gap)), b.like(gap, beta));
  return b.select(b.less(gap, b.like(gap, beta)), curve, b.subtract(gap, b.like(gap, beta / 2)));
}

Value huber(Node &n, Value x, Value y) {
  HloBuilder &b = n.b;
  double delta = n.real("delta", 1);
  Value gap = b.abs(b.subtract(x, y));
  Value curve = b.multiply(b.like(gap, 0.5), b.square(gap));
  Value line = b.multiply(b.like(gap, delta), b.subtract(gap, b.like(gap, delta / 2)));
  return b.select(b.lessEqual(gap, b.like(gap, delta)), curve, line);
}

Value softMargin(Node &n, Value x, Value y) {
  return log1p(n.b, n.b.exp(n.b.negate(n.b.multiply(y, x))));
}

Value divergence(Node &n, Value x, Value y) {
  HloBuilder &b = n.b;
  if (n.flag("log_target"))
    return b.multiply(b.exp(y), b.subtract(y, x));
  return b.subtract(xlogy(b, y, y), b.multiply(y, x));
}

Value hinge(Node &n, Value x, Value y) {
  HloBuilder &b = n.b;
  Value zero = b.like(x, 0), one = b.like(x, 1);
  Value margin = b.maximum(b.subtract(b.like(x, n.real("margin", 1)), x), zero);
  return b.add(b.select(b.equal(y, one), zero, margin),
               b.select(b.equal(y, b.like(y, -1)), zero, x));
}

Value weighted(Node &n, Value loss) {
  if (!n.has("weight"))
    return loss;
  Value weight = n.in("weight", HloBuilder::elementOf(loss));
  return fitTogether(n, {loss, weight}) ? n.b.multiply(loss, weight) : loss;
}

Value binaryCrossEntropy(Node &n, Value x, Value y) {
  HloBuilder &b = n.b;
  // Logarithms are kept above -100.
  Value floor = b.like(x, -100), one = b.like(x, 1);
  Value yes = b.maximum(b.log(x), floor), no = b.maximum(log1p(b, b.negate(x)), floor);
  return weighted(n, b.subtract(b.multiply(b.subtract(y, one), no), b.multiply(y, yes)));
}

Value binaryCrossEntropyWithLogits(Node &n, Value x, Value y) {
  HloBuilder &b = n.b;
  Value one = b.like(x, 1);
  Value tail = b.add(log1p(b, b.exp(b.negate(b.abs(x)))), b.maximum(b.negate(x), b.like(x, 0)));
  Value plain = b.multiply(b.subtract(one, y), x);
  if (n.has("pos_weight")) {
    Value weight = n.in("pos_weight", HloBuilder::elementOf(x));
    if (!fitTogether(n, {weight, x}))
      return x;
    Value more = b.subtract(weight, b.like(weight, 1));
    tail = b.multiply(b.add(b.multiply(more, y), one), tail);
  }
  return weighted(n, b.add(plain, tail));
}

Value poisson(Node &n, Value x, Value y) {
  HloBuilder &b = n.b;
  Value loss = n.flag("log_input")
                   ? b.subtract(b.exp(x), b.multiply(y, x))
                   : b.subtract(x, b.multiply(y, b.log(b.add(x, b.like(x, n.real("eps"))))));
  if (n.flag("full")) {
    // Stirling's approximation of log(y!).
    Value half = b.multiply(b.like(y, 0.5), b.log(b.multiply(b.like(y, 2 * std::numbers::pi), y)));
    Value stirling = b.add(b.subtract(b.multiply(y, b.log(y)), y), half);
    loss = b.add(loss, b.select(b.lessEqual(y, b.like(y, 1)), b.like(y, 0), stirling));
  }
  return loss;
}

void lowerPoisson(Node &n) {
  Type type = n.promoteToFloat({"input", "target"});
  Value x = n.in("input", type), y = n.in("target", type);
  if (!fitTogether(n, {x, y}))
    return;
  std::tie(x, y) = n.b.broadcastPair(x, y);
  outLoss(n, poisson(n, x, y));
}

void lowerMarginRanking(Node &n) {
  HloBuilder &b = n.b;
  Type type = n.promote({"input1", "input2", "target"});
  Value x = n.in("input1", type), y = n.in("input2", type), target = n.in("target", type);
  if (!fitTogether(n, {x, y, target}))
    return;
  Value gap = b.multiply(b.negate(target), b.subtract(x, y));
  gap = b.add(gap, b.like(gap, n.real("margin")));
  outLoss(n, b.maximum(gap, b.like(gap, 0)));
}

//===----------------------------------------------------------------------===//
// Class targets
//===----------------------------------------------------------------------===//

/// Negative log likelihood of classes: logProbabilities [N, C, ...] or [C], targets [N, ...] or [].
struct Likelihood {
  Value loss;   ///< Of each target, already weighted.
  Value weight; ///< Of each target; 0 where ignored.
};

std::optional<Likelihood> likelihood(Node &n, Value x, Value target, Value weight,
                                     int64_t ignored) {
  HloBuilder &b = n.b;
  int64_t rank = HloBuilder::rankOf(x), dim = rank == 1 ? 0 : 1;
  if (rank == 0 || HloBuilder::rankOf(target) != rank - 1) {
    n.fail("arguments 'self' and 'target' do not fit");
    return std::nullopt;
  }
  int64_t classes = HloBuilder::shapeOf(x)[dim];
  Dims shape(HloBuilder::shapeOf(x));
  shape.erase(shape.begin() + dim);
  if (ArrayRef<int64_t>(shape) != HloBuilder::shapeOf(target)) {
    n.fail("arguments 'self' and 'target' do not fit");
    return std::nullopt;
  }
  Type type = HloBuilder::elementOf(x);
  Value skip = b.equal(target, b.splatInteger(ignored, b.i64(), shape));
  Value zero = b.splat(0, type, shape);
  if (HloBuilder::countOf(target) == 0)
    return Likelihood{zero, zero};
  Value safe = b.select(skip, b.like(target, 0), target);
  Value picked = b.reshape(b.takeAlong(x, b.unsqueeze(safe, dim), dim), shape);
  Value each = b.splat(1, type, shape);
  if (weight) {
    if (HloBuilder::countOf(weight) != classes) {
      n.fail("argument 'weight' is not one number a class");
      return std::nullopt;
    }
    each = b.take(b.reshape(weight, {classes}), safe, 0);
  }
  each = b.select(skip, zero, each);
  Value loss = b.select(skip, zero, b.negate(b.multiply(picked, each)));
  return Likelihood{loss, each};
}

Value weightOf(Node &n, Type type) { return n.has("weight") ? n.in("weight", type) : Value(); }

/// nll_loss in its forms; the forward ones also return the total weight.
void lowerNll(Node &n) {
  HloBuilder &b = n.b;
  Type type = n.computeType(n.element("self"));
  Value x = n.in("self", type), target = n.in("target", b.i64());
  int64_t reduction = n.integer("reduction", 1);
  if (n.failed())
    return;
  auto found = likelihood(n, x, target, weightOf(n, type), n.integer("ignore_index", -100));
  if (!found)
    return;
  Dims all = dimsFrom(0, HloBuilder::rankOf(found->loss));
  Value total = b.reduce(found->weight, all, Fold::Add);
  Value loss = found->loss;
  if (reduction != 0)
    loss = b.reduce(loss, all, Fold::Add);
  if (reduction == 1)
    loss = b.divide(loss, total);
  n.out(0, loss);
  if (n.outputCount() > 1) // Without a reduction torch leaves it zero.
    n.out(1, b.reshape(reduction == 0 ? b.splat(0, type) : total, n.resultShape(1)));
}

/// Cross entropy of scores x [N, C, ...] or [C]: against classes, or probabilities of x's shape.
void crossEntropy(Node &n, Value x, StringRef targetName, int64_t reduction) {
  HloBuilder &b = n.b;
  Type type = HloBuilder::elementOf(x);
  int64_t rank = HloBuilder::rankOf(x), dim = rank == 1 ? 0 : 1;
  double smoothing = n.declares("label_smoothing") ? n.real("label_smoothing") : 0;
  if (n.failed())
    return;
  if (rank == 0)
    return n.fail("its scores have no classes");
  int64_t classes = HloBuilder::shapeOf(x)[dim];
  Value logs = logSoftmax(b, x, dim), weight = weightOf(n, type);
  Value wide;
  if (weight) {
    if (HloBuilder::countOf(weight) != classes)
      return n.fail("argument 'weight' is not one number a class");
    wide = b.broadcastInDim(b.reshape(weight, {classes}), HloBuilder::shapeOf(x), {dim});
  }
  if (n.shape(targetName) == HloBuilder::shapeOf(x) && HloBuilder::isFloat(n.in(targetName))) {
    // Probabilities.
    Value target = n.in(targetName, type);
    if (smoothing > 0)
      target = b.add(b.multiply(target, b.like(target, 1 - smoothing)),
                     b.like(target, smoothing / double(classes)));
    Value products = b.multiply(logs, target);
    if (wide)
      products = b.multiply(products, wide);
    Value loss = b.negate(b.reduce(products, {dim}, Fold::Add));
    // By the number of targets, not of weights.
    return n.out(reduceLoss(b, loss, reduction));
  }
  Value target = n.in(targetName, b.i64());
  int64_t ignored = n.integer("ignore_index", -100);
  auto found = likelihood(n, logs, target, weight, ignored);
  if (!found)
    return;
  Dims all = dimsFrom(0, rank - 1);
  Value loss = found->loss, total = b.reduce(found->weight, all, Fold::Add);
  auto reduced = [&](Value value) {
    if (reduction == 0)
      return value;
    value = b.reduce(value, all, Fold::Add);
    return reduction == 1 ? b.divide(value, total) : value;
  };
  Value result = reduced(loss);
  if (smoothing > 0) {
    Value smooth = b.negate(b.reduce(wide ? b.multiply(logs, wide) : logs, {dim}, Fold::Add));
    Value skip = b.equal(target, b.splatInteger(ignored, b.i64(), HloBuilder::shapeOf(target)));
    smooth = b.select(skip, b.like(smooth, 0), smooth);
    Value part = reduced(smooth);
    result = b.add(b.multiply(result, b.like(result, 1 - smoothing)),
                   b.multiply(part, b.like(part, smoothing / double(classes))));
  }
  n.out(result);
}

void lowerCrossEntropy(Node &n) {
  Type type = n.computeType(n.element("self"));
  crossEntropy(n, n.in("self", type), "target", n.integer("reduction", 1));
}

/// The scores are a product that torch takes in pieces, to save memory; gradients come along where
/// they are asked for.
void lowerLinearCrossEntropy(Node &n) {
  HloBuilder &b = n.b;
  for (StringRef name :
       {"compute_input_grad", "compute_linear_weight_grad", "compute_linear_bias_grad"})
    if (n.declares(name) && n.flag(name))
      return n.notYet("argument '" + name.str() + "' is true");
  Type type = n.computeType(n.element("input"));
  Value x = n.in("input", type), weight = n.in("linear_weight", type);
  if (n.failed())
    return;
  if (HloBuilder::rankOf(x) != 2 || HloBuilder::rankOf(weight) != 2 ||
      HloBuilder::shapeOf(x)[1] != HloBuilder::shapeOf(weight)[1])
    return n.notYet("arguments 'input' and 'linear_weight' that are no matrices that fit");
  Value scores = b.dotGeneral(x, weight, {}, {}, {1}, {1});
  if (n.has("linear_bias")) {
    Value bias = n.in("linear_bias", type);
    if (!fitTogether(n, {scores, bias}))
      return;
    scores = b.add(scores, bias);
  }
  std::string reduction = n.declares("reduction") ? n.text("reduction", "mean") : "none";
  crossEntropy(n, scores, "target", reduction == "mean" ? 1 : reduction == "sum" ? 2 : 0);
  for (size_t i = 1; i < n.outputCount(); ++i)
    emptyResult(n, i);
}

/// Margins between the target's score and the others'.
void lowerMultiMargin(Node &n) {
  HloBuilder &b = n.b;
  Type type = n.computeType(n.element("self"));
  Value x = n.in("self", type), target = flatten(b, n.in("target", b.i64()));
  double p = n.scalar("p").real(), margin = n.scalar("margin").real();
  int64_t reduction = n.integer("reduction", 1);
  if (n.failed())
    return;
  bool single = HloBuilder::rankOf(x) < 2;
  if (single)
    x = b.reshape(x, {1, HloBuilder::countOf(x)});
  int64_t rows = HloBuilder::shapeOf(x)[0], classes = HloBuilder::shapeOf(x)[1];
  if (HloBuilder::rankOf(x) != 2 || HloBuilder::countOf(target) != rows || classes == 0)
    return n.fail("arguments 'self' and 'target' do not fit");
  Value own = b.takeAlong(x, b.reshape(target, {rows, 1}), 1);
  Value gap = b.add(b.subtract(b.like(x, margin), own), x);
  Value cost = b.maximum(gap, b.like(gap, 0));
  if (p == 2)
    cost = b.square(cost);
  else if (p != 1)
    return n.fail("argument 'p' is neither 1 nor 2");
  if (n.has("weight")) {
    Value each = b.take(n.in("weight", type), target, 0);
    cost = b.multiply(cost, b.reshape(each, {rows, 1}));
  }
  Value self = b.equal(b.iota({rows, classes}, 1, b.i64()), b.reshape(target, {rows, 1}));
  cost = b.select(self, b.like(cost, 0), cost);
  Value loss = b.reduce(cost, {1}, Fold::Add);
  loss = b.divide(loss, b.like(loss, double(classes)));
  loss = reduceLoss(b, loss, reduction);
  n.out(b.reshape(loss, n.resultShape()));
}

/// Targets are class numbers up to the first -1.
void lowerMultilabelMargin(Node &n) {
  HloBuilder &b = n.b;
  Type type = n.computeType(n.element("self"));
  Value x = n.in("self", type), target = n.in("target", b.i64());
  int64_t reduction = n.integer("reduction", 1);
  if (n.failed())
    return;
  Dims given(HloBuilder::shapeOf(target));
  if (HloBuilder::rankOf(x) < 2) {
    x = b.reshape(x, {1, HloBuilder::countOf(x)});
    target = b.reshape(target, {1, HloBuilder::countOf(target)});
  }
  if (HloBuilder::rankOf(x) != 2 || HloBuilder::shapeOf(x) != HloBuilder::shapeOf(target))
    return n.fail("arguments 'self' and 'target' differ in shape");
  int64_t rows = HloBuilder::shapeOf(x)[0], classes = HloBuilder::shapeOf(x)[1];
  Value ended = cumulative(b, b.convert(b.less(target, b.like(target, 0)), b.i64()), 1, Fold::Add);
  Value valid = b.equal(ended, b.like(ended, 0));
  Value safe = b.select(valid, target, b.like(target, 0));
  // isTarget[n, c]: some valid target of row n names c.
  Value names = b.equal(b.unsqueeze(safe, 2), b.iota({1, 1, classes}, 2, b.i64()));
  Value isTarget = b.reduce(b.logicalAnd(names, b.unsqueeze(valid, 2)), {1}, Fold::Or);
  Value scores = b.takeAlong(x, safe, 1);
  Value gap = b.add(b.subtract(b.splat(1, type), b.unsqueeze(scores, 2)), b.unsqueeze(x, 1));
  Value cost = b.maximum(gap, b.like(gap, 0));
  Value counts = b.logicalAnd(b.unsqueeze(valid, 2), b.logicalNot(b.unsqueeze(isTarget, 1)));
  cost = b.select(counts, cost, b.like(cost, 0));
  Value loss = b.reduce(cost, {1, 2}, Fold::Add);
  loss = b.divide(loss, b.like(loss, double(classes)));
  loss = reduceLoss(b, loss, reduction);
  (void)rows;
  n.out(0, b.reshape(loss, n.resultShape(0)));
  if (n.outputCount() > 1)
    n.out(1, b.reshape(b.convert(isTarget, type), given));
}

//===----------------------------------------------------------------------===//
// Gradients of margins
//===----------------------------------------------------------------------===//

/// The gradient of each row's loss, [rows, 1], over what a row's sum was divided by; of a mean also
/// over the number of rows.
std::optional<Value> rowGradient(Node &n, Type type, int64_t rows, int64_t classes) {
  HloBuilder &b = n.b;
  Value g = n.in("grad_output", type);
  int64_t reduction = n.integer("reduction", 1), count = HloBuilder::countOf(g);
  if (n.failed())
    return std::nullopt;
  if (count != 1 && (reduction != 0 || count != rows)) {
    n.fail("the gradient does not fit the loss");
    return std::nullopt;
  }
  double share = 1 / double(std::max<int64_t>(classes * (reduction == 1 ? rows : 1), 1));
  g = count == 1 ? b.broadcastTo(b.reshape(g, {1, 1}), {rows, 1}) : b.reshape(g, {rows, 1});
  return b.multiply(g, b.like(g, share));
}

void lowerMultiMarginBackward(Node &n) {
  HloBuilder &b = n.b;
  Type type = n.computeType(n.resultElement());
  Value x = n.in("self", type), target = flatten(b, n.in("target", b.i64()));
  double p = n.scalar("p").real(), margin = n.scalar("margin").real();
  if (n.failed())
    return;
  if (HloBuilder::rankOf(x) < 2)
    x = b.reshape(x, {1, HloBuilder::countOf(x)});
  int64_t rows = HloBuilder::shapeOf(x)[0], classes = HloBuilder::shapeOf(x)[1];
  if (HloBuilder::rankOf(x) != 2 || HloBuilder::countOf(target) != rows || classes == 0)
    return n.fail("arguments 'self' and 'target' do not fit");
  if (p != 1 && p != 2)
    return n.fail("argument 'p' is neither 1 nor 2");
  std::optional<Value> g = rowGradient(n, type, rows, classes);
  if (!g)
    return;
  Value at = b.reshape(target, {rows, 1});
  Value gap = b.add(b.subtract(b.like(x, margin), b.takeAlong(x, at, 1)), x);
  Value slope = p == 1 ? b.like(gap, 1) : b.add(gap, gap);
  if (n.has("weight"))
    slope = b.multiply(slope, b.reshape(b.take(n.in("weight", type), target, 0), {rows, 1}));
  Value self = b.equal(b.iota({rows, classes}, 1, b.i64()), at);
  Value counts = b.logicalAnd(b.greater(gap, b.like(gap, 0)), b.logicalNot(self));
  slope = b.select(counts, b.multiply(slope, *g), b.like(slope, 0));
  Value own = b.negate(b.reduce(slope, {1}, Fold::Add, true));
  n.out(b.reshape(b.select(self, b.broadcastTo(own, {rows, classes}), slope), n.resultShape()));
}

void lowerMultilabelMarginBackward(Node &n) {
  HloBuilder &b = n.b;
  Type type = n.computeType(n.resultElement());
  Value x = n.in("self", type), target = n.in("target", b.i64()), hit = n.in("is_target", type);
  if (n.failed())
    return;
  if (HloBuilder::rankOf(x) < 2) {
    x = b.reshape(x, {1, HloBuilder::countOf(x)});
    target = b.reshape(target, {1, HloBuilder::countOf(target)});
  }
  if (HloBuilder::rankOf(x) != 2 || HloBuilder::shapeOf(x) != HloBuilder::shapeOf(target) ||
      HloBuilder::countOf(hit) != HloBuilder::countOf(x))
    return n.fail("arguments 'self', 'target' and 'is_target' do not fit");
  int64_t rows = HloBuilder::shapeOf(x)[0], classes = HloBuilder::shapeOf(x)[1];
  std::optional<Value> g = rowGradient(n, type, rows, classes);
  if (!g)
    return;
  hit = b.reshape(hit, {rows, classes});
  Value ended = cumulative(b, b.convert(b.less(target, b.like(target, 0)), b.i64()), 1, Fold::Add);
  Value valid = b.equal(ended, b.like(ended, 0));
  Value safe = b.select(valid, target, b.like(target, 0));
  // counts[n, k, c]: target k of row n is not far enough above class c, which is none.
  Value gap = b.add(b.subtract(b.splat(1, type), b.unsqueeze(b.takeAlong(x, safe, 1), 2)),
                    b.unsqueeze(x, 1));
  Value other = b.unsqueeze(b.equal(hit, b.like(hit, 0)), 1);
  Value counts =
      b.logicalAnd(b.greater(gap, b.like(gap, 0)), b.logicalAnd(b.unsqueeze(valid, 2), other));
  Value ones = b.convert(counts, type);
  Value up = b.reduce(ones, {1}, Fold::Add), down = b.reduce(ones, {2}, Fold::Add);
  Value y = b.subtract(up, b.scatterAlong(b.like(up, 0), safe, down, 1, Fold::Add));
  n.out(b.reshape(b.multiply(y, *g), n.resultShape()));
}

} // namespace

void registerLosses(OpTable &table) {
  table.add("aten.l1_loss", elementLoss<absolute>);
  table.add("aten.mse_loss", elementLoss<squared>);
  table.add("aten.smooth_l1_loss", elementLoss<smoothAbsolute>);
  table.add("aten.huber_loss", elementLoss<huber>);
  table.add("aten.soft_margin_loss", elementLoss<softMargin>);
  table.add("aten.kl_div", elementLoss<divergence, true>);
  table.add("aten.hinge_embedding_loss", elementLoss<hinge, true>);
  table.add("aten.binary_cross_entropy", elementLoss<binaryCrossEntropy>);
  table.add("aten.binary_cross_entropy_with_logits", elementLoss<binaryCrossEntropyWithLogits>);
  table.add("aten.poisson_nll_loss", lowerPoisson);
  table.add("aten.margin_ranking_loss", lowerMarginRanking);
  for (const char *name : {"aten.nll_loss", "aten.nll_loss2d", "aten.nll_loss_nd",
                           "aten.nll_loss_forward", "aten.nll_loss2d_forward"})
    table.add(name, lowerNll);
  table.add("aten.cross_entropy_loss", lowerCrossEntropy);
  table.add("torch_nn._linear_cross_entropy_batch_chunked", lowerLinearCrossEntropy);
  table.add("torch_nn._linear_cross_entropy_batch_chunked_no_reduction", lowerLinearCrossEntropy);
  table.add("aten.multi_margin_loss", lowerMultiMargin);
  table.add("aten.multilabel_margin_loss", lowerMultilabelMargin);
  table.add("aten.multilabel_margin_loss_forward", lowerMultilabelMargin);
  table.add("aten.multi_margin_loss_backward", lowerMultiMarginBackward);
  table.add("aten.multilabel_margin_loss_backward", lowerMultilabelMarginBackward);
}

} // namespace cupel::frontends::torch_import
