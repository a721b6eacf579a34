// How much memory a run of a program takes at its worst moment, found by going through the program
// as the golden reference's plan does: values are released at their last use, operations on
// elements write over an operand that nobody needs any more, reshapes share memory. Used for
// compiled memory statistics and for refusing runs that do not fit. An estimate: what kernels use
// for themselves is counted where it is of the size of a tensor, branches count as their costliest.

#pragma once

#include "cupel/compiler/analysis/Devices.h"
#include "cupel/runtime/Executable.h"

namespace cupel::compiler {

struct MemoryEstimate {
  int64_t peakBytes = 0;   // Beside arguments.
  int64_t resultBytes = 0; // Of these, what holds results in the end.
};

/// `mayReuse[i]`: argument i is the run's own to write over. `isMade[i]`: its memory is made for
/// the run and counts.
MemoryEstimate estimateMemory(mlir::func::FuncOp entry, llvm::ArrayRef<bool> mayReuse,
                              llvm::ArrayRef<bool> isMade);

/// What a run takes of each device at its worst moment, beside arguments and results.
int64_t temporaryBytes(mlir::func::FuncOp entry, const runtime::ProgramInfo &info,
                       const Devices &devices);

} // namespace cupel::compiler
