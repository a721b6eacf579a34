// Rotary embeddings: x * cos + rotated(x) * sin, where rotated(x) are the two halves of the last dimension the other way round, the second
// with its sign turned. Models write that as slices and a concatenation, which is a copy between two maps; read as padded slices that are
// added it is a part of one map. Even and odd elements instead of halves (GPT-J) stay as they are: edges at every second element cost
// seventeen times what the copy does.

#include "cupel/compiler/tensor/named/NamedFusion.h"

using namespace mlir;

namespace cupel::tir {

namespace {

ArrayRef<int64_t> sizesOf(Value value) { return cast<RankedTensorType>(value.getType()).getShape(); }

/// Through what leaves elements in their order.
Value throughSameOrder(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    bool isSame = isa<stablehlo::ReshapeOp>(op) ||
                  (isa<stablehlo::BroadcastInDimOp>(op) && countOf(op->getOperand(0)) == countOf(value));
    if (!isSame)
      break;
    value = op->getOperand(0);
  }
  return value;
}

/// One half of a value's last dimension, and where it begins.
struct Half {
  Value of;
  int64_t start = 0;
};

std::optional<Half> halfOf(Value value) {
  auto slice = throughSameOrder(value).getDefiningOp<stablehlo::SliceOp>();
  if (!slice || cast<RankedTensorType>(slice.getType()).getRank() == 0)
    return std::nullopt;
  ArrayRef<int64_t> from = sizesOf(slice.getOperand()), to = sizesOf(slice.getResult());
  size_t last = from.size() - 1;
  for (size_t d = 0; d < last; ++d)
    if (from[d] != to[d])
      return std::nullopt;
  if (2 * to[last] != from[last] || slice.getStrides()[last] != 1)
    return std::nullopt;
  return Half{slice.getOperand(), slice.getStartIndices()[last]};
}

/// The concatenation of -(second half) and first half that makes a value; with what is rotated.
struct Rotation {
  stablehlo::ConcatenateOp joined;
  Value of;
};

std::optional<Rotation> rotationOf(Value value) {
  value = throughSameOrder(value);
  auto joined = value.getDefiningOp<stablehlo::ConcatenateOp>();
  if (!joined || joined.getInputs().size() != 2 || !isCompiledTensor(joined.getType()) ||
      int64_t(joined.getDimension()) != cast<RankedTensorType>(joined.getType()).getRank() - 1 ||
      !isa<FloatType>(cast<RankedTensorType>(joined.getType()).getElementType()))
    return std::nullopt;
  auto turned = throughSameOrder(joined.getInputs()[0]).getDefiningOp<stablehlo::NegateOp>();
  if (!turned)
    return std::nullopt;
  std::optional<Half> second = halfOf(turned.getOperand()), first = halfOf(joined.getInputs()[1]);
  if (!second || !first || second->of != first->of)
    return std::nullopt;
  int64_t half = sizesOf(first->of).back() / 2;
  if (first->start != 0 || second->start != half || sizesOf(joined.getInputs()[0]).back() != half)
    return std::nullopt;
  return Rotation{joined, first->of};
}

/// Of a product: the rotation in it and what it is multiplied with.
std::optional<Rotation> rotationIn(Value value) {
  auto product = value.getDefiningOp<stablehlo::MultiplyOp>();
  if (!product)
    return std::nullopt;
  for (Value side : product->getOperands())
    if (std::optional<Rotation> found = rotationOf(side))
      return found;
  return std::nullopt;
}

bool isProductWith(Value value, Value factor) {
  auto product = value.getDefiningOp<stablehlo::MultiplyOp>();
  return product && llvm::any_of(product->getOperands(), [&](Value side) {
           return throughSameOrder(side) == throughSameOrder(factor);
         });
}

std::optional<Rotation> rotationEndingIn(Operation *op) {
  if (!isa<stablehlo::AddOp>(op) || !isFusible(op))
    return std::nullopt;
  for (unsigned i : {0u, 1u})
    if (std::optional<Rotation> found = rotationIn(op->getOperand(i)))
      if (isProductWith(op->getOperand(1 - i), found->of))
        return found;
  return std::nullopt;
}

std::optional<FusionMembers> matchRope(Operation *op) {
  std::optional<Rotation> found = rotationEndingIn(op);
  if (!found)
    return std::nullopt;
  return FusionMembers{op, found->joined};
}

/// The value in its place along the last dimension of the whole, and a number everywhere else.
Value padded(OpBuilder &builder, Location location, Value value, RankedTensorType whole, bool isFirst, bool isNegativeZero) {
  auto element = cast<FloatType>(whole.getElementType());
  auto scalar = RankedTensorType::get({}, element);
  Value zero = builder.create<stablehlo::ConstantOp>(
      location, scalar, DenseElementsAttr::get(scalar, APFloat::getZero(element.getFloatSemantics(), isNegativeZero)));
  SmallVector<int64_t> low(whole.getRank(), 0), high(whole.getRank(), 0), between(whole.getRank(), 0);
  (isFirst ? high : low).back() = whole.getShape().back() - sizesOf(value).back();
  return builder.create<stablehlo::PadOp>(location, whole, value, zero, low, high, between);
}

void rewriteRope(Operation *op) {
  std::optional<Rotation> found = rotationEndingIn(op);
  stablehlo::ConcatenateOp joined = found->joined;
  auto whole = cast<RankedTensorType>(joined.getType());
  OpBuilder builder(joined);
  Location location = joined.getLoc();
  Value second = joined.getInputs()[0];
  auto turned = throughSameOrder(second).getDefiningOp<stablehlo::NegateOp>();
  Value plain = turned.getOperand(); // Its sign is turned behind the padding, so that all of it is one map.
  if (plain.getType() != second.getType())
    plain = builder.create<stablehlo::ReshapeOp>(location, second.getType(), plain);
  // Each is minus zero where the other is: x + -0 is x, whatever x is.
  Value left = builder.create<stablehlo::NegateOp>(
      location, padded(builder, location, plain, whole, /*isFirst=*/true, /*isNegativeZero=*/false));
  Value right = padded(builder, location, joined.getInputs()[1], whole, /*isFirst=*/false, /*isNegativeZero=*/true);
  joined.getResult().replaceAllUsesWith(builder.create<stablehlo::AddOp>(location, left, right));
}

} // namespace

const NamedFusion kRopeFusion{.name = "rope",
                              .summary = "x * cos + rotated(x) * sin, with the halves of rows rotated (Llama, GPT-NeoX)",
                              .match = matchRope,
                              .rewrite = rewriteRope};

} // namespace cupel::tir
