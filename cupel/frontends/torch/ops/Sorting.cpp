// Sorting, order statistics, search in sorted sequences, and histograms.

#include "cupel/frontends/math/Order.h"
#include "cupel/frontends/torch/ops/Elementwise.h"
#include "cupel/frontends/torch/ops/Reductions.h"
#include "cupel/frontends/torch/ops/Shapes.h"

#include <limits>

namespace cupel::frontends::torch_import {

using namespace mlir;

namespace {

bool scalarOrEmpty(Node &n, Value x) {
  HloBuilder &b = n.b;
  if (HloBuilder::rankOf(x) != 0 && HloBuilder::countOf(x) != 0)
    return false;
  n.out(0, b.reshape(x, n.resultShape(0)));
  if (n.outputCount() > 1)
    n.out(1, b.splatInteger(0, b.i64(), n.resultShape(1)));
  return true;
}

/// Torch promises an order of equal values only to who asks for it.
bool isStable(Node &n) { return n.declares("stable") && n.has("stable") && n.flag("stable"); }

void lowerSort(Node &n) {
  Value x = n.in("self");
  int64_t dim = n.declares("dim") ? n.dim("dim", HloBuilder::rankOf(x)) : 0;
  if (n.failed() || scalarOrEmpty(n, x))
    return;
  auto [values, places] = sorted(n.b, x, dim, n.declares("descending") && n.flag("descending"),
                                 isStable(n));
  n.out(0, values);
  if (n.outputCount() > 1)
    n.out(1, places);
}

void lowerArgsort(Node &n) {
  Value x = n.in("self");
  int64_t dim = n.dim("dim", HloBuilder::rankOf(x));
  if (n.failed())
    return;
  if (HloBuilder::rankOf(x) == 0 || HloBuilder::countOf(x) == 0)
    return n.out(n.b.splatInteger(0, n.b.i64(), HloBuilder::shapeOf(x)));
  n.out(sorted(n.b, x, dim, n.flag("descending"), isStable(n)).second);
}

void lowerTopk(Node &n) {
  HloBuilder &b = n.b;
  Value x = n.in("self");
  int64_t dim = n.dim("dim", HloBuilder::rankOf(x)), k = n.integer("k");
  if (n.failed())
    return;
  if (HloBuilder::rankOf(x) == 0) {
    n.out(0, b.reshape(x, n.resultShape(0)));
    return n.out(1, b.splatInteger(0, b.i64(), n.resultShape(1)));
  }
  if (emptyResult(n, 0)) {
    emptyResult(n, 1);
    return;
  }
  if (k < 0 || k > HloBuilder::shapeOf(x)[dim])
    return n.fail("argument 'k' is beyond the size of its dimension");
  auto [values, places] = sorted(b, x, dim, n.flag("largest", true), false);
  n.out(0, b.sliceDim(values, dim, 0, k));
  n.out(1, b.sliceDim(places, dim, 0, k));
}

/// Element `at` along the dimension, in the declared shapes of both results.
void outAt(Node &n, Value values, Value places, int64_t dim, int64_t at) {
  HloBuilder &b = n.b;
  n.out(0, b.reshape(b.sliceDim(values, dim, at, at + 1), n.resultShape(0)));
  if (n.outputCount() > 1)
    n.out(1, b.reshape(b.sliceDim(places, dim, at, at + 1), n.resultShape(1)));
}

void lowerKthvalue(Node &n) {
  Value x = n.in("self");
  int64_t dim = n.dim("dim", HloBuilder::rankOf(x)), k = n.integer("k");
  if (n.failed() || scalarOrEmpty(n, x))
    return;
  if (k < 1 || k > HloBuilder::shapeOf(x)[dim])
    return n.fail("argument 'k' is beyond the size of its dimension");
  auto [values, places] = sorted(n.b, x, dim, false, false);
  outAt(n, values, places, dim, k - 1);
}

/// The lower of two middles. median is NaN where one is among the values, nanmedian skips them.
template <bool skipNan> void lowerMedian(Node &n) {
  HloBuilder &b = n.b;
  Value x = n.in("self");
  int64_t dim = 0;
  if (n.declares("dim") && n.has("dim"))
    dim = n.dim("dim", HloBuilder::rankOf(x));
  else
    x = flatten(b, x);
  if (n.failed())
    return;
  if (HloBuilder::rankOf(x) == 0)
    return (void)scalarOrEmpty(n, x);
  if (HloBuilder::countOf(x) == 0) {
    RankedTensorType type = n.resultType(0);
    if (type && type.getNumElements() && isa<FloatType>(type.getElementType()))
      return n.out(0, b.splat(std::numeric_limits<double>::quiet_NaN(), type.getElementType(),
                              type.getShape()));
    return (void)scalarOrEmpty(n, x);
  }
  int64_t size = HloBuilder::shapeOf(x)[dim];
  auto [values, places] = sorted(b, x, dim, false);
  if (!HloBuilder::isFloat(x))
    return outAt(n, values, places, dim, (size - 1) / 2);
  Value bad = b.reduce(b.convert(isNan(b, x), b.i64()), {dim}, Fold::Add, true);
  Value good = b.subtract(b.like(bad, double(size)), bad), zero = b.like(bad, 0);
  Value at;
  if (skipNan) // With nothing but NaN the first of them.
    at = b.maximum(b.divide(b.subtract(good, b.like(good, 1)), b.like(good, 2)), zero);
  else // The first NaN, if there is one.
    at = b.select(b.greater(bad, zero), good, b.like(bad, double((size - 1) / 2)));
  n.out(0, b.reshape(b.takeAlong(values, at, dim), n.resultShape(0)));
  if (n.outputCount() > 1)
    n.out(1, b.reshape(b.takeAlong(places, at, dim), n.resultShape(1)));
}

/// The smallest of the values that occur most often, and the last place of it.
void lowerMode(Node &n) {
  HloBuilder &b = n.b;
  Value x = n.in("self");
  int64_t dim = n.dim("dim", HloBuilder::rankOf(x));
  if (n.failed() || scalarOrEmpty(n, x))
    return;
  int64_t size = HloBuilder::shapeOf(x)[dim];
  auto [values, places] = sorted(b, x, dim, false);
  // How many equal ones lie up to here: the distance to where the run began.
  Value at = b.iota(HloBuilder::shapeOf(x), dim, b.i64()), start = b.like(at, 0);
  if (size > 1) {
    Value fresh =
        b.notEqual(b.sliceDim(values, dim, 1, size), b.sliceDim(values, dim, 0, size - 1));
    Value rest = b.sliceDim(at, dim, 1, size);
    Value begins =
        b.concatenate({b.sliceDim(start, dim, 0, 1), b.select(fresh, rest, b.like(rest, 0))}, dim);
    start = cumulative(b, begins, dim, Fold::Max);
  }
  Value length = b.subtract(at, start);
  Value best = b.argExtreme(length, dim, true, false, b.i64(), true);
  n.out(0, b.reshape(b.takeAlong(values, best, dim), n.resultShape(0)));
  n.out(1, b.reshape(b.takeAlong(places, best, dim), n.resultShape(1)));
}

/// Interpolated order statistics; q may be a number or a vector, whose dimension comes first.
template <bool skipNan> void lowerQuantile(Node &n) {
  HloBuilder &b = n.b;
  Type type = n.computeType(n.element("self"));
  Value x = n.in("self", type);
  Value q = n.in("q", type);
  std::string how = n.text("interpolation", "linear");
  int64_t dim = 0;
  if (n.has("dim"))
    dim = n.dim("dim", HloBuilder::rankOf(x));
  else
    x = flatten(b, x);
  if (n.failed() || emptyResult(n))
    return;
  if (HloBuilder::rankOf(x) == 0)
    x = b.reshape(x, {1});
  if (HloBuilder::rankOf(q) > 1)
    return n.fail("argument 'q' is neither a number nor a vector");
  int64_t rank = HloBuilder::rankOf(x), size = HloBuilder::shapeOf(x)[dim];
  int64_t wanted = HloBuilder::countOf(q);
  if (size == 0)
    return n.fail("argument 'self' is empty along its dimension");
  x = b.transpose(x, moveToLast(dim, rank));
  Value values = sorted(b, x, rank - 1, false).first;
  Dims shape(HloBuilder::shapeOf(x));
  shape.back() = wanted;
  Value bad = b.reduce(b.convert(isNan(b, x), type), {rank - 1}, Fold::Add, true);
  Value line = b.reshape(q, {wanted}), ranks;
  if (skipNan) {
    Value last = b.maximum(b.subtract(b.like(bad, double(size - 1)), bad), b.like(bad, 0));
    ranks = b.broadcastTo(b.multiply(line, last), shape);
  } else {
    ranks = b.broadcastTo(b.multiply(line, b.like(line, double(size - 1))), shape);
    // A NaN anywhere is the result: NaNs are sorted last.
    ranks = b.select(b.greater(bad, b.like(bad, 0)), b.like(ranks, double(size - 1)), ranks);
  }
  auto pick = [&](Value at) { return b.takeAlong(values, b.convert(at, b.i64()), rank - 1); };
  Value result;
  Value low = b.floor(ranks), high = b.ceil(ranks);
  if (how == "lower")
    result = pick(low);
  else if (how == "higher")
    result = pick(high);
  else if (how == "nearest")
    result = pick(b.unary<stablehlo::RoundNearestEvenOp>(ranks));
  else if (how == "linear" || how == "midpoint") {
    Value weight = how == "linear" ? b.subtract(ranks, low) : b.like(ranks, 0.5);
    Value below = pick(low), above = pick(high), gap = b.subtract(above, below);
    Value near = b.add(below, b.multiply(weight, gap));
    Value far = b.subtract(above, b.multiply(gap, b.subtract(b.like(weight, 1), weight)));
    result = b.select(b.less(weight, b.like(weight, 0.5)), near, far);
  } else {
    return n.fail("argument 'interpolation' is '" + how + "', which is unknown");
  }
  Dims order{rank - 1};
  order.append(dimsFrom(0, rank - 1));
  n.out(b.reshape(b.transpose(result, order), n.resultShape()));
}

// Beyond this many pairs, comparing all of them costs more memory than it saves steps.
constexpr int64_t kMostPairs = 1 << 22;

/// How many entries of the sorted sequences lie before each value. The sequences are one for all,
/// or one for each row of values.
Value placesIn(HloBuilder &b, Value sequence, Value values, bool right) {
  int64_t rank = HloBuilder::rankOf(values), size = HloBuilder::shapeOf(sequence).back();
  bool single = HloBuilder::rankOf(sequence) == 1;
  // "Not at least" rather than "less": a NaN comes after everything.
  auto before = [&](Value entry, Value value) {
    return b.logicalNot(right ? b.greater(entry, value) : b.greaterEqual(entry, value));
  };
  if (HloBuilder::countOf(values) <= kMostPairs / std::max<int64_t>(size, 1)) {
    Value wide = b.unsqueeze(values, rank);
    Value line = single ? sequence : b.unsqueeze(sequence, rank - 1);
    auto [s, v] = b.broadcastPair(line, wide);
    return b.reduce(b.convert(before(s, v), b.i64()), {rank}, Fold::Add);
  }
  // Halving: low .. high holds the place.
  Dims shape(HloBuilder::shapeOf(values));
  Value low = b.splatInteger(0, b.i64(), shape), high = b.splatInteger(size, b.i64(), shape);
  for (int64_t left = size; left > 0; left /= 2) {
    Value middle = b.divide(b.add(low, high), b.splatInteger(2, b.i64(), shape));
    Value at = b.minimum(middle, b.splatInteger(size - 1, b.i64(), shape));
    Value entry = single ? b.take(sequence, at, 0) : b.takeAlong(sequence, at, rank - 1);
    Value open = b.less(low, high), later = b.logicalAnd(open, before(entry, values));
    low = b.select(later, b.add(middle, b.splatInteger(1, b.i64(), shape)), low);
    high = b.select(b.logicalAnd(open, b.logicalNot(later)), middle, high);
  }
  return low;
}

void lowerSearchSorted(Node &n) {
  HloBuilder &b = n.b;
  Type type = n.promote({"sorted_sequence", "self"});
  Value sequence = n.in("sorted_sequence", type), values = n.in("self", type);
  bool right = n.flag("right") || (n.has("side") && n.text("side") == "right");
  if (n.failed() || emptyResult(n))
    return;
  if (HloBuilder::rankOf(sequence) == 0)
    return n.fail("argument 'sorted_sequence' has no dimension");
  if (n.has("sorter"))
    sequence = b.takeAlong(sequence, n.in("sorter", b.i64()), HloBuilder::rankOf(sequence) - 1);
  if (HloBuilder::shapeOf(sequence).back() == 0)
    return n.out(b.splatInteger(0, b.i64(), n.resultShape()));
  if (HloBuilder::rankOf(sequence) > 1 &&
      (HloBuilder::rankOf(sequence) != HloBuilder::rankOf(values) ||
       HloBuilder::shapeOf(sequence).drop_back() != HloBuilder::shapeOf(values).drop_back()))
    return n.fail("arguments 'sorted_sequence' and 'self' differ in their leading dimensions");
  n.out(placesIn(b, sequence, values, right));
}

void lowerBucketize(Node &n) {
  HloBuilder &b = n.b;
  Type type = n.promote({"boundaries", "self"});
  Value boundaries = n.in("boundaries", type), values = n.in("self", type);
  if (n.failed() || emptyResult(n))
    return;
  if (HloBuilder::rankOf(boundaries) != 1)
    return n.fail("argument 'boundaries' is no vector");
  if (HloBuilder::countOf(boundaries) == 0)
    return n.out(b.splatInteger(0, b.i64(), n.resultShape()));
  n.out(placesIn(b, boundaries, values, n.flag("right")));
}

/// Adds up `weights` (or ones) by bin number; numbers outside 0 .. bins - 1 are left out.
Value countInto(HloBuilder &b, Value bins, Value weights, int64_t count) {
  Type type = HloBuilder::elementOf(weights);
  if (count == 0 || HloBuilder::countOf(bins) == 0)
    return b.splat(0, type, {count});
  if (HloBuilder::countOf(bins) > kMostPairs / count) // A scatter leaves out what lies outside.
    return b.scatterNd(b.splat(0, type, {count}), b.unsqueeze(bins, 1), weights, Fold::Add);
  Value hit = b.equal(b.unsqueeze(bins, 0), b.iota({count, 1}, 0, b.i64()));
  Value picked = b.select(hit, b.unsqueeze(weights, 0), b.splat(0, type));
  return b.reduce(picked, {1}, Fold::Add);
}

/// Bins of equal width between two numbers, the last one closed.
Value uniformBins(HloBuilder &b, Value x, Value low, Value high, int64_t bins) {
  Value count = b.like(x, double(bins));
  Value at = b.divide(b.multiply(b.subtract(x, low), count), b.subtract(high, low));
  Value number = b.minimum(b.convert(b.floor(at), b.i64()),
                           b.splatInteger(bins - 1, b.i64(), HloBuilder::shapeOf(x)));
  Value inside = b.logicalAnd(b.greaterEqual(x, low), b.lessEqual(x, high));
  return b.select(inside, number, b.splatInteger(-1, b.i64(), HloBuilder::shapeOf(x)));
}

/// The bounds of a histogram: given, or those of the data; where they are equal, `widen` apart.
std::pair<Value, Value> boundsOf(HloBuilder &b, Value x, std::optional<double> low,
                                 std::optional<double> high, double widen) {
  Type type = HloBuilder::elementOf(x);
  Value from, to;
  if (low && high && *low != *high) {
    return {b.splat(*low, type), b.splat(*high, type)};
  }
  if (low && high) {
    from = to = b.splat(*low, type);
  } else if (HloBuilder::countOf(x) == 0) {
    from = b.splat(0, type);
    to = b.splat(1, type);
  } else {
    Dims all = dimsFrom(0, HloBuilder::rankOf(x));
    from = b.reduce(x, all, Fold::Min);
    to = b.reduce(x, all, Fold::Max);
  }
  Value same = b.equal(from, to), more = b.splat(widen, type);
  return {b.select(same, b.subtract(from, more), from), b.select(same, b.add(to, more), to)};
}

void lowerHistc(Node &n) {
  HloBuilder &b = n.b;
  Type type = n.computeType(n.element("self"));
  Value x = flatten(b, n.in("self", type));
  if (!HloBuilder::isFloat(x))
    x = b.convert(x, b.f32());
  int64_t bins = n.integer("bins", 100);
  double low = n.scalar("min").real(), high = n.scalar("max").real();
  if (n.failed())
    return;
  if (bins < 1)
    return n.fail("argument 'bins' should be positive");
  // Equal bounds stand for those of the data.
  auto bounds =
      low == high ? boundsOf(b, x, std::nullopt, std::nullopt, 1) : boundsOf(b, x, low, high, 1);
  Value number = uniformBins(b, x, bounds.first, bounds.second, bins);
  n.out(countInto(b, number, b.like(x, 1), bins));
}

void lowerBincount(Node &n) {
  HloBuilder &b = n.b;
  Value x = n.in("self", b.i64());
  Value weights = n.has("weights") ? n.in("weights", n.resultElement())
                                   : b.splatInteger(1, b.i64(), HloBuilder::shapeOf(x));
  if (n.failed() || !hasResultRank(n, 1))
    return;
  if (HloBuilder::shapeOf(x) != HloBuilder::shapeOf(weights) || HloBuilder::rankOf(x) != 1)
    return n.fail("arguments 'self' and 'weights' are no vectors of one size");
  n.out(countInto(b, x, weights, n.resultShape()[0]));
}

/// Edges of equal width, computed from the nearer end.
Value edgesBetween(HloBuilder &b, Value low, Value high, int64_t bins) {
  Type type = HloBuilder::elementOf(low);
  Value at = b.iota({bins + 1}, 0, b.i64());
  Value step = b.divide(b.subtract(high, low), b.splat(double(bins), type));
  Value forth = b.add(low, b.multiply(step, b.convert(at, type)));
  Value left = b.subtract(b.splatInteger(bins, b.i64()), at);
  Value back = b.subtract(high, b.multiply(step, b.convert(left, type)));
  return b.select(b.less(at, b.splatInteger((bins + 1) / 2, b.i64())), forth, back);
}

/// Numbers the bins between edges; the last edge belongs to the last bin.
Value binsBetween(HloBuilder &b, Value edges, Value x) {
  int64_t bins = HloBuilder::countOf(edges) - 1;
  Value at = b.subtract(placesIn(b, edges, x, true), b.splatInteger(1, b.i64()));
  Value last = b.reshape(b.sliceDim(edges, 0, bins, bins + 1), {});
  Value closed = b.equal(x, last);
  at = b.select(closed, b.splatInteger(bins - 1, b.i64(), HloBuilder::shapeOf(x)), at);
  Value outside = b.logicalOr(b.greater(x, last), isNan(b, x));
  return b.select(outside, b.splatInteger(-1, b.i64(), HloBuilder::shapeOf(x)), at);
}

/// Counts (or weights) over a grid of bins, one coordinate a column; density divides by total and
/// volume.
Value histogramOf(Node &n, ArrayRef<Value> columns, ArrayRef<Value> edges, Value weights) {
  HloBuilder &b = n.b;
  Type type = HloBuilder::elementOf(columns[0]);
  Dims grid;
  Value flat, inside;
  int64_t total = 1;
  for (auto [column, edge] : llvm::zip(columns, edges)) {
    int64_t bins = HloBuilder::countOf(edge) - 1;
    Value at = binsBetween(b, edge, column);
    Value good = b.greaterEqual(at, b.like(at, 0));
    inside = inside ? b.logicalAnd(inside, good) : good;
    flat = flat
               ? b.add(b.multiply(flat, b.splatInteger(bins, b.i64(), HloBuilder::shapeOf(at))), at)
               : at;
    grid.push_back(bins);
    total *= bins;
  }
  flat = b.select(inside, flat, b.like(flat, -1));
  Value ones = weights ? weights : b.splat(1, type, HloBuilder::shapeOf(flat));
  Value counts = b.reshape(countInto(b, flat, ones, total), grid);
  if (n.flag("density")) {
    counts = b.divide(counts, b.reduce(counts, dimsFrom(0, grid.size()), Fold::Add));
    for (auto [i, edge] : llvm::enumerate(edges)) {
      int64_t bins = grid[i];
      Value width = b.subtract(b.sliceDim(edge, 0, 1, bins + 1), b.sliceDim(edge, 0, 0, bins));
      counts = b.divide(counts, b.broadcastInDim(width, grid, {int64_t(i)}));
    }
  }
  return counts;
}

void lowerHistogram(Node &n) {
  HloBuilder &b = n.b;
  Type type = n.element("self");
  Value x = flatten(b, n.in("self"));
  Value weights = n.has("weight") ? flatten(b, n.in("weight", type)) : Value();
  Value edges;
  if (n.isTensor("bins")) {
    edges = n.in("bins", type);
  } else {
    int64_t bins = n.integer("bins");
    llvm::SmallVector<double> range = n.reals("range");
    if (n.failed() || bins < 1)
      return n.fail("argument 'bins' should be positive");
    auto [low, high] = range.size() == 2 ? boundsOf(b, x, range[0], range[1], 0.5)
                                         : boundsOf(b, x, std::nullopt, std::nullopt, 0.5);
    edges = edgesBetween(b, low, high, bins);
  }
  if (n.failed())
    return;
  n.out(0, histogramOf(n, {x}, {edges}, weights));
  n.out(1, edges);
}

void lowerHistogramdd(Node &n) {
  HloBuilder &b = n.b;
  Type type = n.element("self");
  int64_t rank = n.rank("self");
  if (n.failed() || rank < 1)
    return;
  int64_t width = n.shape("self").back();
  int64_t rows = width ? HloBuilder::countOf(n.in("self")) / width : 0;
  Value x = b.reshape(n.in("self"), {rows, width});
  Value weights = n.has("weight") ? flatten(b, n.in("weight", type)) : Value();
  SmallVector<Value> columns, edges;
  for (int64_t i = 0; i < width; ++i)
    columns.push_back(b.reshape(b.sliceDim(x, 1, i, i + 1), {rows}));
  if (n.overload() == "TensorList_bins") {
    for (Value edge : n.list("bins"))
      edges.push_back(cast(b, edge, type));
  } else {
    Dims bins = n.integers("bins");
    if (bins.size() == 1)
      bins.assign(width, bins[0]);
    llvm::SmallVector<double> range = n.reals("range");
    if (int64_t(bins.size()) != width)
      return n.fail("argument 'bins' is not one number a column");
    for (int64_t i = 0; i < width; ++i) {
      auto [low, high] = int64_t(range.size()) == 2 * width
                             ? boundsOf(b, columns[i], range[2 * i], range[2 * i + 1], 0.5)
                             : boundsOf(b, columns[i], std::nullopt, std::nullopt, 0.5);
      edges.push_back(edgesBetween(b, low, high, bins[i]));
    }
  }
  if (n.failed() || int64_t(edges.size()) != width)
    return n.fail("argument 'bins' is not one tensor a column");
  n.out(0, histogramOf(n, columns, edges, weights));
  n.outList(1, edges);
}

void lowerDataDependent(Node &n) { n.refuse(ErrorCode::DataDependent,
                                            "the shape of its result depends on values"); }

} // namespace

void registerSorting(OpTable &table) {
  table.add("aten.sort", lowerSort);
  table.add("aten.msort", lowerSort);
  table.add("aten.argsort", lowerArgsort);
  table.add("aten.topk", lowerTopk);
  table.add("aten.kthvalue", lowerKthvalue);
  table.add("aten.median", lowerMedian<false>);
  table.add("aten.nanmedian", lowerMedian<true>);
  table.add("aten.mode", lowerMode);
  table.add("aten.quantile", lowerQuantile<false>);
  table.add("aten.nanquantile", lowerQuantile<true>);
  table.add("aten.searchsorted", lowerSearchSorted);
  table.add("aten.bucketize", lowerBucketize);
  table.add("aten.histc", lowerHistc);
  table.add("aten.bincount", lowerBincount);
  table.add("aten.histogram", lowerHistogram);
  table.add("aten.histogramdd", lowerHistogramdd);
  for (const char *name : {"aten.unique_dim", "aten._unique2", "aten._unique",
                           "aten.unique_consecutive", "aten.unique_dim_consecutive"})
    table.add(name, lowerDataDependent);
}

} // namespace cupel::frontends::torch_import
