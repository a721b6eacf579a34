// Writing by index, mask or position: scatter and its kin, and the scatters that are the inverse of
// views.

#include "cupel/frontends/torch/ops/Elementwise.h"
#include "cupel/frontends/torch/ops/Indexing.h"
#include "cupel/frontends/torch/ops/Reductions.h"
#include "cupel/frontends/torch/ops/Shapes.h"

#include <limits>

namespace cupel::frontends::torch_import {

using namespace mlir;

namespace {

/// Ways to combine what is written with what is there.
enum class Way { Set, Sum, Product, Mean, Max, Min };

std::optional<Way> combineNamed(StringRef name) {
  return llvm::StringSwitch<std::optional<Way>>(name)
      .Cases("sum", "add", Way::Sum)
      .Cases("prod", "multiply", Way::Product)
      .Case("mean", Way::Mean)
      .Cases("amax", "max", Way::Max)
      .Cases("amin", "min", Way::Min)
      .Default(std::nullopt);
}

Fold foldOf(Way how) {
  switch (how) {
  case Way::Product:
    return Fold::Multiply;
  case Way::Max:
    return Fold::Max;
  case Way::Min:
    return Fold::Min;
  default:
    return Fold::Add;
  }
}

/// Scatters by a function that writes (or folds) updates into a tensor; means need a count, and
/// without self what is hit starts from nothing.
Value combined(HloBuilder &b, Value x, Value updates, Way how, bool includeSelf,
               const std::function<Value(Value, Value, std::optional<Fold>)> &write) {
  if (how == Way::Set)
    return write(x, updates, std::nullopt);
  Fold fold = foldOf(how);
  if (!includeSelf) {
    Value start =
        b.broadcastTo(b.initialValue(fold, HloBuilder::elementOf(x)), HloBuilder::shapeOf(updates));
    x = write(x, start, std::nullopt);
  }
  Value result = write(x, updates, fold);
  if (how != Way::Mean)
    return result;
  Value count = write(b.like(result, includeSelf ? 1 : 0), b.like(updates, 1), Fold::Add);
  count = b.maximum(count, b.like(count, 1));
  return HloBuilder::isInteger(result) ? floorDivide(b, result, count) : b.divide(result, count);
}

void scatterAlong(Node &n, Value updates, Way how, bool includeSelf) {
  HloBuilder &b = n.b;
  Type type = n.computeType(n.element("self"));
  Value x = n.in("self", type), index = n.in("index", b.i64());
  int64_t dim = n.dim("dim", HloBuilder::rankOf(x));
  if (n.failed())
    return;
  if (HloBuilder::countOf(index) == 0)
    return n.out(x);
  Dims shape(HloBuilder::shapeOf(x));
  for (Value *value : {&x, &index})
    if (HloBuilder::rankOf(*value) == 0)
      *value = b.reshape(*value, {1});
  updates = cast(b, updates, type);
  if (HloBuilder::countOf(updates) == 1 && HloBuilder::rankOf(updates) == 0)
    updates = b.broadcastTo(updates, HloBuilder::shapeOf(index));
  int64_t rank = HloBuilder::rankOf(x);
  if (HloBuilder::rankOf(index) != rank || HloBuilder::rankOf(updates) != rank)
    return n.fail("arguments 'self', 'index' and 'src' differ in rank");
  for (int64_t i = 0; i < rank; ++i)
    if (HloBuilder::shapeOf(index)[i] > HloBuilder::shapeOf(updates)[i] ||
        (i != dim && HloBuilder::shapeOf(index)[i] > HloBuilder::shapeOf(x)[i]))
      return n.fail("argument 'index' is larger than 'self' or 'src'");
  updates = b.slice(updates, Dims(rank, 0), HloBuilder::shapeOf(index));
  index = b.wrapIndices(index, HloBuilder::shapeOf(x)[dim]);
  Value result = combined(b, x, updates, how, includeSelf,
                          [&](Value into, Value values, std::optional<Fold> fold) {
                            return b.scatterAlong(into, index, values, dim, fold);
                          });
  n.out(b.reshape(result, shape));
}

void lowerScatter(Node &n) {
  Way how = Way::Set;
  if (n.declares("reduce")) {
    auto named = combineNamed(n.text("reduce"));
    if (!named)
      return n.fail("argument 'reduce' is '" + n.text("reduce") + "', which is unknown");
    how = *named;
  }
  scatterAlong(n, n.in(n.declares("src") ? "src" : "value"), how, true);
}

void lowerScatterAdd(Node &n) { scatterAlong(n, n.in("src"), Way::Sum, true); }

void lowerScatterReduce(Node &n) {
  auto how = combineNamed(n.text("reduce"));
  if (!how)
    return n.fail("argument 'reduce' is '" + n.text("reduce") + "', which is unknown");
  scatterAlong(n, n.in("src"), *how, n.flag("include_self", true));
}

/// index_add and its kin: whole slices along a dimension.
void indexAlong(Node &n, Value source, Way how, bool includeSelf) {
  HloBuilder &b = n.b;
  // index_reduce rounds after each element.
  Type type = n.declares("reduce") ? n.element("self") : n.computeType(n.element("self"));
  Value x = n.in("self", type), index = flatten(b, n.in("index", b.i64()));
  int64_t dim = n.dim("dim", HloBuilder::rankOf(x));
  if (n.failed())
    return;
  Dims shape(HloBuilder::shapeOf(x));
  if (HloBuilder::countOf(index) == 0 || HloBuilder::countOf(x) == 0)
    return n.out(x);
  if (HloBuilder::rankOf(x) == 0)
    x = b.reshape(x, {1});
  int64_t rank = HloBuilder::rankOf(x);
  source = cast(b, source, type);
  Dims expected(HloBuilder::shapeOf(x));
  expected[dim] = HloBuilder::countOf(index);
  if (HloBuilder::rankOf(source) == 0 && rank == 1)
    source = b.reshape(source, {1});
  std::optional<Dims> common = HloBuilder::broadcastShape(HloBuilder::shapeOf(source), expected);
  if (!common || *common != expected)
    return n.fail("argument 'source' does not fit 'self' and 'index'");
  source = b.broadcastTo(source, expected);
  Dims order{dim};
  for (int64_t i = 0; i < rank; ++i)
    if (i != dim)
      order.push_back(i);
  Value rows = b.unsqueeze(b.wrapIndices(index, HloBuilder::shapeOf(x)[dim]), 1);
  Value result = combined(b, b.transpose(x, order), b.transpose(source, order), how, includeSelf,
                          [&](Value into, Value values, std::optional<Fold> fold) {
                            return b.scatterNd(into, rows, values, fold);
                          });
  n.out(b.reshape(b.transpose(result, inverseOf(order)), shape));
}

void lowerIndexAdd(Node &n) {
  HloBuilder &b = n.b;
  Type type = n.computeType(n.element("self"));
  Value source = n.in("source", type);
  if (n.scalar("alpha").number != std::complex<double>(1))
    source = b.multiply(source, n.in("alpha", type));
  indexAlong(n, source, Way::Sum, true);
}
void lowerIndexCopy(Node &n) { indexAlong(n, n.in("source"), Way::Set, true); }
void lowerIndexFill(Node &n) {
  Value value = n.in("value");
  if (HloBuilder::countOf(value) != 1)
    return n.fail("argument 'value' is not one number");
  indexAlong(n, n.b.reshape(value, {}), Way::Set, true);
}
void lowerIndexReduce(Node &n) {
  auto how = combineNamed(n.text("reduce"));
  if (!how)
    return n.fail("argument 'reduce' is '" + n.text("reduce") + "', which is unknown");
  indexAlong(n, n.in("source"), *how, n.flag("include_self", true));
}

/// x[mask] = values: the k-th true place takes the k-th value along one dimension.
void putByMask(Node &n, Value x, int64_t first, Value mask, Value values, bool accumulate) {
  HloBuilder &b = n.b;
  int64_t width = HloBuilder::rankOf(mask), rank = HloBuilder::rankOf(x),
          after = rank - first - width;
  if (after < 0 || HloBuilder::shapeOf(mask) != HloBuilder::shapeOf(x).slice(first, width))
    return n.fail("argument 'indices': the mask's shape is not that of 'self'");
  // Values stand for [before..., count, after...].
  int64_t along = HloBuilder::rankOf(values) - 1 - after;
  Dims shape(HloBuilder::shapeOf(values));
  Value spread = values;
  if (along >= 0) {
    int64_t count = shape[along];
    if (count == 1) {
      Dims wide(shape.begin(), shape.begin() + along);
      wide.append(width, 1);
      wide.append(shape.begin() + along + 1, shape.end());
      spread = b.reshape(values, wide);
    } else if (count == 0) {
      return n.out(x);
    } else {
      Value flat = b.convert(flatten(b, mask), b.i64());
      Value places = b.subtract(cumulative(b, flat, 0, Fold::Add), b.like(flat, 1));
      places = b.clamp(b.like(places, 0), places, b.like(places, double(count - 1)));
      Value picked = b.take(values, b.reshape(places, HloBuilder::shapeOf(mask)), along);
      spread = picked;
    }
  }
  std::optional<Dims> common =
      HloBuilder::broadcastShape(HloBuilder::shapeOf(spread), HloBuilder::shapeOf(x));
  if (!common || ArrayRef<int64_t>(*common) != HloBuilder::shapeOf(x))
    return n.fail("argument 'values' does not fit what the mask selects");
  Dims places = llvm::to_vector<6>(llvm::seq<int64_t>(first, first + width));
  Value hit = b.broadcastInDim(mask, HloBuilder::shapeOf(x), places);
  Value written = accumulate ? b.add(x, spread) : spread;
  n.out(b.select(hit, written, x));
}

void lowerIndexPut(Node &n) {
  HloBuilder &b = n.b;
  Value x = n.in("self");
  SmallVector<Value> indices = n.list("indices");
  Value values = n.in("values", HloBuilder::elementOf(x));
  bool accumulate = n.flag("accumulate");
  if (n.failed())
    return;
  int64_t masks = 0, given = 0, first = 0, dim = 0;
  Value mask;
  for (Value index : indices) {
    if (index && HloBuilder::isBool(index)) {
      ++masks;
      mask = index;
      first = dim;
    }
    given += index ? 1 : 0;
    dim += index && HloBuilder::isBool(index) ? HloBuilder::rankOf(index) : 1;
  }
  if (masks == 1 && given == 1)
    return putByMask(n, x, first, mask, values, accumulate);
  if (given == 0) {
    if (!fitTogether(n, {x, values}))
      return;
    Value wide = b.broadcastTo(values, HloBuilder::shapeOf(x));
    return n.out(accumulate ? b.add(x, wide) : wide);
  }
  auto plan = planIndices(n, x, indices);
  if (!plan)
    return;
  // Leading dimensions of size 1 that values has too many are dropped.
  Dims shape(HloBuilder::shapeOf(values));
  while (shape.size() > plan->shape.size() && shape.front() == 1)
    shape.erase(shape.begin());
  std::optional<Dims> common = HloBuilder::broadcastShape(shape, plan->shape);
  if (!common || *common != plan->shape)
    return n.fail("argument 'values' does not broadcast to what is indexed");
  values = b.broadcastTo(b.reshape(values, shape), plan->shape);
  Type type = n.computeType(HloBuilder::elementOf(x));
  n.out(scatterBy(b, b.convert(x, type), *plan, b.convert(values, type), accumulate));
}

void lowerPut(Node &n) {
  HloBuilder &b = n.b;
  Value x = n.in("self"), source = flatten(b, n.in("source", n.element("self")));
  Value index = flatten(b, n.in("index", b.i64()));
  if (n.failed())
    return;
  if (HloBuilder::countOf(index) != HloBuilder::countOf(source))
    return n.fail("arguments 'index' and 'source' differ in size");
  if (HloBuilder::countOf(index) == 0)
    return n.out(x);
  Dims shape(HloBuilder::shapeOf(x));
  Value rows = b.unsqueeze(b.wrapIndices(index, HloBuilder::countOf(x)), 1);
  Value flat = b.scatterNd(flatten(b, x), rows, source,
                           n.flag("accumulate") ? std::optional<Fold>(Fold::Add) : std::nullopt);
  n.out(b.reshape(flat, shape));
}

void lowerMaskedFill(Node &n) {
  HloBuilder &b = n.b;
  Value x = n.in("self"), mask = cast(b, n.in("mask"), b.i1());
  Value value = n.in("value", HloBuilder::elementOf(x));
  if (fitTogether(n, {x, mask, value}))
    n.out(b.select(mask, value, x));
}

/// Where all indices are equal; of a matrix that is taller than wide, `wrap` goes on below with a row
/// left out after each square.
void lowerFillDiagonal(Node &n) {
  HloBuilder &b = n.b;
  Value x = n.in("self"), value = n.in("fill_value", HloBuilder::elementOf(n.in("self")));
  if (n.failed())
    return;
  Dims shape(HloBuilder::shapeOf(x));
  int64_t rank = shape.size();
  if (rank < 2 || (rank > 2 && !llvm::all_equal(shape)))
    return n.fail("argument 'self' has less than two dimensions, or more of different sizes");
  Value row = b.iota(shape, 0, b.i64());
  if (rank == 2 && n.flag("wrap"))
    row = b.remainder(row, b.splatInteger(shape[1] + 1, b.i64()));
  Value mask = b.equal(row, b.iota(shape, 1, b.i64()));
  for (int64_t dim = 2; dim < rank; ++dim)
    mask = b.logicalAnd(mask, b.equal(row, b.iota(shape, dim, b.i64())));
  if (fitTogether(n, {x, mask, value}))
    n.out(b.select(mask, value, x));
}

void lowerMaskedScatter(Node &n) {
  HloBuilder &b = n.b;
  Value x = n.in("self"), mask = cast(b, n.in("mask"), b.i1());
  Value source = flatten(b, n.in("source", HloBuilder::elementOf(x)));
  if (!fitTogether(n, {x, mask}))
    return;
  std::tie(x, mask) = b.broadcastPair(x, mask);
  if (HloBuilder::countOf(x) == 0 || HloBuilder::countOf(source) == 0)
    return n.out(x);
  Value flat = b.convert(flatten(b, mask), b.i64());
  Value places = b.subtract(cumulative(b, flat, 0, Fold::Add), b.like(flat, 1));
  places =
      b.clamp(b.like(places, 0), places, b.like(places, double(HloBuilder::countOf(source) - 1)));
  Value spread = b.reshape(b.take(source, places, 0), HloBuilder::shapeOf(x));
  n.out(b.select(mask, spread, x));
}

/// The elements of the gradient under the mask, one after another, and zeros after them.
void lowerMaskedScatterBackward(Node &n) {
  HloBuilder &b = n.b;
  Value g = n.in("grad_output"), mask = cast(b, n.in("mask"), b.i1());
  Dims sizes = n.integers("sizes");
  if (!fitTogether(n, {g, mask}))
    return;
  std::tie(g, mask) = b.broadcastPair(g, mask);
  int64_t count = 1, given = HloBuilder::countOf(g);
  for (int64_t size : sizes)
    count *= size;
  Type type = HloBuilder::elementOf(g);
  if (count == 0 || given == 0)
    return n.out(b.splat(0, type, sizes));
  Value under = flatten(b, mask), flat = b.convert(under, b.i64());
  Value places = b.subtract(cumulative(b, flat, 0, Fold::Add), b.like(flat, 1));
  // One place more takes what is not under the mask, or has no place.
  Value beyond = b.splatInteger(count, b.i64(), {given});
  places = b.select(under, b.minimum(places, beyond), beyond);
  Value rows =
      b.scatterAlong(b.splat(0, type, {count + 1}), places, flatten(b, g), 0, std::nullopt);
  n.out(b.reshape(b.sliceDim(rows, 0, 0, count), sizes));
}

/// Entries `places[k]` of a dimension become src's entry k.
void overwrite(Node &n, Value x, Value src, int64_t dim, ArrayRef<int64_t> places) {
  HloBuilder &b = n.b;
  if (places.empty())
    return n.out(x);
  int64_t size = HloBuilder::shapeOf(x)[dim];
  SmallVector<int64_t> from(size);
  for (int64_t i = 0; i < size; ++i)
    from[i] = i;
  for (auto [k, place] : llvm::enumerate(places))
    from[place] = size + int64_t(k);
  Dims expected(HloBuilder::shapeOf(x));
  expected[dim] = places.size();
  std::optional<Dims> common = HloBuilder::broadcastShape(HloBuilder::shapeOf(src), expected);
  if (!common || *common != expected)
    return n.fail("argument 'src' does not fit what it replaces");
  src = b.broadcastTo(cast(b, src, HloBuilder::elementOf(x)), expected);
  n.out(b.take(b.concatenate({x, src}, dim), b.integers(from), dim));
}

void lowerSelectScatter(Node &n) {
  Value x = n.in("self"), src = n.in("src");
  int64_t dim = n.dim("dim", HloBuilder::rankOf(x)), index = n.integer("index");
  if (n.failed())
    return;
  if (HloBuilder::rankOf(x) == 0 || HloBuilder::rankOf(src) != HloBuilder::rankOf(x) - 1)
    return n.fail("argument 'src' is not one dimension less than 'self'");
  int64_t size = HloBuilder::shapeOf(x)[dim];
  if (index < 0)
    index += size;
  if (index < 0 || index >= size)
    return n.fail("argument 'index' is out of range");
  overwrite(n, x, n.b.unsqueeze(src, dim), dim, {index});
}

void lowerSliceScatter(Node &n) {
  Value x = n.in("self"), src = n.in("src");
  int64_t dim = n.dim("dim", HloBuilder::rankOf(x)), step = n.integer("step", 1);
  if (n.failed())
    return;
  if (HloBuilder::rankOf(x) == 0 || step < 1)
    return n.fail("argument 'self' or 'step' does not allow a slice");
  auto [start, end] = sliceBounds(n, HloBuilder::shapeOf(x)[dim]);
  SmallVector<int64_t> places;
  for (int64_t i = start; i < end; i += step)
    places.push_back(i);
  overwrite(n, x, src, dim, places);
}

void lowerDiagonalScatter(Node &n) {
  HloBuilder &b = n.b;
  Value x = n.in("self"), src = n.in("src", n.element("self"));
  int64_t rank = HloBuilder::rankOf(x), offset = n.integer("offset");
  int64_t dim1 = n.dim("dim1", rank), dim2 = n.dim("dim2", rank);
  if (n.failed())
    return;
  if (rank < 2 || dim1 == dim2)
    return n.fail("arguments 'dim1' and 'dim2' should be two dimensions");
  if (HloBuilder::rankOf(src) != rank - 1)
    return n.fail("argument 'src' is not one dimension less than 'self'");
  int64_t row = std::max<int64_t>(-offset, 0), column = std::max<int64_t>(offset, 0);
  int64_t count = std::max<int64_t>(
      std::min(HloBuilder::shapeOf(x)[dim1] - row, HloBuilder::shapeOf(x)[dim2] - column), 0);
  if (count == 0 || HloBuilder::countOf(src) == 0)
    return n.out(x);
  Dims order{dim1, dim2}, front{rank - 2};
  for (int64_t i = 0; i < rank; ++i)
    if (i != dim1 && i != dim2)
      order.push_back(i);
  front.append(dimsFrom(0, rank - 2));
  SmallVector<int64_t> places;
  for (int64_t i = 0; i < count; ++i)
    places.append({row + i, column + i});
  if (HloBuilder::shapeOf(src).back() != count)
    return n.fail("argument 'src' is not as long as the diagonal");
  Value written = b.scatterNd(b.transpose(x, order), b.reshape(b.integers(places), {count, 2}),
                              b.transpose(src, front), std::nullopt);
  n.out(b.transpose(written, inverseOf(order)));
}

void lowerAsStridedScatter(Node &n) {
  HloBuilder &b = n.b;
  Value x = n.in("self"), src = flatten(b, n.in("src", n.element("self")));
  if (n.failed())
    return;
  if (HloBuilder::countOf(src) == 0)
    return n.out(x);
  std::optional<SmallVector<int64_t>> places = stridedPlaces(n);
  if (!places)
    return;
  if (int64_t(places->size()) != HloBuilder::countOf(src))
    return n.fail("argument 'src' is not as large as 'size' says");
  Dims shape(HloBuilder::shapeOf(x));
  Value rows = b.unsqueeze(b.integers(*places), 1);
  n.out(b.reshape(b.scatterNd(flatten(b, x), rows, src, std::nullopt), shape));
}

/// Runs of the axis, given by lengths or offsets, each folded to one.
void lowerSegmentReduce(Node &n) {
  HloBuilder &b = n.b;
  Value x = n.in("data");
  Type type = HloBuilder::elementOf(x);
  int64_t axis = n.integer("axis", 0), rank = HloBuilder::rankOf(x);
  auto how = combineNamed(n.text("reduce"));
  if (n.failed())
    return;
  if (!how || (!n.has("lengths") && !n.has("offsets")))
    return n.notYet("argument 'reduce' or 'indices'");
  bool byOffsets = n.has("offsets");
  Value marks = n.in(byOffsets ? "offsets" : "lengths", b.i64());
  if (axis < 0 || axis >= rank || HloBuilder::rankOf(marks) != axis + 1)
    return n.notYet("argument 'axis' with lengths of another rank");
  // For each segment where it begins and ends: [before..., segments].
  int64_t last = HloBuilder::shapeOf(marks)[axis], size = HloBuilder::shapeOf(x)[axis];
  Value begin, end;
  if (byOffsets) {
    begin = b.sliceDim(marks, axis, 0, last - 1);
    end = b.sliceDim(marks, axis, 1, last);
  } else {
    end = cumulative(b, marks, axis, Fold::Add);
    begin = b.subtract(end, marks);
  }
  int64_t segments = HloBuilder::shapeOf(begin)[axis];
  // inside: [before..., segments, size]
  Dims grid(HloBuilder::shapeOf(begin));
  grid.push_back(size);
  Value at = b.iota(grid, axis + 1, b.i64());
  Value inside = b.logicalAnd(b.greaterEqual(at, b.unsqueeze(begin, axis + 1)),
                              b.less(at, b.unsqueeze(end, axis + 1)));
  Dims wide(HloBuilder::shapeOf(x));
  wide.insert(wide.begin() + axis, segments);
  Value spread = b.broadcastTo(b.unsqueeze(x, axis), wide);
  Value hit = b.broadcastInDim(inside, wide, dimsFrom(0, axis + 2));
  Fold fold = foldOf(*how);
  Value initial = b.initialValue(fold, type);
  Value result = b.reduce(b.select(hit, spread, initial), {axis + 1}, fold);
  if (n.has("initial")) {
    Value given = n.in("initial", type);
    result = fold == Fold::Add        ? b.add(result, given)
             : fold == Fold::Multiply ? b.multiply(result, given)
             : fold == Fold::Max      ? b.maximum(result, given)
                                      : b.minimum(result, given);
  }
  if (*how == Way::Mean) {
    Value length = b.convert(b.subtract(end, begin), type);
    Value share = b.broadcastInDim(length, HloBuilder::shapeOf(result), dimsFrom(0, axis + 1));
    Value mean = b.divide(result, share);
    // An empty segment keeps its initial value, or is NaN without one.
    Value none = b.equal(share, b.like(share, 0));
    Value missing =
        n.has("initial") ? result : b.like(result, std::numeric_limits<double>::quiet_NaN());
    result = b.select(none, missing, mean);
  }
  n.out(result);
}

} // namespace

void registerScatter(OpTable &table) {
  table.add("aten.scatter", lowerScatter);
  table.add("aten.scatter_add", lowerScatterAdd);
  table.add("aten.scatter_reduce", lowerScatterReduce);
  table.add("aten.index_add", lowerIndexAdd);
  table.add("aten.index_copy", lowerIndexCopy);
  table.add("aten.index_fill", lowerIndexFill);
  table.add("aten.index_reduce", lowerIndexReduce);
  for (const char *name : {"aten.index_put", "aten._unsafe_index_put", "aten._index_put_impl"})
    table.add(name, lowerIndexPut);
  table.add("aten.put", lowerPut);
  table.add("aten.masked_fill", lowerMaskedFill);
  table.add("aten.fill_diagonal", lowerFillDiagonal);
  table.add("aten.masked_scatter", lowerMaskedScatter);
  table.add("aten.masked_scatter_backward", lowerMaskedScatterBackward);
  table.add("aten.select_scatter", lowerSelectScatter);
  table.add("aten.slice_scatter", lowerSliceScatter);
  table.add("aten.diagonal_scatter", lowerDiagonalScatter);
  table.add("aten.as_strided_scatter", lowerAsStridedScatter);
  table.add("aten.segment_reduce", lowerSegmentReduce);
}

} // namespace cupel::frontends::torch_import
