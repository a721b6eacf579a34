// Ops that move elements without computing on them and whose result shapes follow from attributes;
// gather and scatter are in VerifyGatherScatter.cpp, slices and padding in VerifySlices.cpp.

#include "cupel/ir/stablehlo/Verify.h"

#include "mlir/Dialect/Quant/QuantTypes.h"
#include "llvm/Support/CheckedArithmetic.h"

using namespace mlir;
using namespace cupel::stablehlo::verify;
using mlir::quant::UniformQuantizedPerAxisType;

namespace cupel::stablehlo {

/// Element types of an op that may move the quantized dimension: equal, or quantized alike up to
/// scales, zero points and that dimension.
static LogicalResult verifyMovedElementType(Reporter report, RankedTensorType operand,
                                            RankedTensorType result) {
  Type from = operand.getElementType(), to = result.getElementType();
  bool same = isQuantized(from)
                  ? haveSameStorage(from, to) && isQuantizedPerAxis(from) == isQuantizedPerAxis(to)
                  : from == to;
  if (!same)
    return report.error("operand and result must have the same element type, but got ", from,
                        " and ", to);
  return success();
}

//===----------------------------------------------------------------------===//
// bitcast_convert
//===----------------------------------------------------------------------===//

LogicalResult BitcastConvertOp::verify() {
  Reporter report(*this);
  RankedTensorType operand = tensor(getOperand()), result = tensor(getResult());
  Type from = operand.getElementType(), to = result.getElementType();
  if (isa<ComplexType>(from) != isa<ComplexType>(to))
    return report.error("cannot convert between real and complex elements, but got ", from, " and ",
                        to);
  int64_t fromBits = getElementBits(from), toBits = getElementBits(to);
  if (fromBits == 0 || toBits == 0)
    return report.error("needs elements of a fixed width, but got ", from, " and ", to);

  // With different widths the wide type's element is a row of the narrow tensor's last dimension.
  RankedTensorType wide = fromBits < toBits ? result : operand;
  RankedTensorType narrow = fromBits < toBits ? operand : result;
  int64_t extra = fromBits == toBits ? 0 : 1;
  if (narrow.getRank() != wide.getRank() + extra)
    return report.error(
        extra ? "the tensor of narrower elements must have one dimension more, but got "
              : "elements of one width need tensors of one rank, but got ",
        operand, " and ", result);
  for (int64_t i = 0; i < wide.getRank(); ++i)
    if (!verify::areCompatible(getDim(operand, i), getDim(result, i)))
      return report.error("operand and result must agree in dimension ", i, ", but got ",
                          toString(getDim(operand, i)), " and ", toString(getDim(result, i)));
  if (extra == 0)
    return success();
  int64_t narrowBits = std::min(fromBits, toBits), wideBits = std::max(fromBits, toBits);
  Dim minor = getDim(narrow, narrow.getRank() - 1);
  if (wideBits % narrowBits != 0 ||
      !verify::areCompatible(minor, Dim{wideBits / narrowBits, ShapedType::kDynamic}))
    return report.error("the last dimension of ", narrow, " must make up one element of ", wideBits,
                        " bits, but has ", toString(minor), " elements of ", narrowBits, " bits");
  return success();
}

//===----------------------------------------------------------------------===//
// Broadcasts
//===----------------------------------------------------------------------===//

LogicalResult BroadcastOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                            Adaptor adaptor, SmallVectorImpl<Type> &results) {
  Shape shape;
  for (int64_t size : adaptor.getBroadcastSizes()) {
    if (size < 0)
      return Reporter::inferring<BroadcastOp>(location).error(
          "broadcast_sizes must not be negative, but got ", toString(adaptor.getBroadcastSizes()));
    shape.push(Dim{size, ShapedType::kDynamic});
  }
  RankedTensorType operand = tensor(adaptor.getOperand());
  for (int64_t i = 0; i < operand.getRank(); ++i)
    shape.push(getDim(operand, i));
  results.push_back(shape.withElementType(operand.getElementType()));
  return success();
}

