// Recurrent layers and cells.

#include "cupel/frontends/torch/ops/Lowering.h"

namespace cupel::frontends::torch_import {

using namespace mlir;

void registerRecurrent(OpTable &table) {}

} // namespace cupel::frontends::torch_import
