// Text of convolution dimension numbers and of windows.

#include "cupel/ir/stablehlo/Assembly.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace cupel::stablehlo {

//===----------------------------------------------------------------------===//
// Dimension numbers
//===----------------------------------------------------------------------===//

namespace {
/// One bracket group: where its two named dimensions and its spatial dimensions are.
struct Roles {
  char first, second; // the letters of the two named roles
  int64_t firstDim, secondDim;
  ArrayRef<int64_t> spatial;
};
constexpr int64_t kMaxRank = 1024;
} // namespace

static SmallVector<Roles, 3> rolesOf(ConvDimensionNumbersAttr n) {
  return {{'b', 'f', n.getInputBatchDimension(), n.getInputFeatureDimension(),
           n.getInputSpatialDimensions()},
          {'i', 'o', n.getKernelInputFeatureDimension(), n.getKernelOutputFeatureDimension(),
           n.getKernelSpatialDimensions()},
          {'b', 'f', n.getOutputBatchDimension(), n.getOutputFeatureDimension(),
           n.getOutputSpatialDimensions()}};
}

bool haveRoleForm(ConvDimensionNumbersAttr numbers) {
  return llvm::all_of(rolesOf(numbers), [](const Roles &roles) {
    SmallVector<int64_t> dims(roles.spatial);
    dims.append({roles.firstDim, roles.secondDim});
    llvm::sort(dims);
    return dims.front() >= 0 && dims.back() < kMaxRank &&
           std::adjacent_find(dims.begin(), dims.end()) == dims.end();
  });
}

static void printRoles(AsmPrinter &printer, const Roles &roles) {
  SmallVector<int64_t> dims(roles.spatial);
  dims.append({roles.firstDim, roles.secondDim});
  // A dimension without a role is printed as `?`.
  SmallVector<std::string> entries(*llvm::max_element(dims) + 1, "?");
  entries[roles.firstDim] = roles.first;
  entries[roles.secondDim] = roles.second;
  for (auto [index, dim] : llvm::enumerate(roles.spatial))
    entries[dim] = std::to_string(index);
  printer << '[';
  llvm::interleaveComma(entries, printer);
  printer << ']';
}

void printConvolutionDimensions(AsmPrinter &printer, Operation *,
                                ConvDimensionNumbersAttr numbers) {
  if (!haveRoleForm(numbers)) {
    // Only an op that fails verification gets here.
    printer.printAttribute(numbers);
    return;
  }
  SmallVector<Roles, 3> roles = rolesOf(numbers);
  printRoles(printer, roles[0]);
  printer << 'x';
  printRoles(printer, roles[1]);
  printer << "->";
  printRoles(printer, roles[2]);
}

static ParseResult parseRoles(AsmParser &parser, char first, char second, int64_t &firstDim,
                              int64_t &secondDim, SmallVectorImpl<int64_t> &spatial) {
  SMLoc groupLoc = parser.getCurrentLocation();
  llvm::SmallDenseMap<int64_t, int64_t> spatialAt; // spatial index -> tensor dimension
  firstDim = secondDim = -1;
  int64_t dim = 0;
  auto entry = [&]() -> ParseResult {
    SMLoc loc = parser.getCurrentLocation();
    int64_t at = dim++;
    int64_t number = 0;
    if (succeeded(parser.parseOptionalQuestion()))
      return success();
    if (OptionalParseResult isNumber = parser.parseOptionalInteger(number); isNumber.has_value()) {
      if (failed(*isNumber))
        return failure();
      if (number < 0 || number >= kMaxRank)
        return parser.emitError(loc, "expected a spatial dimension number from 0 on, but got ")
               << number;
      if (!spatialAt.try_emplace(number, at).second)
        return parser.emitError(loc, "spatial dimension ") << number << " is given twice";
      return success();
    }
    StringRef keyword;
    if (parser.parseKeyword(&keyword))
      return failure();
    int64_t *slot = keyword == StringRef(&first, 1)    ? &firstDim
                    : keyword == StringRef(&second, 1) ? &secondDim
                                                       : nullptr;
    if (!slot)
      return parser.emitError(loc, "expected '")
             << Twine(first) << "', '" << Twine(second) << "', '?' or a number, but got '"
             << keyword << "'";
    if (*slot != -1)
      return parser.emitError(loc, "dimension '") << keyword << "' is given twice";
    *slot = at;
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, entry))
    return failure();
  for (auto [role, at] : {std::pair(first, firstDim), std::pair(second, secondDim)})
    if (at == -1)
      return parser.emitError(groupLoc, "expected dimension '") << Twine(role) << "'";
  for (int64_t i = 0, e = spatialAt.size(); i < e; ++i) {
    auto it = spatialAt.find(i);
    if (it == spatialAt.end())
      return parser.emitError(groupLoc, "expected spatial dimensions 0 to ")
             << e - 1 << ", but " << i << " is missing";
    spatial.push_back(it->second);
  }
  return success();
}

