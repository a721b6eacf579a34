// Quantized values of generated Python, and main.py as a whole.

#include "cupel/compiler/standalone/PythonText.h"

#include "cupel/reference/Registry.h"

#include "llvm/ADT/StringSet.h"

namespace cupel::compiler::standalone {

using namespace mlir;
using tensor::DType;

//===----------------------------------------------------------------------===//
// Quantized values
//===----------------------------------------------------------------------===//

std::string PythonWriter::quantizationName(mlir::Type type) {
  Result<tensor::ElementType> element = elementTypeFor(type);
  const tensor::Quantization &q = *element->quantization;
  std::vector<std::string> scales, zeros;
  for (double scale : q.scales)
    scales.push_back(numberText(DType::F64, &scale));
  for (int64_t zero : q.zeroPoints)
    zeros.push_back(std::to_string(zero));
  bool isPerAxis = q.axis >= 0;
  std::string made = "Quantization(" + typeName(element->storage) + ", " + typeName(q.expressed) + ", " +
                     (isPerAxis ? "[" + llvm::join(scales, ", ") + "]" : scales[0]) + ", " +
                     (isPerAxis ? "[" + llvm::join(zeros, ", ") + "]" : zeros[0]) + ", " +
                     std::to_string(q.storageMin) + ", " + std::to_string(q.storageMax) +
                     (isPerAxis ? ", " + std::to_string(q.axis) : "") + ")";
  for (auto &[text, name] : quantizations)
    if (text == made)
      return name;
  quantizations.emplace_back(made, "Q" + std::to_string(quantizations.size()));
  return quantizations.back().second;
}

Status PythonWriter::writeQuantized(Operation *op) {
  static const llvm::StringSet<> kMoves = {
      "transpose", "reshape", "broadcast_in_dim", "dynamic_broadcast_in_dim", "slice", "dynamic_slice",
      "dynamic_update_slice", "concatenate", "reverse", "gather", "pad", "dynamic_reshape", "select",
      "maximum", "minimum", "clamp", "broadcast", "dynamic_pad", "dynamic_gather", "real_dynamic_slice"};
  auto refuse = [&](const std::string &why) {
    return Error{ErrorCode::Unsupported, reference::describeLocation(op->getLoc()) + ": " +
                                             op->getName().getStringRef().str() + ": " + why};
  };
  StringRef name = op->getName().stripDialect();
  mlir::Type resultType = op->getNumResults() ? op->getResult(0).getType() : mlir::Type();
  if (op->getNumResults() != 1)
    return refuse("quantized values of several results have no form in generated code");
  mlir::Type element = getElementTypeOrSelf(resultType);
  if (name == "uniform_quantize") {
    mlir::Type from = op->getOperand(0).getType();
    if (isQuantized(from))
      return assign(op, "requantize(" + nameOf(op->getOperand(0)) + ", " + quantizationName(from) + ", " +
                            quantizationName(resultType) + ")");
    return assign(op, "quantize(" + nameOf(op->getOperand(0)) + ", " + quantizationName(resultType) + ")");
  }
  if (name == "uniform_dequantize")
    return assign(op, "dequantize(" + nameOf(op->getOperand(0)) + ", " +
                          quantizationName(op->getOperand(0).getType()) + ")");
  Result<OpCall> call = callOf(op);
  if (!call)
    return call.error();
  bool isSame = llvm::all_of(op->getOperandTypes(), [&](mlir::Type type) {
    return getElementTypeOrSelf(type) == element || !isQuantized(type);
  });
  bool movesStored = isSame && kMoves.contains(name);
  bool isInteger = isa<stablehlo::AddOp, stablehlo::DotGeneralOp, stablehlo::DotOp, stablehlo::ConvolutionOp,
                       stablehlo::DynamicConvOp>(op);
  if (isInteger || op->getNumRegions())
    return refuse("on quantized values has no form in generated code");
  if (!movesStored && !isElementwise(op) && !isQuantized(resultType) && op->getNumOperands() == 0)
    return refuse("on quantized values has no form in generated code");
  std::vector<std::string> operands = movesStored && !isElementwise(op)
                                          ? groupedOperands(op)
                                          : std::vector<std::string>();
  if (operands.empty())
    for (mlir::Value operand : op->getOperands()) {
      std::string text = nameOf(operand);
      if (!movesStored && isQuantized(operand.getType()))
        text = "dequantize(" + text + ", " + quantizationName(operand.getType()) + ")";
      operands.push_back(text);
    }
  std::string expression;
  if (isElementwise(op)) {
    Result<std::string> made = elementExpression(op, operands, op->getOperand(op->getNumOperands() - 1).getType(), resultType);
    if (!made)
      return made.error();
    expression = *made;
  } else {
    for (const OpArgument &argument : call->arguments)
      operands.push_back(argumentText(argument));
    expression = call->function + "(" + llvm::join(operands, ", ") + ")";
  }
  if (!movesStored && isQuantized(resultType))
    expression = "quantize(" + expression + ", " + quantizationName(resultType) + ")";
  return assign(op, expression);
}

//===----------------------------------------------------------------------===//
// The file
//===----------------------------------------------------------------------===//

static std::string shapeText(mlir::Type type) {
  std::string result = "(";
  auto tensor = cast<RankedTensorType>(type);
  for (int64_t size : tensor.getShape())
    result += (ShapedType::isDynamic(size) ? std::string("1") : std::to_string(size)) + ", ";
  if (tensor.getRank() > 1)
    result.resize(result.size() - 2);
  else if (tensor.getRank() == 1)
    result.pop_back();
  return result + ")";
}

static std::string storedType(mlir::Type type) {
  Result<tensor::ElementType> element = elementTypeFor(type);
  return element ? typeName(element->storage) : "f32";
}

std::string PythonWriter::program(func::FuncOp entry) {
  std::string result = "#!/usr/bin/env python3\n\"\"\"" + commentText(options.model).substr(4) +
                       ", generated by `cupel codegen py`.\n\n"
                       "Needs NumPy alone. `forward` is the model; ./run calls it on what lies in tensors/.\n\"\"\"\n\n"
                       "import sys\nimport time\nfrom pathlib import Path\n\nimport numpy as np\n\nimport ops\n"
                       "from ops import *  # noqa: F403\n\nHERE = Path(__file__).resolve().parent\n";
  if (!constants.empty())
    result += "constants = load_tensors(HERE / \"tensors/constants.safetensors\")\n";
  for (auto &[made, name] : quantizations)
    result += name + " = " + made + "\n";
  result += text;
  auto table = [&](const char *name, const std::vector<std::string> &keys, auto types) {
    result += std::string(name) + " = {\n";
    size_t i = 0;
    for (mlir::Type type : types) {
      if (isa<RankedTensorType>(type))
        result += "    " + quotedText(keys[i]) + ": (" + storedType(type) + ", " + shapeText(type) + "),\n";
      ++i;
    }
    result += "}\n";
  };
  result += "\n\n# What forward takes and gives: element types and shapes.\n";
  auto arguments = entry.getArgumentTypes();
  table("INPUTS", options.inputNames, arguments.take_front(options.inputs));
  table("WEIGHTS", options.weightNames, arguments.drop_front(options.inputs));
  std::vector<std::string> outputs;
  for (size_t i = 0; i < entry.getNumResults(); ++i)
    outputs.push_back(i < options.outputNames.size() && !options.outputNames[i].empty()
                          ? options.outputNames[i]
                          : "output" + std::to_string(i));
  table("OUTPUTS", outputs, entry.getResultTypes());
  result += options.exportTensors
                ? "\n\ndef load_inputs(path=HERE / \"tensors/inputs.safetensors\"):\n"
                  "    found = load_tensors(path)\n    return [found[name] for name in INPUTS]\n"
                  "\n\ndef load_weights(path=HERE / \"tensors/weights.safetensors\"):\n"
                  "    return load_tensors(path) if WEIGHTS else {}\n"
                : "\n\ndef load_inputs(path=None):\n"
                  "    if path:\n        found = load_tensors(path)\n        return [found[name] for name in INPUTS]\n"
                  "    return [ones(shape, dtype) for dtype, shape in INPUTS.values()]\n"
                  "\n\ndef load_weights(path=None):\n"
                  "    if path:\n        return load_tensors(path)\n"
                  "    return {name: ones(shape, dtype) for name, (dtype, shape) in WEIGHTS.items()}\n";
  result += "\n\ndef run(inputs, weights):\n"
            "    \"\"\"The results of forward by name.\"\"\"\n"
            "    results = forward(inputs, weights)\n"
            "    results = results if isinstance(results, tuple) else (results,)\n"
            "    return dict(zip(OUTPUTS, (x for x in results if x is not None)))\n";
  result += "\n\ndef main(arguments):\n"
            "    options = dict(zip(arguments[0::2], arguments[1::2]))\n"
            "    inputs = load_inputs(*[options[\"--inputs\"]] if \"--inputs\" in options else [])\n"
            "    weights = load_weights(*[options[\"--weights\"]] if \"--weights\" in options else [])\n"
            "    begin = time.perf_counter()\n"
            "    results = run(inputs, weights)\n"
            "    seconds = time.perf_counter() - begin\n"
            "    for name, x in results.items():\n"
            "        print(f\"{name}: {OUTPUTS[name][0]}{list(np.shape(x))} {np.array2string(np.asarray(x), threshold=8, precision=5)}\")\n";
  if (checks)
    result += "    print(f\"{ops.checks.held} checks hold\")\n";
  result += "    print(f\"{seconds * 1000:.1f} ms\")\n"
            "    if \"--save\" in options:\n"
            "        save_tensors(options[\"--save\"], {name: (x, OUTPUTS[name][0]) for name, x in results.items()})\n"
            "\n\nif __name__ == \"__main__\":\n    main(sys.argv[1:])\n";
  return result;
}

} // namespace cupel::compiler::standalone
