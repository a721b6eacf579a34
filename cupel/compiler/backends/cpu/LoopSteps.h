// What a launch is within the code of a loop: a function of a few elements in registers, a kernel that
// is written into the loop, or a piece that is taken from or put to a place known at run time. Used by
// ProgramLoop.cpp; what is none of these stays a call.

#pragma once

#include "cupel/compiler/codegen/Kernels.h"
#include "cupel/compiler/device/DeviceIr.h"

namespace cupel::compiler {

/// `buffers` are the numbers of what the launch reads and writes; `areOne` says whether two of them lie
/// on one another.
codegen::LoopStep loopStep(dev::LaunchOp launch, llvm::ArrayRef<int> buffers,
                           llvm::function_ref<bool(int read, int written)> areOne);

} // namespace cupel::compiler
