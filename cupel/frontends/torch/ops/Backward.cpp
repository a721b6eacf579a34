// Gradients of pointwise operators, as AOTAutograd writes them.

#include "cupel/frontends/torch/ops/Lowering.h"

namespace cupel::frontends::torch_import {

using namespace mlir;

void registerBackward(OpTable &table) {}

} // namespace cupel::frontends::torch_import
