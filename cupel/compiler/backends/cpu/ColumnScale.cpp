#include "cupel/compiler/backends/cpu/ColumnScale.h"

#include <cmath>

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

std::optional<ColumnScale::Step> ColumnScale::stepOf(Operation *op, Value element,
                                                     ArrayRef<codegen::View> views) const {
  if (op->getNumOperands() != 2)
    return std::nullopt;
  bool isLeft = op->getOperand(0) == element;
  Value other = op->getOperand(isLeft ? 1 : 0);
  std::optional<Kind> kind;
  if (isa<stablehlo::AddOp>(op))
    kind = Kind::Add;
  else if (isa<stablehlo::MultiplyOp>(op))
    kind = Kind::Multiply;
  else if (isa<stablehlo::SubtractOp>(op) && isLeft)
    kind = Kind::Subtract;
  else if (isa<stablehlo::DivideOp>(op) && isLeft)
    kind = Kind::Divide;
  if (!kind || other == element)
    return std::nullopt;
  if (std::optional<float> number = numberOf(other))
    return Step{*kind, -1, *number};
  auto argument = dyn_cast<BlockArgument>(other);
  if (!argument || argument.getArgNumber() == 0 ||
      !isOfColumns(views[argument.getArgNumber() - 1]))
    return std::nullopt;
  return Step{*kind, int(argument.getArgNumber()) - 1, 0};
}

std::optional<ColumnScale> ColumnScale::find(Block &body, ArrayRef<codegen::View> views) {
  ColumnScale all;
  all.made = body.getArgument(0);
  Value element = all.made;
  if (!cast<RankedTensorType>(element.getType()).getElementType().isF32())
    return std::nullopt;
  std::vector<Step> steps;
  std::optional<std::pair<size_t, Value>> lastSum;
  bool hasFactors = false;
  while (element.hasOneUse()) {
    Operation *user = *element.user_begin();
    std::optional<Step> step = all.stepOf(user, element, views);
    if (!step)
      break;
    steps.push_back(*step);
    element = user->getResult(0);
    bool isSum = step->kind == Kind::Add || step->kind == Kind::Subtract;
    if (!isSum)
      hasFactors = true;
    // Without factors, the first one alone: it rounds as it stands.
    if (isSum && (!lastSum || hasFactors)) {
      lastSum = {steps.size(), element};
      all.factors = hasFactors;
    }
  }
  if (!lastSum)
    return std::nullopt;
  steps.resize(lastSum->first);
  all.steps = std::move(steps);
  all.made = lastSum->second;
  return all;
}

bool ColumnScale::fill(ArrayRef<const float *> extras, int64_t columns, float *scale,
                       float *shift) const {
  constexpr float kLarge = 0x1p40f, kSmall = 0x1p-40f;
  std::fill_n(scale, columns, 1.0f);
  std::fill_n(shift, columns, 0.0f);
  bool isGood = true;
  for (const Step &step : steps) {
    auto forColumns = [&](auto &&body) {
      if (step.extra >= 0)
        for (int64_t j = 0; j < columns; ++j)
          body(j, extras[size_t(step.extra)][j]);
      else
        for (int64_t j = 0; j < columns; ++j)
          body(j, step.number);
    };
    bool isMoved = false; // Out of the range; NaN too.
    switch (step.kind) {
    case Kind::Add:
      forColumns([&](int64_t j, float number) { shift[j] += number; });
      break;
    case Kind::Subtract:
      forColumns([&](int64_t j, float number) { shift[j] -= number; });
      break;
    case Kind::Multiply:
      forColumns([&](int64_t j, float number) {
        isMoved |= !(std::abs(number) < kLarge);
        scale[j] *= number;
        shift[j] *= number;
      });
      break;
    case Kind::Divide:
      forColumns([&](int64_t j, float number) {
        isMoved |= !(std::abs(number) < kLarge && std::abs(number) > kSmall);
        scale[j] /= number;
        shift[j] /= number;
      });
      break;
    }
    isGood &= !isMoved;
  }
  if (!factors)
    return true;
  bool isMoved = false;
  for (int64_t j = 0; j < columns; ++j)
    isMoved |= !(std::abs(shift[j]) < kLarge) || !(std::abs(scale[j]) < kLarge) ||
               (scale[j] != 0 && std::abs(scale[j]) < kSmall * kSmall);
  return isGood && !isMoved;
}

} // namespace cupel::compiler
