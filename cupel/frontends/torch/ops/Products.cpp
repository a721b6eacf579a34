// Matrix products, einsum, linear, outer products and contractions.

#include "cupel/frontends/torch/ops/Lowering.h"

namespace cupel::frontends::torch_import {

using namespace mlir;

void registerProducts(OpTable &table) {}

} // namespace cupel::frontends::torch_import
