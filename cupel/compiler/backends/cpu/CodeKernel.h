// Launches of maps, rows and reductions as machine code (compiler/codegen) or, if they are small,
// operation by operation (compiler/brief), and views as both have them. Used when a program is loaded.

#pragma once

#include "cupel/compiler/backends/cpu/Kernel.h"
#include "cupel/compiler/codegen/Codegen.h"
#include "cupel/compiler/tensor/TensorIr.h"

namespace cupel::compiler {

/// A kernel for the operation of a launch, whose operands are the launch's arguments; refused with
/// ErrorCode::Unsupported where no code can be made.
Result<KernelPointer> codeKernel(mlir::Operation *op, KernelChoice choice);

/// What takes no longer than this operation by operation gets no code. Making code takes a hundred times
/// as long, and starting a program not much less.
inline constexpr double kBriefNanoseconds = 20'000;
/// The same for all that are alike, unless it is one: steps of a recurrence that is written out have one code.
inline constexpr double kAlikeNanoseconds = 6'000;
/// Code for the sizes of one row or reduction alone takes milliseconds to make: behind so many of other sizes, kernels that take no longer
/// than this do without. Which ones depends on the program alone, so that bits are the same in every run.
inline constexpr size_t kMostOwnCode = 32;
inline constexpr double kOneOfManyNanoseconds = 40'000;
/// Code that gives the same bits is made when a kernel has run for so long without.
inline constexpr double kPatienceNanoseconds = 1'000'000;

/// The operations as code generation has them; their bodies stay where they are.
codegen::MapKernel mapKernelOf(tir::MapOp op);
codegen::RowKernel rowKernelOf(tir::RowOp op);
codegen::Reduction reductionOf(tir::ReduceOp op);
codegen::View codeView(tir::ViewAttr view, tensor::DType type);
/// The bits in which an element lies in memory.
uint64_t storedBits(mlir::TypedAttr number);

} // namespace cupel::compiler
