// What a launch of a device program runs: reads some memory, writes other. Made when a program is
// loaded, called by LoadedProgram in the order of the program. A kernel keeps no state of a run:
// several runs may call it at once.

#pragma once

#include "cupel/compiler/device/DeviceIr.h"
#include "cupel/reference/Execute.h"
#include "cupel/runtime/Executable.h"

#include "llvm/ADT/DenseSet.h"

#include <atomic>
#include <iterator>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace cupel::compiler {

class LoadedProgram;
class Trace;

/// What kernels of one run share.
struct LaunchContext {
  reference::GridProcess &process;
  /// The arguments of the main program, contiguous; none for steps of loops and branches.
  std::span<const tensor::Tensor> arguments;
  /// As many bytes as the kernel asks for, aligned to 64 bytes, for the time of the launch.
  std::byte *workspace = nullptr;
  /// What the kernel has prepared for all repetitions of a loop.
  std::byte *prepared = nullptr;
};

/// Nanoseconds that a run of a program may spend on what gets no machine code at first.
struct BriefBudget {
  double forEver = 50'000;       // On kernels that never get any.
  double untilItPays = 250'000; // On those that get it when they have run often.
  std::unordered_map<size_t, double> alike; // Of what is spent for ever, by what the kernels do.
  std::unordered_set<size_t> ownCode; // Rows and reductions that have code for their sizes alone.

  /// Thousands of kernels would take seconds to be made, and more than most programs ever run: the budget grows with them.
  static BriefBudget of(dev::ProgramOp program) {
    constexpr int64_t kUsual = 512;
    constexpr double kPerLaunch = 10'000;
    auto launches = program.getOps<dev::LaunchOp>();
    int64_t count = std::distance(launches.begin(), launches.end());
    BriefBudget budget;
    if (count > kUsual)
      budget.untilItPays += kPerLaunch * double(count);
    return budget;
  }
};

/// How kernels of a program are made.
struct KernelChoice {
  /// What is small is run operation by operation, as far as this goes; null: all gets machine code.
  BriefBudget *budget = nullptr;
  /// Within a loop, of which nobody knows how often it is repeated.
  bool isRepeated = false;
  /// Arguments that are the same in all repetitions of the loop whose body the program is; null: it is none.
  const llvm::DenseSet<int64_t> *invariants = nullptr;
  /// Of the program's context, held by whoever looks at the program while it may be run; null if
  /// nobody else does.
  std::mutex *context = nullptr;
  /// Counted up when a kernel of the program becomes another; null if nobody asks. Set by `load`.
  std::atomic<uint64_t> *changes = nullptr;
};

class Kernel {
public:
  virtual ~Kernel() = default;

  /// `reads` and `writes` are the memory of the launch's buffers, in their order.
  virtual Status run(LaunchContext &context, std::span<const std::byte *const> reads,
                     std::span<std::byte *const> writes) const = 0;

  /// Adds what `run` does to a trace: calls of functions where that is all it comes to, else a call of
  /// the kernel. Buffers are numbers of the program's.
  virtual void record(Trace &trace, std::span<const int> reads, std::span<const int> writes) const;

  /// What it does with a buffer that it reads, where that is an argument of the program.
  virtual runtime::Reading readingOf(unsigned read) const { return runtime::Reading::Whole; }

  /// The argument of the main program that it packs, or -1; and packs it before anything is read.
  virtual int packedArgument() const { return -1; }
  virtual Status packArgument(LaunchContext &context) const { return {}; }

  /// Memory that each launch needs besides what it reads and writes.
  virtual int64_t workspaceBytes() const { return 0; }
  /// Memory that it needs in all repetitions of a loop, aligned to 64 bytes, and what it puts there before the first one, from reads that
  /// the loop does not change. Others leave both.
  virtual int64_t preparedBytes() const { return 0; }
  virtual Status prepare(LaunchContext &context, std::span<const std::byte *const> reads) const { return {}; }
  /// Device programs that it runs.
  virtual std::vector<const LoadedProgram *> programs() const { return {}; }
  /// The golden reference's kernel, for want of another.
  virtual bool isFallback() const { return false; }
  /// Run operation by operation, because that is sooner done than code is made.
  virtual bool isBrief() const { return false; }
  /// What it is, in a word or two for reports.
  virtual std::string_view kind() const = 0;
};

using KernelPointer = std::unique_ptr<const Kernel>;

/// Runs what the launch holds with the golden reference, written out as StableHLO. `functions` is a
/// module that outlives the kernel; what is planned is put there.
Result<KernelPointer> referenceKernel(dev::LaunchOp launch, mlir::ModuleOp functions);

} // namespace cupel::compiler
