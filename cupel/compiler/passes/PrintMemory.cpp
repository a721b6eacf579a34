#include "cupel/compiler/analysis/Devices.h"
#include "cupel/compiler/analysis/Inspect.h"
#include "cupel/compiler/analysis/MemoryEstimate.h"
#include "cupel/compiler/passes/Passes.h"

using namespace mlir;

namespace cupel::compiler {

#define GEN_PASS_DEF_PRINTMEMORY
#include "cupel/compiler/passes/Passes.h.inc"

namespace {

struct PrintMemoryPass : public impl::PrintMemoryBase<PrintMemoryPass> {
  void runOnOperation() override {
    func::FuncOp entry = entryOf(getOperation());
    if (!entry)
      return;
    Result<runtime::ProgramInfo> info = describe(getOperation(), entry);
    if (!info) {
      entry.emitError(info.message());
      return signalPassFailure();
    }
    int64_t arguments = 0, results = 0;
    for (const runtime::ValueInfo &value : info->arguments)
      arguments += value.shardBytes();
    for (const runtime::ValueInfo &value : info->results)
      results += value.shardBytes();
    entry.emitRemark() << "arguments " << arguments << " bytes, results " << results
                       << " bytes, beside them at most "
                       << temporaryBytes(entry, *info, Devices::of(getOperation())) << " bytes";
  }
};

} // namespace

} // namespace cupel::compiler
