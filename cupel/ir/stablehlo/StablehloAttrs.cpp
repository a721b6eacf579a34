// Text of the stablehlo attributes: what upstream prints is read, and the same text is printed
// back.

#include "cupel/ir/stablehlo/Assembly.h"
#include "cupel/ir/stablehlo/Stablehlo.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace cupel::stablehlo;

#include "cupel/ir/stablehlo/StablehloEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "cupel/ir/stablehlo/StablehloAttrs.cpp.inc"

namespace cupel::stablehlo {

void StablehloDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "cupel/ir/stablehlo/StablehloAttrs.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// `<name = [1, 2], other = 3>`: keys in any order, each at most once
//===----------------------------------------------------------------------===//

namespace {
/// One key of such an attribute: a list of dimensions or a single number.
struct Field {
  StringRef name;
  SmallVector<int64_t> *list = nullptr;
  int64_t *number = nullptr;
};
} // namespace

static ParseResult parseFields(AsmParser &parser, ArrayRef<Field> fields) {
  if (parser.parseLess())
    return failure();
  llvm::SmallDenseSet<StringRef> seen;
  while (failed(parser.parseOptionalGreater())) {
    StringRef key;
    SMLoc loc = parser.getCurrentLocation();
    if (parser.parseKeyword(&key))
      return failure();
    const Field *field = llvm::find_if(fields, [&](const Field &f) { return f.name == key; });
    if (field == fields.end()) {
      InFlightDiagnostic diag = parser.emitError(loc)
                                << "unknown key '" << key << "', expected one of: ";
      llvm::interleaveComma(fields, diag, [&](const Field &f) { diag << f.name; });
      return diag;
    }
    if (!seen.insert(field->name).second)
      return parser.emitError(loc) << "key '" << key << "' is given twice";
    if (parser.parseEqual())
      return failure();
    if (field->list ? failed(parseDims(parser, *field->list))
                    : failed(parser.parseInteger(*field->number)))
      return failure();
    // A comma may also stand before the closing bracket.
    if (failed(parser.parseOptionalComma()))
      return parser.parseGreater();
  }
  return success();
}

static void printFields(AsmPrinter &printer,
                        ArrayRef<std::pair<StringRef, ArrayRef<int64_t>>> lists,
                        std::pair<StringRef, int64_t> number = {"", 0}) {
  printer << '<';
  bool first = true;
  auto key = [&](StringRef name) {
    printer << (first ? "" : ", ") << name << " = ";
    first = false;
  };
  for (auto [name, list] : lists) {
    if (list.empty())
      continue;
    key(name);
    printDims(printer, list);
  }
  if (number.second != 0) {
    key(number.first);
    printer << number.second;
  }
  printer << '>';
}

Attribute DotDimensionNumbersAttr::parse(AsmParser &parser, Type) {
  SmallVector<int64_t> lhsBatch, rhsBatch, lhsContract, rhsContract;
  if (parseFields(parser, {{"lhs_batching_dimensions", &lhsBatch},
                           {"rhs_batching_dimensions", &rhsBatch},
                           {"lhs_contracting_dimensions", &lhsContract},
                           {"rhs_contracting_dimensions", &rhsContract}}))
    return {};
  return get(parser.getContext(), lhsBatch, rhsBatch, lhsContract, rhsContract);
}

void DotDimensionNumbersAttr::print(AsmPrinter &printer) const {
  printFields(printer, {{"lhs_batching_dimensions", getLhsBatchingDimensions()},
                        {"rhs_batching_dimensions", getRhsBatchingDimensions()},
                        {"lhs_contracting_dimensions", getLhsContractingDimensions()},
                        {"rhs_contracting_dimensions", getRhsContractingDimensions()}});
}

Attribute GatherDimensionNumbersAttr::parse(AsmParser &parser, Type) {
  SmallVector<int64_t> offset, collapsed, operandBatch, indicesBatch, map;
  int64_t indexVectorDim = 0;
  if (parseFields(parser, {{"offset_dims", &offset},
                           {"collapsed_slice_dims", &collapsed},
                           {"operand_batching_dims", &operandBatch},
                           {"start_indices_batching_dims", &indicesBatch},
                           {"start_index_map", &map},
                           {"index_vector_dim", nullptr, &indexVectorDim}}))
    return {};
  return get(parser.getContext(), offset, collapsed, operandBatch, indicesBatch, map,
             indexVectorDim);
}

void GatherDimensionNumbersAttr::print(AsmPrinter &printer) const {
  printFields(printer,
              {{"offset_dims", getOffsetDims()},
               {"collapsed_slice_dims", getCollapsedSliceDims()},
               {"operand_batching_dims", getOperandBatchingDims()},
               {"start_indices_batching_dims", getStartIndicesBatchingDims()},
               {"start_index_map", getStartIndexMap()}},
              {"index_vector_dim", getIndexVectorDim()});
}

Attribute ScatterDimensionNumbersAttr::parse(AsmParser &parser, Type) {
  SmallVector<int64_t> window, inserted, inputBatch, indicesBatch, map;
  int64_t indexVectorDim = 0;
  if (parseFields(parser, {{"update_window_dims", &window},
                           {"inserted_window_dims", &inserted},
                           {"input_batching_dims", &inputBatch},
                           {"scatter_indices_batching_dims", &indicesBatch},
                           {"scatter_dims_to_operand_dims", &map},
                           {"index_vector_dim", nullptr, &indexVectorDim}}))
    return {};
  return get(parser.getContext(), window, inserted, inputBatch, indicesBatch, map, indexVectorDim);
}

void ScatterDimensionNumbersAttr::print(AsmPrinter &printer) const {
  printFields(printer,
              {{"update_window_dims", getUpdateWindowDims()},
               {"inserted_window_dims", getInsertedWindowDims()},
               {"input_batching_dims", getInputBatchingDims()},
               {"scatter_indices_batching_dims", getScatterIndicesBatchingDims()},
               {"scatter_dims_to_operand_dims", getScatterDimsToOperandDims()}},
              {"index_vector_dim", getIndexVectorDim()});
}

//===----------------------------------------------------------------------===//
// Convolution dimension numbers
//===----------------------------------------------------------------------===//

static Attribute parseRawConvDimensions(AsmParser &parser) {
  int64_t numbers[6] = {};
  SmallVector<int64_t> inputSpatial, kernelSpatial, outputSpatial;
  // parseFields reads `<...>`; here the `<raw` is consumed already.
  const Field fields[] = {{"input_batch_dimension", nullptr, &numbers[0]},
                          {"input_feature_dimension", nullptr, &numbers[1]},
                          {"input_spatial_dimensions", &inputSpatial},
                          {"kernel_input_feature_dimension", nullptr, &numbers[2]},
                          {"kernel_output_feature_dimension", nullptr, &numbers[3]},
                          {"kernel_spatial_dimensions", &kernelSpatial},
                          {"output_batch_dimension", nullptr, &numbers[4]},
                          {"output_feature_dimension", nullptr, &numbers[5]},
                          {"output_spatial_dimensions", &outputSpatial}};
  for (const Field &field : fields) {
    if (&field != std::begin(fields) && parser.parseComma())
      return {};
    if (parser.parseKeyword(field.name) || parser.parseEqual())
      return {};
    if (field.list ? failed(parseDims(parser, *field.list))
                   : failed(parser.parseInteger(*field.number)))
      return {};
  }
  return ConvDimensionNumbersAttr::get(parser.getContext(), numbers[0], numbers[1], inputSpatial,
                                       numbers[2], numbers[3], kernelSpatial, numbers[4],
                                       numbers[5], outputSpatial);
}

Attribute ConvDimensionNumbersAttr::parse(AsmParser &parser, Type) {
  if (parser.parseLess())
    return {};
  Attribute result;
  if (succeeded(parser.parseOptionalKeyword("raw"))) {
    result = parseRawConvDimensions(parser);
  } else {
    ConvDimensionNumbersAttr numbers;
    if (succeeded(parseConvolutionDimensions(parser, numbers)))
      result = numbers;
  }
  return result && succeeded(parser.parseGreater()) ? result : Attribute();
}

void ConvDimensionNumbersAttr::print(AsmPrinter &printer) const {
  printer << '<';
  if (haveRoleForm(*this)) {
    printConvolutionDimensions(printer, nullptr, *this);
  } else {
    auto list = [&](StringRef name, ArrayRef<int64_t> dims) {
      printer << ", " << name << " = ";
      printDims(printer, dims);
    };
    printer << "raw input_batch_dimension = " << getInputBatchDimension()
            << ", input_feature_dimension = " << getInputFeatureDimension();
    list("input_spatial_dimensions", getInputSpatialDimensions());
    printer << ", kernel_input_feature_dimension = " << getKernelInputFeatureDimension()
            << ", kernel_output_feature_dimension = " << getKernelOutputFeatureDimension();
    list("kernel_spatial_dimensions", getKernelSpatialDimensions());
    printer << ", output_batch_dimension = " << getOutputBatchDimension()
            << ", output_feature_dimension = " << getOutputFeatureDimension();
    list("output_spatial_dimensions", getOutputSpatialDimensions());
  }
  printer << '>';
}

//===----------------------------------------------------------------------===//
// Bounds
//===----------------------------------------------------------------------===//

/// `3, ?` up to the token `end` consumes.
static ParseResult parseBound(AsmParser &parser, SmallVectorImpl<int64_t> &bounds) {
  if (succeeded(parser.parseOptionalQuestion())) {
    bounds.push_back(ShapedType::kDynamic);
    return success();
  }
  int64_t bound = 0;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseInteger(bound))
    return failure();
  if (bound < 0)
    return parser.emitError(loc) << "a bound must not be negative, but got " << bound;
  bounds.push_back(bound);
  return success();
}

