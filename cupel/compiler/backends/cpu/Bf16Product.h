// Launches of products in bf16 with sums in f32, on the processor's own bf16 instructions where it has
// them. Used when a program is loaded.

#pragma once

#include "cupel/compiler/backends/cpu/Kernel.h"
#include "cupel/compiler/tensor/TensorIr.h"

namespace cupel::compiler {

/// Of sides in bf16 and a result in f32, or in bf16 that is the sum rounded once; refused with
/// ErrorCode::Unsupported where there is none.
Result<KernelPointer> bf16Product(tir::ProductOp op, dev::LaunchOp launch, KernelChoice choice);

/// In words, for notes and reports: by the processor's instructions, or emulated.
std::string howBf16IsMultiplied();

} // namespace cupel::compiler
