// For tests of those who look for wrong rewrites: one among many that are right.

#include "cupel/compiler/rewrites/Rewrites.h"
#include "cupel/compiler/tensor/Group.h"
#include "cupel/compiler/tensor/Passes.h"

using namespace mlir;

namespace cupel::tir {

#define GEN_PASS_DEF_PLANTWRONGREWRITE
#include "cupel/compiler/tensor/Passes.h.inc"

namespace {

class PlantWrongRewrite : public impl::PlantWrongRewriteBase<PlantWrongRewrite> {
public:
  using PlantWrongRewriteBase::PlantWrongRewriteBase;

  void runOnOperation() override {
    int64_t count = 0;
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function.isExternal())
        continue;
      for (Operation *op : operationsOf(function.getBody().front())) {
        if (!isa<stablehlo::AddOp>(op))
          continue;
        bool isWrong = ++count == number;
        if (!compiler::mayRewrite(op, "commute"))
          continue;
        Value lhs = op->getOperand(0), rhs = op->getOperand(1);
        op->setOperands({rhs, lhs});
        if (!isWrong)
          continue;
        OpBuilder builder(op);
        op->replaceAllUsesWith(
            builder.create<stablehlo::SubtractOp>(op->getLoc(), op->getResult(0).getType(), lhs, rhs));
        op->erase();
      }
    }
  }
};

} // namespace
} // namespace cupel::tir
