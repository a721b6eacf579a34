// Operations of generated C++ that are no loops: calls of the headers beside main.cpp.

#include "cupel/compiler/standalone/Cpp.h"

#include "cupel/reference/Registry.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

namespace cupel::compiler::standalone {

using namespace mlir;
using tensor::DType;

/// Bodies that headers know by name, and compute faster than by calling them.
static const char *knownBody(Block &block) {
  static const llvm::StringMap<const char *> kKnown = {
      {"add", "ops::Add()"},     {"multiply", "ops::Multiply()"}, {"maximum", "ops::Maximum()"},
      {"minimum", "ops::Minimum()"}, {"and", "ops::And()"},       {"or", "ops::Or()"}};
  Operation &first = block.front();
  if (block.getNumArguments() != 2 || block.getOperations().size() != 2 || first.getNumOperands() != 2 ||
      first.getName().getDialectNamespace() != "stablehlo" ||
      block.getTerminator()->getOperand(0) != first.getResult(0) ||
      first.getOperand(0) != block.getArgument(0) || first.getOperand(1) != block.getArgument(1))
    return nullptr;
  return kKnown.lookup(first.getName().stripDialect());
}

Result<std::string> CppWriter::regionFunction(Region &region) {
  Block &block = region.front();
  if (const char *known = knownBody(block))
    return std::string(known);
  // On elements where that can be said; else on tensors of one element each.
  bool isPlain = llvm::all_of(block.without_terminator(), [&](Operation &op) {
    auto call = dyn_cast<func::CallOp>(op);
    return isElementwise(&op) || isa<stablehlo::ConstantOp>(op) || (call && isElementFunction(call.getCallee()));
  });
  std::vector<std::string> parameters;
  for (BlockArgument argument : block.getArguments()) {
    std::string name = newName(argument, "x");
    parameters.push_back(cppType(storedAs(argument.getType())) + (argument.use_empty() ? "" : " " + name));
  }
  std::string name = scope.numbered("body");
  line("const auto " + name + " = [&](" + llvm::join(parameters, ", ") + ") {");
  ++depth;
  if (!isPlain)
    for (BlockArgument argument : block.getArguments())
      if (!argument.use_empty()) {
        std::string element = nameOf(argument), tensor = newName(argument, "t");
        line("const " + cppTensorType(argument.getType()) + " " + tensor + "(" + element + ");");
      }
  // Values from outside are tensors of one element.
  llvm::DenseMap<mlir::Value, std::string> outside;
  if (isPlain)
    block.walk([&](Operation *op) {
      for (mlir::Value operand : op->getOperands())
        if (operand.getParentBlock() != &block && outside.try_emplace(operand, nameOf(operand)).second) {
          auto literal = literals.find(operand);
          setName(operand, literal != literals.end() ? literal->second : nameOf(operand) + ".item()");
        }
    });
  bool outerElements = isOnElements;
  auto outerReturn = onReturn;
  isOnElements = isPlain;
  onReturn = [&](Operation *op) -> Status {
    std::vector<std::string> values, types;
    for (mlir::Value operand : op->getOperands()) {
      values.push_back(nameOf(operand) + (isPlain ? "" : ".item()"));
      types.push_back(cppType(storedAs(operand.getType())));
    }
    line(values.size() == 1 ? "return " + values[0] + ";"
                            : "return std::tuple<" + llvm::join(types, ", ") + ">(" + llvm::join(values, ", ") + ");");
    return {};
  };
  Status status = writeBlock(block);
  onReturn = outerReturn;
  isOnElements = outerElements;
  for (auto &[value, text] : outside)
    setName(value, text);
  --depth;
  line("};");
  if (!status)
    return status.error();
  return name;
}

Result<std::string> CppWriter::callText(Operation *op, llvm::function_ref<std::string(mlir::Value)> textOf) {
  Result<OpCall> call = callOf(op);
  if (!call)
    return call.error().within(reference::describeLocation(op->getLoc()));
  std::vector<std::string> bodies, parts;
  for (Region &region : op->getRegions()) {
    Result<std::string> body = regionFunction(region);
    if (!body)
      return body.error();
    bodies.push_back(*body);
  }
  auto texts = [&](auto values) {
    std::vector<std::string> list;
    for (mlir::Value value : values)
      list.push_back(textOf(value));
    return list;
  };
  auto grouped = [&](const std::vector<std::string> &list) {
    return list.size() == 1 ? list[0] : "std::make_tuple(" + llvm::join(list, ", ") + ")";
  };
  auto startsOf = [&](auto values) {
    std::vector<std::string> list;
    for (mlir::Value value : values)
      list.push_back("int64_t(" + textOf(value) + ".item())");
    return "Dims{" + llvm::join(list, ", ") + "}";
  };
  auto operands = op->getOperands();
  std::string type = op->getNumResults() ? cppType(computedAs(op->getResult(op->getNumResults() - 1).getType())) : "";
  std::string function = call->function;
  if (isa<stablehlo::ConcatenateOp>(op)) {
    std::string element = cppType(isQuantized(op->getResult(0).getType()) ? storedAs(op->getResult(0).getType())
                                                                          : computedAs(op->getResult(0).getType()));
    parts = {"std::vector<Tensor<" + element + ">>{" + llvm::join(texts(operands), ", ") + "}"};
  } else if (isa<stablehlo::DynamicSliceOp>(op)) {
    parts = {textOf(operands[0]), startsOf(operands.drop_front(1))};
  } else if (isa<stablehlo::DynamicUpdateSliceOp>(op)) {
    parts = {textOf(operands[0]), textOf(operands[1]), startsOf(operands.drop_front(2))};
  } else if (isa<stablehlo::SortOp>(op)) {
    parts = {grouped(texts(operands)), bodies[0]};
  } else if (isa<stablehlo::MapOp>(op)) {
    parts = texts(operands);
    parts.insert(parts.begin(), bodies[0]);
  } else if (isa<stablehlo::ReduceOp, stablehlo::ReduceWindowOp>(op)) {
    size_t count = operands.size() / 2;
    // Inputs may be narrower than what is folded.
    std::vector<std::string> list;
    Block &block = op->getRegion(0).front();
    for (auto [i, operand] : llvm::enumerate(operands)) {
      DType folded = storedAs(block.getArgument(unsigned(i % count)).getType());
      std::string text = textOf(operand);
      list.push_back(storedAs(operand.getType()) == folded ? text
                                                           : "ops::convert_elements<" + cppType(folded) + ">(" + text + ")");
    }
    parts = {grouped({list.begin(), list.begin() + long(count)}), grouped({list.begin() + long(count), list.end()}),
             bodies[0]};
  } else if (auto scatter = dyn_cast<stablehlo::ScatterOp>(op)) {
    parts = {grouped(texts(scatter.getInputs())), textOf(scatter.getScatterIndices()),
             grouped(texts(scatter.getUpdates())), bodies[0]};
  } else if (isa<stablehlo::SelectAndScatterOp>(op)) {
    parts = {textOf(operands[0]), textOf(operands[1]), textOf(operands[2]), bodies[0], bodies[1]};
  } else {
    parts = texts(operands);
  }
  for (const OpArgument &argument : call->arguments) {
    if (auto *list = std::get_if<std::vector<int64_t>>(&argument.value))
      parts.push_back(listText(*list));
    else if (auto *flags = std::get_if<std::vector<bool>>(&argument.value))
      parts.push_back(listText(*flags));
    else if (auto *number = std::get_if<int64_t>(&argument.value))
      parts.push_back(std::to_string(*number));
    else if (auto *flag = std::get_if<bool>(&argument.value))
      parts.push_back(boolText(*flag));
    else if (auto *word = std::get_if<std::string>(&argument.value))
      parts.push_back(quotedText(*word));
    else if (auto *real = std::get_if<double>(&argument.value))
      parts.push_back(cppNumber(*real));
  }
  if (isa<stablehlo::BitcastConvertOp>(op))
    function += "<" + cppType(storedAs(operands[0].getType())) + ", " + type + ">";
  else if (isa<stablehlo::DotGeneralOp, stablehlo::DotOp, stablehlo::ConvolutionOp, stablehlo::DynamicConvOp,
               stablehlo::EinsumOp, stablehlo::UnaryEinsumOp, stablehlo::IotaOp, stablehlo::DynamicIotaOp,
               stablehlo::FftOp, stablehlo::RngBitGeneratorOp>(op))
    function += "<" + type + ">";
  return "ops::" + function + "(" + llvm::join(parts, ", ") + ")";
}

Status CppWriter::writeOperation(Operation *op) {
  StringRef name = op->getName().stripDialect();
  if (name == "after_all" || name == "create_token") {
    setName(op->getResult(0), "Token()");
    return {};
  }
  if (name == "tuple")
    return define(op, "{" + llvm::join(textsOf(op->getOperands()), ", ") + "}");
  if (auto get = dyn_cast<stablehlo::GetTupleElementOp>(op)) {
    setName(op->getResult(0), "std::get<" + std::to_string(get.getIndex()) + ">(" + nameOf(op->getOperand(0)) + ")");
    return {};
  }
  if (llvm::any_of(op->getOperandTypes(), isQuantized) || llvm::any_of(op->getResultTypes(), isQuantized))
    return writeQuantized(op);
  if (isa<stablehlo::BroadcastInDimOp>(op)) {
    if (auto literal = literals.find(op->getOperand(0)); literal != literals.end()) {
      std::string number = literal->second;
      literals[op->getResult(0)] = number;
    }
    if (isOnElements) {
      setName(op->getResult(0), nameOf(op->getOperand(0)));
      return {};
    }
  }
  if (isReadInPlace(op) || isPostponed(op))
    return {};
  usesRandom |= isa<stablehlo::RngOp>(op);
  Result<std::string> expression = callText(op, [&](mlir::Value value) { return nameOf(value); });
  if (!expression)
    return expression.error();
  return defineAll(op, *expression);
}

//===----------------------------------------------------------------------===//
// Quantized values
//===----------------------------------------------------------------------===//

std::string CppWriter::quantizationName(mlir::Type type) {
  Result<tensor::ElementType> element = elementTypeFor(type);
  const tensor::Quantization &q = *element->quantization;
  std::vector<std::string> scales, zeros;
  for (double scale : q.scales)
    scales.push_back(cppNumber(scale));
  for (int64_t zero : q.zeroPoints)
    zeros.push_back(std::to_string(zero));
  std::string made = "{{" + llvm::join(scales, ", ") + "}, {" + llvm::join(zeros, ", ") + "}, " +
                     std::to_string(q.storageMin) + ", " + std::to_string(q.storageMax) + ", " +
                     std::to_string(q.axis) + "}";
  for (auto &[text, name] : quantizations)
    if (text == made)
      return name;
  quantizations.emplace_back(made, "Q" + std::to_string(quantizations.size()));
  return quantizations.back().second;
}

Status CppWriter::writeQuantized(Operation *op) {
  static const llvm::StringSet<> kMoves = {
      "transpose", "reshape", "broadcast_in_dim", "dynamic_broadcast_in_dim", "slice", "dynamic_slice",
      "dynamic_update_slice", "concatenate", "reverse", "gather", "pad", "dynamic_reshape", "select",
      "maximum", "minimum", "clamp", "broadcast", "dynamic_pad", "dynamic_gather", "real_dynamic_slice"};
  StringRef name = op->getName().stripDialect();
  if (op->getNumResults() != 1)
    return refusal(op, "with several results of quantized values");
  mlir::Type resultType = op->getResult(0).getType();
  std::string stored = cppType(storedAs(resultType)), expressed = cppType(computedAs(resultType));
  auto dequantized = [&](mlir::Value value) {
    if (!isQuantized(value.getType()))
      return nameOf(value);
    return "ops::dequantize<" + cppType(computedAs(value.getType())) + ">(" + nameOf(value) + ", " +
           quantizationName(value.getType()) + ")";
  };
  auto quantized = [&](const std::string &value) {
    return isQuantized(resultType) ? "ops::quantize<" + stored + ", " + expressed + ">(" + value + ", " +
                                         quantizationName(resultType) + ")"
                                   : value;
  };
  if (name == "uniform_quantize") {
    mlir::Value from = op->getOperand(0);
    if (!isQuantized(from.getType()))
      return define(op, quantized(nameOf(from)));
    return define(op, "ops::requantize<" + stored + ", " + expressed + ">(" + nameOf(from) + ", " +
                          quantizationName(from.getType()) + ", " + quantizationName(resultType) + ")");
  }
  if (name == "uniform_dequantize")
    return define(op, dequantized(op->getOperand(0)));
  if (Result<OpCall> call = callOf(op); !call)
    return call.error();
  mlir::Type element = getElementTypeOrSelf(resultType);
  bool movesStored = kMoves.contains(name) && llvm::all_of(op->getOperandTypes(), [&](mlir::Type type) {
                       return getElementTypeOrSelf(type) == element || !isQuantized(type);
                     });
  bool isInteger = isa<stablehlo::AddOp, stablehlo::DotGeneralOp, stablehlo::DotOp, stablehlo::ConvolutionOp,
                       stablehlo::DynamicConvOp>(op);
  if (isInteger || op->getNumRegions())
    return refusal(op, "on quantized values");
  if (isElementwise(op)) {
    std::vector<std::string> operands;
    for (mlir::Value operand : op->getOperands())
      operands.push_back(dequantized(operand));
    Result<std::string> text = mapCall(op, operands);
    if (!text)
      return text.error();
    return define(op, quantized(*text));
  }
  Result<std::string> text = callText(op, [&](mlir::Value value) {
    return movesStored ? nameOf(value) : dequantized(value);
  });
  if (!text)
    return text.error();
  return define(op, movesStored ? *text : quantized(*text));
}

} // namespace cupel::compiler::standalone
