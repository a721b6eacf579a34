// Gathers and scatters whose index vectors only count along a dimension of the batch, where nothing else of the vectors changes, take that dimension
// whole: the places of an image are the same in all of its channels. So places, and what is computed of them besides, are computed once, not for
// every channel (`grid_sample` and `fold` where an importer writes index vectors of all dimensions).

#include "cupel/compiler/rewrites/Rewrites.h"
#include "cupel/compiler/tensor/Gathers.h"
#include "cupel/compiler/tensor/Group.h"
#include "cupel/compiler/tensor/Passes.h"

#include <numeric>

using namespace mlir;

namespace cupel::tir {

#define GEN_PASS_DEF_WIDENWINDOWS
#include "cupel/compiler/tensor/Passes.h.inc"

namespace {

SmallVector<int64_t> withOne(Value value, int64_t dimension) {
  SmallVector<int64_t> shape(shapedType(value).getShape());
  shape[size_t(dimension)] = 1;
  return shape;
}

/// The dimension of a reshape's operand that a dimension of its result is; none where it is joined or cut.
std::optional<int64_t> dimensionBefore(stablehlo::ReshapeOp reshape, int64_t dimension) {
  ArrayRef<int64_t> from = shapedType(reshape.getOperand()).getShape(), to = shapedType(reshape).getShape();
  auto product = [](ArrayRef<int64_t> sizes) { return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>()); };
  int64_t before = product(to.take_front(size_t(dimension)));
  for (int64_t d = 0; d < int64_t(from.size()); ++d)
    if (from[d] == to[dimension] && product(from.take_front(size_t(d))) == before)
      return d;
  return std::nullopt;
}

/// Values of which one slice is made instead of all of them, since all are the same.
class Narrowed {
public:
  /// `value` with one element along `dimension`; null where that is not known to be all there is.
  Value of(Value value, int64_t dimension, int depth = 0) {
    if (!shapedType(value).hasStaticShape() || shapedType(value).getEncoding())
      return {};
    if (shapedType(value).getDimSize(dimension) == 1)
      return value;
    auto [known, isNew] = made.try_emplace({value, dimension});
    constexpr int kMostDepth = 64; // Operations that one follows from the other.
    if (!isNew || depth > kMostDepth)
      return known->second;
    Value one = make(value, dimension, depth);
    made[{value, dimension}] = one;
    return one;
  }

  /// Others read what was made of the one slice, and what follows from that alone is made of it, too.
  void spread() {
    SmallVector<std::pair<Value, int64_t>> work;
    for (auto &[key, one] : made)
      if (one && isFusible(key.first.getDefiningOp()))
        work.push_back(key);
    llvm::sort(work, [](const auto &a, const auto &b) {
      return a.first == b.first ? a.second < b.second : a.first.getDefiningOp()->isBeforeInBlock(b.first.getDefiningOp());
    });
    llvm::DenseSet<Value> replaced;
    for (size_t i = 0; i < work.size(); ++i) {
      auto [value, dimension] = work[i];
      if (!replaced.insert(value).second)
        continue;
      Value one = made[{value, dimension}];
      OpBuilder builder(value.getContext());
      builder.setInsertionPointAfter(one.getDefiningOp());
      SmallVector<int64_t> dims(size_t(shapedType(value).getRank()));
      std::iota(dims.begin(), dims.end(), 0);
      auto wide = builder.create<stablehlo::BroadcastInDimOp>(value.getLoc(), value.getType(), one, dims);
      value.replaceAllUsesWith(wide);
      for (Operation *user : wide->getUsers())
        if (isFusible(user) && user->getNumResults() == 1 && shapedType(user->getResult(0)).getShape() == shapedType(value).getShape() &&
            of(user->getResult(0), dimension))
          work.push_back({user->getResult(0), dimension});
    }
  }

private:
  Value make(Value value, int64_t dimension, int depth) {
    Operation *op = value.getDefiningOp();
    if (!op)
      return {};
    OpBuilder builder(op->getContext());
    builder.setInsertionPointAfter(op);
    SmallVector<int64_t> shape = withOne(value, dimension);
    auto type = RankedTensorType::get(shape, shapedType(value).getElementType());
    if (auto constant = dyn_cast<stablehlo::ConstantOp>(op)) {
      auto numbers = dyn_cast<SplatElementsAttr>(constant.getValue());
      return numbers ? builder.create<stablehlo::ConstantOp>(op->getLoc(), numbers.resizeSplat(type)) : Value();
    }
    if (auto iota = dyn_cast<stablehlo::IotaOp>(op))
      return int64_t(iota.getIotaDimension()) != dimension ? builder.create<stablehlo::IotaOp>(op->getLoc(), type, iota.getIotaDimensionAttr()) : Value();
    if (auto broadcast = dyn_cast<stablehlo::BroadcastInDimOp>(op)) {
      Value from = broadcast.getOperand();
      for (auto [inside, outside] : llvm::enumerate(broadcast.getBroadcastDimensions()))
        if (from && outside == dimension)
          from = of(from, int64_t(inside), depth + 1);
      return from ? builder.create<stablehlo::BroadcastInDimOp>(op->getLoc(), type, from, broadcast.getBroadcastDimensions()) : Value();
    }
    if (auto reshape = dyn_cast<stablehlo::ReshapeOp>(op)) {
      std::optional<int64_t> inside = shapedType(reshape.getOperand()).hasStaticShape() ? dimensionBefore(reshape, dimension) : std::nullopt;
      Value from = inside ? of(reshape.getOperand(), *inside, depth + 1) : Value();
      return from ? builder.create<stablehlo::ReshapeOp>(op->getLoc(), type, from) : Value();
    }
    if (auto slice = dyn_cast<stablehlo::SliceOp>(op)) {
      Value from = of(slice.getOperand(), dimension, depth + 1);
      SmallVector<int64_t> begin(slice.getStartIndices()), end(slice.getLimitIndices()), step(slice.getStrides());
      begin[size_t(dimension)] = 0;
      end[size_t(dimension)] = step[size_t(dimension)] = 1;
      return from ? builder.create<stablehlo::SliceOp>(op->getLoc(), from, begin, end, step) : Value();
    }
    if (!isFusible(op) || op->getNumResults() != 1)
      return {};
    SmallVector<Value> operands;
    for (Value operand : op->getOperands()) {
      operands.push_back(shapedType(operand).getRank() == 0 ? operand : of(operand, dimension, depth + 1));
      if (!operands.back())
        return {};
    }
    return BodyWriter(builder, op->getLoc()).copy(op, operands, shape);
  }

