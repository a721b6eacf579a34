// Tensors made of nothing: full, arange, eye, linspace and their like.

#include "cupel/frontends/torch/ops/Lowering.h"

namespace cupel::frontends::torch_import {

using namespace mlir;

void registerCreation(OpTable &table) {}

} // namespace cupel::frontends::torch_import
