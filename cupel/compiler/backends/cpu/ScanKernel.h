// reduce_window whose windows reach from one end of a line to each element (cumulative sums and the
// like): one walk over each line. Made when a program is loaded.

#pragma once

#include "cupel/compiler/backends/cpu/Kernel.h"

namespace cupel::compiler {

/// Refused with ErrorCode::Unsupported if the launch's operation is no such window.
Result<KernelPointer> scanKernel(dev::LaunchOp launch);

} // namespace cupel::compiler
