#include "cupel/compiler/passes/Passes.h"
#include "cupel/ir/stablehlo/Stablehlo.h"
#include "cupel/reference/Indexing.h"

using namespace mlir;

namespace cupel::compiler {

#define GEN_PASS_DEF_SKIPOVERHANGINGWINDOWS
#include "cupel/compiler/passes/Passes.h.inc"

namespace {

struct SkipOverhangingWindowsPass
    : public impl::SkipOverhangingWindowsBase<SkipOverhangingWindowsPass> {
  void runOnOperation() override {
    auto mark = UnitAttr::get(&getContext());
    getOperation().walk([&](stablehlo::ScatterOp scatter) {
      scatter->setAttr(reference::kWholeWindowsAttr, mark);
    });
  }
};

} // namespace

} // namespace cupel::compiler
