// Sorting and running folds, shared by importers. Operands fit: the lowering that calls has
// checked.
#pragma once

#include "cupel/frontends/HloBuilder.h"

namespace cupel::frontends {

/// Values along a dimension in order, and where each stood before; equals keep their order, or come
/// in any where the framework promises none, and NaN counts as the largest of all.
std::pair<mlir::Value, mlir::Value> sorted(HloBuilder &b, mlir::Value x, int64_t dimension,
                                           bool descending, bool isStable = true);

/// Running combination of several tensors along a dimension: `combine(earlier, later)`,
/// associative. With a scalar `neutral` of each, which as the earlier of two gives the later as it is, places of a last dimension that
/// have nothing before them read that, and no two parts have to be joined.
using Combine =
    std::function<llvm::SmallVector<mlir::Value>(mlir::ValueRange earlier, mlir::ValueRange later)>;
llvm::SmallVector<mlir::Value> scan(HloBuilder &b, mlir::ValueRange values, int64_t dimension,
                                    const Combine &combine, mlir::ValueRange neutral = {});
/// Running fold along a dimension.
mlir::Value cumulative(HloBuilder &b, mlir::Value x, int64_t dimension, Fold fold);

} // namespace cupel::frontends
