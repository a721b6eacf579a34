// Products, convolutions and what else linear algebra brings.

#include "cupel/reference/BatchNorm.h"
#include "cupel/reference/DataMovement.h"
#include "cupel/reference/DotAndConvolution.h"
#include "cupel/reference/Elementwise.h"
#include "cupel/reference/Fft.h"
#include "cupel/reference/Grid.h"
#include "cupel/reference/LinearAlgebra.h"
#include "cupel/reference/Quantized.h"
#include "cupel/reference/Random.h"
#include "cupel/reference/Reductions.h"
#include "cupel/reference/Registry.h"
#include "cupel/reference/RoundingFacts.h"

#include "cupel/ir/stablehlo/Stablehlo.h"

#include "llvm/ADT/StringExtras.h"

#include <set>

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
      return type->error();
  return Types{*lhs, *rhs, *result};
}

Status setOne(StepArguments &arguments, Result<Tensor> result) {
  if (!result)
    return result.error();
  arguments.set(0, std::move(*result));
  return {};
}

bool isQuantized(const Types &types) {
  return types.lhs.quantization || types.rhs.quantization || types.result.quantization;
}

StepFunction dotStep(Operation *op, const Types &types, DotDimensions dimensions) {
  if (isQuantized(types))
    return [=, type = types.result](GridProcess &process, StepArguments &arguments) -> Status {
      return setOne(arguments,
                    quantizedDotGeneral(arguments.tensor(0), arguments.tensor(1), dimensions, type,
                                        process.run.options.accumulate));
    };
  return [=, type = types.result.storage,
          isLong = stagnates(*op)](GridProcess &process, StepArguments &arguments) -> Status {
    return setOne(arguments, dotGeneral(arguments.tensor(0), arguments.tensor(1), dimensions, type,
                                        isLong ? Accumulate::Wide
                                               : process.run.options.accumulate));
  };
}

Result<StepFunction> planDotGeneral(Operation *op, Planning &) {
  auto attr = cast<stablehlo::DotGeneralOp>(op).getDotDimensionNumbers();
  Result<Types> types = typesOf(op);
  if (!types)
    return types.error();
  return dotStep(
      op, *types,
      {toVector(attr.getLhsBatchingDimensions()), toVector(attr.getRhsBatchingDimensions()),
       toVector(attr.getLhsContractingDimensions()), toVector(attr.getRhsContractingDimensions())});
}

Result<StepFunction> planDot(Operation *op, Planning &) {
  Result<Types> types = typesOf(op);
  if (!types)
    return types.error();
  auto rank = [&](unsigned i) {
    return cast<RankedTensorType>(op->getOperand(i).getType()).getRank();
  };
  Result<DotDimensions> dimensions = dotDimensions(rank(0), rank(1));
  if (!dimensions)
    return dimensions.error();
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
    return types.error();
  ConvolutionDimensions dimensions = dimensionsOf(convolved.getDimensionNumbers());
  ConvolutionWindow window = windowOf(convolved);
  if (std::optional<DenseIntElementsAttr> padding = convolved.getPadding()) {
    size_t i = 0;
    for (const APInt &value : padding->getValues<APInt>())
      (i++ % 2 ? window.paddingHigh : window.paddingLow).push_back(value.getSExtValue());
  }
  if (isQuantized(*types))
    return StepFunction(
        [=, type = types->result](GridProcess &process, StepArguments &arguments) -> Status {
          return setOne(arguments,
                        quantizedConvolution(arguments.tensor(0), arguments.tensor(1), dimensions,
                                             window, type, process.run.options.accumulate));
        });
  return StepFunction([=, type = types->result.storage, isLong = stagnates(*op)](
                          GridProcess &process, StepArguments &arguments) -> Status {
    return setOne(arguments, convolution(arguments.tensor(0), arguments.tensor(1), dimensions,
                                         window, type,
                                         isLong ? Accumulate::Wide
                                                : process.run.options.accumulate));
  });
}

