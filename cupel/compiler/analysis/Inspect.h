// What a program says about its arguments and results: types, shardings, donation, memory kinds.
// Used when an executable is made; looks at the entry function and changes nothing.

#pragma once

#include "cupel/runtime/Executable.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace cupel::compiler {

/// Fills arguments and results (with the shardings the program states) of `info`, whose numbers of
/// replicas and partitions are set.
Status inspect(mlir::ModuleOp module, mlir::func::FuncOp entry, runtime::ProgramInfo &info);

} // namespace cupel::compiler
