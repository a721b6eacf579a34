#include "cupel/ir/interpreter/Interpreter.h"

#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace cupel::interpreter;

#include "cupel/ir/interpreter/InterpreterDialect.cpp.inc"

#define GET_OP_CLASSES
#include "cupel/ir/interpreter/InterpreterOps.cpp.inc"

void InterpreterDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "cupel/ir/interpreter/InterpreterOps.cpp.inc"
      >();
}

//===--------------------------------------------------------------------------------------------===//
// run_parallel
//===--------------------------------------------------------------------------------------------===//

LogicalResult RunParallelOp::verify() {
  if (getPrograms().empty() || cast<ArrayAttr>(getPrograms()[0]).empty())
    return emitOpError("needs at least one program in `programs`");
  size_t numPartitions = cast<ArrayAttr>(getPrograms()[0]).size();
  for (auto [replica, row] : llvm::enumerate(getPrograms().getAsRange<ArrayAttr>()))
    if (row.size() != numPartitions)
      return emitOpError() << "row " << replica << " of `programs` has " << row.size()
                           << " programs, but row 0 has " << numPartitions;
  if (getInfeed() && getInfeed()->empty())
    return emitOpError("`infeed` must name at least one function or be left out");
  return success();
}

static FailureOr<FunctionOpInterface> lookupFunction(RunParallelOp op, FlatSymbolRefAttr name,
                                                     SymbolTableCollection &symbolTables) {
  auto function = symbolTables.lookupNearestSymbolFrom<FunctionOpInterface>(op, name);
  if (!function)
    return op.emitOpError() << "there is no function " << name << " in the module", failure();
  return function;
}

/// Compares what all programs together take or give with what the op does.
static LogicalResult verifyTypes(RunParallelOp op, TypeRange actual, ArrayRef<Type> expected,
                                 StringRef what) {
  if (actual.size() != expected.size())
    return op.emitOpError() << "has " << actual.size() << " " << what
                            << "s, but its programs together have " << expected.size();
  for (auto [index, type] : llvm::enumerate(actual))
    if (failed(verifyCompatibleShape(type, expected[index])) ||
        getElementTypeOrSelf(type) != getElementTypeOrSelf(expected[index]))
      return op.emitOpError() << what << " " << index << " is " << type << ", but its program has "
                              << expected[index];
  return success();
}

LogicalResult RunParallelOp::verifySymbolUses(SymbolTableCollection &symbolTables) {
  SmallVector<Type> inputs, results;
  for (auto row : getPrograms().getAsRange<ArrayAttr>()) {
    for (auto program : row.getAsRange<FlatSymbolRefAttr>()) {
      auto function = lookupFunction(*this, program, symbolTables);
      if (failed(function))
        return failure();
      llvm::append_range(inputs, function->getArgumentTypes());
      llvm::append_range(results, function->getResultTypes());
    }
  }
  if (failed(verifyTypes(*this, getInputs().getTypes(), inputs, "input")) ||
      failed(verifyTypes(*this, getResultTypes(), results, "result")))
    return failure();
  if (!getInfeed())
    return success();
  for (auto name : getInfeed()->getAsRange<FlatSymbolRefAttr>()) {
    auto function = lookupFunction(*this, name, symbolTables);
    if (failed(function))
      return failure();
    if (function->getNumArguments() != 0 || function->getNumResults() != 1 ||
        !isa<ShapedType>(function->getResultTypes()[0]))
      return emitOpError() << "infeed function " << name
                           << " must take nothing and return one tensor, but is of type "
                           << function->getFunctionType();
  }
  return success();
}
