// Loops and branches of device programs: kernels that run other programs. Made when a program is
// loaded; nothing is allocated while they run.

#pragma once

#include "cupel/compiler/backends/cpu/Kernel.h"

namespace cupel::compiler {

/// For a tir.while or tir.case, whose operands are the launch's arguments; the programs it names are
/// in `functions`.
Result<KernelPointer> controlKernel(mlir::Operation *op, mlir::ModuleOp functions,
                                    KernelChoice choice);

} // namespace cupel::compiler
