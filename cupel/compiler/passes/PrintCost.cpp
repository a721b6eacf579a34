#include "cupel/compiler/analysis/Cost.h"
#include "cupel/compiler/analysis/Devices.h"
#include "cupel/compiler/passes/Passes.h"

using namespace mlir;

namespace cupel::compiler {

#define GEN_PASS_DEF_PRINTCOST
#include "cupel/compiler/passes/Passes.h.inc"

namespace {

struct PrintCostPass : public impl::PrintCostBase<PrintCostPass> {
  void runOnOperation() override {
    func::FuncOp entry = entryOf(getOperation());
    if (!entry)
      return;
    runtime::CostEstimate cost = estimateCost(entry);
    auto whole = [](double number) { return static_cast<int64_t>(number); };
    entry.emitRemark() << cost.operations << " operations: " << whole(cost.flops) << " flops, "
                       << whole(cost.transcendentals) << " transcendentals, "
                       << whole(cost.bytesAccessed) << " bytes accessed"
                       << (cost.hasLoop ? ", loops counted once" : "")
                       << (cost.hasSideEffect ? ", calls to the outside" : "");
  }
};

} // namespace

} // namespace cupel::compiler
