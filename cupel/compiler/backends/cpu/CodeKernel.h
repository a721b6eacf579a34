// Launches of maps, rows and reductions as machine code (compiler/codegen), and views as code
// generation has them. Used when a program is loaded.

#pragma once

#include "cupel/compiler/backends/cpu/Kernel.h"
#include "cupel/compiler/codegen/Codegen.h"
#include "cupel/compiler/tensor/TensorIr.h"

namespace cupel::compiler {

/// A kernel for the operation of a launch, whose operands are the launch's arguments; refused with
/// ErrorCode::Unsupported where no code can be made.
Result<KernelPointer> codeKernel(mlir::Operation *op);

codegen::View codeView(tir::ViewAttr view, tensor::DType type);
/// The bits in which an element lies in memory.
uint64_t storedBits(mlir::TypedAttr number);

} // namespace cupel::compiler
