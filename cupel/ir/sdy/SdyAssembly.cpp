#include "cupel/ir/sdy/SdyAssembly.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace cupel::sdy {

//===--------------------------------------------------------------------------------------------===//
// Shardings
//===--------------------------------------------------------------------------------------------===//

/// Reads `p<number>` after the brace that closes a dimension, if it is there.
static ParseResult parseOptionalPriority(AsmParser &parser, std::optional<int64_t> &priority) {
  StringRef keyword;
  SMLoc loc = parser.getCurrentLocation();
  if (failed(parser.parseOptionalKeyword(&keyword)))
    return success();
  StringRef digits = keyword;
  int64_t value = 0;
  if (!digits.consume_front("p") || digits.empty() || !llvm::all_of(digits, llvm::isDigit))
    return parser.emitError(loc, "expected a priority such as `p1`, got `") << keyword << "`";
  if (digits.size() > 1 && digits.front() == '0')
    return parser.emitError(loc, "a priority must not have leading zeros, got `") << keyword << "`";
  if (digits.getAsInteger(10, value))
    return parser.emitError(loc, "the priority `") << keyword << "` does not fit 64 bits";
  priority = value;
  return success();
}

Attribute DimensionShardingAttr::parse(AsmParser &parser, Type) {
  SmallVector<AxisRefAttr> axes;
  bool isClosed = true;
  if (parser.parseLBrace())
    return {};
  while (failed(parser.parseOptionalRBrace())) {
    if (!axes.empty() && parser.parseComma())
      return {};
    if (succeeded(parser.parseOptionalQuestion())) {
      isClosed = false;
      if (parser.parseRBrace())
        return {};
      break;
    }
    auto axis = FieldParser<AxisRefAttr>::parse(parser);
    if (failed(axis))
      return {};
    axes.push_back(*axis);
  }
  std::optional<int64_t> priority;
  if (parseOptionalPriority(parser, priority))
    return {};
  return get(parser.getContext(), axes, isClosed, priority);
}

void DimensionShardingAttr::print(AsmPrinter &printer) const {
  printer << "{";
  printer.printStrippedAttrOrType(getAxes());
  if (!getIsClosed())
    printer << (getAxes().empty() ? "?" : ", ?");
  printer << "}";
  if (getPriority())
    printer << "p" << *getPriority();
}

ParseResult parseMeshOrRef(AsmParser &parser, Attribute &meshOrRef) {
  if (succeeded(parser.parseOptionalKeyword(MeshAttr::getMnemonic()))) {
    auto mesh = FieldParser<MeshAttr>::parse(parser);
    if (failed(mesh))
      return failure();
    meshOrRef = *mesh;
    return success();
  }
  StringAttr name;
  if (failed(parser.parseOptionalSymbolName(name)))
    return parser.emitError(parser.getCurrentLocation(),
                            "expected a mesh: its name such as `@mesh`, or `mesh<[...]>`");
  meshOrRef = FlatSymbolRefAttr::get(name);
  return success();
}

void printMeshOrRef(AsmPrinter &printer, Attribute meshOrRef) {
  if (auto mesh = dyn_cast<MeshAttr>(meshOrRef)) {
    printer << MeshAttr::getMnemonic();
    printer.printStrippedAttrOrType(mesh);
    return;
  }
  printer << meshOrRef;
}

static ParseResult parseAxisList(AsmParser &parser, SmallVectorImpl<AxisRefAttr> &axes) {
  if (parser.parseLBrace())
    return failure();
  auto parsed = FieldParser<SmallVector<AxisRefAttr>>::parse(parser);
  if (failed(parsed) || parser.parseRBrace())
    return failure();
  axes.assign(parsed->begin(), parsed->end());
  return success();
}

ParseResult parseReplicatedAndUnreducedAxes(AsmParser &parser,
                                            SmallVectorImpl<AxisRefAttr> &replicatedAxes,
                                            SmallVectorImpl<AxisRefAttr> &unreducedAxes,
                                            ReductionOp &reductionOp) {
  reductionOp = ReductionOp::Sum;
  while (succeeded(parser.parseOptionalComma())) {
    SMLoc loc = parser.getCurrentLocation();
    if (replicatedAxes.empty() && succeeded(parser.parseOptionalKeyword("replicated"))) {
      if (parser.parseEqual() || parseAxisList(parser, replicatedAxes))
        return failure();
      continue;
    }
    if (unreducedAxes.empty() && succeeded(parser.parseOptionalKeyword("unreduced"))) {
      // Some writers leave the equal sign out.
      StringRef kind;
      if (succeeded(parser.parseOptionalEqual()) &&
          succeeded(parser.parseOptionalKeyword(&kind, {"sum", "max", "min"})))
        reductionOp = *symbolizeReductionOp(kind);
      if (parseAxisList(parser, unreducedAxes))
        return failure();
      continue;
    }
    return parser.emitError(loc, "expected `replicated={...}` or `unreduced={...}`, each at most "
                                 "once");
  }
  return success();
}

