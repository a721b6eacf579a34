// Gradients of activations, losses and views that AOTAutograd puts into training graphs. Those of
// convolutions, pooling, normalization and interpolation stand with what they are gradients of.

#include "cupel/frontends/math/Activations.h"
#include "cupel/frontends/torch/ops/Algebra.h"
#include "cupel/ir/chlo/Chlo.h"

#include <cmath>
#include <numbers>

namespace cupel::frontends::torch_import {

using namespace mlir;

namespace {

using H = HloBuilder;

//===----------------------------------------------------------------------===//
// Activations: gradient and one tensor
//===----------------------------------------------------------------------===//

using Formula = Value (*)(Node &, HloBuilder &, Value gradient, Value x);

/// The tensor is called self, output or self_or_result.
template <Formula formula> void pointwise(Node &n) {
  StringRef gradient = n.declares("grad_output") ? "grad_output" : "grad_out";
  StringRef name = n.declares("self") ? "self" : n.declares("output") ? "output" : "self_or_result";
  Type type = n.computeType(n.resultElement());
  Value g = n.in(gradient, type), x = n.in(name, type);
  if (n.failed() || !H::broadcastShape(H::shapeOf(g), H::shapeOf(x)))
    return n.fail("the gradient does not fit");
  n.out(formula(n, n.b, g, x));
}

double number(Node &n, StringRef name) { return n.scalar(name).real(); }

Value zeroUnless(HloBuilder &b, Value condition, Value x) {
  return b.select(condition, x, b.like(x, 0));
}

/// Formulas are written in g, x and `c`, a number like x.
#define CUPEL_C(value) b.like(x, value)

Value sigmoidGradient(Node &, HloBuilder &b, Value g, Value x) {
  Value y = conjugate(b, x);
  return b.multiply(g, b.multiply(b.subtract(CUPEL_C(1), y), y));
}

Value tanhGradient(Node &, HloBuilder &b, Value g, Value x) {
  Value y = conjugate(b, x);
  return b.multiply(g, b.subtract(CUPEL_C(1), b.multiply(y, y)));
}

Value thresholdGradient(Node &n, HloBuilder &b, Value g, Value x) {
  return b.select(b.lessEqual(x, CUPEL_C(number(n, "threshold"))), b.like(g, 0), g);
}

Value geluGradient(Node &n, HloBuilder &b, Value g, Value x) {
  Value half = CUPEL_C(0.5), one = CUPEL_C(1);
  if (n.text("approximate", "none") == "tanh") {
    double beta = std::numbers::sqrt2 * std::numbers::inv_sqrtpi, kappa = 0.044715;
    Value square = b.square(x);
    Value inner =
        b.multiply(CUPEL_C(beta), b.add(x, b.multiply(CUPEL_C(kappa), b.multiply(square, x))));
    Value t = b.tanh(inner);
    Value left = b.multiply(half, b.add(one, t));
    Value slope = b.multiply(CUPEL_C(beta), b.add(one, b.multiply(CUPEL_C(3 * kappa), square)));
    Value right = b.multiply(b.multiply(b.multiply(half, x), b.subtract(one, b.square(t))), slope);
    return b.multiply(g, b.add(left, right));
  }
  Value cdf = b.multiply(
      half, b.add(one, b.unary<chlo::ErfOp>(b.multiply(x, CUPEL_C(1 / std::numbers::sqrt2)))));
  Value pdf = b.multiply(b.exp(b.multiply(b.square(x), CUPEL_C(-0.5))),
                         CUPEL_C(std::numbers::inv_sqrtpi / std::numbers::sqrt2));
  return b.multiply(g, b.add(cdf, b.multiply(x, pdf)));
}

Value siluGradient(Node &, HloBuilder &b, Value g, Value x) {
  Value s = b.logistic(x), one = CUPEL_C(1);
  return b.multiply(g, b.multiply(s, b.add(one, b.multiply(x, b.subtract(one, s)))));
}

Value mishGradient(Node &, HloBuilder &b, Value g, Value x) {
  Value s = b.logistic(x), t = tanhOfSoftplus(b, x);
  return b.multiply(g, b.add(t, b.multiply(x, b.multiply(s, b.subtract(CUPEL_C(1), b.square(t))))));
}

Value logSigmoidGradient(Node &, HloBuilder &b, Value g, Value x) {
  return b.multiply(g, b.logistic(b.negate(x)));
}

Value softplusGradient(Node &n, HloBuilder &b, Value g, Value x) {
  Value z = b.multiply(x, CUPEL_C(number(n, "beta")));
  return b.select(b.greater(z, CUPEL_C(number(n, "threshold"))), g, b.multiply(g, b.logistic(z)));
}

Value softshrinkGradient(Node &n, HloBuilder &b, Value g, Value x) {
  double l = number(n, "lambd");
  Value small = b.logicalAnd(b.greaterEqual(x, CUPEL_C(-l)), b.lessEqual(x, CUPEL_C(l)));
  return b.select(small, b.like(g, 0), g);
}

Value hardtanhGradient(Node &n, HloBuilder &b, Value g, Value x) {
  Value outside = b.logicalOr(b.lessEqual(x, CUPEL_C(number(n, "min_val"))),
                              b.greaterEqual(x, CUPEL_C(number(n, "max_val"))));
  return b.select(outside, b.like(g, 0), g);
}

Value hardsigmoidGradient(Node &, HloBuilder &b, Value g, Value x) {
  Value inner = b.logicalAnd(b.greater(x, CUPEL_C(-3)), b.less(x, CUPEL_C(3)));
  return zeroUnless(b, inner, b.multiply(g, b.like(g, 1.0 / 6)));
}

Value hardswishGradient(Node &, HloBuilder &b, Value g, Value x) {
  Value slope = b.add(b.multiply(x, CUPEL_C(1.0 / 3)), CUPEL_C(0.5));
  Value middle = b.select(b.lessEqual(x, CUPEL_C(3)), b.multiply(g, slope), g);
  return b.select(b.less(x, CUPEL_C(-3)), b.like(middle, 0), middle);
}

Value leakyGradient(Node &n, HloBuilder &b, Value g, Value x) {
  return b.select(b.greater(x, CUPEL_C(0)), g,
                  b.multiply(g, b.like(g, number(n, "negative_slope"))));
}

Value eluGradient(Node &n, HloBuilder &b, Value g, Value x) {
  double alpha = number(n, "alpha"), scale = number(n, "scale"), in = number(n, "input_scale");
  Value low;
  if (n.flag("is_result"))
    low = b.multiply(b.multiply(g, CUPEL_C(in)), b.add(x, CUPEL_C(alpha * scale)));
  else
    low = b.multiply(b.multiply(g, CUPEL_C(in * alpha * scale)), b.exp(b.multiply(x, CUPEL_C(in))));
  return b.select(b.lessEqual(x, CUPEL_C(0)), low, b.multiply(g, CUPEL_C(scale)));
}

Value logitGradient(Node &n, HloBuilder &b, Value g, Value x) {
  Value slope = b.divide(g, b.multiply(x, b.subtract(CUPEL_C(1), x)));
  bool has = n.has("eps");
  double eps = has ? n.real("eps") : 0;
  Value inside = b.logicalAnd(b.greaterEqual(x, CUPEL_C(eps)), b.lessEqual(x, CUPEL_C(1 - eps)));
  return b.select(inside, slope, b.like(slope, has ? 0 : std::numeric_limits<double>::quiet_NaN()));
}

#undef CUPEL_C

void lowerRreluBackward(Node &n) {
  HloBuilder &b = n.b;
  Type type = n.computeType(n.resultElement());
  Value g = n.in("grad_output", type), x = n.in("self", type);
  double low = number(n, "lower"), high = number(n, "upper");
  if (n.flag("training") && high - low > 1e-6)
    return n.out(b.multiply(g, n.in("noise", type)));
  n.out(b.select(b.greater(x, b.like(x, 0)), g, b.multiply(g, b.like(g, (low + high) / 2))));
}

void lowerPreluBackward(Node &n) {
  HloBuilder &b = n.b;
  Type type = n.computeType(n.resultElement());
  Value g = n.in("grad_output", type), x = n.in("self", type), w = n.in("weight", type);
  Value positive = b.greater(x, b.like(x, 0));
  n.out(0, b.select(positive, g, b.multiply(w, g)));
  n.out(1, b.select(positive, b.like(g, 0), b.multiply(x, g)));
}

void lowerGluBackward(Node &n) {
  HloBuilder &b = n.b;
  Type type = n.computeType(n.resultElement());
  Value g = n.in("grad_output", type), x = n.in("self", type);
  int64_t dimension = n.dim("dim", H::rankOf(x));
  if (n.failed() || H::shapeOf(x)[dimension] % 2)
    return n.fail("dim cannot be halved");
  int64_t half = H::shapeOf(x)[dimension] / 2;
  Value a = b.sliceDim(x, dimension, 0, half),
        s = b.logistic(b.sliceDim(x, dimension, half, 2 * half));
  Value left = b.multiply(g, s);
  Value right = b.multiply(b.multiply(left, a), b.subtract(b.like(s, 1), s));
  n.out(b.concatenate({left, right}, dimension));
}

void lowerSoftmaxBackward(Node &n, bool logarithm) {
  HloBuilder &b = n.b;
  Type type = n.computeType(n.element("output"));
  Value g = n.in("grad_output", type), y = n.in("output", type);
  int64_t rank = H::rankOf(y), dimension = n.dim("dim", rank);
  if (n.failed())
    return;
  Dims dims;
  if (rank)
    dims.push_back(dimension);
  if (logarithm)
    return n.out(b.subtract(g, b.multiply(b.exp(y), b.reduce(g, dims, Fold::Add, true))));
  Value product = b.multiply(g, y);
  n.out(b.subtract(product, b.multiply(y, b.reduce(product, dims, Fold::Add, true))));
}

void lowerDropoutBackward(Node &n) {
  HloBuilder &b = n.b;
  Type type = n.computeType(n.resultElement());
  Value g = n.in("grad_output", type);
  Value kept = b.multiply(g, n.in("mask", type));
  n.out(b.multiply(kept, b.like(kept, n.real("scale"))));
}

//===----------------------------------------------------------------------===//
// Losses
//===----------------------------------------------------------------------===//

enum Reduction { None = 0, Mean = 1, Sum = 2 };

using LossFormula = Value (*)(Node &, HloBuilder &, Value x, Value target);

/// Slope times the gradient, over the count if the loss was a mean.
template <LossFormula formula> void lossBackward(Node &n) {
  HloBuilder &b = n.b;
  Type type = n.computeType(n.resultElement());
  Value g = n.in("grad_output", type), x = n.in("self", type), target = n.in("target", type);
  if (n.failed() || !H::broadcastShape(H::shapeOf(x), H::shapeOf(target)))
    return n.fail("self and target do not fit each other");
  Value slope = formula(n, b, x, target);
  if (n.declares("weight") && n.has("weight"))
    slope = b.multiply(slope, n.in("weight", type));
  if (n.integer("reduction", Mean) == Mean)
    slope = b.multiply(slope, b.like(slope, 1 / double(std::max<int64_t>(H::countOf(slope), 1))));
  n.out(b.multiply(slope, g));
}

Value mseSlope(Node &, HloBuilder &b, Value x, Value t) {
  Value d = b.subtract(x, t);
  return b.add(d, d);
}

Value l1Slope(Node &, HloBuilder &b, Value x, Value t) {
  return b.unary<stablehlo::SignOp>(b.subtract(x, t));
}

Value smoothSlope(Node &n, HloBuilder &b, Value x, Value t) {
  double beta = n.real("beta");
  Value d = b.subtract(x, t), sign = b.unary<stablehlo::SignOp>(d);
  if (beta == 0)
    return sign;
  return b.select(b.less(b.abs(d), b.like(d, beta)), b.divide(d, b.like(d, beta)), sign);
}

Value huberSlope(Node &n, HloBuilder &b, Value x, Value t) {
  double delta = n.real("delta");
  Value d = b.subtract(x, t);
  return b.clamp(b.like(d, -delta), d, b.like(d, delta));
}

Value softMarginSlope(Node &, HloBuilder &b, Value x, Value t) {
  Value z = b.exp(b.negate(b.multiply(t, x)));
  return b.divide(b.multiply(b.negate(t), z), b.add(z, b.like(z, 1)));
}

Value crossEntropySlope(Node &, HloBuilder &b, Value x, Value t) {
  Value product = b.multiply(b.subtract(b.like(x, 1), x), x);
  return b.divide(b.subtract(x, t), b.maximum(product, b.like(product, 1e-12)));
}

/// -weight of the target class, where a target counts at all.
void lowerNllBackward(Node &n) {
  HloBuilder &b = n.b;
  Type type = n.computeType(n.resultElement());
  Value g = n.in("grad_output", type), target = n.in("target");
  ArrayRef<int64_t> shape = n.shape("self");
  int64_t reduction = n.integer("reduction"), ignored = n.integer("ignore_index");
  if (n.failed() || shape.empty())
    return n.fail("self has no classes");
  int64_t rank = shape.size(), classAt = rank == 1 ? 0 : 1;
  Value wide = rank == 1 ? b.reshape(target, {1}) : b.unsqueeze(target, 1);
  Value hit = b.equal(b.iota(shape, classAt, H::elementOf(target)), b.broadcastTo(wide, shape));
  Value counts =
      b.notEqual(target, b.splatInteger(ignored, H::elementOf(target), H::shapeOf(target)));
  Value per = b.convert(counts, type);
  if (n.has("weight")) {
    Value safe = b.select(counts, target, b.like(target, 0));
    per = b.multiply(per, b.take(n.in("weight", type), safe, 0));
  }
  if (reduction == None)
    per = b.multiply(per, g);
  else
    per = b.multiply(per, reduction == Mean ? b.divide(g, n.in("total_weight", type)) : g);
  Value spread = rank == 1 ? b.reshape(per, {1}) : b.unsqueeze(per, 1);
  n.out(zeroUnless(b, hit, b.broadcastTo(b.negate(spread), shape)));
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

void lowerSelectBackward(Node &n) {
  HloBuilder &b = n.b;
  Value g = n.in("grad_output");
  Dims sizes = n.integers("input_sizes");
  int64_t rank = sizes.size(), dimension = n.dim("dim", rank), index = n.integer("index");
  if (n.failed() || dimension >= rank || H::rankOf(g) != rank - 1)
    return n.fail("the gradient does not fit input_sizes");
  if (index < 0)
    index += sizes[dimension];
  if (index < 0 || index >= sizes[dimension])
    return n.fail("index lies outside");
  Dims low(rank, 0), high = low;
  low[dimension] = index;
  high[dimension] = sizes[dimension] - index - 1;
  n.out(b.pad(b.unsqueeze(g, dimension), b.splat(0, H::elementOf(g)), low, high));
}

void lowerSliceBackward(Node &n) {
  HloBuilder &b = n.b;
  Value g = n.in("grad_output");
  Dims sizes = n.integers("input_sizes");
  int64_t rank = sizes.size(), dimension = n.dim("dim", rank), start = n.integer("start"),
          step = n.integer("step", 1);
  if (n.failed() || H::rankOf(g) != rank || step < 1 || dimension >= rank)
    return n.fail("the gradient does not fit input_sizes");
  int64_t size = sizes[dimension], count = H::shapeOf(g)[dimension];
  if (start < 0)
    start += size;
  start = std::clamp<int64_t>(start, 0, size);
  int64_t reach = count ? (count - 1) * step + 1 : 0;
  if (isEmpty(g))
    return n.out(b.splat(0, H::elementOf(g), sizes));
  Dims low(rank, 0), high = low, inner = low;
  low[dimension] = start;
  high[dimension] = size - start - reach;
  inner[dimension] = step - 1;
  n.out(b.pad(g, b.splat(0, H::elementOf(g)), low, high, inner));
}

void lowerDiagonalBackward(Node &n) {
  HloBuilder &b = n.b;
  Value g = n.in("grad_output");
  Dims sizes = n.integers("input_sizes");
  int64_t rank = sizes.size(), first = n.dim("dim1", rank), second = n.dim("dim2", rank),
          offset = n.integer("offset");
  if (n.failed() || rank < 2)
    return n.fail("input_sizes has no diagonal");
  if (isEmpty(g))
    return n.out(b.splat(0, H::elementOf(g), sizes));
  // The gradient's last dimension runs along the diagonal: it is put where rows meet columns.
  Dims order, shape;
  for (int64_t i = 0; i < rank; ++i)
    if (i != first && i != second) {
      order.push_back(i);
      shape.push_back(sizes[i]);
    }
  int64_t outer = shape.size(), count = H::shapeOf(g).back();
  shape.append({sizes[first], sizes[second]});
  Dims low(outer + 1, 0), high = low;
  // Rows down to where the diagonal begins, and after it.
  int64_t down = std::max<int64_t>(-offset, 0);
  low[outer] = down;
  high[outer] = sizes[first] - down - count;
  Value rows = b.pad(g, b.splat(0, H::elementOf(g)), low, high);
  Dims dims = dimsFrom(0, outer + 1);
  Value wide = b.broadcastInDim(rows, shape, dims);
  Value r = b.iota(shape, outer, b.i64()), c = b.iota(shape, outer + 1, b.i64());
  Value on = b.equal(b.subtract(c, r), b.splatInteger(offset, b.i64(), shape));
  Value placed = zeroUnless(b, on, wide);
  order.append({first, second});
  Dims back(rank, 0);
  for (auto [i, from] : llvm::enumerate(order))
    back[from] = i;
  n.out(b.transpose(placed, back));
}

void lowerUnfoldBackward(Node &n) {
  HloBuilder &b = n.b;
  Type type = n.computeType(n.resultElement());
  Value g = n.in("grad_in", type);
  Dims sizes = n.integers("input_sizes");
  int64_t rank = sizes.size(), dimension = n.dim("dim", std::max<int64_t>(rank, 1)),
          size = n.integer("size"), step = n.integer("step");
  if (n.failed() || H::rankOf(g) != rank + 1 || dimension >= rank || step < 1)
    return n.fail("the gradient does not fit input_sizes");
  Value zero = b.splat(0, type), sum = b.splat(0, type, sizes);
  int64_t windows = H::shapeOf(g)[dimension];
  for (int64_t k = 0; k < size && windows; ++k) {
    Dims low(rank, 0), high = low, inner = low;
    low[dimension] = k;
    inner[dimension] = step - 1;
    high[dimension] = sizes[dimension] - k - ((windows - 1) * step + 1);
    Dims shape(H::shapeOf(g).drop_back());
    Value piece = b.reshape(b.sliceDim(g, rank, k, k + 1), shape);
    sum = b.add(sum, b.pad(piece, zero, low, high, inner));
  }
  n.out(sum);
}

void lowerTraceBackward(Node &n) {
  HloBuilder &b = n.b;
  Value g = n.in("grad");
  Dims sizes = n.integers("sizes");
  if (n.failed() || sizes.size() != 2)
    return n.fail("sizes should be those of a matrix");
  n.out(b.multiply(identityMatrix(b, sizes, H::elementOf(g)), b.reshape(g, {})));
}

void lowerValueSelectingBackward(Node &n) {
  HloBuilder &b = n.b;
  Value g = n.in("grad"), indices = n.in("indices");
  Dims sizes = n.integers("sizes");
  int64_t rank = sizes.size(), dimension = n.dim("dim", rank);
  if (n.failed())
    return;
  if (rank == 0)
    return n.out(g);
  if (!n.flag("keepdim")) {
    g = b.unsqueeze(g, dimension);
    indices = b.unsqueeze(indices, dimension);
  }
  n.out(b.scatterAlong(b.splat(0, H::elementOf(g), sizes), indices, g, dimension, std::nullopt));
}

void lowerIndexSelectBackward(Node &n) {
  HloBuilder &b = n.b;
  Type type = n.computeType(n.resultElement());
  Value g = n.in("grad", type), index = n.in("index");
  Dims sizes = n.integers("self_sizes");
  int64_t rank = sizes.size(), dimension = n.dim("dim", rank);
  if (n.failed() || rank == 0 || isEmpty(g))
    return n.out(b.splat(0, type, sizes));
  Value wide = b.broadcastInDim(b.reshape(index, {H::countOf(index)}), H::shapeOf(g), {dimension});
  n.out(b.scatterAlong(b.splat(0, type, sizes), wide, g, dimension, Fold::Add));
}

void lowerLinearBackward(Node &n) {
  HloBuilder &b = n.b;
  Type type = n.computeType(n.element("self"));
  Value x = n.in("self", type), g = n.in("grad_output", type), w = n.in("weight", type);
  SmallVector<bool> mask = n.flags("output_mask");
  mask.resize(3, true);
  if (n.failed() || H::rankOf(w) != 2)
    return n.fail("the weight should be a matrix");
  Dims outer = dimsFrom(0, H::rankOf(x) - 1);
  if (mask[0])
    n.out(0, b.dotGeneral(g, w, {}, {}, {H::rankOf(g) - 1}, {0}));
  if (mask[1])
    n.out(1, b.dotGeneral(g, x, {}, {}, outer, outer));
  if (mask[2])
    n.out(2, b.reduce(g, outer, Fold::Add));
}

//===----------------------------------------------------------------------===//
// Padding and distances
//===----------------------------------------------------------------------===//

/// Every element of the padded tensor goes back to where it was copied from.
template <bool reflects> void lowerPadBackward(Node &n) {
  HloBuilder &b = n.b;
  Type type = n.computeType(n.resultElement());
  Value x = n.in("grad_output", type);
  Dims padding = n.integers("padding");
  ArrayRef<int64_t> shape = n.resultShape();
  int64_t rank = shape.size(), padded = int64_t(padding.size()) / 2;
  if (n.failed() || H::rankOf(x) != rank || padded > rank || padding.size() % 2)
    return n.fail("the gradient does not fit the padding");
  if (isEmpty(x) || n.resultType().getNumElements() == 0)
    return n.out(b.splat(0, type, shape));
  for (int64_t k = 0; k < padded; ++k) { // The last dimension comes first.
    int64_t at = rank - 1 - k, in = shape[at], low = padding[2 * k], out = H::shapeOf(x)[at];
    if (out != in + low + padding[2 * k + 1])
      return n.fail("the gradient does not fit the padding");
    std::vector<double> sources(in * out, 0);
    for (int64_t i = 0; i < out; ++i) {
      int64_t from = i - low;
      if (reflects)
        from = from < 0 ? -from : from >= in ? 2 * (in - 1) - from : from;
      sources[i * in + std::clamp<int64_t>(from, 0, in - 1)] = 1;
    }
    x = applyMatrix(b, x, at, out, in, sources, true);
  }
  n.out(x);
}

/// How a p-distance changes with the first of two points, times `gradient`; all of one shape.
Value distanceSlope(HloBuilder &b, Value gradient, Value difference, Value distance, double p) {
  Value zero = b.like(difference, 0), sign = b.unary<stablehlo::SignOp>(difference);
  if (p == 0)
    return zero;
  if (p == 1)
    return b.multiply(gradient, sign);
  Value size = b.abs(difference);
  if (std::isinf(p))
    return b.select(b.equal(size, distance), b.multiply(gradient, sign), zero);
  Value nothing = b.equal(distance, zero);
  if (p < 1)
    nothing = b.logicalOr(nothing, b.equal(difference, zero));
  Value safe = b.select(nothing, b.like(distance, 1), distance), slope;
  if (p == 2)
    slope = b.divide(difference, safe);
  else
    slope = b.multiply(sign, b.power(b.divide(b.select(nothing, b.like(size, 1), size), safe),
                                     b.like(size, p - 1)));
  return b.select(nothing, zero, b.multiply(gradient, slope));
}

void lowerCdistBackward(Node &n) {
  HloBuilder &b = n.b;
  Type type = n.computeType(n.resultElement());
  Value g = n.in("grad", type), x = n.in("x1", type), y = n.in("x2", type), d = n.in("cdist", type);
  if (n.failed() || H::rankOf(x) < 2 || H::rankOf(y) < 2 || H::shapeOf(g) != H::shapeOf(d))
    return n.fail("grad, x1, x2 and cdist do not fit each other");
  if (isEmpty(g) || isEmpty(x))
    return n.out(b.splat(0, type, n.resultShape()));
  Value difference = b.subtract(b.unsqueeze(x, H::rankOf(x) - 1), b.unsqueeze(y, H::rankOf(y) - 2));
  ArrayRef<int64_t> shape = H::shapeOf(difference);
  int64_t last = H::rankOf(d);
  if (H::shapeOf(d) != shape.drop_back())
    return n.fail("grad, x1, x2 and cdist do not fit each other");
  auto wide = [&](Value v) { return b.broadcastTo(b.unsqueeze(v, last), shape); };
  Value slope = distanceSlope(b, wide(g), difference, wide(d), n.real("p", 2));
  n.out(b.reduce(slope, {last - 1}, Fold::Add));
}

void lowerPdistBackward(Node &n) {
  HloBuilder &b = n.b;
  Type type = n.computeType(n.resultElement());
  Value g = n.in("grad", type), x = n.in("self", type), d = n.in("pdist", type);
  if (n.failed() || H::rankOf(x) != 2)
    return n.fail("takes a matrix");
  int64_t rows = H::shapeOf(x)[0], pairs = rows * (rows - 1) / 2;
  if (H::countOf(g) != pairs || H::countOf(d) != pairs)
    return n.fail("grad, self and pdist do not fit each other");
  Dims first, second;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = i + 1; j < rows; ++j) {
      first.push_back(i);
      second.push_back(j);
    }
  if (!pairs || isEmpty(x))
    return n.out(b.splat(0, type, n.resultShape()));
  Value at = b.integers(first), other = b.integers(second);
  Value difference = b.subtract(b.take(x, at, 0), b.take(x, other, 0));
  auto wide = [&](Value v) {
    return b.broadcastTo(b.reshape(v, {pairs, 1}), H::shapeOf(difference));
  };
  Value slope = distanceSlope(b, wide(g), difference, wide(d), n.real("p", 2));
  Value sum = b.scatterNd(b.like(x, 0), b.reshape(at, {pairs, 1}), slope, Fold::Add);
  n.out(b.scatterNd(sum, b.reshape(other, {pairs, 1}), b.negate(slope), Fold::Add));
}

} // namespace

void registerBackward(OpTable &table) {
  table.add("aten.sigmoid_backward", pointwise<sigmoidGradient>);
  table.add("aten.tanh_backward", pointwise<tanhGradient>);
  table.add("aten.threshold_backward", pointwise<thresholdGradient>);
  table.add("aten.gelu_backward", pointwise<geluGradient>);
  table.add("aten.silu_backward", pointwise<siluGradient>);
  table.add("aten.mish_backward", pointwise<mishGradient>);
  table.add("aten.log_sigmoid_backward", pointwise<logSigmoidGradient>);
  table.add("aten.softplus_backward", pointwise<softplusGradient>);
  table.add("aten.softshrink_backward", pointwise<softshrinkGradient>);
  table.add("aten.hardshrink_backward", pointwise<softshrinkGradient>);
  table.add("aten.hardtanh_backward", pointwise<hardtanhGradient>);
  table.add("aten.hardsigmoid_backward", pointwise<hardsigmoidGradient>);
  table.add("aten.hardswish_backward", pointwise<hardswishGradient>);
  table.add("aten.leaky_relu_backward", pointwise<leakyGradient>);
  table.add("aten.elu_backward", pointwise<eluGradient>);
  table.add("aten.logit_backward", pointwise<logitGradient>);
  table.add("aten.rrelu_with_noise_backward", lowerRreluBackward);
  table.add("aten._prelu_kernel_backward", lowerPreluBackward);
  table.add("aten.glu_backward", lowerGluBackward);
  table.add("aten._softmax_backward_data", [](Node &n) { lowerSoftmaxBackward(n, false); });
  table.add("aten._log_softmax_backward_data", [](Node &n) { lowerSoftmaxBackward(n, true); });
  table.add("aten.native_dropout_backward", lowerDropoutBackward);
  table.add("aten.mse_loss_backward", lossBackward<mseSlope>);
  table.add("aten.l1_loss_backward", lossBackward<l1Slope>);
  table.add("aten.smooth_l1_loss_backward", lossBackward<smoothSlope>);
  table.add("aten.huber_loss_backward", lossBackward<huberSlope>);
  table.add("aten.soft_margin_loss_backward", lossBackward<softMarginSlope>);
  table.add("aten.binary_cross_entropy_backward", lossBackward<crossEntropySlope>);
  table.add("aten.nll_loss_backward", lowerNllBackward);
  table.add("aten.nll_loss2d_backward", lowerNllBackward);
  table.add("aten.select_backward", lowerSelectBackward);
  table.add("aten.slice_backward", lowerSliceBackward);
  table.add("aten.diagonal_backward", lowerDiagonalBackward);
  table.add("aten.unfold_backward", lowerUnfoldBackward);
  table.add("aten.trace_backward", lowerTraceBackward);
  table.add("aten.value_selecting_reduction_backward", lowerValueSelectingBackward);
  table.add("aten.index_select_backward", lowerIndexSelectBackward);
  table.add("aten.linear_backward", lowerLinearBackward);
  for (const char *size : {"1d", "2d", "3d"}) {
    table.add(std::string("aten.reflection_pad") + size + "_backward", lowerPadBackward<true>);
    table.add(std::string("aten.replication_pad") + size + "_backward", lowerPadBackward<false>);
  }
  table.add("aten._cdist_backward", lowerCdistBackward);
  table.add("aten._pdist_backward", lowerPdistBackward);
}

} // namespace cupel::frontends::torch_import
