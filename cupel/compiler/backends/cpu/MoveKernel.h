// Kernels that move elements to places known at run time or next to each other: slices and updates
// at dynamic places, concatenation, gather, and iota. StableHLO's own operations, of any plain element
// type; nothing of the golden reference is used. Made when a program is loaded.

#pragma once

#include "cupel/compiler/backends/cpu/Kernel.h"

namespace cupel::compiler {

/// For the operation of a launch, whose operands are the launch's arguments; refused with
/// ErrorCode::Unsupported if it is none of these.
Result<KernelPointer> moveKernel(mlir::Operation *op);

} // namespace cupel::compiler
