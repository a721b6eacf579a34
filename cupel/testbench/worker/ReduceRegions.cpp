// Shrinks what stands in loops and branches: their operations hand on what they read, or zeros,
// until none can be left away any more.

#include "cupel/testbench/worker/Reduce.h"

#include "cupel/compiler/analysis/Devices.h"
#include "cupel/ir/sdy/Sdy.h"
#include "cupel/ir/stablehlo/Stablehlo.h"

#include <mlir/Transforms/RegionUtils.h>

namespace cupel::testbench::worker {

namespace {

/// A loop whose counter is left away has no end; the reference gets no longer than this to find out.
constexpr std::chrono::seconds kForEvaluation{4};

/// Puts what the operation reads, or zeros, in the place of its results, and takes it away. False
/// where nothing of their types is there.
bool leaveAway(mlir::Operation *op) {
  mlir::OpBuilder builder(op);
  for (mlir::Value result : op->getResults()) {
    if (result.use_empty())
      continue;
    auto same = llvm::find_if(op->getOperands(), [&](mlir::Value operand) {
      return operand.getType() == result.getType();
    });
    if (same != op->getOperands().end()) {
      result.replaceAllUsesWith(*same);
      continue;
    }
    auto type = mlir::dyn_cast<mlir::RankedTensorType>(result.getType());
    mlir::TypedAttr zero = type && type.hasStaticShape() && type.getElementType().isIntOrFloat()
                               ? builder.getZeroAttr(type.getElementType())
                               : mlir::TypedAttr();
    if (!zero)
      return false;
    result.replaceAllUsesWith(builder.create<stablehlo::ConstantOp>(
        op->getLoc(), mlir::DenseElementsAttr::get(type, mlir::Attribute(zero))));
  }
  op->erase();
  return true;
}

} // namespace

std::vector<mlir::Operation *> operationsInControlFlow(mlir::func::FuncOp entry) {
  std::vector<mlir::Operation *> found;
  // What stands in something comes behind it.
  entry.walk<mlir::WalkOrder::PreOrder>([&](mlir::Operation *op) {
    const bool isInside = mlir::isa_and_nonnull<stablehlo::WhileOp, stablehlo::IfOp,
                                                stablehlo::CaseOp, sdy::ManualComputationOp>(
        op->getParentOp());
    if (isInside && !op->hasTrait<mlir::OpTrait::IsTerminator>() &&
        !op->hasTrait<mlir::OpTrait::ConstantLike>())
      found.push_back(op);
  });
  return found;
}

Result<bool> Reducer::simplifyRegions() {
  const Budget whole = best->budget;
  auto without = [&](auto isLeftAway) -> std::optional<Prepared> {
    Prepared one = best->clone();
    mlir::func::FuncOp entry = compiler::entryOf(*one.read->module);
    std::vector<mlir::Operation *> all = operationsInControlFlow(entry);
    bool isChanged = false;
    // From the last on: what reads an operation is gone before it.
    for (size_t i = all.size(); i-- > 0;)
      if (isLeftAway(i))
        isChanged |= leaveAway(all[i]);
    if (!isChanged)
      return {};
    mlir::IRRewriter rewriter(entry.getContext());
    (void)mlir::runRegionDCE(rewriter, entry->getRegions());
    one.budget.deadline =
        std::min(one.budget.deadline, std::chrono::steady_clock::now() + kForEvaluation);
    return one;
  };
  auto take = [&](std::optional<Prepared> candidate) -> Result<bool> {
    if (!candidate)
      return false;
    Candidates candidates;
    candidates.push_back(std::move(*candidate));
    Result<bool> taken = takeFirst(std::move(candidates), "less in loops and branches");
    best->budget = whole;
    return taken;
  };
  size_t count = operationsInControlFlow(compiler::entryOf(*best->read->module)).size();
  if (!count)
    return false;
  Result<bool> all = take(without([](size_t) { return true; }));
  if (!all || *all)
    return all;
  bool isSimpler = false;
  for (size_t i = count; i-- > 0 && !isOver();) {
    Result<bool> taken = take(without([&](size_t number) { return number == i; }));
    if (!taken)
      return taken;
    isSimpler |= *taken;
    // What nobody reads any more went with it.
    i = std::min(i, operationsInControlFlow(compiler::entryOf(*best->read->module)).size());
  }
  return isSimpler;
}

} // namespace cupel::testbench::worker
