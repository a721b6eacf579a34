#include "cupel/ir/stablehlo/Assembly.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace cupel::stablehlo {

//===----------------------------------------------------------------------===//
// Types at the end of an op
//===----------------------------------------------------------------------===//

void detail::printSameOperandsAndResultType(OpAsmPrinter &printer, ArrayRef<Type> types) {
  if (llvm::all_equal(types)) {
    printer.printType(types.back());
    return;
  }
  printer.printFunctionalType(types.drop_back(), types.take_back());
}

/// Distributes a functional type over operand types and one result type.
static ParseResult assignFunctionType(OpAsmParser &parser, SMLoc loc, FunctionType type,
                                      ArrayRef<Type *> operands, Type &result) {
  if (type.getNumInputs() != operands.size())
    return parser.emitError(loc) << operands.size() << " operands present, but expected "
                                 << type.getNumInputs();
  if (type.getNumResults() != 1)
    return parser.emitError(loc, "expected exactly one result type, but got ")
           << type.getNumResults();
  for (auto [slot, input] : llvm::zip_equal(operands, type.getInputs()))
    *slot = input;
  result = type.getResult(0);
  return success();
}

ParseResult detail::parseSameOperandsAndResultType(OpAsmParser &parser, ArrayRef<Type *> types) {
  SMLoc loc = parser.getCurrentLocation();
  Type type;
  if (parser.parseType(type))
    return failure();
  if (auto function = dyn_cast<FunctionType>(type))
    return assignFunctionType(parser, loc, function, types.drop_back(), *types.back());
  for (Type *slot : types)
    *slot = type;
  return success();
}

void printVariadicSameOperandsAndResultType(OpAsmPrinter &printer, Operation *, OperandRange,
                                            TypeRange types, Type result) {
  if (llvm::all_of(types, [&](Type type) { return type == result; })) {
    printer.printType(result);
    return;
  }
  printer.printFunctionalType(types, TypeRange(result));
}

ParseResult
parseVariadicSameOperandsAndResultType(OpAsmParser &parser,
                                       ArrayRef<OpAsmParser::UnresolvedOperand> operands,
                                       SmallVectorImpl<Type> &types, Type &result) {
  types.resize(operands.size());
  SmallVector<Type *> slots(llvm::make_pointer_range(types));
  slots.push_back(&result);
  return detail::parseSameOperandsAndResultType(parser, slots);
}

void printPairwiseOpType(OpAsmPrinter &printer, Operation *, TypeRange operands,
                         TypeRange results) {
  if (operands == results)
    llvm::interleaveComma(operands, printer);
  else
    printer.printFunctionalType(operands, results);
}

ParseResult parsePairwiseOpType(OpAsmParser &parser, SmallVectorImpl<Type> &operands,
                                SmallVectorImpl<Type> &results) {
  if (parser.parseTypeList(operands))
    return failure();
  if (operands.size() == 1)
    if (auto function = dyn_cast<FunctionType>(operands.front())) {
      results.assign(function.getResults().begin(), function.getResults().end());
      SmallVector<Type> inputs(function.getInputs());
      operands.assign(inputs.begin(), inputs.end());
      return success();
    }
  results.assign(operands.begin(), operands.end());
  return success();
}

void printTupleOpType(OpAsmPrinter &printer, Operation *, TypeRange, Type result) {
  printer.printType(result);
}

ParseResult parseTupleOpType(OpAsmParser &parser, SmallVectorImpl<Type> &operands, Type &result) {
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseType(result))
    return failure();
  auto tuple = dyn_cast<TupleType>(result);
  if (!tuple)
    return parser.emitError(loc, "expected tuple type, but got ") << result;
  llvm::append_range(operands, tuple.getTypes());
  return success();
}

/// tensor<4xcomplex<f32>> -> tensor<4xf32>; null for anything else.
static Type realPartType(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  auto complex = tensor ? dyn_cast<ComplexType>(tensor.getElementType()) : ComplexType();
  return complex ? tensor.clone(complex.getElementType()) : Type();
}

void printComplexOpType(OpAsmPrinter &printer, Operation *, Type lhs, Type rhs, Type result) {
  if (lhs == rhs && lhs == realPartType(result))
    printer.printType(result);
  else
    printer.printFunctionalType(ArrayRef<Type>{lhs, rhs}, ArrayRef<Type>{result});
}

ParseResult parseComplexOpType(OpAsmParser &parser, Type &lhs, Type &rhs, Type &result) {
  SMLoc loc = parser.getCurrentLocation();
  Type type;
  if (parser.parseType(type))
    return failure();
  if (auto function = dyn_cast<FunctionType>(type))
    return assignFunctionType(parser, loc, function, {&lhs, &rhs}, result);
  lhs = rhs = realPartType(type);
  if (!lhs)
    return parser.emitError(loc, "expected tensor with complex element type, but got ") << type;
  result = type;
  return success();
}

