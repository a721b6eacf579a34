// Writing by index: index_put, scatter and its reductions, index_add, masked_fill, *_scatter.

#include "cupel/frontends/torch/ops/Lowering.h"

namespace cupel::frontends::torch_import {

using namespace mlir;

void registerScatter(OpTable &table) {}

} // namespace cupel::frontends::torch_import
