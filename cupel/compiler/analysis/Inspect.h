// What a program says about its arguments and results: types, shardings, donation, memory kinds.
// Used by the passes for devices and for what hosts are told; looks at the entry function and
// changes nothing.

#pragma once

#include "cupel/runtime/Executable.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace cupel::compiler {

/// Arguments and results, with the shardings the program states, for the devices it is for (see
/// Devices.h).
Result<runtime::ProgramInfo> describe(mlir::ModuleOp module, mlir::func::FuncOp entry);

} // namespace cupel::compiler
