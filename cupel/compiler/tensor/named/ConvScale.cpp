#include "cupel/compiler/tensor/named/Channels.h"

using namespace mlir;

namespace cupel::tir {

static std::optional<FusionMembers> matchConvScale(Operation *op) {
  std::optional<ChannelSteps> found = channelStepsTo(op);
  if (!found || !isa<stablehlo::ConvolutionOp>(found->source) || found->steps.size() != 1 || !isa<stablehlo::MultiplyOp>(op))
    return std::nullopt;
  return found->steps;
}

const NamedFusion kConvScaleFusion{.name = "conv_scale", .summary = "a convolution times a number for each channel", .match = matchConvScale};

} // namespace cupel::tir
