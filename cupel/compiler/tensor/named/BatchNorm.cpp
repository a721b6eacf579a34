#include "cupel/compiler/tensor/named/Channels.h"

using namespace mlir;

namespace cupel::tir {

/// What is left of a batch norm once its statistics are numbers: a scale and a shift of channels, in some order. They are done while the
/// convolution's result is at hand, and not multiplied into kernels: that gained nothing and rounds otherwise (docs/decisions/0066).
static std::optional<FusionMembers> matchBatchNorm(Operation *op) {
  std::optional<ChannelSteps> found = channelStepsTo(op);
  if (!found || !isa<stablehlo::ConvolutionOp>(found->source))
    return std::nullopt;
  bool isScaled = llvm::any_of(found->steps, [](Operation *step) { return isa<stablehlo::MultiplyOp, stablehlo::DivideOp>(step); });
  bool isShifted = llvm::any_of(found->steps, [](Operation *step) { return isa<stablehlo::AddOp, stablehlo::SubtractOp>(step); });
  if (!isScaled || !isShifted)
    return std::nullopt;
  return found->steps;
}

const NamedFusion kBatchNormFusion{
    .name = "batch_norm", .summary = "a convolution, scaled and shifted by numbers for each channel", .match = matchBatchNorm};

} // namespace cupel::tir
