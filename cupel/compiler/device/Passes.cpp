#include "cupel/compiler/device/Passes.h"

#include "cupel/compiler/tensor/Passes.h"
#include "cupel/compiler/tensor/TensorIr.h"
#include "cupel/compiler/tensor/named/NamedFusion.h"

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

/// What a program cannot be run without, each operation by itself.
static void buildPlainTensorPipeline(OpPassManager &manager, const Pipeline &pipeline) {
  manager.addPass(tir::createOutlineControlFlow());
  manager.addPass(tir::createFoldConstants({/*evaluate=*/false, /*joinsVectors=*/false}));
  manager.addPass(tir::createFormConvolutions());
  if (pipeline.wrongRewrite != 0)
    manager.addPass(tir::createPlantWrongRewrite({pipeline.wrongRewrite}));
  manager.addPass(tir::createGeneralizeDots());
  manager.addPass(tir::createWidenProducts());
  manager.addPass(tir::createFormMaps({/*fuse=*/false}));
  manager.addPass(tir::createFormProducts());
  manager.addPass(tir::createFormReductions({/*fuse=*/false}));
}

void buildTensorPipeline(OpPassManager &manager, const Pipeline &pipeline) {
  if (pipeline.level == 0)
    return buildPlainTensorPipeline(manager, pipeline);
  manager.addPass(tir::createOutlineControlFlow());
  manager.addPass(tir::createPlaceOnReference());
  manager.addPass(tir::createGeneralizeDots());
  manager.addPass(tir::createComplexAsPairs());
  manager.addPass(tir::createQuantizedAsIntegers());
  manager.addPass(tir::createVolumesAsImages());
  manager.addPass(tir::createIntegerSums()); // While weights that are constants are integers.
  manager.addPass(tir::createFoldConstants());
  manager.addPass(tir::createUntransposePlaces());
  manager.addPass(tir::createSeparateGathers());
  manager.addPass(tir::createWidenWindows());
  manager.addPass(tir::createSinkGathers());
  manager.addPass(tir::createJoinPlaces());
  manager.addPass(tir::createGathersAsMoves());
  manager.addPass(tir::createUnrollShortReductions());
  manager.addPass(tir::createWidenProducts());
  manager.addPass(tir::createFoldConstants({/*evaluate=*/true, /*joinsVectors=*/true}));
  manager.addPass(tir::createNameFusions({pipeline.without}));
  manager.addPass(tir::createJoinSummedGroups());
  manager.addPass(tir::createReadIntegers());
  manager.addPass(tir::createFormConvolutions());
  manager.addPass(tir::createSinkTransposes());
  manager.addPass(tir::createRepeatConversions());
  if (pipeline.wrongRewrite != 0)
    manager.addPass(tir::createPlantWrongRewrite({pipeline.wrongRewrite}));
  manager.addPass(tir::createFormProducts());
  manager.addPass(tir::createFuseEpilogues());
  manager.addPass(tir::createFormRows());
  manager.addPass(tir::createFormReductions());
  manager.addPass(tir::createFormMaps());
  if (!tir::isLeftOut(pipeline.without, tir::kAttentionFusion.name))
    manager.addPass(tir::createFormAttention());
  manager.addPass(tir::createTurnResults());
}

void buildProgramPipeline(OpPassManager &manager, const Pipeline &pipeline) {
  manager.addPass(createLowerToDevice());
  if (pipeline.level >= 2 && pipeline.sramBytes > 0)
    manager.addPass(createPlaceInSram({pipeline.sramBytes}));
}

void buildDevicePipeline(OpPassManager &manager, const Pipeline &pipeline) {
  buildTensorPipeline(manager, pipeline);
  buildProgramPipeline(manager, pipeline);
}

namespace {

/// `compile-to-device{level=0 sram=100663296}`.
struct PipelineOptions : PassPipelineOptions<PipelineOptions> {
  Option<int64_t> level{*this, "level", llvm::cl::desc("Optimization level: 0, 1 or 2"), llvm::cl::init(2)};
  Option<int64_t> sram{*this, "sram", llvm::cl::desc("Bytes of SRAM of the device"), llvm::cl::init(0)};
  Option<std::string> without{*this, "without", llvm::cl::desc("Named fusions that are left out, parted by commas")};
  Pipeline get() const { return {.level = level, .sramBytes = sram, .without = without}; }
};

} // namespace

void registerDialects(DialectRegistry &registry) {
  registry.insert<DevDialect, tir::TirDialect>();
}

void registerPasses() {
  registerDevicePasses();
  tir::registerTensorPasses();
  static PassPipelineRegistration<PipelineOptions> tensor(
      "compile-to-tensor", "StableHLO without calls to tensor IR",
      [](OpPassManager &manager, const PipelineOptions &options) {
        buildTensorPipeline(manager, options.get());
      });
  static PassPipelineRegistration<PipelineOptions> device(
      "compile-to-device", "StableHLO without calls to device IR",
      [](OpPassManager &manager, const PipelineOptions &options) {
        buildDevicePipeline(manager, options.get());
      });
}

} // namespace cupel::dev