Attribute TypeExtensionsAttr::parse(AsmParser &parser, Type) {
  SmallVector<int64_t> bounds;
  if (parser.parseLess() || parser.parseKeyword("bounds") || parser.parseEqual() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                     [&] { return parseBound(parser, bounds); }) ||
      parser.parseGreater())
    return {};
  return get(parser.getContext(), bounds);
}

static Attribute parseShortBounds(AsmParser &parser) {
  SmallVector<int64_t> bounds;
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater,
                                     [&] { return parseBound(parser, bounds); }))
    return {};
  return TypeExtensionsAttr::get(parser.getContext(), bounds);
}

static void printBoundList(AsmPrinter &printer, ArrayRef<int64_t> bounds) {
  llvm::interleaveComma(bounds, printer, [&](int64_t bound) {
    if (ShapedType::isDynamic(bound))
      printer << '?';
    else
      printer << bound;
  });
}

void TypeExtensionsAttr::print(AsmPrinter &printer) const {
  printer << "<bounds = [";
  printBoundList(printer, getBounds());
  printer << "]>";
}

LogicalResult
TypeExtensionsAttr::verifyEncoding(ArrayRef<int64_t> shape, Type,
                                   function_ref<InFlightDiagnostic()> emitError) const {
  ArrayRef<int64_t> bounds = getBounds();
  if (bounds.size() != shape.size())
    return emitError() << "Bounds length is " << bounds.size() << ", expected to be equal to rank("
                       << shape.size() << ") of the tensor";
  for (auto [dim, bound, size] : llvm::enumerate(bounds, shape))
    if (!ShapedType::isDynamic(bound) && !ShapedType::isDynamic(size))
      return emitError() << "Static dimension " << dim << " cannot have a bound, use "
                         << "ShapedType::kDynamic to indicate a missing bound (write '?' for bound "
                         << bound << ")";
  return success();
}

