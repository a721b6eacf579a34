#include "cupel/compiler/tensor/named/Channels.h"

using namespace mlir;

namespace cupel::tir {

/// Whether the value repeats numbers along all dimensions but `channel`.
static bool isOfChannels(Value value, int64_t channel) {
  if (splatOf(value))
    return true;
  auto broadcast = value.getDefiningOp<stablehlo::BroadcastInDimOp>();
  if (!broadcast)
    return false;
  auto from = cast<RankedTensorType>(broadcast.getOperand().getType());
  for (auto [i, d] : llvm::enumerate(broadcast.getBroadcastDimensions()))
    if (d != channel && from.getDimSize(int64_t(i)) != 1)
      return false;
  return true;
}

static std::optional<int64_t> channelOf(Operation *op) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  if (!type.getElementType().isF32() || !type.hasStaticShape())
    return std::nullopt;
  if (auto convolution = dyn_cast<stablehlo::ConvolutionOp>(op))
    return convolution.getDimensionNumbers().getOutputFeatureDimension();
  if (isa<stablehlo::DotGeneralOp>(op) && type.getRank() >= 2)
    return type.getRank() - 1;
  return std::nullopt;
}

std::optional<ChannelSteps> channelStepsTo(Operation *op) {
  ChannelSteps found;
  SmallVector<Value> others;
  while (isa<stablehlo::AddOp, stablehlo::SubtractOp, stablehlo::MultiplyOp, stablehlo::DivideOp>(op)) {
    if (!isFusible(op) || (!found.steps.empty() && !op->getResult(0).hasOneUse()))
      return std::nullopt;
    bool commutes = isa<stablehlo::AddOp, stablehlo::MultiplyOp>(op);
    Operation *maker = nullptr;
    for (unsigned i : {0u, 1u}) {
      if (maker || (i == 1 && !commutes))
        continue;
      Operation *made = op->getOperand(i).getDefiningOp();
      Value other = op->getOperand(1 - i);
      if (made && made->hasOneUse() &&
          isa<stablehlo::AddOp, stablehlo::SubtractOp, stablehlo::MultiplyOp, stablehlo::DivideOp, stablehlo::DotGeneralOp,
              stablehlo::ConvolutionOp>(made) &&
          (splatOf(other) || other.getDefiningOp<stablehlo::BroadcastInDimOp>())) {
        maker = made;
        others.push_back(other);
      }
    }
    if (!maker)
      return std::nullopt;
    found.steps.push_back(op);
    op = maker;
  }
  if (found.steps.empty())
    return std::nullopt;
  std::optional<int64_t> channel = channelOf(op);
  if (!channel || !llvm::all_of(others, [&](Value other) { return isOfChannels(other, *channel); }))
    return std::nullopt;
  found.source = op;
  return found;
}

} // namespace cupel::tir