  llvm::DenseMap<std::pair<Value, int64_t>, Value> made;
};

/// What index vectors say of the dimensions of what is gathered from or scattered into.
struct Vectors {
  SmallVector<Value> parts;
  SmallVector<int64_t> map, single; // `single`: dimensions of which windows have one element and results none.
};

/// Finds a dimension that can be whole, and index vectors without it.
class Widen {
public:
  Widen(Operation *op, Value indices, int64_t vectorDim, ArrayRef<int64_t> target, Vectors vectors, Narrowed &narrowed)
      : op(op), indices(indices), target(target), vectors(std::move(vectors)), narrowed(narrowed) {
    auto concatenate = indices.getDefiningOp<stablehlo::ConcatenateOp>();
    auto at = shapedType(indices);
    isVector = concatenate && at.hasStaticShape() && vectorDim == at.getRank() - 1 && int64_t(concatenate.getDimension()) == vectorDim &&
               concatenate.getInputs().size() == this->vectors.map.size() && at.getNumElements() > 0;
    if (isVector)
      this->vectors.parts = llvm::to_vector(concatenate.getInputs());
  }

  /// `fits(target, batch)`: whether the window may have that dimension where the batch had it.
  bool find(llvm::function_ref<bool(int64_t, int64_t)> fits) {
    if (!isVector || vectors.parts.size() < 2)
      return false;
    ArrayRef<int64_t> batch = shapedType(indices).getShape().drop_back();
    for (size_t k = 0; k < vectors.parts.size(); ++k) {
      std::optional<int64_t> along = countedDimension(vectors.parts[k], batch);
      if (!along || batch[*along] < 2 || batch[*along] != target[vectors.map[k]] || !llvm::is_contained(vectors.single, vectors.map[k]) ||
          !fits(vectors.map[k], *along))
        continue;
      SmallVector<Value> left;
      for (size_t other = 0; other < vectors.parts.size(); ++other)
        if (Value one = other == k ? Value() : narrowed.of(vectors.parts[other], *along))
          left.push_back(one);
      if (left.size() + 1 != vectors.parts.size() || !compiler::mayRewrite(op, "widen-window"))
        continue;
      batchDimension = *along;
      wide = vectors.map[k];
      vectors.parts = std::move(left);
      vectors.map.erase(vectors.map.begin() + k);
      llvm::erase(vectors.single, wide);
      return true;
    }
    return false;
  }

  /// Index vectors of the parts that are left.
  Value leftVectors(OpBuilder &builder) {
    SmallVector<int64_t> shape(shapedType(indices).getShape());
    shape.erase(shape.begin() + batchDimension);
    shape.back() = 1;
    auto type = RankedTensorType::get(shape, shapedType(indices).getElementType());
    SmallVector<Value> inputs;
    for (Value part : vectors.parts)
      inputs.push_back(builder.create<stablehlo::ReshapeOp>(op->getLoc(), type, part));
    return inputs.size() == 1 ? inputs[0] : Value(builder.create<stablehlo::ConcatenateOp>(op->getLoc(), inputs, uint64_t(shape.size() - 1)));
  }

