// What ops of the dialect do beyond their generated code: builders, names of results, effects, and
// the text of the three ops whose syntax no format string can express (constant, reduce, while).

#include "cupel/ir/stablehlo/Assembly.h"
#include "cupel/ir/stablehlo/Stablehlo.h"

using namespace mlir;

namespace cupel::stablehlo {

//===----------------------------------------------------------------------===//
// Builders
//===----------------------------------------------------------------------===//

void ConvertOp::build(OpBuilder &builder, OperationState &state, Value operand, Type elementType) {
  auto type = cast<RankedTensorType>(operand.getType());
  build(builder, state, type.clone(elementType), operand);
}

void CompareOp::build(OpBuilder &builder, OperationState &state, Value lhs, Value rhs,
                      ComparisonDirection direction, ComparisonType type) {
  auto typeAttr = type == ComparisonType::NOTYPE
                      ? ComparisonTypeAttr()
                      : ComparisonTypeAttr::get(builder.getContext(), type);
  build(builder, state, lhs, rhs, ComparisonDirectionAttr::get(builder.getContext(), direction),
        typeAttr);
}

//===----------------------------------------------------------------------===//
// constant
//===----------------------------------------------------------------------===//

void ConstantOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  auto tensor = dyn_cast<ShapedType>(getType());
  bool integer = tensor && isa<IntegerType>(tensor.getElementType());
  setName(getResult(), integer ? "c" : "cst");
}

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

LogicalResult ConstantOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                           ValueRange operands, DictionaryAttr attributes,
                                           OpaqueProperties properties, RegionRange regions,
                                           SmallVectorImpl<Type> &results) {
  Adaptor adaptor(operands, attributes, properties, regions);
  auto value = dyn_cast_if_present<ElementsAttr>(adaptor.getValueAttr());
  if (!value)
    return emitOptionalError(location, "constant needs a value");
  results.push_back(value.getType());
  return success();
}

bool ConstantOp::isCompatibleReturnTypes(TypeRange inferred, TypeRange actual) {
  if (inferred.size() != 1 || actual.size() != 1)
    return false;
  auto value = dyn_cast<RankedTensorType>(inferred.front());
  auto result = dyn_cast<RankedTensorType>(actual.front());
  if (!value || !result)
    return false;
  // A quantized tensor is written down as the integers it stores.
  if (auto quantized = dyn_cast<quant::QuantizedType>(result.getElementType()))
    return value.getShape() == result.getShape() &&
           (value.getElementType() == quantized.getStorageType() ||
            (!quantized.isSigned() &&
             value.getElementType().isUnsignedInteger(quantized.getStorageTypeIntegralWidth())) ||
            value.getElementType() == quantized);
  return value == result;
}

void ConstantOp::print(OpAsmPrinter &printer) {
  if (getValue().getType() == getType()) {
    printer.printOptionalAttrDict((*this)->getAttrs(), {"value"});
    printer << ' ';
    printer.printAttribute(getValue());
    return;
  }
  printer << "()";
  printer.printOptionalAttrDict((*this)->getAttrs());
  printer << " : () -> " << getType();
}

ParseResult ConstantOp::parse(OpAsmParser &parser, OperationState &result) {
  if (succeeded(parser.parseOptionalLParen())) {
    FunctionType type;
    SMLoc loc;
    if (parser.parseRParen())
      return failure();
    // Newer MLIR prints the value among properties, `<{value = ...}>`.
    if (succeeded(parser.parseOptionalLess()) &&
        (parser.parseOptionalAttrDict(result.attributes) || parser.parseGreater()))
      return failure();
    if (parser.parseOptionalAttrDict(result.attributes) || parser.parseColon() ||
        parser.getCurrentLocation(&loc) || parser.parseType(type))
      return failure();
    if (type.getNumInputs() != 0 || type.getNumResults() != 1)
      return parser.emitError(loc, "expected a type of the form () -> tensor, but got ") << type;
    result.addTypes(type.getResults());
    return success();
  }
  ElementsAttr value;
  if (parser.parseOptionalAttrDict(result.attributes) ||
      parser.parseAttribute(value, "value", result.attributes))
    return failure();
  result.addTypes(value.getType());
  return success();
}

//===----------------------------------------------------------------------===//
// reduce
//===----------------------------------------------------------------------===//

