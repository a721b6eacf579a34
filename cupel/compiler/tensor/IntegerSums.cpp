// Products and convolutions of dequantized integers, (x - zero) * scale on both sides, are sums of integers, which are exact, times
// the product of the scales: fewer roundings than sums of f32 have, and the kernels of bytes. For scales that are known and ordinary
// numbers: then nothing overflows or is no number either way, and a sum of nothing is +0 either way.

#include "cupel/compiler/rewrites/Rewrites.h"
#include "cupel/compiler/tensor/Group.h"
#include "cupel/compiler/tensor/Passes.h"
#include "cupel/compiler/tensor/Windows.h"

#include <cmath>

using namespace mlir;

namespace cupel::tir {

#define GEN_PASS_DEF_INTEGERSUMS
#include "cupel/compiler/tensor/Passes.h.inc"

namespace {

/// Scales within these leave products of two of them, times any sum of 32 bits, far from the ends of f32.
constexpr float kLeastScale = 0x1p-40F, kMostScale = 0x1p40F;

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

bool hasElements(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.hasStaticShape() && !type.getEncoding() && type.getNumElements() > 0;
}

/// One number, or one for each index of a dimension.
struct Scale {
  SmallVector<float> numbers;
  std::optional<int64_t> dimension;
};

/// Where a dimension is behind a reshape, if it is still one.
std::optional<int64_t> reshaped(ArrayRef<int64_t> from, ArrayRef<int64_t> to, int64_t dimension) {
  int64_t outer = 1, before = 1;
  for (int64_t size : from.take_front(dimension))
    outer *= size;
  for (auto [d, size] : llvm::enumerate(to)) {
    if (before == outer && size == from[dimension])
      return int64_t(d);
    before *= size;
  }
  return std::nullopt;
}

/// Follows a dimension through a move of elements; false where it is lost.
bool follow(Operation *move, std::optional<int64_t> &dimension) {
  if (!dimension)
    return true;
  if (auto broadcast = dyn_cast<stablehlo::BroadcastInDimOp>(move)) {
    dimension = broadcast.getBroadcastDimensions()[*dimension];
  } else if (auto transpose = dyn_cast<stablehlo::TransposeOp>(move)) {
    dimension = inverse(transpose.getPermutation())[*dimension];
  } else {
    dimension = reshaped(typeOf(move->getOperand(0)).getShape(), typeOf(move->getResult(0)).getShape(), *dimension);
    return dimension.has_value();
  }
  return true;
}

std::optional<Scale> scaleOf(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || !hasElements(value) || !typeOf(value).getElementType().isF32())
    return std::nullopt;
  if (auto constant = dyn_cast<stablehlo::ConstantOp>(op)) {
    auto values = dyn_cast<DenseFPElementsAttr>(constant.getValue());
    if (!values)
      return std::nullopt;
    Scale scale;
    for (auto [d, size] : llvm::enumerate(typeOf(value).getShape()))
      if (size > 1 && !values.isSplat()) {
        if (scale.dimension)
          return std::nullopt;
        scale.dimension = int64_t(d);
      }
    if (scale.dimension)
      llvm::append_range(scale.numbers, values.getValues<float>());
    else
      scale.numbers = {*values.getValues<float>().begin()};
    for (float number : scale.numbers)
      if (!(number >= kLeastScale && number <= kMostScale))
        return std::nullopt;
    return scale;
  }
  if (!isa<stablehlo::BroadcastInDimOp, stablehlo::ReshapeOp, stablehlo::TransposeOp>(op))
    return std::nullopt;
  std::optional<Scale> scale = scaleOf(op->getOperand(0));
  return scale && follow(op, scale->dimension) ? scale : std::nullopt;
}

/// A side of a product, as integers of 8 bits less a zero point, and what they were multiplied with.
struct Dequantized {
  Value integers;
  int64_t zero = 0;
  Scale scale;
  SmallVector<Operation *> moves; ///< Of what was dequantized, to be done to the integers, in this order.

