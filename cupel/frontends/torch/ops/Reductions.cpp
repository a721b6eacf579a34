// Sums, means, extremes, variances, norms and truth over dimensions.

#include "cupel/frontends/torch/ops/Reductions.h"
#include "cupel/frontends/torch/ops/Elementwise.h"
#include "cupel/frontends/torch/ops/Shapes.h"

#include <cmath>
#include <limits>

namespace cupel::frontends::torch_import {

using namespace mlir;

Dims reducedShape(ArrayRef<int64_t> shape, ArrayRef<int64_t> dims, bool keepDims) {
  Dims result;
  for (auto [i, size] : llvm::enumerate(shape)) {
    if (!llvm::is_contained(dims, int64_t(i)))
      result.push_back(size);
    else if (keepDims)
      result.push_back(1);
  }
  return result;
}

/// Folds of narrow floats are carried out in f32, as torch's kernels do.
static Value foldWide(HloBuilder &b, Value x, ArrayRef<int64_t> dims, Fold fold, bool keepDims) {
  Type element = HloBuilder::elementOf(x);
  bool narrow = isa<FloatType>(element) && element.getIntOrFloatBitWidth() < 32;
  Value wide = narrow ? b.convert(x, b.f32()) : x;
  return b.convert(b.reduce(wide, dims, fold, keepDims), element);
}

Value sum(HloBuilder &b, Value x, ArrayRef<int64_t> dims, bool keepDims) {
  return foldWide(b, x, dims, Fold::Add, keepDims);
}

static int64_t countOver(Value x, ArrayRef<int64_t> dims) {
  int64_t count = 1;
  for (int64_t dim : dims)
    count *= HloBuilder::shapeOf(x)[dim];
  return count;
}

Value variance(HloBuilder &b, Value x, ArrayRef<int64_t> dims, double correction, bool keepDims) {
  if (auto complex = dyn_cast<ComplexType>(HloBuilder::elementOf(x))) {
    Type part = complex.getElementType();
    return b.add(variance(b, b.unary<stablehlo::RealOp>(x, part), dims, correction, keepDims),
                 variance(b, b.unary<stablehlo::ImagOp>(x, part), dims, correction, keepDims));
  }
  double count = double(countOver(x, dims));
  Value total = sum(b, x, dims, true);
  Value mean = b.divide(total, b.like(total, count));
  Value squares = sum(b, b.square(b.subtract(x, mean)), dims, keepDims);
  return b.divide(squares, b.like(squares, std::max(0.0, count - correction)));
}

Value logSumExp(HloBuilder &b, Value x, ArrayRef<int64_t> dims, bool keepDims) {
  Dims shape = reducedShape(HloBuilder::shapeOf(x), dims, keepDims);
  if (HloBuilder::isComplex(x)) {
    return b.reshape(b.log(b.reduce(b.exp(x), dims, Fold::Add, true)), shape);
  }
  Value top = b.reduce(x, dims, Fold::Max, true);
  top = b.select(b.unary<stablehlo::IsFiniteOp>(top, b.i1()), top, b.like(top, 0));
  Value total = b.reduce(b.exp(b.subtract(x, top)), dims, Fold::Add, true);
  return b.reshape(b.add(b.log(total), top), shape);
}

Value vectorNorm(HloBuilder &b, Value x, double p, ArrayRef<int64_t> dims, bool keepDims) {
  Value size = b.abs(x);
  if (p == 0)
    return b.reduce(b.convert(b.notEqual(size, b.like(size, 0)), HloBuilder::elementOf(size)), dims,
                    Fold::Add, keepDims);
  if (dims.empty())
    return size;
  if (p == 1)
    return b.reduce(size, dims, Fold::Add, keepDims);
  if (std::isinf(p)) {
    Value top = b.reduce(size, dims, p > 0 ? Fold::Max : Fold::Min, keepDims);
    return HloBuilder::countOf(x) == 0 ? b.like(top, 0)
                                       : top; // Of nothing: 0, not the fold's start.
  }
  if (p == 2) {
    // The parts of complex numbers, not their size: rounded once less.
    Type part = HloBuilder::elementOf(size);
    Value squares = HloBuilder::isComplex(x) ? b.add(b.square(b.unary<stablehlo::RealOp>(x, part)),
                                                     b.square(b.unary<stablehlo::ImagOp>(x, part)))
                                             : b.square(x);
    return b.sqrt(b.reduce(squares, dims, Fold::Add, keepDims));
  }
  Value total = b.reduce(b.power(size, b.like(size, p)), dims, Fold::Add, keepDims);
  return b.power(total, b.like(total, 1 / p));
}

Value reduceLoss(HloBuilder &b, Value loss, int64_t reduction) {
  if (reduction == 0)
    return loss;
  Dims all = dimsFrom(0, HloBuilder::rankOf(loss));
  Value total = b.reduce(loss, all, Fold::Add);
  if (reduction == 2)
    return total;
  return b.divide(total, b.like(total, double(HloBuilder::countOf(loss))));
}

namespace {

/// The dimensions of `dim`. An empty list means all of them, unless the declared result says that
/// nothing was reduced.
Dims reducedDims(Node &n) {
  int64_t rank = n.rank("self");
  if (!n.declares("dim") || !n.has("dim"))
    return dimsFrom(0, rank);
  Dims given = n.integers("dim");
  if (given.empty())
    return rank && n.resultShape() == n.shape("self") ? Dims() : dimsFrom(0, rank);
  if (rank == 0)
    return {};
  return n.dims("dim", rank);
}

/// The result in its declared shape: keepdim with no dims, scalars and so on need no thought.
void outShaped(Node &n, size_t i, Value value) {
  if (n.failed())
    return;
  RankedTensorType type = n.resultType(i);
  if (!type || type.getNumElements() != HloBuilder::countOf(value))
    return n.fail("its result has another shape than its reduction");
  n.out(i, n.b.reshape(value, type.getShape()));
}

template <Fold fold> void lowerFold(Node &n) {
  Type type = n.computeType(n.resultElement());
  Dims dims = reducedDims(n);
  if (!n.failed())
    outShaped(n, 0, n.b.reduce(n.in("self", type), dims, fold));
}

/// all and any. The result of a uint8 operand is uint8.
template <Fold fold> void lowerTruth(Node &n) {
  Dims dims = reducedDims(n);
  if (!n.failed())
    outShaped(n, 0, n.b.reduce(cast(n.b, n.in("self"), n.b.i1()), dims, fold));
}

void lowerMean(Node &n) {
  Type type = n.computeType(n.resultElement());
  Dims dims = reducedDims(n);
  if (!n.failed())
    outShaped(n, 0, n.b.mean(n.in("self", type), dims));
}

template <bool mean> void lowerNanSum(Node &n) {
  HloBuilder &b = n.b;
  Type type = n.computeType(n.resultElement());
  Value x = n.in("self", type);
  Dims dims = reducedDims(n);
  if (n.failed())
    return;
  Value bad = isNan(b, x);
  Value total = b.reduce(b.select(bad, b.like(x, 0), x), dims, Fold::Add);
  if (mean) {
    Value counted = b.reduce(b.convert(b.logicalNot(bad), type), dims, Fold::Add);
    total = b.divide(total, counted);
  }
  outShaped(n, 0, total);
}

template <bool largest> void lowerExtreme(Node &n) {
  HloBuilder &b = n.b;
  Value x = n.in("self");
  Dims dims = reducedDims(n);
  if (n.failed())
    return;
  if (HloBuilder::countOf(x) == 0 && n.resultType().getNumElements() != 0)
    return n.fail("argument 'self' is empty: it has no extreme");
  outShaped(n, 0, b.reduce(x, dims, largest ? Fold::Max : Fold::Min));
}

/// max.dim, min.dim: values and where they stand; the first of equals, NaN before all.
template <bool largest> void lowerExtremeWithIndex(Node &n) {
  HloBuilder &b = n.b;
  Value x = n.in("self");
  int64_t rank = HloBuilder::rankOf(x), dim = n.dim("dim", rank);
  if (n.failed())
    return;
  if (rank == 0) {
    n.out(0, x);
    return n.out(1, b.splatInteger(0, b.i64()));
  }
  if (emptyResult(n, 0)) {
    emptyResult(n, 1);
    return;
  }
  if (HloBuilder::shapeOf(x)[dim] == 0)
    return n.fail("argument 'dim' is an empty dimension");
  outShaped(n, 0, b.reduce(x, {dim}, largest ? Fold::Max : Fold::Min));
  outShaped(n, 1, b.argExtreme(x, dim, largest, false, b.i64(), false));
}

template <bool largest> void lowerArg(Node &n) {
  HloBuilder &b = n.b;
  Value x = n.in("self");
  int64_t dim = 0;
  if (n.has("dim"))
    dim = n.dim("dim", HloBuilder::rankOf(x));
  else
    x = flatten(b, x);
  if (n.failed() || emptyResult(n))
    return;
  if (HloBuilder::rankOf(x) == 0)
    return outShaped(n, 0, b.splatInteger(0, b.i64()));
  if (HloBuilder::shapeOf(x)[dim] == 0)
    return n.fail("argument 'self' is empty: it has no extreme");
  outShaped(n, 0, b.argExtreme(x, dim, largest, false, b.i64(), false));
}

void lowerAminmax(Node &n) {
  Value x = n.in("self");
  Dims dims = reducedDims(n);
  if (n.failed())
    return;
  outShaped(n, 0, n.b.reduce(x, dims, Fold::Min));
  outShaped(n, 1, n.b.reduce(x, dims, Fold::Max));
}

double correctionOf(Node &n) {
  if (n.declares("unbiased") && n.has("unbiased"))
    return n.flag("unbiased") ? 1 : 0;
  if (n.declares("correction") && n.has("correction"))
    return n.scalar("correction").real();
  return 1;
}

template <bool root, bool mean> void lowerVariance(Node &n) {
  HloBuilder &b = n.b;
  Type type = n.computeType(n.promoteToFloat({"self"}));
  Value x = n.in("self", type);
  Dims dims = reducedDims(n);
  double correction = correctionOf(n);
  if (n.failed())
    return;
  Value result = variance(b, x, dims, correction, false);
  outShaped(n, 0, root ? b.sqrt(result) : result);
  if (mean)
    outShaped(n, 1, b.mean(x, dims));
}

void lowerLogSumExp(Node &n) {
  Type type = n.computeType(n.promoteToFloat({"self"}));
  Dims dims = reducedDims(n);
  if (!n.failed())
    outShaped(n, 0, logSumExp(n.b, n.in("self", type), dims, false));
}

void lowerCountNonzero(Node &n) {
  HloBuilder &b = n.b;
  Dims dims = reducedDims(n);
  if (n.failed())
    return;
  Value hit = cast(b, n.in("self"), b.i1());
  outShaped(n, 0, b.reduce(b.convert(hit, b.i64()), dims, Fold::Add));
}

double orderOf(Node &n, StringRef argument) {
  return n.has(argument) ? n.scalar(argument).real() : 2;
}

void lowerNorm(Node &n) {
  Type result = n.resultElement();
  if (n.failed())
    return;
  Value x = n.in("self");
  Type type = n.computeType(result);
  if (HloBuilder::isComplex(x))
    type = ComplexType::get(type);
  Dims dims = reducedDims(n);
  double p = orderOf(n, "p");
  if (!n.failed())
    outShaped(n, 0, vectorNorm(n.b, n.in("self", type), p, dims, false));
}

void lowerDist(Node &n) {
  HloBuilder &b = n.b;
  Type type = n.computeType(n.promoteToFloat({"self", "other"}));
  Value x = n.in("self", type), y = n.in("other", type);
  if (!fitTogether(n, {x, y}))
    return;
  Value gap = b.subtract(x, y);
  n.out(vectorNorm(b, gap, orderOf(n, "p"), dimsFrom(0, HloBuilder::rankOf(gap)), false));
}

/// Rows are variables; frequency weights repeat observations, analytic weights scale them.
Value covariance(Node &n, double correction) {
  HloBuilder &b = n.b;
  Type type = n.computeType(n.promoteToFloat({"self"}));
  Value x = n.in("self", type);
  if (HloBuilder::rankOf(x) > 2) {
    n.fail("argument 'self' has more than two dimensions");
    return x;
  }
  if (HloBuilder::isComplex(x)) {
    n.notYet("argument 'self' is complex");
    return x;
  }
  while (HloBuilder::rankOf(x) < 2)
    x = b.unsqueeze(x, 0);
  int64_t observations = HloBuilder::shapeOf(x)[1];
  Value weights;
  for (StringRef name : {"fweights", "aweights"})
    if (n.declares(name) && n.has(name)) {
      Value w = b.reshape(n.in(name, type), {observations});
      weights = weights ? b.multiply(weights, w) : w;
    }
  Value total = b.splat(double(observations), type), scaled = x;
  if (weights) {
    total = b.reduce(weights, {0}, Fold::Add);
    scaled = b.multiply(x, weights);
  }
  Value mean = b.divide(b.reduce(scaled, {1}, Fold::Add, true), total);
  Value centred = b.subtract(x, mean);
  Value norm = b.subtract(total, b.splat(correction, type));
  if (weights && n.declares("aweights") && n.has("aweights")) {
    Value a = n.in("aweights", type);
    Value share = b.divide(
        b.reduce(b.multiply(weights, b.reshape(a, {observations})), {0}, Fold::Add), total);
    norm = b.subtract(total, b.multiply(b.splat(correction, type), share));
  }
  norm = b.maximum(norm, b.splat(0, type));
  Value weighted = weights ? b.multiply(centred, weights) : centred;
  return b.divide(b.dotGeneral(weighted, centred, {}, {}, {1}, {1}), norm);
}

void lowerCov(Node &n) {
  Value c = covariance(n, double(n.integer("correction", 1)));
  outShaped(n, 0, c);
}

void lowerCorrcoef(Node &n) {
  HloBuilder &b = n.b;
  Value c = covariance(n, 1);
  if (n.failed())
    return;
  if (HloBuilder::countOf(c) == 1)
    return outShaped(n, 0, b.divide(c, c));
  Value deviation = b.sqrt(diagonalOf(b, c, 0, 0, 1));
  int64_t size = HloBuilder::countOf(deviation);
  c = b.divide(c, b.reshape(deviation, {size, 1}));
  c = b.divide(c, b.reshape(deviation, {1, size}));
  outShaped(n, 0, b.clamp(b.like(c, -1), c, b.like(c, 1)));
}

/// The exclusive or of all bits, of floats as doubles: by halves, for want of a fold.
void lowerHash(Node &n) {
  HloBuilder &b = n.b;
  Value x = n.in("self");
  Dims dims = reducedDims(n);
  if (n.failed())
    return;
  if (HloBuilder::isComplex(x) || n.integer("mode") != 0)
    return n.notYet("argument 'mode', or complex numbers");
  Value bits = HloBuilder::isFloat(x)
                   ? b.unary<stablehlo::BitcastConvertOp>(b.convert(x, b.f64()), b.i64())
                   : b.convert(x, b.i64());
  Dims order, kept;
  int64_t count = 1;
  for (auto [i, size] : llvm::enumerate(HloBuilder::shapeOf(x)))
    if (!llvm::is_contained(dims, int64_t(i))) {
      order.push_back(i);
      kept.push_back(size);
    }
  for (int64_t dim : dims) {
    order.push_back(dim);
    count *= HloBuilder::shapeOf(x)[dim];
  }
  int64_t last = kept.size();
  kept.push_back(count);
  bits = b.reshape(b.transpose(bits, order), kept);
  if (count == 0)
    bits = b.splatInteger(0, b.i64(), (kept.back() = 1, kept));
  for (; count > 1; count = (count + 1) / 2) {
    int64_t half = (count + 1) / 2;
    Value left = b.sliceDim(bits, last, 0, half), right = b.sliceDim(bits, last, half, count);
    if (count % 2) {
      Dims low(last + 1, 0), high(last + 1, 0);
      high[last] = 1;
      right = b.pad(right, b.splatInteger(0, b.i64()), low, high);
    }
    bits = b.binary<stablehlo::XorOp>(left, right);
  }
  outShaped(n, 0, b.unary<stablehlo::BitcastConvertOp>(bits, n.resultElement()));
}

} // namespace

void registerReductions(OpTable &table) {
  table.add("aten.sum", lowerFold<Fold::Add>);
  table.add("aten.prod", lowerFold<Fold::Multiply>);
  table.add("aten.mean", lowerMean);
  table.add("aten.nansum", lowerNanSum<false>);
  table.add("aten.nanmean", lowerNanSum<true>);
  table.add("aten.all", lowerTruth<Fold::And>);
  table.add("aten.any", lowerTruth<Fold::Or>);
  table.add("aten._is_all_true", lowerTruth<Fold::And>);
  table.add("aten._is_any_true", lowerTruth<Fold::Or>);
  table.add("aten.amax", lowerExtreme<true>);
  table.add("aten.amin", lowerExtreme<false>);
  table.add("aten.max.default", lowerExtreme<true>);
  table.add("aten.min.default", lowerExtreme<false>);
  table.add("aten.max.dim", lowerExtremeWithIndex<true>);
  table.add("aten.min.dim", lowerExtremeWithIndex<false>);
  table.add("aten.argmax", lowerArg<true>);
  table.add("aten.argmin", lowerArg<false>);
  table.add("aten.aminmax", lowerAminmax);
  table.add("aten._aminmax", lowerAminmax);
  table.add("aten.var", lowerVariance<false, false>);
  table.add("aten.std", lowerVariance<true, false>);
  table.add("aten.var_mean", lowerVariance<false, true>);
  table.add("aten.std_mean", lowerVariance<true, true>);
  table.add("aten.logsumexp", lowerLogSumExp);
  table.add("aten.special_logsumexp", lowerLogSumExp);
  table.add("aten.count_nonzero", lowerCountNonzero);
  table.add("aten.norm", lowerNorm);
  table.add("aten.dist", lowerDist);
  table.add("aten.hash_tensor", lowerHash);
  table.add("aten.cov", lowerCov);
  table.add("aten.corrcoef", lowerCorrcoef);
}

} // namespace cupel::frontends::torch_import
