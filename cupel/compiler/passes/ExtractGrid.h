// Turns a program that runs a grid of programs through an interpreter into the program that each
// device of the grid runs. Part of extractChecks.
#pragma once

#include "cupel/compiler/passes/ExtractChecks.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace cupel::compiler {

/// Makes the programs of the one `interpreter.run_parallel` of `entry`, whose checks have been
/// taken out already, the entry function of the module. Where they differ, the device is told by an
/// argument which of them it runs. Fails with a diagnostic where the entry function does more than
/// that: feeds queues, computes arguments or results.
mlir::FailureOr<ExtractedChecks> extractGrid(mlir::ModuleOp module, mlir::func::FuncOp entry,
                                             const ExtractedChecks &checks);

} // namespace cupel::compiler
