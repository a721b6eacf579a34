// Running sums, products, extremes, and what is computed along a dimension from them.

#include "cupel/frontends/torch/ops/Lowering.h"

namespace cupel::frontends::torch_import {

using namespace mlir;

void registerCumulative(OpTable &table) {}

} // namespace cupel::frontends::torch_import
