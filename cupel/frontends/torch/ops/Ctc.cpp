// Connectionist temporal classification: the loss, its table of forward probabilities, and the
// gradient from that table. A path runs through the target with blanks between (`states`); all of a
// batch is computed at once, step by step.

#include "cupel/frontends/torch/ops/Elementwise.h"
#include "cupel/frontends/torch/ops/Reductions.h"
#include "cupel/frontends/torch/ops/Shapes.h"

namespace cupel::frontends::torch_import {

using namespace mlir;

namespace {

Value logAdd(HloBuilder &b, ArrayRef<Value> values) {
  Value top = values[0];
  for (Value value : values.drop_front())
    top = b.maximum(top, value);
  // Of nothing but -inf the result is -inf.
  Value finite = b.unary<stablehlo::IsFiniteOp>(top, b.i1());
  Value moved = b.select(finite, top, b.like(top, 0)), total;
  for (Value value : values) {
    Value e = b.exp(b.subtract(value, moved));
    total = total ? b.add(total, e) : e;
  }
  return b.add(b.log(total), moved);
}

/// One call, as tables over [batch, states].
class Paths {
public:
  /// Nothing where the node has complained.
  static std::optional<Paths> of(Node &n);

  /// Probabilities of all beginnings that end in a state, after each step; from the last step of an
  /// input on they stay.
  SmallVector<Value> forward() const;
  /// Probabilities of all endings that begin in a state, with that state's own score; -inf after
  /// the last step of an input.
  SmallVector<Value> backward() const;
  /// The loss from the last table.
  Value loss(Value alpha) const;
  /// For each step and class how probable it is that a path is there: [steps, batch, classes].
  Value occupancy(ArrayRef<Value> alphas, ArrayRef<Value> betas, Value loss) const;
  /// Whether step t of each input is there, [batch, 1].
  Value isActive(int64_t t, int64_t ahead = 0) const {
    return b.less(b.splatInteger(t + ahead, b.i64()), b.reshape(inputLengths, {batch, 1}));
  }

  HloBuilder &b;
  Type type;
  Value logs; ///< [steps, batch, classes]
  Value inputLengths, targetLengths;
  int64_t steps = 0, batch = 0, states = 0;

private:
  explicit Paths(HloBuilder &b) : b(b) {}
  Value step(int64_t t) const {
    return b.reshape(b.sliceDim(scores, 0, t, t + 1), {batch, states});
  }
  /// State s is what was state s - `by`.
  Value shifted(Value v, int64_t by) const { return b.pad(v, b.lowest(type), {0, by}, {0, -by}); }
  Value impossible() const { return b.lowest(type, {batch, states}); }
  /// The last state of each target, [batch].
  Value lastState() const { return b.multiply(targetLengths, b.like(targetLengths, 2)); }