static LogicalResult verifyBroadcast(Reporter report, RankedTensorType operand,
                                     RankedTensorType result, ArrayRef<int64_t> dims) {
  if (failed(verifyMovedElementType(report, operand, result)) ||
      failed(verifyOnePerDimension(report, "broadcast_dimensions", dims.size(), operand.getRank(),
                                   "the operand")) ||
      failed(verifyInRange(report, "broadcast_dimensions", dims, result.getRank(), "the result")) ||
      failed(verifyUnique(report, "broadcast_dimensions", dims)))
    return failure();
  for (auto [i, target] : llvm::enumerate(dims)) {
    Dim from = getDim(operand, i), to = getDim(result, target);
    if (from.size != 1 && !verify::areCompatible(from, to))
      return report.error("dimension ", i,
                          " of the operand must have size 1 or the size of "
                          "dimension ",
                          target, " of the result, but has ", toString(from), " for ",
                          toString(to));
  }
  if (auto from = dyn_cast<UniformQuantizedPerAxisType>(operand.getElementType())) {
    int64_t axis = from.getQuantizedDimension();
    int64_t resultAxis =
        cast<UniformQuantizedPerAxisType>(result.getElementType()).getQuantizedDimension();
    if (axis < 0 || axis >= operand.getRank() || dims[axis] != resultAxis)
      return report.error("the quantized dimension ", axis,
                          " of the operand must become the "
                          "quantized dimension of the result, but that is ",
                          resultAxis);
  }
  return success();
}

LogicalResult BroadcastInDimOp::verify() {
  return verifyBroadcast(Reporter(*this), tensor(getOperand()), tensor(getResult()),
                         getBroadcastDimensions());
}

LogicalResult DynamicBroadcastInDimOp::verify() {
  Reporter report(*this);
  RankedTensorType operand = tensor(getOperand()), result = tensor(getResult());
  if (failed(verifyShapeOperand(report, getOutputDimensions(), "output_dimensions", result)) ||
      failed(verifyBroadcast(report, operand, result, getBroadcastDimensions())))
    return failure();
  SmallVector<int64_t> hints;
  for (std::optional<ArrayRef<int64_t>> known :
       {getKnownExpandingDimensions(), getKnownNonexpandingDimensions()})
    if (known)
      llvm::append_range(hints, *known);
  constexpr StringLiteral kHints =
      "known_expanding_dimensions and known_nonexpanding_dimensions together";
  if (failed(verifyInRange(report, kHints, hints, operand.getRank(), "the operand")))
    return failure();
  return verifyUnique(report, kHints, hints);
}

//===----------------------------------------------------------------------===//
// concatenate
//===----------------------------------------------------------------------===//

/// The size of two parts together; none on overflow.
static std::optional<Dim> join(Dim a, Dim b) {
  std::optional<int64_t> limitA = a.limit(), limitB = b.limit();
  if (!limitA || !limitB)
    return Dim();
  std::optional<int64_t> sum = llvm::checkedAdd(*limitA, *limitB);
  if (!sum)
    return std::nullopt;
  if (a.isKnown() && b.isKnown())
    return Dim{*sum, ShapedType::kDynamic};
  return Dim{ShapedType::kDynamic, *sum};
}

LogicalResult ConcatenateOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                              Adaptor adaptor, SmallVectorImpl<Type> &results) {
  Reporter report = Reporter::inferring<ConcatenateOp>(location);
  ValueRange inputs = adaptor.getInputs();
  if (inputs.empty())
    return report.error("expects at least one input");
  RankedTensorType first = tensor(inputs.front());
  int64_t dimension = adaptor.getDimension(), rank = first.getRank();
  if (failed(verifyInRange(report, "dimension", dimension, rank, "the inputs")))
    return failure();
  Shape shape(first);
  for (Value input : inputs.drop_front()) {
    RankedTensorType type = tensor(input);
    if (type.getRank() != rank ||
        !areCompatibleElementTypes(type.getElementType(), first.getElementType()))
      return report.error("inputs must have one rank and element type, but got ", first, " and ",
                          type);
    for (int64_t i = 0; i < rank; ++i) {
      Dim sofar{shape.sizes[i], shape.bounds[i]};
      std::optional<Dim> dim =
          i == dimension ? join(sofar, getDim(type, i)) : merge(sofar, getDim(type, i));
      if (!dim && i == dimension)
        return report.error("the size of dimension ", i, " of the result does not fit in 64 bits");
      if (!dim)
        return report.error("inputs must agree in all dimensions but ", dimension,
                            ", but dimension ", i, " has ", toString(sofar), " and ",
                            toString(getDim(type, i)));
      shape.set(i, *dim);
    }
  }
  results.push_back(shape.withElementType(first.getElementType()));
  return success();
}

