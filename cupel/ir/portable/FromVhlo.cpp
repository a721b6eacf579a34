// From the newest vhlo to stablehlo and func, in place, and the treatment of functions that this
// MLIR cannot hold.

#include "cupel/ir/portable/Conversion.h"
#include "cupel/ir/portable/Mapping.h"
#include "cupel/ir/stablehlo/Stablehlo.h"
#include "cupel/ir/vhlo/Builtin.h"
#include "cupel/ir/vhlo/Defaults.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace cupel;
using namespace cupel::portable;

namespace {

class FromVhlo {
public:
  explicit FromVhlo(MLIRContext *context) : context(context), decoder(context) {}

  LogicalResult convertBody(Region &region) {
    for (Block &block : region)
      for (Operation &op : llvm::make_early_inc_range(block))
        if (failed(convert(&op)))
          return failure();
    return success();
  }

private:
  using NamedAttrs = SmallVector<std::pair<StringRef, Attribute>>;

  LogicalResult convert(Operation *op) {
    decoder.reason.clear();
    const vhlo::OpInfo *info = vhlo::infoOf(op);
    if (!info)
      return convertForeign(op);
    if (info->base == "func")
      return convertFunc(op);
    if (info->base == "call") {
      auto callee = decoder.string(vhlo::attributeOf(op, "callee"));
      if (!callee)
        return fail(op, "callee");
      return replace(op, "func.call", {{"callee", FlatSymbolRefAttr::get(context, *callee)}});
    }
    if (info->base == "return")
      return replace(
          op, llvm::isa<func::FuncOp>(op->getParentOp()) ? "func.return" : "stablehlo.return", {});
    return convertStablehlo(op, *info);
  }

  LogicalResult convertStablehlo(Operation *op, const vhlo::OpInfo &info) {
    ArrayRef<Attribute> values = vhlo::attributesOf(op);
    NamedAttrs attrs;
    for (const AttributeMapping &mapping : mappingOf(info.base)) {
      SmallVector<Attribute, 9> portable;
      bool isDefaulted = true;
      for (StringRef name : mapping.portable) {
        int index = info.attributeIndex(name);
        portable.push_back(values[index]);
        isDefaulted &= vhlo::isDefault(info.attributes[index].missing, values[index]);
      }
      if (isDefaulted && !isHalfOfLayouts(op, mapping.name))
        continue;
      Attribute attr = decode(mapping.codec, portable, decoder);
      if (!attr)
        return fail(op, mapping.name);
      attrs.emplace_back(mapping.name, attr);
    }
    return replace(op, ("stablehlo." + info.base).str(), attrs);
  }

  /// Layouts of operands and results come together: an empty list stays if the other is not empty.
  static bool isHalfOfLayouts(Operation *op, StringRef name) {
    StringRef other = name == "operand_layouts"  ? "result_layouts"
                      : name == "result_layouts" ? "operand_layouts"
                                                 : "";
    return !other.empty() &&
           !vhlo::isDefault(vhlo::Default::EmptyArray, vhlo::attributeOf(op, other));
  }

  LogicalResult convertFunc(Operation *op) {
    auto name = decoder.string(vhlo::attributeOf(op, "sym_name"));
    if (!name)
      return fail(op, "sym_name");
    auto visibility = decoder.string(vhlo::attributeOf(op, "sym_visibility"));
    if (!visibility)
      return fail(op, "sym_visibility");
    auto type =
        llvm::dyn_cast_or_null<TypeAttr>(decoder.attribute(vhlo::attributeOf(op, "function_type")));
    auto functionType = type ? llvm::dyn_cast<FunctionType>(type.getValue()) : FunctionType();
    if (!functionType)
      return fail(op, "function_type");
    NamedAttrs attrs = {{"sym_name", StringAttr::get(context, *name)}, {"function_type", type}};
    if (!visibility->empty())
      attrs.emplace_back("sym_visibility", StringAttr::get(context, *visibility));
    for (auto [key, count] :
         {std::pair<StringRef, unsigned>("arg_attrs", functionType.getNumInputs()),
          std::pair<StringRef, unsigned>("res_attrs", functionType.getNumResults())}) {
      auto array = llvm::dyn_cast_or_null<ArrayAttr>(decoder.attribute(vhlo::attributeOf(op, key)));
      if (!array)
        return fail(op, key);
      if (array.empty())
        continue;
      if (array.size() != count || !llvm::all_of(array, llvm::IsaPred<DictionaryAttr>)) {
        decoder.reason = "one dictionary for each was expected";
        return fail(op, key);
      }
      attrs.emplace_back(key, array);
    }
    return replace(op, "func.func", attrs);
  }

  LogicalResult replace(Operation *op, StringRef name, const NamedAttrs &attrs) {
    OperationState state(op->getLoc(), name);
    state.addOperands(op->getOperands());
    if (failed(decoder.types(op->getResultTypes(), state.types)))
      return fail(op, "");
    for (NamedAttribute attr : op->getDiscardableAttrs()) {
      Attribute value = decoder.attribute(attr.getValue());
      if (!value)
        return fail(op, attr.getName());
      state.addAttribute(attr.getName(), value);
    }
    for (auto [key, value] : attrs)
      state.addAttribute(key, value);
    for (Region &region : op->getRegions()) {
      if (failed(convertArguments(region)))
        return fail(op, "");
      state.addRegion()->takeBody(region);
    }
    return replaceOp(op, state, [&](Region &region) { return convertBody(region); });
  }

  LogicalResult convertArguments(Region &region) {
    for (Block &block : region)
      for (BlockArgument argument : block.getArguments()) {
        Type type = decoder.type(argument.getType());
        if (!type)
          return failure();
        argument.setType(type);
      }
    return success();
  }

  /// Operations of other dialects stay; only what they have of vhlo types changes.
  LogicalResult convertForeign(Operation *op) {
    for (Value result : op->getResults()) {
      Type type = decoder.type(result.getType());
      if (!type)
        return fail(op, "");
      result.setType(type);
    }
    for (Region &region : op->getRegions())
      if (failed(convertArguments(region)))
        return fail(op, "");
    for (Region &region : op->getRegions())
      if (failed(convertBody(region)))
        return failure();
    return success();
  }

  LogicalResult fail(Operation *op, StringRef attribute) {
    InFlightDiagnostic diagnostic = op->emitError("'")
                                    << op->getName() << "' cannot be converted to stablehlo";
    if (!attribute.empty())
      diagnostic << ", attribute '" << attribute << "'";
    if (!decoder.reason.empty())
      diagnostic << ": " << decoder.reason;
    return failure();
  }

  MLIRContext *context;
  Decoder decoder;
};

} // namespace

LogicalResult cupel::portable::convertVhloToStablehlo(ModuleOp module) {
  if (failed(FromVhlo(module.getContext()).convertBody(module.getBodyRegion())))
    return failure();
  // Casts between vhlo and other dialects now change nothing.
  module.walk([](UnrealizedConversionCastOp cast) {
    if (cast.getInputs().getTypes() == cast.getOutputs().getTypes()) {
      cast.replaceAllUsesWith(cast.getInputs());
      cast.erase();
    }
  });
  return success();
}
