#include "cupel/compiler/standalone/CppTypes.h"

#include "llvm/ADT/StringExtras.h"

namespace cupel::compiler::standalone {

using namespace mlir;
using tensor::DType;

std::string cppType(DType type) {
  switch (type) {
  case DType::I1:
    return "bool";
  case DType::I8:
    return "int8_t";
  case DType::I16:
    return "int16_t";
  case DType::I32:
    return "int32_t";
  case DType::I64:
    return "int64_t";
  case DType::U8:
    return "uint8_t";
  case DType::U16:
    return "uint16_t";
  case DType::U32:
    return "uint32_t";
  case DType::U64:
    return "uint64_t";
  case DType::F32:
    return "float";
  case DType::F64:
    return "double";
  case DType::C64:
    return "c64";
  case DType::C128:
    return "c128";
  default:
    return std::string(tensor::info(type).name);
  }
}

DType storedAs(mlir::Type type) {
  Result<tensor::ElementType> element = elementTypeFor(type);
  return element ? element->storage : DType::F32;
}

DType computedAs(mlir::Type type) {
  Result<tensor::ElementType> element = elementTypeFor(type);
  if (!element)
    return DType::F32;
  return element->quantization ? element->quantization->expressed : element->storage;
}

std::string cppTensorType(mlir::Type type) {
  if (isa<stablehlo::TokenType>(type))
    return "Token";
  if (auto tuple = dyn_cast<TupleType>(type)) {
    std::vector<std::string> parts;
    for (mlir::Type part : tuple.getTypes())
      parts.push_back(cppTensorType(part));
    return "std::tuple<" + llvm::join(parts, ", ") + ">";
  }
  return "Tensor<" + cppType(storedAs(type)) + ">";
}

/// `number` as Python writes it.
static std::string floatLiteral(const std::string &number, const std::string &type) {
  if (number == "nan")
    return "std::numeric_limits<" + type + ">::quiet_NaN()";
  if (number == "inf")
    return "std::numeric_limits<" + type + ">::infinity()";
  if (number == "-inf")
    return "-std::numeric_limits<" + type + ">::infinity()";
  return type == "float" ? number + "f" : number;
}

std::string cppNumber(double value) { return floatLiteral(numberText(DType::F64, &value), "double"); }

std::string cppLiteral(DType type, const std::byte *element) {
  std::string name = cppType(type);
  auto part = [](DType of, const void *at) {
    return floatLiteral(numberText(of, at), of == DType::F32 ? "float" : "double");
  };
  if (type == DType::I1)
    return *reinterpret_cast<const uint8_t *>(element) ? "true" : "false";
  if (type == DType::C64)
    return "c64(" + part(DType::F32, element) + ", " + part(DType::F32, element + 4) + ")";
  if (type == DType::C128)
    return "c128(" + part(DType::F64, element) + ", " + part(DType::F64, element + 8) + ")";
  if (type == DType::F32 || type == DType::F64)
    return part(type, element);
  if (tensor::isFloat(type))
    return name + "(" + floatLiteral(numberText(type, element), "float") + ")";
  std::string number = numberText(type, element);
  if (number == "-9223372036854775808")
    number = "-9223372036854775807 - 1";
  else if (type == DType::U64)
    number += "u";
  return name + "(" + number + ")";
}

bool hasStaticShape(mlir::Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.hasStaticShape();
}

std::vector<int64_t> rowMajorSteps(ArrayRef<int64_t> shape) {
  std::vector<int64_t> steps(shape.size());
  int64_t step = 1;
  for (size_t d = shape.size(); d-- > 0; step *= shape[d])
    steps[d] = step;
  return steps;
}

} // namespace cupel::compiler::standalone
