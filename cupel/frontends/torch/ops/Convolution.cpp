// Convolutions of every kind and their gradients.

#include "cupel/frontends/torch/ops/Lowering.h"

namespace cupel::frontends::torch_import {

using namespace mlir;

void registerConvolution(OpTable &table) {}

} // namespace cupel::frontends::torch_import
