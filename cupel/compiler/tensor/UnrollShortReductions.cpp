// Reductions along a last dimension of a few elements (coordinates, real and imaginary parts) are the combination of so many elements each: vectors go along
// what is left, not along rows that are shorter than a vector.

#include "cupel/compiler/rewrites/Rewrites.h"
#include "cupel/compiler/tensor/Gathers.h"
#include "cupel/compiler/tensor/Group.h"
#include "cupel/compiler/tensor/Passes.h"
#include "cupel/compiler/tensor/Reading.h"

using namespace mlir;

namespace cupel::tir {

#define GEN_PASS_DEF_UNROLLSHORTREDUCTIONS
#include "cupel/compiler/tensor/Passes.h.inc"

namespace {

constexpr int64_t kLongest = 4, kFewestResults = 64;

/// Whether something is computed of the elements and of what they were reduced to, as by a softmax: then both stay in a row.
bool comesBack(stablehlo::ReduceOp op) {
  constexpr size_t kMostSeen = 32;
  int64_t count = countOf(op.getInputs()[0]);
  SmallVector<Operation *> seen{op};
  for (size_t next = 0; next < seen.size(); ++next)
    for (Operation *user : seen[next]->getUsers()) {
      if (auto broadcast = dyn_cast<stablehlo::BroadcastInDimOp>(user); broadcast && countOf(broadcast) == count)
        return true;
      if ((isFusible(user) || isMove(user)) && !llvm::is_contained(seen, user)) {
        if (seen.size() == kMostSeen)
          return true;
        seen.push_back(user);
      }
    }
  return false;
}

/// Who may read it several times.
bool hasOneUser(Operation *op) {
  return !op->use_empty() && llvm::all_of(op->getUsers(), [&](Operation *user) { return user == *op->user_begin(); });
}

/// Element `k` of the last dimension of tensors.
class Elements {
public:
  Elements(OpBuilder &builder, ArrayRef<int64_t> shape, int64_t k) : builder(builder), shape(shape), k(k) {}

  /// Of what is computed for this alone (a square has its operand twice) the same is computed for the element.
  Value of(Value value, int depth = 0) {
    if (auto known = found.find(value); known != found.end())
      return known->second;
    Value element = make(value, depth);
    return found[value] = element;
  }

private:
  Value make(Value value, int depth) {
    constexpr int kDeepest = 12;
    Operation *op = value.getDefiningOp();
    auto type = RankedTensorType::get(shape, shapedType(value).getElementType());
    if (op && depth < kDeepest && hasOneUser(op) && isFusible(op)) {
      SmallVector<Value> operands;
      for (Value operand : op->getOperands())
        operands.push_back(shapedType(operand).getRank() == 0 ? operand : of(operand, depth + 1));
      return BodyWriter(builder, op->getLoc()).copy(op, operands, shape);
    }
    if (auto constant = dyn_cast_or_null<stablehlo::ConstantOp>(op))
      if (auto splat = dyn_cast<SplatElementsAttr>(constant.getValue()))
        return builder.create<stablehlo::ConstantOp>(constant.getLoc(), splat.resizeSplat(type));
    if (auto counted = dyn_cast_or_null<stablehlo::IotaOp>(op);
        counted && counted.getIotaDimension() == shape.size() && isa<IntegerType>(type.getElementType()))
      return builder.create<stablehlo::ConstantOp>(counted.getLoc(), DenseElementsAttr::get(type, Attribute(builder.getIntegerAttr(type.getElementType(), k))));
    auto broadcast = dyn_cast_or_null<stablehlo::BroadcastInDimOp>(op);
    if (broadcast && !llvm::is_contained(broadcast.getBroadcastDimensions(), int64_t(shape.size())))
      return builder.create<stablehlo::BroadcastInDimOp>(broadcast.getLoc(), type, broadcast.getOperand(), broadcast.getBroadcastDimensions());
    auto whole = shapedType(value);
    if (auto joined = dyn_cast_or_null<stablehlo::ConcatenateOp>(op); joined && int64_t(joined.getDimension()) == int64_t(shape.size()) &&
                                                                     int64_t(joined.getInputs().size()) == whole.getShape().back())
      return builder.create<stablehlo::ReshapeOp>(joined.getLoc(), type, joined.getInputs()[size_t(k)]);
    SmallVector<int64_t> from(shape.size(), 0), to(shape), step(shape.size() + 1, 1);
    from.push_back(k);
    to.push_back(k + 1);
    Value column = builder.create<stablehlo::SliceOp>(value.getLoc(), value, from, to, step);
    return builder.create<stablehlo::ReshapeOp>(value.getLoc(), type, column);
  }

