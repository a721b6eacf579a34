// Operators on lists of tensors (_foreach_*), one element at a time, and fused optimizer steps.

#include "cupel/frontends/torch/ops/Lowering.h"

namespace cupel::frontends::torch_import {

using namespace mlir;

void registerForeach(OpTable &table) {}

} // namespace cupel::frontends::torch_import
