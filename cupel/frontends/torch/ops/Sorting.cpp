// Sorting, topk, searchsorted, medians, quantiles, histograms.

#include "cupel/frontends/torch/ops/Lowering.h"

namespace cupel::frontends::torch_import {

using namespace mlir;

void registerSorting(OpTable &table) {}

} // namespace cupel::frontends::torch_import
