// Scaled dot product attention in its forms.

#include "cupel/frontends/torch/ops/Lowering.h"

namespace cupel::frontends::torch_import {

using namespace mlir;

void registerAttention(OpTable &table) {}

} // namespace cupel::frontends::torch_import
