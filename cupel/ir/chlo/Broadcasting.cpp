#include "cupel/ir/chlo/Broadcasting.h"

#include "cupel/ir/chlo/Chlo.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace cupel::chlo {

SmallVector<SmallVector<int64_t>>
mapToResultDimensions(ArrayRef<RankedTensorType> operands, DenseI64ArrayAttr explicitDimensions,
                      llvm::function_ref<void(const Twine &)> report) {
  int64_t resultRank = 0;
  for (RankedTensorType operand : operands)
    resultRank = std::max(resultRank, operand.getRank());

  SmallVector<SmallVector<int64_t>> maps;
  for (RankedTensorType operand : operands) {
    auto aligned = llvm::seq(resultRank - operand.getRank(), resultRank);
    maps.emplace_back(aligned.begin(), aligned.end());
  }
  if (!explicitDimensions)
    return maps;

  ArrayRef<int64_t> dimensions = explicitDimensions;
  int64_t lowerRank = resultRank;
  for (RankedTensorType operand : operands)
    lowerRank = std::min(lowerRank, operand.getRank());
  if (static_cast<int64_t>(dimensions.size()) != lowerRank) {
    report("broadcast_dimensions has " + Twine(dimensions.size()) +
           " entries; the operand of lower rank has " + Twine(lowerRank) + " dimensions");
    return {};
  }
  for (auto [i, dimension] : llvm::enumerate(dimensions)) {
    if (dimension < 0 || dimension >= resultRank) {
      report("broadcast_dimensions[" + Twine(i) + "] = " + Twine(dimension) +
             " is not a dimension of the result, which has rank " + Twine(resultRank));
      return {};
    }
    if (i > 0 && dimensions[i - 1] >= dimension) {
      report("broadcast_dimensions must be strictly increasing, but entry " + Twine(i) + " is " +
             Twine(dimension) + " after " + Twine(dimensions[i - 1]));
      return {};
    }
  }
  // Of two operands of equal rank both already cover the result, whatever the attribute says: its
  // only legal value is then the identity.
  for (auto [operand, map] : llvm::zip(operands, maps))
    if (operand.getRank() == lowerRank)
      map.assign(dimensions.begin(), dimensions.end());
  return maps;
}

FailureOr<SmallVector<int64_t>>
inferBroadcastShape(ArrayRef<RankedTensorType> operands, ArrayRef<SmallVector<int64_t>> maps,
                    llvm::function_ref<void(const Twine &)> report) {
  int64_t resultRank = 0;
  for (RankedTensorType operand : operands)
    resultRank = std::max(resultRank, operand.getRank());
  SmallVector<int64_t> shape(resultRank, 1);
  for (auto [operand, map] : llvm::zip(operands, maps)) {
    for (auto [size, dimension] : llvm::zip(operand.getShape(), map)) {
      int64_t &known = shape[dimension];
      if (size == 1 || size == known)
        continue;
      if (known == 1 || ShapedType::isDynamic(known)) {
        known = size == ShapedType::kDynamic && known != 1 ? known : size;
        continue;
      }
      if (ShapedType::isDynamic(size))
        continue;
      report("operands do not broadcast: sizes " + Twine(known) + " and " + Twine(size) +
             " meet in dimension " + Twine(dimension) + " of the result");
      return failure();
    }
  }
  return shape;
}

static bool compatibleElementTypes(Type a, Type b) {
  auto quantizedA = dyn_cast<quant::QuantizedType>(a);
  auto quantizedB = dyn_cast<quant::QuantizedType>(b);
  if (!quantizedA || !quantizedB)
    return a == b;
  return quantizedA.getStorageType() == quantizedB.getStorageType() &&
         quantizedA.getExpressedType() == quantizedB.getExpressedType();
}

LogicalResult verifyBroadcastingElementwise(Operation *op) {
  // The operands that carry the element type: all but the predicate of a select.
  OperandRange values = op->getOperands();
  if (isa<BroadcastSelectOp>(op))
    values = values.drop_front();
  Type element = getElementTypeOrSelf(values.front().getType());
  for (Value value : values)
    if (Type other = getElementTypeOrSelf(value.getType()); !compatibleElementTypes(element, other))
      return op->emitOpError("operands must have one element type, but got ")
             << element << " and " << other;

  Type expected = element;
  if (isa<BroadcastComplexOp>(op))
    expected = ComplexType::get(element);
  else if (isa<BroadcastCompareOp>(op))
    expected = IntegerType::get(op->getContext(), 1);
  Type result = getElementTypeOrSelf(op->getResult(0).getType());
  if (!compatibleElementTypes(expected, result))
    return op->emitOpError("result must have the element type ")
           << expected << ", but has " << result;

  SmallVector<RankedTensorType> operands;
  for (Type type : op->getOperandTypes()) {
    auto ranked = dyn_cast<RankedTensorType>(type);
    if (!ranked)
      return success();
    operands.push_back(ranked);
  }
  auto report = [&](const Twine &message) { op->emitOpError(message); };
  auto dimensions = op->getAttrOfType<DenseI64ArrayAttr>("broadcast_dimensions");
  auto maps = mapToResultDimensions(operands, dimensions, report);
  if (maps.empty())
    return failure();
  FailureOr<SmallVector<int64_t>> shape = inferBroadcastShape(operands, maps, report);
  if (failed(shape))
    return failure();
  auto ranked = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  if (ranked && failed(verifyCompatibleShape(*shape, ranked.getShape())))
    return op->emitOpError("operands broadcast to ")
           << RankedTensorType::get(*shape, result) << ", but the result is " << ranked;
  return success();
}

} // namespace cupel::chlo
