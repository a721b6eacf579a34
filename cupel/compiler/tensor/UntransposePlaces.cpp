// Gathers and scatters take what a transpose is made of instead of the transpose: importers bring the dimensions that are indexed to the front, and back
// behind it, which moves a whole cache for one row of it. What was gathered, or is to be scattered, is transposed where it has to be, and that is less.

#include "cupel/compiler/rewrites/Rewrites.h"
#include "cupel/compiler/tensor/Gathers.h"
#include "cupel/compiler/tensor/Group.h"
#include "cupel/compiler/tensor/Passes.h"
#include "cupel/compiler/tensor/Windows.h"

using namespace mlir;

namespace cupel::tir {

#define GEN_PASS_DEF_UNTRANSPOSEPLACES
#include "cupel/compiler/tensor/Passes.h.inc"

namespace {

/// Places in the dimensions of a tensor.
struct Indexed {
  Dims map, single, ours, theirs; // Of index vectors, without a window, of the batch and those of index vectors.

  bool isWindow(int64_t d) const { return !llvm::is_contained(single, d) && !llvm::is_contained(ours, d); }

  /// The same in what a transpose with this order is made of.
  Indexed before(ArrayRef<int64_t> order) const {
    auto moved = [&](ArrayRef<int64_t> dims) { return llvm::map_to_vector<6>(dims, [&](int64_t d) { return order[size_t(d)]; }); };
    Indexed result{moved(map), moved(single), moved(ours), theirs};
    llvm::sort(result.single);
    SmallVector<std::pair<int64_t, int64_t>> batch;
    for (auto [our, their] : llvm::zip(result.ours, result.theirs))
      batch.push_back({our, their});
    llvm::sort(batch);
    for (auto [i, pair] : llvm::enumerate(batch))
      std::tie(result.ours[i], result.theirs[i]) = pair;
    return result;
  }
};

/// For dimension i of windows of the transpose: which one of those before it that is.
Dims windowOrder(const Indexed &after, const Indexed &before, ArrayRef<int64_t> order) {
  auto windows = [&](const Indexed &one) {
    Dims dims;
    for (int64_t d = 0; d < int64_t(order.size()); ++d)
      if (one.isWindow(d))
        dims.push_back(d);
    return dims;
  };
  Dims to = windows(after), from = windows(before), result;
  for (int64_t d : to)
    result.push_back(llvm::find(from, order[size_t(d)]) - from.begin());
  return result;
}

/// The order that moves dimensions `places` of a tensor among themselves, so that number i of them is number order[i] of what was there.
Dims amongPlaces(int64_t rank, ArrayRef<int64_t> places, ArrayRef<int64_t> order) {
  Dims all = llvm::to_vector<6>(llvm::seq<int64_t>(0, rank));
  for (auto [i, place] : llvm::enumerate(places))
    all[size_t(place)] = places[size_t(order[i])];
  return all;
}

Value inOrder(OpBuilder &builder, Location location, Value value, ArrayRef<int64_t> order) {
  return llvm::is_sorted(order) ? value : builder.create<stablehlo::TransposeOp>(location, value, order).getResult();
}

stablehlo::TransposeOp transposeOf(Value value) {
  auto transpose = value.getDefiningOp<stablehlo::TransposeOp>();
  return transpose && shapedType(value).hasStaticShape() && !shapedType(value).getEncoding() ? transpose : nullptr;
}

void untranspose(stablehlo::GatherOp op) {
  stablehlo::TransposeOp transpose = transposeOf(op.getOperand());
  if (!transpose || !shapedType(op.getStartIndices()).hasStaticShape())
    return;
  auto numbers = op.getDimensionNumbers();
  ArrayRef<int64_t> order = transpose.getPermutation();
  Indexed after{Dims(numbers.getStartIndexMap()), Dims(numbers.getCollapsedSliceDims()), Dims(numbers.getOperandBatchingDims()),
                Dims(numbers.getStartIndicesBatchingDims())};
  Indexed before = after.before(order);
  auto type = shapedType(op.getResult());
  // Number i of the window's dimensions comes from this one.
  Dims back = amongPlaces(type.getRank(), numbers.getOffsetDims(), windowOrder(after, before, order));
  constexpr int64_t kLess = 2; // As many times more must be moved before it as behind it.
  bool isLess = kLess * type.getNumElements() <= shapedType(op.getOperand()).getNumElements() && transpose->hasOneUse();
  if (!(llvm::is_sorted(back) || isLess) || !compiler::mayRewrite(op, "untranspose-gather"))
    return;
  OpBuilder builder(op);
  Dims sizes(op.getSliceSizes()), shape(type.getShape());
  for (auto [d, size] : llvm::enumerate(op.getSliceSizes()))
    sizes[size_t(order[d])] = size;
  for (auto [d, from] : llvm::enumerate(back))
    shape[size_t(from)] = type.getDimSize(int64_t(d));
  auto made = stablehlo::GatherDimensionNumbersAttr::get(op.getContext(), numbers.getOffsetDims(), before.single, before.ours, before.theirs, before.map,
                                                         numbers.getIndexVectorDim());
  Value taken = builder.create<stablehlo::GatherOp>(op.getLoc(), RankedTensorType::get(shape, type.getElementType()), transpose.getOperand(), op.getStartIndices(),
                                                    made, sizes, op.getIndicesAreSorted());
  op.getResult().replaceAllUsesWith(inOrder(builder, op.getLoc(), taken, back));
  op.erase();
}

/// A transpose of what was gathered that keeps the order of the batch and that of windows only says where windows are.
void untranspose(stablehlo::TransposeOp op) {
  auto gather = op.getOperand().getDefiningOp<stablehlo::GatherOp>();
  if (!gather || !gather->hasOneUse() || shapedType(op).getEncoding())
    return;
  ArrayRef<int64_t> offsets = gather.getDimensionNumbers().getOffsetDims();
  Dims to, lastOf = {-1, -1};
  for (auto [d, from] : llvm::enumerate(op.getPermutation())) {
    bool isWindow = llvm::is_contained(offsets, from);
    if (from < lastOf[isWindow])
      return;
    lastOf[isWindow] = from;
    if (isWindow)
      to.push_back(int64_t(d));
  }
  if (!compiler::mayRewrite(op, "untranspose-gather"))
    return;
  OpBuilder builder(op);
  auto numbers = gather.getDimensionNumbers();
  auto made = stablehlo::GatherDimensionNumbersAttr::get(op.getContext(), to, numbers.getCollapsedSliceDims(), numbers.getOperandBatchingDims(),
                                                         numbers.getStartIndicesBatchingDims(), numbers.getStartIndexMap(), numbers.getIndexVectorDim());
  op.getResult().replaceAllUsesWith(builder.create<stablehlo::GatherOp>(op.getLoc(), op.getType(), gather.getOperand(), gather.getStartIndices(), made,
                                                                        gather.getSliceSizes(), gather.getIndicesAreSorted()));
  op.erase();
}

void untranspose(stablehlo::ScatterOp op) {
  if (op.getInputs().size() != 1)
    return;
  stablehlo::TransposeOp transpose = transposeOf(op.getInputs()[0]);
  Value updates = op.getUpdates()[0];
  if (!transpose || !shapedType(updates).hasStaticShape() || !shapedType(op.getScatterIndices()).hasStaticShape())
    return;
  auto numbers = op.getScatterDimensionNumbers();
  ArrayRef<int64_t> order = transpose.getPermutation();
  // Behind it everything goes back.
  Dims back = inverse(order);
  bool isUndone = llvm::all_of(op->getUsers(), [&](Operation *user) {
    auto again = dyn_cast<stablehlo::TransposeOp>(user);
    return again && again.getPermutation() == ArrayRef(back);
  });
  Indexed after{Dims(numbers.getScatterDimsToOperandDims()), Dims(numbers.getInsertedWindowDims()), Dims(numbers.getInputBatchingDims()),
                Dims(numbers.getScatterIndicesBatchingDims())};
  Indexed before = after.before(order);
  Dims among = amongPlaces(shapedType(updates).getRank(), numbers.getUpdateWindowDims(), inverse(windowOrder(after, before, order)));
  bool isLess = shapedType(updates).getNumElements() <= shapedType(transpose).getNumElements();
  if (!isUndone || !(llvm::is_sorted(among) || isLess) || !compiler::mayRewrite(op, "untranspose-scatter"))
    return;
  OpBuilder builder(op);
  auto made = stablehlo::ScatterDimensionNumbersAttr::get(op.getContext(), numbers.getUpdateWindowDims(), before.single, before.ours, before.theirs, before.map,
                                                          numbers.getIndexVectorDim());
  OperationState state(op.getLoc(), op->getName());
  state.addOperands({transpose.getOperand(), op.getScatterIndices(), inOrder(builder, op.getLoc(), updates, among)});
  state.addTypes(transpose.getOperand().getType());
  state.addAttributes(op->getAttrs());
  state.addRegion()->takeBody(op.getUpdateComputation());
  auto scatter = cast<stablehlo::ScatterOp>(builder.create(state));
  scatter.setScatterDimensionNumbersAttr(made);
  for (Operation *user : llvm::make_early_inc_range(op->getUsers())) {
    user->getResult(0).replaceAllUsesWith(scatter->getResult(0));
    user->erase();
  }
  op.erase();
}

class UntransposePlaces : public impl::UntransposePlacesBase<UntransposePlaces> {
public:
  void runOnOperation() override {
    rewriteEach(getOperation(), [](Operation *op) {
      if (auto gather = dyn_cast<stablehlo::GatherOp>(op))
        untranspose(gather);
    });
    rewriteEach(getOperation(), [](Operation *op) {
      if (auto transpose = dyn_cast<stablehlo::TransposeOp>(op))
        untranspose(transpose);
    });
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function.isExternal())
        continue;
      for (auto scatter : llvm::make_early_inc_range(function.getBody().front().getOps<stablehlo::ScatterOp>()))
        untranspose(scatter);
      eraseUnused(function.getBody().front());
    }
  }
};

} // namespace
} // namespace cupel::tir
