// Programs that are one sdy.manual_computation from beginning to end, which is what shard_map and
// pmap make: every device runs the body on the pieces it holds and keeps what it gets. The pass
// enter-manual-computation makes such a program what one device runs; the text for hosts does so
// with what is left.

#pragma once

#include "cupel/ir/sdy/Sdy.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace cupel::compiler {

/// The computation that takes all arguments of a function, in order, and gives all its results;
/// null if there is none.
sdy::ManualComputationOp wholeComputation(mlir::func::FuncOp function);

/// The function becomes what one device runs: its types are those of pieces, and say so.
void enterManualComputation(mlir::func::FuncOp function, sdy::ManualComputationOp manual);

/// Moves a region of one block to where its operation stands; `arguments` stand for its arguments.
/// Returns what the region ends with. The operation stays.
mlir::SmallVector<mlir::Value> inlineRegion(mlir::Operation *op, mlir::Region &region,
                                            mlir::ValueRange arguments);

} // namespace cupel::compiler
