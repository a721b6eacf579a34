// Views: the same elements under another shape, and their copying forms.

#include "cupel/frontends/torch/ops/Shapes.h"
#include "cupel/tensor/Convert.h"

#include "llvm/ADT/DenseMap.h"

#include <fmt/format.h>

namespace cupel::frontends::torch_import {

using namespace mlir;

Dims moveToLast(int64_t dim, int64_t rank) {
  Dims order;
  for (int64_t i = 0; i < rank; ++i)
    if (i != dim)
      order.push_back(i);
  if (rank)
    order.push_back(dim);
  return order;
}

Dims inverseOf(ArrayRef<int64_t> permutation) {
  Dims inverse(permutation.size(), 0);
  for (auto [i, from] : llvm::enumerate(permutation))
    inverse[from] = i;
  return inverse;
}

Value flatten(HloBuilder &b, Value x) { return b.reshape(x, {HloBuilder::countOf(x)}); }

bool emptyResult(Node &n, size_t i) {
  RankedTensorType type = n.resultType(i);
  if (!type || type.getNumElements() != 0)
    return false;
  n.out(i, n.b.splat(0, type.getElementType(), type.getShape()));
  return true;
}

bool hasResultRank(Node &n, int64_t rank) {
  RankedTensorType type = n.resultType();
  if (type && type.getRank() == rank)
    return true;
  n.fail("its declared result has another rank than " + std::to_string(rank));
  return false;
}

Value diagonalOf(HloBuilder &b, Value x, int64_t offset, int64_t dim1, int64_t dim2) {
  int64_t rows = HloBuilder::shapeOf(x)[dim1], columns = HloBuilder::shapeOf(x)[dim2];
  int64_t row = std::max<int64_t>(-offset, 0), column = std::max<int64_t>(offset, 0);
  int64_t count = std::max<int64_t>(std::min(rows - row, columns - column), 0);
  Dims order{dim1, dim2}, shape;
  for (int64_t i = 0; i < HloBuilder::rankOf(x); ++i)
    if (i != dim1 && i != dim2) {
      order.push_back(i);
      shape.push_back(HloBuilder::shapeOf(x)[i]);
    }
  shape.push_back(count);
  auto type = b.tensorType(shape, HloBuilder::elementOf(x));
  if (type.getNumElements() == 0)
    return b.splat(0, HloBuilder::elementOf(x), shape);
  SmallVector<int64_t> places;
  for (int64_t i = 0; i < count; ++i)
    places.append({row + i, column + i});
  Value indices = b.reshape(b.integers(places), {count, 2});
  Value picked = b.gatherNd(b.transpose(x, order), indices);
  Dims back = dimsFrom(1, HloBuilder::rankOf(picked));
  back.push_back(0);
  return b.transpose(picked, back);
}

std::pair<int64_t, int64_t> sliceBounds(Node &n, int64_t size) {
  auto clip = [&](int64_t at) {
    if (at < 0)
      at += size;
    return std::clamp<int64_t>(at, 0, size);
  };
  int64_t start = clip(n.has("start") ? n.integer("start") : 0);
  int64_t end = clip(n.has("end") ? n.integer("end") : size);
  return {start, std::max(start, end)};
}

std::optional<Dims> knownIntegers(Node &n, StringRef argument) {
  std::optional<tensor::Tensor> known = n.known(argument);
  if (!known)
    return std::nullopt;
  Result<tensor::Tensor> wide = tensor::convert(*known, tensor::DType::I64);
  Result<tensor::Tensor> packed = wide ? wide->contiguous() : Error{wide.message()};
  if (!packed)
    return std::nullopt;
  const int64_t *data = packed->dataAs<int64_t>();
  return Dims(data, data + packed->size());
}

std::optional<SmallVector<int64_t>> stridedPlaces(Node &n) {
  Value x = n.in("self");
  Dims size = n.integers("size"), stride = n.integers("stride"), have = n.strides("self");
  int64_t offset = n.has("storage_offset") ? n.integer("storage_offset") : n.offset("self");
  ArrayRef<int64_t> shape = HloBuilder::shapeOf(x);
  if (n.failed())
    return std::nullopt;
  if (have.empty()) { // Dense.
    have.assign(shape.size(), 1);
    for (size_t i = shape.size(); i-- > 1;)
      have[i - 1] = have[i] * std::max<int64_t>(shape[i], 1);
  }
  if (size.size() != stride.size() || have.size() != shape.size()) {
    n.fail("arguments 'size' and 'stride' differ in length");
    return std::nullopt;
  }
  int64_t total = 1;
  for (int64_t extent : size)
    total *= extent;
  if (total > (1 << 22) || HloBuilder::countOf(x) > (1 << 22)) {
    n.notYet("as_strided of more than four million elements");
    return std::nullopt;
  }
  // Which element of self stands at each place of its storage.
  llvm::DenseMap<int64_t, int64_t> stored;
  auto walk = [](ArrayRef<int64_t> extents, ArrayRef<int64_t> steps, int64_t start,
                 const std::function<void(int64_t, int64_t)> &visit) {
    int64_t count = 1;
    for (int64_t extent : extents)
      count *= extent;
    Dims at(extents.size(), 0);
    int64_t place = start;
    for (int64_t i = 0; i < count; ++i) {
      visit(i, place);
      for (int64_t d = int64_t(extents.size()) - 1; d >= 0; --d) {
        place += steps[d];
        if (++at[d] < extents[d])
          break;
        place -= steps[d] * extents[d];
        at[d] = 0;
      }
    }
  };
  walk(shape, have, n.offset("self"), [&](int64_t i, int64_t place) { stored[place] = i; });
  SmallVector<int64_t> places;
  bool outside = false;
  walk(size, stride, offset, [&](int64_t, int64_t place) {
    auto found = stored.find(place);
    outside |= found == stored.end();
    places.push_back(found == stored.end() ? 0 : found->second);
  });
  if (outside) {
    n.notYet("argument 'size': it reaches memory outside the elements of 'self'");
    return std::nullopt;
  }
  return places;
}

namespace {

/// The declared shape says it all.
void lowerReshape(Node &n) {
  Value x = n.in("self");
  RankedTensorType type = n.resultType();
  if (n.failed())
    return;
  if (!type || type.getNumElements() != HloBuilder::countOf(x))
    return n.fail("its result has another number of elements than argument 'self'");
  n.out(n.b.reshape(x, type.getShape()));
}

void lowerIdentity(Node &n) { n.out(n.in("self")); }

void lowerExpand(Node &n) {
  Value x = n.in("self");
  Dims shape(n.resultShape());
  std::optional<Dims> common = HloBuilder::broadcastShape(HloBuilder::shapeOf(x), shape);
  if (n.failed())
    return;
  if (!common || *common != shape)
    return n.fail("argument 'self' does not broadcast to the result");
  n.out(n.b.broadcastTo(x, shape));
}

void lowerPermute(Node &n) {
  Value x = n.in("self");
  int64_t rank = HloBuilder::rankOf(x);
  Dims order;
  for (int64_t dim : n.integers("dims"))
    order.push_back(n.wrapDim(dim, rank));
  Dims sorted = order;
  llvm::sort(sorted);
  if (n.failed())
    return;
  if (sorted != dimsFrom(0, rank))
    return n.fail("argument 'dims' is no permutation");
  n.out(n.b.transpose(x, order));
}

void swapDims(Node &n, int64_t first, int64_t second) {
  Value x = n.in("self");
  if (n.failed())
    return;
  Dims order = dimsFrom(0, HloBuilder::rankOf(x));
  if (!order.empty())
    std::swap(order[first], order[second]);
  n.out(n.b.transpose(x, order));
}

void lowerTranspose(Node &n) {
  int64_t rank = n.rank("self");
  bool named = n.declares("dim0");
  swapDims(n, n.dim(named ? "dim0" : "axis0", rank), n.dim(named ? "dim1" : "axis1", rank));
}

void lowerT(Node &n) {
  if (n.rank("self") < 2)
    return n.out(n.in("self"));
  swapDims(n, 0, 1);
}

void lowerReverseDims(Node &n) {
  Dims order = dimsFrom(0, n.rank("self"));
  std::reverse(order.begin(), order.end());
  n.out(n.b.transpose(n.in("self"), order));
}

/// mT, mH and adjoint; the latter two conjugate.
template <bool conjugate> void lowerMatrixTranspose(Node &n) {
  HloBuilder &b = n.b;
  Value x = n.in("self");
  int64_t rank = HloBuilder::rankOf(x);
  if (rank >= 2) {
    Dims order = dimsFrom(0, rank);
    std::swap(order[rank - 1], order[rank - 2]);
    x = b.transpose(x, order);
  }
  if (conjugate && HloBuilder::isComplex(x)) {
    Type part = llvm::cast<ComplexType>(HloBuilder::elementOf(x)).getElementType();
    Value imaginary = b.negate(b.unary<stablehlo::ImagOp>(x, part));
    x = b.builder().create<stablehlo::ComplexOp>(
        b.location(), TypeRange{x.getType()},
        ValueRange{b.unary<stablehlo::RealOp>(x, part), imaginary});
  }
  n.out(x);
}

void lowerMoveDim(Node &n) {
  Value x = n.in("self");
  int64_t rank = HloBuilder::rankOf(x);
  Dims from, to;
  for (int64_t dim : n.integers("source"))
    from.push_back(n.wrapDim(dim, rank));
  for (int64_t dim : n.integers("destination"))
    to.push_back(n.wrapDim(dim, rank));
  if (n.failed())
    return;
  if (from.size() != to.size())
    return n.fail("arguments 'source' and 'destination' differ in length");
  if (rank == 0)
    return n.out(x);
  Dims order(rank, -1), rest;
  for (auto [source, target] : llvm::zip(from, to))
    order[target] = source;
  for (int64_t i = 0; i < rank; ++i)
    if (!llvm::is_contained(from, i))
      rest.push_back(i);
  for (int64_t &place : order)
    if (place < 0) {
      if (rest.empty())
        return n.fail("arguments 'source' or 'destination' name a dimension twice");
      place = rest.front();
      rest.erase(rest.begin());
    }
  n.out(n.b.transpose(x, order));
}

void lowerSelect(Node &n) {
  Value x = n.in("self");
  int64_t dim = n.dim("dim", HloBuilder::rankOf(x)), index = n.integer("index");
  if (n.failed())
    return;
  if (HloBuilder::rankOf(x) == 0)
    return n.fail("argument 'self' has no dimension to select from");
  int64_t size = HloBuilder::shapeOf(x)[dim];
  if (index < 0)
    index += size;
  if (index < 0 || index >= size)
    return n.fail("argument 'index' is out of range");
  Dims shape(HloBuilder::shapeOf(x));
  shape.erase(shape.begin() + dim);
  n.out(n.b.reshape(n.b.sliceDim(x, dim, index, index + 1), shape));
}

void lowerSlice(Node &n) {
  Value x = n.in("self");
  int64_t dim = n.dim("dim", HloBuilder::rankOf(x)), step = n.integer("step", 1);
  if (n.failed())
    return;
  if (HloBuilder::rankOf(x) == 0 || step < 1)
    return n.fail("argument 'self' or 'step' does not allow a slice");
  auto [start, end] = sliceBounds(n, HloBuilder::shapeOf(x)[dim]);
  n.out(n.b.sliceDim(x, dim, start, end, step));
}

void lowerNarrow(Node &n) {
  Value x = n.in("self");
  int64_t dim = n.dim("dim", HloBuilder::rankOf(x)), length = n.integer("length");
  if (n.failed())
    return;
  int64_t size = HloBuilder::rankOf(x) ? HloBuilder::shapeOf(x)[dim] : 0, start;
  if (n.isTensor("start")) {
    // The length is static: a dynamic slice does.
    HloBuilder &b = n.b;
    if (HloBuilder::rankOf(x) == 0 || length < 0 || length > size)
      return n.fail("argument 'length' reaches outside");
    SmallVector<Value> starts(HloBuilder::rankOf(x), b.splatInteger(0, b.i64()));
    starts[dim] = b.reshape(b.wrapIndices(n.in("start", b.i64()), size), {});
    Dims sizes(HloBuilder::shapeOf(x));
    sizes[dim] = length;
    return n.out(b.dynamicSlice(x, starts, sizes));
  }
  start = n.integer("start");
  if (start < 0)
    start += size;
  if (start < 0 || length < 0 || start + length > size)
    return n.fail("arguments 'start' and 'length' reach outside");
  n.out(n.b.sliceDim(x, dim, start, start + length));
}

/// Pieces one after another, as long as the results are declared.
void splitAsDeclared(Node &n, int64_t dim) {
  Value x = n.in("self");
  if (n.failed())
    return;
  SmallVector<Value> pieces;
  int64_t at = 0;
  for (RankedTensorType type : n.resultTypes()) {
    if (type.getRank() != HloBuilder::rankOf(x) || type.getRank() == 0)
      return n.fail("a piece has another rank than argument 'self'");
    int64_t length = type.getShape()[dim];
    if (at + length > HloBuilder::shapeOf(x)[dim])
      return n.fail("the pieces are longer than argument 'self'");
    pieces.push_back(n.b.sliceDim(x, dim, at, at + length));
    at += length;
  }
  n.outList(0, pieces);
}

void lowerSplit(Node &n) {
  splitAsDeclared(n, n.declares("dim") ? n.dim("dim", n.rank("self")) : 0);
}

void lowerTensorSplit(Node &n) {
  if (n.declares("tensor_indices_or_sections") && n.isTensor("tensor_indices_or_sections") &&
      !n.known("tensor_indices_or_sections"))
    return n.refuse(ErrorCode::DataDependent,
                    "argument 'tensor_indices_or_sections' decides shapes by its values");
  lowerSplit(n);
}

void lowerHsplit(Node &n) { splitAsDeclared(n, n.rank("self") == 1 ? 0 : 1); }
void lowerVsplit(Node &n) { splitAsDeclared(n, 0); }
void lowerDsplit(Node &n) { splitAsDeclared(n, 2); }

void lowerUnbind(Node &n) {
  Value x = n.in("self");
  int64_t dim = n.dim("dim", HloBuilder::rankOf(x));
  if (n.failed())
    return;
  if (HloBuilder::rankOf(x) == 0)
    return n.fail("argument 'self' has no dimension");
  Dims shape(HloBuilder::shapeOf(x));
  shape.erase(shape.begin() + dim);
  SmallVector<Value> pieces;
  for (int64_t i = 0; i < HloBuilder::shapeOf(x)[dim]; ++i)
    pieces.push_back(n.b.reshape(n.b.sliceDim(x, dim, i, i + 1), shape));
  n.outList(0, pieces);
}

void lowerDiagonal(Node &n) {
  Value x = n.in(n.declares("self") ? "self" : "A");
  int64_t rank = HloBuilder::rankOf(x);
  int64_t dim1 = n.dim("dim1", rank), dim2 = n.dim("dim2", rank);
  if (n.failed())
    return;
  if (rank < 2 || dim1 == dim2)
    return n.fail("arguments 'dim1' and 'dim2' should be two dimensions");
  n.out(diagonalOf(n.b, x, n.integer("offset"), dim1, dim2));
}

void lowerAsStrided(Node &n) {
  if (emptyResult(n))
    return;
  HloBuilder &b = n.b;
  std::optional<SmallVector<int64_t>> places = stridedPlaces(n);
  if (!places)
    return;
  Value picked = b.take(flatten(b, n.in("self")), b.integers(*places), 0);
  n.out(b.reshape(picked, n.resultShape()));
}

void lowerUnfold(Node &n) {
  HloBuilder &b = n.b;
  Value x = n.in("self");
  int64_t dim = n.dim("dimension", HloBuilder::rankOf(x)), size = n.integer("size"),
          step = n.integer("step");
  if (n.failed() || emptyResult(n))
    return;
  if (HloBuilder::rankOf(x) == 0)
    return n.out(b.reshape(x, n.resultShape()));
  int64_t length = HloBuilder::shapeOf(x)[dim];
  if (step < 1 || size < 0 || size > length)
    return n.fail("arguments 'size' and 'step' do not fit the dimension");
  int64_t windows = (length - size) / step + 1;
  SmallVector<int64_t> places;
  for (int64_t w = 0; w < windows; ++w)
    for (int64_t i = 0; i < size; ++i)
      places.push_back(w * step + i);
  Value picked = b.take(x, b.reshape(b.integers(places), {windows, size}), dim);
  n.out(b.transpose(picked, moveToLast(dim + 1, HloBuilder::rankOf(picked))));
}

void lowerBroadcastTensors(Node &n) {
  SmallVector<Value> results;
  auto types = n.resultTypes();
  SmallVector<Value> values = n.list("tensors");
  if (n.failed())
    return;
  if (types.size() != values.size())
    return n.fail("it has another number of results than argument 'tensors'");
  for (auto [value, type] : llvm::zip(values, types)) {
    Dims shape(type.getShape());
    std::optional<Dims> common = HloBuilder::broadcastShape(HloBuilder::shapeOf(value), shape);
    if (!common || *common != shape)
      return n.fail("argument 'tensors' does not broadcast");
    results.push_back(n.b.broadcastTo(value, shape));
  }
  n.outList(0, results);
}

/// atleast_Nd of several tensors.
void lowerAtLeastList(Node &n) {
  SmallVector<Value> results;
  SmallVector<Value> values = n.list("tensors");
  auto types = n.resultTypes();
  if (n.failed())
    return;
  if (types.size() != values.size())
    return n.fail("it has another number of results than argument 'tensors'");
  for (auto [value, type] : llvm::zip(values, types)) {
    if (type.getNumElements() != HloBuilder::countOf(value))
      return n.fail("a result has another number of elements than its argument");
    results.push_back(n.b.reshape(value, type.getShape()));
  }
  n.outList(0, results);
}

void lowerSumToSize(Node &n) {
  HloBuilder &b = n.b;
  Value x = n.in("self");
  Dims shape(n.resultShape()), reduced;
  int64_t more = HloBuilder::rankOf(x) - int64_t(shape.size());
  if (n.failed())
    return;
  std::optional<Dims> common = HloBuilder::broadcastShape(HloBuilder::shapeOf(x), shape);
  if (more < 0 || !common || ArrayRef<int64_t>(*common) != HloBuilder::shapeOf(x))
    return n.fail("argument 'size' does not broadcast to 'self'");
  for (int64_t i = 0; i < HloBuilder::rankOf(x); ++i)
    if (i < more || (shape[i - more] == 1 && HloBuilder::shapeOf(x)[i] != 1))
      reduced.push_back(i);
  n.out(b.reshape(sum(b, x, reduced, true), shape));
}

void lowerResize(Node &n) {
  Value x = n.in("self");
  RankedTensorType type = n.resultType();
  if (n.failed())
    return;
  HloBuilder &b = n.b;
  int64_t want = type.getNumElements(), have = HloBuilder::countOf(x);
  Value flat = flatten(b, x);
  if (want < have)
    flat = b.sliceDim(flat, 0, 0, want);
  else if (want > have) // What is new is not initialised.
    flat = b.pad(flat, b.splat(0, HloBuilder::elementOf(x)), {0}, {want - have});
  n.out(b.reshape(flat, type.getShape()));
}

} // namespace

void registerViews(OpTable &table) {
  auto view = [&](StringRef name, StringRef copy, Lowering lower) {
    table.addView(name, lower);
    if (!copy.empty())
      table.add(copy, lower);
  };
  for (const char *name :
       {"aten.view", "aten.reshape", "aten._unsafe_view", "aten.view_as", "aten.reshape_as",
        "aten._reshape_alias", "aten.flatten", "aten.unflatten", "aten.ravel", "aten.squeeze",
        "aten.unsqueeze", "aten.atleast_1d", "aten.atleast_2d", "aten.atleast_3d"})
    table.addView(name, lowerReshape);
  for (const char *name : {"aten.view_copy", "aten._reshape_copy", "aten._reshape_alias_copy",
                           "aten.squeeze_copy", "aten.unsqueeze_copy"})
    table.add(name, lowerReshape);
  for (const char *name : {"aten.alias", "aten.detach", "aten.lift_fresh", "aten.data",
                           "aten.pin_memory", "aten._pin_memory", "prims.view_of"})
    table.addView(name, lowerIdentity);
  for (const char *name :
       {"aten.atleast_1d.Sequence", "aten.atleast_2d.Sequence", "aten.atleast_3d.Sequence"})
    table.add(name, lowerAtLeastList);
  view("aten.expand", "aten.expand_copy", lowerExpand);
  view("aten.expand_as", "", lowerExpand);
  view("aten.broadcast_to", "", lowerExpand);
  table.add("aten.broadcast_tensors", lowerBroadcastTensors);
  view("aten.permute", "aten.permute_copy", lowerPermute);
  view("aten.transpose", "aten.transpose_copy", lowerTranspose);
  view("aten.swapaxes", "", lowerTranspose);
  view("aten.swapdims", "", lowerTranspose);
  view("aten.t", "aten.t_copy", lowerT);
  view("aten.numpy_T", "", lowerReverseDims);
  view("aten.mT", "", lowerMatrixTranspose<false>);
  for (const char *name : {"aten.mH", "aten.adjoint", "aten.matrix_H"})
    table.addView(name, lowerMatrixTranspose<true>);
  view("aten.movedim", "", lowerMoveDim);
  view("aten.moveaxis", "", lowerMoveDim);
  view("aten.select", "aten.select_copy", lowerSelect);
  view("aten.slice", "aten.slice_copy", lowerSlice);
  view("aten.narrow", "aten.narrow_copy", lowerNarrow);
  view("aten.split", "aten.split_copy", lowerSplit);
  view("aten.split_with_sizes", "aten.split_with_sizes_copy", lowerSplit);
  for (const char *name :
       {"aten.unsafe_split", "aten.unsafe_split_with_sizes", "aten.unsafe_chunk"})
    table.add(name, lowerSplit);
  table.addView("aten.chunk", lowerSplit);
  table.addView("aten.tensor_split", lowerTensorSplit);
  table.addView("aten.hsplit", lowerHsplit);
  table.addView("aten.vsplit", lowerVsplit);
  table.addView("aten.dsplit", lowerDsplit);
  view("aten.unbind", "aten.unbind_copy", lowerUnbind);
  view("aten.diagonal", "aten.diagonal_copy", lowerDiagonal);
  table.addView("aten.linalg_diagonal", lowerDiagonal);
  view("aten.as_strided", "aten.as_strided_copy", lowerAsStrided);
  view("aten.unfold", "aten.unfold_copy", lowerUnfold);
  table.add("aten.sum_to_size", lowerSumToSize);
  table.add("aten._grad_sum_to_size", lowerSumToSize);
  table.add("aten.resize", lowerResize);
  table.add("aten.resize_as", lowerResize);
}

} // namespace cupel::frontends::torch_import