//===----------------------------------------------------------------------===//
// Result accuracy, meshes, aliases
//===----------------------------------------------------------------------===//

ResultAccuracyAttr ResultAccuracyAttr::getDefault(MLIRContext *context) {
  return get(context, APFloat(0.0), APFloat(0.0), 0,
             ResultAccuracyModeAttr::get(context, ResultAccuracyMode::DEFAULT));
}

bool ResultAccuracyAttr::isDefault() { return *this == getDefault(getContext()); }

LogicalResult ResultAccuracyAttr::verify(function_ref<InFlightDiagnostic()> emitError, APFloat atol,
                                         APFloat rtol, int64_t ulps, ResultAccuracyModeAttr mode) {
  auto bad = [](const APFloat &x) { return x.isNaN() || (x.isNegative() && !x.isZero()); };
  if (bad(atol) || bad(rtol) || ulps < 0)
    return emitError() << "result accuracy must not be negative, but got atol = "
                       << atol.convertToDouble() << ", rtol = " << rtol.convertToDouble()
                       << ", ulps = " << ulps;
  bool zero = atol.isZero() && rtol.isZero() && ulps == 0;
  if (mode.getValue() != ResultAccuracyMode::TOLERANCE && !zero)
    return emitError() << "result accuracy mode " << stringifyEnum(mode.getValue())
                       << " takes no tolerance, but got atol = " << atol.convertToDouble()
                       << ", rtol = " << rtol.convertToDouble() << ", ulps = " << ulps;
  return success();
}

