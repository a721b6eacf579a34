#include "cupel/compiler/analysis/Devices.h"
#include "cupel/compiler/analysis/Inspect.h"
#include "cupel/compiler/passes/Passes.h"
#include "cupel/ir/stablehlo/Stablehlo.h"

using namespace mlir;

namespace cupel::compiler {

#define GEN_PASS_DEF_ASSIGNDEVICES
#include "cupel/compiler/passes/Passes.h.inc"

namespace {

/// Whether arguments or results are stated to lie in pieces on several devices.
bool speaksOfPieces(ModuleOp module) {
  func::FuncOp entry = entryOf(module);
  if (!entry)
    return false;
  Result<runtime::ProgramInfo> info = describe(module, entry);
  auto isSplit = [](const runtime::ValueInfo &value) { return value.hasShards; };
  // What is wrong with a program is said by whoever describes it to hosts.
  return info && (llvm::any_of(info->arguments, isSplit) || llvm::any_of(info->results, isSplit));
}

struct AssignDevicesPass : public impl::AssignDevicesBase<AssignDevicesPass> {
  using AssignDevicesBase::AssignDevicesBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (replicas < 1 || partitions < 1) {
      module.emitError("a program is for one device at least, not for ")
          << replicas.getValue() << " x " << partitions.getValue();
      return signalPassFailure();
    }
    Devices devices{replicas, partitions, View::Global};
    module.walk([&](stablehlo::CustomCallOp call) {
      if (call.getCallTargetName().starts_with("SPMD"))
        devices.view = View::PerDevice;
    });
    devices.write(module);
    if (own && partitions > 1 && !speaksOfPieces(module)) {
      devices.view = View::Own;
      devices.write(module);
    }
  }
};

} // namespace

} // namespace cupel::compiler
