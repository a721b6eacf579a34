// Joining, repeating, turning, masking by position and other rearrangements that copy.

#include "cupel/frontends/torch/ops/Shapes.h"

#include <numeric>

namespace cupel::frontends::torch_import {

using namespace mlir;

Value atOrAbove(HloBuilder &b, ArrayRef<int64_t> shape, int64_t offset) {
  int64_t rank = shape.size();
  Dims matrix{shape[rank - 2], shape[rank - 1]};
  Value gap = b.subtract(b.iota(matrix, 1, b.i64()), b.iota(matrix, 0, b.i64()));
  return b.greaterEqual(gap, b.splatInteger(offset, b.i64()));
}

namespace {

/// Joins along a dimension in the result's type; torch lets empty vectors of any rank pass.
void join(Node &n, ArrayRef<Value> values, int64_t dim) {
  HloBuilder &b = n.b;
  Type type = n.resultElement();
  Dims expected(n.resultShape());
  if (n.failed())
    return;
  SmallVector<Value> kept;
  int64_t total = 0;
  for (Value value : values) {
    if (!value)
      return n.fail("a tensor of the list is None");
    ArrayRef<int64_t> shape = HloBuilder::shapeOf(value);
    if (shape.size() == 1 && shape[0] == 0 && expected.size() != 1)
      continue;
    if (shape.size() != expected.size() || dim >= int64_t(shape.size()))
      return n.fail("the tensors differ in rank");
    for (int64_t i = 0; i < int64_t(shape.size()); ++i)
      if (i != dim && shape[i] != expected[i])
        return n.fail("the tensors differ in another dimension than the joined one");
    total += shape[dim];
    kept.push_back(cast(b, value, type));
  }
  if (kept.empty() || b.tensorType(expected, type).getNumElements() == 0)
    return n.out(b.splat(0, type, expected));
  if (total != expected[dim])
    return n.fail("the joined dimension has another size than declared");
  n.out(b.concatenate(kept, dim));
}

void lowerCat(Node &n) {
  SmallVector<Value> values = n.list("tensors");
  int64_t dim = n.dim("dim", n.resultShape().size());
  join(n, values, dim);
}

void lowerStack(Node &n) {
  SmallVector<Value> values = n.list("tensors");
  int64_t dim = n.dim("dim", n.resultShape().size());
  if (n.failed())
    return;
  for (Value &value : values)
    if (value) {
      if (HloBuilder::rankOf(value) < dim)
        return n.fail("argument 'dim' is out of range");
      value = n.b.unsqueeze(value, dim);
    }
  join(n, values, dim);
}

/// hstack, vstack, dstack, column_stack: everything becomes as deep as needed first.
void stackLike(Node &n, int64_t dim, const std::function<Dims(ArrayRef<int64_t>)> &deepen) {
  SmallVector<Value> values = n.list("tensors");
  if (n.failed())
    return;
  for (Value &value : values)
    if (value)
      value = n.b.reshape(value, deepen(HloBuilder::shapeOf(value)));
  join(n, values, dim);
}

void lowerHstack(Node &n) {
  stackLike(n, n.resultShape().size() == 1 ? 0 : 1,
            [](ArrayRef<int64_t> shape) { return shape.empty() ? Dims{1} : Dims(shape); });
}
void lowerVstack(Node &n) {
  stackLike(n, 0, [](ArrayRef<int64_t> shape) {
    if (shape.size() >= 2)
      return Dims(shape);
    return shape.empty() ? Dims{1, 1} : Dims{1, shape[0]};
  });
}
void lowerDstack(Node &n) {
  stackLike(n, 2, [](ArrayRef<int64_t> shape) {
    Dims deep(shape);
    if (deep.empty())
      return Dims{1, 1, 1};
    if (deep.size() == 1)
      return Dims{1, deep[0], 1};
    if (deep.size() == 2)
      deep.push_back(1);
    return deep;
  });
}
void lowerColumnStack(Node &n) {
  stackLike(n, 1, [](ArrayRef<int64_t> shape) {
    if (shape.size() >= 2)
      return Dims(shape);
    return shape.empty() ? Dims{1, 1} : Dims{shape[0], 1};
  });
}

Value repeated(HloBuilder &b, Value x, ArrayRef<int64_t> repeats) {
  Dims shape(repeats.size() - HloBuilder::rankOf(x), 1), wide, result, places;
  shape.append(HloBuilder::shapeOf(x).begin(), HloBuilder::shapeOf(x).end());
  for (auto [size, times] : llvm::zip(shape, repeats)) {
    wide.append({times, size});
    result.push_back(times * size);
    places.push_back(int64_t(wide.size()) - 1);
  }
  return b.reshape(b.broadcastInDim(b.reshape(x, shape), wide, places), result);
}

void lowerRepeat(Node &n) {
  Value x = n.in("self");
  Dims repeats = n.integers(n.declares("repeats") ? "repeats" : "dims");
  int64_t rank = HloBuilder::rankOf(x);
  if (n.failed() || emptyResult(n))
    return;
  if (n.target().starts_with("aten.tile"))
    while (int64_t(repeats.size()) < rank)
      repeats.insert(repeats.begin(), 1);
  if (int64_t(repeats.size()) < rank)
    return n.fail("argument 'repeats' is shorter than the rank of 'self'");
  n.out(repeated(n.b, x, repeats));
}

void lowerFlip(Node &n) {
  Value x = n.in("self");
  Dims dims = n.dims("dims", HloBuilder::rankOf(x), false);
  if (HloBuilder::rankOf(x) == 0)
    dims.clear();
  if (!n.failed())
    n.out(n.b.reverse(x, dims));
}
template <int64_t dim> void lowerFlipOne(Node &n) {
  if (n.rank("self") <= dim)
    return n.fail("argument 'self' has too few dimensions");
  n.out(n.b.reverse(n.in("self"), {dim}));
}

Value rolled(HloBuilder &b, Value x, int64_t dim, int64_t shift) {
  int64_t size = HloBuilder::shapeOf(x)[dim];
  if (size == 0)
    return x;
  shift = ((shift % size) + size) % size;
  if (shift == 0)
    return x;
  return b.concatenate(
      {b.sliceDim(x, dim, size - shift, size), b.sliceDim(x, dim, 0, size - shift)}, dim);
}

void lowerRoll(Node &n) {
  HloBuilder &b = n.b;
  Value x = n.in("self");
  Dims shifts = n.integers("shifts"), dims;
  for (int64_t dim : n.integers("dims"))
    dims.push_back(n.wrapDim(dim, HloBuilder::rankOf(x)));
  if (n.failed())
    return;
  if (HloBuilder::rankOf(x) == 0)
    return n.out(x);
  if (dims.empty() && shifts.size() == 1) {
    Dims shape(HloBuilder::shapeOf(x));
    return n.out(b.reshape(rolled(b, flatten(b, x), 0, shifts[0]), shape));
  }
  if (dims.size() != shifts.size())
    return n.fail("arguments 'shifts' and 'dims' differ in length");
  for (auto [shift, dim] : llvm::zip(shifts, dims))
    x = rolled(b, x, dim, shift);
  n.out(x);
}

void lowerRot90(Node &n) {
  HloBuilder &b = n.b;
  Value x = n.in("self");
  Dims dims;
  for (int64_t dim : n.integers("dims"))
    dims.push_back(n.wrapDim(dim, HloBuilder::rankOf(x)));
  if (n.failed())
    return;
  if (dims.size() != 2 || dims[0] == dims[1])
    return n.fail("argument 'dims' should be two dimensions");
  Dims order = dimsFrom(0, HloBuilder::rankOf(x));
  std::swap(order[dims[0]], order[dims[1]]);
  switch (((n.integer("k", 1) % 4) + 4) % 4) {
  case 0:
    return n.out(x);
  case 1:
    return n.out(b.transpose(b.reverse(x, {dims[1]}), order));
  case 2:
    return n.out(b.reverse(x, dims));
  default:
    return n.out(b.transpose(b.reverse(x, {dims[0]}), order));
  }
}

template <bool upper> void lowerTriangle(Node &n) {
  HloBuilder &b = n.b;
  Value x = n.in("self");
  if (HloBuilder::rankOf(x) < 2)
    return n.fail("argument 'self' has less than two dimensions");
  int64_t k = n.integer("diagonal");
  Value keep = upper ? atOrAbove(b, HloBuilder::shapeOf(x), k)
                     : b.logicalNot(atOrAbove(b, HloBuilder::shapeOf(x), k + 1));
  n.out(b.select(keep, x, b.like(x, 0)));
}

void lowerRepeatInterleave(Node &n) {
  HloBuilder &b = n.b;
  if (n.declares("self") == false) { // Indices, each as often as `repeats` says.
    std::optional<Dims> known = knownIntegers(n, "repeats");
    if (!known)
      return n.refuse(ErrorCode::DataDependent,
                      "argument 'repeats' decides the result's size by its values");
    SmallVector<int64_t> places;
    for (auto [i, times] : llvm::enumerate(*known))
      places.append(std::max<int64_t>(times, 0), i);
    return n.out(b.integers(places));
  }
  Value x = n.in("self");
  int64_t dim = 0;
  if (n.has("dim")) {
    dim = n.dim("dim", HloBuilder::rankOf(x));
    if (HloBuilder::rankOf(x) == 0)
      x = b.reshape(x, {1});
  } else {
    x = flatten(b, x);
  }
  if (n.failed() || emptyResult(n))
    return;
  if (!hasResultRank(n, HloBuilder::rankOf(x)))
    return;
  int64_t size = HloBuilder::shapeOf(x)[dim], want = n.resultShape()[dim];
  if (n.isTensor("repeats")) {
    Value repeats = flatten(b, n.in("repeats", b.i64()));
    if (HloBuilder::countOf(repeats) == 1 && size != 1)
      repeats = b.broadcastTo(repeats, {size});
    if (HloBuilder::countOf(repeats) != size)
      return n.fail("argument 'repeats' is not one number an entry");
    // The size is declared: place j comes from the entry whose running total first exceeds j.
    HloBuilder::Window window;
    window.sizes = {size};
    window.low = {size - 1};
    Value ends = b.reduceWindow(repeats, window, Fold::Add);
    Value passed = b.lessEqual(b.reshape(ends, {1, size}), b.iota({want, 1}, 0, b.i64()));
    Value places = b.reduce(b.convert(passed, b.i64()), {1}, Fold::Add);
    return n.out(b.take(x, places, dim));
  }
  int64_t times = n.integer("repeats");
  SmallVector<int64_t> places;
  for (int64_t i = 0; i < size; ++i)
    places.append(std::max<int64_t>(times, 0), i);
  n.out(b.take(x, b.integers(places), dim));
}

/// A diagonal put into zeros: the result's last two dimensions, unless told otherwise.
Value embedded(HloBuilder &b, Value x, int64_t offset) {
  int64_t rank = HloBuilder::rankOf(x), count = HloBuilder::shapeOf(x)[rank - 1];
  int64_t size = count + std::abs(offset);
  Dims shape(HloBuilder::shapeOf(x));
  shape.back() = size;
  shape.push_back(size);
  // Row i holds x[i - max(-offset, 0)] at column i + offset.
  int64_t before = std::max<int64_t>(-offset, 0);
  Dims low(rank, 0), high(rank, 0);
  low.back() = before;
  high.back() = size - count - before;
  Value column = b.pad(x, b.splat(0, HloBuilder::elementOf(x)), low, high);
  Dims places = dimsFrom(0, rank);
  Value wide = b.broadcastInDim(column, shape, places);
  Value gap = b.subtract(b.iota({size, size}, 1, b.i64()), b.iota({size, size}, 0, b.i64()));
  Value hit = b.equal(gap, b.splatInteger(offset, b.i64()));
  return b.select(hit, wide, b.like(wide, 0));
}

void lowerDiag(Node &n) {
  HloBuilder &b = n.b;
  Value x = n.in("self");
  int64_t offset = n.integer("diagonal");
  if (emptyResult(n))
    return;
  if (HloBuilder::rankOf(x) == 1)
    return n.out(embedded(b, x, offset));
  if (HloBuilder::rankOf(x) != 2)
    return n.fail("argument 'self' is neither a vector nor a matrix");
  n.out(diagonalOf(b, x, offset, 0, 1));
}

void lowerDiagflat(Node &n) {
  if (!emptyResult(n))
    n.out(embedded(n.b, flatten(n.b, n.in("self")), n.integer("offset")));
}

void lowerDiagEmbed(Node &n) {
  HloBuilder &b = n.b;
  Value x = n.in("self");
  int64_t rank = HloBuilder::rankOf(x) + 1;
  int64_t dim1 = n.dim("dim1", rank), dim2 = n.dim("dim2", rank), offset = n.integer("offset");
  if (n.failed() || emptyResult(n))
    return;
  if (HloBuilder::rankOf(x) < 1 || dim1 == dim2)
    return n.fail("arguments 'dim1' and 'dim2' should be two dimensions");
  Value wide = embedded(b, x, offset);
  Dims order(rank, -1);
  order[dim1] = rank - 2;
  order[dim2] = rank - 1;
  int64_t next = 0;
  for (int64_t &place : order)
    if (place < 0)
      place = next++;
  n.out(b.transpose(wide, order));
}

void lowerBlockDiag(Node &n) {
  HloBuilder &b = n.b;
  SmallVector<Value> rows;
  Type type = n.resultElement();
  Dims shape(n.resultShape());
  if (n.failed() || !hasResultRank(n, 2) || emptyResult(n))
    return;
  int64_t column = 0;
  for (Value value : n.list("tensors")) {
    Dims size(HloBuilder::shapeOf(value));
    while (size.size() < 2)
      size.insert(size.begin(), 1);
    if (size.size() != 2 || column + size[1] > shape[1])
      return n.fail("argument 'tensors' holds more than matrices, or too many of them");
    Value block = cast(b, b.reshape(value, size), type);
    if (HloBuilder::countOf(block) == 0)
      block = b.splat(0, type, size);
    rows.push_back(b.pad(block, b.splat(0, type), {0, column}, {0, shape[1] - column - size[1]}));
    column += size[1];
  }
  n.out(b.concatenate(rows, 0));
}

void lowerMeshgrid(Node &n) {
  HloBuilder &b = n.b;
  SmallVector<Value> values = n.list("tensors"), results;
  bool swapped = n.declares("indexing") && n.text("indexing", "ij") == "xy" && values.size() >= 2;
  auto types = n.resultTypes();
  if (n.failed())
    return;
  if (types.size() != values.size())
    return n.fail("it has another number of results than tensors");
  for (auto [i, value] : llvm::enumerate(values)) {
    int64_t dim = swapped && i < 2 ? 1 - int64_t(i) : int64_t(i);
    Value line = flatten(b, value);
    if (dim >= types[i].getRank() || types[i].getShape()[dim] != HloBuilder::countOf(line))
      return n.fail("argument 'tensors' does not fit the results");
    results.push_back(b.broadcastInDim(line, types[i].getShape(), {dim}));
  }
  n.outList(0, results);
}

void lowerCartesianProduct(Node &n) {
  HloBuilder &b = n.b;
  SmallVector<Value> values = n.list("tensors");
  if (n.failed() || emptyResult(n))
    return;
  if (values.size() == 1)
    return n.out(values[0]);
  Dims grid;
  for (Value value : values)
    grid.push_back(HloBuilder::countOf(value));
  SmallVector<Value> columns;
  int64_t total = std::accumulate(grid.begin(), grid.end(), int64_t(1), std::multiplies<>());
  for (auto [i, value] : llvm::enumerate(values))
    columns.push_back(b.reshape(
        b.broadcastInDim(cast(b, flatten(b, value), n.resultElement()), grid, {int64_t(i)}),
        {total, 1}));
  n.out(b.concatenate(columns, 1));
}

void lowerCombinations(Node &n) {
  HloBuilder &b = n.b;
  if (n.rank("self") != 1)
    return n.fail("argument 'self' is no vector");
  int64_t r = n.integer("r", 2), size = n.shape("self")[0];
  bool again = n.flag("with_replacement");
  if (r < 1 || r > 8)
    return n.notYet("argument 'r' is not between 1 and 8");
  SmallVector<int64_t> places;
  Dims at(r, 0);
  std::function<void(int64_t, int64_t)> walk = [&](int64_t depth, int64_t from) {
    if (depth == r) {
      places.append(at.begin(), at.end());
      return;
    }
    for (int64_t i = from; i < size && places.size() < (1u << 22); ++i) {
      at[depth] = i;
      walk(depth + 1, again ? i : i + 1);
    }
  };
  walk(0, 0);
  int64_t rows = int64_t(places.size()) / r;
  if (rows == 0)
    return n.out(b.splat(0, n.element("self"), {0, r}));
  n.out(b.reshape(b.take(n.in("self"), b.integers(places), 0), {rows, r}));
}

void lowerPixelShuffle(Node &n) {
  HloBuilder &b = n.b;
  Value x = n.in("self");
  int64_t f = n.integer("upscale_factor"), rank = HloBuilder::rankOf(x);
  if (emptyResult(n))
    return;
  if (rank < 3 || f < 1 || HloBuilder::shapeOf(x)[rank - 3] % (f * f))
    return n.fail("argument 'upscale_factor' does not fit 'self'");
  ArrayRef<int64_t> s = HloBuilder::shapeOf(x);
  Dims split(s.begin(), s.end() - 3);
  split.append({s[rank - 3] / (f * f), f, f, s[rank - 2], s[rank - 1]});
  Dims order = dimsFrom(0, rank - 3);
  int64_t p = rank - 3;
  order.append({p, p + 3, p + 1, p + 4, p + 2});
  n.out(b.reshape(b.transpose(b.reshape(x, split), order), n.resultShape()));
}

void lowerPixelUnshuffle(Node &n) {
  HloBuilder &b = n.b;
  Value x = n.in("self");
  int64_t f = n.integer("downscale_factor"), rank = HloBuilder::rankOf(x);
  if (emptyResult(n))
    return;
  ArrayRef<int64_t> s = HloBuilder::shapeOf(x);
  if (rank < 3 || f < 1 || s[rank - 2] % f || s[rank - 1] % f)
    return n.fail("argument 'downscale_factor' does not fit 'self'");
  Dims split(s.begin(), s.end() - 3);
  split.append({s[rank - 3], s[rank - 2] / f, f, s[rank - 1] / f, f});
  Dims order = dimsFrom(0, rank - 3);
  int64_t p = rank - 3;
  order.append({p, p + 2, p + 4, p + 1, p + 3});
  n.out(b.reshape(b.transpose(b.reshape(x, split), order), n.resultShape()));
}

void lowerChannelShuffle(Node &n) {
  HloBuilder &b = n.b;
  Value x = n.in("self");
  int64_t groups = n.integer("groups"), rank = HloBuilder::rankOf(x);
  ArrayRef<int64_t> s = HloBuilder::shapeOf(x);
  if (rank < 3 || groups < 1 || s[1] % groups)
    return n.fail("argument 'groups' does not divide the channels");
  Dims shape(s), split{s[0], groups, s[1] / groups}, order{0, 2, 1};
  for (int64_t i = 2; i < rank; ++i) {
    split.push_back(s[i]);
    order.push_back(i + 1);
  }
  n.out(b.reshape(b.transpose(b.reshape(x, split), order), shape));
}

/// Each tensor padded to equal chunks along `dim`, the chunks laid out as rows, all joined.
void lowerChunkCat(Node &n) {
  HloBuilder &b = n.b;
  SmallVector<Value> values = n.list("tensors"), parts;
  int64_t chunks = n.integer("num_chunks");
  if (n.failed() || values.empty() || chunks < 1)
    return n.fail("argument 'num_chunks' or 'tensors' is empty");
  int64_t dim = n.wrapDim(n.integer("dim"), HloBuilder::rankOf(values[0]));
  if (n.failed() || emptyResult(n))
    return;
  for (Value value : values) {
    ArrayRef<int64_t> s = HloBuilder::shapeOf(value);
    if (int64_t(s.size()) <= dim)
      return n.fail("argument 'dim' is out of range");
    int64_t each = (s[dim] + chunks - 1) / chunks;
    Dims low(s.size(), 0), high(s.size(), 0);
    high[dim] = each * chunks - s[dim];
    Value padded =
        b.pad(cast(b, value, n.resultElement()), b.splat(0, n.resultElement()), low, high);
    Dims shape(s.begin(), s.begin() + dim);
    shape.append({chunks, HloBuilder::countOf(padded) /
                              std::max<int64_t>(std::accumulate(s.begin(), s.begin() + dim,
                                                                int64_t(1), std::multiplies<>()) *
                                                    chunks,
                                                1)});
    parts.push_back(b.reshape(padded, shape));
  }
  n.out(b.concatenate(parts, dim + 1));
}

void lowerTrace(Node &n) {
  HloBuilder &b = n.b;
  if (n.rank("self") != 2)
    return n.fail("argument 'self' is no matrix");
  Value x = cast(b, n.in("self"), n.resultElement());
  n.out(sum(b, diagonalOf(b, x, 0, 0, 1), {0}, false));
}

void lowerPadSequence(Node &n) {
  HloBuilder &b = n.b;
  bool batchFirst = n.flag("batch_first"),
       left = n.declares("padding_side") && n.text("padding_side", "right") == "left";
  SmallVector<Value> values = n.list("sequences"), rows;
  Value filler = n.in("padding_value", n.resultElement());
  if (n.failed() || values.empty())
    return;
  if (n.resultShape().size() < 2)
    return n.fail("its declared result has less than two dimensions");
  int64_t longest = n.resultShape()[batchFirst ? 1 : 0];
  for (Value value : values) {
    int64_t rank = HloBuilder::rankOf(value);
    if (rank == 0)
      return n.fail("argument 'sequences' holds scalars");
    Dims low(rank, 0), high(rank, 0);
    (left ? low : high)[0] = longest - HloBuilder::shapeOf(value)[0];
    rows.push_back(b.unsqueeze(b.pad(value, filler, low, high), batchFirst ? 0 : 1));
  }
  n.out(b.concatenate(rows, batchFirst ? 0 : 1));
}

} // namespace

void registerRearrange(OpTable &table) {
  for (const char *name : {"aten.cat", "aten.concat", "aten.concatenate"})
    table.add(name, lowerCat);
  table.add("aten.stack", lowerStack);
  table.add("aten._stack", lowerStack);
  table.add("aten.hstack", lowerHstack);
  table.add("aten.vstack", lowerVstack);
  table.add("aten.row_stack", lowerVstack);
  table.add("aten.dstack", lowerDstack);
  table.add("aten.column_stack", lowerColumnStack);
  table.add("aten.repeat", lowerRepeat);
  table.add("aten.tile", lowerRepeat);
  table.add("aten.flip", lowerFlip);
  table.add("aten.flipud", lowerFlipOne<0>);
  table.add("aten.fliplr", lowerFlipOne<1>);
  table.add("aten.roll", lowerRoll);
  table.add("aten.rot90", lowerRot90);
  table.add("aten.tril", lowerTriangle<false>);
  table.add("aten.triu", lowerTriangle<true>);
  table.add("aten.repeat_interleave", lowerRepeatInterleave);
  table.add("aten.diag", lowerDiag);
  table.add("aten.diagflat", lowerDiagflat);
  table.add("aten.diag_embed", lowerDiagEmbed);
  table.add("aten.block_diag", lowerBlockDiag);
  table.add("aten.meshgrid", lowerMeshgrid);
  table.add("aten.cartesian_prod", lowerCartesianProduct);
  table.add("aten.combinations", lowerCombinations);
  table.add("aten.pixel_shuffle", lowerPixelShuffle);
  table.add("aten.pixel_unshuffle", lowerPixelUnshuffle);
  table.add("aten.channel_shuffle", lowerChannelShuffle);
  table.add("aten.native_channel_shuffle", lowerChannelShuffle);
  table.add("aten._chunk_cat", lowerChunkCat);
  table.add("aten.trace", lowerTrace);
  table.add("aten.pad_sequence", lowerPadSequence);
}

} // namespace cupel::frontends::torch_import