/// The op that is the whole body, if the compact form can express it: one commutative op on the two
/// block arguments in order.
static Operation *compactBody(ReduceOp reduce) {
  if (reduce.getInputs().size() != 1 || !reduce.getBody().hasOneBlock())
    return nullptr;
  Block &block = reduce.getBody().front();
  if (block.getNumArguments() != 2 || block.getOperations().size() != 2)
    return nullptr;
  Operation &inner = block.front();
  auto terminator = dyn_cast<ReturnOp>(block.back());
  auto input = dyn_cast<RankedTensorType>(reduce.getInputs().front().getType());
  if (!terminator || !input)
    return nullptr;
  Type scalar = RankedTensorType::get({}, input.getElementType());
  auto isScalar = [&](Type type) { return type == scalar; };
  bool eligible =
      isa_and_present<StablehloDialect>(inner.getDialect()) &&
      inner.hasTrait<OpTrait::IsCommutative>() && inner.getNumOperands() == 2 &&
      inner.getNumResults() == 1 && inner.getNumRegions() == 0 &&
      inner.getAttrDictionary().empty() && llvm::all_of(block.getArgumentTypes(), isScalar) &&
      isScalar(inner.getResult(0).getType()) && inner.getOperand(0) == block.getArgument(0) &&
      inner.getOperand(1) == block.getArgument(1) && terminator->getNumOperands() == 1 &&
      terminator->getOperand(0) == inner.getResult(0) && terminator->getAttrDictionary().empty();
  return eligible ? &inner : nullptr;
}

void ReduceOp::print(OpAsmPrinter &printer) {
  printer << '(';
  llvm::interleave(
      llvm::zip_equal(getInputs(), getInitValues()),
      [&](auto pair) { printer << std::get<0>(pair) << " init: " << std::get<1>(pair); },
      [&] { printer << "), ("; });
  printer << ')';
  Operation *inner = compactBody(*this);
  if (inner) {
    printer << " applies ";
    printer.printKeywordOrString(inner->getName().getStringRef());
  }
  printer << " across dimensions = ";
  printDims(printer, getDimensions());
  printer.printOptionalAttrDict((*this)->getAttrs(), {"dimensions"});
  printer << " : ";
  printer.printFunctionalType(*this);
  if (inner)
    return;
  printer.printNewline();
  printer << " reducer";
  Block &block = getBody().front();
  unsigned count = getInputs().size();
  for (unsigned i = 0; i < count && i + count < block.getNumArguments(); ++i) {
    printer << '(';
    printer.printRegionArgument(block.getArgument(i));
    printer << ", ";
    printer.printRegionArgument(block.getArgument(i + count));
    printer << ") ";
  }
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

/// Builds the body that `applies stablehlo.add` stands for.
static ParseResult buildCompactBody(OpAsmParser &parser, SMLoc nameLoc, OperationName innerName,
                                    Type inputType, Location loc, Region &body) {
  if (innerName.getDialectNamespace() != StablehloDialect::getDialectNamespace() ||
      !innerName.isRegistered() || !innerName.hasTrait<OpTrait::IsCommutative>())
    return parser.emitError(nameLoc, "expected a commutative stablehlo op after 'applies', but "
                                     "got '")
           << innerName.getStringRef() << "'";
  auto tensor = dyn_cast<RankedTensorType>(inputType);
  if (!tensor)
    return parser.emitError(nameLoc, "expected a ranked tensor to reduce, but got ") << inputType;
  Type scalar = RankedTensorType::get({}, tensor.getElementType());
  Block &block = body.emplaceBlock();
  block.addArguments({scalar, scalar}, {loc, loc});
  // The region has no parent yet that a builder could take the context from.
  OpBuilder builder(parser.getContext());
  builder.setInsertionPointToEnd(&block);
  OperationState state(loc, innerName);
  state.addOperands(block.getArguments());
  state.addTypes(scalar);
  Operation *inner = builder.create(state);
  builder.create<ReturnOp>(loc, inner->getResults());
  return success();
}

ParseResult ReduceOp::parse(OpAsmParser &parser, OperationState &result) {
  SMLoc operandLoc = parser.getCurrentLocation();
  Location loc = parser.getEncodedSourceLoc(operandLoc);
  SmallVector<OpAsmParser::UnresolvedOperand> inputs, inits;
  do {
    if (parser.parseLParen() || parser.parseOperand(inputs.emplace_back()) ||
        parser.parseKeyword("init") || parser.parseColon() ||
        parser.parseOperand(inits.emplace_back()) || parser.parseRParen())
      return failure();
  } while (succeeded(parser.parseOptionalComma()));
  SMLoc nameLoc;
  std::optional<OperationName> innerName;
  if (succeeded(parser.parseOptionalKeyword("applies"))) {
    nameLoc = parser.getCurrentLocation();
    FailureOr<OperationName> name = parser.parseCustomOperationName();
    if (failed(name))
      return failure();
    if (inputs.size() != 1)
      return parser.emitError(nameLoc, "'applies' reduces exactly one input, but got ")
             << inputs.size();
    innerName = *name;
  }
  SmallVector<int64_t> dims;
  if (parser.parseKeyword("across") || parser.parseKeyword("dimensions") || parser.parseEqual() ||
      parseDims(parser, dims) || parser.parseOptionalAttrDict(result.attributes))
    return failure();
  result.addAttribute("dimensions", parser.getBuilder().getDenseI64ArrayAttr(dims));
  FunctionType type;
  SMLoc typeLoc;
  if (parser.parseColon() || parser.getCurrentLocation(&typeLoc) || parser.parseType(type))
    return failure();
  inputs.append(inits);
  if (parser.resolveOperands(inputs, type.getInputs(), operandLoc, result.operands))
    return failure();
  result.addTypes(type.getResults());
  Region *body = result.addRegion();

  if (innerName)
    return buildCompactBody(parser, nameLoc, *innerName, type.getInput(0), loc, *body);

  // Each group of arguments holds those of one input: its accumulator and its element.
  SmallVector<OpAsmParser::Argument> accumulators, elements;
  if (parser.parseKeyword("reducer"))
    return failure();
  while (succeeded(parser.parseOptionalLParen())) {
    if (parser.parseArgument(accumulators.emplace_back(), /*allowType=*/true) ||
        parser.parseComma() || parser.parseArgument(elements.emplace_back(), /*allowType=*/true) ||
        parser.parseRParen())
      return failure();
  }
  accumulators.append(elements);
  return parser.parseRegion(*body, accumulators, /*enableNameShadowing=*/false);
}

//===----------------------------------------------------------------------===//
// while
//===----------------------------------------------------------------------===//

void WhileOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  if (region.empty())
    return;
  for (BlockArgument argument : region.front().getArguments())
    setName(argument, "iterArg");
}

