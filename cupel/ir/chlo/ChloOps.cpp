#include "cupel/ir/chlo/Chlo.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "cupel/ir/chlo/ChloOps.cpp.inc"

namespace cupel::chlo {

void ChloDialect::registerOps() {
  addOperations<
#define GET_OP_LIST
#include "cupel/ir/chlo/ChloOps.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

LogicalResult ConstantOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                           ValueRange operands, DictionaryAttr attributes,
                                           OpaqueProperties properties, RegionRange regions,
                                           SmallVectorImpl<Type> &types) {
  ConstantOpAdaptor adaptor(operands, attributes, properties, regions);
  if (!adaptor.getValue())
    return emitOptionalError(location, "chlo.constant needs an attribute 'value'");
  types.push_back(adaptor.getValue().getType());
  return success();
}

LogicalResult ConstantLikeOp::verify() {
  Type element = getElementTypeOrSelf(getType());
  if (getValue().getType() != element)
    return emitOpError("value is ")
           << getValue().getType() << ", but the result has elements of " << element;
  return success();
}

OpFoldResult ConstantLikeOp::fold(FoldAdaptor) {
  auto type = dyn_cast<RankedTensorType>(getType());
  if (!type || !type.hasStaticShape() || !isa<IntegerAttr, FloatAttr>(getValue()))
    return {};
  return DenseElementsAttr::get(type, getValue());
}

//===----------------------------------------------------------------------===//
// top_k
//===----------------------------------------------------------------------===//

LogicalResult TopKOp::verify() {
  if (static_cast<int64_t>(getK()) < 0)
    return emitOpError("k must not be negative, but is ") << static_cast<int64_t>(getK());
  int64_t k = getK();
  if (getElementTypeOrSelf(getValues()) != getElementTypeOrSelf(getOperand()))
    return emitOpError("values must have the element type of the operand, ")
           << getElementTypeOrSelf(getOperand()) << ", but have "
           << getElementTypeOrSelf(getValues());
  if (!getElementTypeOrSelf(getIndices()).isSignlessInteger(32))
    return emitOpError("indices must be i32, but are ") << getElementTypeOrSelf(getIndices());

  auto type = dyn_cast<RankedTensorType>(getOperand().getType());
  if (!type)
    return success();
  if (type.getRank() == 0)
    return emitOpError("the operand needs at least one dimension");
  SmallVector<int64_t> shape(type.getShape());
  if (!ShapedType::isDynamic(shape.back()) && shape.back() < k)
    return emitOpError("the last dimension of the operand has size ")
           << shape.back() << ", smaller than k = " << k;
  shape.back() = k;
  for (Value result : getResults())
    if (auto ranked = dyn_cast<RankedTensorType>(result.getType()))
      if (failed(verifyCompatibleShape(shape, ranked.getShape())))
        return emitOpError("results have the shape of ")
               << RankedTensorType::get(shape, ranked.getElementType()) << ", but one is "
               << ranked;
  return success();
}

//===----------------------------------------------------------------------===//
// scan
//===----------------------------------------------------------------------===//

void ScanOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  for (BlockArgument argument : region.getArguments())
    setName(argument, argument.getArgNumber() < getInputs().size() ? "input" : "carry");
}

int64_t ScanOp::getScanLength() {
  if (std::optional<uint64_t> size = getScanDimSize())
    return *size;
  for (Type type : getInputs().getTypes())
    if (int64_t size = cast<RankedTensorType>(type).getDimSize(getDimension());
        !ShapedType::isDynamic(size))
      return size;
  return ShapedType::kDynamic;
}

// chlo.scan(%inputs) inits (%inits) dimension=0 attributes {...} { body } : function-type
ParseResult ScanOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::UnresolvedOperand> inputs, inits;
  int64_t dimension = 0;
  SMLoc operandsLoc = parser.getCurrentLocation();
  if (parser.parseOperandList(inputs, AsmParser::Delimiter::Paren) ||
      parser.parseKeyword("inits") || parser.parseOperandList(inits, AsmParser::Delimiter::Paren) ||
      parser.parseKeyword("dimension") || parser.parseEqual() || parser.parseInteger(dimension) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes) ||
      parser.parseRegion(*result.addRegion()))
    return failure();

  SMLoc typeLoc = parser.getCurrentLocation();
  FunctionType type;
  if (parser.parseColonType(type))
    return failure();
  if (type.getNumInputs() != inputs.size() + inits.size())
    return parser.emitError(typeLoc, "the type has ")
           << type.getNumInputs() << " inputs for " << inputs.size() << " inputs and "
           << inits.size() << " inits";
  if (type.getNumResults() < inits.size())
    return parser.emitError(typeLoc, "the type has ")
           << type.getNumResults() << " results, fewer than the " << inits.size() << " carries";
  llvm::append_range(inputs, inits);
  if (parser.resolveOperands(inputs, type.getInputs(), operandsLoc, result.operands))
    return failure();
  result.addTypes(type.getResults());

  int32_t numCarries = inits.size();
  int32_t numInputs = inputs.size() - inits.size();
  int32_t numOutputs = type.getNumResults() - inits.size();
  Builder &builder = parser.getBuilder();
  auto &properties = result.getOrAddProperties<Properties>();
  properties.operandSegmentSizes = {numInputs, numCarries};
  properties.resultSegmentSizes = {numOutputs, numCarries};
  result.addAttribute(getDimensionAttrName(result.name), builder.getI64IntegerAttr(dimension));
  return success();
}

