// The compiler for the host's processor as a backend: StableHLO becomes tensor IR, device IR and
// kernels. What it has no kernel for runs on the golden reference's, inside the same program; whole
// programs that need other devices or sizes known at run time only are handed to the reference
// backend, which the program's notes say.

#pragma once

#include "cupel/compiler/backends/Backend.h"

namespace mlir {
class PassManager;
} // namespace mlir

namespace cupel::compiler {

const Backend &cpuBackend();

enum class CpuStage { Tensor, Device };

struct CpuLowering {
  CpuStage stage = CpuStage::Device;
  int64_t level = 2, sramBytes = 0, wrongRewrite = 0; // As in CompileOptions.
  std::string withoutFusions; // Likewise.
  /// Called with the passes to each stage before they run: for those who watch them.
  llvm::function_ref<void(mlir::PassManager &passes, CpuStage stage)> watch;
};

/// Brings a program behind the common passes, whose main function has this name, to a stage of its
/// compilation. ErrorCode::Unsupported says why it runs whole on the reference instead.
Status lowerForCpu(mlir::ModuleOp module, mlir::StringRef entry, const CpuLowering &lowering);

} // namespace cupel::compiler