Result<StepFunction> planDynamicConv(Operation *op, Planning &) {
  auto convolved = cast<stablehlo::DynamicConvOp>(op);
  Result<Types> types = typesOf(op);
  if (!types)
    return types.error();
  ConvolutionDimensions dimensions = dimensionsOf(convolved.getDimensionNumbers());
  ConvolutionWindow fixed = windowOf(convolved);
  return StepFunction([=, quantized = isQuantized(*types), element = types->result](
                          GridProcess &process, StepArguments &arguments) -> Status {
    tensor::DType type = element.storage;
    Result<ConvolutionWindow> window = withPadding(fixed, arguments.tensor(2));
    if (!window)
      return window.error();
    const Tensor &lhs = arguments.tensor(0), &rhs = arguments.tensor(1);
    Result<tensor::Shape> shape = convolutionShape(lhs.shape(), rhs.shape(), dimensions, *window);
    if (!shape)
      return shape.error();
    if (Status status = reserveFor(process, type, *shape); !status)
      return status;
    if (quantized)
      return setOne(arguments, quantizedConvolution(lhs, rhs, dimensions, *window, element,
                                                    process.run.options.accumulate));
    return setOne(arguments,
                  convolution(lhs, rhs, dimensions, *window, type, process.run.options.accumulate));
  });
}

/// The letters of an einsum: one label a dimension, operands separated by commas.
struct Einsum {
  std::vector<std::string> operands;
  std::string result;
};

Result<Einsum> parseEinsum(StringRef config, size_t operands) {
  auto refuse = [&](const std::string &why) {
    return Error{"einsum \"" + config.str() + "\" has no meaning: " + why};
  };
  auto [inputs, output] = config.split("->");
  Einsum result;
  llvm::SmallVector<StringRef> parts;
  inputs.split(parts, ',');
  for (StringRef part : parts)
    result.operands.push_back(part.trim().str());
  result.result = output.trim().str();
  if (!config.contains("->"))
    return refuse("there is no -> before the letters of the result");
  if (result.operands.size() != operands)
    return refuse("it names " + std::to_string(result.operands.size()) + " operands of " +
                  std::to_string(operands));
  std::string all;
  for (const std::string &labels : result.operands)
    all += labels;
  for (char label : all + result.result)
    if (!llvm::isAlpha(label))
      return refuse(std::string("dimensions are named by letters, not by '") + label + "'");
  for (char label : result.result) {
    if (all.find(label) == std::string::npos)
      return refuse(std::string("no operand has the letter ") + label + " of the result");
    if (llvm::count(result.result, label) > 1)
      return refuse(std::string("the result has the letter ") + label + " twice");
  }
  return result;
}

/// A letter that an operand has twice stands for its diagonal, which has it once.
Result<Tensor> diagonals(Tensor tensor, std::string &labels) {
  for (size_t i = 0; i < labels.size(); ++i)
    for (size_t j; (j = labels.find(labels[i], i + 1)) != std::string::npos;) {
      auto size = tensor.dim(static_cast<int64_t>(i));
      if (tensor.dim(static_cast<int64_t>(j)) != size)
        return Error{std::string("dimensions of sizes ") + std::to_string(size) + " and " +
                     std::to_string(tensor.dim(static_cast<int64_t>(j))) +
                     " have the same letter " + labels[i]};
      // Both to the front; then every (size + 1)-th element of them as one.
      std::vector<int64_t> order = {static_cast<int64_t>(i), static_cast<int64_t>(j)};
      std::string left(1, labels[i]);
      tensor::Shape flat = {size * size};
      for (size_t k = 0; k < labels.size(); ++k)
        if (k != i && k != j) {
          order.push_back(static_cast<int64_t>(k));
          left += labels[k];
          flat.push_back(tensor.dim(static_cast<int64_t>(k)));
        }
      Result<Tensor> front = transpose(tensor, order);
      if (!front)
        return front;
      Tensor row = front->reshaped(flat);
      std::vector<int64_t> start(flat.size(), 0), stride(flat.size(), 1);
      stride[0] = size + 1;
      Result<Tensor> diagonal = slice(row, start, flat, stride);
      if (!diagonal)
        return diagonal;
      tensor = std::move(*diagonal);
      labels = std::move(left);
      i = 0;
    }
  return tensor;
}

