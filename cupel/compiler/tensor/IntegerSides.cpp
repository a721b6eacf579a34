#include "cupel/compiler/tensor/IntegerSides.h"

#include "cupel/compiler/tensor/Group.h"

using namespace mlir;

namespace cupel::tir {
namespace {

IntegerType integerOf(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.hasStaticShape() && !type.getEncoding() && type.getNumElements() > 0
             ? dyn_cast<IntegerType>(type.getElementType())
             : IntegerType();
}

std::optional<int64_t> numberOf(Value value) {
  auto splat = dyn_cast_or_null<IntegerAttr>(splatOf(value));
  if (!splat || splat.getValue().getBitWidth() > 32)
    return std::nullopt;
  return splat.getValue().getSExtValue();
}

/// Weights that were widened before the program runs (`fold-constants`): in 8 bits again where they fit, with the zero point that
/// was taken from them.
std::optional<IntegerSide> narrowed(OpBuilder &builder, stablehlo::ConstantOp constant) {
  auto values = dyn_cast<DenseIntElementsAttr>(constant.getValue());
  if (!values)
    return std::nullopt;
  int64_t least = INT32_MAX, most = INT32_MIN;
  for (int32_t value : values.getValues<int32_t>()) {
    least = std::min<int64_t>(least, value);
    most = std::max<int64_t>(most, value);
  }
  bool isSigned = least >= -128 && most <= 127;
  if (!isSigned && (least < -255 || least > 0 || most - least > 255))
    return std::nullopt;
  int64_t zero = isSigned ? 0 : -least;
  SmallVector<uint8_t> bytes;
  for (int32_t value : values.getValues<int32_t>())
    bytes.push_back(uint8_t(value + zero));
  auto element = IntegerType::get(builder.getContext(), 8, isSigned ? IntegerType::Signless : IntegerType::Unsigned);
  auto type = RankedTensorType::get(values.getType().getShape(), element);
  auto attribute = DenseElementsAttr::getFromRawBuffer(
      type, ArrayRef(reinterpret_cast<const char *>(bytes.data()), values.isSplat() ? size_t{1} : bytes.size()));
  return IntegerSide{builder.create<stablehlo::ConstantOp>(constant.getLoc(), type, attribute), zero};
}

} // namespace

std::optional<IntegerSide> integerSide(OpBuilder &builder, Value value) {
  IntegerType type = integerOf(value);
  if (!type)
    return std::nullopt;
  if (type.getWidth() == 8)
    return IntegerSide{value, 0};
  Operation *op = value.getDefiningOp();
  if (type.getWidth() != 32 || !op)
    return std::nullopt;
  std::optional<IntegerSide> side;
  if (auto constant = dyn_cast<stablehlo::ConstantOp>(op)) {
    side = narrowed(builder, constant);
  } else if (isa<stablehlo::ConvertOp>(op)) {
    if (IntegerType narrow = integerOf(op->getOperand(0)); narrow && narrow.getWidth() == 8)
      side = {op->getOperand(0), 0};
  } else if (isa<stablehlo::TransposeOp, stablehlo::ReshapeOp>(op)) {
    side = integerSide(builder, op->getOperand(0));
    if (side) {
      IRMapping mapping;
      mapping.map(op->getOperand(0), side->value);
      Operation *moved = builder.clone(*op, mapping);
      moved->getResult(0).setType(cast<RankedTensorType>(value.getType())
                                      .clone(cast<RankedTensorType>(side->value.getType()).getElementType()));
      side->value = moved->getResult(0);
    }
  } else if (isa<stablehlo::SubtractOp, stablehlo::AddOp>(op)) {
    bool isAdded = isa<stablehlo::AddOp>(op);
    for (unsigned number : {1u, 0u}) {
      std::optional<int64_t> taken = numberOf(op->getOperand(number));
      if (!taken || (number == 0 && !isAdded))
        continue;
      side = integerSide(builder, op->getOperand(1 - number));
      if (side)
        side->zero += isAdded ? -*taken : *taken;
      break;
    }
  }
  if (!side)
    return std::nullopt;
  int64_t least = integerOf(side->value).isUnsigned() ? 0 : -128;
  if (side->zero < least || side->zero > least + 255)
    return std::nullopt;
  return side;
}

std::optional<std::array<IntegerSide, 2>> integerSides(OpBuilder &builder, Operation *op) {
  auto result = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  if (!result || !result.hasStaticShape() || result.getEncoding() || result.getNumElements() == 0 ||
      !result.getElementType().isSignlessInteger(32))
    return std::nullopt;
  std::optional<IntegerSide> left = integerSide(builder, op->getOperand(0)), right;
  if (left)
    right = integerSide(builder, op->getOperand(1));
  if (!right)
    return std::nullopt;
  return std::array{*left, *right};
}

DenseI64ArrayAttr zerosOf(OpBuilder &builder, const std::array<IntegerSide, 2> &sides) {
  if (sides[0].zero == 0 && sides[1].zero == 0)
    return {};
  return builder.getDenseI64ArrayAttr({sides[0].zero, sides[1].zero});
}

} // namespace cupel::tir
