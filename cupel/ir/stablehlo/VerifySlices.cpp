// Slices and padding, with positions and amounts fixed or computed at run time.

#include "cupel/ir/stablehlo/Verify.h"

#include "llvm/Support/CheckedArithmetic.h"

using namespace mlir;
using namespace cupel::stablehlo::verify;

namespace cupel::stablehlo {

//===----------------------------------------------------------------------===//
// Slices
//===----------------------------------------------------------------------===//

LogicalResult SliceOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                        Adaptor adaptor, SmallVectorImpl<Type> &results) {
  Reporter report = Reporter::inferring<SliceOp>(location);
  RankedTensorType operand = tensor(adaptor.getOperand());
  ArrayRef<int64_t> starts = adaptor.getStartIndices(), limits = adaptor.getLimitIndices(),
                    strides = adaptor.getStrides();
  int64_t rank = operand.getRank();
  if (failed(verifyOnePerDimension(report, "start_indices", starts.size(), rank, "the operand")) ||
      failed(verifyOnePerDimension(report, "limit_indices", limits.size(), rank, "the operand")) ||
      failed(verifyOnePerDimension(report, "strides", strides.size(), rank, "the operand")))
    return failure();
  Shape shape;
  for (int64_t i = 0; i < rank; ++i) {
    Dim dim = getDim(operand, i);
    int64_t start = starts[i], limit = limits[i], stride = strides[i];
    if (start < 0 || start > limit)
      return report.error("start index must be in [0, limit index], but is ", start, " with limit ",
                          limit, " in dimension ", i);
    if (dim.limit() && limit > *dim.limit())
      return report.error("limit index must not exceed the size of the dimension, but is ", limit,
                          " for size ", toString(dim), " in dimension ", i);
    if (stride <= 0)
      return report.error("stride must be positive, but is ", stride, " in dimension ", i);
    int64_t length = limit - start;
    shape.push(Dim{length == 0 ? 0 : (length - 1) / stride + 1, ShapedType::kDynamic});
  }
  results.push_back(shape.withElementType(operand.getElementType()));
  return success();
}

/// One start index per dimension, all of one type.
static LogicalResult verifyStartIndices(Reporter report, ValueRange starts,
                                        RankedTensorType operand) {
  if (failed(verifyOnePerDimension(report, "start_indices", starts.size(), operand.getRank(),
                                   "the operand")))
    return failure();
  for (Value start : starts)
    if (start.getType() != starts.front().getType())
      return report.error("start_indices must have one type, but got ", starts.front().getType(),
                          " and ", start.getType());
  return success();
}

LogicalResult DynamicSliceOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                               Adaptor adaptor, SmallVectorImpl<Type> &results) {
  Reporter report = Reporter::inferring<DynamicSliceOp>(location);
  RankedTensorType operand = tensor(adaptor.getOperand());
  ArrayRef<int64_t> sizes = adaptor.getSliceSizes();
  if (failed(verifyStartIndices(report, adaptor.getStartIndices(), operand)) ||
      failed(verifyOnePerDimension(report, "slice_sizes", sizes.size(), operand.getRank(),
                                   "the operand")))
    return failure();
  Shape shape;
  for (auto [i, size] : llvm::enumerate(sizes)) {
    Dim dim = getDim(operand, i);
    if (size < 0 || (dim.limit() && size > *dim.limit()))
      return report.error("slice size must be in [0, size of the dimension], but is ", size,
                          " for size ", toString(dim), " in dimension ", i);
    shape.push(Dim{size, ShapedType::kDynamic});
  }
  results.push_back(shape.withElementType(operand.getElementType()));
  return success();
}

LogicalResult DynamicUpdateSliceOp::inferReturnTypes(MLIRContext *,
                                                     std::optional<Location> location,
                                                     Adaptor adaptor,
                                                     SmallVectorImpl<Type> &results) {
  Reporter report = Reporter::inferring<DynamicUpdateSliceOp>(location);
  RankedTensorType operand = tensor(adaptor.getOperand()), update = tensor(adaptor.getUpdate());
  if (operand.getRank() != update.getRank() ||
      !areCompatibleElementTypes(operand.getElementType(), update.getElementType()))
    return report.error("operand and update must have one rank and element type, but got ", operand,
                        " and ", update);
  if (failed(verifyStartIndices(report, adaptor.getStartIndices(), operand)))
    return failure();
  for (int64_t i = 0; i < operand.getRank(); ++i) {
    Dim dim = getDim(operand, i), part = getDim(update, i);
    if (part.isKnown() && dim.limit() && part.size > *dim.limit())
      return report.error("update must not be larger than the operand, but has size ", part.size,
                          " for ", toString(dim), " in dimension ", i);
  }
  results.push_back(operand);
  return success();
}

