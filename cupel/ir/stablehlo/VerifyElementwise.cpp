// Constants made of nothing (iota) and ops that work element by element.

#include "cupel/ir/stablehlo/Verify.h"

#include "mlir/Dialect/Quant/QuantTypes.h"

using namespace mlir;
using namespace cupel::stablehlo::verify;

namespace cupel::stablehlo {

//===----------------------------------------------------------------------===//
// Iota
//===----------------------------------------------------------------------===//

static LogicalResult verifyIotaDimension(Reporter report, int64_t dimension,
                                         RankedTensorType result) {
  if (result.getRank() == 0)
    return report.error("result must have a dimension to count along, but is ", result);
  return verifyInRange(report, "iota_dimension", dimension, result.getRank(), "the result");
}

LogicalResult IotaOp::verify() {
  return verifyIotaDimension(Reporter(*this), getIotaDimension(), tensor(getOutput()));
}

LogicalResult DynamicIotaOp::verify() {
  Reporter report(*this);
  RankedTensorType result = tensor(getResult());
  if (failed(verifyShapeOperand(report, getOutputShape(), "output_shape", result)))
    return failure();
  return verifyIotaDimension(report, getIotaDimension(), result);
}

//===----------------------------------------------------------------------===//
// Unary
//===----------------------------------------------------------------------===//

/// The operand's shape with the real type its complex elements are made of.
static RankedTensorType getRealType(RankedTensorType operand) {
  if (auto complex = dyn_cast<ComplexType>(operand.getElementType()))
    return withElementType(operand, complex.getElementType());
  return operand;
}

LogicalResult AbsOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                      SmallVectorImpl<Type> &results) {
  results.push_back(getRealType(tensor(adaptor.getOperand())));
  return success();
}

LogicalResult ImagOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                       SmallVectorImpl<Type> &results) {
  results.push_back(getRealType(tensor(adaptor.getOperand())));
  return success();
}

LogicalResult RealOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                       SmallVectorImpl<Type> &results) {
  results.push_back(getRealType(tensor(adaptor.getOperand())));
  return success();
}

LogicalResult IsFiniteOp::inferReturnTypes(MLIRContext *context, std::optional<Location>,
                                           Adaptor adaptor, SmallVectorImpl<Type> &results) {
  results.push_back(withElementType(tensor(adaptor.getX()), IntegerType::get(context, 1)));
  return success();
}

LogicalResult UniformDequantizeOp::inferReturnTypes(MLIRContext *, std::optional<Location>,
                                                    Adaptor adaptor,
                                                    SmallVectorImpl<Type> &results) {
  RankedTensorType operand = tensor(adaptor.getOperand());
  results.push_back(withElementType(operand, getRealElementType(operand.getElementType())));
  return success();
}

LogicalResult UniformQuantizeOp::verify() {
  Type operand = getRealElementType(tensor(getOperand()).getElementType());
  Type result = getRealElementType(tensor(getResult()).getElementType());
  if (operand != result)
    return Reporter(*this).error("operand and result must express the same float type, but got ",
                                 operand, " and ", result);
  return success();
}

//===----------------------------------------------------------------------===//
// Binary
//===----------------------------------------------------------------------===//

LogicalResult AddOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                      Adaptor adaptor, SmallVectorImpl<Type> &results) {
  Reporter report = Reporter::inferring<AddOp>(location);
  RankedTensorType lhs = tensor(adaptor.getLhs()), rhs = tensor(adaptor.getRhs());
  Type element =
      isQuantizedPerAxis(rhs.getElementType()) ? rhs.getElementType() : lhs.getElementType();
  std::optional<Type> merged =
      mostSpecific({withElementType(lhs, element), withElementType(rhs, element)});
  if (!merged)
    return report.error("operands must have compatible shapes, but got ", lhs, " and ", rhs);
  results.push_back(*merged);
  return success();
}

// Sums of quantized tensors may mix per-tensor and per-axis parameters.
LogicalResult AddOp::verify() {
  Reporter report(*this);
  Type lhs = tensor(getLhs()).getElementType(), rhs = tensor(getRhs()).getElementType();
  Type result = tensor(getResult()).getElementType();
  for (Type type : {rhs, result}) {
    if (isQuantized(lhs) ? !haveSameStorage(lhs, type) : lhs != type)
      return report.error("requires one element type for all operands and results (up to scales "
                          "and zero points), but got ",
                          lhs, " and ", type);
  }
  if ((isQuantizedPerAxis(lhs) || isQuantizedPerAxis(rhs)) != isQuantizedPerAxis(result))
    return report.error("result must be quantized per axis exactly if an operand is, but got ", lhs,
                        " and ", rhs, " giving ", result);
  for (Type type : {lhs, rhs}) {
    auto operandAxis = dyn_cast<quant::UniformQuantizedPerAxisType>(type);
    if (!operandAxis)
      continue;
    auto resultAxis = cast<quant::UniformQuantizedPerAxisType>(result);
    if (operandAxis.getQuantizedDimension() != resultAxis.getQuantizedDimension())
      return report.error("operands and result must be quantized along one dimension, but got ",
                          operandAxis.getQuantizedDimension(), " and ",
                          resultAxis.getQuantizedDimension());
  }
  return success();
}

LogicalResult ComplexOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                          Adaptor adaptor, SmallVectorImpl<Type> &results) {
  RankedTensorType lhs = tensor(adaptor.getLhs()), rhs = tensor(adaptor.getRhs());
  std::optional<Type> merged = mostSpecific({lhs, rhs});
  if (!merged)
    return Reporter::inferring<ComplexOp>(location).error(
        "real and imaginary part must have compatible types, but got ", lhs, " and ", rhs);
  results.push_back(withElementType(tensor(*merged), ComplexType::get(lhs.getElementType())));
  return success();
}