/// Sums over the dimensions whose labels are not in `kept`, which go from `labels` too.
Result<Tensor> sumOver(GridProcess &process, const Tensor &tensor, std::string &labels,
                       const std::string &kept) {
  std::vector<int64_t> dimensions;
  std::string left;
  for (size_t i = 0; i < labels.size(); ++i)
    if (kept.find(labels[i]) == std::string::npos)
      dimensions.push_back(static_cast<int64_t>(i));
    else
      left += labels[i];
  labels = left;
  if (dimensions.empty())
    return tensor;
  class Sum : public ElementFunction {
  public:
    explicit Sum(const ElementwiseOp &add, ElementType type) : add(add), types{type, type} {}
    std::span<const ElementType> argumentTypes() const override { return types; }
    std::span<const ElementType> resultTypes() const override { return std::span(types, 1); }
    std::optional<KnownFunction> known() const override { return KnownFunction::Add; }
    Status run(std::span<const void *const> in, std::span<void *const> out,
               int64_t lanes) const override {
      LoopArguments arguments;
      arguments.in[0] = in[0];
      arguments.in[1] = in[1];
      arguments.out = out[0];
      arguments.lanes = lanes;
      add.loop.run(arguments);
      return {};
    }

  private:
    const ElementwiseOp &add;
    ElementType types[2];
  };
  Result<ElementwiseOp> add = findElementwise(ElementOp::Add, tensor.dtype(), tensor.dtype());
  Result<Tensor> zero = Tensor::zeros(tensor.elementType(), {});
  if (!add || !zero)
    return !add ? add.error() : zero.error();
  Result<std::vector<Tensor>> sums =
      reduce(std::span(&tensor, 1), std::span(&*zero, 1), dimensions,
             Sum(*add, tensor.elementType()), process.run.options.accumulate);
  if (!sums)
    return sums.error();
  return std::move((*sums)[0]);
}

Result<Tensor> toOrder(const Tensor &tensor, const std::string &labels, const std::string &wanted) {
  std::vector<int64_t> permutation;
  for (char label : wanted)
    permutation.push_back(static_cast<int64_t>(labels.find(label)));
  return transpose(tensor, permutation);
}

Result<StepFunction> planEinsum(Operation *op, Planning &) {
  Result<Einsum> einsum = parseEinsum(cast<stablehlo::EinsumOp>(op).getEinsumConfig(), 2);
  Result<Types> types = typesOf(op);
  if (!einsum || !types)
    return !einsum ? einsum.error() : types.error();
  const ElementType &result = types->result;
  tensor::DType type = result.quantization ? result.quantization->expressed : result.storage;
  return StepFunction(
      [einsum = *einsum, type](GridProcess &process, StepArguments &arguments) -> Status {
        Tensor sides[2];
        std::string labels[2];
        for (int i = 0; i < 2; ++i) {
          labels[i] = einsum.operands[i];
          if (static_cast<int64_t>(labels[i].size()) != arguments.tensor(i).rank())
            return Error{"the einsum has another number of letters than its operand dimensions"};
          Result<Tensor> side = diagonals(arguments.tensor(i), labels[i]);
          if (side)
            side = sumOver(process, *side, labels[i], einsum.operands[1 - i] + einsum.result);
          if (!side)
            return side.error();
          sides[i] = std::move(*side);
        }
        DotDimensions dimensions;
        std::string batch, lhsRest, rhsRest;
        for (size_t i = 0; i < labels[0].size(); ++i) {
          size_t other = labels[1].find(labels[0][i]);
          if (other == std::string::npos) {
            lhsRest += labels[0][i];
          } else if (einsum.result.find(labels[0][i]) == std::string::npos) {
            dimensions.lhsContracting.push_back(static_cast<int64_t>(i));
            dimensions.rhsContracting.push_back(static_cast<int64_t>(other));
          } else {
            dimensions.lhsBatching.push_back(static_cast<int64_t>(i));
            dimensions.rhsBatching.push_back(static_cast<int64_t>(other));
            batch += labels[0][i];
          }
        }
        for (char label : labels[1])
          if (labels[0].find(label) == std::string::npos)
            rhsRest += label;
        Result<Tensor> product =
            dotGeneral(sides[0], sides[1], dimensions, type, process.run.options.accumulate);
        if (!product)
          return product.error();
        return setOne(arguments, toOrder(*product, batch + lhsRest + rhsRest, einsum.result));
      });
}

