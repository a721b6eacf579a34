#include "cupel/compiler/tensor/Passes.h"

namespace cupel::tir {

#define GEN_PASS_DEF_EXPANDTENSORIR
#include "cupel/compiler/tensor/Passes.h.inc"

namespace {

class ExpandTensorIr : public impl::ExpandTensorIrBase<ExpandTensorIr> {
public:
  void runOnOperation() override {
    if (mlir::failed(expandTensorIr(getOperation())))
      signalPassFailure();
  }
};

} // namespace
} // namespace cupel::tir