  bool isSigned() const { return !typeOf(integers).getElementType().isUnsignedInteger(); }
  /// The largest of what is multiplied, without its sign.
  int64_t most() const { return isSigned() ? std::max(zero + 128, 127 - zero) : std::max(zero, 255 - zero); }
};

/// A zero point that is one number, as an integer or as a float.
std::optional<int64_t> zeroOf(Value value) {
  TypedAttr number = splatOf(value);
  if (auto real = dyn_cast_or_null<FloatAttr>(number)) {
    double exact = real.getValueAsDouble();
    return std::abs(exact) <= 255 && exact == std::round(exact) ? std::optional(int64_t(exact)) : std::nullopt;
  }
  auto integer = dyn_cast_or_null<IntegerAttr>(number);
  if (!integer || !integer.getType().isSignlessInteger(32))
    return std::nullopt;
  return integer.getValue().getSExtValue();
}

/// Reads convert(x), convert(x) - zero and convert(convert(x) - zero).
std::optional<Dequantized> integersOf(Value value) {
  Dequantized side;
  for (bool hasZero = false;;) {
    Operation *op = value.getDefiningOp();
    if (!op)
      return std::nullopt;
    if (isa<stablehlo::SubtractOp>(op) && !hasZero) {
      std::optional<int64_t> zero = zeroOf(op->getOperand(1));
      if (!zero)
        return std::nullopt;
      side.zero = *zero;
      hasZero = true;
    } else if (!isa<stablehlo::ConvertOp>(op)) {
      return std::nullopt;
    }
    value = op->getOperand(0);
    if (!hasElements(value))
      return std::nullopt;
    Type element = typeOf(value).getElementType();
    if (element.isInteger(8)) {
      side.integers = value;
      break;
    }
    if (!element.isF32() && !element.isSignlessInteger(32))
      return std::nullopt;
  }
  int64_t least = side.isSigned() ? -128 : 0;
  return side.zero >= least && side.zero <= least + 255 ? std::optional(side) : std::nullopt;
}

std::optional<Dequantized> sideOf(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || !hasElements(value) || !typeOf(value).getElementType().isF32())
    return std::nullopt;
  if (isa<stablehlo::TransposeOp, stablehlo::ReshapeOp>(op)) {
    std::optional<Dequantized> side = sideOf(op->getOperand(0));
    if (!side || !follow(op, side->scale.dimension))
      return std::nullopt;
    side->moves.push_back(op);
    return side;
  }
  if (!isa<stablehlo::MultiplyOp>(op))
    return std::nullopt;
  for (unsigned number : {1, 0})
    if (std::optional<Scale> scale = scaleOf(op->getOperand(number)))
      if (std::optional<Dequantized> side = integersOf(op->getOperand(1 - number))) {
        side->scale = std::move(*scale);
        return side;
      }
  return std::nullopt;
}

/// How many products are added up for an element, and where dimensions of the sides are in the result: -1 where they are in none.
struct Sums {
  int64_t depth = 1;
  SmallVector<int64_t> left, right;
};

std::optional<Sums> sumsOf(stablehlo::DotGeneralOp dot) {
  auto numbers = dot.getDotDimensionNumbers();
  if (dot.getAlgorithm() || !numbers.getLhsBatchingDimensions().empty())
    return std::nullopt;
  Sums sums;
  int64_t at = 0;
  auto place = [&](Value side, ArrayRef<int64_t> contracting, SmallVector<int64_t> &places) {
    for (int64_t d = 0; d < typeOf(side).getRank(); ++d)
      places.push_back(llvm::is_contained(contracting, d) ? -1 : at++);
  };
  place(dot.getLhs(), numbers.getLhsContractingDimensions(), sums.left);
  place(dot.getRhs(), numbers.getRhsContractingDimensions(), sums.right);
  for (int64_t d : numbers.getLhsContractingDimensions())
    sums.depth *= typeOf(dot.getLhs()).getDimSize(d);
  return sums;
}

std::optional<Sums> sumsOf(stablehlo::ConvolutionOp op) {
  int64_t rank = typeOf(op.getResult()).getRank();
  if (rank < 3 || rank > 5 || !areOnes(op.getLhsDilation()) || op.getBatchGroupCount() != 1)
    return std::nullopt;
  auto numbers = op.getDimensionNumbers();
  auto kernel = typeOf(op.getRhs());
  Sums sums;
  sums.left.assign(rank, -1);
  sums.right.assign(rank, -1);
  int64_t filters = numbers.getKernelOutputFeatureDimension();
  sums.right[filters] = numbers.getOutputFeatureDimension();
  sums.depth = kernel.getNumElements() / kernel.getDimSize(filters);
  return sums;
}

