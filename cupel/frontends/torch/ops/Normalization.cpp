// Batch, layer, group, instance and root-mean-square normalization and their gradients.

#include "cupel/frontends/torch/ops/Lowering.h"

namespace cupel::frontends::torch_import {

using namespace mlir;

void registerNormalization(OpTable &table) {}

} // namespace cupel::frontends::torch_import
