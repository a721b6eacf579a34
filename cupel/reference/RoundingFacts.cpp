#include "cupel/reference/RoundingFacts.h"

#include "cupel/ir/stablehlo/Stablehlo.h"

namespace cupel::reference {

using namespace mlir;
using namespace cupel::stablehlo;

static bool isOfFloats(mlir::Type type) {
  return isa<FloatType, ComplexType>(getElementTypeOrSelf(type));
}

/// Whether floats go in and what comes out jumps with them, or an order nobody prescribes decides.
static bool jumps(Operation &op) {
  // Of updates that meet, whoever executes it takes the last.
  if (auto scatter = dyn_cast<ScatterOp>(op); scatter && !scatter.getUniqueIndices())
    return true;
  if (llvm::none_of(op.getOperandTypes(), isOfFloats))
    return false;
  if (isa<SortOp, FloorOp, CeilOp, RoundNearestAfzOp, RoundNearestEvenOp, SignOp>(op))
    return true;
  // Comparisons and conversions among others; bodies are walked by themselves.
  return op.getName().getDialectNamespace() == "stablehlo" && op.getNumResults() > 0 &&
         llvm::none_of(op.getResultTypes(), isOfFloats);
}

bool floatsDecide(Operation *program) {
  return program
      ->walk([](Operation *op) {
        return jumps(*op) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

std::optional<std::string_view> narrowFloat(Operation *program) {
  bool hasF16 = false, hasBf16 = false;
  auto look = [&](mlir::Type type) {
    mlir::Type element = getElementTypeOrSelf(type);
    hasF16 |= element.isF16();
    hasBf16 |= element.isBF16();
  };
  program->walk([&](Operation *op) {
    llvm::for_each(op->getResultTypes(), look);
    llvm::for_each(op->getOperandTypes(), look);
  });
  if (hasBf16)
    return "bf16";
  return hasF16 ? std::optional<std::string_view>("f16") : std::nullopt;
}

} // namespace cupel::reference