//===----------------------------------------------------------------------===//
// Reshapes
//===----------------------------------------------------------------------===//

static LogicalResult verifyReshape(Reporter report, RankedTensorType operand,
                                   RankedTensorType result) {
  if (failed(verifyMovedElementType(report, operand, result)))
    return failure();
  if (!operand.hasStaticShape() || !result.hasStaticShape())
    return success();
  std::optional<int64_t> from = countElements(operand.getShape());
  std::optional<int64_t> to = countElements(result.getShape());
  if (!from || !to)
    return report.error("element counts must fit in 64 bits, but got ", operand, " and ", result);
  if (*from != *to)
    return report.error("operand and result must have as many elements, but got ", *from, " and ",
                        *to);

  auto fromAxis = dyn_cast<UniformQuantizedPerAxisType>(operand.getElementType());
  if (!fromAxis)
    return success();
  auto toAxis = cast<UniformQuantizedPerAxisType>(result.getElementType());
  int64_t fromDim = fromAxis.getQuantizedDimension(), toDim = toAxis.getQuantizedDimension();
  if (fromDim < 0 || fromDim >= operand.getRank() || toDim < 0 || toDim >= result.getRank())
    return report.error("the quantized dimension must exist, but got ", operand, " and ", result);
  ArrayRef<int64_t> fromShape = operand.getShape(), toShape = result.getShape();
  if (fromShape[fromDim] != toShape[toDim] ||
      countElements(fromShape.take_front(fromDim)) != countElements(toShape.take_front(toDim)) ||
      countElements(fromShape.drop_front(fromDim + 1)) !=
          countElements(toShape.drop_front(toDim + 1)))
    return report.error("as many elements must lie before, at and after the quantized dimension of "
                        "operand and result, but got ",
                        operand, " and ", result);
  return success();
}

LogicalResult ReshapeOp::verify() {
  return verifyReshape(Reporter(*this), tensor(getOperand()), tensor(getResult()));
}

LogicalResult DynamicReshapeOp::verify() {
  Reporter report(*this);
  RankedTensorType result = tensor(getResult());
  if (failed(verifyShapeOperand(report, getOutputShape(), "output_shape", result)))
    return failure();
  return verifyReshape(report, tensor(getOperand()), result);
}

//===----------------------------------------------------------------------===//
// Orders of dimensions and of elements
//===----------------------------------------------------------------------===//

LogicalResult ReverseOp::verify() {
  Reporter report(*this);
  if (failed(verifyInRange(report, "dimensions", getDimensions(), tensor(getOperand()).getRank(),
                           "the operand")))
    return failure();
  return verifyUnique(report, "dimensions", getDimensions());
}

LogicalResult TransposeOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                            Adaptor adaptor, SmallVectorImpl<Type> &results) {
  RankedTensorType operand = tensor(adaptor.getOperand());
  ArrayRef<int64_t> permutation = adaptor.getPermutation();
  SmallVector<int64_t> sorted(permutation);
  llvm::sort(sorted);
  if (static_cast<int64_t>(permutation.size()) != operand.getRank() ||
      !llvm::equal(sorted, llvm::seq<int64_t>(0, operand.getRank())))
    return Reporter::inferring<TransposeOp>(location).error(
        "permutation must name every dimension of the operand exactly once, but got ",
        toString(permutation), " for rank ", operand.getRank());
  Shape shape;
  for (int64_t dim : permutation)
    shape.push(getDim(operand, dim));

  Type element = operand.getElementType();
  if (auto axis = dyn_cast<UniformQuantizedPerAxisType>(element)) {
    const auto *moved = llvm::find(permutation, axis.getQuantizedDimension());
    if (moved == permutation.end())
      return Reporter::inferring<TransposeOp>(location).error(
          "the quantized dimension must exist, but got ", operand);
    element = UniformQuantizedPerAxisType::get(axis.getFlags(), axis.getStorageType(),
                                               axis.getExpressedType(), axis.getScales(),
                                               axis.getZeroPoints(), moved - permutation.begin(),
                                               axis.getStorageTypeMin(), axis.getStorageTypeMax());
  }
  results.push_back(shape.withElementType(element));
  return success();
}

