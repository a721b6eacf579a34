// The two halves of the conversion between stablehlo and the newest vhlo, and what they share.
// Tools use Portable.h.
#pragma once

#include "cupel/ir/portable/Portable.h"

namespace cupel::portable {

/// Between stablehlo (with func) and the newest forms of vhlo operations, in place.
mlir::LogicalResult convertStablehloToVhlo(mlir::ModuleOp module, bool allowOtherDialects);
mlir::LogicalResult convertVhloToStablehlo(mlir::ModuleOp module);

/// Creates `state` in the place of `op`, whose regions it has already taken, lets `convertRegion`
/// work on each of its regions, and gives its results to the users of those of `op`.
template <typename ConvertFn>
mlir::LogicalResult replaceOp(mlir::Operation *op, mlir::OperationState &state,
                              ConvertFn convertRegion) {
  mlir::Operation *created = mlir::Operation::create(state);
  op->getBlock()->getOperations().insert(mlir::Block::iterator(op), created);
  op->replaceAllUsesWith(created);
  op->erase();
  for (mlir::Region &region : created->getRegions())
    if (failed(convertRegion(region)))
      return mlir::failure();
  return mlir::success();
}

} // namespace cupel::portable
