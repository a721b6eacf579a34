#include "cupel/compiler/tensor/named/Functions.h"

using namespace mlir;

namespace cupel::tir {

static std::optional<FusionMembers> matchRmsNorm(Operation *op) { return matchNormalised(op, /*centred=*/false); }

const NamedFusion kRmsNormFusion{.name = "rms_norm", .summary = "x / sqrt(mean(x * x) + epsilon) of rows; a weight behind it is fused with it", .match = matchRmsNorm};

} // namespace cupel::tir