ParseResult parseConvolutionDimensions(AsmParser &parser, ConvDimensionNumbersAttr &numbers) {
  int64_t inputBatch, inputFeature, kernelInput, kernelOutput, outputBatch, outputFeature;
  SmallVector<int64_t> inputSpatial, kernelSpatial, outputSpatial;
  if (parseRoles(parser, 'b', 'f', inputBatch, inputFeature, inputSpatial) ||
      parser.parseKeyword("x") ||
      parseRoles(parser, 'i', 'o', kernelInput, kernelOutput, kernelSpatial) ||
      parser.parseArrow() ||
      parseRoles(parser, 'b', 'f', outputBatch, outputFeature, outputSpatial))
    return failure();
  numbers = ConvDimensionNumbersAttr::get(parser.getContext(), inputBatch, inputFeature,
                                          inputSpatial, kernelInput, kernelOutput, kernelSpatial,
                                          outputBatch, outputFeature, outputSpatial);
  return success();
}

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

static void printPadding(AsmPrinter &printer, DenseIntElementsAttr padding) {
  printer << '[';
  if (padding.getType().getRank() == 2 && padding.getType().getDimSize(1) == 2) {
    int64_t index = 0;
    for (const APInt &value : padding.getValues<APInt>()) {
      printer << (index % 2 ? ", " : index ? ", [" : "[") << value.getSExtValue();
      if (index++ % 2)
        printer << ']';
    }
  }
  printer << ']';
}

void printWindowAttributes(OpAsmPrinter &printer, Operation *, DenseI64ArrayAttr strides,
                           DenseIntElementsAttr padding, DenseI64ArrayAttr lhsDilation,
                           DenseI64ArrayAttr rhsDilation, DenseBoolArrayAttr reversal) {
  bool first = true;
  auto key = [&](StringRef name) {
    printer << (first ? "" : ", ") << name << " = ";
    first = false;
  };
  auto list = [&](StringRef name, DenseI64ArrayAttr values) {
    if (!values)
      return;
    key(name);
    printDims(printer, values.asArrayRef());
  };
  list("stride", strides);
  if (padding) {
    key("pad");
    printPadding(printer, padding);
  }
  list("lhs_dilate", lhsDilation);
  list("rhs_dilate", rhsDilation);
  if (reversal) {
    key("reverse");
    printer << '[';
    llvm::interleaveComma(reversal.asArrayRef(), printer,
                          [&](bool value) { printer << (value ? "true" : "false"); });
    printer << ']';
  }
}

static ParseResult parsePadding(OpAsmParser &parser, DenseIntElementsAttr &padding) {
  SmallVector<int64_t> values;
  int64_t rows = 0;
  auto row = [&]() -> ParseResult {
    SMLoc loc = parser.getCurrentLocation();
    SmallVector<int64_t> pair;
    if (parseDims(parser, pair))
      return failure();
    if (pair.size() != 2)
      return parser.emitError(loc, "expected array with 2 elements, but got ") << pair.size();
    llvm::append_range(values, pair);
    ++rows;
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, row))
    return failure();
  auto type = RankedTensorType::get({rows, 2}, parser.getBuilder().getI64Type());
  padding = DenseIntElementsAttr::get(type, values);
  return success();
}

static ParseResult parseReversal(OpAsmParser &parser, DenseBoolArrayAttr &reversal) {
  SmallVector<bool> values;
  auto entry = [&]() -> ParseResult {
    if (succeeded(parser.parseOptionalKeyword("true"))) {
      values.push_back(true);
      return success();
    }
    if (succeeded(parser.parseOptionalKeyword("false"))) {
      values.push_back(false);
      return success();
    }
    int64_t number = 0;
    if (parser.parseInteger(number))
      return failure();
    values.push_back(number != 0);
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, entry))
    return failure();
  reversal = parser.getBuilder().getDenseBoolArrayAttr(values);
  return success();
}

ParseResult parseWindowAttributes(OpAsmParser &parser, DenseI64ArrayAttr &strides,
                                  DenseIntElementsAttr &padding, DenseI64ArrayAttr &lhsDilation,
                                  DenseI64ArrayAttr &rhsDilation, DenseBoolArrayAttr &reversal) {
  auto list = [&](DenseI64ArrayAttr &values) -> ParseResult {
    SmallVector<int64_t> dims;
    if (parseDims(parser, dims))
      return failure();
    values = parser.getBuilder().getDenseI64ArrayAttr(dims);
    return success();
  };
  llvm::SmallDenseSet<StringRef> seen;
  StringRef key;
  SMLoc loc = parser.getCurrentLocation();
  // `window = {}`: nothing, and the closing brace is not ours.
  if (failed(parser.parseOptionalKeyword(&key)))
    return success();
  while (true) {
    if (!seen.insert(key).second)
      return parser.emitError(loc, "window attribute '") << key << "' is given twice";
    if (parser.parseEqual())
      return failure();
    ParseResult result = success();
    if (key == "stride")
      result = list(strides);
    else if (key == "pad")
      result = parsePadding(parser, padding);
    else if (key == "lhs_dilate")
      result = list(lhsDilation);
    else if (key == "rhs_dilate")
      result = list(rhsDilation);
    else if (key == "reverse")
      result = parseReversal(parser, reversal);
    else
      return parser.emitError(loc, "expected one of stride, pad, lhs_dilate, rhs_dilate, reverse, "
                                   "but got '")
             << key << "'";
    if (result)
      return failure();
    if (failed(parser.parseOptionalComma()))
      return success();
    loc = parser.getCurrentLocation();
    if (parser.parseKeyword(&key))
      return failure();
  }
}

} // namespace cupel::stablehlo
