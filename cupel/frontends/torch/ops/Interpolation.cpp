// Upsampling in every mode, grid_sample, affine grids, pixel shuffles.

#include "cupel/frontends/torch/ops/Lowering.h"

namespace cupel::frontends::torch_import {

using namespace mlir;

void registerInterpolation(OpTable &table) {}

} // namespace cupel::frontends::torch_import