Attribute ResultAccuracyAttr::parse(AsmParser &parser, Type) {
  double atol = 0, rtol = 0;
  int64_t ulps = 0;
  if (parser.parseLess())
    return {};
  if (succeeded(parser.parseOptionalKeyword("atol")) &&
      (parser.parseEqual() || parser.parseFloat(atol) || parser.parseComma()))
    return {};
  if (succeeded(parser.parseOptionalKeyword("rtol")) &&
      (parser.parseEqual() || parser.parseFloat(rtol) || parser.parseComma()))
    return {};
  if (succeeded(parser.parseOptionalKeyword("ulps")) &&
      (parser.parseEqual() || parser.parseInteger(ulps) || parser.parseComma()))
    return {};
  ResultAccuracyModeAttr mode;
  if (parser.parseKeyword("mode") || parser.parseEqual() || parser.parseAttribute(mode) ||
      parser.parseGreater())
    return {};
  return parser.getChecked<ResultAccuracyAttr>(parser.getContext(), APFloat(atol), APFloat(rtol),
                                               ulps, mode);
}

void ResultAccuracyAttr::print(AsmPrinter &printer) const {
  printer << '<';
  if (!getAtol().isZero()) {
    printer << "atol = ";
    printer.printFloat(getAtol());
    printer << ", ";
  }
  if (!getRtol().isZero()) {
    printer << "rtol = ";
    printer.printFloat(getRtol());
    printer << ", ";
  }
  if (getUlps() != 0)
    printer << "ulps = " << getUlps() << ", ";
  printer << "mode = ";
  printer.printAttribute(getMode());
  printer << '>';
}

Attribute MeshAttr::parse(AsmParser &parser, Type) {
  SmallVector<MeshAxisAttr> axes;
  DenseIntElementsAttr deviceIds;
  if (parser.parseLess() || parser.parseKeyword("axes") || parser.parseEqual() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                     [&] { return parser.parseAttribute(axes.emplace_back()); }))
    return {};
  if (succeeded(parser.parseOptionalComma()) &&
      (parser.parseKeyword("device_ids") || parser.parseEqual() ||
       parser.parseAttribute(deviceIds)))
    return {};
  if (parser.parseGreater())
    return {};
  return get(parser.getContext(), axes, deviceIds);
}

void MeshAttr::print(AsmPrinter &printer) const {
  printer << "<axes=[";
  llvm::interleaveComma(getAxes(), printer, [&](MeshAxisAttr axis) { printer << axis; });
  printer << ']';
  if (getDeviceIds())
    printer << ", device_ids=" << getDeviceIds();
  printer << '>';
}

