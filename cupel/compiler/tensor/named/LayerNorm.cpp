#include "cupel/compiler/tensor/named/Functions.h"

using namespace mlir;

namespace cupel::tir {

static std::optional<FusionMembers> matchLayerNorm(Operation *op) { return matchNormalised(op, /*centred=*/true); }

const NamedFusion kLayerNormFusion{.name = "layer_norm", .summary = "(x - mean(x)) / sqrt(variance(x) + epsilon) of rows; weight and bias behind it are fused with it", .match = matchLayerNorm};

} // namespace cupel::tir
