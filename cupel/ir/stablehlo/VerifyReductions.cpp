// reduce, reduce_window and select_and_scatter.

#include "cupel/ir/stablehlo/VerifyWindows.h"

using namespace mlir;
using namespace cupel::stablehlo::verify;

namespace cupel::stablehlo {

/// N inputs of one shape with N values to start from.
static LogicalResult verifyInputsAndInits(Reporter report, ValueRange inputs, ValueRange inits,
                                          size_t operandCount) {
  if (inputs.empty() || inputs.size() != inits.size() || operandCount != 2 * inputs.size())
    return report.error("expects N inputs and N init_values with N > 0, but got ", operandCount,
                        " operands");
  for (Value input : inputs)
    if (!areCompatibleShapes(inputs.front().getType(), input.getType()))
      return report.error("inputs must have compatible shapes, but got ", inputs.front().getType(),
                          " and ", input.getType());
  return success();
}

/// The shape that all inputs are compatible with and that tells most.
static FailureOr<RankedTensorType> mergeShapes(Reporter report, ValueRange inputs) {
  if (inputs.empty())
    return report.error("expects at least one input");
  Type element = tensor(inputs.front()).getElementType();
  SmallVector<Type> types;
  for (Value input : inputs)
    types.push_back(withElementType(tensor(input), element));
  std::optional<Type> merged = mostSpecific(types);
  if (!merged)
    return report.error("inputs must have compatible shapes, but got ", inputs.getTypes());
  return tensor(*merged);
}

/// One result per input, of `shape` and the element type the region computes on.
static void inferReduced(Region &region, ValueRange inputs, const Shape &shape,
                         SmallVectorImpl<Type> &results) {
  for (auto [index, input] : llvm::enumerate(inputs))
    results.push_back(shape.withElementType(
        getReducedElementType(region, index, tensor(input).getElementType())));
}

static LogicalResult verifyResultCount(Reporter report, size_t resultCount, size_t inputCount) {
  if (resultCount != inputCount)
    return report.error("requires as many results as inputs, but got ", resultCount, " for ",
                        inputCount);
  return success();
}

//===----------------------------------------------------------------------===//
// reduce
//===----------------------------------------------------------------------===//

LogicalResult ReduceOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                         Adaptor adaptor, SmallVectorImpl<Type> &results) {
  Reporter report = Reporter::inferring<ReduceOp>(location);
  FailureOr<RankedTensorType> input = mergeShapes(report, adaptor.getInputs());
  if (failed(input))
    return failure();
  ArrayRef<int64_t> dims = adaptor.getDimensions();
  if (failed(verifyInRange(report, "dimensions", dims, input->getRank(), "the inputs")) ||
      failed(verifyUnique(report, "dimensions", dims)))
    return failure();
  Shape shape;
  for (int64_t i = 0; i < input->getRank(); ++i)
    if (!llvm::is_contained(dims, i))
      shape.push(getDim(*input, i));
  inferReduced(adaptor.getBody(), adaptor.getInputs(), shape, results);
  return success();
}

LogicalResult ReduceOp::verify() {
  Reporter report(*this);
  if (failed(verifyInputsAndInits(report, getInputs(), getInitValues(), getNumOperands())) ||
      failed(verifyResultCount(report, getNumResults(), getInputs().size())))
    return failure();
  ArrayRef<int64_t> kept = tensor(getResult(0)).getShape();
  return verifyReducer(report, getBody(), "body", getInputs().getTypes(),
                       getInitValues().getTypes(), kept);
}

//===----------------------------------------------------------------------===//
// reduce_window
//===----------------------------------------------------------------------===//

LogicalResult ReduceWindowOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                               Adaptor adaptor, SmallVectorImpl<Type> &results) {
  Reporter report = Reporter::inferring<ReduceWindowOp>(location);
  FailureOr<RankedTensorType> input = mergeShapes(report, adaptor.getInputs());
  if (failed(input))
    return failure();
  ArrayRef<int64_t> sizes = adaptor.getWindowDimensions();
  if (failed(verifyOnePerDimension(report, "window_dimensions", sizes.size(), input->getRank(),
                                   "the inputs")))
    return failure();
  FailureOr<SmallVector<Window>> windows =
      getWindows(report, sizes,
                 {adaptor.getWindowStrides(), adaptor.getBaseDilations(),
                  adaptor.getWindowDilations(), adaptor.getPadding()});
  if (failed(windows))
    return failure();
  FailureOr<Shape> shape = slide(report, *input, *windows);
  if (failed(shape))
    return failure();
  inferReduced(adaptor.getBody(), adaptor.getInputs(), *shape, results);
  return success();
}

LogicalResult ReduceWindowOp::verify() {
  Reporter report(*this);
  if (failed(verifyInputsAndInits(report, getInputs(), getInitValues(), getNumOperands())) ||
      failed(verifyResultCount(report, getNumResults(), getInputs().size())))
    return failure();
  return verifyReducer(report, getBody(), "body", getInputs().getTypes(),
                       getInitValues().getTypes(), getWindowDimensions());
}

//===----------------------------------------------------------------------===//
// select_and_scatter
//===----------------------------------------------------------------------===//

LogicalResult SelectAndScatterOp::inferReturnTypes(MLIRContext *, std::optional<Location>,
                                                   Adaptor adaptor,
                                                   SmallVectorImpl<Type> &results) {
  RankedTensorType operand = tensor(adaptor.getOperand());
  results.push_back(withElementType(
      operand, getReducedElementType(adaptor.getScatter(), 0, operand.getElementType())));
  return success();
}

LogicalResult SelectAndScatterOp::verify() {
  Reporter report(*this);
  RankedTensorType operand = tensor(getOperand()), source = tensor(getSource());
  Type element = operand.getElementType();
  if (tensor(getInitValue()).getRank() != 0)
    return report.error("init_value must have rank 0, but got ", getInitValue().getType());
  if (!areCompatibleElementTypes(element, source.getElementType()))
    return report.error("operand and source must have one element type, but got ", element, " and ",
                        source.getElementType());

  FailureOr<Computation> select = getComputation(report, getSelect(), "select");
  if (failed(select))
    return failure();
  if (select->arguments.size() != 2)
    return report.error("region 'select' must take 2 arguments, but takes ",
                        select->arguments.size());
  for (auto [index, argument] : llvm::enumerate(select->arguments))
    if (!isScalarOf(argument, element))
      return report.error("argument #", index, " of region 'select' must be a rank-0 tensor of ",
                          element, ", but is ", argument);
  if (select->results.size() != 1 || !isScalarPred(select->results.front()))
    return report.error("region 'select' must return one tensor<i1>, but returns (",
                        TypeRange(select->results), ")");
  if (failed(verifyReducer(report, getScatter(), "scatter", operand, getInitValue().getType())))
    return failure();

  ArrayRef<int64_t> sizes = getWindowDimensions().value_or(ArrayRef<int64_t>());
  if (failed(verifyOnePerDimension(report, "window_dimensions", sizes.size(), operand.getRank(),
                                   "the operand")))
    return failure();
  FailureOr<SmallVector<Window>> windows =
      getWindows(report, sizes, {getWindowStrides(), std::nullopt, std::nullopt, getPadding()});
  if (failed(windows))
    return failure();
  FailureOr<Shape> shape = slide(report, operand, *windows);
  if (failed(shape))
    return failure();
  RankedTensorType expected = shape->withElementType(source.getElementType());
  if (!areCompatibleShapes(expected, source))
    return report.error("source must have one element per window, ", expected, ", but is ", source);
  return success();
}

} // namespace cupel::stablehlo
