#include "cupel/reference/PlanForeignCalls.h"

#include "cupel/ir/stablehlo/Stablehlo.h"
#include "cupel/calls/CustomCall.h"

#include <cstring>

namespace cupel::reference {

using namespace mlir;
using calls::CallArray;
using calls::CallAttribute;
using calls::CallAttributes;
using calls::CallScalar;
using calls::CallType;
using tensor::DType;
using tensor::Tensor;

namespace {

/// What a call needs at run time that the program says once.
struct CallPlan {
  std::string target, configuration;
  std::shared_ptr<const calls::CallHandler> handler;
  CallAttributes attributes;
  std::vector<CallType> results;
  std::vector<std::vector<int64_t>> operandLayouts, resultLayouts;
  std::vector<int64_t> sharedOperands;
  // Tokens order calls and carry nothing: handlers do not see them.
  std::vector<bool> operandIsToken, resultIsToken;
};

/// Little-endian bits of a number; 16 bytes at most, which is what element types have.
void copyBits(const APInt &bits, std::byte *to, unsigned bytes) {
  std::memcpy(to, bits.getRawData(), std::min<size_t>(bytes, bits.getNumWords() * 8));
}

Result<CallAttribute> convert(Attribute attribute);

Result<CallAttributes> convertAll(DictionaryAttr dictionary) {
  CallAttributes result;
  for (NamedAttribute entry : dictionary) {
    Result<CallAttribute> value = convert(entry.getValue());
    if (!value)
      return Error{"the attribute '" + entry.getName().str() + "' " + value.message()};
    result.emplace(entry.getName().str(), std::move(*value));
  }
  return result;
}

Result<CallAttribute> convertElements(ElementsAttr elements) {
  Result<Tensor> values = constantTensor(elements, elements.getShapedType());
  if (!values)
    return values.error();
  Result<Tensor> packed = values->contiguous();
  if (!packed)
    return packed.error();
  CallArray array;
  array.type = packed->dtype();
  array.size = packed->size();
  array.bytes.assign(packed->data(), packed->data() + packed->byteSize());
  return CallAttribute{std::move(array)};
}

Result<CallAttribute> convert(Attribute attribute) {
  if (auto text = dyn_cast<StringAttr>(attribute))
    return CallAttribute{text.str()};
  if (auto symbol = dyn_cast<FlatSymbolRefAttr>(attribute))
    return CallAttribute{symbol.getValue().str()};
  if (auto dictionary = dyn_cast<DictionaryAttr>(attribute)) {
    Result<CallAttributes> entries = convertAll(dictionary);
    if (!entries)
      return entries.error();
    return CallAttribute{std::make_shared<const CallAttributes>(std::move(*entries))};
  }
  if (auto array = dyn_cast<DenseArrayAttr>(attribute)) {
    Result<tensor::ElementType> element = elementTypeOf(array.getElementType());
    if (!element)
      return element.error();
    CallArray values;
    values.type = element->storage;
    values.size = array.getSize();
    auto raw = reinterpret_cast<const std::byte *>(array.getRawData().data());
    values.bytes.assign(raw, raw + array.getRawData().size());
    return CallAttribute{std::move(values)};
  }
  if (auto elements = dyn_cast<ElementsAttr>(attribute))
    return convertElements(elements);
  if (auto number = dyn_cast<TypedAttr>(attribute); number && isa<IntegerAttr, FloatAttr>(number)) {
    Result<tensor::ElementType> element = elementTypeOf(number.getType());
    if (!element)
      return element.error();
    CallScalar scalar;
    scalar.type = element->storage;
    APInt bits = isa<IntegerAttr>(number) ? cast<IntegerAttr>(number).getValue()
                                          : cast<FloatAttr>(number).getValue().bitcastToAPInt();
    copyBits(bits, scalar.bits, tensor::info(scalar.type).bytes);
    return CallAttribute{scalar};
  }
  std::string text;
  llvm::raw_string_ostream(text) << attribute;
  return Error{"is " + text.substr(0, 60) + ", which no handler can be given"};
}

/// The layouts of what is no token.
std::vector<std::vector<int64_t>> layoutsOf(std::optional<ArrayAttr> layouts,
                                            const std::vector<bool> &isToken) {
  std::vector<std::vector<int64_t>> result;
  if (layouts && layouts->size() == isToken.size())
    for (auto [i, layout] : llvm::enumerate(*layouts)) {
      if (isToken[i])
        continue;
      std::vector<int64_t> order;
      for (const APInt &dimension : cast<DenseIntElementsAttr>(layout).getValues<APInt>())
        order.push_back(dimension.getSExtValue());
      result.push_back(std::move(order));
    }
  return result;
}

/// Where a value stands among those that are no tokens.
int64_t positionWithoutTokens(const std::vector<bool> &isToken, int64_t i) {
  return i - std::count(isToken.begin(), isToken.begin() + i, true);
}

std::vector<int64_t> sharedOperandsOf(stablehlo::CustomCallOp call, const CallPlan &plan) {
  std::vector<int64_t> shared(plan.results.size(), -1);
  for (Attribute attribute : call.getOutputOperandAliases()) {
    auto alias = cast<stablehlo::OutputOperandAliasAttr>(attribute);
    int64_t operand = alias.getOperandIndex();
    int64_t result =
        alias.getOutputTupleIndices().empty() ? 0 : alias.getOutputTupleIndices().front();
    if (operand < 0 || operand >= call->getNumOperands() || plan.operandIsToken[operand] ||
        result < 0 || result >= call->getNumResults() || plan.resultIsToken[result])
      continue;
    shared[positionWithoutTokens(plan.resultIsToken, result)] =
        positionWithoutTokens(plan.operandIsToken, operand);
  }
  return shared;
}

Result<std::shared_ptr<const CallPlan>>
prepare(stablehlo::CustomCallOp call, std::shared_ptr<const calls::CallHandler> handler) {
  auto plan = std::make_shared<CallPlan>();
  plan->target = call.getCallTargetName().str();
  plan->handler = std::move(handler);
  // Typed calls keep their attributes in backend_config; JAX puts them beside it, since older
  // versions of StableHLO allow only text there.
  for (StringRef name : {"backend_config", "mhlo.backend_config"}) {
    Attribute given = call->getAttr(name);
    if (auto text = dyn_cast_or_null<StringAttr>(given))
      plan->configuration = text.str();
    if (auto dictionary = dyn_cast_or_null<DictionaryAttr>(given)) {
      Result<CallAttributes> attributes = convertAll(dictionary);
      if (!attributes)
        return attributes.error();
      plan->attributes = std::move(*attributes);
    }
  }
  for (Type type : call->getOperandTypes())
    plan->operandIsToken.push_back(isa<stablehlo::TokenType>(type));
  for (Type type : call->getResultTypes())
    plan->resultIsToken.push_back(isa<stablehlo::TokenType>(type));
  for (unsigned i = 0; i < call->getNumResults(); ++i) {
    if (plan->resultIsToken[i])
      continue;
    auto type = dyn_cast<RankedTensorType>(call->getResult(i).getType());
    if (!type || !type.hasStaticShape())
      return Error{"a result of custom call @" + plan->target + " is no tensor of known shape"};
    Result<tensor::ElementType> element = elementTypeOf(type.getElementType());
    if (!element)
      return element.error();
    plan->results.push_back({*element, toVector(type.getShape())});
  }
  plan->operandLayouts = layoutsOf(call.getOperandLayouts(), plan->operandIsToken);
  plan->resultLayouts = layoutsOf(call.getResultLayouts(), plan->resultIsToken);
  plan->sharedOperands = sharedOperandsOf(call, *plan);
  return std::shared_ptr<const CallPlan>(std::move(plan));
}

Status runCall(const CallPlan &plan, GridProcess &process, StepArguments &arguments) {
  std::vector<Tensor> operands;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (plan.operandIsToken[i])
      continue;
    if (!arguments.value(i).isTensor())
      return Error{"custom call @" + plan.target + " takes tensors only"};
    operands.push_back(arguments.tensor(i));
  }
  for (const CallType &type : plan.results)
    if (Status status = reserveFor(process, type.element.storage, type.shape); !status)
      return status;
  Result<std::vector<Tensor>> results = (*plan.handler)(
      calls::CustomCall{plan.target, operands, plan.results, plan.attributes, plan.configuration,
                          plan.operandLayouts, plan.resultLayouts, plan.sharedOperands});
  if (!results)
    return results.error();
  if (results->size() != plan.results.size())
    return Error{"the handler of custom call @" + plan.target + " gave " +
                 std::to_string(results->size()) + " results"};
  for (size_t i = 0, next = 0; i < arguments.resultCount(); ++i)
    if (plan.resultIsToken[i])
      arguments.set(i, Value::Token());
    else
      arguments.set(i, std::move((*results)[next++]));
  return {};
}

} // namespace

Result<StepFunction> planForeignCall(Operation *op) {
  auto call = cast<stablehlo::CustomCallOp>(op);
  auto handler = calls::CallRegistry::get().find(call.getCallTargetName());
  if (!handler)
    return StepFunction();
  Result<std::shared_ptr<const CallPlan>> plan = prepare(call, std::move(handler));
  if (!plan)
    return plan.error();
  return StepFunction([plan = *plan](GridProcess &process, StepArguments &arguments) {
    return runCall(*plan, process, arguments);
  });
}

} // namespace cupel::reference