void printSelectOpType(OpAsmPrinter &printer, Operation *, Type pred, Type onTrue, Type onFalse,
                       Type result) {
  if (onTrue == onFalse && onTrue == result)
    printer << pred << ", " << onTrue;
  else
    printer.printFunctionalType(ArrayRef<Type>{pred, onTrue, onFalse}, ArrayRef<Type>{result});
}

ParseResult parseSelectOpType(OpAsmParser &parser, Type &pred, Type &onTrue, Type &onFalse,
                              Type &result) {
  SMLoc loc = parser.getCurrentLocation();
  SmallVector<Type> types;
  if (parser.parseTypeList(types))
    return failure();
  if (types.size() == 2) {
    pred = types[0];
    onTrue = onFalse = result = types[1];
    return success();
  }
  if (types.size() == 1)
    if (auto function = dyn_cast<FunctionType>(types[0]))
      return assignFunctionType(parser, loc, function, {&pred, &onTrue, &onFalse}, result);
  return parser.emitError(loc, "expected functional type or list of two types");
}

//===----------------------------------------------------------------------===//
// Attributes inside an op
//===----------------------------------------------------------------------===//

void printDims(AsmPrinter &printer, ArrayRef<int64_t> dims) {
  printer << '[';
  llvm::interleaveComma(dims, printer);
  printer << ']';
}

ParseResult parseDims(AsmParser &parser, SmallVectorImpl<int64_t> &dims) {
  dims.clear();
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                        [&] { return parser.parseInteger(dims.emplace_back()); });
}

void printIndexList(AsmPrinter &printer, ArrayRef<int64_t> dims) {
  llvm::interleaveComma(dims, printer);
}

ParseResult parseIndexList(AsmParser &parser, SmallVector<int64_t> &dims) {
  dims.clear();
  int64_t dim = 0;
  OptionalParseResult first = parser.parseOptionalInteger(dim);
  if (!first.has_value())
    return success();
  if (failed(*first))
    return failure();
  dims.push_back(dim);
  while (succeeded(parser.parseOptionalComma()))
    if (parser.parseInteger(dims.emplace_back()))
      return failure();
  return success();
}

void printVariadicOperandWithAttribute(OpAsmPrinter &printer, Operation *, OperandRange operands) {
  // The generated printer adds the space after the last comma.
  llvm::interleave(
      operands,
      [&](Value operand) {
        printer.printOperand(operand);
        printer << ',';
      },
      [&] { printer << ' '; });
}

ParseResult
parseVariadicOperandWithAttribute(OpAsmParser &parser,
                                  SmallVectorImpl<OpAsmParser::UnresolvedOperand> &operands) {
  OpAsmParser::UnresolvedOperand operand;
  OptionalParseResult result = parser.parseOptionalOperand(operand);
  while (result.has_value()) {
    if (failed(*result) || parser.parseComma())
      return failure();
    operands.push_back(operand);
    result = parser.parseOptionalOperand(operand);
  }
  // Newer upstream tools print a second comma where there is no operand (`%x, , sizes = []`).
  if (operands.empty())
    (void)parser.parseOptionalComma();
  return success();
}

void printExponentMantissa(AsmPrinter &printer, Operation *, IntegerAttr exponent,
                           IntegerAttr mantissa) {
  printer << 'e' << exponent.getInt() << 'm' << mantissa.getInt();
}

ParseResult parseExponentMantissa(AsmParser &parser, IntegerAttr &exponent, IntegerAttr &mantissa) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef format;
  if (parser.parseKeyword(&format))
    return failure();
  StringRef rest = format;
  int32_t exponentBits = 0, mantissaBits = 0;
  if (!rest.consume_front("e") || rest.consumeInteger(10, exponentBits) ||
      !rest.consume_front("m") || rest.consumeInteger(10, mantissaBits) || !rest.empty())
    return parser.emitError(loc, "expected a format such as e8m10, but got '") << format << "'";
  exponent = parser.getBuilder().getI32IntegerAttr(exponentBits);
  mantissa = parser.getBuilder().getI32IntegerAttr(mantissaBits);
  return success();
}

void printSliceRanges(OpAsmPrinter &printer, Operation *, DenseI64ArrayAttr starts,
                      DenseI64ArrayAttr limits, DenseI64ArrayAttr strides) {
  printer << '[';
  // The verifier sees to equal lengths; a diagnostic may print the op before that.
  size_t count = std::min({starts.size(), limits.size(), strides.size()});
  for (size_t i = 0; i < count; ++i) {
    printer << (i ? ", " : "") << starts[i] << ':' << limits[i];
    if (strides[i] != 1)
      printer << ':' << strides[i];
  }
  printer << ']';
}

