#include "cupel/compiler/codegen/BodyOps.h"

#include "cupel/compiler/codegen/Body.h"
#include "cupel/ir/stablehlo/Stablehlo.h"
#include "cupel/support/Sha256.h"

namespace cupel::codegen {
namespace {

/// Of the decomposition that LowerChloErrorFunctions.cpp writes; BodyOpsTest lowers a chlo.erf and
/// fails if this is no longer it.
constexpr std::string_view kErf =
    "589673ccd89b46baea19d3de3920316ce2dfe3eee0b2107a377bd47f92a99bb0";

/// More operations than any function that is looked for.
constexpr size_t kMostOperations = 200;

/// Hashes of values by what computes them; equal parts have equal hashes, written once or twice.
class Shapes {
public:
  explicit Shapes(mlir::Value x) { texts[x] = "x"; }

  /// Empty if the value depends on anything but x, or on too much.
  std::string of(mlir::Value value) {
    if (auto found = texts.find(value); found != texts.end())
      return found->second;
    mlir::Operation *op = value.getDefiningOp();
    if (!op || op->getNumResults() != 1 || op->getNumRegions() != 0 || visited++ > kMostOperations)
      return "";
    std::string text;
    if (isIdentity(op)) {
      text = of(op->getOperand(0));
    } else {
      llvm::raw_string_ostream os(text);
      os << op->getName().getStringRef();
      if (isSplatConstant(op)) {
        // The value and not the shape: a row's constants are a map's.
        auto constant = mlir::cast<stablehlo::ConstantOp>(op);
        os << mlir::cast<mlir::DenseElementsAttr>(constant.getValue())
                  .getSplatValue<mlir::Attribute>();
      } else {
        if (op->getNumOperands() == 0)
          return "";
        if (mlir::isa<stablehlo::ReducePrecisionOp>(op))
          os << op->getAttr("exponent_bits") << op->getAttr("mantissa_bits");
        if (auto compare = mlir::dyn_cast<stablehlo::CompareOp>(op))
          os << static_cast<int>(compare.getComparisonDirection())
             << (compare.getCompareType() == stablehlo::ComparisonType::TOTALORDER);
        for (mlir::Value operand : op->getOperands()) {
          std::string part = of(operand);
          if (part.empty())
            return "";
          os << "(" << part << ")";
        }
      }
      text = sha256(text);
    }
    texts[value] = text;
    return text;
  }

private:
  llvm::DenseMap<mlir::Value, std::string> texts;
  size_t visited = 0;
};

bool isF32(mlir::Value value) { return elementTypeOf(value.getType()) == DType::F32; }

/// Each of its readers multiplies something else by it.
bool scalesOnly(mlir::Operation *op) {
  if (!mlir::isa<stablehlo::LogisticOp>(op) || !isF32(op->getResult(0)))
    return false;
  return llvm::all_of(op->getUsers(), [&](mlir::Operation *user) {
    if (!mlir::isa<stablehlo::MultiplyOp>(user) || user->getBlock() != op->getBlock())
      return false;
    mlir::Value other = user->getOperand(user->getOperand(0) == op->getResult(0) ? 1 : 0);
    return !other.getDefiningOp<stablehlo::LogisticOp>();
  });
}

} // namespace

std::string shapeOfFunction(mlir::Operation *op, mlir::Value x) {
  return Shapes(x).of(op->getResult(0));
}

mlir::Value matchLoweredErf(mlir::Operation *op) {
  // select(abs(x) <= 1, ...)
  auto select = mlir::dyn_cast<stablehlo::SelectOp>(op);
  auto compare =
      select ? select.getPred().getDefiningOp<stablehlo::CompareOp>() : stablehlo::CompareOp();
  auto abs = compare ? compare.getLhs().getDefiningOp<stablehlo::AbsOp>() : stablehlo::AbsOp();
  if (!abs || !isF32(select.getResult()) || !isF32(abs.getOperand()))
    return {};
  return shapeOfFunction(op, abs.getOperand()) == kErf ? abs.getOperand() : mlir::Value();
}

BodyOps::BodyOps(mlir::Block &block) : body(&block) {
  llvm::DenseSet<mlir::Operation *> isNeeded;
  SmallVector<mlir::Value> waiting(end()->getOperands());
  while (!waiting.empty()) {
    mlir::Operation *op = waiting.pop_back_val().getDefiningOp();
    if (!op || !isNeeded.insert(op).second)
      continue;
    if (mlir::Value x = matchLoweredErf(op))
      erfs[op] = x;
    waiting.append(operandsOf(op));
  }
  for (mlir::Operation &op : block.without_terminator())
    if (isNeeded.contains(&op))
      needed.push_back(&op);
  for (mlir::Operation *op : needed)
    if (scalesOnly(op))
      gates.insert(op);
}

SmallVector<mlir::Value> BodyOps::operandsOf(mlir::Operation *op) const {
  if (mlir::Value x = erfOf(op))
    return {x};
  return llvm::to_vector(op->getOperands());
}

} // namespace cupel::codegen
