#include "cupel/compiler/tensor/named/Channels.h"

using namespace mlir;

namespace cupel::tir {

static std::optional<FusionMembers> matchMatmulBias(Operation *op) {
  std::optional<ChannelSteps> found = channelStepsTo(op);
  if (!found || !isa<stablehlo::DotGeneralOp>(found->source) || found->steps.size() != 1 || !isa<stablehlo::AddOp>(op))
    return std::nullopt;
  return found->steps;
}

const NamedFusion kMatmulBiasFusion{.name = "matmul_bias", .summary = "a product and a number for each column that is added to it", .match = matchMatmulBias};

} // namespace cupel::tir
