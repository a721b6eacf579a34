// Kernels of products and convolutions of integers take elements of 8, 16 and 32 bits: what widens them in
// front, or takes a zero point of nothing from them, is left out. Weights are then arguments or constants as
// they were given, and are packed once.

#include "cupel/compiler/rewrites/Rewrites.h"
#include "cupel/compiler/tensor/Group.h"
#include "cupel/compiler/tensor/Passes.h"

using namespace mlir;

namespace cupel::tir {

#define GEN_PASS_DEF_READINTEGERS
#include "cupel/compiler/tensor/Passes.h.inc"

namespace {

IntegerType integerOf(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.hasStaticShape() && !type.getEncoding() ? dyn_cast<IntegerType>(type.getElementType())
                                                              : IntegerType();
}

bool isZero(Value value) {
  auto splat = dyn_cast_or_null<IntegerAttr>(splatOf(value));
  return splat && splat.getValue().isZero();
}

/// The same numbers in fewer bits, or the value itself.
Value narrowest(Value value) {
  Value from = value;
  while (Operation *op = from.getDefiningOp()) {
    if (isa<stablehlo::SubtractOp, stablehlo::AddOp>(op) && isZero(op->getOperand(1)))
      from = op->getOperand(0);
    else if (isa<stablehlo::AddOp>(op) && isZero(op->getOperand(0)))
      from = op->getOperand(1);
    else if (IntegerType narrow = isa<stablehlo::ConvertOp>(op) ? integerOf(op->getOperand(0)) : IntegerType();
             narrow && (narrow.getWidth() == 8 || narrow.getWidth() == 16) &&
             narrow.getWidth() < integerOf(from).getWidth())
      return op->getOperand(0);
    else
      break;
  }
  return value;
}

/// With a result of 32 bits, in which sums of what is read are the same, of operands that have as many.
bool hasIntegerSums(Operation *op) {
  if (!isa<stablehlo::DotGeneralOp, stablehlo::ConvolutionOp>(op))
    return false;
  auto dot = dyn_cast<stablehlo::DotGeneralOp>(op);
  auto is32 = [](Value value) { return integerOf(value) && integerOf(value).getWidth() == 32; };
  return is32(op->getOperand(0)) && is32(op->getOperand(1)) && is32(op->getResult(0)) &&
         !(dot && dot.getAlgorithm());
}

class ReadIntegers : public impl::ReadIntegersBase<ReadIntegers> {
public:
  void runOnOperation() override {
    rewriteEach(getOperation(), [](Operation *op) {
      if (!hasIntegerSums(op))
        return;
      for (unsigned i : {0, 1})
        if (Value narrow = narrowest(op->getOperand(i));
            narrow != op->getOperand(i) && compiler::mayRewrite(op, "read-integers"))
          op->setOperand(i, narrow);
    });
  }
};

} // namespace
} // namespace cupel::tir