void printReplicatedAndUnreducedAxes(AsmPrinter &printer, ArrayRef<AxisRefAttr> replicatedAxes,
                                     ArrayRef<AxisRefAttr> unreducedAxes, ReductionOp reductionOp) {
  if (!replicatedAxes.empty()) {
    printer << ", replicated={";
    printer.printStrippedAttrOrType(replicatedAxes);
    printer << "}";
  }
  if (!unreducedAxes.empty()) {
    printer << ", unreduced=";
    if (reductionOp != ReductionOp::Sum)
      printer << stringifyReductionOp(reductionOp);
    printer << "{";
    printer.printStrippedAttrOrType(unreducedAxes);
    printer << "}";
  }
}

//===--------------------------------------------------------------------------------------------===//
// Sharding rules
//===--------------------------------------------------------------------------------------------===//

/// The index of the factor that `z` stands for; `z_1` is the next.
static constexpr int64_t kIndexOfZ = 'z' - 'i';

std::string getFactorSymbol(int64_t factorIndex) {
  if (factorIndex <= kIndexOfZ)
    return std::string(1, static_cast<char>('i' + factorIndex));
  return "z_" + std::to_string(factorIndex - kIndexOfZ);
}

/// Takes the first factor off `symbols`, which is a run of symbols such as `ijz_3k`.
static FailureOr<int64_t> consumeFactorSymbol(AsmParser &parser, SMLoc loc, StringRef &symbols) {
  if (symbols.consume_front("z_")) {
    StringRef digits = symbols.take_while(llvm::isDigit);
    int64_t number = 0;
    if (digits.empty() || digits.front() == '0' || digits.getAsInteger(10, number) ||
        number > std::numeric_limits<int64_t>::max() - kIndexOfZ)
      return parser.emitError(loc, "expected a positive number without leading zeros after `z_`"),
             failure();
    symbols = symbols.drop_front(digits.size());
    return number + kIndexOfZ;
  }
  char symbol = symbols.empty() ? '\0' : symbols.front();
  if (symbol < 'i' || symbol > 'z')
    return parser.emitError(loc, "expected a factor from `i` to `z`, got `") << symbols << "`",
           failure();
  symbols = symbols.drop_front();
  return symbol - 'i';
}

/// Reads a keyword that is the symbol of exactly one factor.
static FailureOr<int64_t> parseOneFactor(AsmParser &parser) {
  StringRef symbols;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&symbols))
    return failure();
  FailureOr<int64_t> index = consumeFactorSymbol(parser, loc, symbols);
  if (succeeded(index) && !symbols.empty())
    return parser.emitError(loc, "expected a single factor, but `") << symbols << "` follows it",
           failure();
  return index;
}

Attribute DimMappingAttr::parse(AsmParser &parser, Type) {
  StringRef symbols;
  SMLoc loc = parser.getCurrentLocation();
  if (failed(parser.parseOptionalKeyword(&symbols))) {
    parser.emitError(loc, "expected the factors of a dimension, such as `i` or `ij`");
    return {};
  }
  SmallVector<int64_t> indices;
  while (!symbols.empty()) {
    FailureOr<int64_t> index = consumeFactorSymbol(parser, loc, symbols);
    if (failed(index))
      return {};
    indices.push_back(*index);
  }
  return parser.getChecked<DimMappingAttr>(loc, parser.getContext(), ArrayRef<int64_t>(indices));
}

void DimMappingAttr::print(AsmPrinter &printer) const {
  for (int64_t index : getFactorIndices())
    printer << getFactorSymbol(index);
}

ParseResult parseFactorSizes(AsmParser &parser, SmallVectorImpl<int64_t> &factorSizes) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::OptionalBraces, [&]() -> ParseResult {
    SMLoc loc = parser.getCurrentLocation();
    FailureOr<int64_t> index = parseOneFactor(parser);
    if (failed(index))
      return failure();
    if (*index != static_cast<int64_t>(factorSizes.size()))
      return parser.emitError(loc, "factors must be listed in order: expected `")
             << getFactorSymbol(factorSizes.size()) << "`, got `" << getFactorSymbol(*index) << "`";
    return failure(parser.parseEqual() || parser.parseInteger(factorSizes.emplace_back()));
  });
}

void printFactorSizes(AsmPrinter &printer, ArrayRef<int64_t> factorSizes) {
  if (factorSizes.empty())
    return;
  printer << " {";
  int64_t index = 0;
  llvm::interleaveComma(factorSizes, printer,
                        [&](int64_t size) { printer << getFactorSymbol(index++) << "=" << size; });
  printer << "}";
}

ParseResult parseFactorsWithType(AsmParser &parser, SmallVectorImpl<int64_t> &factors,
                                 StringRef type) {
  if (failed(parser.parseOptionalKeyword(type)))
    return success();
  if (parser.parseEqual())
    return failure();
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::OptionalBraces, [&]() -> ParseResult {
    FailureOr<int64_t> index = parseOneFactor(parser);
    if (failed(index))
      return failure();
    factors.push_back(*index);
    return success();
  });
}

