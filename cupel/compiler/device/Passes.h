// The passes to and from device IR, and the named pipelines of the compiler: `compile-to-tensor`
// forms tensor IR of StableHLO, `compile-to-device` goes on to a device program. A pipeline only
// lists passes: what they do is theirs.

#pragma once

#include "cupel/compiler/device/DeviceIr.h"

#include "mlir/Pass/PassManager.h"

namespace cupel::dev {

#define GEN_PASS_DECL
#include "cupel/compiler/device/Passes.h.inc"

/// How far programs are changed for the sake of speed, which never shows in results but by roundings.
struct Pipeline {
  /// 0: an operation is a launch, and all that it makes lies in DRAM; 1: what is known is computed
  /// once, and operations are fused; 2: what is made lies in SRAM as far as that goes.
  int64_t level = 2;
  int64_t sramBytes = 0; // Of the device; 0: it has none.
  int64_t wrongRewrite = 0; // For tests: see `plant-wrong-rewrite`, which runs if it is not 0.
  std::string without; // Named fusions that are left out (tensor/named), parted by commas.
};

/// StableHLO behind the common passes, without calls, to tensor IR.
void buildTensorPipeline(mlir::OpPassManager &manager, const Pipeline &pipeline = {});
/// From there to device IR.
void buildProgramPipeline(mlir::OpPassManager &manager, const Pipeline &pipeline = {});
/// All the way.
void buildDevicePipeline(mlir::OpPassManager &manager, const Pipeline &pipeline = {});

/// Makes the dialects, passes and pipelines known by their names.
void registerDialects(mlir::DialectRegistry &registry);
void registerPasses();

} // namespace cupel::dev
