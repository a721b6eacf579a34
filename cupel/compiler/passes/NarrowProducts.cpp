#include "cupel/compiler/passes/NarrowProducts.h"

#include "cupel/compiler/passes/Passes.h"
#include "cupel/ir/stablehlo/Stablehlo.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace cupel::compiler {

#define GEN_PASS_DEF_NARROWPRODUCTS
#include "cupel/compiler/passes/Passes.h.inc"

namespace {

bool isF32(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.getElementType().isF32() && !type.getEncoding();
}

/// Moves of numbers, which can as well be done to rounded ones: kernels read through them.
bool isMove(Operation *op) {
  return isa_and_nonnull<stablehlo::TransposeOp, stablehlo::ReshapeOp, stablehlo::BroadcastInDimOp>(op);
}

class ProductNarrower {
public:
  explicit ProductNarrower(MLIRContext *context) : builder(context) {}

  void run(Operation *op) {
    bool isKnown = isa<stablehlo::DotGeneralOp, stablehlo::DotOp, stablehlo::ConvolutionOp>(op);
    if (!isKnown || op->hasAttr(kNarrowedAttr) || !isF32(op->getOperand(0)) || !isF32(op->getOperand(1)) ||
        !isF32(op->getResult(0)) || asksForMore(op))
      return;
    auto dot = dyn_cast<stablehlo::DotGeneralOp>(op);
    if (dot && dot.getAlgorithm())
      return;
    bool hasKernels = dot && dot.getDotDimensionNumbers().getLhsBatchingDimensions().empty();
    for (unsigned i : {0, 1})
      op->setOperand(i, changed(op->getOperand(i), hasKernels ? narrow : rounded, !hasKernels));
    op->setAttr(kNarrowedAttr, builder.getUnitAttr());
  }

  /// Drops the moves that nobody needs any more now that they are done to rounded numbers.
  void finish() {
    for (Operation *move : llvm::reverse(replaced))
      if (move->use_empty())
        move->erase();
  }

private:
  using Made = llvm::DenseMap<Value, Value>;

  Value converted(Value value, Type element) {
    auto type = cast<RankedTensorType>(value.getType());
    return builder.create<stablehlo::ConvertOp>(value.getLoc(), type.clone(element), value);
  }

  /// The value in bf16, or rounded to it: where the numbers come from, with what moves them done again behind.
  Value changed(Value value, Made &made, bool staysF32) {
    SmallVector<Operation *> moves;
    Value origin = value;
    while (!made.contains(origin) && isMove(origin.getDefiningOp())) {
      moves.push_back(origin.getDefiningOp());
      origin = origin.getDefiningOp()->getOperand(0);
    }
    Value &known = made[origin];
    if (!known) {
      builder.setInsertionPointAfterValue(origin);
      auto widening = origin.getDefiningOp<stablehlo::ConvertOp>();
      bool wasBf16 = widening && cast<ShapedType>(widening.getOperand().getType()).getElementType().isBF16();
      known = wasBf16 ? widening.getOperand() : converted(origin, builder.getBF16Type());
      if (staysF32)
        known = wasBf16 ? origin : converted(known, builder.getF32Type());
    }
    Value last = known;
    for (Operation *move : llvm::reverse(moves)) {
      builder.setInsertionPointAfter(move);
      IRMapping operands;
      operands.map(move->getOperand(0), last);
      Operation *again = builder.clone(*move, operands);
      last = again->getResult(0);
      last.setType(cast<RankedTensorType>(move->getResult(0).getType())
                       .clone(cast<RankedTensorType>(operands.lookup(move->getOperand(0)).getType()).getElementType()));
      made[move->getResult(0)] = last;
      replaced.insert(move);
    }
    return last;
  }

  OpBuilder builder;
  Made narrow, rounded;
  llvm::SetVector<Operation *> replaced;
};

struct NarrowProductsPass : public impl::NarrowProductsBase<NarrowProductsPass> {
  void runOnOperation() override { narrowProducts(getOperation()); }
};

} // namespace

bool asksForMore(Operation *product) {
  auto asked = product->getAttrOfType<ArrayAttr>("precision_config");
  return asked && llvm::any_of(asked.getAsRange<stablehlo::PrecisionAttr>(), [](stablehlo::PrecisionAttr one) {
           return one.getValue() != stablehlo::Precision::DEFAULT;
         });
}

int64_t narrowProducts(ModuleOp module) {
  SmallVector<Operation *> all; // What is made on the way is not walked.
  module.walk([&](Operation *op) { all.push_back(op); });
  ProductNarrower narrower(module.getContext());
  int64_t count = 0;
  for (Operation *op : all) {
    narrower.run(op);
    count += op->hasAttr(kNarrowedAttr) ? 1 : 0;
  }
  narrower.finish();
  module->setAttr(kNarrowedCountAttr, IntegerAttr::get(IntegerType::get(module.getContext(), 64), count));
  return count;
}

NarrowedNumbers numbersOfNarrowed(Value operand) {
  while (isMove(operand.getDefiningOp()))
    operand = operand.getDefiningOp()->getOperand(0);
  Value origin = operand;
  while (auto conversion = origin.getDefiningOp<stablehlo::ConvertOp>())
    origin = conversion.getOperand();
  return origin == operand ? NarrowedNumbers() : NarrowedNumbers{operand, origin};
}

int64_t narrowedProducts(ModuleOp module) {
  auto count = module->getAttrOfType<IntegerAttr>(kNarrowedCountAttr);
  return count ? count.getInt() : 0;
}

} // namespace cupel::compiler
