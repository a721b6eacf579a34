// What a launch of a device program runs: reads some memory, writes other. Made when a program is
// loaded, called by LoadedProgram in the order of the program. A kernel keeps no state of a run:
// several runs may call it at once.

#pragma once

#include "cupel/compiler/device/DeviceIr.h"
#include "cupel/reference/Execute.h"

#include <memory>
#include <span>
#include <string>

namespace cupel::compiler {

/// What kernels of one run share.
struct LaunchContext {
  reference::GridProcess &process;
  /// The arguments of the program, contiguous.
  std::span<const tensor::Tensor> arguments;
};

class Kernel {
public:
  virtual ~Kernel() = default;

  /// `reads` and `writes` are the memory of the launch's buffers, in their order.
  virtual Status run(LaunchContext &context, std::span<const std::byte *const> reads,
                     std::span<std::byte *const> writes) const = 0;

  /// The golden reference's kernel, for want of another.
  virtual bool isFallback() const { return false; }
  /// What it is, in a word or two for reports.
  virtual std::string_view kind() const = 0;
};

using KernelPointer = std::unique_ptr<const Kernel>;

/// Runs what the launch holds with the golden reference, written out as StableHLO. `functions` is a
/// module that outlives the kernel; what is planned is put there.
Result<KernelPointer> referenceKernel(dev::LaunchOp launch, mlir::ModuleOp functions);

} // namespace cupel::compiler
