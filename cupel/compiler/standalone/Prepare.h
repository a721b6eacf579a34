// Brings a program into the form that source text is written from: StableHLO alone, special functions
// and repeated blocks as functions of their own. Used by `generate`. What it makes is a program like
// any other, so every stage can be written, read and evaluated.

#pragma once

#include "cupel/support/Error.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

#include <functional>

namespace cupel::compiler::standalone {

/// `stage` is told of the program behind each step by a name.
Status prepare(mlir::ModuleOp module,
               const std::function<void(const std::string &, mlir::ModuleOp)> &stage);

/// Finds runs of operations of a function that follow each other several times and differ only in
/// what they take from outside (the layers of a transformer), and makes a function of each kind of
/// them, called as often. Returns how many calls there are.
size_t outlineRepeats(mlir::func::FuncOp function);

} // namespace cupel::compiler::standalone
