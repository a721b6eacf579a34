// Indexing by several tensors at once, shared by what reads and what writes so. Used under ops/
// only.
#pragma once

#include "cupel/frontends/torch/ops/Lowering.h"

namespace cupel::frontends::torch_import {

/// What `x[indices]` means: which dimensions are indexed, and the broadcast index tensors as rows.
struct IndexPlan {
  Dims order;       ///< Permutation of x: indexed dimensions first.
  mlir::Value rows; ///< [common..., count of indexed dimensions], non-negative.
  Dims common;      ///< Shape the index tensors broadcast to.
  int64_t indexed = 0;
  Dims placement; ///< From [common..., rest...] to torch's order of the result.

  /// Shape of the result in torch's order.
  Dims shape;
};
/// Nothing, with a complaint, if an index does not fit or is a mask that only data decide.
std::optional<IndexPlan> planIndices(Node &n, mlir::Value x, llvm::ArrayRef<mlir::Value> indices);
mlir::Value gatherBy(HloBuilder &b, mlir::Value x, const IndexPlan &plan);
/// `values` has plan.shape.
mlir::Value scatterBy(HloBuilder &b, mlir::Value x, const IndexPlan &plan, mlir::Value values,
                      bool accumulate);

} // namespace cupel::frontends::torch_import
