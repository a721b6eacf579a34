// Makes a program compute as a device does that lacks some of its element types: what an operation
// yields in such a type is rounded to the nearest type that the device has. The pass round-to-types
// wraps it; our own devices use it to present the number formats of an architecture.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Types.h"

namespace cupel::compiler {

/// The type among `available` in which a device computes what a program writes in `type`: `type`
/// itself where one of them holds all its values, or where nothing of its kind is there; else the
/// one that keeps most of it.
mlir::Type computedIn(mlir::Type type, llvm::ArrayRef<mlir::Type> available);

/// Changes `module` in place, and says whether there was anything to change; types of values stay
/// what they are.
bool roundToTypes(mlir::ModuleOp module, llvm::ArrayRef<mlir::Type> available);

} // namespace cupel::compiler
