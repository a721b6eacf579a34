#include "cupel/compiler/backends/cpu/ColumnBias.h"

#include <algorithm>

namespace cupel::compiler {

using namespace mlir;

namespace {

/// One number for each column, side by side.
bool isOfColumns(const codegen::View &view) {
  return view.type == tensor::DType::F32 && view.offset == 0 && view.valid.empty() &&
         view.strides[0] == 0 && view.strides[1] == 1;
}

std::optional<float> numberOf(Value value) {
  auto constant = value.getDefiningOp<stablehlo::ConstantOp>();
  auto elements = constant ? dyn_cast<DenseFPElementsAttr>(constant.getValue()) : nullptr;
  if (!elements || !elements.getElementType().isF32() || !elements.isSplat())
    return std::nullopt;
  return elements.getSplatValue<float>();
}

} // namespace

std::optional<ColumnBias> ColumnBias::find(Block &body, ArrayRef<codegen::View> views) {
  Value element = body.getArgument(0);
  if (!cast<RankedTensorType>(element.getType()).getElementType().isF32() || !element.hasOneUse())
    return std::nullopt;
  Operation *user = *element.user_begin();
  ColumnBias bias;
  bias.isSubtracted = isa<stablehlo::SubtractOp>(user);
  if (!isa<stablehlo::AddOp>(user) && !(bias.isSubtracted && user->getOperand(0) == element))
    return std::nullopt;
  Value other = user->getOperand(user->getOperand(0) == element ? 1 : 0);
  bias.made = user->getResult(0);
  if (std::optional<float> number = numberOf(other)) {
    bias.number = *number;
    return bias;
  }
  auto argument = dyn_cast<BlockArgument>(other);
  if (!argument || argument.getArgNumber() == 0 ||
      !isOfColumns(views[argument.getArgNumber() - 1]))
    return std::nullopt;
  bias.view = int(argument.getArgNumber()) - 1;
  return bias;
}

const float *ColumnBias::addends(const float *extra, int64_t columns, float *room) const {
  if (view < 0)
    std::fill_n(room, columns, isSubtracted ? -number : number);
  else if (!isSubtracted)
    return extra;
  else
    std::transform(extra, extra + columns, room, [](float each) { return -each; });
  return room;
}

} // namespace cupel::compiler
