#include "cupel/compiler/passes/CombineReductions.h"

#include "cupel/compiler/passes/Passes.h"
#include "cupel/compiler/rewrites/Rewrites.h"
#include "cupel/ir/stablehlo/Stablehlo.h"

#include "mlir/IR/OperationSupport.h"

using namespace mlir;

namespace cupel::compiler {

#define GEN_PASS_DEF_COMBINEREDUCTIONS
#include "cupel/compiler/passes/Passes.h.inc"

namespace {

bool isAlike(Operation *one, Operation *other) {
  return one->getAttrDictionary() == other->getAttrDictionary() &&
         getElementTypeOrSelf(one->getResult(0)) == getElementTypeOrSelf(other->getResult(0)) &&
         OperationEquivalence::isRegionEquivalentTo(&one->getRegion(0), &other->getRegion(0),
                                                    OperationEquivalence::ignoreValueEquivalence,
                                                    nullptr, OperationEquivalence::IgnoreLocations);
}

/// One operation, where the last of them stands.
void combine(SmallVectorImpl<Operation *> &group) {
  if (group.size() > 1 && mayRewrite(group.back(), "combine")) {
    Operation *last = group.back();
    OperationState state(last->getLoc(), last->getName());
    for (Operation *op : group) {
      state.addOperands(op->getOperands());
      state.addTypes(op->getResultTypes());
    }
    state.addAttributes(last->getAttrDictionary().getValue());
    state.addRegion()->takeBody(last->getRegion(0));
    Operation *made = OpBuilder(last).create(state);
    unsigned next = 0;
    for (Operation *op : group) {
      for (Value result : op->getResults())
        result.replaceAllUsesWith(made->getResult(next++));
      op->erase();
    }
  }
  group.clear();
}

} // namespace

void combineReductions(Operation *root) {
  root->walk([](Block *block) {
    SmallVector<Operation *> group;
    auto uses = [&](Operation &op) {
      bool found = false;
      op.walk([&](Operation *inner) {
        for (Value operand : inner->getOperands())
          found |= llvm::is_contained(group, operand.getDefiningOp());
      });
      return found;
    };
    for (Operation &op : llvm::make_early_inc_range(*block)) {
      auto reduction = dyn_cast<stablehlo::AllReduceOp>(op);
      bool joins = reduction && !group.empty() && isAlike(group.front(), &op);
      if (!group.empty() && (uses(op) || (reduction && !joins)))
        combine(group);
      if (reduction)
        group.push_back(&op);
    }
    combine(group);
  });
}

namespace {

struct CombineReductionsPass : public impl::CombineReductionsBase<CombineReductionsPass> {
  void runOnOperation() override { combineReductions(getOperation()); }
};

} // namespace

} // namespace cupel::compiler
