// Dot products and convolutions.

#include "cupel/ir/stablehlo/VerifyWindows.h"

#include "mlir/Dialect/Quant/QuantTypes.h"

using namespace mlir;
using namespace cupel::stablehlo::verify;
using mlir::quant::QuantizedType;
using mlir::quant::UniformQuantizedPerAxisType;
using mlir::quant::UniformQuantizedType;

namespace cupel::stablehlo {

static LogicalResult verifyPrecisionConfig(Reporter report, std::optional<ArrayAttr> config) {
  if (config && config->size() > 2)
    return report.error("precision_config must have at most 2 entries (lhs and rhs), but has ",
                        config->size());
  return success();
}

static LogicalResult verifyResultShape(Reporter report, const Shape &shape,
                                       RankedTensorType result) {
  RankedTensorType expected = shape.withElementType(result.getElementType());
  if (!areCompatibleShapes(expected, result))
    return report.error("result must be compatible with ", expected, ", but is ", result);
  return success();
}

//===----------------------------------------------------------------------===//
// Quantization
//===----------------------------------------------------------------------===//

/// How the element types of a product must relate: nothing is quantized, or all of it, or only rhs
/// (weights) with one float type on both other sides. Per-axis rules are the caller's.
static LogicalResult verifyQuantizedProduct(Reporter report, Type lhs, Type rhs, Type result) {
  if (!isQuantized(lhs) && !isQuantized(rhs) && !isQuantized(result))
    return success();
  auto quantizedRhs = dyn_cast<QuantizedType>(rhs);
  if (!quantizedRhs || isQuantized(lhs) != isQuantized(result))
    return report.error(
        "quantized products need a quantized rhs, and lhs and result both quantized "
        "or neither, but got ",
        lhs, " and ", rhs, " giving ", result);
  Type expressed = quantizedRhs.getExpressedType();
  if (getRealElementType(lhs) != expressed || getRealElementType(result) != expressed)
    return report.error("lhs, rhs and result must express the same float type, but got ", lhs,
                        " and ", rhs, " giving ", result);
  auto quantizedLhs = dyn_cast<QuantizedType>(lhs);
  if (!quantizedLhs)
    return success();
  if (quantizedLhs.getStorageType() != quantizedRhs.getStorageType() ||
      quantizedLhs.isSigned() != quantizedRhs.isSigned())
    return report.error("lhs and rhs must be stored alike, but got ", lhs, " and ", rhs);
  if (isQuantizedPerTensor(rhs) && isQuantizedPerAxis(result))
    return report.error("result must be quantized per tensor if rhs is, but got ", rhs, " giving ",
                        result);
  return success();
}

/// The weights of a dot are symmetric.
static LogicalResult verifyZeroPoints(Reporter report, Type rhs) {
  bool isZero = true;
  if (auto perTensor = dyn_cast<UniformQuantizedType>(rhs))
    isZero = perTensor.getZeroPoint() == 0;
  else if (auto perAxis = dyn_cast<UniformQuantizedPerAxisType>(rhs))
    isZero = llvm::all_of(perAxis.getZeroPoints(), [](int64_t point) { return point == 0; });
  if (!isZero)
    return report.error("zero points of rhs must be 0, but got ", rhs);
  return success();
}

//===----------------------------------------------------------------------===//
// dot
//===----------------------------------------------------------------------===//

LogicalResult DotOp::verify() {
  Reporter report(*this);
  RankedTensorType lhs = tensor(getLhs()), rhs = tensor(getRhs()), result = tensor(getResult());
  if (failed(verifyPrecisionConfig(report, getPrecisionConfig())))
    return failure();
  if (lhs.getRank() < 1 || lhs.getRank() > 2 || rhs.getRank() < 1 || rhs.getRank() > 2)
    return report.error("operands must be vectors or matrices, but got ", lhs, " and ", rhs);
  Dim last = getDim(lhs, lhs.getRank() - 1), first = getDim(rhs, 0);
  if (!verify::areCompatible(last, first))
    return report.error("the last dimension of lhs must have the size of the first dimension of "
                        "rhs, but got ",
                        toString(last), " and ", toString(first));
  Shape shape;
  if (lhs.getRank() == 2)
    shape.push(getDim(lhs, 0));
  if (rhs.getRank() == 2)
    shape.push(getDim(rhs, 1));
  if (failed(verifyResultShape(report, shape, result)))
    return failure();
  if (auto axis = dyn_cast<UniformQuantizedPerAxisType>(rhs.getElementType());
      axis && axis.getQuantizedDimension() == 0)
    return report.error("rhs must not be quantized along the contracting dimension 0, but is ",
                        rhs);
  if (failed(verifyZeroPoints(report, rhs.getElementType())))
    return failure();
  return verifyQuantizedProduct(report, lhs.getElementType(), rhs.getElementType(),
                                result.getElementType());
}

//===----------------------------------------------------------------------===//
// dot_general
//===----------------------------------------------------------------------===//

/// Batching and contracting dimensions of one side: unique together and in range.
static LogicalResult verifySide(Reporter report, StringRef side, ArrayRef<int64_t> batching,
                                ArrayRef<int64_t> contracting, int64_t rank) {
  std::string name = (side + "_batching_dimensions and " + side + "_contracting_dimensions").str();
  SmallVector<int64_t> dims(batching);
  llvm::append_range(dims, contracting);
  if (failed(verifyInRange(report, name, dims, rank, side)))
    return failure();
  return verifyUnique(report, name, dims);
}

static LogicalResult verifyPairs(Reporter report, StringRef kind, RankedTensorType lhs,
                                 ArrayRef<int64_t> lhsDims, RankedTensorType rhs,
                                 ArrayRef<int64_t> rhsDims) {
  if (lhsDims.size() != rhsDims.size())
    return report.error("lhs and rhs must have as many ", kind, " dimensions, but got ",
                        toString(lhsDims), " and ", toString(rhsDims));
  for (auto [lhsDim, rhsDim] : llvm::zip_equal(lhsDims, rhsDims))
    if (!verify::areCompatible(getDim(lhs, lhsDim), getDim(rhs, rhsDim)))
      return report.error(kind, " dimensions must have the same size, but dimension ", lhsDim,
                          " of lhs has ", toString(getDim(lhs, lhsDim)), " and dimension ", rhsDim,
                          " of rhs has ", toString(getDim(rhs, rhsDim)));
  return success();
}

LogicalResult DotGeneralOp::verify() {
  Reporter report(*this);
  RankedTensorType lhs = tensor(getLhs()), rhs = tensor(getRhs()), result = tensor(getResult());
  DotDimensionNumbersAttr numbers = getDotDimensionNumbers();
  ArrayRef<int64_t> lhsBatching = numbers.getLhsBatchingDimensions(),
                    rhsBatching = numbers.getRhsBatchingDimensions(),
                    lhsContracting = numbers.getLhsContractingDimensions(),
                    rhsContracting = numbers.getRhsContractingDimensions();
  if (failed(verifyPrecisionConfig(report, getPrecisionConfig())) ||
      failed(verifySide(report, "lhs", lhsBatching, lhsContracting, lhs.getRank())) ||
      failed(verifySide(report, "rhs", rhsBatching, rhsContracting, rhs.getRank())) ||
      failed(verifyPairs(report, "batching", lhs, lhsBatching, rhs, rhsBatching)) ||
      failed(verifyPairs(report, "contracting", lhs, lhsContracting, rhs, rhsContracting)))
    return failure();

  Shape shape;
  for (auto [lhsDim, rhsDim] : llvm::zip_equal(lhsBatching, rhsBatching))
    shape.push(*merge(getDim(lhs, lhsDim), getDim(rhs, rhsDim)));
  for (int64_t i = 0; i < lhs.getRank(); ++i)
    if (!llvm::is_contained(lhsBatching, i) && !llvm::is_contained(lhsContracting, i))
      shape.push(getDim(lhs, i));
  for (int64_t i = 0; i < rhs.getRank(); ++i)
    if (!llvm::is_contained(rhsBatching, i) && !llvm::is_contained(rhsContracting, i))
      shape.push(getDim(rhs, i));
  if (failed(verifyResultShape(report, shape, result)))
    return failure();

  if (ArrayAttr precisions = getPrecisionConfigAttr(); precisions && getAlgorithm())
    for (Attribute precision : precisions)
      if (cast<PrecisionAttr>(precision).getValue() != Precision::DEFAULT)
        return report.error("precision_config must be DEFAULT where an algorithm is given, but is ",
                            precisions);

  if (auto axis = dyn_cast<UniformQuantizedPerAxisType>(rhs.getElementType());
      axis && llvm::is_contained(rhsContracting, axis.getQuantizedDimension()))
    return report.error("rhs must not be quantized along a contracting dimension, but is ", rhs,
                        " with contracting dimensions ", toString(rhsContracting));
  if (failed(verifyZeroPoints(report, rhs.getElementType())))
    return failure();
  return verifyQuantizedProduct(report, lhs.getElementType(), rhs.getElementType(),
                                result.getElementType());
}

LogicalResult DotAlgorithmAttr::verify(function_ref<InFlightDiagnostic()> emitError, Type lhs,
                                       Type rhs, Type accumulation, int64_t lhsComponents,
                                       int64_t rhsComponents, int64_t operations, bool imprecise) {
  if (!lhs || !rhs || !accumulation)
    return emitError() << "dot algorithm needs lhs, rhs and accumulation types";
  if (lhsComponents != 1 || rhsComponents != 1)
    return emitError() << "dot algorithm must have component counts of 1, but got " << lhsComponents
                       << " and " << rhsComponents;
  auto isF8 = [](Type type) {
    return isFloat(type) && getElementBits(type) == 8;
  };
  bool known = false;
  if (isF8(lhs) && isF8(rhs))
    known = accumulation.isF32() && operations == 1;
  else if (imprecise || lhs != rhs)
    known = false;
  else if (lhs.isF16())
    known = (accumulation.isF16() || accumulation.isF32()) && operations == 1;
  else if (lhs.isBF16())
    known = (accumulation.isBF16() && operations == 1) ||
            (accumulation.isF32() && llvm::is_contained({1, 3, 6, 9}, operations));
  else if (lhs.isTF32())
    known = accumulation.isF32() && (operations == 1 || operations == 3);
  else if (lhs.isF32() || lhs.isF64())
    known = accumulation == lhs && operations == 1;
  if (!known)
    return emitError() << "dot algorithm is not a known one: " << lhs << " x " << rhs << " -> "
                       << accumulation << " with " << operations << " primitive operations"
                       << (imprecise ? ", imprecise" : "");
  return success();
}

//===----------------------------------------------------------------------===//
// Convolutions
//===----------------------------------------------------------------------===//

/// The roles of one tensor's dimensions must name every dimension once.
static LogicalResult verifyRoles(Reporter report, StringRef name, int64_t first, int64_t second,
                                 ArrayRef<int64_t> spatial, int64_t rank) {
  SmallVector<int64_t> dims(spatial);
  dims.append({first, second});
  llvm::sort(dims);
  if (static_cast<int64_t>(dims.size()) != rank || !llvm::equal(dims, llvm::seq<int64_t>(0, rank)))
    return report.error("dimension_numbers must name every dimension of the ", name,
                        " exactly once, but name ", toString(dims), " for rank ", rank);
  return success();
}

/// Exact quotient of a size.
static FailureOr<Dim> divide(Reporter report, StringRef name, Dim dim, StringRef divisorName,
                             int64_t divisor) {
  if (dim.isKnown() && dim.size % divisor != 0)
    return report.error(name, " (", dim.size, ") must be divisible by ", divisorName, " (", divisor,
                        ")");
  return *map(dim, [&](int64_t size) { return std::optional(size / divisor); });
}

/// Sets the spatial sizes of a convolution's result.
static LogicalResult setSpatialSizes(Reporter report, ConvolutionOp op, Shape &shape) {
  ConvDimensionNumbersAttr numbers = op.getDimensionNumbers();
  RankedTensorType lhs = tensor(op.getLhs()), rhs = tensor(op.getRhs());
  SmallVector<int64_t> sizes;
  for (int64_t dim : numbers.getKernelSpatialDimensions())
    sizes.push_back(rhs.getDimSize(dim));
  FailureOr<SmallVector<Window>> windows =
      getWindows(report, sizes,
                 {op.getWindowStrides(), op.getLhsDilation(), op.getRhsDilation(), op.getPadding(),
                  "lhs_dilation", "rhs_dilation"});
  if (failed(windows))
    return failure();
  if (std::optional<ArrayRef<bool>> reversal = op.getWindowReversal();
      reversal && !reversal->empty() && reversal->size() != sizes.size())
    return report.error("window_reversal must have one entry per window dimension, but got ",
                        reversal->size(), " for ", sizes.size());
  for (auto [i, window] : llvm::enumerate(*windows)) {
    FailureOr<Dim> positions =
        countPositions(report, getDim(lhs, numbers.getInputSpatialDimensions()[i]), window);
    if (failed(positions))
      return failure();
    shape.set(numbers.getOutputSpatialDimensions()[i], *positions);
  }
  return success();
}

/// Padding that is computed leaves them unknown. Window attributes of the wrong length are let
/// through, as programs in the field have them.
static LogicalResult setSpatialSizes(Reporter report, DynamicConvOp op, Shape &) {
  for (auto [name, values] : {std::pair<StringRef, std::optional<ArrayRef<int64_t>>>(
                                  "window_strides", op.getWindowStrides()),
                              {"lhs_dilation", op.getLhsDilation()},
                              {"rhs_dilation", op.getRhsDilation()}})
    if (values && llvm::any_of(*values, [](int64_t value) { return value <= 0; }))
      return report.error(name, " must be positive, but got ", toString(*values));
  return success();
}

/// Everything about a convolution but its windows.
template <typename ConvOp> static LogicalResult verifyConvolution(ConvOp op) {
  Reporter report(op);
  RankedTensorType lhs = tensor(op.getLhs()), rhs = tensor(op.getRhs()),
                   result = tensor(op.getResult());
  int64_t rank = lhs.getRank();
  if (rank < 2 || rhs.getRank() != rank || result.getRank() != rank)
    return report.error("lhs, rhs and result must have one rank of 2 or more, but got ", lhs, ", ",
                        rhs, " and ", result);
  ConvDimensionNumbersAttr numbers = op.getDimensionNumbers();
  if (failed(verifyPrecisionConfig(report, op.getPrecisionConfig())) ||
      failed(verifyRoles(report, "lhs", numbers.getInputBatchDimension(),
                         numbers.getInputFeatureDimension(), numbers.getInputSpatialDimensions(),
                         rank)) ||
      failed(verifyRoles(report, "rhs", numbers.getKernelInputFeatureDimension(),
                         numbers.getKernelOutputFeatureDimension(),
                         numbers.getKernelSpatialDimensions(), rank)) ||
      failed(verifyRoles(report, "result", numbers.getOutputBatchDimension(),
                         numbers.getOutputFeatureDimension(), numbers.getOutputSpatialDimensions(),
                         rank)))
    return failure();

  int64_t featureGroups = op.getFeatureGroupCount(), batchGroups = op.getBatchGroupCount();
  if (featureGroups > 1 && batchGroups > 1)
    return report.error(
        "feature_group_count and batch_group_count must not both exceed 1, but are ", featureGroups,
        " and ", batchGroups);
  Dim kernelInput = getDim(rhs, numbers.getKernelInputFeatureDimension());
  Dim kernelOutput = getDim(rhs, numbers.getKernelOutputFeatureDimension());
  FailureOr<Dim> feature =
      divide(report, "the feature dimension of lhs",
             getDim(lhs, numbers.getInputFeatureDimension()), "feature_group_count", featureGroups);
  FailureOr<Dim> batch =
      divide(report, "the batch dimension of lhs", getDim(lhs, numbers.getInputBatchDimension()),
             "batch_group_count", batchGroups);
  if (failed(feature) || failed(batch) ||
      failed(divide(report, "the output feature dimension of rhs", kernelOutput,
                    "feature_group_count", featureGroups)) ||
      failed(divide(report, "the output feature dimension of rhs", kernelOutput,
                    "batch_group_count", batchGroups)))
    return failure();
  if (!verify::areCompatible(*feature, kernelInput))
    return report.error("the input feature dimension of rhs must be the feature dimension of lhs "
                        "divided by feature_group_count, ",
                        toString(*feature), ", but is ", toString(kernelInput));

  Shape shape;
  shape.sizes.assign(rank, ShapedType::kDynamic);
  shape.bounds.assign(rank, ShapedType::kDynamic);
  shape.set(numbers.getOutputBatchDimension(), *batch);
  shape.set(numbers.getOutputFeatureDimension(), kernelOutput);
  if (failed(setSpatialSizes(report, op, shape)) ||
      failed(verifyResultShape(report, shape, result)))
    return failure();

  auto rhsAxis = dyn_cast<UniformQuantizedPerAxisType>(rhs.getElementType());
  if (rhsAxis && rhsAxis.getQuantizedDimension() != numbers.getKernelOutputFeatureDimension())
    return report.error("rhs must be quantized along its output feature dimension ",
                        numbers.getKernelOutputFeatureDimension(), ", but is ", rhs);
  auto resultAxis = dyn_cast<UniformQuantizedPerAxisType>(result.getElementType());
  if (resultAxis && resultAxis.getQuantizedDimension() != numbers.getOutputFeatureDimension())
    return report.error("result must be quantized along its feature dimension ",
                        numbers.getOutputFeatureDimension(), ", but is ", result);
  return verifyQuantizedProduct(report, lhs.getElementType(), rhs.getElementType(),
                                result.getElementType());
}

LogicalResult ConvolutionOp::verify() { return verifyConvolution(*this); }

LogicalResult DynamicConvOp::verify() {
  RankedTensorType padding = tensor(getPadding());
  int64_t spatial = tensor(getLhs()).getRank() - 2;
  if (padding.getDimSize(0) != spatial || padding.getDimSize(1) != 2)
    return Reporter(*this).error("padding must have shape [", spatial,
                                 ", 2] (low and high per spatial dimension), but has ",
                                 toString(padding.getShape()));
  return verifyConvolution(*this);
}

} // namespace cupel::stablehlo
