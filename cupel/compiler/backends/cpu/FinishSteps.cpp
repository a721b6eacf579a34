#include "cupel/compiler/backends/cpu/FinishSteps.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace cupel::compiler {

using namespace mlir;

namespace {

bool isPlain(const codegen::View &view, tensor::DType type) {
  return view.type == type && view.offset == 0 && view.valid.empty() && view.strides[1] == 1;
}

std::optional<float> numberOf(Value value) {
  auto constant = value.getDefiningOp<stablehlo::ConstantOp>();
  auto elements = constant ? dyn_cast<DenseFPElementsAttr>(constant.getValue()) : nullptr;
  if (!elements || !elements.getElementType().isF32() || !elements.isSplat())
    return std::nullopt;
  return elements.getSplatValue<float>();
}

} // namespace

bool FinishSteps::takeLimit(Operation &step, Value other) {
  std::optional<float> number = numberOf(other);
  if (!number || std::isnan(*number) || high)
    return false;
  if (isa<stablehlo::MaximumOp>(step) && !low) {
    low = number;
    return true;
  }
  // A limit of zero from above would have to make a negative zero of a positive one.
  if (isa<stablehlo::MinimumOp>(step) && *number != 0) {
    high = number;
    return true;
  }
  return false;
}

/// Whether `step`, which is all that becomes of `element`, comes behind what was taken so far.
bool FinishSteps::take(Operation &step, Value element, ArrayRef<codegen::View> views, ArrayRef<int> inputs) {
  if (step.getNumOperands() != 2)
    return false;
  bool isFirst = step.getOperand(0) == element;
  Value other = step.getOperand(isFirst ? 1 : 0);
  if (isa<stablehlo::MaximumOp, stablehlo::MinimumOp>(step))
    return takeLimit(step, other);
  bool isSubtracted = isa<stablehlo::SubtractOp>(step), isFactor = isa<stablehlo::MultiplyOp>(step);
  if ((isSubtracted && !isFirst) || !isa<stablehlo::AddOp, stablehlo::SubtractOp, stablehlo::MultiplyOp>(step) || low || high)
    return false;
  Columns columns;
  columns.isSubtracted = isSubtracted;
  if (std::optional<float> number = numberOf(other)) {
    columns.number = *number;
  } else {
    auto widening = other.getDefiningOp<stablehlo::ConvertOp>();
    auto argument = dyn_cast<BlockArgument>(widening ? widening.getOperand() : other);
    if (!argument || argument.getArgNumber() == 0)
      return false;
    const codegen::View &view = views[argument.getArgNumber() - 1];
    columns.input = inputs[argument.getArgNumber() - 1];
    if (!isPlain(view, widening ? tensor::DType::BF16 : tensor::DType::F32))
      return false;
    if (view.strides[0] != 0) {
      if (isFactor || isSubtracted || rows >= 0)
        return false;
      rows = columns.input;
      rowStride = view.strides[0];
      areRowsNarrow = static_cast<bool>(widening);
      return true;
    }
    if (widening)
      return false;
  }
  if (rows >= 0 || addends)
    return false;
  if (isFactor) {
    if (factors[1])
      return false;
    factors[factors[0] ? 1 : 0] = columns;
    return true;
  }
  (bias || factors[0] ? addends : bias) = columns;
  return true;
}

/// An element times limits of itself: x * min(max(x * scale + shift, low), high), perhaps times a number or divided by one.
bool FinishSteps::takeGate(Value element) {
  SmallVector<Operation *> users(element.getUsers());
  if (low || high || users.size() != 2)
    return false;
  // The number that a step has beside a value.
  auto numberBeside = [](Operation *step, Value value) {
    bool isFirst = step->getOperand(0) == value;
    return isFirst || !isa<stablehlo::DivideOp>(step) ? numberOf(step->getOperand(isFirst ? 1 : 0)) : std::nullopt;
  };
  for (int way : {0, 1}) {
    Operation *step = users[size_t(way)];
    auto product = dyn_cast<stablehlo::MultiplyOp>(users[size_t(1 - way)]);
    if (!product || step == product)
      continue;
    Gate found;
    Value at = element;
    auto advance = [&] {
      at = step->getResult(0);
      step = at.hasOneUse() ? *at.user_begin() : nullptr;
    };
    if (isa<stablehlo::MultiplyOp>(step)) {
      std::optional<float> number = numberBeside(step, at);
      if (!number)
        continue;
      found.scale = *number;
      advance();
    }
    std::optional<float> shift = step && isa<stablehlo::AddOp>(step) ? numberBeside(step, at) : std::nullopt;
    if (!shift)
      continue;
    found.shift = *shift;
    advance();
    std::optional<float> limits[2];
    for (int i = 0; i < 2 && step && isa<stablehlo::MaximumOp, stablehlo::MinimumOp>(step); ++i) {
      limits[isa<stablehlo::MinimumOp>(step)] = numberBeside(step, at);
      advance();
    }
    if (!limits[0] || !limits[1] || step != product || !std::isfinite(found.scale) || !std::isfinite(found.shift) || found.shift == 0 ||
        !(*limits[0] < *limits[1]))
      continue;
    found.low = *limits[0], found.high = *limits[1];
    step = product;
    advance();
    if (step && isa<stablehlo::MultiplyOp, stablehlo::DivideOp>(step))
      if (std::optional<float> number = numberBeside(step, at)) {
        float factor = isa<stablehlo::DivideOp>(step) ? 1 / *number : *number;
        if (std::isnormal(*number) && std::isnormal(factor)) {
          found.factor = factor;
          at = step->getResult(0);
        }
      }
    made = at;
    gate = found;
    return true;
  }
  return false;
}

