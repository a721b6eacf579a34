// The broadcasting rule of chlo: how operands of different rank and size meet. The verifier of the
// dialect and the pass lower-chlo use it, so that both mean the same by "broadcasts".
#pragma once

#include "mlir/IR/BuiltinTypes.h"

#include <functional>

namespace cupel::chlo {

/// Result dimension of each dimension of each operand: `maps[i][d]` says where dimension `d` of
/// operand `i` goes. `explicitDimensions` (the attribute broadcast_dimensions, or null) places the
/// operand of lower rank; otherwise dimensions are aligned at the end. On a wrong attribute
/// `report` is called with the reason and an empty vector is returned.
llvm::SmallVector<llvm::SmallVector<int64_t>>
mapToResultDimensions(llvm::ArrayRef<mlir::RankedTensorType> operands,
                      mlir::DenseI64ArrayAttr explicitDimensions,
                      llvm::function_ref<void(const llvm::Twine &)> report);

/// The shape that the operands broadcast to, with kDynamic where it is not known; fails, after
/// calling `report`, if two sizes can never meet.
mlir::FailureOr<llvm::SmallVector<int64_t>>
inferBroadcastShape(llvm::ArrayRef<mlir::RankedTensorType> operands,
                    llvm::ArrayRef<llvm::SmallVector<int64_t>> maps,
                    llvm::function_ref<void(const llvm::Twine &)> report);

} // namespace cupel::chlo
