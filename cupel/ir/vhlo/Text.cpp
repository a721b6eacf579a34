// The text of vhlo types and attributes, in the spelling of the StableHLO project's tools.

#include "cupel/ir/vhlo/Builtin.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace cupel::vhlo;

namespace {

//===----------------------------------------------------------------------===//
// Pieces
//===----------------------------------------------------------------------===//

void printSize(int64_t size, AsmPrinter &printer) {
  if (ShapedType::isDynamic(size))
    printer << '?';
  else
    printer << size;
}

ParseResult parseSize(AsmParser &parser, int64_t &size) {
  if (succeeded(parser.parseOptionalQuestion())) {
    size = ShapedType::kDynamic;
    return success();
  }
  return parser.parseInteger(size);
}

void printIntegers(ArrayRef<int64_t> values, AsmPrinter &printer) {
  printer << '[';
  llvm::interleaveComma(values, printer, [&](int64_t value) { printSize(value, printer); });
  printer << ']';
}

ParseResult parseIntegers(AsmParser &parser, SmallVectorImpl<int64_t> &values) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&]() -> ParseResult {
    return parseSize(parser, values.emplace_back());
  });
}

/// A floating-point number. Infinities and NaN are written as the bits of a double, so that a
/// reader needs no type to understand them.
void printFloat(const APFloat &value, AsmPrinter &printer) {
  if (value.isFinite()) {
    printer.printFloat(value);
    return;
  }
  APFloat wide = value;
  bool losesInfo;
  wide.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &losesInfo);
  printer << "0x" << llvm::toString(wide.bitcastToAPInt(), 16, /*Signed=*/false);
}

ParseResult parseDouble(AsmParser &parser, APFloat &value) {
  return parser.parseFloat(APFloat::IEEEdouble(), value);
}

ParseResult parseKeyword(AsmParser &parser, StringRef key) {
  return failure(failed(parser.parseKeyword(key)) || failed(parser.parseEqual()));
}

