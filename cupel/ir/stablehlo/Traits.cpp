#include "cupel/ir/stablehlo/Traits.h"
#include "cupel/ir/stablehlo/TypeRules.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace cupel::stablehlo::detail {

static SmallVector<Type> allTypes(Operation *op) {
  SmallVector<Type> types(op->getOperandTypes());
  llvm::append_range(types, op->getResultTypes());
  return types;
}

LogicalResult verifyCompatibleOperandsAndResultType(Operation *op) {
  SmallVector<Type> types = allTypes(op);
  for (Type type : types)
    if (!areCompatible(types.front(), type))
      return op->emitOpError("requires compatible types for all operands and results, but got ")
             << types.front() << " and " << type;
  return success();
}

LogicalResult verifyCompatibleOperandsAndResultElementType(Operation *op) {
  SmallVector<Type> types = allTypes(op);
  for (Type type : types)
    if (!areCompatibleElementTypes(getElementTypeOrSelf(types.front()), getElementTypeOrSelf(type)))
      return op->emitOpError(
                 "requires compatible element types for all operands and results, but got ")
             << types.front() << " and " << type;
  return success();
}

LogicalResult verifyCompatibleOperandsAndResultShape(Operation *op) {
  SmallVector<Type> types = allTypes(op);
  for (Type type : types)
    if (!areCompatibleShapes(types.front(), type))
      return op->emitOpError("requires compatible shapes for all operands and results, but got ")
             << types.front() << " and " << type;
  return success();
}

LogicalResult verifyPairwiseSameOperandAndResultType(Operation *op) {
  if (op->getNumOperands() != op->getNumResults())
    return op->emitOpError("requires as many results as operands, but got ")
           << op->getNumOperands() << " operands and " << op->getNumResults() << " results";
  for (auto [index, operand, result] : llvm::enumerate(op->getOperandTypes(), op->getResultTypes()))
    if (!areCompatible(operand, result))
      return op->emitOpError("requires the type of result #")
             << index << " to match its operand, but got " << result << " for operand type "
             << operand;
  return success();
}

LogicalResult inferMostSpecificType(std::optional<Location> location, ValueRange operands,
                                    SmallVectorImpl<Type> &results) {
  if (operands.empty())
    return emitOptionalError(location, "expected at least one operand to infer the type from");
  std::optional<Type> type = mostSpecific(operands.getTypes());
  if (!type)
    return emitOptionalError(location, "operand types are incompatible: ", operands.getTypes());
  results.push_back(*type);
  return success();
}

} // namespace cupel::stablehlo::detail
