#include "cupel/compiler/passes/EnterManualComputation.h"

#include "cupel/compiler/analysis/Devices.h"
#include "cupel/compiler/analysis/Inspect.h"
#include "cupel/compiler/passes/Passes.h"
#include "cupel/reference/ShardsOf.h"

using namespace mlir;
using cupel::runtime::ProgramInfo;
using cupel::runtime::ValueInfo;

namespace cupel::compiler {

#define GEN_PASS_DEF_ENTERMANUALCOMPUTATION
#include "cupel/compiler/passes/Passes.h.inc"

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

/// Whether devices hold arguments and results just as the computation wants and gives them, and it
/// leaves no axis to the compiler.
static bool isHeldAsComputed(sdy::ManualComputationOp manual, ModuleOp module,
                             const ProgramInfo &info) {
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

void enterManualComputation(func::FuncOp function, sdy::ManualComputationOp manual) {
  Block &block = function.getBody().front();
  SmallVector<Type> arguments(manual.getBody().front().getArgumentTypes());
  SmallVector<Type> results(manual.getBody().front().getTerminator()->getOperandTypes());
  holdPieces(function, FunctionType::get(function.getContext(), arguments, results));
  for (auto [argument, type] : llvm::zip_equal(block.getArguments(), arguments))
    argument.setType(type);
  SmallVector<Value> ends = inlineRegion(manual, manual.getBody(), block.getArguments());
  block.getTerminator()->setOperands(ends);
  manual->erase();
}

namespace {

struct EnterManualComputationPass
    : public impl::EnterManualComputationBase<EnterManualComputationPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    Devices devices = Devices::of(module);
    func::FuncOp entry = entryOf(module);
    if (!entry || devices.replicas != 1 || devices.partitions < 2 || devices.view != View::Global)
      return;
    sdy::ManualComputationOp manual = wholeComputation(entry);
    if (!manual)
      return;
    Result<ProgramInfo> info = describe(module, entry);
    if (!info || !isHeldAsComputed(manual, module, *info))
      return;
    enterManualComputation(entry, manual);
    devices.view = View::Own;
    devices.write(module);
  }
};

} // namespace

} // namespace cupel::compiler
