// Elementwise operations on as many elements become maps that read their operands through whatever
// moved them there; what only moves elements and is left becomes a map that copies.

#include "cupel/compiler/rewrites/Rewrites.h"
#include "cupel/compiler/tensor/ElementBody.h"
#include "cupel/compiler/tensor/Passes.h"

using namespace mlir;

namespace cupel::tir {

#define GEN_PASS_DEF_FORMMAPS
#include "cupel/compiler/tensor/Passes.h.inc"

namespace {

/// Operands and results of one map; more are pointers that no register holds.
constexpr size_t kMostReadings = 24, kMostResults = 12;

class MapFormer {
public:
  MapFormer(Operation *seed, Taken &taken)
      : count(countOf(seed->getResult(0))), taken(taken),
        group(seed, Links::Reshapes, taken, count == 1) {} // Numbers are cheaper together.

  void run(bool fuses) {
    auto fits = [&](Operation *op) {
      return fuses && isFusible(op) && countOf(op->getResult(0)) == count && addReadings(op);
    };
    (void)addReadings(group.operations()[0]);
    group.grow(fits, fits);
    SmallVector<Value> results = group.escaping();
    if (results.empty() || !compiler::mayRewrite(group.operations()[0], "map"))
      return;
    Operation *place = group.place();
    auto shape = cast<RankedTensorType>(results.back().getType()).getShape();
    LoopNest nest(shape, SmallVector<int>(shape.size(), 0));
    ElementBody body(group, nest);
    body.read();
    (void)nest.collapse();
    OpBuilder builder(place);
    auto map = builder.create<MapOp>(group.locationFrom(place), TypeRange(ValueRange(results)),
                                     body.inputs(), nest.sizes(), body.views());
    map.getBody().push_back(body.write(results, place->getLoc()));
    for (auto [result, value] : llvm::zip(results, map.getResults()))
      result.replaceAllUsesWith(value);
    taken.insert(group.operations().begin(), group.operations().end());
  }

private:
  /// Counts what the operation would read from outside, about.
  bool addReadings(Operation *op) {
    SmallVector<Value> fresh;
    for (Value operand : op->getOperands())
      if (!group.isMade(throughReshapes(operand)) && !splatOf(operand) &&
          sources.insert(operand).second)
        fresh.push_back(operand);
    // What was outside when it was counted and is made within by now: of a long chain every value.
    if (sources.size() > kMostReadings)
      for (Value value : llvm::to_vector(sources))
        if (group.isMade(throughReshapes(value)))
          sources.erase(value);
    if (sources.size() <= kMostReadings && group.operations().size() < 200 &&
        group.escaping().size() < kMostResults)
      return true;
    for (Value value : fresh)
      sources.erase(value);
    return false;
  }

  int64_t count;
  Taken &taken;
  Group group;
  llvm::DenseSet<Value> sources;
};

/// Pairs of elements of 32 bits that stay together are moved as one of 64, between what is the same memory.
bool copyPairs(Operation *op, const LoopNest &nest) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  Value from = nest.readings()[0].value;
  auto fromType = cast<RankedTensorType>(from.getType());
  ViewAttr view = nest.view(0);
  auto areEven = [](ArrayRef<int64_t> numbers) { return llvm::all_of(numbers, [](int64_t number) { return number % 2 == 0; }); };
  ArrayRef<int64_t> sizes = nest.sizes(), strides = view.getStrides();
  if (type.getElementTypeBitWidth() != 32 || sizes.size() < 2 || sizes.back() != 2 || strides.back() != 1 || view.getOffset() % 2 != 0 ||
      !areEven(strides.drop_back()) || !view.getValid().empty() || fromType.getNumElements() % 2 != 0)
    return false;
  if (!compiler::mayRewrite(op, "copy"))
    return true;
  OpBuilder builder(op);
  auto halved = [](ArrayRef<int64_t> numbers) { return llvm::map_to_vector(numbers, [](int64_t number) { return number / 2; }); };
  auto paired = [&](int64_t count, Type element) { return RankedTensorType::get({count / 2, 2}, element); };
  auto wide = [&](int64_t count) { return RankedTensorType::get({count / 2}, builder.getI64Type()); };
  Location location = op->getLoc();
  Value pairs = builder.create<stablehlo::ReshapeOp>(location, paired(fromType.getNumElements(), type.getElementType()), from);
  Value together = builder.create<stablehlo::BitcastConvertOp>(location, wide(fromType.getNumElements()), pairs);
  auto half = ViewAttr::get(op->getContext(), view.getOffset() / 2, halved(strides.drop_back()), {}, {});
  auto map = builder.create<MapOp>(location, TypeRange{wide(type.getNumElements())}, together, sizes.drop_back(), builder.getArrayAttr({half}));
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.createBlock(&map.getBody(), {}, {RankedTensorType::get({}, builder.getI64Type())}, {location});
    builder.create<YieldOp>(location, map.getBody().getArguments());
  }
  Value apart = builder.create<stablehlo::BitcastConvertOp>(location, paired(type.getNumElements(), type.getElementType()), map.getResult(0));
  op->getResult(0).replaceAllUsesWith(builder.create<stablehlo::ReshapeOp>(location, type, apart));
  return true;
}