LogicalResult RealDynamicSliceOp::verify() {
  Reporter report(*this);
  RankedTensorType operand = tensor(getOperand()), result = tensor(getResult());
  if (operand.getRank() != result.getRank() ||
      !areCompatibleElementTypes(operand.getElementType(), result.getElementType()))
    return report.error("operand and result must have one rank and element type, but got ", operand,
                        " and ", result);
  for (auto [name, indices] : {std::pair<StringRef, Value>("start_indices", getStartIndices()),
                               {"limit_indices", getLimitIndices()},
                               {"strides", getStrides()}}) {
    int64_t count = tensor(indices).getDimSize(0);
    if (!ShapedType::isDynamic(count) &&
        failed(verifyOnePerDimension(report, name, count, operand.getRank(), "the operand")))
      return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Padding
//===----------------------------------------------------------------------===//

/// The size of a dimension with `low` and `high` elements added at its ends and `interior` between
/// its elements; none if it does not fit in 64 bits.
static std::optional<int64_t> getPaddedSize(int64_t size, int64_t low, int64_t high,
                                            int64_t interior) {
  std::optional<int64_t> between = llvm::checkedMul(std::max<int64_t>(size - 1, 0), interior);
  std::optional<int64_t> ends = llvm::checkedAdd(low, high);
  if (!between || !ends)
    return std::nullopt;
  std::optional<int64_t> inside = llvm::checkedAdd(size, *between);
  return inside ? llvm::checkedAdd(*inside, *ends) : std::nullopt;
}

/// The padded shape; amounts must have one entry per dimension.
static FailureOr<Shape> inferPaddedShape(Reporter report, RankedTensorType operand,
                                         ArrayRef<int64_t> low, ArrayRef<int64_t> high,
                                         ArrayRef<int64_t> interior) {
  Shape shape;
  for (int64_t i = 0; i < operand.getRank(); ++i) {
    if (interior[i] < 0)
      return report.error("interior_padding must not be negative, but got ", toString(interior));
    std::optional<Dim> padded = map(getDim(operand, i), [&](int64_t size) {
      return getPaddedSize(size, low[i], high[i], interior[i]);
    });
    if (!padded)
      return report.error("the size of dimension ", i, " of the result does not fit in 64 bits");
    if (padded->limit() && *padded->limit() < 0)
      return report.error("padding must not make a size negative, but dimension ", i, " gets size ",
                          *padded->limit());
    shape.push(*padded);
  }
  return shape;
}

static LogicalResult verifyPaddingValue(Reporter report, RankedTensorType operand,
                                        RankedTensorType value) {
  if (!areCompatibleElementTypes(operand.getElementType(), value.getElementType()))
    return report.error("padding_value must have the element type of the operand, but got ",
                        value.getElementType(), " for ", operand.getElementType());
  return success();
}

LogicalResult PadOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                      Adaptor adaptor, SmallVectorImpl<Type> &results) {
  Reporter report = Reporter::inferring<PadOp>(location);
  RankedTensorType operand = tensor(adaptor.getOperand());
  ArrayRef<int64_t> low = adaptor.getEdgePaddingLow(), high = adaptor.getEdgePaddingHigh(),
                    interior = adaptor.getInteriorPadding();
  int64_t rank = operand.getRank();
  if (failed(verifyPaddingValue(report, operand, tensor(adaptor.getPaddingValue()))) ||
      failed(verifyOnePerDimension(report, "edge_padding_low", low.size(), rank, "the operand")) ||
      failed(
          verifyOnePerDimension(report, "edge_padding_high", high.size(), rank, "the operand")) ||
      failed(
          verifyOnePerDimension(report, "interior_padding", interior.size(), rank, "the operand")))
    return failure();
  FailureOr<Shape> shape = inferPaddedShape(report, operand, low, high, interior);
  if (failed(shape))
    return failure();
  results.push_back(shape->withElementType(operand.getElementType()));
  return success();
}

LogicalResult DynamicPadOp::verify() {
  Reporter report(*this);
  RankedTensorType operand = tensor(getOperand()), result = tensor(getResult());
  int64_t rank = operand.getRank();
  if (result.getRank() != rank ||
      !areCompatibleElementTypes(operand.getElementType(), result.getElementType()))
    return report.error("operand and result must have one rank and element type, but got ", operand,
                        " and ", result);
  if (failed(verifyPaddingValue(report, operand, tensor(getPaddingValue()))))
    return failure();
  for (auto [name, amounts] : {std::pair<StringRef, Value>("edge_padding_low", getEdgePaddingLow()),
                               {"edge_padding_high", getEdgePaddingHigh()},
                               {"interior_padding", getInteriorPadding()}})
    if (failed(verifyOnePerDimension(report, name, tensor(amounts).getDimSize(0), rank,
                                     "the operand")))
      return failure();
  auto low = getConstant(getEdgePaddingLow(), rank), high = getConstant(getEdgePaddingHigh(), rank);
  auto interior = getConstant(getInteriorPadding(), rank);
  if (!low || !high || !interior)
    return success();
  FailureOr<Shape> shape = inferPaddedShape(report, operand, *low, *high, *interior);
  if (failed(shape))
    return failure();
  RankedTensorType padded = shape->withElementType(operand.getElementType());
  if (!areCompatibleShapes(padded, result))
    return report.error("the constant padding gives ", padded,
                        ", which does not fit the result "
                        "type ",
                        result);
  return success();
}

} // namespace cupel::stablehlo
