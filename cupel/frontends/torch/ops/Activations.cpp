// Activation functions and the softmax family.

#include "cupel/frontends/torch/ops/Lowering.h"

namespace cupel::frontends::torch_import {

using namespace mlir;

void registerActivations(OpTable &table) {}

} // namespace cupel::frontends::torch_import
