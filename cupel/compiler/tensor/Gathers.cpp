#include "cupel/compiler/tensor/Gathers.h"

using namespace mlir;

namespace cupel::tir {

std::optional<int64_t> takenDimension(stablehlo::GatherOp op) {
  auto numbers = op.getDimensionNumbers();
  auto from = shapedType(op.getOperand()), at = shapedType(op.getStartIndices()), to = shapedType(op.getResult());
  if (numbers.getStartIndexMap().size() != 1 || !numbers.getOperandBatchingDims().empty() || !from.hasStaticShape() || !at.hasStaticShape())
    return std::nullopt;
  int64_t d = numbers.getStartIndexMap()[0], vectorDim = numbers.getIndexVectorDim();
  bool isList = vectorDim == 1 && (at.getRank() == 1 || (at.getRank() == 2 && at.getDimSize(1) == 1));
  if (!isList || numbers.getCollapsedSliceDims() != ArrayRef(d) || to.getRank() != from.getRank())
    return std::nullopt;
  for (int64_t k = 0; k < from.getRank(); ++k)
    if (op.getSliceSizes()[k] != (k == d ? 1 : from.getDimSize(k)) || (k != d) != llvm::is_contained(numbers.getOffsetDims(), k))
      return std::nullopt;
  return llvm::is_sorted(numbers.getOffsetDims()) ? std::optional(d) : std::nullopt;
}

/// The dimension that a constant counts along, if it has one of more than one element and that is all it does.
static std::optional<int64_t> countedByConstant(stablehlo::ConstantOp constant) {
  auto numbers = dyn_cast<DenseIntElementsAttr>(constant.getValue());
  if (!numbers || !shapedType(constant).hasStaticShape() || llvm::count_if(shapedType(constant).getShape(), [](int64_t size) { return size != 1; }) != 1)
    return std::nullopt;
  int64_t next = 0;
  for (const APInt &number : numbers.getValues<APInt>())
    if (number != uint64_t(next++))
      return std::nullopt;
  return int64_t(llvm::find_if(shapedType(constant).getShape(), [](int64_t size) { return size != 1; }) - shapedType(constant).getShape().begin());
}

std::optional<int64_t> countedDimension(Value part, ArrayRef<int64_t> batch) {
  // What is left of the shape but sizes of 1 has to be the batch's.
  auto isBatch = [&](ArrayRef<int64_t> shape) { return shape.size() == batch.size() + 1 ? shape.drop_back() == batch : shape == batch; };
  if (auto reshape = part.getDefiningOp<stablehlo::ReshapeOp>(); reshape && isBatch(shapedType(reshape.getOperand()).getShape()))
    part = reshape.getOperand();
  if (!isBatch(shapedType(part).getShape()))
    return std::nullopt;
  if (auto iota = part.getDefiningOp<stablehlo::IotaOp>())
    return int64_t(iota.getIotaDimension()) < int64_t(batch.size()) ? std::optional<int64_t>(iota.getIotaDimension()) : std::nullopt;
  auto broadcast = part.getDefiningOp<stablehlo::BroadcastInDimOp>();
  if (!broadcast)
    return std::nullopt;
  std::optional<int64_t> inside;
  if (auto iota = broadcast.getOperand().getDefiningOp<stablehlo::IotaOp>())
    inside = int64_t(iota.getIotaDimension());
  else if (auto constant = broadcast.getOperand().getDefiningOp<stablehlo::ConstantOp>())
    inside = countedByConstant(constant);
  if (!inside)
    return std::nullopt;
  int64_t along = broadcast.getBroadcastDimensions()[*inside];
  bool isWhole = along < int64_t(batch.size()) && shapedType(broadcast.getOperand()).getDimSize(*inside) == batch[along];
  return isWhole ? std::optional(along) : std::nullopt;
}

} // namespace cupel::tir
