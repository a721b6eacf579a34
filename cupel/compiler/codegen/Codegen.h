// The door of code generation: kernels (Kernels.h) become machine code for the host. Asked by the
// CPU backend; the same kernel asked for again is the same code. What is not supported is refused
// with ErrorCode::Unsupported and the operation's name before any code is made, so that the caller
// falls back; nothing here evaluates or rewrites programs.

#pragma once

#include "cupel/compiler/codegen/Kernels.h"
#include "cupel/compiler/codegen/Target.h"
#include "cupel/support/Error.h"

#include <memory>

namespace cupel::codegen {

/// Does the units [begin, end) of a stage. Inputs and outputs are the buffers that views refer to,
/// in their order. Any split of the units gives the same bits, also side by side on many threads.
using KernelFunction = void (*)(const void *const *inputs, void *const *outputs, int64_t begin,
                                int64_t end, void *scratch);

/// In place on the block `c`, whose first element is result[row, column].
using BlockFunction = void (*)(void *const *operands, float *c, int64_t ldc, int64_t row,
                               int64_t rows, int64_t column, int64_t columns);

/// Repeats the steps of a loop, at most `most` times. `call` does what is no code, and says whether
/// that went well. `outcome` becomes 0 at the loop's end, 1 if there is more to do, 2 if a call failed.
using LoopFunction = void (*)(void **memory, int64_t most, bool (*call)(void *state, int64_t number),
                              void *state, int64_t *outcome);

/// Code in memory; freed with its last owner.
class Code;

struct Stage {
  KernelFunction function = nullptr;
  int64_t units = 0;
  int64_t unitElements = 0; ///< Loop indices in a unit, about: for deciding on threads.
};

/// All units of a stage are done before the next begins.
struct CompiledKernel {
  std::vector<Stage> stages;
  int64_t scratchBytes = 0;   ///< Memory that each call needs for itself, aligned to 64 bytes.
  int64_t workspaceBytes = 0; ///< Memory that all calls of all stages share (aligned likewise): if
                              ///< not 0, it is one more pointer behind the outputs.
  std::vector<int64_t> inputOffsets; ///< Bytes behind its buffer's first that each input's pointer is to be given with; empty: none.
  std::shared_ptr<const Code> code;
};

struct CompiledBlockMap {
  BlockFunction function = nullptr;
  std::shared_ptr<const Code> code;
};

struct CompiledLoop {
  LoopFunction function = nullptr;
  std::shared_ptr<const Code> code;
};

/// Whether code can be made; else why not.
Status supports(const MapKernel &kernel);
Status supports(const RowKernel &kernel);
Status supports(const Reduction &kernel);
Status supports(const BlockMap &kernel);
Status supports(const LoopKernel &kernel);
/// Whether a kernel may be a step of a loop: it is so little that no other thread would help.
Status supportsStep(const LoopStep &step, const Target &target = Target::host());

Result<CompiledKernel> compile(const MapKernel &kernel, const Target &target = Target::host());
Result<CompiledKernel> compile(const RowKernel &kernel, const Target &target = Target::host());
Result<CompiledKernel> compile(const Reduction &kernel, const Target &target = Target::host());
Result<CompiledBlockMap> compile(const BlockMap &kernel, const Target &target = Target::host());
Result<CompiledLoop> compile(const LoopKernel &kernel, const Target &target = Target::host());

/// While it lives, `text` gets the assembly of all code that the thread asks for, also of what is
/// there already.
class AssemblyListing {
public:
  explicit AssemblyListing(std::string &text);
  ~AssemblyListing();
  AssemblyListing(const AssemblyListing &) = delete;
  AssemblyListing &operator=(const AssemblyListing &) = delete;

private:
  std::string *before;
};

/// What has been made so far in this process.
struct CodegenStatistics {
  int64_t compiled = 0;     ///< Kernels that LLVM compiled.
  int64_t sharedInMemory = 0; ///< Asked for again while in use or kept.
  int64_t loadedFromDisk = 0;
  int64_t damagedOnDisk = 0; ///< Files that were noticed to be damaged and dropped.
  double seconds = 0;       ///< Spent making code.
};
CodegenStatistics statistics();

} // namespace cupel::codegen