std::optional<FinishSteps> FinishSteps::find(Block &body, ArrayRef<codegen::View> views, ArrayRef<int> inputs, int64_t width) {
  Value element = body.getArgument(0);
  if (!cast<RankedTensorType>(element.getType()).getElementType().isF32())
    return std::nullopt;
  FinishSteps steps;
  steps.width = width;
  while (element.hasOneUse() && steps.take(**element.user_begin(), element, views, inputs))
    element = steps.made = (*element.user_begin())->getResult(0);
  (void)steps.takeGate(element);
  if (!steps.made)
    return std::nullopt;
  return steps;
}

bool FinishSteps::uses(int input) const {
  for (const std::optional<Columns> &columns : {bias, factors[0], factors[1], addends})
    if (columns && columns->input == input)
      return true;
  return rows == input;
}

const float *FinishSteps::numbers(const Columns &columns, std::span<const std::byte *const> reads,
                                  kernels::ScratchFrame &frame) const {
  auto *given = columns.input >= 0 ? reinterpret_cast<const float *>(reads[size_t(columns.input)]) : nullptr;
  if (given && !columns.isSubtracted)
    return given;
  auto *room = frame.take<float>(width);
  if (given)
    std::transform(given, given + width, room, [](float each) { return -each; });
  else
    std::fill_n(room, width, columns.isSubtracted ? -columns.number : columns.number);
  return room;
}

/// Steps with a number for each column as one multiply-add, where there are several and that is right.
bool FinishSteps::join(kernels::Finish &finish, std::span<const std::byte *const> reads, kernels::ScratchFrame &frame) const {
  if (!factors[0] || (!bias && !factors[1] && !addends))
    return false;
  // As they lie: signs are seen to while they are joined.
  auto given = [&](const std::optional<Columns> &columns) -> const float * {
    if (!columns)
      return nullptr;
    return columns->input >= 0 ? reinterpret_cast<const float *>(reads[size_t(columns->input)]) : numbers(*columns, reads, frame);
  };
  auto isTurned = [](const std::optional<Columns> &columns) { return columns && columns->input >= 0 && columns->isSubtracted; };
  kernels::ColumnTerms terms{given(bias), {given(factors[0]), given(factors[1])}, given(addends), isTurned(bias), isTurned(addends), width};
  finish.isJoined = true;
  if (!bias && !factors[1] && !terms.subtractsAddends) { // They are so already.
    finish.factors[0] = terms.factors[0];
    finish.addends = terms.addends;
    return true;
  }
  auto *factor = frame.take<float>(width), *addend = frame.take<float>(width);
  finish.isJoined = kernels::joinTerms(terms, factor, addend);
  if (!finish.isJoined)
    return false;
  finish.factors[0] = factor;
  finish.addends = addend;
  return true;
}

void FinishSteps::fill(kernels::Epilogue &epilogue, kernels::Finish &finish, std::span<const std::byte *const> reads,
                       kernels::ScratchFrame &frame) const {
  if (!join(finish, reads, frame)) {
    if (bias)
      epilogue.bias = numbers(*bias, reads, frame);
    for (int i = 0; i < 2; ++i)
      if (factors[i])
        finish.factors[i] = numbers(*factors[i], reads, frame);
    if (addends)
      finish.addends = numbers(*addends, reads, frame);
  }
  if (!factors[0] && !addends && rows < 0 && !low && !high && !gate)
    return;
  if (rows >= 0) {
    const std::byte *from = reads[size_t(rows)];
    if (areRowsNarrow)
      finish.narrowRows = reinterpret_cast<const uint16_t *>(from);
    else
      finish.rows = reinterpret_cast<const float *>(from);
    finish.rowStride = rowStride;
  }
  finish.isPositive = low && *low == 0 && !std::signbit(*low);
  finish.hasLow = low && !finish.isPositive;
  finish.hasHigh = high.has_value();
  finish.low = low.value_or(0);
  finish.high = high.value_or(0);
  finish.isGated = gate.has_value();
  if (gate) {
    finish.gateScale = gate->scale, finish.gateShift = gate->shift, finish.gateFactor = gate->factor;
    finish.low = gate->low, finish.high = gate->high;
  }
  epilogue.finish = &finish;
}

} // namespace cupel::compiler