  OpBuilder &builder;
  ArrayRef<int64_t> shape;
  int64_t k;
  DenseMap<Value, Value> found;
};

/// What a step computes: elementwise operations of scalars, whatever they pick or add, and of nothing from outside.
bool isElementwiseStep(stablehlo::ReduceOp op) {
  Block &step = op.getBody().front();
  return llvm::all_of(step, [&](Operation &one) {
    bool isOwn = llvm::all_of(one.getOperands(), [&](Value operand) { return operand.getParentBlock() == &step; });
    return isOwn && (&one == step.getTerminator() || isa<stablehlo::ConstantOp>(one) || isFusible(&one));
  });
}

bool isShort(stablehlo::ReduceOp op) {
  if (op.getDimensions().size() != 1)
    return false;
  auto type = shapedType(op.getInputs()[0]);
  int64_t length = type.getShape().empty() ? 0 : type.getShape().back();
  return op.getDimensions()[0] == type.getRank() - 1 && length >= 2 && length <= kLongest && countOf(op.getResult(0)) >= kFewestResults;
}

/// Several operands (the largest and its place) or a step of several operations: all of the step for each element, in order.
bool isUnrolledStep(stablehlo::ReduceOp op) {
  for (auto [input, init, result, before, after] :
       llvm::zip(op.getInputs(), op.getInitValues(), op.getResults(), op.getBody().getArguments(), op.getBody().front().getTerminator()->getOperands())) {
    Type element = shapedType(input).getElementType();
    bool isHalf = element.isF16() || element.isBF16(); // These are combined in f32.
    bool isSame = element == shapedType(result).getElementType() && element == shapedType(before).getElementType() &&
                  element == shapedType(after).getElementType();
    if (isHalf || !isSame || !isCompiledTensor(input.getType()) || !isCompiledTensor(result.getType()) || !splatOf(init))
      return false;
  }
  return isElementwiseStep(op);
}

void unroll(stablehlo::ReduceOp op) {
  if (!isShort(op) || !isUnrolledStep(op) || comesBack(op) || !compiler::mayRewrite(op, "unroll-reduction"))
    return;
  OpBuilder builder(op);
  auto shape = shapedType(op.getResult(0)).getShape();
  SmallVector<Value> results;
  for (auto [init, result] : llvm::zip(op.getInitValues(), op.getResults())) {
    auto number = DenseElementsAttr::get(shapedType(result), cast<Attribute>(splatOf(init)));
    results.push_back(builder.create<stablehlo::ConstantOp>(op.getLoc(), number));
  }
  Block &step = op.getBody().front();
  for (int64_t k = 0; k < shapedType(op.getInputs()[0]).getShape().back(); ++k) {
    Elements elements(builder, shape, k);
    IRMapping known;
    for (size_t i = 0; i < results.size(); ++i) {
      known.map(step.getArgument(unsigned(i)), results[i]);
      known.map(step.getArgument(unsigned(results.size() + i)), elements.of(op.getInputs()[i]));
    }
    for (Operation &one : step.without_terminator()) {
      if (auto constant = dyn_cast<stablehlo::ConstantOp>(one)) {
        auto type = RankedTensorType::get(shape, shapedType(constant).getElementType());
        known.map(constant.getResult(), builder.create<stablehlo::ConstantOp>(op.getLoc(), cast<SplatElementsAttr>(constant.getValue()).resizeSplat(type)).getResult());
        continue;
      }
      auto operands = llvm::map_to_vector(one.getOperands(), [&](Value operand) { return known.lookupOrDefault(operand); });
      known.map(one.getResult(0), BodyWriter(builder, op.getLoc()).copy(&one, operands, shape));
    }
    for (auto [result, after] : llvm::zip(results, step.getTerminator()->getOperands()))
      result = known.lookup(after);
  }
  op.replaceAllUsesWith(results);
  op.erase();
}

class UnrollShortReductions : public impl::UnrollShortReductionsBase<UnrollShortReductions> {
public:
  void runOnOperation() override {
    rewriteEach(getOperation(), [](Operation *op) {
      if (auto reduce = dyn_cast<stablehlo::ReduceOp>(op))
        unroll(reduce);
    });
  }
};

} // namespace
} // namespace cupel::tir
