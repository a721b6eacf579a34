// Pooling in one to three dimensions, with indices, adaptive and fractional forms, and gradients.

#include "cupel/frontends/torch/ops/Lowering.h"

namespace cupel::frontends::torch_import {

using namespace mlir;

void registerPooling(OpTable &table) {}

} // namespace cupel::frontends::torch_import
