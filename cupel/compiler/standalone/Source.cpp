#include "cupel/compiler/standalone/Source.h"

#include "cupel/reference/Registry.h"
#include "cupel/tensor/Convert.h"

#include "cupel/ir/check/Check.h"

#include "llvm/ADT/StringExtras.h"

#include <charconv>
#include <cstring>

namespace cupel::compiler::standalone {

using namespace mlir;
using tensor::DType;
using tensor::Tensor;

std::string describeType(mlir::Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return isa<TupleType>(type) ? "tuple" : "token";
  std::string result;
  llvm::raw_string_ostream os(result);
  if (isQuantized(type)) {
    os << "quantized";
  } else if (auto complex = dyn_cast<ComplexType>(tensor.getElementType())) {
    os << (complex.getElementType().isF32() ? "c64" : "c128");
  } else {
    os << tensor.getElementType();
  }
  os << "[";
  llvm::interleave(
      tensor.getShape(), os,
      [&](int64_t size) {
        if (ShapedType::isDynamic(size))
          os << "?";
        else
          os << size;
      },
      ",");
  os << "]";
  return result;
}

bool isQuantized(mlir::Type type) {
  return isa<quant::QuantizedType>(getElementTypeOrSelf(type));
}

Result<tensor::ElementType> elementTypeFor(mlir::Type type) {
  return reference::elementTypeOf(getElementTypeOrSelf(type));
}

template <typename T> static std::string shortest(T value) {
  if (std::isnan(value))
    return "nan";
  if (std::isinf(value))
    return value < 0 ? "-inf" : "inf";
  char buffer[64];
  auto [end, error] = std::to_chars(buffer, buffer + sizeof(buffer), value);
  std::string text(buffer, end);
  if (text.find_first_of(".e") == std::string::npos)
    text += ".0";
  return text;
}

std::string numberText(DType type, const void *element) {
  switch (type) {
  case DType::I1:
    return *static_cast<const uint8_t *>(element) ? "True" : "False";
  case DType::F64:
    return shortest(*static_cast<const double *>(element));
  case DType::C64: {
    auto value = *static_cast<const std::complex<float> *>(element);
    return "complex(" + shortest(value.real()) + ", " + shortest(value.imag()) + ")";
  }
  case DType::C128: {
    auto value = *static_cast<const std::complex<double> *>(element);
    return "complex(" + shortest(value.real()) + ", " + shortest(value.imag()) + ")";
  }
  default:
    break;
  }
  if (tensor::isFloat(type)) {
    float value;
    tensor::convertElements(type, element, DType::F32, &value, 1);
    return shortest(value);
  }
  if (tensor::info(type).kind == tensor::Kind::Unsigned) {
    uint64_t value;
    tensor::convertElements(type, element, DType::U64, &value, 1);
    return std::to_string(value);
  }
  int64_t value;
  tensor::convertElements(type, element, DType::I64, &value, 1);
  return std::to_string(value);
}

bool isSplat(const Tensor &value) {
  size_t bytes = tensor::info(value.dtype()).bytes;
  for (int64_t i = 1; i < value.size(); ++i)
    if (std::memcmp(value.data(), value.data() + size_t(i) * bytes, bytes) != 0)
      return false;
  return value.size() > 0;
}

NamedTensors storable(const NamedTensors &tensors, std::map<std::string, std::string> &metadata) {
  NamedTensors result;
  for (const auto &[name, value] : tensors) {
    Tensor plain = value.withElementType(value.dtype());
    if (Result<Tensor> packed = plain.contiguous())
      plain = *packed;
    std::span<const std::byte> bytes(plain.data(), size_t(plain.byteSize()));
    tensor::Shape shape(plain.shape().begin(), plain.shape().end());
    std::optional<DType> as;
    switch (plain.dtype()) {
    case DType::I2:
    case DType::I4:
      as = DType::I8;
      break;
    case DType::U2:
    case DType::U4:
    case DType::F4E2M1FN:
    case DType::F6E2M3FN:
    case DType::F6E3M2FN:
    case DType::F8E3M4:
    case DType::F8E4M3:
    case DType::F8E4M3B11FNUZ:
      as = DType::U8;
      break;
    case DType::C128:
      as = DType::F64;
      shape.push_back(2);
      break;
    default:
      break;
    }
    if (as) {
      metadata[name] =
          plain.dtype() == DType::C128 ? "c128" : std::string(tensor::info(plain.dtype()).name);
      Result<Tensor> copy = Tensor::uninitialized(*as, shape);
      if (copy) {
        std::memcpy(copy->mutableData(), bytes.data(), bytes.size());
        plain = *copy;
      }
    }
    result.emplace_back(name, plain);
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

Status SourceWriter::writeFunctions(func::FuncOp entry) {
  llvm::StringMap<int> state;
  return visit(entry, true, state);
}

Status SourceWriter::visit(func::FuncOp function, bool isEntry, llvm::StringMap<int> &state) {
  int &mine = state[function.getSymName()];
  if (mine == 2)
    return {};
  if (mine == 1)
    return Error{ErrorCode::Unsupported,
                 "@" + function.getSymName().str() + " calls itself, which generated code cannot"};
  mine = 1;
  if (function.isExternal())
    return Error{ErrorCode::Unsupported, "@" + function.getSymName().str() + " has no body"};
  std::vector<func::FuncOp> callees;
  function.walk([&](func::CallOp call) {
    if (auto callee = module.lookupSymbol<func::FuncOp>(call.getCallee()))
      callees.push_back(callee);
  });
  for (func::FuncOp callee : callees)
    if (Status status = visit(callee, false, state); !status)
      return status;
  if (!function.getBody().hasOneBlock())
    return Error{ErrorCode::Unsupported,
                 "@" + function.getSymName().str() + " has several blocks"};
  scope = NameScope();
  names.clear();
  // "tenstorrent.layer_norm.impl" is layer_norm to a reader.
  StringRef symbol = function.getSymName();
  for (StringRef prefix : {"tenstorrent.", "cupel.", "chlo."})
    symbol.consume_front(prefix);
  symbol = symbol.substr(0, symbol.find(".impl"));
  std::string wanted = identifierOf(symbol, "function");
  functionNames[function.getSymName()] =
      isEntry ? std::string("forward") : functionScope.unique(wanted);
  for (auto &entry : functionNames)
    scope.unique(entry.second);
  ++functions;
  Status status = writeFunction(function, isEntry);
  state[function.getSymName()] = 2;
  return status;
}

std::string SourceWriter::argumentName(BlockArgument argument) {
  auto located = argument.getLoc()->findInstanceOf<NameLoc>();
  StringRef name = located ? located.getName().getValue() : "";
  // A place in a graph is no name, and of "blocks.0.norm.weight" only the end holds for every block.
  if (name.empty() || !llvm::all_of(name, [](char c) { return llvm::isAlnum(c) || c == '_' || c == '.'; }))
    return scope.numbered("x");
  SmallVector<StringRef> parts;
  name.split(parts, '.');
  size_t from = 0;
  for (size_t i = 0; i + 1 < parts.size(); ++i)
    if (!parts[i].empty() && llvm::all_of(parts[i], llvm::isDigit))
      from = i + 1;
  std::string rest = llvm::join(llvm::ArrayRef(parts).drop_front(from), "_");
  return scope.unique(identifierOf(rest, "x"));
}

void SourceWriter::line(const std::string &content) {
  text.append(size_t(depth) * 4, ' ');
  text += content;
  text += '\n';
}

std::string SourceWriter::nameOf(mlir::Value value) {
  auto found = names.find(value);
  return found == names.end() ? std::string("unknown") : found->second;
}

std::string SourceWriter::newName(mlir::Value value, StringRef stem) {
  std::string name = scope.numbered(stem);
  names[value] = name;
  return name;
}

/// "model.py:12", or what a node is called.
static std::string placeOf(Location location) {
  if (auto file = location->findInstanceOf<FileLineColLoc>()) {
    StringRef path = file.getFilename().getValue();
    return (path.substr(path.rfind('/') + 1) + ":" + Twine(file.getLine())).str();
  }
  if (auto name = location->findInstanceOf<NameLoc>())
    return name.getName().str();
  return "";
}

std::string SourceWriter::noteOn(Operation *op) const {
  std::string note;
  for (mlir::Type type : op->getResultTypes())
    note += (note.empty() ? "" : ", ") + describeType(type);
  std::string place = placeOf(op->getLoc());
  std::string clean;
  for (unsigned char c : place)
    clean += c < 32 || c == '\\' ? '?' : char(c);
  if (!clean.empty())
    note += (note.empty() ? "" : "  ") + clean;
  return note;
}

std::string SourceWriter::keepConstant(const Tensor &value) {
  std::string name = "constant_" + std::to_string(constants.size());
  constants.emplace_back(name, value);
  return name;
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

static Error refusal(Operation *op, const std::string &why) {
  return Error{ErrorCode::Unsupported, reference::describeLocation(op->getLoc()) + ": " +
                                           op->getName().getStringRef().str() + ": " + why};
}

Status SourceWriter::writeBlock(Block &block) {
  for (Operation &op : block)
    if (Status status = writeOne(&op); !status)
      return status;
  return {};
}

Status SourceWriter::writeOne(Operation *op) {
  ++operations;
  for (mlir::Type type : op->getResultTypes()) {
    if (isa<TupleType, stablehlo::TokenType>(type))
      continue;
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor)
      return refusal(op, "results of this type have no form in generated code");
    if (Result<tensor::ElementType> element = elementTypeFor(type); !element)
      return refusal(op, element.message());
  }
  StringRef name = op->getName().getStringRef();
  if (auto constant = dyn_cast<stablehlo::ConstantOp>(op)) {
    if (!op->getResult(0).use_empty())
      names[op->getResult(0)] = constantText(constant);
    return {};
  }
  if (isa<func::ReturnOp, stablehlo::ReturnOp>(op))
    return writeReturn(op);
  if (auto call = dyn_cast<func::CallOp>(op))
    return writeCall(call);
  if (auto loop = dyn_cast<stablehlo::WhileOp>(op))
    return writeWhile(loop);
  if (isa<stablehlo::IfOp, stablehlo::CaseOp>(op))
    return writeBranches(op);
  if (name == "stablehlo.optimization_barrier" || name == "sdy.sharding_constraint" ||
      name == "sdy.reshard" || name == "sdy.propagation_barrier") {
    for (auto [operand, result] : llvm::zip(op->getOperands(), op->getResults()))
      names[result] = nameOf(operand);
    return {};
  }
  if (auto call = dyn_cast<stablehlo::CustomCallOp>(op))
    return writeCustomCall(call);
  if (auto check = dyn_cast<check::ExpectEqOp>(op))
    return writeCheck("expect_eq", op, {nameOf(op->getOperand(0)), nameOf(op->getOperand(1))});
  if (auto check = dyn_cast<check::ExpectAlmostEqOp>(op))
    return writeCheck("expect_almost_eq", op,
                      {nameOf(op->getOperand(0)), nameOf(op->getOperand(1)),
                       shortest(check.getTolerance().convertToDouble())});
  if (auto check = dyn_cast<check::ExpectCloseOp>(op))
    return writeCheck("expect_close", op,
                      {nameOf(op->getOperand(0)), nameOf(op->getOperand(1)),
                       std::to_string(check.getMinUlpDifference()),
                       std::to_string(check.getMaxUlpDifference())});
  auto constantOperand = [&](ElementsAttr value) -> Result<std::string> {
    Result<Tensor> tensor = reference::constantTensor(value, op->getOperand(0).getType());
    if (!tensor)
      return tensor.error();
    return tensorText(*tensor);
  };
  if (auto check = dyn_cast<check::ExpectEqConstOp>(op)) {
    Result<std::string> expected = constantOperand(check.getValue());
    if (!expected)
      return expected.error();
    return writeCheck("expect_eq", op, {nameOf(op->getOperand(0)), *expected});
  }
  if (auto check = dyn_cast<check::ExpectAlmostEqConstOp>(op)) {
    Result<std::string> expected = constantOperand(check.getValue());
    if (!expected)
      return expected.error();
    return writeCheck("expect_almost_eq", op,
                      {nameOf(op->getOperand(0)), *expected,
                       shortest(check.getTolerance().convertToDouble())});
  }
  if (isElementwise(op))
    return writeElementwise(op);
  if (name.starts_with("stablehlo."))
    return writeOperation(op);
  return refusal(op, "has no form in generated code");
}

Status SourceWriter::writeCustomCall(stablehlo::CustomCallOp op) {
  StringRef target = op.getCallTargetName();
  auto operand = [&](unsigned i) { return nameOf(op->getOperand(i)); };
  if (target == "check.expect_eq")
    return writeCheck("expect_eq", op, {operand(0), operand(1)});
  if (target == "check.expect_close")
    return writeCheck("expect_close", op, {operand(0), operand(1), "0", "3"});
  if (target == "check.expect_almost_eq")
    return writeCheck("expect_almost_eq", op, {operand(0), operand(1), "0.001"});
  if (target == "check.eq")
    return writeCheck("check_eq", op, {operand(0), operand(1)});
  if (target == "shape_assertion" && op->getNumOperands() && !op->getNumResults()) {
    std::string message = "a shape is not as the program asks for";
    if (auto given = op->getAttrOfType<StringAttr>("error_message"))
      message = given.str();
    std::vector<std::string> arguments = {operand(0), quotedText(message)};
    for (unsigned i = 1; i < op->getNumOperands(); ++i)
      arguments.push_back(operand(i));
    return writeCheck("shape_assertion", op, arguments);
  }
  if (llvm::is_contained({"Sharding", "LayoutConstraint", "annotate_device_placement"}, target) &&
      op->getNumOperands() == 1 && op->getNumResults() == 1 &&
      op->getOperand(0).getType() == op->getResult(0).getType()) {
    names[op->getResult(0)] = operand(0);
    return {};
  }
  if ((target == "dce_sink" || target == "control_dep") && !op->getNumResults())
    return {};
  return refusal(op, "a custom call of @" + target.str() + " has no form in generated code");
}

} // namespace cupel::compiler::standalone