/// Zero or more types, as they stand inside the brackets of a list type.
ParseResult parseTypes(AsmParser &parser, AsmParser::Delimiter delimiter,
                       SmallVectorImpl<Type> &types) {
  return parser.parseCommaSeparatedList(
      delimiter, [&]() -> ParseResult { return parser.parseType(types.emplace_back()); });
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

void printTypes(ArrayRef<Type> types, AsmPrinter &printer) {
  if (types.empty())
    printer << "()";
  llvm::interleaveComma(types, printer);
}

ParseResult parseFunctionTypes(AsmParser &parser, SmallVectorImpl<Type> &inputs,
                               SmallVectorImpl<Type> &outputs) {
  // An empty list is spelled "()", also inside the parentheses of the inputs.
  auto parseEmpty = [&]() { return failed(parser.parseOptionalLParen()); };
  if (parser.parseLess() || parser.parseLParen())
    return failure();
  if (!parseEmpty()) {
    if (parser.parseRParen())
      return failure();
  } else if (failed(parseTypes(parser, AsmParser::Delimiter::None, inputs))) {
    return failure();
  }
  if (parser.parseRParen() || parser.parseArrow())
    return failure();
  if (!parseEmpty()) {
    if (parser.parseRParen())
      return failure();
  } else if (failed(parseTypes(parser, AsmParser::Delimiter::None, outputs))) {
    return failure();
  }
  return parser.parseGreater();
}

ParseResult parseRange(AsmParser &parser, int64_t &min, int64_t &max, unsigned &flags) {
  return failure(parser.parseComma() || parser.parseInteger(min) || parser.parseColon() ||
                 parser.parseInteger(max) || parser.parseComma() || parser.parseInteger(flags) ||
                 parser.parseGreater());
}

Type parseRanked(DialectAsmParser &parser, TypeCode code) {
  SmallVector<int64_t> shape;
  Type element;
  Attribute encoding;
  if (parser.parseLess() || parser.parseDimensionList(shape) || parser.parseType(element))
    return {};
  if (succeeded(parser.parseOptionalComma()) && parser.parseAttribute(encoding))
    return {};
  if (parser.parseGreater())
    return {};
  return RankedV1Type::get(parser.getContext(), code, shape, element, encoding);
}

Type parseQuantized(DialectAsmParser &parser) {
  Type storage, expressed;
  APFloat scale(0.0);
  int64_t zeroPoint, min, max;
  unsigned flags;
  if (parser.parseLess() || parser.parseType(storage) || parser.parseColon() ||
      parser.parseType(expressed) || parser.parseComma() || parseDouble(parser, scale) ||
      parser.parseColon() || parser.parseInteger(zeroPoint) || parseRange(parser, min, max, flags))
    return {};
  return QuantizedV1Type::get(parser.getContext(), flags, storage, expressed, scale, zeroPoint, min,
                              max);
}

Type parseQuantizedPerAxis(DialectAsmParser &parser) {
  Type storage, expressed;
  int64_t dimension, min, max;
  SmallVector<APFloat> scales;
  SmallVector<int64_t> zeroPoints;
  unsigned flags;
  auto parseScale = [&]() -> ParseResult {
    return parseDouble(parser, scales.emplace_back(APFloat(0.0)));
  };
  if (parser.parseLess() || parser.parseType(storage) || parser.parseColon() ||
      parser.parseType(expressed) || parser.parseComma() || parser.parseInteger(dimension) ||
      parser.parseComma() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseScale) ||
      parser.parseComma() || parseIntegers(parser, zeroPoints) ||
      parseRange(parser, min, max, flags))
    return {};
  return QuantizedPerAxisV1Type::get(parser.getContext(), flags, storage, expressed, dimension,
                                     scales, zeroPoints, min, max);
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

Attribute parseTensor(DialectAsmParser &parser) {
  SMLoc loc = parser.getCurrentLocation();
  // Elements that MLIR has no type for are written as their bytes.
  std::string hex;
  if (succeeded(parser.parseOptionalString(&hex))) {
    Type type;
    if (parser.parseColonType(type))
      return {};
    StringRef digits = hex;
    std::string bytes;
    if (!digits.consume_front("0x") || !llvm::tryGetFromHex(digits, bytes)) {
      parser.emitError(loc, "expected the bytes of a tensor as \"0x...\"");
      return {};
    }
    auto attr = TensorV1Attr::get(parser.getContext(), type, ArrayRef(bytes.data(), bytes.size()));
    if (!isWellFormed(attr)) {
      parser.emitError(loc, "the bytes do not fit the type ") << type;
      return {};
    }
    return attr;
  }
  DenseElementsAttr elements;
  if (parser.parseAttribute(elements))
    return {};
  TensorV1Attr attr = tensorFromElements(elements);
  if (!attr)
    parser.emitError(loc, "elements of type ")
        << elements.getType() << " do not exist in the portable format";
  return attr;
}

Attribute parseInteger(DialectAsmParser &parser) {
  SMLoc loc = parser.getCurrentLocation();
  IntegerAttr value;
  if (parser.parseAttribute(value))
    return {};
  ScalarV1Type type = scalarFromBuiltin(value.getType());
  if (!type) {
    parser.emitError(loc, "integers of type ")
        << value.getType() << " do not exist in the portable format";
    return {};
  }
  return IntegerV1Attr::get(parser.getContext(), type, value.getValue());
}

Attribute parseFloat(DialectAsmParser &parser) {
  SMLoc loc = parser.getCurrentLocation();
  APFloat value(0.0);
  Type type;
  if (parseDouble(parser, value) || parser.parseColonType(type))
    return {};
  auto scalar = llvm::dyn_cast<ScalarV1Type>(type);
  const llvm::fltSemantics *semantics = scalar ? semanticsOf(scalar) : nullptr;
  if (!semantics) {
    parser.emitError(loc, "expected a floating-point type that exists in MLIR, found ") << type;
    return {};
  }
  bool losesInfo;
  value.convert(*semantics, APFloat::rmNearestTiesToEven, &losesInfo);
  return FloatV1Attr::get(parser.getContext(), type, value);
}

Attribute parseDictionary(DialectAsmParser &parser) {
  SmallVector<std::pair<Attribute, Attribute>> entries;
  auto parseEntry = [&]() -> ParseResult {
    auto &entry = entries.emplace_back();
    return failure(parser.parseAttribute(entry.first) || parser.parseEqual() ||
                   parser.parseAttribute(entry.second));
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Braces, parseEntry))
    return {};
  return DictionaryV1Attr::get(parser.getContext(), entries);
}