void WhileOp::print(OpAsmPrinter &printer) {
  printer << '(';
  llvm::interleaveComma(llvm::zip(getBody().front().getArguments(), getOperands()), printer,
                        [&](auto pair) {
                          printer.printOperand(std::get<0>(pair));
                          printer << " = ";
                          printer.printOperand(std::get<1>(pair));
                        });
  printer << ')';
  if (getNumOperands() != 0) {
    printer << " : ";
    llvm::interleaveComma(getOperandTypes(), printer);
  }
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs());
  printer.printNewline();
  printer << " cond ";
  printer.printRegion(getCond(), /*printEntryBlockArgs=*/false);
  printer << " do ";
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

ParseResult WhileOp::parse(OpAsmParser &parser, OperationState &result) {
  SMLoc loc = parser.getCurrentLocation();
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  SmallVector<OpAsmParser::Argument> arguments;
  SmallVector<Type> types;
  auto binding = [&]() -> ParseResult {
    return failure(parser.parseArgument(arguments.emplace_back()) || parser.parseEqual() ||
                   parser.parseOperand(operands.emplace_back()));
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, binding))
    return failure();
  if (!operands.empty()) {
    if (parser.parseColon() || parser.parseTypeList(types))
      return failure();
    if (types.size() != operands.size())
      return parser.emitError(loc, "expected one type for each of the ")
             << operands.size() << " operands, but got " << types.size();
  }
  if (parser.resolveOperands(operands, types, loc, result.operands) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes))
    return failure();
  result.addTypes(types);
  for (auto [argument, type] : llvm::zip_equal(arguments, types)) {
    argument.type = type;
    argument.sourceLoc = parser.getEncodedSourceLoc(loc);
  }
  Region *cond = result.addRegion();
  Region *body = result.addRegion();
  return failure(parser.parseKeyword("cond") || parser.parseRegion(*cond, arguments) ||
                 parser.parseKeyword("do") || parser.parseRegion(*body, arguments));
}

//===----------------------------------------------------------------------===//
// custom_call
//===----------------------------------------------------------------------===//

void CustomCallOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  if (!getHasSideEffect())
    return;
  effects.emplace_back(MemoryEffects::Allocate::get());
  effects.emplace_back(MemoryEffects::Free::get());
  effects.emplace_back(MemoryEffects::Write::get());
  effects.emplace_back(MemoryEffects::Read::get());
}

} // namespace cupel::stablehlo
