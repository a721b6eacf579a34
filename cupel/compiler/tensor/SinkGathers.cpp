// What is computed of elements that one gather after the other takes more of than there are is computed before they are taken: the sum of two columns
// is the same in every row that repeats them. So interpolation along columns is done for the rows of the image, not for those of the result.

#include "cupel/compiler/rewrites/Rewrites.h"
#include "cupel/compiler/tensor/Gathers.h"
#include "cupel/compiler/tensor/Group.h"
#include "cupel/compiler/tensor/Passes.h"

using namespace mlir;

namespace cupel::tir {

#define GEN_PASS_DEF_SINKGATHERS
#include "cupel/compiler/tensor/Passes.h.inc"

namespace {

/// Places of a dimension, as constants or as a value.
struct Places {
  Value list;
  int64_t dimension;
  bool operator==(const Places &other) const {
    if (dimension != other.dimension || list.getType() != other.list.getType())
      return false;
    auto ours = list.getDefiningOp<stablehlo::ConstantOp>(), theirs = other.list.getDefiningOp<stablehlo::ConstantOp>();
    return list == other.list || (ours && theirs && ours.getValue() == theirs.getValue());
  }
};

/// The gather that makes `value`, if it makes more of less.
stablehlo::GatherOp growingGather(Value value, Places &places) {
  auto gather = value.getDefiningOp<stablehlo::GatherOp>();
  std::optional<int64_t> d = gather ? takenDimension(gather) : std::nullopt;
  if (!d || shapedType(gather.getOperand()).getEncoding() || shapedType(value).getNumElements() <= shapedType(gather.getOperand()).getNumElements())
    return nullptr;
  places = {gather.getStartIndices(), *d};
  return gather;
}

class Sink {
public:
  explicit Sink(Operation *op) : op(op), builder(op) {}

  void run() {
    if (!isFusible(op) || op->getNumResults() != 1 || shapedType(op->getResult(0)).getEncoding() || !findGather() || !areAllKnown() ||
        !compiler::mayRewrite(op, "sink-gather"))
      return;
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(before(operand));
    BodyWriter writer(builder, op->getLoc());
    Value made = writer.copy(op, operands, shape);
    if (Operation *same = madeBefore(made.getDefiningOp())) {
      made.getDefiningOp()->erase();
      made = same->getResult(0);
    }
    SmallVector<int64_t> slices(shape);
    slices[size_t(places.dimension)] = 1;
    auto taken = builder.create<stablehlo::GatherOp>(op->getLoc(), op->getResult(0).getType(), made, places.list, first.getDimensionNumbersAttr(), slices,
                                                     first.getIndicesAreSorted());
    op->getResult(0).replaceAllUsesWith(taken);
    op->erase();
  }

private:
  bool findGather() {
    for (Value operand : op->getOperands())
      if (!first)
        first = growingGather(operand, places);
    if (!first)
      return false;
    shape = llvm::to_vector(shapedType(first.getOperand()).getShape());
    return shapedType(first).getShape() == shapedType(op->getResult(0)).getShape();
  }

  /// Taken by the same places, or the same at all of them.
  bool areAllKnown() {
    return llvm::all_of(op->getOperands(), [&](Value operand) {
      Places others;
      if (stablehlo::GatherOp gather = growingGather(operand, others))
        return others == places && shapedType(gather.getOperand()).getShape() == ArrayRef(shape);
      if (shapedType(operand).getRank() == 0 || shapedType(operand).getEncoding())
        return !shapedType(operand).getEncoding();
      if (auto constant = operand.getDefiningOp<stablehlo::ConstantOp>())
        return isa<SplatElementsAttr>(constant.getValue());
      auto broadcast = operand.getDefiningOp<stablehlo::BroadcastInDimOp>();
      if (!broadcast || shapedType(broadcast.getOperand()).getEncoding())
        return false;
      for (auto [size, dim] : llvm::zip(shapedType(broadcast.getOperand()).getShape(), broadcast.getBroadcastDimensions()))
        if (dim == places.dimension && size != 1)
          return false;
      return true;
    });
  }

  /// An operand as it was before it was taken.
  Value before(Value operand) {
    Places ignored;
    if (stablehlo::GatherOp gather = growingGather(operand, ignored))
      return gather.getOperand();
    if (shapedType(operand).getRank() == 0)
      return operand;
    auto type = RankedTensorType::get(shape, shapedType(operand).getElementType());
    if (auto constant = operand.getDefiningOp<stablehlo::ConstantOp>())
      return shared(builder.create<stablehlo::ConstantOp>(op->getLoc(), cast<DenseElementsAttr>(constant.getValue()).resizeSplat(type)));
    auto broadcast = operand.getDefiningOp<stablehlo::BroadcastInDimOp>();
    return shared(builder.create<stablehlo::BroadcastInDimOp>(op->getLoc(), type, broadcast.getOperand(), broadcast.getBroadcastDimensions()));
  }
  Value shared(Operation *made) {
    Operation *same = madeBefore(made);
    if (same)
      made->erase();
    return (same ? same : made)->getResult(0);
  }

  /// What computes the same and stands before it: both rows that an interpolation reads have the same columns.
  static Operation *madeBefore(Operation *made) {
    if (made->getNumOperands() == 0)
      return nullptr;
    for (Operation *other : made->getOperand(0).getUsers())
      if (other != made && other->getBlock() == made->getBlock() && other->isBeforeInBlock(made) &&
          OperationEquivalence::isEquivalentTo(other, made, OperationEquivalence::IgnoreLocations))
        return other;
    return nullptr;
  }

  Operation *op;
  OpBuilder builder;
  stablehlo::GatherOp first;
  Places places;
  SmallVector<int64_t> shape;
};

class SinkGathers : public impl::SinkGathersBase<SinkGathers> {
public:
  void runOnOperation() override {
    rewriteEach(getOperation(), [](Operation *op) { Sink(op).run(); });
  }
};

} // namespace
} // namespace cupel::tir
