// Sorting as a function on values, for the families under ops/ that need an order.
#pragma once

#include "cupel/frontends/torch/ops/Lowering.h"

namespace cupel::frontends::torch_import {

/// Values and where they stood, stable; NaN counts as the largest of all.
std::pair<mlir::Value, mlir::Value> sorted(HloBuilder &b, mlir::Value x, int64_t dim,
                                           bool descending);

} // namespace cupel::frontends::torch_import
