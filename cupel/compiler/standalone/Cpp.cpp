// Functions, control flow and constants of generated C++.

#include "cupel/compiler/standalone/Cpp.h"

#include "cupel/reference/Registry.h"

#include "llvm/ADT/StringExtras.h"

namespace cupel::compiler::standalone {

using namespace mlir;
using tensor::DType;
using tensor::Tensor;

static constexpr int64_t kLongestArray = 16;

std::string CppWriter::listText(const std::vector<int64_t> &values) const {
  std::vector<std::string> parts;
  for (int64_t value : values)
    parts.push_back(std::to_string(value));
  // {} and {0} could be pointers to an overload.
  return "Dims{" + llvm::join(parts, ", ") + "}";
}

std::string CppWriter::listText(const std::vector<bool> &values) const {
  std::vector<std::string> parts;
  for (bool value : values)
    parts.push_back(boolText(value));
  return "std::vector<bool>{" + llvm::join(parts, ", ") + "}";
}

Error CppWriter::refusal(Operation *op, const std::string &why) const {
  return Error{ErrorCode::Unsupported, reference::describeLocation(op->getLoc()) + ": " +
                                           op->getName().getStringRef().str() + " " + why +
                                           " has no form in generated C++"};
}

std::vector<std::string> CppWriter::textsOf(mlir::ValueRange values) {
  std::vector<std::string> parts;
  for (mlir::Value value : values)
    parts.push_back(nameOf(value));
  return parts;
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

std::string CppWriter::tensorText(const Tensor &given) {
  Tensor value = given.withElementType(given.dtype());
  if (Result<Tensor> packed = value.contiguous())
    value = *packed;
  DType type = value.dtype();
  std::string name = cppType(type);
  std::vector<int64_t> shape(value.shape().begin(), value.shape().end());
  size_t bytes = tensor::info(type).bytes;
  if (isSplat(value)) {
    std::string literal = cppLiteral(type, value.data());
    return value.rank() == 0 ? "Tensor<" + name + ">(" + literal + ")"
                             : "ops::full<" + name + ">(" + listText(shape) + ", " + literal + ")";
  }
  if (value.size() <= kLongestArray) {
    std::vector<std::string> numbers;
    for (int64_t i = 0; i < value.size(); ++i)
      numbers.push_back(cppLiteral(type, value.data() + size_t(i) * bytes));
    return "ops::array<" + name + ">(" + listText(shape) + ", {" + llvm::join(numbers, ", ") + "})";
  }
  return "constants().get<" + name + ">(" + quotedText(keepConstant(value)) + ", " + listText(shape) + ")";
}

std::string CppWriter::constantText(stablehlo::ConstantOp op) {
  Result<Tensor> read = reference::constantTensor(op.getValue(), op.getType());
  if (!read)
    return "unknown";
  Tensor value = read->withElementType(read->dtype());
  if (Result<Tensor> packed = value.contiguous())
    value = *packed;
  if (isSplat(value)) {
    literals[op.getResult()] = cppLiteral(value.dtype(), value.data());
    if (isOnElements)
      return literals[op.getResult()];
    if (value.rank() == 0 || op.getResult().hasOneUse())
      return tensorText(value);
    // Loops take the number; the tensor is made where one is asked for.
    if (llvm::all_of(op.getResult().getUsers(), [&](Operation *user) { return isMap(user); }))
      return tensorText(value);
  }
  std::string name = scope.numbered("constant");
  line("static const " + cppTensorType(op.getType()) + " " + name + " = " + tensorText(value) + ";");
  return name;
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

std::string CppWriter::resultText(TypeRange types) const {
  std::vector<std::string> parts;
  for (mlir::Type type : types)
    parts.push_back(cppTensorType(type));
  if (parts.empty())
    return "void";
  return parts.size() == 1 ? parts[0] : "std::tuple<" + llvm::join(parts, ", ") + ">";
}

Status CppWriter::writeFunction(func::FuncOp function, bool isEntry) {
  Block &body = function.getBody().front();
  literals.clear();
  loops.clear();
  kernels.clear();
  postponed.clear();
  searched.clear();
  if (!isEntry && isElementFunction(function.getSymName()))
    return writeElementFunction(function);
  std::vector<std::string> parameters;
  bool readsInputs = false, readsWeights = false;
  if (isEntry) {
    NameScope inputs, weights;
    for (const std::string &name : options.inputNames)
      inputMembers.push_back(inputs.unique(identifierOf(name, "argument")));
    for (const std::string &name : options.weightNames)
      weightMembers.push_back(weights.unique(identifierOf(name, "weight")));
  }
  for (BlockArgument argument : body.getArguments()) {
    mlir::Type type = argument.getType();
    size_t i = argument.getArgNumber();
    if (isEntry && !isa<RankedTensorType>(type))
      return Error{ErrorCode::Unsupported,
                   "@" + function.getSymName().str() + " takes what is no tensor"};
    if (isEntry) {
      bool isInput = i < options.inputs;
      setName(argument, isInput ? "inputs." + inputMembers[i] : "weights." + weightMembers[i - options.inputs]);
      (isInput ? readsInputs : readsWeights) |= !argument.use_empty();
      continue;
    }
    std::string name = argumentName(argument);
    setName(argument, name);
    // A name that nobody uses is a warning.
    parameters.push_back("const " + cppTensorType(type) + " &" +
                         (argument.use_empty() ? "/* " + name + " */" : name) + " /* " +
                         describeType(type) + " */");
  }
  if (isEntry)
    parameters = {readsInputs ? "const Inputs &inputs" : "const Inputs &",
                  readsWeights ? "const Weights &weights" : "const Weights &"};
  text += "\nstatic " + resultText(function.getResultTypes()) + " " +
          (isEntry ? "forward" : functionName(function.getSymName())) + "(\n        " +
          llvm::join(parameters, ",\n        ") + ") {\n";
  depth = 1;
  onReturn = [this](Operation *op) -> Status {
    std::vector<std::string> values = textsOf(op->getOperands());
    if (values.size() == 1)
      line("return " + values[0] + ";");
    else if (!values.empty())
      line("return {" + llvm::join(values, ", ") + "};");
    return {};
  };
  Status status = writeBlock(body);
  depth = 0;
  text += "}\n";
  return status;
}

Status CppWriter::writeElementFunction(func::FuncOp function) {
  Block &body = function.getBody().front();
  std::vector<std::string> parameters;
  for (BlockArgument argument : body.getArguments()) {
    std::string name = argumentName(argument);
    setName(argument, name);
    parameters.push_back(cppType(storedAs(argument.getType())) + (argument.use_empty() ? "" : " " + name));
  }
  text += "\n/// Of one element.\nstatic inline " + cppType(storedAs(function.getResultTypes()[0])) + " " +
          functionName(function.getSymName()) + "(" + llvm::join(parameters, ", ") + ") {\n";
  depth = 1;
  isOnElements = true;
  onReturn = [this](Operation *op) -> Status {
    line("return " + nameOf(op->getOperand(0)) + ";");
    return {};
  };
  Status status = writeBlock(body);
  isOnElements = false;
  depth = 0;
  text += "}\n";
  return status;
}

Status CppWriter::writeReturn(Operation *op) { return onReturn(op); }

std::string CppWriter::stemOf(Operation *op) {
  auto call = dyn_cast<func::CallOp>(op);
  std::string base = call ? functionName(call.getCallee()) : identifierOf(op->getName().stripDialect(), "value");
  while (!base.empty() && base.back() == '_')
    base.pop_back();
  return base;
}

Status CppWriter::define(Operation *op, const std::string &expression) {
  mlir::Value result = op->getResult(0);
  std::string name = newName(result, stemOf(op));
  line("const " + cppTensorType(result.getType()) + " " + name + " = " + expression + ";" +
       commentText(noteOn(op)));
  return {};
}

Status CppWriter::defineAll(Operation *op, const std::string &expression) {
  if (op->getNumResults() == 1)
    return define(op, expression);
  if (op->getNumResults() == 0) {
    line(expression + ";" + commentText(noteOn(op)));
    return {};
  }
  // Names of structured bindings could not be used in loops, which are lambdas.
  std::vector<std::string> results;
  std::string stem = stemOf(op);
  for (OpResult result : op->getResults()) {
    results.push_back(newName(result, stem));
    line(cppTensorType(result.getType()) + " " + results.back() + ";");
  }
  line("std::tie(" + llvm::join(results, ", ") + ") = " + expression + ";" + commentText(noteOn(op)));
  return {};
}

Status CppWriter::writeCall(func::CallOp op) {
  if (isElementFunction(op.getCallee()))
    return writeElementwise(op);
  return defineAll(op, functionName(op.getCallee()) + "(" + llvm::join(textsOf(op.getOperands()), ", ") + ")");
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

Status CppWriter::writeWhile(stablehlo::WhileOp op) {
  std::vector<std::string> variables;
  for (auto [operand, condition, body, result] :
       llvm::zip(op->getOperands(), op.getCond().getArguments(), op.getBody().getArguments(),
                 op->getResults())) {
    std::string name = scope.numbered("state");
    line(cppTensorType(operand.getType()) + " " + name + " = " + nameOf(operand) + ";");
    variables.push_back(name);
    for (mlir::Value value : {mlir::Value(condition), mlir::Value(body), mlir::Value(result)})
      setName(value, name);
  }
  line("for (;;) {" + commentText(noteOn(op)));
  ++depth;
  auto outer = onReturn;
  onReturn = [this](Operation *end) -> Status {
    line("if (!" + nameOf(end->getOperand(0)) + ".item())");
    line("    break;");
    return {};
  };
  if (Status status = writeBlock(op.getCond().front()); !status)
    return status;
  onReturn = [this, &variables](Operation *end) -> Status {
    std::vector<std::string> changed, next;
    for (auto [i, operand] : llvm::enumerate(end->getOperands())) {
      if (nameOf(operand) == variables[i])
        continue;
      changed.push_back(variables[i]);
      next.push_back(nameOf(operand));
    }
    if (changed.size() == 1)
      line(changed[0] + " = " + next[0] + ";");
    else if (!changed.empty()) // All at once: a state may become another.
      line("std::tie(" + llvm::join(changed, ", ") + ") = std::make_tuple(" + llvm::join(next, ", ") + ");");
    return {};
  };
  Status status = writeBlock(op.getBody().front());
  onReturn = outer;
  --depth;
  line("}");
  return status;
}

Status CppWriter::writeBranches(Operation *op) {
  std::vector<std::string> results;
  std::string selector = nameOf(op->getOperand(0));
  for (OpResult result : op->getResults()) {
    results.push_back(newName(result, "chosen"));
    line(cppTensorType(result.getType()) + " " + results.back() + ";");
  }
  auto outer = onReturn;
  onReturn = [this, &results](Operation *end) -> Status {
    for (auto [i, operand] : llvm::enumerate(end->getOperands()))
      line(results[i] + " = " + nameOf(operand) + ";");
    return {};
  };
  unsigned count = op->getNumRegions();
  for (unsigned i = 0; i < count; ++i) {
    std::string head = i == 0 ? "if (" : "} else if (";
    if (isa<stablehlo::IfOp>(op))
      head = i == 0 ? "if (" + selector + ".item()) {" : "} else {";
    else if (count == 1)
      head = "{";
    else
      head = i + 1 == count ? "} else {" : head + selector + ".item() == " + std::to_string(i) + ") {";
    line(head + (i == 0 ? commentText(noteOn(op)) : ""));
    ++depth;
    if (Status status = writeBlock(op->getRegion(i).front()); !status)
      return status;
    --depth;
  }
  line("}");
  onReturn = outer;
  return {};
}

Status CppWriter::writeCheck(const std::string &function, Operation *op,
                             const std::vector<std::string> &arguments) {
  checks += function != "shape_assertion";
  std::vector<std::string> parts = arguments;
  // Numbers among the operands are elements of tensors.
  if (function == "shape_assertion")
    for (size_t i = 2; i < parts.size(); ++i)
      parts[i] = "int64_t(" + parts[i] + ".item())";
  return defineAll(op, "ops::" + function + "(" + llvm::join(parts, ", ") + ")");
}

} // namespace cupel::compiler::standalone
