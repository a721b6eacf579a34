// Transposes are moved behind what works on elements, until they meet others that undo them.

#include "cupel/compiler/rewrites/Rewrites.h"
#include "cupel/compiler/tensor/Group.h"
#include "cupel/compiler/tensor/Passes.h"

using namespace mlir;

namespace cupel::tir {

#define GEN_PASS_DEF_SINKTRANSPOSES
#include "cupel/compiler/tensor/Passes.h.inc"

namespace {

using Dims = SmallVector<int64_t>;

ArrayRef<int64_t> shapeOf(Value value) { return cast<RankedTensorType>(value.getType()).getShape(); }

Type elementOf(Value value) { return cast<RankedTensorType>(value.getType()).getElementType(); }

/// Sizes of what a transpose with this permutation makes `shape` of.
Dims before(ArrayRef<int64_t> shape, ArrayRef<int64_t> permutation) {
  Dims sizes(shape.size());
  for (auto [i, d] : llvm::enumerate(permutation))
    sizes[d] = shape[i];
  return sizes;
}

/// Dimensions of more than one element stay in their order.
bool isReshape(stablehlo::TransposeOp transpose) {
  int64_t last = -1;
  for (auto [i, d] : llvm::enumerate(transpose.getPermutation()))
    if (shapeOf(transpose.getResult())[i] != 1) {
      if (d < last)
        return false;
      last = d;
    }
  return true;
}

/// What the operand is before such a transpose makes it what it is; null if that is not there
/// without work.
Value withoutTranspose(OpBuilder &builder, Value operand, ArrayRef<int64_t> permutation) {
  if (cast<RankedTensorType>(operand.getType()).getRank() == 0)
    return operand;
  Dims sizes = before(shapeOf(operand), permutation);
  auto type = RankedTensorType::get(sizes, elementOf(operand));
  Location location = operand.getLoc();
  if (auto transpose = operand.getDefiningOp<stablehlo::TransposeOp>())
    return transpose.getPermutation() == permutation ? transpose.getOperand() : Value();
  if (TypedAttr number = splatOf(operand))
    return builder.create<stablehlo::ConstantOp>(
        location, type, DenseElementsAttr::get(type, ArrayRef<Attribute>{number}));
  if (auto broadcast = operand.getDefiningOp<stablehlo::BroadcastInDimOp>()) {
    Dims dims;
    for (int64_t d : broadcast.getBroadcastDimensions())
      dims.push_back(permutation[d]);
    return builder.create<stablehlo::BroadcastInDimOp>(location, type, broadcast.getOperand(), dims);
  }
  return {};
}

bool sinkThroughElementwise(Operation *op) {
  if (!op->hasTrait<stablehlo::Elementwise>() || op->getNumRegions() != 0 ||
      op->getNumResults() != 1 || !cast<RankedTensorType>(op->getResult(0).getType()).hasStaticShape())
    return false;
  stablehlo::TransposeOp transpose;
  for (Value operand : op->getOperands())
    if (auto one = operand.getDefiningOp<stablehlo::TransposeOp>();
        one && !transpose && one->hasAttr(kLayoutAttr))
      transpose = one;
  if (!transpose)
    return false;
  OpBuilder builder(op);
  SmallVector<Value> operands;
  for (Value operand : op->getOperands()) {
    Value value = withoutTranspose(builder, operand, transpose.getPermutation());
    if (!value)
      return false; // What was made for others is unused, and erased.
    operands.push_back(value);
  }
  if (!compiler::mayRewrite(op, "sink-through-elementwise"))
    return false;
  Dims sizes = before(shapeOf(op->getResult(0)), transpose.getPermutation());
  BodyWriter writer(builder, op->getLoc());
  Value made = writer.copy(op, operands, sizes);
  auto back = builder.create<stablehlo::TransposeOp>(op->getLoc(), made, transpose.getPermutation());
  back->setAttr(kLayoutAttr, builder.getUnitAttr());
  op->getResult(0).replaceAllUsesWith(back);
  return true;
}

bool sinkThroughReduction(stablehlo::ReduceOp reduce) {
  if (reduce.getInputs().size() != 1 || !isSimpleReduction(reduce))
    return false;
  auto transpose = reduce.getInputs()[0].getDefiningOp<stablehlo::TransposeOp>();
  if (!transpose || !transpose->hasAttr(kLayoutAttr))
    return false;
  Dims dims, kept; // Of the transpose's operand; those that stay in the order of the result.
  for (auto [i, d] : llvm::enumerate(transpose.getPermutation()))
    (llvm::is_contained(reduce.getDimensions(), int64_t(i)) ? dims : kept).push_back(d);
  if (!llvm::is_sorted(kept) || !compiler::mayRewrite(reduce, "sink-through-reduction"))
    return false;
  llvm::sort(dims);
  OpBuilder builder(reduce);
  OperationState state(reduce.getLoc(), reduce->getName());
  state.addOperands({transpose.getOperand(), reduce.getInitValues()[0]});
  state.addTypes(reduce.getResult(0).getType());
  state.addAttribute("dimensions", builder.getDenseI64ArrayAttr(dims));
  IRMapping mapping;
  reduce.getBody().cloneInto(state.addRegion(), mapping);
  reduce.getResult(0).replaceAllUsesWith(builder.create(state)->getResult(0));
  return true;
}

bool cancel(stablehlo::TransposeOp transpose) {
  Value operand = transpose.getOperand();
  if (!cast<RankedTensorType>(operand.getType()).hasStaticShape())
    return false;
  OpBuilder builder(transpose);
  auto inner = operand.getDefiningOp<stablehlo::TransposeOp>();
  if (!inner && !llvm::is_sorted(transpose.getPermutation()) && !isReshape(transpose))
    return false;
  if (!compiler::mayRewrite(transpose, "cancel-transpose"))
    return false;
  if (inner) {
    Dims both;
    for (int64_t d : transpose.getPermutation())
      both.push_back(inner.getPermutation()[d]);
    Value value = inner.getOperand();
    if (!llvm::is_sorted(both))
      value = builder.create<stablehlo::TransposeOp>(transpose.getLoc(), value, both);
    transpose.getResult().replaceAllUsesWith(value);
    return true;
  }
  if (llvm::is_sorted(transpose.getPermutation())) {
    transpose.getResult().replaceAllUsesWith(operand);
    return true;
  }
  transpose.getResult().replaceAllUsesWith(builder.create<stablehlo::ReshapeOp>(
      transpose.getLoc(), transpose.getResult().getType(), operand));
  return true;
}

class SinkTransposes : public impl::SinkTransposesBase<SinkTransposes> {
public:
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function.isExternal())
        continue;
      Block &block = function.getBody().front();
      // Down the program: what an operation passes on is met by those behind it.
      for (Operation *op = &block.front(); op; op = op->getNextNode()) {
        if (op->use_empty())
          continue;
        if (auto transpose = dyn_cast<stablehlo::TransposeOp>(op))
          cancel(transpose);
        else if (auto reduce = dyn_cast<stablehlo::ReduceOp>(op))
          sinkThroughReduction(reduce);
        else
          sinkThroughElementwise(op);
      }
      eraseUnused(block);
    }
  }
};

} // namespace
} // namespace cupel::tir
