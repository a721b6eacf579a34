// Sums, means, extremes, norms and moments over dimensions.

#include "cupel/frontends/torch/ops/Lowering.h"

namespace cupel::frontends::torch_import {

using namespace mlir;

void registerReductions(OpTable &table) {}

} // namespace cupel::frontends::torch_import
