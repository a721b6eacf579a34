// StableHLO's fft by transforms of our own (kernels/Fft.h), one dimension after the other. Made when
// a program is loaded.

#pragma once

#include "cupel/compiler/backends/cpu/Kernel.h"

namespace cupel::compiler {

/// Refused with ErrorCode::Unsupported for lengths that are not transformed here, and single long lines.
Result<KernelPointer> fftKernel(cupel::stablehlo::FftOp op);

} // namespace cupel::compiler
