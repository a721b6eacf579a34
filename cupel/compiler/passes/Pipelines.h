// Named pipelines of passes. `compile-for-devices` is what every program goes through on its way to
// a backend; `cupel opt --pass-pipeline` reaches it and each of its passes by name. A pipeline only
// lists passes: what they do is theirs.

#pragma once

#include "cupel/compiler/analysis/Propagate.h"

#include "mlir/Pass/PassManager.h"

#include <string>
#include <vector>

namespace cupel::compiler {

/// What a program is compiled for.
struct DevicePipeline {
  int64_t replicas = 1, partitions = 1;
  bool own = false;          // The program is what each device runs on what it is given.
  bool skipWindows = false;  // A scatter skips windows that hang over an edge whole.
  std::vector<bool> results; // Which results may get a sharding; one entry stands for all.
  std::vector<std::string> types; // That devices compute in; empty: all.
  std::string weightFormats; // Of weights of products, as parseWeightFormats reads them; empty: none.
  bool narrow = false; // Products of f32 take bf16 (NarrowProducts.h),
  bool narrowKept = false; // and so do all that read what they read.
  bool split = true;   // Programs on whole tensors are split over their devices where possible.
  bool strict = false; // What cannot be split is an error.
  /// How handlers are called that somebody registered.
  RunsOutside outside = [](llvm::function_ref<void()> work) { work(); };
};

/// `report-shardings`, with a way to call handlers.
std::unique_ptr<mlir::Pass> createReportShardings(RunsOutside outside);

void buildDevicePipeline(mlir::OpPassManager &manager, const DevicePipeline &pipeline);

/// Makes all pipelines known by their names.
void registerPipelines();

} // namespace cupel::compiler
