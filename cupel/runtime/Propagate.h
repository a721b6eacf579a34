// Shardings for results that the program leaves open, found by following dimensions from where
// shardings are stated (arguments, constraints, results) through operations. What comes out decides
// only where pieces of results lie, never their values.

#pragma once

#include "cupel/runtime/Executable.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace cupel::runtime {

/// Fills the shards of results of `info` that have none and may get some; every piece is of the
/// same size.
void propagateShardings(mlir::ModuleOp module, mlir::func::FuncOp entry,
                        const std::vector<bool> &mayGet, ProgramInfo &info);

} // namespace cupel::runtime
