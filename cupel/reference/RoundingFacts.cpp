#include "cupel/reference/RoundingFacts.h"

#include "cupel/ir/stablehlo/Stablehlo.h"

namespace cupel::reference {

using namespace mlir;
using namespace cupel::stablehlo;

static bool isOfFloats(mlir::Type type) {
  return isa<FloatType, ComplexType>(getElementTypeOrSelf(type));
}

/// Whether updates may meet, and who executes it may take any of them for the last.
static bool leavesTheOrder(Operation &op) {
  std::optional<RegisteredOperationName> known = op.getRegisteredInfo();
  auto isOrder = [](StringAttr name) { return name == "unique_indices"; };
  if (!known || llvm::none_of(known->getAttributeNames(), isOrder))
    return false;
  auto unique = op.getAttrOfType<BoolAttr>("unique_indices");
  return !unique || !unique.getValue();
}

/// Whether floats go in and what comes out jumps with them. Bodies are walked by themselves: an order
/// is made by the comparison in there.
static bool jumps(Operation &op) {
  if (leavesTheOrder(op))
    return true;
  if (op.getName().getDialectNamespace() != "stablehlo" || op.getNumResults() == 0 ||
      llvm::none_of(op.getOperandTypes(), isOfFloats))
    return false;
  if (llvm::none_of(op.getResultTypes(), isOfFloats))
    return true; // Comparisons and conversions among others.
  // Whole numbers, signs: functions of one number that are neither smooth nor linear.
  return op.getNumOperands() == 1 && op.hasTrait<stablehlo::Elementwise>() &&
         !op.hasTrait<Transcendental>() && !op.hasTrait<Linear>() &&
         !op.hasTrait<LinearButRounds>();
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