void printFactorsWithType(AsmPrinter &printer, ArrayRef<int64_t> factors, StringRef type) {
  if (factors.empty())
    return;
  printer << " " << type << "={";
  llvm::interleaveComma(factors, printer,
                        [&](int64_t factor) { printer << getFactorSymbol(factor); });
  printer << "}";
}

ParseResult parseIsCustomRule(AsmParser &parser, bool &isCustomRule) {
  isCustomRule = succeeded(parser.parseOptionalComma());
  return isCustomRule ? parser.parseKeyword("custom") : success();
}

void printIsCustomRule(AsmPrinter &printer, bool isCustomRule) {
  if (isCustomRule)
    printer << ", custom";
}

//===--------------------------------------------------------------------------------------------===//
// Ops
//===--------------------------------------------------------------------------------------------===//

ParseResult parseStrippedTensorShardingPerValue(AsmParser &parser,
                                                TensorShardingPerValueAttr &shardings) {
  SmallVector<TensorShardingAttr> parsed;
  auto parseOne = [&]() -> ParseResult {
    auto sharding = FieldParser<TensorShardingAttr>::parse(parser);
    if (failed(sharding))
      return failure();
    parsed.push_back(*sharding);
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseOne))
    return failure();
  shardings = TensorShardingPerValueAttr::get(parser.getContext(), parsed);
  return success();
}

void printStrippedTensorShardingPerValue(AsmPrinter &printer, Operation *,
                                         TensorShardingPerValueAttr shardings) {
  printer << "[";
  printer.printStrippedAttrOrType(shardings.getShardings());
  printer << "]";
}

ParseResult parseSingleBlockRegion(OpAsmParser &parser, Region &region) {
  SmallVector<OpAsmParser::Argument> arguments;
  if (parser.parseArgumentList(arguments, OpAsmParser::Delimiter::Paren, /*allowType=*/true,
                               /*allowAttrs=*/true))
    return failure();
  return parser.parseRegion(region, arguments);
}

void printSingleBlockRegion(OpAsmPrinter &printer, Operation *, Region &region) {
  printer << "(";
  llvm::interleaveComma(region.getArguments(), printer,
                        [&](BlockArgument argument) { printer.printRegionArgument(argument); });
  printer << ") ";
  printer.printRegion(region, /*printEntryBlockArgs=*/false, /*printBlockTerminators=*/true);
}

ParseResult ConstantOp::parse(OpAsmParser &parser, OperationState &result) {
  // A result type that differs from the value's, as quantized ones do, is spelled in generic form.
  if (succeeded(parser.parseOptionalLParen())) {
    if (parser.parseRParen())
      return failure();
    ElementsAttr value;
    NamedAttrList properties;
    SMLoc loc = parser.getCurrentLocation();
    Type type;
    if (parser.parseLess() || parser.parseOptionalAttrDict(properties) || parser.parseGreater() ||
        parser.parseOptionalAttrDict(result.attributes) || parser.parseColon() ||
        parser.parseLParen() || parser.parseRParen() || parser.parseArrow() ||
        parser.parseType(type))
      return failure();
    value = dyn_cast_or_null<ElementsAttr>(properties.get("value"));
    if (!value || properties.getAttrs().size() != 1)
      return parser.emitError(loc, "expected `<{value = ...}>` with the elements and nothing else");
    result.getOrAddProperties<Properties>().value = value;
    result.addTypes(type);
    return success();
  }
  ElementsAttr value;
  if (parser.parseOptionalAttrDict(result.attributes) || parser.parseAttribute(value))
    return failure();
  result.getOrAddProperties<Properties>().value = value;
  result.addTypes(value.getType());
  return success();
}

void ConstantOp::print(OpAsmPrinter &printer) {
  if (getValue().getType() != getType()) {
    printer.printGenericOp(getOperation(), /*printOpName=*/false);
    return;
  }
  printer.printOptionalAttrDict((*this)->getAttrs(), /*elidedAttrs=*/{"value"});
  printer << ' ';
  printer.printStrippedAttrOrType(getValue());
}

LogicalResult ConstantOp::inferReturnTypes(MLIRContext *, std::optional<Location>, ValueRange,
                                           DictionaryAttr, OpaqueProperties properties, RegionRange,
                                           SmallVectorImpl<Type> &inferredReturnTypes) {
  ElementsAttr value = properties.as<Properties *>()->value;
  if (!value)
    return failure();
  inferredReturnTypes.push_back(value.getType());
  return success();
}

bool ConstantOp::isCompatibleReturnTypes(TypeRange inferred, TypeRange declared) {
  if (inferred.size() != 1 || declared.size() != 1)
    return false;
  auto value = dyn_cast<ShapedType>(inferred.front());
  auto result = dyn_cast<ShapedType>(declared.front());
  if (!value || !result || !value.hasRank() || !result.hasRank() ||
      value.getShape() != result.getShape())
    return false;
  if (value.getElementType() == result.getElementType())
    return true;
  // Elements of a quantized tensor are given as the integers that store them.
  auto quantized = dyn_cast<quant::QuantizedType>(result.getElementType());
  return quantized && quantized.getStorageType() == value.getElementType();
}

} // namespace cupel::sdy
