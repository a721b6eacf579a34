// Reading by index: index, gather, take, select by tensors.

#include "cupel/frontends/torch/ops/Indexing.h"
#include "cupel/frontends/torch/ops/Elementwise.h"
#include "cupel/frontends/torch/ops/Reductions.h"
#include "cupel/frontends/torch/ops/Shapes.h"
#include "cupel/frontends/math/Order.h"

namespace cupel::frontends::torch_import {

using namespace mlir;

namespace {

/// Masks whose values are known replaced by the positions they select, one index a dimension.
/// Nothing, with a complaint, for a mask that only data decide.
std::optional<SmallVector<Value>> withoutMasks(Node &n, ArrayRef<Value> indices) {
  SmallVector<Value> plain;
  for (Value index : indices) {
    if (!index || !HloBuilder::isBool(index)) {
      plain.push_back(index);
      continue;
    }
    std::optional<tensor::Tensor> mask = n.known(index);
    if (!mask || mask->dtype() != tensor::DType::I1 || !mask->isContiguous() || mask->rank() == 0) {
      n.refuse(ErrorCode::DataDependent,
               "argument 'indices' holds a mask: how much it selects depends on values");
      return std::nullopt;
    }
    ArrayRef<int64_t> shape = HloBuilder::shapeOf(index);
    SmallVector<SmallVector<int64_t>> places(shape.size());
    for (int64_t i = 0; i < mask->size(); ++i) {
      if (!mask->dataAs<uint8_t>()[i])
        continue;
      int64_t rest = i;
      for (size_t d = shape.size(); d-- > 0; rest /= shape[d])
        places[d].push_back(rest % shape[d]);
    }
    for (const SmallVector<int64_t> &column : places)
      plain.push_back(n.b.integers(column));
  }
  return plain;
}

} // namespace

std::optional<IndexPlan> planIndices(Node &n, Value x, ArrayRef<Value> given) {
  HloBuilder &b = n.b;
  int64_t rank = HloBuilder::rankOf(x);
  std::optional<SmallVector<Value>> plain = withoutMasks(n, given);
  if (!plain)
    return std::nullopt;
  ArrayRef<Value> indices = *plain;
  if (int64_t(indices.size()) > rank) {
    n.fail("argument 'indices' names more dimensions than 'self' has");
    return std::nullopt;
  }
  IndexPlan plan;
  Dims rest;
  bool adjacent = true;
  int64_t last = -1, first = -1;
  for (int64_t i = 0; i < rank; ++i) {
    if (i >= int64_t(indices.size()) || !indices[i]) {
      rest.push_back(i);
      continue;
    }
    if (last >= 0 && last != i - 1)
      adjacent = false;
    if (first < 0)
      first = i;
    last = i;
    plan.order.push_back(i);
    std::optional<Dims> common =
        HloBuilder::broadcastShape(plan.common, HloBuilder::shapeOf(indices[i]));
    if (!common) {
      n.fail("argument 'indices' holds tensors that do not broadcast together");
      return std::nullopt;
    }
    plan.common = *common;
  }
  plan.indexed = plan.order.size();
  int64_t width = plan.common.size();
  SmallVector<Value> columns;
  for (int64_t dim : plan.order) {
    Value index = b.wrapIndices(b.convert(indices[dim], b.i64()), HloBuilder::shapeOf(x)[dim]);
    columns.push_back(b.unsqueeze(b.broadcastTo(index, plan.common), width));
  }
  if (columns.empty()) {
    n.fail("argument 'indices' holds no tensor");
    return std::nullopt;
  }
  plan.rows = b.concatenate(columns, width);
  plan.order.append(rest.begin(), rest.end());
  // Adjacent index tensors leave their dimensions where they stood, others move to the front.
  int64_t before = adjacent ? first : 0;
  for (int64_t i = 0; i < before; ++i)
    plan.placement.push_back(width + i);
  for (int64_t i = 0; i < width; ++i)
    plan.placement.push_back(i);
  for (int64_t i = before; i < int64_t(rest.size()); ++i)
    plan.placement.push_back(width + i);
  Dims gathered = plan.common;
  for (int64_t dim : rest)
    gathered.push_back(HloBuilder::shapeOf(x)[dim]);
  for (int64_t from : plan.placement)
    plan.shape.push_back(gathered[from]);
  return plan;
}

Value gatherBy(HloBuilder &b, Value x, const IndexPlan &plan) {
  if (b.tensorType(plan.shape, HloBuilder::elementOf(x)).getNumElements() == 0)
    return b.splat(0, HloBuilder::elementOf(x), plan.shape);
  return b.transpose(b.gatherNd(b.transpose(x, plan.order), plan.rows), plan.placement);
}

Value scatterBy(HloBuilder &b, Value x, const IndexPlan &plan, Value values, bool accumulate) {
  if (HloBuilder::countOf(values) == 0)
    return x;
  Value updates = b.transpose(values, inverseOf(plan.placement));
  Value moved = b.transpose(x, plan.order);
  Value written = b.scatterNd(moved, plan.rows, updates,
                              accumulate ? std::optional<Fold>(Fold::Add) : std::nullopt);
  return b.transpose(written, inverseOf(plan.order));
}

namespace {

void lowerIndex(Node &n) {
  Value x = n.in("self");
  SmallVector<Value> indices = n.list("indices");
  if (n.failed())
    return;
  if (llvm::all_of(indices, [](Value v) { return !v; }))
    return n.out(x);
  if (auto plan = planIndices(n, x, indices))
    n.out(gatherBy(n.b, x, *plan));
}

/// Indices outside are moved inside: what they read is masked out.
SmallVector<Value> insideIndices(Node &n, Value x) {
  HloBuilder &b = n.b;
  SmallVector<Value> indices = n.list("indices");
  for (auto [i, index] : llvm::enumerate(indices))
    if (index && int64_t(i) < HloBuilder::rankOf(x)) {
      Value wide = b.convert(index, b.i64());
      int64_t size = HloBuilder::shapeOf(x)[i];
      index = b.clamp(b.like(wide, double(-size)), wide, b.like(wide, double(size - 1)));
    }
  return indices;
}

void lowerMaskedIndex(Node &n) {
  HloBuilder &b = n.b;
  Value x = n.in("self");
  SmallVector<Value> indices = insideIndices(n, x);
  if (n.failed() || emptyResult(n))
    return;
  Value filler = n.in("fill", HloBuilder::elementOf(x));
  if (HloBuilder::countOf(x) == 0)
    return n.out(b.broadcastTo(filler, n.resultShape()));
  auto plan = planIndices(n, x, indices);
  if (!plan)
    return;
  Value picked = gatherBy(b, x, *plan), mask = cast(b, n.in("mask"), b.i1());
  if (fitTogether(n, {mask, picked}))
    n.out(b.select(mask, picked, filler));
}

void lowerMaskedIndexPut(Node &n) {
  HloBuilder &b = n.b;
  Value x = n.in("self");
  SmallVector<Value> indices = insideIndices(n, x);
  if (n.failed() || emptyResult(n))
    return;
  auto plan = planIndices(n, x, indices);
  if (!plan)
    return;
  Value values = n.in("values", HloBuilder::elementOf(x)), mask = cast(b, n.in("mask"), b.i1());
  if (!fitTogether(n, {mask, values}))
    return;
  values = b.select(mask, values, b.like(values, 0));
  std::optional<Dims> common = HloBuilder::broadcastShape(HloBuilder::shapeOf(values), plan->shape);
  if (!common || *common != plan->shape)
    return n.fail("argument 'values' does not broadcast to what is indexed");
  n.out(scatterBy(b, x, *plan, b.broadcastTo(values, plan->shape), true));
}

void lowerIndexSelect(Node &n) {
  HloBuilder &b = n.b;
  Value x = n.in("self"), index = n.in("index", b.i64());
  int64_t dim = n.dim("dim", HloBuilder::rankOf(x));
  if (n.failed() || emptyResult(n))
    return;
  if (HloBuilder::rankOf(x) == 0)
    return n.out(b.reshape(x, n.resultShape()));
  n.out(b.take(x, flatten(b, b.wrapIndices(index, HloBuilder::shapeOf(x)[dim])), dim));
}

void lowerGather(Node &n) {
  HloBuilder &b = n.b;
  Value x = n.in("self"), index = n.in("index", b.i64());
  int64_t dim = n.dim("dim", HloBuilder::rankOf(x));
  if (n.failed() || emptyResult(n))
    return;
  if (HloBuilder::rankOf(x) == 0)
    x = b.reshape(x, {1});
  if (HloBuilder::rankOf(index) == 0)
    index = b.reshape(index, {1});
  if (HloBuilder::rankOf(x) != HloBuilder::rankOf(index))
    return n.fail("arguments 'self' and 'index' differ in rank");
  for (int64_t i = 0; i < HloBuilder::rankOf(x); ++i)
    if (i != dim && HloBuilder::shapeOf(index)[i] > HloBuilder::shapeOf(x)[i])
      return n.fail("argument 'index' is larger than 'self'");
  Value wrapped = b.wrapIndices(index, HloBuilder::shapeOf(x)[dim]);
  n.out(b.reshape(b.takeAlong(x, wrapped, dim), n.resultShape()));
}

void lowerTake(Node &n) {
  HloBuilder &b = n.b;
  Value x = flatten(b, n.in("self")), index = n.in("index", b.i64());
  if (n.failed() || emptyResult(n))
    return;
  n.out(b.take(x, b.wrapIndices(index, HloBuilder::countOf(x)), 0));
}

void lowerTakeAlongDim(Node &n) {
  HloBuilder &b = n.b;
  Value x = n.in("self"), index = n.in("indices", b.i64());
  int64_t dim = 0;
  if (n.has("dim")) {
    dim = n.dim("dim", HloBuilder::rankOf(x));
  } else {
    x = flatten(b, x);
    index = flatten(b, index);
  }
  if (n.failed() || emptyResult(n))
    return;
  if (HloBuilder::rankOf(x) != HloBuilder::rankOf(index) || HloBuilder::rankOf(x) == 0)
    return n.fail("arguments 'self' and 'indices' differ in rank");
  Dims left(HloBuilder::shapeOf(x)), right(HloBuilder::shapeOf(index));
  int64_t size = left[dim], picks = right[dim];
  left[dim] = right[dim] = 1;
  std::optional<Dims> common = HloBuilder::broadcastShape(left, right);
  if (!common)
    return n.fail("arguments 'self' and 'indices' do not broadcast");
  left = right = *common;
  left[dim] = size;
  right[dim] = picks;
  Value wrapped = b.wrapIndices(b.broadcastTo(index, right), size);
  n.out(b.reshape(b.takeAlong(b.broadcastTo(x, left), wrapped, dim), n.resultShape()));
}

/// As many places as asked for, in order; what is missing is filled.
void lowerNonzeroStatic(Node &n) {
  HloBuilder &b = n.b;
  Value x = n.in("self");
  int64_t size = n.integer("size"), filler = n.integer("fill_value", -1);
  if (n.failed() || emptyResult(n))
    return;
  Dims shape(HloBuilder::shapeOf(x));
  Value hit = flatten(b, cast(b, x, b.i1()));
  int64_t count = HloBuilder::countOf(hit), rank = shape.size();
  Value rows = b.splatInteger(filler, b.i64(), {size, rank});
  if (count == 0)
    return n.out(rows);
  // False before true in a stable sort puts the places that count last, so the flags are turned.
  Value places = sorted(b, b.convert(b.logicalNot(hit), b.i32()), 0, false).second;
  if (count < size)
    places = b.pad(places, b.splatInteger(0, b.i64()), {0}, {size - count});
  else
    places = b.sliceDim(places, 0, 0, size);
  Value found = b.reduce(b.convert(hit, b.i64()), {0}, Fold::Add);
  SmallVector<Value> columns;
  int64_t step = count;
  for (int64_t extent : shape) {
    step /= extent;
    Value at = b.remainder(b.divide(places, b.splatInteger(step, b.i64())),
                           b.splatInteger(extent, b.i64()));
    columns.push_back(b.unsqueeze(at, 1));
  }
  Value good = b.less(b.iota({size, 1}, 0, b.i64()), found);
  n.out(b.select(good, b.concatenate(columns, 1), rows));
}

/// Of what is empty nothing can be found.
void lowerDataDependent(Node &n) {
  if (HloBuilder::countOf(n.in("self")) != 0 || !emptyResult(n))
    n.refuse(ErrorCode::DataDependent, "the shape of its result depends on values");
}

} // namespace

void registerIndexing(OpTable &table) {
  table.add("aten.index", lowerIndex);
  table.add("aten._unsafe_index", lowerIndex);
  table.add("aten._unsafe_masked_index", lowerMaskedIndex);
  table.add("aten._unsafe_masked_index_put_accumulate", lowerMaskedIndexPut);
  table.add("aten.index_select", lowerIndexSelect);
  table.add("aten.gather", lowerGather);
  table.add("aten.take", lowerTake);
  table.add("aten.take_along_dim", lowerTakeAlongDim);
  table.add("aten.nonzero_static", lowerNonzeroStatic);
  for (const char *name :
       {"aten.nonzero", "aten.nonzero_numpy", "aten.argwhere", "aten.masked_select"})
    table.add(name, lowerDataDependent);
}

} // namespace cupel::frontends::torch_import
