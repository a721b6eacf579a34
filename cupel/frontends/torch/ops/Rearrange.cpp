// What moves elements without being a view: cat, stack, roll, flip, repeat, tril.

#include "cupel/frontends/torch/ops/Lowering.h"

namespace cupel::frontends::torch_import {

using namespace mlir;

void registerRearrange(OpTable &table) {}

} // namespace cupel::frontends::torch_import
