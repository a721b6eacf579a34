// Operations that are marked for the golden reference's kernels, set aside before any other pass could
// make something else of them.

#include "cupel/compiler/tensor/Group.h"
#include "cupel/compiler/tensor/OperationMarks.h"
#include "cupel/compiler/tensor/Passes.h"

#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;

namespace cupel::tir {

#define GEN_PASS_DEF_PLACEONREFERENCE
#include "cupel/compiler/tensor/Passes.h.inc"

namespace {

bool isMarked(Operation *op) {
  auto where = op->getAttrOfType<StringAttr>(kPlacementAttr);
  return where && where.getValue() == kOnReference && op->getNumResults() > 0 && isMemoryEffectFree(op) &&
         !isa_and_nonnull<TirDialect>(op->getDialect());
}

void setAside(Operation *op) {
  llvm::SetVector<Value> reads(op->operand_begin(), op->operand_end());
  for (Region &region : op->getRegions())
    getUsedValuesDefinedAbove(region, reads);
  SmallVector<Value> inputs = reads.takeVector();
  OpBuilder builder(op);
  auto aside = builder.create<OnReferenceOp>(op->getLoc(), op->getResultTypes(), inputs);
  SmallVector<Location> locations(inputs.size(), op->getLoc());
  Block *body = builder.createBlock(&aside.getBody(), {}, ValueRange(inputs).getTypes(), locations);
  IRMapping mapping;
  mapping.map(inputs, body->getArguments());
  Operation *copy = builder.clone(*op, mapping);
  copy->removeAttr(kPlacementAttr);
  builder.create<YieldOp>(op->getLoc(), copy->getResults());
  op->replaceAllUsesWith(aside.getResults());
  op->erase();
}

class PlaceOnReference : public impl::PlaceOnReferenceBase<PlaceOnReference> {
public:
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal())
        for (Operation *op : operationsOf(function.getBody().front()))
          if (isMarked(op))
            setAside(op);
  }
};

} // namespace
} // namespace cupel::tir
