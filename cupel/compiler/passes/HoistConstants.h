// Turns constants of a program into arguments of its entry function, so that a device computes with
// them instead of its compiler folding them away: tests of a device are written with constants. The
// pass hoist-constants wraps it; devices behind a plugin are fed with it.
#pragma once

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"

#include <vector>

namespace cupel::compiler {

/// The constant that a value always is: of a constant operation, or of a call of a function without
/// arguments that returns one. Null otherwise.
mlir::ElementsAttr constantOf(mlir::Value value, const mlir::SymbolTable &symbols);

/// Changes `module` in place and returns the values of the arguments that were added to `main`,
/// behind its own. Constants that decide a shape stay, and so do those that only calls use; and so do
/// parameters of the computation (splats, a few numbers, starts of sums) where they meet what is not known:
/// a compiler has its kernels for them, and a device is to be tested with what its users give it.
std::vector<mlir::ElementsAttr> hoistConstants(mlir::ModuleOp module);

} // namespace cupel::compiler
