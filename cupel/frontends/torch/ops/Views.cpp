// Views: what shares memory with its argument.

#include "cupel/frontends/torch/ops/Lowering.h"

namespace cupel::frontends::torch_import {

using namespace mlir;

void registerViews(OpTable &table) {}

} // namespace cupel::frontends::torch_import
