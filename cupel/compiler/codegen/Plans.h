// What each kind of kernel becomes, before any code: its stages, the memory it needs, and how its
// functions are written. One function for each kind; Codegen.cpp turns the plans into code.

#pragma once

#include "cupel/compiler/codegen/Codegen.h"
#include "cupel/compiler/codegen/Emitter.h"

#include <functional>

namespace cupel::codegen {

struct KernelPlan {
  std::vector<Stage> stages; ///< Without functions; in code they are called "stage0", "stage1".
  int64_t scratchBytes = 0, workspaceBytes = 0;
  std::vector<int64_t> inputOffsets; ///< As in CompiledKernel.
  std::function<void(Emitter &)> emit;
};

// Of kernels that have been checked. Plans refer to the kernel's body.
KernelPlan planMap(const MapKernel &kernel, const Target &target);
/// The same map along one dimension, if all operands lie along it and it is small: its code is that of any length, which units are elements of.
std::optional<MapKernel> flattened(const MapKernel &kernel);
/// Where its inputs begin, in bytes, which they then no longer say: steps of a recurrence read the same array elsewhere, and share their code. Empty: all at the first.
std::vector<int64_t> takeOffsets(MapKernel &flat);
KernelPlan planFlatMap(const MapKernel &flat);
KernelPlan planRows(const RowKernel &kernel, const Target &target);
KernelPlan planReduction(const Reduction &kernel, const Target &target);
void emitBlockMap(Emitter &e, const BlockMap &kernel);
void emitLoop(Emitter &e, const LoopKernel &kernel);
KernelPlan planStep(const StepKernel &kernel, const Target &target);
/// Whether what a step moves is held in registers on its way, with the same bits.
bool fitsRegisters(const LoopStep &step, const Target &target);

/// Arguments of a KernelFunction, with the emitter standing in its entry.
struct KernelArguments {
  SmallVector<V> inputs, outputs; ///< Buffers.
  V begin, end, scratch;
};
KernelArguments beginKernel(Emitter &e, llvm::StringRef name, size_t inputs, size_t outputs);

} // namespace cupel::codegen
