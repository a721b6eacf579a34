// Operations on quantized tensors: dequantize, compute in the expressed type, quantize.

#include "cupel/reference/Elementwise.h"
#include "cupel/reference/Quantized.h"
#include "cupel/reference/QuantizedJitter.h"
#include "cupel/reference/Registry.h"
#include "cupel/tensor/Convert.h"
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
    return value.error();
  if (!type.quantization) {
    arguments.set(0, std::move(*value));
    return {};
  }
  Result<Tensor> quantized = quantizedMoving(*value, type);
  if (!quantized)
    return quantized.error();
  arguments.set(0, std::move(*quantized));
  return {};
}

Result<StepFunction> planUniformQuantize(Operation *op, Planning &) {
  Result<ElementType> from = operandElement(op, 0), to = resultElement(op);
  if (!from || !to)
    return !from ? from.error() : to.error();
  bool again = static_cast<bool>(from->quantization);
  return StepFunction([again, type = *to](GridProcess &, StepArguments &arguments) -> Status {
    Result<Tensor> result = again ? requantizedMoving(arguments.tensor(0), type)
                                  : quantizedMoving(arguments.tensor(0), type);
    if (!result)
      return result.error();
    arguments.set(0, std::move(*result));
    return {};
  });
}

Result<StepFunction> planUniformDequantize(Operation *, Planning &) {
  return StepFunction([](GridProcess &, StepArguments &arguments) -> Status {
    Result<Tensor> result = tensor::dequantize(arguments.tensor(0));
    if (!result)
      return result.error();
    arguments.set(0, std::move(*result));
    return {};
  });
}

} // namespace

Result<Tensor> promoted(Tensor tensor, const ElementType &type) {
  const ElementType &from = tensor.elementType();
  if (from == type)
    return tensor;
  if (from.quantization && type.quantization)
    return tensor::requantize(tensor, type);
  if (from.quantization || type.quantization)
    return Error{"a value of type " + from.str() + " cannot be promoted to " + type.str() +
                 ": one is quantized and the other is not"};
  return tensor::convert(tensor, type.storage);
}

Result<StepFunction> planThroughRealNumbers(Operation *op, Planning &planning, Planner planner) {
  auto isQuantized = [](mlir::Type type) {
    return isa<quant::QuantizedType>(getElementTypeOrSelf(type));
  };
  Result<StepFunction> planned = planner(op, planning);
  if (!planned || llvm::none_of(llvm::concat<mlir::Type>(llvm::to_vector(op->getOperandTypes()),
                                                         llvm::to_vector(op->getResultTypes())),
                                isQuantized))
    return planned;
  std::vector<ElementType> types;
  for (unsigned i = 0; i < op->getNumResults(); ++i) {
    Result<ElementType> type = resultElement(op, i);
    if (!type)
      return type.error();
    types.push_back(*type);
  }
  // The step works in a frame of its own: operands, then results.
  std::vector<OperandUse> uses;
  std::vector<int> results;
  for (unsigned i = 0; i < op->getNumOperands(); ++i)
    uses.push_back({static_cast<int>(i), false});
  for (unsigned i = 0; i < op->getNumResults(); ++i)
    results.push_back(static_cast<int>(op->getNumOperands() + i));
  return StepFunction(
      [=, step = *planned](GridProcess &process, StepArguments &arguments) -> Status {
        Frame frame(uses.size() + results.size());
        for (size_t i = 0; i < uses.size(); ++i) {
          Result<Tensor> value = real(arguments.tensor(i));
          if (!value)
            return value.error();
          frame[i] = std::move(*value);
        }
        StepArguments inner(frame, uses, results);
        if (Status status = step(process, inner); !status)
          return status;
        for (size_t i = 0; i < results.size(); ++i) {
          Tensor &value = frame[results[i]].tensor();
          Result<Tensor> stored =
              types[i].quantization ? quantizedMoving(value, types[i]) : Result<Tensor>(value);
          if (!stored)
            return stored.error();
          arguments.set(i, std::move(*stored));
        }
        return {};
      });
}

Result<StepFunction> planQuantizedElementwise(Operation *op, const ElementOpOf &element) {
  Result<ElementType> result = resultElement(op);
  if (!result)
    return result.error();
  if (element.op == ElementOp::Add && result->quantization) {
    bool all = true;
    for (unsigned i = 0; i < 2; ++i)
      all &= static_cast<bool>(operandElement(op, i)->quantization);
    if (all)
      return StepFunction([type = *result](GridProcess &, StepArguments &arguments) -> Status {
        Result<Tensor> sum = quantizedAdd(arguments.tensor(0), arguments.tensor(1), type);
        if (!sum)
          return sum.error();
        arguments.set(0, std::move(*sum));
        return {};
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
    return found.error();
  found->exponentBits = element.exponentBits;
  found->mantissaBits = element.mantissaBits;
  return StepFunction(
      [=, found = *found, type = *result](GridProcess &, StepArguments &arguments) -> Status {
        Tensor values[3];
        const Tensor *operands[3];
        for (size_t i = 0; i < arguments.size(); ++i) {
          const Tensor &given = arguments.tensor(i);
          Result<Tensor> value = stored && given.elementType().quantization
                                     ? Result<Tensor>(given.withElementType(given.dtype()))
                                     : real(given);
          if (!value)
            return value.error();
          values[i] = std::move(*value);
          operands[i] = &values[i];
        }
        Result<Tensor> result = elementwise(found, std::span(operands, arguments.size()), {});
        if (!stored)
          return setQuantized(arguments, std::move(result), type);
        if (!result)
          return result.error();
        arguments.set(0, result->withElementType(type));
        return {};
      });
}

void registerQuantized(Registry &registry) {
  registry.add("stablehlo.uniform_quantize", planUniformQuantize);
  registry.add("stablehlo.uniform_dequantize", planUniformDequantize);
}

} // namespace cupel::reference