  int64_t batchDimension = 0, wide = 0;
  ArrayRef<int64_t> map() const { return vectors.map; }
  ArrayRef<int64_t> single() const { return vectors.single; }

private:
  Operation *op;
  Value indices;
  ArrayRef<int64_t> target;
  Vectors vectors;
  Narrowed &narrowed;
  bool isVector = false;
};

/// Where the window's dimensions are among all of `rank`, with the one that was the batch's.
struct WindowDims {
  SmallVector<int64_t> ofBatch;
  ArrayRef<int64_t> window;
  WindowDims(int64_t rank, ArrayRef<int64_t> window) : window(window) {
    for (int64_t d = 0; d < rank; ++d)
      if (!llvm::is_contained(window, d))
        ofBatch.push_back(d);
  }
  /// They have to stay in the order of what is gathered from.
  bool keepsOrder(int64_t target, int64_t batch, ArrayRef<int64_t> single) const {
    int64_t before = target - llvm::count_if(single, [&](int64_t d) { return d < target; });
    return llvm::count_if(window, [&](int64_t d) { return d < ofBatch[size_t(batch)]; }) == before;
  }
  SmallVector<int64_t> with(int64_t batch) const {
    SmallVector<int64_t> dims(window);
    dims.push_back(ofBatch[size_t(batch)]);
    llvm::sort(dims);
    return dims;
  }
};

/// Returns what it has become, or null.
stablehlo::GatherOp widen(stablehlo::GatherOp op, Narrowed &narrowed) {
  auto numbers = op.getDimensionNumbers();
  auto from = shapedType(op.getOperand());
  if (!numbers.getOperandBatchingDims().empty() || !from.hasStaticShape() || from.getEncoding())
    return nullptr;
  WindowDims dims(shapedType(op).getRank(), numbers.getOffsetDims());
  Widen found(op, op.getStartIndices(), numbers.getIndexVectorDim(), from.getShape(),
              {{}, llvm::to_vector(numbers.getStartIndexMap()), llvm::to_vector(numbers.getCollapsedSliceDims())}, narrowed);
  if (!found.find([&](int64_t target, int64_t batch) { return dims.keepsOrder(target, batch, numbers.getCollapsedSliceDims()); }))
    return nullptr;
  OpBuilder builder(op);
  SmallVector<int64_t> slices(op.getSliceSizes());
  slices[size_t(found.wide)] = from.getDimSize(found.wide);
  Value left = found.leftVectors(builder);
  auto wider = stablehlo::GatherDimensionNumbersAttr::get(op.getContext(), dims.with(found.batchDimension), found.single(), {}, {}, found.map(),
                                                          shapedType(left).getRank() - 1);
  auto made = builder.create<stablehlo::GatherOp>(op.getLoc(), op.getResult().getType(), op.getOperand(), left, wider, slices, false);
  op.getResult().replaceAllUsesWith(made);
  op.erase();
  return made;
}

stablehlo::ScatterOp widen(stablehlo::ScatterOp op, Narrowed &narrowed) {
  auto numbers = op.getScatterDimensionNumbers();
  if (op.getInputs().size() != 1)
    return nullptr;
  auto to = shapedType(op.getInputs()[0]), updates = shapedType(op.getUpdates()[0]);
  if (!numbers.getInputBatchingDims().empty() || !to.hasStaticShape() || to.getEncoding() || !updates.hasStaticShape())
    return nullptr;
  WindowDims dims(updates.getRank(), numbers.getUpdateWindowDims());
  Widen found(op, op.getScatterIndices(), numbers.getIndexVectorDim(), to.getShape(),
              {{}, llvm::to_vector(numbers.getScatterDimsToOperandDims()), llvm::to_vector(numbers.getInsertedWindowDims())}, narrowed);
  if (!found.find([&](int64_t target, int64_t batch) { return dims.keepsOrder(target, batch, numbers.getInsertedWindowDims()); }))
    return nullptr;
  OpBuilder builder(op);
  Value left = found.leftVectors(builder);
  op.setScatterDimensionNumbersAttr(stablehlo::ScatterDimensionNumbersAttr::get(op.getContext(), dims.with(found.batchDimension), found.single(), {}, {},
                                                                                found.map(), shapedType(left).getRank() - 1));
  op.getScatterIndicesMutable().assign(left);
  return op;
}

class WidenWindows : public impl::WidenWindowsBase<WidenWindows> {
public:
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function.isExternal())
        continue;
      Narrowed narrowed;
      bool isChanged = false;
      for (Operation *op : operationsOf(function.getBody().front())) {
        if (auto gather = dyn_cast<stablehlo::GatherOp>(op))
          while ((gather = widen(gather, narrowed)))
            isChanged = true;
        else if (auto scatter = dyn_cast<stablehlo::ScatterOp>(op))
          while ((scatter = widen(scatter, narrowed)))
            isChanged = true;
      }
      if (isChanged)
        narrowed.spread();
      eraseUnused(function.getBody().front());
    }
  }
};

} // namespace
} // namespace cupel::tir
