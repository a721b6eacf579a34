// What is done to every element of a product or convolution is done while it is at hand.

#include "cupel/compiler/passes/NarrowProducts.h"
#include "cupel/compiler/rewrites/Rewrites.h"
#include "cupel/compiler/tensor/ElementBody.h"
#include "cupel/compiler/tensor/Passes.h"

using namespace mlir;

namespace cupel::tir {

#define GEN_PASS_DEF_FUSEEPILOGUES
#include "cupel/compiler/tensor/Passes.h.inc"

namespace {

constexpr size_t kMostExtras = 8;
/// How many operations in front of a value are looked at, so that long chains take no longer than others.
constexpr int kMostSteps = 64;

Region &bodyOf(Operation *op) { return op->getRegion(0); }

bool hasEpilogue(Operation *op) { return !bodyOf(op).front().without_terminator().empty(); }

/// Whether all that is done to the sums of a product is to round them to bf16: more may follow.
bool isOnlyRounded(Operation *op) {
  Block &body = bodyOf(op).front();
  return isa<ProductOp>(op) && llvm::hasSingleElement(body.without_terminator()) &&
         isa<stablehlo::ConvertOp>(body.front()) && body.getNumArguments() == 1;
}

/// Kernels give f32, and bf16 where they do not give whole batches to others.
bool isGiven(Operation *op, Type element) {
  auto product = dyn_cast<ProductOp>(op);
  return element.isF32() || (element.isBF16() && (!product || product.getBatch().empty()));
}

/// Puts the rounding of the sums in front of a body that begins with rounded ones.
void roundFirst(Block &body) {
  BlockArgument sum = body.getArgument(0);
  OpBuilder builder = OpBuilder::atBlockBegin(&body);
  auto rounded = builder.create<stablehlo::ConvertOp>(sum.getLoc(), sum.getType(), sum);
  sum.replaceAllUsesExcept(rounded, rounded);
  sum.setType(RankedTensorType::get({}, builder.getF32Type()));
}

/// Whether a product or convolution reads what another operation makes, which must then be in memory anyway.
bool isOperandOf(Operation *op, Operation *maker) {
  return llvm::any_of(maker->getUsers(), [&](Operation *user) {
    return user == op || (isa<stablehlo::ReshapeOp>(user) && isOperandOf(op, user));
  });
}

/// Whether a value is what was made of the integer sums of another product: that one scales and rounds them itself, and eight bits lie in
/// memory instead of 32.
bool isOfOtherSums(Operation *maker, Operation *op, int64_t count) {
  SmallVector<Operation *> waiting = {maker};
  for (int step = 0; step < kMostSteps && !waiting.empty(); ++step)
    for (Value operand : waiting.pop_back_val()->getOperands()) {
      Operation *from = throughReshapes(operand).getDefiningOp();
      bool isByte = cast<RankedTensorType>(operand.getType()).getElementType().isInteger(8); // Which lies in memory then.
      if (!from || from == op || isByte)
        continue;
      if (isa<ProductOp, ConvolutionOp>(from)) {
        if (cast<RankedTensorType>(from->getResult(0).getType()).getElementType().isInteger(32))
          return true;
      } else if (isFusible(from) && countOf(from->getResult(0)) == count) {
        waiting.push_back(from);
      }
    }
  return false;
}

/// Whether a value is all that becomes of another product's or convolution's sums of floats: that one does it itself, while they are in
/// registers, and what is added to these sums is read as it is.
bool isEpilogueOfAnother(Operation *maker, Operation *op, int64_t count) {
  SmallVector<Operation *> waiting = {maker};
  for (int i = 0; i < kMostSteps && !waiting.empty(); ++i) {
    Operation *step = waiting.pop_back_val();
    if (!step->hasOneUse())
      continue;
    for (Value operand : step->getOperands()) {
      Operation *from = throughReshapes(operand).getDefiningOp();
      if (!from || from == op || !operand.hasOneUse() || countOf(operand) != count)
        continue;
      auto product = dyn_cast<ProductOp>(from);
      if (isa<ConvolutionOp>(from) || (product && product.getBatch().empty())) {
        if (cast<RankedTensorType>(from->getResult(0).getType()).getElementType().isF32() && from->hasOneUse() && !hasEpilogue(from))
          return true;
      } else if (isFusible(from)) {
        waiting.push_back(from);
      }
    }
  }
  return false;
}

/// Numbers that were rounded, as f32: who reads them can widen them, and half as many bytes lie in memory.
bool isWidening(Operation *op) {
  auto conversion = dyn_cast<stablehlo::ConvertOp>(op);
  auto elementOf = [](Value value) { return cast<RankedTensorType>(value.getType()).getElementType(); };
  return conversion && elementOf(conversion.getResult()).isF32() && elementOf(conversion.getOperand()).isBF16();
}

void fuse(Operation *op, Taken &taken) {
  Value made = op->getResult(0);
  auto type = cast<RankedTensorType>(made.getType());
  int64_t count = type.getNumElements();
  int64_t columns = isa<ProductOp>(op) ? int64_t(cast<ProductOp>(op).getColumns())
                                       : type.getShape().back();
  Group group(op, Links::Reshapes, taken);
  auto fits = [&](Operation *other) {
    return isFusible(other) && countOf(other->getResult(0)) == count;
  };
  group.grow(fits, [&](Operation *other) { return fits(other) && !isOperandOf(op, other) && !isOfOtherSums(other, op, count) && (isWidening(other) || !isEpilogueOfAnother(other, op, count)); });
  do {
    Value result = group.cutToOneResult();
    if (!result || result == made)
      return;
    // What is made of integers is written by the epilogue itself, whatever it is.
    Type element = cast<RankedTensorType>(result.getType()).getElementType();
    if (!isGiven(op, element) && !type.getElementType().isInteger(32))
      continue;
    LoopNest nest({count / columns, columns}, {0, 1});
    ElementBody body(group, nest, op);
    body.read();
    bool fitsRows = nest.collapse() && nest.sizes().size() == 2 &&
                    nest.readings().size() <= kMostExtras;
    for (const Reading &reading : nest.readings())
      fitsRows &= reading.valid.empty();
    if (!fitsRows)
      continue;
    if (!compiler::mayRewrite(op, "epilogue"))
      return;
    Operation *place = group.place();
    OpBuilder builder(place);
    SmallVector<Value> extras = body.inputs();
    auto leading = RankedTensorType::get({}, type.getElementType());
    Operation *fused;
    if (auto product = dyn_cast<ProductOp>(op)) {
      SmallVector<Attribute> views(product.getViews().getValue());
      llvm::append_range(views, body.views());
      fused = builder.create<ProductOp>(group.locationFrom(op), result.getType(), product.getLhs(),
                                        product.getRhs(), extras, product.getBatch(),
                                        product.getRows(), product.getColumns(), product.getDepth(),
                                        product.getZerosAttr(), builder.getArrayAttr(views));
    } else {
      auto convolution = cast<ConvolutionOp>(op);
      // The pixels stay what they are; a reshape behind them is made again.
      auto resultType = type.clone(element);
      SmallVector<Attribute> views(convolution.getViews().getValue());
      llvm::append_range(views, body.views());
      fused = builder.create<ConvolutionOp>(
          group.locationFrom(op), resultType, convolution.getImage(), convolution.getKernel(), extras,
          convolution.getWindowAttr(), convolution.getStridesAttr(), convolution.getPaddingAttr(),
          convolution.getDilationsAttr(), convolution.getSpreadAttr(), convolution.getGroupsAttr(),
          convolution.getRoundedAttr(), convolution.getZerosAttr(), UnitAttr(), builder.getArrayAttr(views));
      if (Attribute narrowed = convolution->getAttr(compiler::kNarrowedAttr))
        fused->setAttr(compiler::kNarrowedAttr, narrowed);
    }
    bodyOf(fused).push_back(body.write({result}, op->getLoc(), leading));
    if (isOnlyRounded(op))
      roundFirst(bodyOf(fused).front());
    Value value = fused->getResult(0);
    if (value.getType() != result.getType())
      value = builder.create<stablehlo::ReshapeOp>(op->getLoc(), result.getType(), value);
    result.replaceAllUsesWith(value);
    taken.insert(group.operations().begin(), group.operations().end());
    return;
  } while (group.cut());
}

class FuseEpilogues : public impl::FuseEpiloguesBase<FuseEpilogues> {
public:
  void runOnOperation() override {
    formGroups(getOperation(), [](Operation *op, Taken &taken) {
      if (isa<ProductOp, ConvolutionOp>(op) && (!hasEpilogue(op) || isOnlyRounded(op)))
        fuse(op, taken);
    });
  }
};

} // namespace
} // namespace cupel::tir
