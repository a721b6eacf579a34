// Padding in its modes and the gradients of them.

#include "cupel/frontends/torch/ops/Lowering.h"

namespace cupel::frontends::torch_import {

using namespace mlir;

void registerPadding(OpTable &table) {}

} // namespace cupel::frontends::torch_import
