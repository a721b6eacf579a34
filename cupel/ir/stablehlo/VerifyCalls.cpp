// Calls to what stands outside of the dialect: custom calls and composites.

#include "cupel/ir/stablehlo/Verify.h"

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace cupel::stablehlo::verify;

namespace cupel::stablehlo {

//===----------------------------------------------------------------------===//
// custom_call
//===----------------------------------------------------------------------===//

/// Layouts for values of `types`: permutations of dimensions, minor first, and nothing for what is
/// not a tensor.
static LogicalResult verifyLayouts(Reporter report, StringRef name, TypeRange types,
                                   ArrayAttr layouts) {
  if (layouts.size() != types.size())
    return report.error(name, " must have one entry per value, but has ", layouts.size(), " for ",
                        types.size());
  for (auto [index, type, attribute] : llvm::enumerate(types, layouts)) {
    auto layout = cast<DenseIntElementsAttr>(attribute);
    int64_t count = layout.getType().getDimSize(0);
    auto shaped = dyn_cast<ShapedType>(type);
    if (!shaped) {
      if (count != 0)
        return report.error(name, " must be empty for what is not a tensor, but entry #", index,
                            " for ", type, " has ", count, " dimensions");
      continue;
    }
    if (!shaped.hasRank())
      continue;
    // The count is compared before values are read: a splat may claim any size.
    SmallVector<int64_t> order;
    if (count == shaped.getRank())
      for (APInt dim : layout.getValues<APInt>())
        order.push_back(dim.getSExtValue());
    SmallVector<int64_t> sorted(order);
    llvm::sort(sorted);
    if (count != shaped.getRank() || !llvm::equal(sorted, llvm::seq<int64_t>(0, count)))
      return report.error(name, " must be permutations of the dimensions, but entry #", index,
                          " for ", type, " is ", layout);
  }
  return success();
}

/// Follows tuple indices into a type; null if they lead nowhere.
static Type getPart(Type type, ArrayRef<int64_t> indices) {
  for (int64_t index : indices) {
    auto tuple = dyn_cast<TupleType>(type);
    if (!tuple || index < 0 || index >= static_cast<int64_t>(tuple.size()))
      return {};
    type = tuple.getType(index);
  }
  return type;
}

static LogicalResult verifyAlias(Reporter report, CustomCallOp op, OutputOperandAliasAttr alias) {
  int64_t operand = alias.getOperandIndex();
  if (operand < 0 || operand >= static_cast<int64_t>(op.getInputs().size()))
    return report.error("output_operand_aliases must name an operand in [0, ",
                        op.getInputs().size(), "), but name ", operand);
  Type from = getPart(op.getInputs()[operand].getType(), alias.getOperandTupleIndices());
  // Several results are indexed like a tuple of them.
  Type all = op.getNumResults() == 1 ? op.getResult(0).getType()
                                     : TupleType::get(op.getContext(), op.getResultTypes());
  Type to = getPart(all, alias.getOutputTupleIndices());
  if (!from || !to)
    return report.error("output_operand_aliases must name existing values, but ", alias,
                        " does not");
  if (from != to)
    return report.error("output_operand_aliases must name values of one type, but name ", from,
                        " and ", to);
  return success();
}

/// Targets that make, pin and unpin buffers have fixed signatures.
static LogicalResult verifyBufferTarget(Reporter report, CustomCallOp op) {
  StringRef target = op.getCallTargetName();
  bool isCreate = target == "CreateBuffer", isPin = target == "Pin", isUnpin = target == "Unpin";
  if (!isCreate && !isPin && !isUnpin)
    return success();
  size_t inputs = op.getInputs().size();
  if (inputs != (isCreate ? 0 : 1) || op.getNumResults() != 1)
    return report.error("target ", target, " takes ", isCreate ? 0 : 1,
                        " operands and has 1 result, but got ", inputs, " and ",
                        op.getNumResults());
  Type result = op.getResult(0).getType();
  if (isCreate) {
    if (!isa<MemRefType>(result))
      return report.error("target CreateBuffer must give a memref, but gives ", result);
    return success();
  }
  Type input = op.getInputs()[0].getType();
  auto buffer = dyn_cast<MemRefType>(isPin ? result : input);
  auto value = dyn_cast<RankedTensorType>(isPin ? input : result);
  if (!buffer || !value || buffer.getShape() != value.getShape() ||
      buffer.getElementType() != value.getElementType())
    return report.error("target ", target, " must turn a ", isPin ? "tensor" : "memref", " into a ",
                        isPin ? "memref" : "tensor",
                        " of the same shape and element type, but got ", input, " and ", result);
  return success();
}

LogicalResult CustomCallOp::verify() {
  Reporter report(*this);
  std::optional<ArrayAttr> operandLayouts = getOperandLayouts(), resultLayouts = getResultLayouts();
  if (operandLayouts.has_value() != resultLayouts.has_value())
    return report.error("layouts must be given for both operands and results, or for neither");
  if (operandLayouts) {
    // Layouts of a tuple are those of its elements.
    TypeRange results = getResultTypes();
    if (auto tuple = results.size() == 1 ? dyn_cast<TupleType>(results.front()) : TupleType())
      results = tuple.getTypes();
    if (failed(verifyLayouts(report, "operand_layouts", getInputs().getTypes(), *operandLayouts)) ||
        failed(verifyLayouts(report, "result_layouts", results, *resultLayouts)))
      return failure();
  }
  for (Attribute alias : getOutputOperandAliases())
    if (failed(verifyAlias(report, *this, cast<OutputOperandAliasAttr>(alias))))
      return failure();
  if (std::optional<ArrayAttr> tilings = getResultTilings())
    for (Attribute tiling : *tilings) {
      auto levels = dyn_cast<ArrayAttr>(tiling);
      if (!levels || !llvm::all_of(levels, isLayout))
        return report.error(
            "result_tilings must be arrays of rank-1 tensors of index, but contain ", tiling);
    }
  if (std::optional<Attribute> config = getBackendConfig()) {
    bool isTyped = getApiVersion() == CustomCallApiVersion::API_VERSION_TYPED_FFI;
    if (isTyped != isa<DictionaryAttr>(*config))
      return report.error("backend_config must be ", isTyped ? "a dictionary" : "a string",
                          " for api_version ", static_cast<int64_t>(getApiVersion()), ", but is ",
                          *config);
  }
  return verifyBufferTarget(report, *this);
}

//===----------------------------------------------------------------------===//
// composite
//===----------------------------------------------------------------------===//

/// Identifiers separated by at least one dot.
static bool isDottedName(StringRef name) {
  SmallVector<StringRef> parts;
  name.split(parts, '.');
  auto isIdentifier = [](StringRef part) {
    return !part.empty() &&
           llvm::all_of(part, [](char c) { return llvm::isAlnum(c) || c == '_' || c == '$'; });
  };
  return parts.size() >= 2 && !name.empty() && !llvm::isDigit(name.front()) &&
         llvm::all_of(parts, isIdentifier);
}

LogicalResult CompositeOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  Reporter report(*this);
  if (!isDottedName(getName()))
    return report.error("name must be identifiers separated by dots (such as \"my.op\"), but is \"",
                        getName(), "\"");
  FlatSymbolRefAttr symbol = getDecompositionAttr();
  auto function = symbolTable.lookupNearestSymbolFrom<FunctionOpInterface>(getOperation(), symbol);
  if (!function)
    return report.error("decomposition ", symbol, " is not a function in scope");
  if (!llvm::equal(getOperandTypes(), function.getArgumentTypes()) ||
      !llvm::equal(getResultTypes(), function.getResultTypes()))
    return report.error("decomposition ", symbol, " must have the type ",
                        FunctionType::get(getContext(), getOperandTypes(), getResultTypes()),
                        ", but has ", function.getFunctionType());
  return success();
}

} // namespace cupel::stablehlo
