#include "cupel/compiler/passes/DeviceProgram.h"

#include "cupel/reference/ShardsOf.h"

namespace cupel::compiler {

using namespace mlir;
using runtime::ProgramInfo;
using runtime::ValueInfo;

sdy::ManualComputationOp wholeComputation(func::FuncOp function) {
  if (function.isExternal() || !function.getBody().hasOneBlock())
    return {};
  Block &block = function.getBody().front();
  auto manual = dyn_cast<sdy::ManualComputationOp>(block.front());
  bool isWhole = manual && manual->getNextNode() == block.getTerminator() &&
                 llvm::equal(manual->getOperands(), block.getArguments()) &&
                 llvm::equal(block.getTerminator()->getOperands(), manual->getResults());
  return isWhole ? manual : sdy::ManualComputationOp();
}

bool isHeldAsComputed(sdy::ManualComputationOp manual, ModuleOp module, const ProgramInfo &info) {
  auto isManual = [&](StringRef axis) {
    return llvm::any_of(manual.getManualAxes(),
                        [&](StringAttr name) { return name.getValue() == axis; });
  };
  auto fits = [&](sdy::TensorShardingPerValueAttr shardings, ValueRange pieces,
                  const std::vector<ValueInfo> &values) {
    if (shardings.getShardings().size() != values.size() || pieces.size() != values.size())
      return false;
    for (auto [sharding, piece, value] :
         llvm::zip_equal(shardings.getShardings(), pieces, values)) {
      sdy::MeshAttr mesh = reference::meshOf(sharding, module);
      if (value.isToken || !mesh || mesh.isMaximal())
        return false;
      Result<int64_t> count = reference::deviceCount(mesh);
      if (!count || *count != info.partitions)
        return false;
      for (sdy::MeshAxisAttr axis : mesh.getAxes())
        if (axis.getSize() > 1 && !isManual(axis.getName()))
          return false;
      Result<tensor::Shards> wanted = reference::shardsOf(sharding, mesh);
      auto type = dyn_cast<RankedTensorType>(piece.getType());
      if (!wanted || *wanted != value.shards || !type || !type.hasStaticShape() ||
          !std::ranges::equal(type.getShape(), value.shardShape()))
        return false;
    }
    return true;
  };
  Block &body = manual.getBody().front();
  return fits(manual.getInShardingsAttr(), body.getArguments(), info.arguments) &&
         fits(manual.getOutShardingsAttr(), body.getTerminator()->getOperands(), info.results);
}

SmallVector<Value> inlineRegion(Operation *op, Region &region, ValueRange arguments) {
  Block &body = region.front();
  for (auto [inside, outside] : llvm::zip_equal(body.getArguments(), arguments))
    inside.replaceAllUsesWith(outside);
  Operation *end = body.getTerminator();
  SmallVector<Value> results(end->getOperands());
  end->erase();
  op->getBlock()->getOperations().splice(op->getIterator(), body.getOperations());
  return results;
}

void becomeDeviceProgram(func::FuncOp function, sdy::ManualComputationOp manual) {
  Block &block = function.getBody().front();
  SmallVector<Type> arguments(manual.getBody().front().getArgumentTypes());
  SmallVector<Type> results(manual.getBody().front().getTerminator()->getOperandTypes());
  for (auto [argument, type] : llvm::zip_equal(block.getArguments(), arguments))
    argument.setType(type);
  SmallVector<Value> ends = inlineRegion(manual, manual.getBody(), block.getArguments());
  block.getTerminator()->setOperands(ends);
  manual->erase();
  function.setFunctionType(FunctionType::get(function.getContext(), arguments, results));
}

} // namespace cupel::compiler
