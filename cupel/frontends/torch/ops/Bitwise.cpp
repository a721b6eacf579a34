// Bitwise operators and shifts.

#include "cupel/frontends/torch/ops/Lowering.h"

namespace cupel::frontends::torch_import {

using namespace mlir;

void registerBitwise(OpTable &table) {}

} // namespace cupel::frontends::torch_import
