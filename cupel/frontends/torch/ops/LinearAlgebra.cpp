// Factorizations, solves, inverses, determinants and norms of matrices.

#include "cupel/frontends/torch/ops/Lowering.h"

namespace cupel::frontends::torch_import {

using namespace mlir;

void registerLinearAlgebra(OpTable &table) {}

} // namespace cupel::frontends::torch_import
