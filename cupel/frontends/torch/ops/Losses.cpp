// Losses and distances.

#include "cupel/frontends/torch/ops/Lowering.h"

namespace cupel::frontends::torch_import {

using namespace mlir;

void registerLosses(OpTable &table) {}

} // namespace cupel::frontends::torch_import
