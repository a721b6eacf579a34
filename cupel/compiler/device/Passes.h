// The passes to and from device IR, and the named pipelines of the compiler: `compile-to-tensor`
// forms tensor IR of StableHLO, `compile-to-device` goes on to a device program. A pipeline only
// lists passes: what they do is theirs.

#pragma once

#include "cupel/compiler/device/DeviceIr.h"

#include "mlir/Pass/PassManager.h"

namespace cupel::dev {

#define GEN_PASS_DECL
#include "cupel/compiler/device/Passes.h.inc"

/// StableHLO behind the common passes, without calls, to tensor IR. `wrongRewrite` is for tests: see
/// `plant-wrong-rewrite`, which runs if it is not 0.
void buildTensorPipeline(mlir::OpPassManager &manager, int64_t wrongRewrite = 0);
/// And on to device IR.
void buildDevicePipeline(mlir::OpPassManager &manager, int64_t wrongRewrite = 0);

/// Makes the dialects, passes and pipelines known by their names.
void registerDialects(mlir::DialectRegistry &registry);
void registerPasses();

} // namespace cupel::dev