std::optional<Sums> sumsOf(Operation *op) {
  if (auto dot = dyn_cast<stablehlo::DotGeneralOp>(op))
    return sumsOf(dot);
  if (auto convolution = dyn_cast<stablehlo::ConvolutionOp>(op))
    return sumsOf(convolution);
  return std::nullopt;
}

/// What is multiplied, in 32 bits.
Value widened(OpBuilder &builder, Location location, const Dequantized &side) {
  auto type = RankedTensorType::get(typeOf(side.integers).getShape(), builder.getI32Type());
  Value value = builder.create<stablehlo::ConvertOp>(location, type, side.integers);
  if (side.zero != 0) {
    Value zero = builder.create<stablehlo::ConstantOp>(
        location, type, DenseElementsAttr::get(type, int32_t(side.zero)));
    value = builder.create<stablehlo::SubtractOp>(location, value, zero);
  }
  for (Operation *move : side.moves) {
    IRMapping mapping;
    mapping.map(move->getOperand(0), value);
    Operation *moved = builder.clone(*move, mapping);
    moved->getResult(0).setType(typeOf(move->getResult(0)).clone(builder.getI32Type()));
    value = moved->getResult(0);
  }
  return value;
}

Value multiplied(OpBuilder &builder, Location location, Value value, const Scale &scale) {
  auto type = typeOf(value);
  SmallVector<int64_t> shape, dimensions;
  if (scale.dimension) {
    shape.push_back(int64_t(scale.numbers.size()));
    dimensions.push_back(*scale.dimension);
  }
  auto own = RankedTensorType::get(shape, type.getElementType());
  Value factor = builder.create<stablehlo::ConstantOp>(location, own, DenseElementsAttr::get(own, ArrayRef<float>(scale.numbers)));
  factor = builder.create<stablehlo::BroadcastInDimOp>(location, type, factor, dimensions);
  return builder.create<stablehlo::MultiplyOp>(location, value, factor);
}

void rewrite(Operation *op) {
  if (op->getNumResults() != 1 || !hasElements(op->getResult(0)) || !typeOf(op->getResult(0)).getElementType().isF32())
    return;
  std::optional<Sums> sums = sumsOf(op);
  if (!sums)
    return;
  std::optional<Dequantized> left = sideOf(op->getOperand(0)), right;
  if (left)
    right = sideOf(op->getOperand(1));
  if (!right || sums->depth > INT32_MAX / (left->most() * right->most()))
    return;
  for (auto [side, places] : {std::pair(&*left, &sums->left), std::pair(&*right, &sums->right)})
    if (std::optional<int64_t> &dimension = side->scale.dimension) {
      dimension = (*places)[*dimension];
      if (*dimension < 0)
        return;
    }
  if (!compiler::mayRewrite(op, "integer-sum"))
    return;
  OpBuilder builder(op);
  auto type = typeOf(op->getResult(0));
  Operation *sum = builder.clone(*op);
  builder.setInsertionPoint(sum);
  sum->setOperand(0, widened(builder, op->getLoc(), *left));
  sum->setOperand(1, widened(builder, op->getLoc(), *right));
  sum->getResult(0).setType(type.clone(builder.getI32Type()));
  sum->removeAttr("precision_config"); // Of floats.
  builder.setInsertionPointAfter(sum);
  Value made = builder.create<stablehlo::ConvertOp>(op->getLoc(), type, sum->getResult(0));
  if (!left->scale.dimension || !right->scale.dimension) {
    Scale &one = left->scale.dimension ? right->scale : left->scale, &many = left->scale.dimension ? left->scale : right->scale;
    for (float &number : many.numbers)
      number *= one.numbers[0];
    made = multiplied(builder, op->getLoc(), made, many);
  } else {
    made = multiplied(builder, op->getLoc(), multiplied(builder, op->getLoc(), made, left->scale), right->scale);
  }
  op->getResult(0).replaceAllUsesWith(made);
  op->erase();
}

class IntegerSums : public impl::IntegerSumsBase<IntegerSums> {
public:
  void runOnOperation() override { rewriteEach(getOperation(), rewrite); }
};

} // namespace
} // namespace cupel::tir
