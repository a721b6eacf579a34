#include "cupel/compiler/device/Passes.h"

#include "cupel/compiler/tensor/Passes.h"

#include "mlir/Pass/PassRegistry.h"

using namespace mlir;

namespace cupel::dev {

#define GEN_PASS_DEF_LOWERTODEVICE
#define GEN_PASS_DEF_EXPANDDEVICEIR
#define GEN_PASS_REGISTRATION
#include "cupel/compiler/device/Passes.h.inc"

namespace {

class LowerToDevice : public impl::LowerToDeviceBase<LowerToDevice> {
public:
  void runOnOperation() override {
    auto main = getOperation().lookupSymbol<func::FuncOp>("main");
    if (!main || main.isExternal() || !main.getBody().hasOneBlock()) {
      getOperation().emitError("there is no function @main of one block");
      return signalPassFailure();
    }
    if (failed(lowerToDevice(main)))
      return signalPassFailure();
    main.erase();
  }
};

class ExpandDeviceIr : public impl::ExpandDeviceIrBase<ExpandDeviceIr> {
public:
  void runOnOperation() override {
    for (auto program : llvm::make_early_inc_range(getOperation().getOps<ProgramOp>())) {
      expandProgram(program);
      program.erase();
    }
  }
};

} // namespace

void buildTensorPipeline(OpPassManager &manager, int64_t wrongRewrite) {
  manager.addPass(tir::createFoldConstants());
  manager.addPass(tir::createFormConvolutions());
  manager.addPass(tir::createSinkTransposes());
  if (wrongRewrite != 0)
    manager.addPass(tir::createPlantWrongRewrite({wrongRewrite}));
  manager.addPass(tir::createFormProducts());
  manager.addPass(tir::createFuseEpilogues());
  manager.addPass(tir::createFormRows());
  manager.addPass(tir::createFormReductions());
  manager.addPass(tir::createFormMaps());
}

void buildDevicePipeline(OpPassManager &manager, int64_t wrongRewrite) {
  buildTensorPipeline(manager, wrongRewrite);
  manager.addPass(createLowerToDevice());
}

void registerDialects(DialectRegistry &registry) {
  registry.insert<DevDialect, tir::TirDialect>();
}

void registerPasses() {
  registerDevicePasses();
  tir::registerTensorPasses();
  static PassPipelineRegistration<> tensor("compile-to-tensor",
                                           "StableHLO without calls to tensor IR",
                                           [](OpPassManager &manager) { buildTensorPipeline(manager); });
  static PassPipelineRegistration<> device("compile-to-device",
                                           "StableHLO without calls to device IR",
                                           [](OpPassManager &manager) { buildDevicePipeline(manager); });
}

} // namespace cupel::dev
