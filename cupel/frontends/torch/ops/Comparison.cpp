// Comparisons, extremes of two tensors, clamps, where, and tests such as isnan.

#include "cupel/frontends/torch/ops/Lowering.h"

namespace cupel::frontends::torch_import {

using namespace mlir;

void registerComparison(OpTable &table) {}

} // namespace cupel::frontends::torch_import