  Value labels; ///< Of states.
  Value skips;  ///< Whether a state may follow the one two before.
  Value scores; ///< [steps, batch, states]
};

std::optional<Paths> Paths::of(Node &n) {
  HloBuilder &b = n.b;
  Paths p(b);
  p.type = n.computeType(n.element("log_probs"));
  p.logs = n.in("log_probs", p.type);
  Value targets = n.in("targets", b.i64());
  int64_t blank = n.integer("blank");
  auto lengths = [&](StringRef name) -> std::optional<Dims> {
    if (!n.isTensor(name))
      return n.integers(name);
    return knownIntegers(n, name);
  };
  if (n.failed())
    return std::nullopt;
  auto fail = [&](const char *message) {
    n.fail(message);
    return std::nullopt;
  };
  bool batched = HloBuilder::rankOf(p.logs) == 3;
  if (!batched)
    p.logs = b.unsqueeze(p.logs, 1);
  if (HloBuilder::rankOf(p.logs) != 3)
    return fail("argument 'log_probs' has neither two nor three dimensions");
  int64_t steps = p.steps = HloBuilder::shapeOf(p.logs)[0];
  int64_t batch = p.batch = HloBuilder::shapeOf(p.logs)[1];
  for (StringRef name : {"input_lengths", "target_lengths"})
    if ((n.isTensor(name) ? HloBuilder::countOf(n.in(name)) : int64_t(n.integers(name).size())) !=
        batch)
      return fail("its lengths are not one a batch");
  auto lengthValues = [&](StringRef name) {
    return n.isTensor(name) ? b.reshape(n.in(name, b.i64()), {batch})
                            : b.integers(n.integers(name));
  };
  p.inputLengths = lengthValues("input_lengths");
  p.targetLengths = lengthValues("target_lengths");
  if (n.failed())
    return std::nullopt;
  // Targets as [batch, longest].
  int64_t longest;
  if (HloBuilder::rankOf(targets) == 1 && (batched || batch != 1)) {
    // All targets one after another: how long the longest is must be known, or may be bounded.
    auto known = lengths("target_lengths");
    longest = HloBuilder::countOf(targets);
    if (longest == 0) {
      n.notYet("argument 'targets' is empty");
      return std::nullopt;
    }
    if (known && !known->empty())
      longest = std::min(longest, *std::max_element(known->begin(), known->end()));
    longest = std::max<int64_t>(longest, 1);
    Value ends = cumulative(b, p.targetLengths, 0, Fold::Add);
    Value begins = b.reshape(b.subtract(ends, p.targetLengths), {batch, 1});
    Value at = b.add(begins, b.iota({batch, longest}, 1, b.i64()));
    at = b.minimum(
        at, b.splatInteger(HloBuilder::countOf(targets) - 1, b.i64(), HloBuilder::shapeOf(at)));
    targets = b.take(targets, at, 0);
  } else {
    if (HloBuilder::rankOf(targets) == 1)
      targets = b.unsqueeze(targets, 0);
    longest = HloBuilder::rankOf(targets) == 2 ? HloBuilder::shapeOf(targets)[1] : 0;
  }
  if (longest == 0 || steps == 0 || HloBuilder::shapeOf(targets)[0] != batch) {
    n.notYet("argument 'targets' is empty or does not fit");
    return std::nullopt;
  }
  int64_t states = p.states = 2 * longest + 1;
  // Blank, target, blank, target, ..., blank.
  Value blanks = b.splatInteger(blank, b.i64(), {batch, longest, 1});
  Value pairs =
      b.reshape(b.concatenate({blanks, b.unsqueeze(targets, 2)}, 2), {batch, 2 * longest});
  p.labels = b.concatenate({pairs, b.splatInteger(blank, b.i64(), {batch, 1})}, 1);
  // A label may follow the one two before if it is none of blank and repetition.
  Value later = b.sliceDim(p.labels, 1, 2, states),
        earlier = b.sliceDim(p.labels, 1, 0, states - 2);
  Value may =
      b.logicalAnd(b.notEqual(later, b.splatInteger(blank, b.i64())), b.notEqual(later, earlier));
  p.skips = b.concatenate({b.splatInteger(0, b.i1(), {batch, 2}), may}, 1);
  Value index = b.broadcastTo(b.unsqueeze(p.labels, 0), {steps, batch, states});
  p.scores = b.takeAlong(p.logs, index, 2);
  return p;
}

SmallVector<Value> Paths::forward() const {
  Value state = b.iota({batch, states}, 1, b.i64());
  Value begin = b.less(state, b.splatInteger(2, b.i64()));
  SmallVector<Value> alphas{b.select(begin, step(0), impossible())};
  for (int64_t t = 1; t < steps; ++t) {
    Value alpha = alphas.back();
    Value jumped = b.select(skips, shifted(alpha, 2), impossible());
    Value next = b.add(logAdd(b, {alpha, shifted(alpha, 1), jumped}), step(t));
    alphas.push_back(b.select(isActive(t), next, alpha));
  }
  return alphas;
}

SmallVector<Value> Paths::backward() const {
  Value state = b.iota({batch, states}, 1, b.i64());
  Value last = b.broadcastTo(b.reshape(lastState(), {batch, 1}), {batch, states});
  // Paths end in the last blank or in the label before it.
  Value isEnd = b.logicalAnd(b.lessEqual(state, last),
                             b.greaterEqual(state, b.subtract(last, b.like(last, 1))));
  SmallVector<Value> betas(steps);
  Value beta = impossible();
  for (int64_t t = steps - 1; t >= 0; --t) {
    Value jumped = shifted(b.select(skips, beta, impossible()), -2);
    Value inner = b.add(logAdd(b, {beta, shifted(beta, -1), jumped}), step(t));
    Value end = b.select(isEnd, step(t), impossible());
    beta = b.select(isActive(t, 1), inner, b.select(isActive(t), end, impossible()));
    betas[t] = beta;
  }
  return betas;
}

Value Paths::loss(Value alpha) const {
  Value last = lastState();
  auto at = [&](Value index) {
    return b.reshape(b.takeAlong(alpha, b.reshape(index, {batch, 1}), 1), {batch});
  };
  Value before = b.maximum(b.subtract(last, b.like(last, 1)), b.like(last, 0));
  Value empty = b.equal(targetLengths, b.like(targetLengths, 0));
  Value other = b.select(empty, b.lowest(type, {batch}), at(before));
  return b.negate(logAdd(b, {at(last), other}));
}

Value Paths::occupancy(ArrayRef<Value> alphas, ArrayRef<Value> betas, Value loss) const {
  Value whole = b.reshape(loss, {batch, 1}), state = b.iota({batch, states}, 1, b.i64());
  Value isState =
      b.lessEqual(state, b.broadcastTo(b.reshape(lastState(), {batch, 1}), {batch, states}));
  SmallVector<Value> shares;
  for (int64_t t = 0; t < steps; ++t) {
    // Both tables have the state's own score in them. What a table holds for states and steps that
    // are not there may be anything.
    Value path = b.subtract(b.add(alphas[t], betas[t]), step(t));
    Value share = b.exp(b.add(path, whole));
    Value there = b.logicalAnd(isState, b.broadcastTo(isActive(t), {batch, states}));
    shares.push_back(b.unsqueeze(b.select(there, share, b.like(share, 0)), 0));
  }
  Value index = b.broadcastTo(b.unsqueeze(labels, 0), {steps, batch, states});
  return b.scatterAlong(b.like(logs, 0), index, b.concatenate(shares, 0), 2, Fold::Add);
}

/// A table of [batch, steps, states] with as many states as somebody else counts.
Value withStates(HloBuilder &b, Value table, int64_t states) {
  int64_t more = states - HloBuilder::shapeOf(table)[2];
  return b.pad(table, b.lowest(HloBuilder::elementOf(table)), {0, 0, 0}, {0, 0, more});
}

void lowerCtc(Node &n) {
  HloBuilder &b = n.b;
  std::optional<Paths> paths = Paths::of(n);
  if (!paths)
    return;
  SmallVector<Value> alphas = paths->forward();
  Value loss = paths->loss(alphas.back());
  if (n.target().starts_with("aten._ctc_loss")) { // Its infinities are for the gradient to see.
    n.out(0, b.reshape(loss, n.resultShape(0)));
    if (!n.wants(1))
      return;
    ArrayRef<int64_t> shape = n.resultShape(1);
    if (shape.size() < 2 || shape[shape.size() - 2] != paths->steps)
      return n.fail("its second result does not have one row a step");
    SmallVector<Value> rows;
    for (Value alpha : alphas)
      rows.push_back(b.unsqueeze(alpha, 1));
    n.out(1, b.reshape(withStates(b, b.concatenate(rows, 1), shape.back()), shape));
    return;
  }
  if (n.flag("zero_infinity"))
    loss = b.select(isInfinite(b, loss), b.like(loss, 0), loss);
  int64_t reduction = n.integer("reduction", 1);
  if (reduction == 1) { // Each by the length of its target.
    Value lengths = paths->targetLengths;
    loss = b.divide(loss, b.convert(b.maximum(lengths, b.like(lengths, 1)), paths->type));
  }
  n.out(b.reshape(reduceLoss(b, loss, reduction), n.resultShape()));
}

/// A class's probability less how probable it is that a path is there.
void lowerCtcBackward(Node &n) {
  HloBuilder &b = n.b;
  std::optional<Paths> paths = Paths::of(n);
  if (!paths)
    return;
  const Paths &p = *paths;
  Value g = n.in("grad", p.type), loss = n.in("neg_log_likelihood", p.type),
        table = n.in("log_alpha", p.type);
  if (n.failed())
    return;
  if (HloBuilder::rankOf(table) == 2)
    table = b.unsqueeze(table, 0);
  if (HloBuilder::rankOf(table) != 3 || HloBuilder::shapeOf(table)[0] != p.batch ||
      HloBuilder::shapeOf(table)[1] != p.steps || HloBuilder::countOf(loss) != p.batch ||
      (HloBuilder::countOf(g) != p.batch && HloBuilder::countOf(g) != 1))
    return n.fail("grad, neg_log_likelihood and log_alpha do not fit log_probs");
  table = withStates(b, table, p.states);
  loss = b.reshape(loss, {p.batch});
  SmallVector<Value> alphas;
  for (int64_t t = 0; t < p.steps; ++t)
    alphas.push_back(b.reshape(b.sliceDim(table, 1, t, t + 1), {p.batch, p.states}));
  Value y = b.subtract(b.exp(p.logs), p.occupancy(alphas, p.backward(), loss));
  ArrayRef<int64_t> shape = HloBuilder::shapeOf(p.logs);
  g = HloBuilder::countOf(g) == p.batch ? b.reshape(g, {p.batch})
                                        : b.broadcastTo(b.reshape(g, {1}), {p.batch});
  y = b.multiply(y, b.broadcastInDim(g, shape, {1}));
  Value at = b.iota(shape, 0, b.i64());
  Value counts = b.less(at, b.broadcastInDim(p.inputLengths, shape, {1}));
  if (n.flag("zero_infinity"))
    counts = b.logicalAnd(counts, b.broadcastInDim(b.logicalNot(isInfinite(b, loss)), shape, {1}));
  n.out(b.reshape(b.select(counts, y, b.like(y, 0)), n.resultShape()));
}

} // namespace

void registerCtc(OpTable &table) {
  table.add("aten.ctc_loss", lowerCtc);
  table.add("aten._ctc_loss", lowerCtc);
  table.add("aten._ctc_loss_backward", lowerCtcBackward);
}

} // namespace cupel::frontends::torch_import
