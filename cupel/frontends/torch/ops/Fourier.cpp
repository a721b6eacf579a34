// Discrete Fourier transforms and stft.

#include "cupel/frontends/torch/ops/Lowering.h"

namespace cupel::frontends::torch_import {

using namespace mlir;

void registerFourier(OpTable &table) {}

} // namespace cupel::frontends::torch_import
