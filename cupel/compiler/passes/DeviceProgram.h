// Programs that are one sdy.manual_computation from beginning to end, which is what shard_map and
// pmap make: every device runs the body on the pieces it holds and keeps what it gets. Used by
// executables, which then need not put pieces together, and by the text for hosts.

#pragma once

#include "cupel/ir/sdy/Sdy.h"
#include "cupel/runtime/Executable.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace cupel::compiler {

/// The computation that takes all arguments of a function, in order, and gives all its results;
/// null if there is none.
sdy::ManualComputationOp wholeComputation(mlir::func::FuncOp function);

/// Whether devices hold arguments and results just as the computation wants and gives them, and it
/// leaves no axis to the compiler.
bool isHeldAsComputed(sdy::ManualComputationOp manual, mlir::ModuleOp module,
                      const runtime::ProgramInfo &info);

/// The function becomes what one device runs: its types are those of pieces.
void becomeDeviceProgram(mlir::func::FuncOp function, sdy::ManualComputationOp manual);

/// Moves a region of one block to where its operation stands; `arguments` stand for its arguments.
/// Returns what the region ends with. The operation stays.
mlir::SmallVector<mlir::Value> inlineRegion(mlir::Operation *op, mlir::Region &region,
                                            mlir::ValueRange arguments);

} // namespace cupel::compiler
