// Which kernel a launch gets: machine code or a kernel of ours where there is one for what it holds,
// else the golden reference's. Used when a program is loaded.

#pragma once

#include "cupel/compiler/backends/cpu/Kernel.h"

namespace cupel::compiler {

Result<KernelPointer> makeKernel(dev::LaunchOp launch, mlir::ModuleOp functions,
                                 KernelChoice choice = {});

} // namespace cupel::compiler
