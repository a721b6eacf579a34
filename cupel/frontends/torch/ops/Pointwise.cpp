// Functions of one tensor that StableHLO or CHLO has.

#include "cupel/frontends/torch/ops/Lowering.h"

namespace cupel::frontends::torch_import {

using namespace mlir;

void registerPointwise(OpTable &table) {}

} // namespace cupel::frontends::torch_import
