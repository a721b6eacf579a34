// Reading by index: index, gather, take, index_select, masked_select of known count.

#include "cupel/frontends/torch/ops/Lowering.h"

namespace cupel::frontends::torch_import {

using namespace mlir;

void registerIndexing(OpTable &table) {}

} // namespace cupel::frontends::torch_import