/// The body of an attribute with parameters, between its angle brackets.
Attribute parseAttributeBody(DialectAsmParser &parser, const AttrInfo &info) {
  MLIRContext *context = parser.getContext();
  switch (info.code) {
  case AttrCode::Array: {
    SmallVector<Attribute> values;
    if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&]() -> ParseResult {
          return parser.parseAttribute(values.emplace_back());
        }))
      return {};
    return ArrayV1Attr::get(context, values);
  }
  case AttrCode::Boolean: {
    SMLoc loc = parser.getCurrentLocation();
    StringRef keyword;
    if (parser.parseKeyword(&keyword))
      return {};
    if (keyword != "true" && keyword != "false") {
      parser.emitError(loc, "expected true or false");
      return {};
    }
    return BooleanV1Attr::get(context, keyword == "true");
  }
  case AttrCode::Dictionary:
    return parseDictionary(parser);
  case AttrCode::Float:
    return parseFloat(parser);
  case AttrCode::Integer:
    return parseInteger(parser);
  case AttrCode::Tensor:
    return parseTensor(parser);
  case AttrCode::String: {
    std::string value;
    if (parser.parseString(&value))
      return {};
    return StringV1Attr::get(context, value);
  }
  case AttrCode::Type: {
    Type type;
    if (parser.parseType(type))
      return {};
    return TypeV1Attr::get(context, type);
  }
  case AttrCode::TypeExtensions: {
    SmallVector<int64_t> bounds;
    if (parseKeyword(parser, "bounds") || parseIntegers(parser, bounds))
      return {};
    return TypeExtensionsV1Attr::get(context, bounds);
  }
  case AttrCode::OutputOperandAlias: {
    SmallVector<int64_t> outputs, operands;
    int64_t index;
    if (parseKeyword(parser, "outputTupleIndices") || parseIntegers(parser, outputs) ||
        parser.parseComma() || parseKeyword(parser, "operandIndex") || parser.parseInteger(index) ||
        parser.parseComma() || parseKeyword(parser, "operandTupleIndices") ||
        parseIntegers(parser, operands))
      return {};
    return OutputOperandAliasV1Attr::get(context, outputs, index, operands);
  }
  case AttrCode::ResultAccuracy: {
    APFloat atol(0.0), rtol(0.0);
    int64_t ulps;
    Attribute mode;
    if (parseKeyword(parser, "atol") || parseDouble(parser, atol) || parser.parseComma() ||
        parseKeyword(parser, "rtol") || parseDouble(parser, rtol) || parser.parseComma() ||
        parseKeyword(parser, "ulps") || parser.parseInteger(ulps) || parser.parseComma() ||
        parseKeyword(parser, "mode") || parser.parseAttribute(mode))
      return {};
    return ResultAccuracyV1Attr::get(context, atol, rtol, ulps, mode);
  }
  case AttrCode::SubAxisInfo: {
    int64_t preSize, size;
    if (parseKeyword(parser, "pre_size") || parser.parseInteger(preSize) || parser.parseComma() ||
        parseKeyword(parser, "size") || parser.parseInteger(size))
      return {};
    return SubAxisInfoV1Attr::get(context, preSize, size);
  }
  case AttrCode::AxisRef: {
    Attribute name, subAxis;
    if (parseKeyword(parser, "name") || parser.parseAttribute(name))
      return {};
    if (succeeded(parser.parseOptionalComma()) &&
        (parseKeyword(parser, "sub_axis_info") || parser.parseAttribute(subAxis)))
      return {};
    return AxisRefV1Attr::get(context, name, subAxis);
  }
  case AttrCode::ReplicaGroupMeshAxes: {
    Attribute mesh, axes;
    if (parseKeyword(parser, "mesh") || parser.parseAttribute(mesh) || parser.parseComma() ||
        parseKeyword(parser, "axes") || parser.parseAttribute(axes))
      return {};
    return ReplicaGroupMeshAxesV1Attr::get(context, mesh, axes);
  }
  case AttrCode::MeshAxis: {
    Attribute name;
    int64_t size;
    if (parseKeyword(parser, "name") || parser.parseAttribute(name) || parser.parseComma() ||
        parseKeyword(parser, "size") || parser.parseInteger(size))
      return {};
    return MeshAxisV1Attr::get(context, name, size);
  }
  case AttrCode::Mesh: {
    Attribute axes, deviceIds;
    if (parseKeyword(parser, "axes") || parser.parseAttribute(axes))
      return {};
    if (succeeded(parser.parseOptionalComma()) &&
        (parseKeyword(parser, "device_ids") || parser.parseAttribute(deviceIds)))
      return {};
    return MeshV1Attr::get(context, axes, deviceIds);
  }
  default:
    llvm_unreachable("enumerations are parsed without angle brackets");
  }
}

