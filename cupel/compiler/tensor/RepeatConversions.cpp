// Conversions to wider numbers that sums read are done by each reader, inside its own loop, and not
// written to memory for all of them.

#include "cupel/compiler/rewrites/Rewrites.h"
#include "cupel/compiler/tensor/Group.h"
#include "cupel/compiler/tensor/Passes.h"

using namespace mlir;

namespace cupel::tir {

#define GEN_PASS_DEF_REPEATCONVERSIONS
#include "cupel/compiler/tensor/Passes.h.inc"

namespace {

void repeat(stablehlo::ConvertOp op) {
  auto from = cast<RankedTensorType>(op.getOperand().getType()),
       to = cast<RankedTensorType>(op.getResult().getType());
  bool isWidened = from.getElementType().isF32() && to.getElementType().isF64();
  auto isReader = [](Operation *user) { return isFusible(user) || isSimpleReduction(user); };
  if (!isWidened || op.getResult().hasOneUse() || op.getResult().use_empty() ||
      !llvm::all_of(op->getUsers(), isReader) || !llvm::any_of(op->getUsers(), isSimpleReduction) ||
      !compiler::mayRewrite(op, "repeat-conversion"))
    return;
  // An operation that reads it twice has one.
  llvm::SetVector<Operation *> readers(op->getUsers().begin(), op->getUsers().end());
  for (Operation *reader : readers) {
    OpBuilder builder(reader);
    reader->replaceUsesOfWith(op.getResult(), builder.clone(*op)->getResult(0));
  }
  op.erase();
}

class RepeatConversions : public impl::RepeatConversionsBase<RepeatConversions> {
public:
  void runOnOperation() override {
    rewriteEach(getOperation(), [](Operation *op) {
      if (auto conversion = dyn_cast<stablehlo::ConvertOp>(op))
        repeat(conversion);
    });
  }
};

} // namespace
} // namespace cupel::tir
