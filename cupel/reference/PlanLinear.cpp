// Products, convolutions and what else linear algebra brings.

#include "cupel/reference/DotAndConvolution.h"
#include "cupel/reference/Registry.h"

#include "cupel/ir/stablehlo/Stablehlo.h"

namespace cupel::reference {

using namespace mlir;
using tensor::ElementType;
using tensor::Tensor;

namespace {

struct Types {
  ElementType lhs, rhs, result;
};

Result<Types> typesOf(Operation *op) {
  Result<ElementType> lhs = operandElement(op, 0), rhs = operandElement(op, 1),
                      result = resultElement(op);
  for (auto *type : {&lhs, &rhs, &result})
    if (!*type)
      return Error{type->message()};
  return Types{*lhs, *rhs, *result};
}

Status setOne(StepArguments &arguments, Result<Tensor> result) {
  if (!result)
    return Error{result.message()};
  arguments.set(0, std::move(*result));
  return {};
}

bool isQuantized(const Types &types) {
  return types.lhs.quantization || types.rhs.quantization || types.result.quantization;
}

StepFunction dotStep(Operation *op, const Types &types, DotDimensions dimensions) {
  if (isQuantized(types))
    return quantizedDotStep(std::move(dimensions), types.result);
  return [=, type = types.result.storage](Process &process, StepArguments &arguments) -> Status {
    return setOne(arguments, dotGeneral(arguments.tensor(0), arguments.tensor(1), dimensions, type,
                                        process.run.options.accumulate));
  };
}

Result<StepFunction> planDotGeneral(Operation *op, Planning &) {
  auto attr = cast<stablehlo::DotGeneralOp>(op).getDotDimensionNumbers();
  Result<Types> types = typesOf(op);
  if (!types)
    return Error{types.message()};
  return dotStep(op, *types,
                 {toVector(attr.getLhsBatchingDimensions()),
                  toVector(attr.getRhsBatchingDimensions()),
                  toVector(attr.getLhsContractingDimensions()),
                  toVector(attr.getRhsContractingDimensions())});
}

Result<StepFunction> planDot(Operation *op, Planning &) {
  Result<Types> types = typesOf(op);
  if (!types)
    return Error{types.message()};
  auto rank = [&](unsigned i) {
    return cast<RankedTensorType>(op->getOperand(i).getType()).getRank();
  };
  Result<DotDimensions> dimensions = dotDimensions(rank(0), rank(1));
  if (!dimensions)
    return Error{dimensions.message()};
  return dotStep(op, *types, std::move(*dimensions));
}

ConvolutionDimensions dimensionsOf(stablehlo::ConvDimensionNumbersAttr attr) {
  return {attr.getInputBatchDimension(),
          attr.getInputFeatureDimension(),
          toVector(attr.getInputSpatialDimensions()),
          attr.getKernelInputFeatureDimension(),
          attr.getKernelOutputFeatureDimension(),
          toVector(attr.getKernelSpatialDimensions()),
          attr.getOutputBatchDimension(),
          attr.getOutputFeatureDimension(),
          toVector(attr.getOutputSpatialDimensions())};
}

template <typename Op> ConvolutionWindow windowOf(Op op) {
  auto optional = [](std::optional<ArrayRef<int64_t>> values) {
    return values ? toVector(*values) : std::vector<int64_t>();
  };
  ConvolutionWindow window;
  window.strides = optional(op.getWindowStrides());
  window.lhsDilation = optional(op.getLhsDilation());
  window.rhsDilation = optional(op.getRhsDilation());
  if (std::optional<ArrayRef<bool>> reversal = op.getWindowReversal())
    window.reversal.assign(reversal->begin(), reversal->end());
  window.featureGroups = op.getFeatureGroupCount();
  window.batchGroups = op.getBatchGroupCount();
  return window;
}

Result<StepFunction> planConvolution(Operation *op, Planning &) {
  auto convolved = cast<stablehlo::ConvolutionOp>(op);
  Result<Types> types = typesOf(op);
  if (!types)
    return Error{types.message()};
  ConvolutionDimensions dimensions = dimensionsOf(convolved.getDimensionNumbers());
  ConvolutionWindow window = windowOf(convolved);
  if (std::optional<DenseIntElementsAttr> padding = convolved.getPadding()) {
    size_t i = 0;
    for (const APInt &value : padding->getValues<APInt>())
      (i++ % 2 ? window.paddingHigh : window.paddingLow).push_back(value.getSExtValue());
  }
  if (isQuantized(*types))
    return quantizedConvolutionStep(std::move(dimensions), std::move(window), types->result);
  return StepFunction([=, type = types->result.storage](Process &process,
                                                        StepArguments &arguments) -> Status {
    return setOne(arguments, convolution(arguments.tensor(0), arguments.tensor(1), dimensions,
                                         window, type, process.run.options.accumulate));
  });
}

Result<StepFunction> planDynamicConv(Operation *op, Planning &) {
  auto convolved = cast<stablehlo::DynamicConvOp>(op);
  Result<Types> types = typesOf(op);
  if (!types)
    return Error{types.message()};
  if (isQuantized(*types))
    return Error{"dynamic_conv is not evaluated on quantized tensors"};
  ConvolutionDimensions dimensions = dimensionsOf(convolved.getDimensionNumbers());
  ConvolutionWindow fixed = windowOf(convolved);
  return StepFunction([=, type = types->result.storage](Process &process,
                                                        StepArguments &arguments) -> Status {
    Result<ConvolutionWindow> window = withPadding(fixed, arguments.tensor(2));
    if (!window)
      return Error{window.message()};
    const Tensor &lhs = arguments.tensor(0), &rhs = arguments.tensor(1);
    Result<tensor::Shape> shape = convolutionShape(lhs.shape(), rhs.shape(), dimensions, *window);
    if (!shape)
      return Error{shape.message()};
    if (Status status = reserveFor(process, type, *shape); !status)
      return status;
    return setOne(arguments, convolution(lhs, rhs, dimensions, *window, type,
                                         process.run.options.accumulate));
  });
}

} // namespace

void registerLinear(Registry &registry) {
  registry.add("stablehlo.dot", planDot);
  registry.add("stablehlo.dot_general", planDotGeneral);
  registry.add("stablehlo.convolution", planConvolution);
  registry.add("stablehlo.dynamic_conv", planDynamicConv);
}

} // namespace cupel::reference
