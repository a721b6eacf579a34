// Elementwise operations on tensors.

#include "cupel/reference/PlanElementwise.h"

#include "cupel/reference/Elementwise.h"
#include "cupel/reference/Registry.h"

#include "cupel/ir/stablehlo/Stablehlo.h"

namespace cupel::reference {

using namespace mlir;
using tensor::DType;
using tensor::ElementType;
using tensor::Tensor;

std::optional<ElementOpOf> elementOpOf(Operation *op) {
  if (auto compare = dyn_cast<stablehlo::CompareOp>(op)) {
    bool total = compare.getCompareType() == stablehlo::ComparisonType::TOTALORDER;
    switch (compare.getComparisonDirection()) {
#define CASE(direction, name)                                                                      \
  case stablehlo::ComparisonDirection::direction:                                                  \
    return ElementOpOf{total ? ElementOp::Total##name : ElementOp::name};
      CASE(EQ, Equal)
      CASE(NE, NotEqual)
      CASE(GE, GreaterEqual)
      CASE(GT, Greater)
      CASE(LE, LessEqual)
      CASE(LT, Less)
#undef CASE
    }
  }
  if (op->getName().getDialectNamespace() != "stablehlo")
    return std::nullopt;
  std::optional<ElementOp> known = parseElementOp(op->getName().stripDialect());
  if (!known)
    return std::nullopt;
  auto bits = [&](StringRef name) {
    auto attribute = op->getAttrOfType<IntegerAttr>(name);
    return attribute ? static_cast<int>(attribute.getInt()) : 0;
  };
  return ElementOpOf{*known, bits("exponent_bits"), bits("mantissa_bits")};
}

static Result<StepFunction> planElementwise(Operation *op, Planning &) {
  ElementOpOf element = *elementOpOf(op);
  Result<ElementType> operand = operandElement(op, op->getNumOperands() - 1);
  Result<ElementType> result = resultElement(op);
  if (!operand)
    return operand.error();
  if (!result)
    return result.error();
  bool quantized = static_cast<bool>(result->quantization);
  for (unsigned i = 0; i < op->getNumOperands(); ++i) {
    Result<ElementType> type = operandElement(op, i);
    if (!type)
      return type.error();
    quantized |= static_cast<bool>(type->quantization);
  }
  if (quantized)
    return planQuantizedElementwise(op, element);
  Result<ElementwiseOp> found = findElementwise(element.op, operand->storage, result->storage);
  if (!found)
    return found.error();
  found->exponentBits = element.exponentBits;
  found->mantissaBits = element.mantissaBits;
  return StepFunction([found = *found](GridProcess &, StepArguments &arguments) -> Status {
    const Tensor *operands[3];
    Tensor *reusable[3];
    size_t reusableCount = 0;
    for (size_t i = 0; i < arguments.size(); ++i) {
      operands[i] = &arguments.tensor(i);
      // Lane i of a result depends on lane i of operands alone: x * x fits in the place of x.
      if (arguments.ends(i))
        reusable[reusableCount++] = &arguments.consumable(i);
    }
    Result<Tensor> result = elementwise(found, std::span(operands, arguments.size()),
                                        std::span(reusable, reusableCount));
    if (!result)
      return result.error();
    arguments.set(0, std::move(*result));
    return {};
  });
}

void registerElementwise(Registry &registry) {
  // One loop for each but for compare, which has one for each direction: "compare LT".
  for (ElementOp op : kElementOps) {
    StringRef name = StringRef(reference::name(op)).split(' ').first;
    registry.add(("stablehlo." + name).str(), planElementwise);
  }
}

} // namespace cupel::reference