void ScanOp::print(OpAsmPrinter &printer) {
  printer << "(" << getInputs() << ") inits (" << getInits() << ") dimension=" << getDimension()
          << " ";
  printer.printOptionalAttrDictWithKeyword(
      (*this)->getAttrs(), {"dimension", "operandSegmentSizes", "resultSegmentSizes"});
  printer << " ";
  printer.printRegion(getBody());
  printer << " : ";
  printer.printFunctionalType(*this);
}

static RankedTensorType withoutDimension(RankedTensorType type, int64_t dimension) {
  SmallVector<int64_t> shape(type.getShape());
  shape.erase(shape.begin() + dimension);
  return RankedTensorType::get(shape, type.getElementType());
}

static bool compatible(Type a, Type b) {
  return getElementTypeOrSelf(a) == getElementTypeOrSelf(b) &&
         succeeded(verifyCompatibleShape(a, b));
}

LogicalResult ScanOp::verify() {
  if (getInputs().empty() && getOutputs().empty())
    return emitOpError("needs at least one input or one output");
  if (getInits().size() != getCarries().size())
    return emitOpError("has ") << getInits().size() << " inits, but " << getCarries().size()
                               << " carries";
  for (Type type : getOperation()->getOperandTypes())
    if (!isa<RankedTensorType>(type))
      return emitOpError("operands must be ranked, but one is ") << type;
  for (Type type : getOperation()->getResultTypes())
    if (!isa<RankedTensorType>(type))
      return emitOpError("results must be ranked, but one is ") << type;

  // Every input and output has the scan dimension, and they agree on its size.
  int64_t dimension = getDimension();
  int64_t length = getScanDimSize() ? static_cast<int64_t>(*getScanDimSize()) : -1;
  auto checkScanned = [&](StringRef what, auto values) -> LogicalResult {
    for (auto [i, value] : llvm::enumerate(values)) {
      auto type = cast<RankedTensorType>(value.getType());
      if (dimension >= type.getRank())
        return emitOpError("dimension = ")
               << dimension << " is not a dimension of " << what << " " << i << " (" << type << ")";
      if (type.isDynamicDim(dimension))
        continue;
      int64_t size = type.getDimSize(dimension);
      if (length >= 0 && size != length)
        return emitOpError(what) << " " << i << " has size " << size
                                 << " in the scan dimension, expected " << length;
      length = size;
    }
    return success();
  };
  if (failed(checkScanned("input", getInputs())) || failed(checkScanned("output", getOutputs())))
    return failure();
  if (length < 0 && getInputs().empty())
    return emitOpError("has no inputs, so scan_dim_size must say how long the scan is");

  Block &body = getBody().front();
  if (body.getNumArguments() != getNumOperands())
    return emitOpError("body takes ") << body.getNumArguments() << " arguments, expected "
                                      << getNumOperands() << " (the inputs, then the carries)";
  for (auto [i, operand] : llvm::enumerate(getOperands())) {
    auto type = cast<RankedTensorType>(operand.getType());
    if (i < getInputs().size())
      type = withoutDimension(type, dimension);
    if (!compatible(type, body.getArgument(i).getType()))
      return emitOpError("body argument ")
             << i << " is " << body.getArgument(i).getType() << ", expected " << type;
  }
  Operation *terminator = body.empty() ? nullptr : &body.back();
  if (!terminator || !terminator->hasTrait<OpTrait::IsTerminator>())
    return emitOpError("body must end with stablehlo.return");
  if (terminator->getNumOperands() != getNumResults())
    return emitOpError("body returns ") << terminator->getNumOperands() << " values, expected "
                                        << getNumResults() << " (the outputs, then the carries)";
  for (auto [i, result] : llvm::enumerate(getResults())) {
    auto type = cast<RankedTensorType>(result.getType());
    if (i < getOutputs().size())
      type = withoutDimension(type, dimension);
    if (!compatible(type, terminator->getOperand(i).getType()))
      return emitOpError("body returns ")
             << terminator->getOperand(i).getType() << " as value " << i << ", expected " << type;
  }
  return success();
}

} // namespace cupel::chlo