LogicalResult SortOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                       SmallVectorImpl<Type> &results) {
  llvm::append_range(results, adaptor.getInputs().getTypes());
  return success();
}

LogicalResult SortOp::verify() {
  Reporter report(*this);
  OperandRange inputs = getInputs();
  if (inputs.empty())
    return report.error("expects at least one input");
  if (getNumResults() != inputs.size())
    return report.error("requires as many results as inputs, but got ", getNumResults(), " for ",
                        inputs.size());
  int64_t dimension = static_cast<int64_t>(getDimension()), rank = tensor(inputs[0]).getRank();
  if (dimension < -rank || dimension >= rank)
    return report.error("dimension must be in [-", rank, ", ", rank, "), but is ", dimension);
  for (Value input : inputs)
    if (!areCompatibleShapes(input.getType(), inputs[0].getType()))
      return report.error("inputs must have compatible shapes, but got ", inputs[0].getType(),
                          " and ", input.getType());

  FailureOr<Computation> comparator = getComputation(report, getComparator(), "comparator");
  if (failed(comparator))
    return failure();
  auto &[arguments, returned] = *comparator;
  if (arguments.size() != 2 * inputs.size())
    return report.error("region 'comparator' must take two arguments per input, but takes ",
                        arguments.size(), " for ", inputs.size(), " inputs");
  for (auto [index, argument] : llvm::enumerate(arguments)) {
    Type element = tensor(inputs[index / 2]).getElementType();
    if (!isScalarOf(argument, element))
      return report.error("argument #", index,
                          " of region 'comparator' must be a rank-0 tensor of ", element,
                          ", but is ", argument);
  }
  if (returned.size() != 1 || !isScalarPred(returned.front()))
    return report.error("region 'comparator' must return one tensor<i1>, but returns (",
                        TypeRange(returned), ")");
  return success();
}

//===----------------------------------------------------------------------===//
// Sizes at run time
//===----------------------------------------------------------------------===//

LogicalResult GetDimensionSizeOp::inferReturnTypes(MLIRContext *context,
                                                   std::optional<Location> location,
                                                   Adaptor adaptor,
                                                   SmallVectorImpl<Type> &results) {
  if (failed(verifyInRange(Reporter::inferring<GetDimensionSizeOp>(location), "dimension",
                           static_cast<int64_t>(adaptor.getDimension()),
                           tensor(adaptor.getOperand()).getRank(), "the operand")))
    return failure();
  results.push_back(RankedTensorType::get({}, IntegerType::get(context, 32)));
  return success();
}

LogicalResult SetDimensionSizeOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                                   Adaptor adaptor,
                                                   SmallVectorImpl<Type> &results) {
  RankedTensorType operand = tensor(adaptor.getOperand());
  int64_t dimension = adaptor.getDimension();
  if (failed(verifyInRange(Reporter::inferring<SetDimensionSizeOp>(location), "dimension",
                           dimension, operand.getRank(), "the operand")))
    return failure();
  // The old size is the bound of the new one.
  Shape shape(operand);
  std::optional<int64_t> limit = getDim(operand, dimension).limit();
  shape.set(dimension, Dim{ShapedType::kDynamic, limit.value_or(ShapedType::kDynamic)});
  results.push_back(shape.withElementType(operand.getElementType()));
  return success();
}

} // namespace cupel::stablehlo
