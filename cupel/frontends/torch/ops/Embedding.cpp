// Look-ups of rows: embedding, embedding_bag, and their gradients.

#include "cupel/frontends/torch/ops/Lowering.h"

namespace cupel::frontends::torch_import {

using namespace mlir;

void registerEmbedding(OpTable &table) {}

} // namespace cupel::frontends::torch_import
