#include "cupel/compiler/analysis/Devices.h"
#include "cupel/compiler/analysis/Propagate.h"
#include "cupel/compiler/passes/Passes.h"

using namespace mlir;

namespace cupel::compiler {

#define GEN_PASS_DEF_PRINTSHARDINGS
#include "cupel/compiler/passes/Passes.h.inc"

namespace {

struct PrintShardingsPass : public impl::PrintShardingsBase<PrintShardingsPass> {
  void runOnOperation() override {
    func::FuncOp entry = entryOf(getOperation());
    if (!entry)
      return;
    ShardingAnalysis shardings(getOperation(), entry);
    for (BlockArgument argument : entry.getArguments())
      if (sdy::TensorShardingAttr found = shardings.of(argument))
        emitRemark(argument.getLoc()) << "argument " << argument.getArgNumber() << ": " << found;
    entry.walk([&](Operation *op) {
      for (OpResult result : op->getResults())
        if (sdy::TensorShardingAttr found = shardings.of(result))
          op->emitRemark("result ") << result.getResultNumber() << ": " << found;
    });
  }
};

} // namespace

} // namespace cupel::compiler
