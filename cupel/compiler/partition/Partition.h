// The partitioner: a program on whole tensors becomes what each of its devices runs on the pieces
// which that device holds, with collectives where pieces of others are needed. Used by executables
// where it takes less work than computing whole tensors once. Operations without a rule are
// computed on whole tensors by every device; a program with anything that cannot be split (tokens,
// calls to the outside, uneven pieces, several meshes) is left as it is.

#pragma once

#include "cupel/runtime/Executable.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace cupel::compiler {

/// The module for one device, with arguments and results as `info` says that devices hold them;
/// null where there is none. The given module stays as it is.
mlir::OwningOpRef<mlir::ModuleOp> partition(mlir::ModuleOp module, const runtime::ProgramInfo &info);

} // namespace cupel::compiler
