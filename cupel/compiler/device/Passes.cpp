#include "cupel/compiler/device/Passes.h"

#include "cupel/compiler/tensor/Passes.h"
#include "cupel/compiler/tensor/TensorIr.h"

#include "mlir/Pass/PassRegistry.h"
#include "llvm/ADT/MapVector.h"

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
    // Steps of loops and branches, each with how many of its results are carried.
    llvm::MapVector<StringAttr, int64_t> carried;
    getOperation().walk([&](Operation *op) {
      if (auto loop = dyn_cast<tir::WhileOp>(op)) {
        carried.insert({loop.getConditionAttr().getAttr(), 0});
        carried.insert({loop.getBodyAttr().getAttr(), loop.getCarried()});
      } else if (auto branches = dyn_cast<tir::CaseOp>(op)) {
        for (auto branch : branches.getBranches().getAsRange<FlatSymbolRefAttr>())
          carried.insert({branch.getAttr(), 0});
      }
    });
    carried.insert({main.getSymNameAttr(), 0});
    SymbolTable symbols(getOperation());
    for (auto [name, count] : carried) {
      auto function = symbols.lookup<func::FuncOp>(name);
      if (!function || failed(lowerToDevice(function, count)))
        return signalPassFailure();
      function.erase();
    }
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
  manager.addPass(tir::createOutlineControlFlow());
  manager.addPass(tir::createPlaceOnReference());
  manager.addPass(tir::createFoldConstants());
  manager.addPass(tir::createJoinSummedGroups());
  manager.addPass(tir::createFormConvolutions());
  manager.addPass(tir::createSinkTransposes());
  if (wrongRewrite != 0)
    manager.addPass(tir::createPlantWrongRewrite({wrongRewrite}));
  manager.addPass(tir::createFormProducts());
  manager.addPass(tir::createFuseEpilogues());
  manager.addPass(tir::createFormRows());
  manager.addPass(tir::createFormReductions());
  manager.addPass(tir::createFormMaps());
  manager.addPass(tir::createFormAttention());
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