void printTensor(TensorV1Attr attr, DialectAsmPrinter &printer) {
  if (DenseElementsAttr elements = tensorToElements(attr)) {
    printer << elements;
    return;
  }
  printer << "\"0x"
          << llvm::toHex(llvm::toStringRef(llvm::ArrayRef<uint8_t>(
                 reinterpret_cast<const uint8_t *>(attr.getData().data()), attr.getData().size())))
          << "\" : " << attr.getType();
}

void printInteger(IntegerV1Attr attr, DialectAsmPrinter &printer) {
  auto type = llvm::cast<ScalarV1Type>(attr.getType());
  bool isUnsigned = infoOf(type.getCode()).kind == ScalarKind::Unsigned;
  SmallString<24> digits;
  attr.getValue().toString(digits, 10, /*Signed=*/!isUnsigned);
  printer << digits << " : " << scalarToBuiltin(type);
}

void printAttributeBody(Attribute attr, DialectAsmPrinter &printer) {
  TypeSwitch<Attribute>(attr)
      .Case([&](ArrayV1Attr attr) {
        printer << '[';
        llvm::interleaveComma(attr.getValue(), printer);
        printer << ']';
      })
      .Case([&](BooleanV1Attr attr) { printer << (attr.getValue() ? "true" : "false"); })
      .Case([&](DictionaryV1Attr attr) {
        printer << '{';
        llvm::interleaveComma(attr.getValue(), printer,
                              [&](auto entry) { printer << entry.first << " = " << entry.second; });
        printer << '}';
      })
      .Case([&](FloatV1Attr attr) {
        printFloat(attr.getValue(), printer);
        printer << " : " << attr.getType();
      })
      .Case([&](IntegerV1Attr attr) { printInteger(attr, printer); })
      .Case([&](TensorV1Attr attr) { printTensor(attr, printer); })
      .Case([&](StringV1Attr attr) { printer.printString(attr.getValue()); })
      .Case([&](TypeV1Attr attr) { printer << attr.getValue(); })
      .Case([&](TypeExtensionsV1Attr attr) {
        printer << "bounds = ";
        printIntegers(attr.getBounds(), printer);
      })
      .Case([&](OutputOperandAliasV1Attr attr) {
        printer << "outputTupleIndices = ";
        printIntegers(attr.getOutputTupleIndices(), printer);
        printer << ", operandIndex = " << attr.getOperandIndex() << ", operandTupleIndices = ";
        printIntegers(attr.getOperandTupleIndices(), printer);
      })
      .Case([&](ResultAccuracyV1Attr attr) {
        printer << "atol = ";
        printFloat(attr.getAtol(), printer);
        printer << ", rtol = ";
        printFloat(attr.getRtol(), printer);
        printer << ", ulps = " << attr.getUlps() << ", mode = " << attr.getMode();
      })
      .Case([&](SubAxisInfoV1Attr attr) {
        printer << "pre_size = " << attr.getPreSize() << ", size = " << attr.getSize();
      })
      .Case([&](AxisRefV1Attr attr) {
        printer << "name = " << attr.getName();
        if (attr.getSubAxisInfo())
          printer << ", sub_axis_info = " << attr.getSubAxisInfo();
      })
      .Case([&](ReplicaGroupMeshAxesV1Attr attr) {
        printer << "mesh = " << attr.getMesh() << ", axes = " << attr.getAxes();
      })
      .Case([&](MeshAxisV1Attr attr) {
        printer << "name = " << attr.getName() << ", size = " << attr.getSize();
      })
      .Case([&](MeshV1Attr attr) {
        printer << "axes = " << attr.getAxes();
        if (attr.getDeviceIds())
          printer << ", device_ids = " << attr.getDeviceIds();
      });
}

} // namespace

