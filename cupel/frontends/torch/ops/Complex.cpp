// Complex numbers: made, taken apart, conjugated.

#include "cupel/frontends/torch/ops/Lowering.h"

namespace cupel::frontends::torch_import {

using namespace mlir;

void registerComplex(OpTable &table) {}

} // namespace cupel::frontends::torch_import
