// Sums, products, quotients, remainders, powers and roundings of two tensors or a tensor and a
// number.

#include "cupel/frontends/torch/ops/Lowering.h"

namespace cupel::frontends::torch_import {

using namespace mlir;

void registerArithmetic(OpTable &table) {}

} // namespace cupel::frontends::torch_import