/// A move that nobody reads through becomes a copy.
void copyMove(Operation *op) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  LoopNest nest(type.getShape(), SmallVector<int>(type.getRank(), 0));
  nest.add(op->getResult(0), nest.identityStrides());
  if (nest.readings()[0].value == op->getResult(0))
    return; // It cannot be told as a way of reading.
  (void)nest.collapse();
  if (copyPairs(op, nest) || !compiler::mayRewrite(op, "copy"))
    return;
  OpBuilder builder(op);
  auto map = builder.create<MapOp>(op->getLoc(), TypeRange{type}, nest.readings()[0].value,
                                   nest.sizes(), builder.getArrayAttr({nest.view(0)}));
  builder.createBlock(&map.getBody(), {}, {RankedTensorType::get({}, type.getElementType())},
                      {op->getLoc()});
  builder.create<YieldOp>(op->getLoc(), map.getBody().getArguments());
  op->getResult(0).replaceAllUsesWith(map.getResult(0));
}

/// A stretch that is joined with others in another shape is a stretch of the whole in that shape, which is read where it lies.
void reshapeBeforeSlice(stablehlo::ReshapeOp reshape) {
  auto slice = reshape.getOperand().getDefiningOp<stablehlo::SliceOp>();
  auto to = cast<RankedTensorType>(reshape.getType());
  if (!slice || !slice->hasOneUse() || to.getRank() == 0 || to.getNumElements() == 0 || reshape->use_empty() ||
      !llvm::all_of(reshape->getUsers(), [](Operation *user) { return isa<stablehlo::ConcatenateOp>(user); }))
    return;
  auto from = cast<RankedTensorType>(slice.getOperand().getType()), cut = cast<RankedTensorType>(slice.getType());
  int64_t begin = 0, rest = from.getNumElements(), inner = to.getNumElements() / to.getDimSize(0);
  bool isOneStretch = true;
  for (int64_t d = 0; d < from.getRank(); ++d) {
    rest /= from.getDimSize(d);
    begin += slice.getStartIndices()[d] * rest;
    bool isCut = from.getDimSize(d) != cut.getDimSize(d);
    isOneStretch &= !isCut || (slice.getStrides()[d] == 1 && llvm::all_of(cut.getShape().take_front(d), [](int64_t size) { return size == 1; }));
  }
  if (!isOneStretch || begin % inner != 0 || from.getNumElements() % inner != 0 || !compiler::mayRewrite(reshape, "slice-of-reshape"))
    return;
  OpBuilder builder(reshape);
  SmallVector<int64_t> whole(to.getShape()), starts(to.getRank(), 0), limits(to.getShape()), steps(to.getRank(), 1);
  whole[0] = from.getNumElements() / inner;
  starts[0] = begin / inner;
  limits[0] = starts[0] + to.getDimSize(0);
  Value reshaped = builder.create<stablehlo::ReshapeOp>(reshape.getLoc(), RankedTensorType::get(whole, to.getElementType()), slice.getOperand());
  auto made = builder.create<stablehlo::SliceOp>(slice.getLoc(), reshaped, starts, limits, steps);
  reshape.getResult().replaceAllUsesWith(made.getResult());
}

class FormMaps : public impl::FormMapsBase<FormMaps> {
public:
  using FormMapsBase::FormMapsBase;

  void runOnOperation() override {
    if (!fuse) // So that no map reads through them.
      copyMoves();
    formGroups(getOperation(), [this](Operation *op, Taken &taken) {
      if (!taken.contains(op) && isFusible(op))
        MapFormer(op, taken).run(fuse);
    });
    copyMoves();
  }

private:
  /// Moves that no map reads through.
  void copyMoves() {
    if (fuse)
      rewriteEach(getOperation(), [](Operation *op) {
        if (auto reshape = dyn_cast<stablehlo::ReshapeOp>(op))
          reshapeBeforeSlice(reshape);
      });
    formGroups(getOperation(), [this](Operation *op, Taken &) {
      if (op->use_empty() || !isMove(op) || isa<stablehlo::ReshapeOp>(op))
        return;
      if (auto slice = dyn_cast<stablehlo::SliceOp>(op); slice && fuse && isReadByConcatenations(slice))
        return;
      if (isCompiledTensor(op->getResult(0).getType()) &&
          isCompiledTensor(op->getOperand(0).getType()))
        copyMove(op);
    });
  }
};

} // namespace
} // namespace cupel::tir
