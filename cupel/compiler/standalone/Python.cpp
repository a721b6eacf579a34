// Functions, control flow and operations of generated Python.

#include "cupel/compiler/standalone/PythonText.h"

#include "cupel/reference/Registry.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

namespace cupel::compiler::standalone {

using namespace mlir;
using tensor::DType;
using tensor::Tensor;

namespace {

constexpr int64_t kLongestLiteral = 16;

} // namespace

std::string PythonWriter::listText(const std::vector<int64_t> &values) const {
  std::vector<std::string> parts;
  for (int64_t value : values)
    parts.push_back(std::to_string(value));
  return tupleOf(parts);
}

std::string PythonWriter::listText(const std::vector<bool> &values) const {
  std::vector<std::string> parts;
  for (bool value : values)
    parts.push_back(boolText(value));
  return tupleOf(parts);
}

std::string PythonWriter::argumentText(const OpArgument &argument) const {
  struct Spell {
    const PythonWriter &writer;
    std::string operator()(int64_t value) { return std::to_string(value); }
    std::string operator()(bool value) { return writer.boolText(value); }
    std::string operator()(double value) { return numberText(DType::F64, &value); }
    std::string operator()(const std::string &value) { return quotedText(value); }
    std::string operator()(const std::vector<int64_t> &value) { return writer.listText(value); }
    std::string operator()(const std::vector<bool> &value) { return writer.listText(value); }
    std::string operator()(const OpArgument::ElementOf &value) {
      return typeName(computedType(value.type));
    }
  };
  return argument.name + "=" + std::visit(Spell{*this}, argument.value);
}

std::string PythonWriter::tensorText(const Tensor &given) {
  Result<Tensor> packed = given.contiguous();
  const Tensor &value = packed ? *packed : given;
  DType type = value.dtype();
  std::string name = typeName(type);
  std::vector<int64_t> shape(value.shape().begin(), value.shape().end());
  size_t bytes = tensor::info(type).bytes;
  if (value.size() > 0 && isSplat(value)) {
    std::string number = numberText(type, value.data());
    if (value.rank() == 0)
      return name + "(" + number + ")";
    return "full(" + listText(shape) + ", " + number + ", " + name + ")";
  }
  if (value.size() <= kLongestLiteral) {
    std::vector<std::string> numbers;
    for (int64_t i = 0; i < value.size(); ++i)
      numbers.push_back(numberText(type, value.data() + size_t(i) * bytes));
    return "array([" + llvm::join(numbers, ", ") + "], " + listText(shape) + ", " + name + ")";
  }
  return "constants[" + quotedText(keepConstant(value)) + "]";
}

std::string PythonWriter::constantText(stablehlo::ConstantOp op) {
  Result<Tensor> value = reference::constantTensor(op.getValue(), op.getType());
  if (!value)
    return "unknown";
  Tensor plain = value->withElementType(value->dtype());
  if (Result<Tensor> packed = plain.contiguous())
    plain = *packed;
  if (plain.rank() > 0 && plain.size() > 0 && isSplat(plain))
    scalars[op.getResult()] =
        typeName(plain.dtype()) + "(" + numberText(plain.dtype(), plain.data()) + ")";
  std::string text = tensorText(plain);
  // What is used more than once and is no number gets a name.
  if (plain.rank() > 0 && !op.getResult().hasOneUse() && !scalars.count(op.getResult())) {
    std::string name = scope.numbered("constant");
    line(name + " = " + text);
    return name;
  }
  return text;
}

//===----------------------------------------------------------------------===//
// Functions and control flow
//===----------------------------------------------------------------------===//

Status PythonWriter::writeFunction(func::FuncOp function, bool isEntry) {
  Block &body = function.getBody().front();
  scalars.clear();
  text += "\n\n";
  std::vector<std::string> arguments;
  if (isEntry) {
    line("def forward(inputs, weights):");
    depth = 1;
    for (BlockArgument argument : body.getArguments()) {
      size_t i = argument.getArgNumber();
      if (i >= options.inputs) {
        setName(argument, "weights[" + quotedText(options.weightNames[i - options.inputs]) + "]");
        continue;
      }
      std::string name =
          scope.unique(identifierOf(options.inputNames[i], "argument"));
      setName(argument, name);
      arguments.push_back(name);
    }
    if (!arguments.empty())
      line(llvm::join(arguments, ", ") + (arguments.size() == 1 ? ", = inputs" : " = inputs"));
    for (BlockArgument argument : body.getArguments().take_front(std::min<size_t>(options.inputs, 64)))
      line("# " + nameOf(argument) + ": " + describeType(argument.getType()));
  } else {
    std::vector<std::string> notes;
    for (BlockArgument argument : body.getArguments()) {
      std::string name = argumentName(argument);
      setName(argument, name);
      arguments.push_back(name);
      notes.push_back(name + ": " + describeType(argument.getType()));
    }
    line("def " + functionName(function.getSymName()) + "(" + llvm::join(arguments, ", ") + "):");
    depth = 1;
    for (const std::string &note : notes)
      line("# " + note);
  }
  onReturn = [this](Operation *op) -> Status {
    std::vector<std::string> values;
    for (mlir::Value operand : op->getOperands())
      values.push_back(nameOf(operand));
    line(values.empty() ? "return None" : "return " + llvm::join(values, ", "));
    return {};
  };
  Status status = writeBlock(body);
  depth = 0;
  return status;
}

Status PythonWriter::writeReturn(Operation *op) { return onReturn(op); }

Status PythonWriter::writeCall(func::CallOp op) {
  std::vector<std::string> arguments;
  for (mlir::Value operand : op.getOperands())
    arguments.push_back(nameOf(operand));
  return assign(op, functionName(op.getCallee()) + "(" + llvm::join(arguments, ", ") + ")");
}

Status PythonWriter::writeWhile(stablehlo::WhileOp op) {
  std::vector<std::string> variables, initial;
  for (auto [operand, condition, body, result] :
       llvm::zip(op->getOperands(), op.getCond().getArguments(), op.getBody().getArguments(),
                 op->getResults())) {
    std::string name = scope.numbered("state");
    initial.push_back(nameOf(operand));
    variables.push_back(name);
    setName(condition, name);
    setName(body, name);
    setName(result, name);
  }
  if (!variables.empty())
    line(llvm::join(variables, ", ") + " = " + llvm::join(initial, ", "));
  line("while True:" + commentText(noteOn(op)));
  ++depth;
  auto outer = onReturn;
  onReturn = [this](Operation *end) -> Status {
    line("if not " + nameOf(end->getOperand(0)) + ":");
    line("    break");
    return {};
  };
  if (Status status = writeBlock(op.getCond().front()); !status)
    return status;
  onReturn = [this, &variables](Operation *end) -> Status {
    std::vector<std::string> next;
    for (mlir::Value operand : end->getOperands())
      next.push_back(nameOf(operand));
    line(next.empty() ? std::string("pass")
                      : llvm::join(variables, ", ") + " = " + llvm::join(next, ", "));
    return {};
  };
  Status status = writeBlock(op.getBody().front());
  onReturn = outer;
  --depth;
  return status;
}

Status PythonWriter::writeBranches(Operation *op) {
  std::vector<std::string> results;
  for (OpResult result : op->getResults())
    results.push_back(newName(result, isa<stablehlo::IfOp>(op) ? "chosen" : "case"));
  auto outer = onReturn;
  onReturn = [this, &results](Operation *end) -> Status {
    std::vector<std::string> values;
    for (mlir::Value operand : end->getOperands())
      values.push_back(nameOf(operand));
    line(values.empty() ? std::string("pass")
                        : llvm::join(results, ", ") + " = " + llvm::join(values, ", "));
    return {};
  };
  std::string selector = nameOf(op->getOperand(0));
  unsigned count = op->getNumRegions();
  for (unsigned i = 0; i < count; ++i) {
    std::string head = i == 0 ? "if " : "elif ";
    if (isa<stablehlo::IfOp>(op))
      head = i == 0 ? "if " + selector + ":" : "else:";
    else if (count == 1)
      head = "if True:";
    else
      head = i + 1 == count ? "else:" : head + selector + " == " + std::to_string(i) + ":";
    line(head + (i == 0 ? commentText(noteOn(op)) : ""));
    ++depth;
    if (Status status = writeBlock(op->getRegion(i).front()); !status)
      return status;
    --depth;
  }
  onReturn = outer;
  return {};
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

Status PythonWriter::assign(Operation *op, const std::string &expression) {
  std::vector<std::string> results;
  StringRef stem = op->getName().stripDialect();
  if (auto call = dyn_cast<func::CallOp>(op))
    stem = call.getCallee();
  std::string base = identifierOf(stem, "value");
  while (!base.empty() && base.back() == '_')
    base.pop_back();
  for (OpResult result : op->getResults())
    results.push_back(newName(result, base));
  std::string left = results.empty() ? "" : llvm::join(results, ", ") + " = ";
  line(left + expression + commentText(noteOn(op)));
  return {};
}

Status PythonWriter::writeCheck(const std::string &function, Operation *op,
                                const std::vector<std::string> &arguments) {
  std::string call = function + "(" + llvm::join(arguments, ", ");
  if (function == "expect_close") {
    DType type = computedType(op->getOperand(0).getType());
    DType part = type == DType::C64 ? DType::F32 : type == DType::C128 ? DType::F64 : type;
    call += ", " + typeName(part);
  }
  checks += function != "shape_assertion";
  return assign(op, call + ")");
}

std::string PythonWriter::elementOperand(Operation *op, unsigned i) {
  mlir::Value value = op->getOperand(i);
  auto found = scalars.find(value);
  if (found == scalars.end())
    return nameOf(value);
  // Some operand must have the result's shape.
  mlir::Type type = op->getResult(0).getType();
  for (mlir::Value other : op->getOperands())
    if (!scalars.count(other) && cast<RankedTensorType>(other.getType()).getShape() ==
                                     cast<RankedTensorType>(type).getShape())
      return found->second;
  return nameOf(value);
}

Result<std::string> PythonWriter::elementExpression(Operation *op, ArrayRef<std::string> operands,
                                                    mlir::Type operandType, mlir::Type resultType) {
  static const llvm::StringMap<const char *> kInfix = {
      {"add", "+"}, {"subtract", "-"}, {"multiply", "*"}, {"and", "&"}, {"or", "|"}, {"xor", "^"}};
  static const llvm::StringMap<const char *> kCompare = {
      {"EQ", "=="}, {"NE", "!="}, {"GE", ">="}, {"GT", ">"}, {"LE", "<="}, {"LT", "<"}};
  Result<OpCall> call = callOf(op);
  if (!call)
    return call.error();
  StringRef name = op->getName().stripDialect();
  DType from = computedType(operandType), to = computedType(resultType);
  bool isBoolean = from == DType::I1, rounds = isNarrow(to) && !call->moves;
  std::string expression;
  if (auto compare = dyn_cast<stablehlo::CompareOp>(op)) {
    std::string sign = kCompare.lookup(stringifyEnum(compare.getComparisonDirection()));
    bool total = compare.getCompareType() == stablehlo::ComparisonType::TOTALORDER;
    if (total)
      return "total_order(" + operands[0] + ") " + sign + " total_order(" + operands[1] + ")";
    return operands[0] + " " + sign + " " + operands[1];
  }
  if (name == "convert")
    return typeName(to) + "(" + operands[0] + ")";
  if (isBoolean && name == "add")
    expression = operands[0] + " | " + operands[1];
  else if (isBoolean && name == "multiply")
    expression = operands[0] + " & " + operands[1];
  else if (const char *sign = kInfix.lookup(name))
    expression = operands[0] + " " + sign + " " + operands[1];
  else if (name == "divide" && tensor::isFloat(from))
    expression = operands[0] + " / " + operands[1];
  else if (name == "not")
    expression = "~" + operands[0];
  else if (name == "negate")
    expression = "-" + operands[0];
  else {
    std::vector<std::string> parts(operands.begin(), operands.end());
    for (const OpArgument &argument : call->arguments)
      parts.push_back(argumentText(argument));
    expression = call->function + "(" + llvm::join(parts, ", ") + ")";
  }
  if (rounds)
    expression = typeName(to) + "(" + expression + ")";
  return expression;
}

Status PythonWriter::writeElementwise(Operation *op) {
  if (llvm::any_of(op->getOperandTypes(), isQuantized) || isQuantized(op->getResult(0).getType()))
    return writeQuantized(op);
  std::vector<std::string> operands;
  for (unsigned i = 0; i < op->getNumOperands(); ++i)
    operands.push_back(elementOperand(op, i));
  mlir::Type operandType = op->getOperand(op->getNumOperands() - 1).getType();
  Result<std::string> expression =
      elementExpression(op, operands, operandType, op->getResult(0).getType());
  if (!expression)
    return expression.error();
  return assign(op, *expression);
}

Result<std::string> PythonWriter::regionFunction(Region &region, bool mayRoundOnce) {
  Block &block = region.front();
  static const llvm::StringMap<const char *> kKnown = {
      {"add", "add"},         {"multiply", "multiply"},  {"maximum", "maximum"}, {"minimum", "minimum"},
      {"and", "logical_and"}, {"or", "logical_or"},      {"xor", "logical_xor"}};
  Operation *first = &block.front();
  if (block.getNumArguments() == 2 && std::next(block.begin()) != block.end() &&
      &*std::next(block.begin()) == block.getTerminator() && first->getNumOperands() == 2 &&
      first->getOperand(0) == block.getArgument(0) && first->getOperand(1) == block.getArgument(1) &&
      block.getTerminator()->getOperand(0) == first->getResult(0) &&
      first->getName().getDialectNamespace() == "stablehlo") {
    DType type = computedType(first->getResult(0).getType());
    if (const char *known = kKnown.lookup(first->getName().stripDialect());
        known && (mayRoundOnce || !isNarrow(type)) &&
        !(type == DType::I1 && first->getName().stripDialect() != "or" &&
          first->getName().stripDialect() != "and" && first->getName().stripDialect() != "xor"))
      return std::string(known);
    if (type == DType::I1 && (isa<stablehlo::AddOp, stablehlo::MaximumOp>(first)))
      return std::string("logical_or");
    if (type == DType::I1 && (isa<stablehlo::MultiplyOp, stablehlo::MinimumOp>(first)))
      return std::string("logical_and");
  }
  bool isElementwiseOnly = llvm::all_of(block.without_terminator(), [](Operation &op) {
    return isElementwise(&op) || isa<stablehlo::ConstantOp>(op);
  });
  std::string name = scope.numbered("body");
  std::vector<std::string> arguments;
  for (BlockArgument argument : block.getArguments())
    arguments.push_back(newName(argument, "x"));
  if (!isElementwiseOnly)
    line("@each_element");
  line("def " + name + "(" + llvm::join(arguments, ", ") + "):");
  ++depth;
  auto outer = onReturn;
  onReturn = [this](Operation *op) -> Status {
    std::vector<std::string> values;
    for (mlir::Value operand : op->getOperands())
      values.push_back(nameOf(operand));
    line("return " + llvm::join(values, ", "));
    return {};
  };
  Status status = writeBlock(block);
  onReturn = outer;
  --depth;
  if (!status)
    return status.error();
  return name;
}

std::vector<std::string> PythonWriter::groupedOperands(Operation *op) {
  auto texts = [&](auto values) {
    std::vector<std::string> parts;
    for (mlir::Value value : values)
      parts.push_back(nameOf(value));
    return parts;
  };
  auto operands = op->getOperands();
  if (isa<stablehlo::ConcatenateOp, stablehlo::SortOp, stablehlo::MapOp>(op))
    return {tupleOf(texts(operands))};
  if (isa<stablehlo::DynamicSliceOp>(op))
    return {nameOf(operands[0]), tupleOf(texts(operands.drop_front(1)))};
  if (isa<stablehlo::DynamicUpdateSliceOp>(op))
    return {nameOf(operands[0]), nameOf(operands[1]), tupleOf(texts(operands.drop_front(2)))};
  if (isa<stablehlo::ReduceOp, stablehlo::ReduceWindowOp>(op)) {
    size_t count = operands.size() / 2;
    return {tupleOf(texts(operands.take_front(count))), tupleOf(texts(operands.drop_front(count)))};
  }
  if (auto scatter = dyn_cast<stablehlo::ScatterOp>(op))
    return {tupleOf(texts(scatter.getInputs())), nameOf(scatter.getScatterIndices()),
            tupleOf(texts(scatter.getUpdates()))};
  return texts(operands);
}

Status PythonWriter::writeOperation(Operation *op) {
  StringRef name = op->getName().stripDialect();
  if (name == "after_all" || name == "create_token") {
    setName(op->getResult(0), "None");
    return {};
  }
  if (name == "tuple")
    return assign(op, tupleOf([&] {
                    std::vector<std::string> parts;
                    for (mlir::Value operand : op->getOperands())
                      parts.push_back(nameOf(operand));
                    return parts;
                  }()));
  if (auto get = dyn_cast<stablehlo::GetTupleElementOp>(op)) {
    setName(op->getResult(0), nameOf(op->getOperand(0)) + "[" + std::to_string(get.getIndex()) + "]");
    return {};
  }
  if (llvm::any_of(op->getOperandTypes(), isQuantized) || llvm::any_of(op->getResultTypes(), isQuantized))
    return writeQuantized(op);
  Result<OpCall> call = callOf(op);
  if (!call)
    return call.error().within(reference::describeLocation(op->getLoc()));
  std::vector<std::string> parts = groupedOperands(op);
  for (const OpArgument &argument : call->arguments)
    parts.push_back(argumentText(argument));
  static const llvm::StringMap<const char *> kRegions = {{"sort", "comparator"}};
  for (Region &region : op->getRegions()) {
    bool sums = isa<stablehlo::ReduceOp>(op);
    Result<std::string> body = regionFunction(region, sums);
    if (!body)
      return body.error();
    std::string label = "body";
    if (isa<stablehlo::SelectAndScatterOp>(op))
      label = region.getRegionNumber() == 0 ? "select" : "scatter";
    else if (const char *other = kRegions.lookup(name))
      label = other;
    parts.push_back(label + "=" + *body);
  }
  // A scalar spread over a tensor stays a scalar for elementwise operations.
  if (auto broadcast = dyn_cast<stablehlo::BroadcastInDimOp>(op);
      broadcast && broadcast.getOperand().getType().getRank() == 0)
    scalars[op->getResult(0)] = nameOf(op->getOperand(0));
  std::string expression = call->function + "(" + llvm::join(parts, ", ") + ")";
  usesRandom |= isa<stablehlo::RngOp>(op);
  if (call->moves)
    return assign(op, expression);
  // Results that are held wider than they are must be rounded.
  if (op->getNumResults() == 1) {
    DType type = computedType(op->getResult(0).getType());
    if (isNarrow(type))
      expression = typeName(type) + "(" + expression + ")";
    return assign(op, expression);
  }
  if (Status status = assign(op, expression); !status)
    return status;
  for (OpResult result : op->getResults())
    if (DType type = computedType(result.getType()); isNarrow(type))
      line(nameOf(result) + " = " + typeName(type) + "(" + nameOf(result) + ")");
  return {};
}

} // namespace cupel::compiler::standalone