Result<StepFunction> planUnaryEinsum(Operation *op, Planning &) {
  Result<Einsum> einsum = parseEinsum(cast<stablehlo::UnaryEinsumOp>(op).getEinsumConfig(), 1);
  if (!einsum)
    return einsum.error();
  return StepFunction([einsum = *einsum](GridProcess &process, StepArguments &arguments) -> Status {
    std::string labels = einsum.operands[0];
    if (static_cast<int64_t>(labels.size()) != arguments.tensor(0).rank())
      return Error{"the einsum has another number of letters than its operand dimensions"};
    Result<Tensor> sum = diagonals(arguments.tensor(0), labels);
    if (sum)
      sum = sumOver(process, *sum, labels, einsum.result);
    if (!sum)
      return sum.error();
    return setOne(arguments, toOrder(*sum, labels, einsum.result));
  });
}

Result<StepFunction> planCholesky(Operation *op, Planning &) {
  bool lower = cast<stablehlo::CholeskyOp>(op).getLower();
  return StepFunction([lower](GridProcess &, StepArguments &arguments) -> Status {
    return setOne(arguments, cholesky(arguments.tensor(0), lower));
  });
}

Result<StepFunction> planTriangularSolve(Operation *op, Planning &) {
  auto solve = cast<stablehlo::TriangularSolveOp>(op);
  TriangularSolveOptions options;
  options.leftSide = solve.getLeftSide();
  options.lower = solve.getLower();
  options.unitDiagonal = solve.getUnitDiagonal();
  switch (solve.getTransposeA()) {
  case stablehlo::Transpose::NO_TRANSPOSE:
    options.transpose = Transpose::None;
    break;
  case stablehlo::Transpose::TRANSPOSE:
    options.transpose = Transpose::Transpose;
    break;
  case stablehlo::Transpose::ADJOINT:
    options.transpose = Transpose::Adjoint;
    break;
  case stablehlo::Transpose::TRANSPOSE_INVALID:
    return Error{"transpose_a = TRANSPOSE_INVALID has no meaning"};
  }
  return StepFunction([options](GridProcess &, StepArguments &arguments) -> Status {
    return setOne(arguments, triangularSolve(arguments.tensor(0), arguments.tensor(1), options));
  });
}

Result<StepFunction> planFft(Operation *op, Planning &) {
  auto transform = cast<stablehlo::FftOp>(op);
  FftType type = transform.getFftType() == stablehlo::FftType::FFT    ? FftType::Fft
                 : transform.getFftType() == stablehlo::FftType::IFFT ? FftType::Ifft
                 : transform.getFftType() == stablehlo::FftType::RFFT ? FftType::Rfft
                                                                      : FftType::Irfft;
  std::vector<int64_t> lengths = toVector(transform.getFftLength());
  return StepFunction([=](GridProcess &process, StepArguments &arguments) -> Status {
    return setOne(arguments,
                  fft(arguments.tensor(0), type, lengths, process.run.options.accumulate));
  });
}

Result<StepFunction> planRngBitGenerator(Operation *op, Planning &) {
  auto generator = cast<stablehlo::RngBitGeneratorOp>(op);
  RngAlgorithm algorithm =
      generator.getRngAlgorithm() == stablehlo::RngAlgorithm::THREE_FRY ? RngAlgorithm::ThreeFry
      : generator.getRngAlgorithm() == stablehlo::RngAlgorithm::PHILOX  ? RngAlgorithm::Philox
                                                                        : RngAlgorithm::Default;
  Result<ElementType> type = resultElement(op, 1);
  if (!type)
    return type.error();
  tensor::Shape shape = shapeOf(op->getResult(1).getType());
  return StepFunction([=, type = type->storage](GridProcess &, StepArguments &arguments) -> Status {
    Result<RandomBits> bits = rngBitGenerator(arguments.tensor(0), algorithm, type, shape);
    if (!bits)
      return bits.error();
    arguments.set(0, std::move(bits->state));
    arguments.set(1, std::move(bits->bits));
    return {};
  });
}

