// What loops and branches of tensor IR must be: functions, or device programs made of them, that fit.

#include "cupel/compiler/tensor/TensorIr.h"

using namespace mlir;
using namespace cupel::tir;

LogicalResult WhileOp::verify() {
  if (int64_t(getCarried()) < 0 || getCarried() != getResults().size() ||
      getInputs().size() < getResults().size())
    return emitOpError("needs a result for each value that it carries");
  if (getInputs().take_front(getCarried()).getTypes() != getResults().getTypes())
    return emitOpError("gives what it carries in another type");
  return success();
}

LogicalResult CaseOp::verify() {
  auto index = cast<RankedTensorType>(getIndex().getType());
  if (index.getRank() != 0 || !index.getElementType().isInteger(32))
    return emitOpError("needs an index that is one i32");
  if (getBranches().empty())
    return emitOpError("needs a function");
  return success();
}

/// The function exists and has this type. What is no function is a device program, whose own
/// arguments and results say what they are.
static LogicalResult verifyCallee(Operation *op, SymbolTableCollection &symbols,
                                  FlatSymbolRefAttr name, TypeRange inputs, TypeRange results) {
  Operation *callee = symbols.lookupNearestSymbolFrom(op, name);
  if (!callee)
    return op->emitOpError() << "names " << name << ", which there is not";
  auto function = dyn_cast<func::FuncOp>(callee);
  if (function && (TypeRange(function.getArgumentTypes()) != inputs ||
                   TypeRange(function.getResultTypes()) != results))
    return op->emitOpError() << "does not fit the type of " << name;
  return success();
}

LogicalResult WhileOp::verifySymbolUses(SymbolTableCollection &symbols) {
  Type truth = RankedTensorType::get({}, IntegerType::get(getContext(), 1));
  SmallVector<Type> next(getResultTypes());
  next.push_back(truth);
  if (failed(verifyCallee(*this, symbols, getConditionAttr(), getInputs().getTypes(), {truth})))
    return failure();
  return verifyCallee(*this, symbols, getBodyAttr(), getInputs().getTypes(), next);
}

LogicalResult CaseOp::verifySymbolUses(SymbolTableCollection &symbols) {
  for (auto branch : getBranches().getAsRange<FlatSymbolRefAttr>())
    if (failed(verifyCallee(*this, symbols, branch, getInputs().getTypes(), getResultTypes())))
      return failure();
  return success();
}
