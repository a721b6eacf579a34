// The partitioner: a program on whole tensors becomes what each of its devices runs on the pieces
// which that device holds, with collectives where pieces of others are needed. Used by the pass
// partition. Operations without a rule are computed on whole tensors by every device; a program
// with anything that cannot be split (tokens, calls to the outside, uneven pieces, several meshes)
// is refused with the reason.

#pragma once

#include "cupel/runtime/Executable.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace cupel::compiler {

/// `entry`, without calls, becomes what one device runs, with arguments and results as `info` says
/// that devices hold them. Otherwise why not; then the module is half made and of no use.
Status partition(mlir::ModuleOp module, mlir::func::FuncOp entry, const runtime::ProgramInfo &info);

} // namespace cupel::compiler
