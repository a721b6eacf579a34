// Operations on quantized tensors: dequantize, compute in the expressed type, quantize.

#include "cupel/reference/Elementwise.h"
#include "cupel/reference/Registry.h"
#include "cupel/tensor/Quantize.h"

#include "cupel/ir/stablehlo/Stablehlo.h"

namespace cupel::reference {

using namespace mlir;
using tensor::DType;
using tensor::ElementType;
using tensor::Tensor;

namespace {

Result<Tensor> real(const Tensor &tensor) {
  if (!tensor.elementType().quantization)
    return tensor;
  return tensor::dequantize(tensor);
}

Status setQuantized(StepArguments &arguments, Result<Tensor> value, const ElementType &type) {
  if (!value)
    return Error{value.message()};
  if (!type.quantization) {
    arguments.set(0, std::move(*value));
    return {};
  }
  Result<Tensor> quantized = tensor::quantize(*value, type);
  if (!quantized)
    return Error{quantized.message()};
  arguments.set(0, std::move(*quantized));
  return {};
}

Result<StepFunction> planUniformQuantize(Operation *op, Planning &) {
  Result<ElementType> from = operandElement(op, 0), to = resultElement(op);
  if (!from || !to)
    return Error{!from ? from.message() : to.message()};
  bool again = static_cast<bool>(from->quantization);
  return StepFunction([again, type = *to](Process &, StepArguments &arguments) -> Status {
    Result<Tensor> result = again ? tensor::requantize(arguments.tensor(0), type)
                                  : tensor::quantize(arguments.tensor(0), type);
    if (!result)
      return Error{result.message()};
    arguments.set(0, std::move(*result));
    return {};
  });
}

Result<StepFunction> planUniformDequantize(Operation *, Planning &) {
  return StepFunction([](Process &, StepArguments &arguments) -> Status {
    Result<Tensor> result = tensor::dequantize(arguments.tensor(0));
    if (!result)
      return Error{result.message()};
    arguments.set(0, std::move(*result));
    return {};
  });
}

/// Requantizes both sides to the result's type and adds what is stored.
Status addStored(StepArguments &arguments, const ElementType &type) {
  const tensor::Quantization &numbers = *type.quantization;
  Tensor sides[2];
  for (int i = 0; i < 2; ++i) {
    const Tensor &operand = arguments.tensor(i);
    Result<Tensor> side = operand.elementType() == type ? Result<Tensor>(operand)
                                                        : tensor::requantize(operand, type);
    if (side)
      side = side->contiguous();
    if (!side)
      return Error{side.message()};
    sides[i] = std::move(*side);
  }
  Result<Tensor> result = Tensor::uninitialized(
      type, tensor::Shape(sides[0].shape().begin(), sides[0].shape().end()));
  if (!result)
    return Error{result.message()};
  int64_t count = result->size();
  // The axis' zero point belongs to each slice.
  int64_t inner = 1, slices = 1;
  if (numbers.axis >= 0) {
    slices = result->dim(numbers.axis);
    for (int64_t d = numbers.axis + 1; d < result->rank(); ++d)
      inner *= result->dim(d);
  }
  std::byte *out = result->mutableData();
  tensor::dispatch(type.storage, [&]<DType t>() {
    if constexpr (isInteger(t)) {
      using T = tensor::Storage<t>;
      const T *a = sides[0].dataAs<T>(), *b = sides[1].dataAs<T>();
      T *r = reinterpret_cast<T *>(out);
      for (int64_t i = 0; i < count; ++i) {
        int64_t zero = numbers.zeroPoints[numbers.axis < 0 ? 0 : i / inner % slices];
        int64_t sum = int64_t(a[i]) + int64_t(b[i]) - zero;
        r[i] = static_cast<T>(std::clamp(sum, numbers.storageMin, numbers.storageMax));
      }
    }
  });
  arguments.set(0, std::move(*result));
  return {};
}

} // namespace

Result<StepFunction> planQuantizedElementwise(Operation *op, const ElementOpOf &element) {
  Result<ElementType> result = resultElement(op);
  if (!result)
    return Error{result.message()};
  if (element.op == ElementOp::Add && result->quantization) {
    bool all = true;
    for (unsigned i = 0; i < 2; ++i)
      all &= static_cast<bool>(operandElement(op, i)->quantization);
    if (all)
      return StepFunction([type = *result](Process &, StepArguments &arguments) -> Status {
        return addStored(arguments, type);
      });
  }
  // Of one type, values are ordered as they are stored, and choosing needs no arithmetic.
  bool same = result->quantization != nullptr;
  for (unsigned i = 0; i < op->getNumOperands(); ++i) {
    Result<ElementType> type = operandElement(op, i);
    same &= *type == *result || (element.op == ElementOp::Select && i == 0);
  }
  bool ordered = element.op == ElementOp::Maximum || element.op == ElementOp::Minimum ||
                 element.op == ElementOp::Clamp || element.op == ElementOp::Select;
  DType computed = result->quantization ? result->quantization->expressed : result->storage;
  Result<ElementType> last = operandElement(op, op->getNumOperands() - 1);
  DType operand = last->quantization ? last->quantization->expressed : last->storage;
  bool stored = same && ordered;
  if (stored)
    operand = computed = result->storage;
  Result<ElementwiseOp> found = findElementwise(element.op, operand, computed);
  if (!found)
    return Error{found.message()};
  found->exponentBits = element.exponentBits;
  found->mantissaBits = element.mantissaBits;
  return StepFunction([=, found = *found, type = *result](Process &,
                                                          StepArguments &arguments) -> Status {
    Tensor values[3];
    const Tensor *operands[3];
    for (size_t i = 0; i < arguments.size(); ++i) {
      const Tensor &given = arguments.tensor(i);
      Result<Tensor> value = stored && given.elementType().quantization
                                 ? Result<Tensor>(given.withElementType(given.dtype()))
                                 : real(given);
      if (!value)
        return Error{value.message()};
      values[i] = std::move(*value);
      operands[i] = &values[i];
    }
    Result<Tensor> result = elementwise(found, std::span(operands, arguments.size()), {});
    if (!stored)
      return setQuantized(arguments, std::move(result), type);
    if (!result)
      return Error{result.message()};
    arguments.set(0, result->withElementType(type));
    return {};
  });
}

StepFunction quantizedDotStep(DotDimensions dimensions, ElementType type) {
  return [=](Process &process, StepArguments &arguments) -> Status {
    Result<Tensor> lhs = real(arguments.tensor(0)), rhs = real(arguments.tensor(1));
    if (!lhs || !rhs)
      return Error{!lhs ? lhs.message() : rhs.message()};
    DType computed = type.quantization ? type.quantization->expressed : type.storage;
    return setQuantized(arguments,
                        dotGeneral(*lhs, *rhs, dimensions, computed,
                                   process.run.options.accumulate),
                        type);
  };
}

StepFunction quantizedConvolutionStep(ConvolutionDimensions dimensions, ConvolutionWindow window,
                                      ElementType type) {
  return [=](Process &process, StepArguments &arguments) -> Status {
    Result<Tensor> lhs = real(arguments.tensor(0)), rhs = real(arguments.tensor(1));
    if (!lhs || !rhs)
      return Error{!lhs ? lhs.message() : rhs.message()};
    DType computed = type.quantization ? type.quantization->expressed : type.storage;
    return setQuantized(arguments,
                        convolution(*lhs, *rhs, dimensions, window, computed,
                                    process.run.options.accumulate),
                        type);
  };
}

void registerQuantized(Registry &registry) {
  registry.add("stablehlo.uniform_quantize", planUniformQuantize);
  registry.add("stablehlo.uniform_dequantize", planUniformDequantize);
}

} // namespace cupel::reference
