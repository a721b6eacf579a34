// A device program ready to run: buffers resolved to places, constants in memory, a kernel for every
// launch. Made once from device IR; run any number of times, also side by side.

#pragma once

#include "cupel/compiler/backends/cpu/Frames.h"
#include "cupel/compiler/backends/cpu/Kernel.h"
#include "cupel/compiler/codegen/Codegen.h"
#include "cupel/tensor/Tensor.h"

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <vector>

namespace cupel::compiler {

/// What a program is made of, for reports.
struct ProgramReport {
  int64_t launches = 0, fallbacks = 0, brief = 0;
  int64_t kept = 0; // Launches that are left out while small arguments stay what they are.
  int64_t arenaBytes = 0, constantBytes = 0;
  std::map<std::string, int64_t> kernels;   // Kind -> how many.
  std::map<std::string, int64_t> fallbackOps; // Operation -> how many run on the reference.
  std::string firstFallback; // "stablehlo.sort at file.mlir:3:8".
};

/// Copies of a value onto itself, which is how a loop carries it unchanged.
bool isCopyOntoItself(dev::LaunchOp launch, llvm::ArrayRef<int64_t> inPlace);

/// Where kernels find a tensor. One without elements has no memory, and they may step through it all
/// the same: it lies where nothing is read or written.
const std::byte *memoryOf(const tensor::Tensor &tensor);

class LoadedProgram {
public:
  /// `functions` is a module for what is planned, which outlives the program.
  static Result<std::unique_ptr<LoadedProgram>>
  load(dev::ProgramOp program, mlir::ModuleOp functions, KernelChoice choice = {});

  Result<std::vector<tensor::Tensor>> run(reference::GridProcess &process,
                                          std::vector<tensor::Tensor> arguments) const;

  /// Runs on memory that is given: of each argument and result, and `frameBytes()` at `frame`,
  /// aligned to 64 bytes. Allocates nothing. `left` are launches that the frame has the values of.
  Status execute(reference::GridProcess &process, std::span<const tensor::Tensor> tensors,
                 const std::byte *const *arguments, std::byte *const *results,
                 std::byte *frame, std::span<const uint8_t> left = {}) const;

  /// The arena, what kernels work in, and the addresses of buffers.
  int64_t frameBytes() const;
  /// Where in a frame the memory begins that kernels use while they run.
  int64_t workspaceOffset() const;
  /// Results that lie where the argument of the same number does.
  llvm::ArrayRef<int64_t> inPlace() const { return overArguments; }

  /// Lets small launches be steps of one piece of code that repeats the whole program. `swaps` are results that change places with the arguments of
  /// the same number, `test` the result that says whether to go on. Nothing is done where there is
  /// nothing to gain. Code gives the same bits as its launches, and is made when these have been
  /// repeated often, or at once if they are `expected` to be.
  Status compileLoop(dev::ProgramOp program, llvm::ArrayRef<int64_t> swaps, int64_t test,
                     int64_t expected, KernelChoice choice);
  /// Before the first repetition of a loop: what kernels make of its invariants. Arguments and frame as for `execute`.
  Status prepareLoop(reference::GridProcess &process, const std::byte *const *arguments, std::byte *const *results, std::byte *frame) const;
  /// Asked before each repetition: whether it may be the first of `repeat`.
  bool isLoop() const {
    if (loopFunction.load(std::memory_order_acquire))
      return true;
    return makeLoop && loopPatience.fetch_sub(1, std::memory_order_relaxed) <= 0 && becomeLoop();
  }
  /// Repeats the program; the code must have been made.
  Status repeat(reference::GridProcess &process, const std::byte **arguments, std::byte **results,
                std::byte *frame) const;

  /// With the programs that its kernels run.
  const ProgramReport &report() const { return contents; }
  /// Of each argument, as far as any launch reads it.
  runtime::Reading readingOf(size_t argument) const {
    return argument < readings.size() ? readings[argument] : runtime::Reading::Packed;
  }
  /// That of each launch, in the order of the program.
  const Kernel &kernel(size_t launch) const { return *launches[launch].kernel; }

  /// How often a kernel of its launches became another.
  uint64_t kernelsChanged() const { return changes.load(std::memory_order_acquire); }

private:
  friend class Trace;

  struct Buffer {
    enum Kind { Argument, Constant, Result, Place } kind;
    int64_t position; // Number of the argument, constant or result; offset in the arena.
  };
  struct Launch {
    KernelPointer kernel;
    uint32_t first, reads, writes; // Its buffers in `operands`: those it reads, those it writes.
    int64_t prepared = 0;          // Where in the frame that lies.
  };
  struct ResultShape {
    tensor::ElementType type;
    tensor::Shape shape;
  };
  void findTakenArguments(dev::ProgramOp program);
  Status packLent(LaunchContext &context) const;
  void noteReadings(dev::LaunchOp launch, const Kernel &kernel, std::vector<int> &reads);
  std::byte **resolve(const std::byte *const *arguments, std::byte *const *results,
                      std::byte *frame) const;
  int64_t preparedOffset() const;
  Status runLaunch(LaunchContext &context, const Launch &launch, std::byte *const *memory,
                   std::byte **given) const;
  Status add(dev::LaunchOp launch, KernelPointer kernel, const llvm::DenseMap<mlir::Value, int> &numbers);
  void keepValues(dev::ProgramOp program, const llvm::DenseMap<mlir::Value, int> &numbers);
  Frame takeFrame() const;
  void giveFrame(Frame frame) const;

  std::vector<Buffer> buffers;
  std::vector<Launch> launches;
  std::vector<int> operands;
  std::vector<int64_t> operandBytes; // Of each of them.
  std::vector<tensor::Tensor> constants;
  std::vector<ResultShape> results;
  std::vector<int64_t> overArguments;
  std::vector<runtime::Reading> readings; // Of each argument.
  std::vector<std::pair<int, size_t>> packed; // Arguments and the launches that pack them, large ones first.
  KeptPlan kept;
  std::vector<int> taken; // Of each result: an argument on which it may lie if it is given away; or -1.
  bool becomeLoop() const;

  std::function<Result<codegen::CompiledLoop>()> makeLoop; // Null if it was made, or cannot be.
  std::mutex *contextUse = nullptr;
  int64_t mostRepetitions = 1; // Between two looks at whether to stop.
  mutable std::mutex loopMutex;
  mutable std::atomic<int64_t> loopPatience = 0; // Repetitions.
  mutable codegen::CompiledLoop loop;
  mutable std::atomic<codegen::LoopFunction> loopFunction = nullptr;
  struct Swap {
    int64_t number;
    int argument, result; // Buffers.
  };
  std::vector<Swap> swapped;
  int64_t arenaBytes = 0, workspaceBytes = 0, preparedBytes = 0;
  size_t mostOperands = 0; // Of one launch.
  ProgramReport contents;
  mutable std::atomic<uint64_t> changes = 0;
  std::shared_ptr<Frames> frames = Frames::make();
};

} // namespace cupel::compiler