Type VhloDialect::parseType(DialectAsmParser &parser) const {
  SMLoc loc = parser.getCurrentLocation();
  StringRef mnemonic;
  if (parser.parseKeyword(&mnemonic))
    return {};
  const TypeInfo *info = findType(mnemonic);
  if (!info) {
    parser.emitError(loc, "'") << mnemonic << "' is not a type of the portable format";
    return {};
  }
  MLIRContext *context = parser.getContext();
  if (info->kind != ScalarKind::Structured)
    return ScalarV1Type::get(context, info->code);

  switch (info->code) {
  case TypeCode::Complex:
  case TypeCode::UnrankedTensor: {
    Type element;
    if (parser.parseLess() || parser.parseType(element) || parser.parseGreater())
      return {};
    return WrapperV1Type::get(context, info->code, element);
  }
  case TypeCode::Tuple:
  case TypeCode::Future: {
    SmallVector<Type> types;
    if (parseTypes(parser, AsmParser::Delimiter::LessGreater, types))
      return {};
    return ListV1Type::get(context, info->code, types);
  }
  case TypeCode::Function: {
    SmallVector<Type> inputs, outputs;
    if (parseFunctionTypes(parser, inputs, outputs))
      return {};
    return FunctionV1Type::get(context, inputs, outputs);
  }
  case TypeCode::Quantized:
    return parseQuantized(parser);
  case TypeCode::QuantizedPerAxis:
    return parseQuantizedPerAxis(parser);
  default:
    return parseRanked(parser, info->code);
  }
}

void VhloDialect::printType(Type type, DialectAsmPrinter &printer) const {
  printer << typeInfoOf(type)->mnemonic;
  TypeSwitch<Type>(type)
      .Case([&](WrapperV1Type type) { printer << '<' << type.getElement() << '>'; })
      .Case([&](ListV1Type type) {
        printer << '<';
        llvm::interleaveComma(type.getTypes(), printer);
        printer << '>';
      })
      .Case([&](RankedV1Type type) {
        printer << '<';
        for (int64_t size : type.getShape()) {
          printSize(size, printer);
          printer << 'x';
        }
        printer << type.getElement();
        if (type.getEncoding())
          printer << ", " << type.getEncoding();
        printer << '>';
      })
      .Case([&](FunctionV1Type type) {
        printer << "<(";
        printTypes(type.getInputs(), printer);
        printer << ") -> ";
        printTypes(type.getOutputs(), printer);
        printer << '>';
      })
      .Case([&](QuantizedV1Type type) {
        printer << '<' << type.getStorage() << ':' << type.getExpressed() << ", ";
        printFloat(type.getScale(), printer);
        printer << ':' << type.getZeroPoint() << ", " << type.getStorageMin() << ':'
                << type.getStorageMax() << ", " << type.getFlags() << '>';
      })
      .Case([&](QuantizedPerAxisV1Type type) {
        printer << '<' << type.getStorage() << ':' << type.getExpressed() << ", "
                << type.getDimension() << ", [";
        llvm::interleaveComma(type.getScales(), printer,
                              [&](const APFloat &scale) { printFloat(scale, printer); });
        printer << "], ";
        printIntegers(type.getZeroPoints(), printer);
        printer << ", " << type.getStorageMin() << ':' << type.getStorageMax() << ", "
                << type.getFlags() << '>';
      });
}

Attribute VhloDialect::parseAttribute(DialectAsmParser &parser, Type) const {
  SMLoc loc = parser.getCurrentLocation();
  StringRef mnemonic;
  if (parser.parseKeyword(&mnemonic))
    return {};
  const AttrInfo *info = findAttr(mnemonic);
  if (!info) {
    parser.emitError(loc, "'") << mnemonic << "' is not an attribute of the portable format";
    return {};
  }
  if (info->keywords.empty()) {
    if (parser.parseLess())
      return {};
    Attribute attr = parseAttributeBody(parser, *info);
    return attr && succeeded(parser.parseGreater()) ? attr : Attribute();
  }
  loc = parser.getCurrentLocation();
  StringRef keyword;
  if (parser.parseKeyword(&keyword))
    return {};
  const auto *it = llvm::find(info->keywords, keyword);
  if (keyword.empty() || it == info->keywords.end()) {
    parser.emitError(loc, "'") << keyword << "' is not a value of " << mnemonic;
    return {};
  }
  return EnumV1Attr::get(parser.getContext(), info->code, it - info->keywords.begin());
}

void VhloDialect::printAttribute(Attribute attr, DialectAsmPrinter &printer) const {
  const AttrInfo &info = *attrInfoOf(attr);
  printer << info.mnemonic;
  if (auto value = llvm::dyn_cast<EnumV1Attr>(attr)) {
    printer << ' ' << info.keywords[value.getValue()];
    return;
  }
  printer << '<';
  printAttributeBody(attr, printer);
  printer << '>';
}
