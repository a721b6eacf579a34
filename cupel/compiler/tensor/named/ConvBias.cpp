#include "cupel/compiler/tensor/named/Channels.h"

using namespace mlir;

namespace cupel::tir {

static std::optional<FusionMembers> matchConvBias(Operation *op) {
  std::optional<ChannelSteps> found = channelStepsTo(op);
  if (!found || !isa<stablehlo::ConvolutionOp>(found->source) || found->steps.size() != 1 || !isa<stablehlo::AddOp>(op))
    return std::nullopt;
  return found->steps;
}

const NamedFusion kConvBiasFusion{.name = "conv_bias", .summary = "a convolution and a number for each channel that is added to it", .match = matchConvBias};

} // namespace cupel::tir
