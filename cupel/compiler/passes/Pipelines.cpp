#include "cupel/compiler/passes/Pipelines.h"

#include "cupel/compiler/passes/Passes.h"

#include "mlir/Pass/PassRegistry.h"

using namespace mlir;

namespace cupel::compiler {

void buildDevicePipeline(OpPassManager &manager, const DevicePipeline &pipeline) {
  manager.addPass(createRewriteCalls());
  if (pipeline.skipWindows)
    manager.addPass(createSkipOverhangingWindows());
  manager.addPass(createAssignDevices({pipeline.replicas, pipeline.partitions, pipeline.own}));
  manager.addPass(createLowerChlo());
  manager.addPass(createReportShardings(pipeline.outside));
  bool isSpread = pipeline.partitions > 1;
  if (isSpread && !pipeline.results.empty())
    manager.addPass(createPropagateShardings(
        {SmallVector<int64_t>(pipeline.results.begin(), pipeline.results.end())}));
  // What each device runs is its author's where the program is not on whole tensors.
  if (isSpread && !pipeline.own)
    manager.addPass(createEnterManualComputation());
  if (!pipeline.types.empty())
    manager.addPass(createRoundToTypes(
        {SmallVector<std::string>(pipeline.types.begin(), pipeline.types.end())}));
  if (!pipeline.weightFormats.empty())
    manager.addPass(createRoundWeights({pipeline.weightFormats}));
  if (pipeline.narrow)
    manager.addPass(createNarrowProducts({pipeline.narrowKept}));
  if (isSpread && !pipeline.own && pipeline.split)
    manager.addPass(createPartition({pipeline.strict}));
}

namespace {

struct DevicePipelineOptions : public PassPipelineOptions<DevicePipelineOptions> {
  Option<int64_t> replicas{*this, "replicas", llvm::cl::init(1),
                           llvm::cl::desc("How often the program is run side by side")};
  Option<int64_t> partitions{*this, "partitions", llvm::cl::init(1),
                             llvm::cl::desc("The devices that each replica is spread over")};
  Option<bool> own{*this, "own", llvm::cl::init(false),
                   llvm::cl::desc("The program is what each device runs on what it is given")};
  Option<bool> skipWindows{*this, "skip-windows", llvm::cl::init(false),
                           llvm::cl::desc("A scatter skips windows that hang over an edge whole")};
  ListOption<int64_t> results{*this, "results",
                              llvm::cl::desc("1 for results that may get a sharding, 0 for others; "
                                             "a single entry stands for all")};
  ListOption<std::string> types{*this, "types",
                                llvm::cl::desc("The element types of the devices")};
  Option<bool> narrow{*this, "narrow", llvm::cl::init(false),
                      llvm::cl::desc("Products of f32 take bf16")};
  Option<bool> narrowKept{*this, "narrow-kept", llvm::cl::init(false),
                          llvm::cl::desc("With narrow: what products read is bf16 for all that read it")};
  Option<bool> split{*this, "split", llvm::cl::init(true),
                     llvm::cl::desc("Split programs on whole tensors over their devices")};
  Option<bool> strict{*this, "strict", llvm::cl::init(false),
                      llvm::cl::desc("What cannot be split is an error")};

  DevicePipeline chosen() const {
    DevicePipeline pipeline;
    pipeline.replicas = replicas;
    pipeline.partitions = partitions;
    pipeline.own = own;
    pipeline.skipWindows = skipWindows;
    pipeline.results.assign(results.begin(), results.end());
    pipeline.types.assign(types.begin(), types.end());
    pipeline.narrow = narrow;
    pipeline.narrowKept = narrowKept;
    pipeline.split = split;
    pipeline.strict = strict;
    return pipeline;
  }
};

} // namespace

void registerPipelines() {
  static PassPipelineRegistration<DevicePipelineOptions> pipeline(
      "compile-for-devices", "What every program goes through on its way to a backend",
      [](OpPassManager &manager, const DevicePipelineOptions &options) {
        buildDevicePipeline(manager, options.chosen());
      });
}

} // namespace cupel::compiler
