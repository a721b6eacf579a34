// StableHLO's gather as copies of boxes, one for each index vector. Used by MoveKernel.cpp.

#pragma once

#include "cupel/compiler/backends/cpu/Kernel.h"

namespace cupel::compiler {

Result<KernelPointer> gatherKernel(cupel::stablehlo::GatherOp op);

} // namespace cupel::compiler
