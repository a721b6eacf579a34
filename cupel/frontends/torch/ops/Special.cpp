// Special functions that neither StableHLO nor CHLO has.

#include "cupel/frontends/torch/ops/Lowering.h"

namespace cupel::frontends::torch_import {

using namespace mlir;

void registerSpecial(OpTable &table) {}

} // namespace cupel::frontends::torch_import