//===----------------------------------------------------------------------===//
// Compare
//===----------------------------------------------------------------------===//

LogicalResult CompareOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location,
                                          Adaptor adaptor, SmallVectorImpl<Type> &results) {
  RankedTensorType lhs = tensor(adaptor.getLhs()), rhs = tensor(adaptor.getRhs());
  Type pred = IntegerType::get(context, 1);
  std::optional<Type> merged =
      mostSpecific({withElementType(lhs, pred), withElementType(rhs, pred)});
  if (!merged)
    return Reporter::inferring<CompareOp>(location).error(
        "operands must have compatible shapes, but got ", lhs, " and ", rhs);
  results.push_back(*merged);
  return success();
}

// compare_type is free: programs in the field carry ones that do not fit their elements.
LogicalResult CompareOp::verify() {
  Reporter report(*this);
  Type lhs = tensor(getLhs()).getElementType(), rhs = tensor(getRhs()).getElementType();
  if (!areCompatibleElementTypes(lhs, rhs))
    return report.error("requires one element type for both operands, but got ", lhs, " and ", rhs);
  return success();
}

//===----------------------------------------------------------------------===//
// More than two operands
//===----------------------------------------------------------------------===//

LogicalResult ClampOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                        Adaptor adaptor, SmallVectorImpl<Type> &results) {
  Reporter report = Reporter::inferring<ClampOp>(location);
  RankedTensorType operand = tensor(adaptor.getOperand());
  auto verifyLimit = [&](StringRef name, RankedTensorType limit) -> LogicalResult {
    if (!areCompatibleElementTypes(limit.getElementType(), operand.getElementType()))
      return report.error(name, " must have the element type of the operand, but got ", limit,
                          " for ", operand);
    if (limit.getRank() != 0 && !areCompatibleShapes(limit, operand))
      return report.error(name, " must be a scalar or have the shape of the operand, but got ",
                          limit, " for ", operand);
    return success();
  };
  if (failed(verifyLimit("min", tensor(adaptor.getMin()))) ||
      failed(verifyLimit("max", tensor(adaptor.getMax()))))
    return failure();
  results.push_back(operand);
  return success();
}

LogicalResult SelectOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                         Adaptor adaptor, SmallVectorImpl<Type> &results) {
  Reporter report = Reporter::inferring<SelectOp>(location);
  RankedTensorType pred = tensor(adaptor.getPred());
  RankedTensorType onTrue = tensor(adaptor.getOnTrue()), onFalse = tensor(adaptor.getOnFalse());
  std::optional<Type> merged = mostSpecific({onTrue, onFalse});
  if (!merged)
    return report.error("on_true and on_false must have compatible types, but got ", onTrue,
                        " and ", onFalse);
  if (pred.getRank() != 0 && !areCompatibleShapes(pred, *merged))
    return report.error("pred must be a scalar or have the shape of on_true, but got ", pred,
                        " for ", *merged);
  results.push_back(*merged);
  return success();
}

LogicalResult MapOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                      Adaptor adaptor, SmallVectorImpl<Type> &results) {
  Reporter report = Reporter::inferring<MapOp>(location);
  ValueRange inputs = adaptor.getInputs();
  if (inputs.empty())
    return report.error("expects at least one input");
  FailureOr<Computation> computation =
      verify::getComputation(report, adaptor.getComputation(), "computation");
  if (failed(computation))
    return failure();

  Shape shape(tensor(inputs.front()));
  int64_t rank = shape.sizes.size();
  for (Value input : inputs) {
    if (tensor(input).getRank() != rank)
      return report.error("inputs must have compatible shapes, but got ", inputs.front().getType(),
                          " and ", input.getType());
    for (int64_t i = 0; i < rank; ++i) {
      std::optional<Dim> dim =
          merge(Dim{shape.sizes[i], shape.bounds[i]}, getDim(tensor(input), i));
      if (!dim)
        return report.error("inputs must have compatible shapes, but got ",
                            inputs.front().getType(), " and ", input.getType());
      shape.set(i, *dim);
    }
  }
  ArrayRef<int64_t> dimensions = adaptor.getDimensions();
  if (static_cast<int64_t>(dimensions.size()) != rank ||
      !llvm::equal(dimensions, llvm::seq<int64_t>(0, rank)))
    return report.error("dimensions must name every dimension of the inputs in order, but got ",
                        toString(dimensions), " for rank ", rank);

  auto &[arguments, returned] = *computation;
  if (arguments.size() != inputs.size())
    return report.error("region 'computation' must take one argument per input, but takes ",
                        arguments.size(), " for ", inputs.size(), " inputs");
  for (auto [index, argument, input] : llvm::enumerate(arguments, inputs))
    if (!isScalarOf(argument, tensor(input).getElementType()))
      return report.error("argument #", index,
                          " of region 'computation' must be a rank-0 tensor of ",
                          tensor(input).getElementType(), ", but is ", argument);
  auto scalar =
      returned.size() == 1 ? dyn_cast<RankedTensorType>(returned.front()) : RankedTensorType();
  if (!scalar || scalar.getRank() != 0)
    return report.error("region 'computation' must return one rank-0 tensor, but returns (",
                        TypeRange(returned), ")");
  results.push_back(shape.withElementType(scalar.getElementType()));
  return success();
}

} // namespace cupel::stablehlo