Result<StepFunction> planRng(Operation *op, Planning &) {
  auto rng = cast<stablehlo::RngOp>(op);
  bool normal = rng.getRngDistribution() == stablehlo::RngDistribution::NORMAL;
  return StepFunction([=](GridProcess &process, StepArguments &arguments) -> Status {
    Result<std::vector<int64_t>> shape = integersOf(arguments.tensor(2));
    if (!shape)
      return shape.error();
    if (Status status = reserveFor(process, arguments.tensor(0).dtype(), *shape); !status)
      return status;
    // Each process draws a sequence of its own.
    RandomSource source{process.run.options.seed,
                        (static_cast<uint64_t>(process.grid->id(process)) << 32) +
                            process.randomCount++};
    return setOne(arguments, (normal ? rngNormal : rngUniform)(
                                 arguments.tensor(0), arguments.tensor(1), *shape, source));
  });
}

Result<StepFunction> planBatchNormTraining(Operation *op, Planning &) {
  auto norm = cast<stablehlo::BatchNormTrainingOp>(op);
  double epsilon = norm.getEpsilon().convertToDouble();
  int64_t feature = norm.getFeatureIndex();
  return StepFunction([=](GridProcess &, StepArguments &arguments) -> Status {
    Result<BatchNormTraining> result = batchNormTraining(arguments.tensor(0), arguments.tensor(1),
                                                         arguments.tensor(2), epsilon, feature);
    if (!result)
      return result.error();
    arguments.set(0, std::move(result->output));
    arguments.set(1, std::move(result->mean));
    arguments.set(2, std::move(result->variance));
    return {};
  });
}

Result<StepFunction> planBatchNormInference(Operation *op, Planning &) {
  auto norm = cast<stablehlo::BatchNormInferenceOp>(op);
  double epsilon = norm.getEpsilon().convertToDouble();
  int64_t feature = norm.getFeatureIndex();
  return StepFunction([=](GridProcess &, StepArguments &arguments) -> Status {
    return setOne(arguments,
                  batchNormInference(arguments.tensor(0), arguments.tensor(1), arguments.tensor(2),
                                     arguments.tensor(3), arguments.tensor(4), epsilon, feature));
  });
}

Result<StepFunction> planBatchNormGrad(Operation *op, Planning &) {
  auto norm = cast<stablehlo::BatchNormGradOp>(op);
  double epsilon = norm.getEpsilon().convertToDouble();
  int64_t feature = norm.getFeatureIndex();
  return StepFunction([=](GridProcess &, StepArguments &arguments) -> Status {
    Result<BatchNormGrad> result =
        batchNormGrad(arguments.tensor(0), arguments.tensor(1), arguments.tensor(2),
                      arguments.tensor(3), arguments.tensor(4), epsilon, feature);
    if (!result)
      return result.error();
    arguments.set(0, std::move(result->operand));
    arguments.set(1, std::move(result->scale));
    arguments.set(2, std::move(result->offset));
    return {};
  });
}

/// The specification's dequantize_op_quantize, where types are quantized.
template <Planner planner> Result<StepFunction> real(Operation *op, Planning &planning) {
  return planThroughRealNumbers(op, planning, planner);
}

} // namespace

void registerLinear(Registry &registry) {
  registry.add("stablehlo.dot", planDot);
  registry.add("stablehlo.dot_general", planDotGeneral);
  registry.add("stablehlo.convolution", planConvolution);
  registry.add("stablehlo.dynamic_conv", planDynamicConv);
  registry.add("stablehlo.einsum", real<planEinsum>);
  registry.add("stablehlo.unary_einsum", real<planUnaryEinsum>);
  registry.add("stablehlo.cholesky", real<planCholesky>);
  registry.add("stablehlo.triangular_solve", real<planTriangularSolve>);
  registry.add("stablehlo.fft", planFft);
  registry.add("stablehlo.rng", planRng);
  registry.add("stablehlo.rng_bit_generator", planRngBitGenerator);
  registry.add("stablehlo.batch_norm_training", real<planBatchNormTraining>);
  registry.add("stablehlo.batch_norm_inference", real<planBatchNormInference>);
  registry.add("stablehlo.batch_norm_grad", real<planBatchNormGrad>);
}

} // namespace cupel::reference