ParseResult parseSliceRanges(OpAsmParser &parser, DenseI64ArrayAttr &starts,
                             DenseI64ArrayAttr &limits, DenseI64ArrayAttr &strides) {
  SmallVector<int64_t> start, limit, stride;
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
        if (parser.parseInteger(start.emplace_back()) || parser.parseColon() ||
            parser.parseInteger(limit.emplace_back()))
          return failure();
        stride.push_back(1);
        if (failed(parser.parseOptionalColon()))
          return success();
        return LogicalResult(parser.parseInteger(stride.back()));
      }))
    return failure();
  Builder &builder = parser.getBuilder();
  starts = builder.getDenseI64ArrayAttr(start);
  limits = builder.getDenseI64ArrayAttr(limit);
  strides = builder.getDenseI64ArrayAttr(stride);
  return success();
}

void printPrecisionConfig(OpAsmPrinter &printer, Operation *, ArrayAttr precision) {
  printer << '[';
  llvm::interleaveComma(precision, printer, [&](Attribute attr) {
    auto value = dyn_cast<PrecisionAttr>(attr);
    printer << (value ? stringifyPrecision(value.getValue()) : StringRef("<<invalid>>"));
  });
  printer << ']';
}

ParseResult parsePrecisionConfig(OpAsmParser &parser, ArrayAttr &precision) {
  SmallVector<Attribute> values;
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&]() -> ParseResult {
        SMLoc loc = parser.getCurrentLocation();
        StringRef keyword;
        if (parser.parseKeyword(&keyword))
          return failure();
        std::optional<Precision> value = symbolizePrecision(keyword);
        if (!value)
          return parser.emitError(loc, "expected DEFAULT, HIGH or HIGHEST, but got '")
                 << keyword << "'";
        values.push_back(PrecisionAttr::get(parser.getContext(), *value));
        return success();
      }))
    return failure();
  precision = parser.getBuilder().getArrayAttr(values);
  return success();
}

void printPrecisionConfigAndAlgorithm(OpAsmPrinter &printer, Operation *op, ArrayAttr precision,
                                      DotAlgorithmAttr algorithm) {
  if (precision) {
    printer << ", precision = ";
    printPrecisionConfig(printer, op, precision);
  }
  if (algorithm) {
    printer << ", algorithm = ";
    printer.printStrippedAttrOrType(algorithm);
  }
}

ParseResult parsePrecisionConfigAndAlgorithm(OpAsmParser &parser, ArrayAttr &precision,
                                             DotAlgorithmAttr &algorithm) {
  while (succeeded(parser.parseOptionalComma())) {
    SMLoc loc = parser.getCurrentLocation();
    StringRef keyword;
    if (parser.parseKeyword(&keyword) || parser.parseEqual())
      return failure();
    if (keyword == "precision" && !precision && !algorithm) {
      if (parsePrecisionConfig(parser, precision))
        return failure();
    } else if (keyword == "algorithm" && !algorithm) {
      auto parsed =
          llvm::dyn_cast_if_present<DotAlgorithmAttr>(DotAlgorithmAttr::parse(parser, Type()));
      if (!parsed)
        return failure();
      algorithm = parsed;
    } else {
      return parser.emitError(loc, "expected 'precision' and then 'algorithm', each at most once, "
                                   "but got '")
             << keyword << "'";
    }
  }
  return success();
}

void printDotDimensionNumbers(AsmPrinter &printer, Operation *, DotDimensionNumbersAttr numbers) {
  auto pair = [&](StringRef name, ArrayRef<int64_t> lhs, ArrayRef<int64_t> rhs) {
    printer << name << " = ";
    printDims(printer, lhs);
    printer << " x ";
    printDims(printer, rhs);
  };
  if (!numbers.getLhsBatchingDimensions().empty() || !numbers.getRhsBatchingDimensions().empty()) {
    pair("batching_dims", numbers.getLhsBatchingDimensions(), numbers.getRhsBatchingDimensions());
    printer << ", ";
  }
  pair("contracting_dims", numbers.getLhsContractingDimensions(),
       numbers.getRhsContractingDimensions());
}

ParseResult parseDotDimensionNumbers(AsmParser &parser, DotDimensionNumbersAttr &numbers) {
  SmallVector<int64_t> lhsBatch, rhsBatch, lhsContract, rhsContract;
  auto pair = [&](SmallVectorImpl<int64_t> &lhs, SmallVectorImpl<int64_t> &rhs) {
    return failure(parser.parseEqual() || parseDims(parser, lhs) || parser.parseKeyword("x") ||
                   parseDims(parser, rhs));
  };
  if (succeeded(parser.parseOptionalKeyword("batching_dims")) &&
      (pair(lhsBatch, rhsBatch).failed() || parser.parseComma()))
    return failure();
  if (parser.parseKeyword("contracting_dims") || pair(lhsContract, rhsContract).failed())
    return failure();
  numbers = DotDimensionNumbersAttr::get(parser.getContext(), lhsBatch, rhsBatch, lhsContract,
                                         rhsContract);
  return success();
}

void printCustomCallTarget(AsmPrinter &printer, Operation *, StringAttr target) {
  printer.printSymbolName(target.getValue());
}

ParseResult parseCustomCallTarget(AsmParser &parser, StringAttr &target) {
  return parser.parseSymbolName(target);
}

} // namespace cupel::stablehlo
