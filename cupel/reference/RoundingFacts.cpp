#include "cupel/reference/RoundingFacts.h"

#include "cupel/compare/Elements.h"
#include "cupel/ir/stablehlo/Stablehlo.h"

#include <algorithm>

namespace cupel::reference {

using namespace mlir;
using namespace cupel::stablehlo;

static bool isOfFloats(mlir::Type type) {
  mlir::Type element = getElementTypeOrSelf(type);
  return stablehlo::isFloat(element) || isa<ComplexType>(element);
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

/// How many digits a float has; 0 for what is none.
static unsigned digitsOf(mlir::Type type) {
  mlir::Type element = getElementTypeOrSelf(type);
  if (auto number = dyn_cast<FloatType>(element))
    return number.getFPMantissaWidth();
  if (!stablehlo::isRareFloat(element))
    return 0;
  return 1 + unsigned(compare::mantissaBits(*tensor::parseDType(stablehlo::rareFloatName(element))));
}

/// Whether floats become narrower ones: a number between two of them may become either.
static bool narrows(Operation &op) {
  unsigned from = digitsOf(op.getOperand(0).getType()), to = digitsOf(op.getResult(0).getType());
  return from && to && to < from;
}

bool rounds(Operation &op) {
  if (op.hasTrait<LinearButRounds>())
    return narrows(op);
  return op.hasTrait<Transcendental>() || op.hasTrait<LinearInEach>() ||
         op.hasTrait<LinearInFirst>() || (op.hasTrait<Linear>() && op.getNumOperands() > 1);
}

bool combinesByRounding(Operation &op) {
  for (Region &region : op.getRegions())
    for (Operation &inner : region.getOps())
      if (inner.hasTrait<stablehlo::Elementwise>() && rounds(inner) &&
          llvm::any_of(inner.getResultTypes(), isOfFloats))
        return true;
  return false;
}

/// Of what combines the elements of windows: how large these are.
static constexpr llvm::StringLiteral kWindow = "window_dimensions";

int64_t termsOf(Operation &op) {
  auto from = dyn_cast<RankedTensorType>(op.getOperand(0).getType());
  auto to = dyn_cast<RankedTensorType>(op.getResult(0).getType());
  if (!from || !to || !from.hasStaticShape() || !to.hasStaticShape() || to.getNumElements() == 0)
    return 1;
  double terms = 1, results = double(to.getNumElements());
  if (auto product = dyn_cast<FlopsOpInterface>(op))
    terms = product.getFlops() / (2 * results);
  else if (auto window = op.getAttrOfType<DenseI64ArrayAttr>(kWindow))
    for (int64_t size : window.asArrayRef())
      terms *= double(size);
  else
    terms = double(from.getNumElements()) / results;
  return std::max<int64_t>(int64_t(terms), 1);
}

static bool hasOne(Operation *program, bool (*isOne)(Operation &)) {
  return program
      ->walk([&](Operation *op) {
        return isOne(*op) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

bool floatsDecide(Operation *program) { return hasOne(program, jumps); }
bool updatesMayMeet(Operation *program) { return hasOne(program, leavesTheOrder); }

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

bool stagnates(Operation &op) {
  if (op.getName().getDialectNamespace() != "stablehlo" || op.getNumOperands() == 0 ||
      op.getNumResults() == 0)
    return false;
  mlir::Type element = getElementTypeOrSelf(op.getResult(0));
  unsigned digits = digitsOf(element);
  bool isSum = isa<FlopsOpInterface>(op) || (op.getNumRegions() > 0 && !op.hasTrait<Loops>() &&
                                             !op.hasTrait<Branches>() && combinesByRounding(op));
  if (!digits || !isSum)
    return false;
  // Of n equal numbers each addition rounds the same way: the sum is off by up to n / 8 of what it is
  // rounded by, where noise expects the root of n. From here on that is more than limits allow.
  constexpr int64_t kEqualTerms = 128;
  if (element.isF32() && op.getNumRegions() > 0 && !op.hasAttr(kWindow))
    return termsOf(op) > kEqualTerms;
  return stablehlo::getElementBits(element) <= 16 && termsOf(op) > int64_t(1) << digits;
}

} // namespace cupel::reference