Attribute ReplicaGroupMeshAxesAttr::parse(AsmParser &parser, Type) {
  Attribute mesh;
  SmallVector<AxisRefAttr> axes;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() || parser.parseKeyword("mesh") || parser.parseEqual() ||
      parser.parseAttribute(mesh) || parser.parseComma() || parser.parseKeyword("axes") ||
      parser.parseEqual() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                     [&] { return parser.parseAttribute(axes.emplace_back()); }) ||
      parser.parseGreater())
    return {};
  return getChecked([&] { return parser.emitError(loc); }, parser.getContext(), mesh, axes);
}

void ReplicaGroupMeshAxesAttr::print(AsmPrinter &printer) const {
  printer << "<mesh = " << getMesh() << ", axes = [";
  llvm::interleaveComma(getAxes(), printer, [&](AxisRefAttr axis) { printer << axis; });
  printer << "]>";
}

//===----------------------------------------------------------------------===//
// bits
//===----------------------------------------------------------------------===//

static RankedTensorType bytesLike(ShapedType type) {
  return RankedTensorType::get(type.getShape(),
                               IntegerType::get(type.getContext(), 8, IntegerType::Unsigned));
}

BitsAttr BitsAttr::get(RankedTensorType type, ArrayRef<char> bytes) {
  return get(type.getContext(), ShapedType(type),
             DenseElementsAttr::getFromRawBuffer(bytesLike(type), bytes));
}

LogicalResult BitsAttr::verify(function_ref<InFlightDiagnostic()> emitError, ShapedType type,
                               DenseElementsAttr bits) {
  auto tensor = dyn_cast_if_present<RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape() || !isRareFloat(tensor.getElementType()))
    return emitError() << "bits are elements of a type that MLIR has no constants of, not of "
                       << type;
  if (!bits || bits.getType() != bytesLike(type))
    return emitError() << "the bits of a " << type << " must be a " << bytesLike(type);
  return success();
}

Attribute BitsAttr::parse(AsmParser &parser, Type type) {
  SMLoc loc = parser.getCurrentLocation();
  DenseElementsAttr bits;
  if (parser.parseLess() || parser.parseAttribute(bits) || parser.parseGreater())
    return {};
  auto shaped = dyn_cast_if_present<ShapedType>(type);
  if (!shaped) {
    parser.emitError(loc, "bits need a type: #stablehlo.bits<...> : tensor<...>");
    return {};
  }
  return getChecked([&] { return parser.emitError(loc); }, parser.getContext(), shaped, bits);
}

void BitsAttr::print(AsmPrinter &printer) const { printer << '<' << getBits() << '>'; }

//===----------------------------------------------------------------------===//
// The dialect's entry
//===----------------------------------------------------------------------===//

Attribute StablehloDialect::parseAttribute(DialectAsmParser &parser, Type type) const {
  // The short form of bounds has a keyword of its own.
  SMLoc loc = parser.getCurrentLocation();
  if (succeeded(parser.parseOptionalKeyword("bounds")))
    return parseShortBounds(parser);
  StringRef mnemonic;
  Attribute attr;
  OptionalParseResult result = generatedAttributeParser(parser, &mnemonic, type, attr);
  if (result.has_value())
    return attr;
  parser.emitError(loc) << "unknown stablehlo attribute '" << mnemonic << "'";
  return {};
}

void StablehloDialect::printAttribute(Attribute attr, DialectAsmPrinter &printer) const {
  if (auto extensions = dyn_cast<TypeExtensionsAttr>(attr)) {
    printer << "bounds<";
    printBoundList(printer, extensions.getBounds());
    printer << '>';
    return;
  }
  if (failed(generatedAttributePrinter(attr, printer)))
    printer << "<<unknown attribute>>";
}

} // namespace cupel::stablehlo
