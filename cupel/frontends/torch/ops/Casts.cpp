// Conversions between element types and what copies without computing.

#include "cupel/frontends/torch/ops/Lowering.h"

namespace cupel::frontends::torch_import {

using namespace mlir;

void registerCasts(OpTable &table) {}

} // namespace cupel::frontends::torch_import
