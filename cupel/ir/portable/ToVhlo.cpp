// From stablehlo and func to the newest vhlo. Operations are replaced one by one, in place: since
// every value is replaced together with the operation that makes it, the order does not matter.

#include "cupel/ir/portable/Conversion.h"
#include "cupel/ir/portable/Mapping.h"
#include "cupel/ir/stablehlo/Stablehlo.h"
#include "cupel/ir/vhlo/Defaults.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace cupel;
using namespace cupel::portable;

namespace {

class ToVhlo {
public:
  ToVhlo(MLIRContext *context, bool allowOtherDialects)
      : context(context), allowOtherDialects(allowOtherDialects),
        encoder(context, allowOtherDialects), decoder(context) {}

  LogicalResult convertBody(Region &region) {
    for (Block &block : region)
      for (Operation &op : llvm::make_early_inc_range(block))
        if (failed(convert(&op)))
          return failure();
    return success();
  }

private:
  LogicalResult convert(Operation *op) {
    encoder.reason.clear();
    if (llvm::isa_and_nonnull<stablehlo::StablehloDialect>(op->getDialect()))
      return convertStablehlo(op);
    if (auto function = llvm::dyn_cast<func::FuncOp>(op))
      return convertFunc(function);
    if (auto call = llvm::dyn_cast<func::CallOp>(op))
      return replace(op, *vhlo::newestRevision("call"),
                     {vhlo::StringV1Attr::get(context, call.getCallee())});
    if (llvm::isa<func::ReturnOp>(op))
      return replace(op, *vhlo::newestRevision("return"), {});
    if (llvm::isa<UnrealizedConversionCastOp>(op) || isVhlo(op))
      return success();
    return convertForeign(op);
  }

  static bool isVhlo(Operation *op) {
    return llvm::isa_and_nonnull<vhlo::VhloDialect>(op->getDialect());
  }

  LogicalResult convertStablehlo(Operation *op) {
    StringRef name = op->getName().stripDialect();
    const vhlo::OpInfo *info = vhlo::newestRevision(name);
    if (!info)
      return op->emitOpError("has no portable form");
    SmallVector<Attribute> values(info->attributes.size());
    for (const AttributeMapping &mapping : mappingOf(name)) {
      Attribute attr = op->getInherentAttr(mapping.name).value_or(Attribute());
      if (!attr)
        continue;
      auto portable = encode(mapping.codec, attr, encoder);
      if (!portable)
        return fail(op, mapping.name);
      for (auto [portableName, value] : llvm::zip_equal(mapping.portable, *portable))
        values[info->attributeIndex(portableName)] = value;
    }
    // Some defaults depend on other attributes, which are all known by now.
    for (unsigned index = 0; index != values.size(); ++index)
      if (!values[index] && !(values[index] = vhlo::defaultValue(*info, index, values, context)))
        return op->emitOpError("needs its attribute '")
               << info->attributes[index].name
               << "' in the portable format, which has no default for it";
    return replace(op, *info, std::move(values));
  }

  LogicalResult convertFunc(func::FuncOp function) {
    const vhlo::OpInfo &info = *vhlo::newestRevision("func");
    SmallVector<Attribute> values(info.attributes.size());
    Type type = encoder.type(function.getFunctionType());
    if (!type)
      return fail(function, "function_type");
    auto set = [&](StringRef name, Attribute value) { values[info.attributeIndex(name)] = value; };
    set("function_type", vhlo::TypeV1Attr::get(context, type));
    set("sym_name", vhlo::StringV1Attr::get(context, function.getSymName()));
    set("sym_visibility",
        vhlo::StringV1Attr::get(context, function.getSymVisibility().value_or("")));
    for (auto [name, attrs] :
         {std::pair<StringRef, ArrayAttr>("arg_attrs", function.getArgAttrsAttr()),
          std::pair<StringRef, ArrayAttr>("res_attrs", function.getResAttrsAttr())}) {
      Attribute value = attrs ? encoder.attribute(attrs) : vhlo::ArrayV1Attr::get(context, {});
      if (!value)
        return fail(function, name);
      set(name, value);
    }
    return replace(function, info, std::move(values));
  }

  /// Makes the vhlo form of an operation and puts it in its place, with its regions.
  LogicalResult replace(Operation *op, const vhlo::OpInfo &info, SmallVector<Attribute> values) {
    OperationState state(op->getLoc(), vhlo::operationName(info, context));
    state.addOperands(op->getOperands());
    if (failed(encoder.types(op->getResultTypes(), state.types)))
      return fail(op, "");
    if (!values.empty())
      state.getOrAddProperties<vhlo::OpAttributes>().values.assign(values.begin(), values.end());
    for (NamedAttribute attr : op->getDiscardableAttrs()) {
      Attribute value = encoder.attribute(attr.getValue());
      if (!value)
        return fail(op, attr.getName());
      state.addAttribute(attr.getName(), value);
    }
    for (Region &region : op->getRegions()) {
      for (Block &block : region)
        for (BlockArgument argument : block.getArguments()) {
          Type type = encoder.type(argument.getType());
          if (!type)
            return fail(op, "");
          argument.setType(type);
        }
      state.addRegion()->takeBody(region);
    }
    return replaceOp(op, state, [&](Region &region) { return convertBody(region); });
  }

  /// An operation of another dialect stays as it is between casts of its operands and results.
  LogicalResult convertForeign(Operation *op) {
    if (!allowOtherDialects) {
      op->emitError("failed to legalize operation '")
              .append(op->getName(), "' that was explicitly marked illegal")
              .attachNote()
          << "it is of another dialect, and only stablehlo and func are allowed";
      return failure();
    }
    OpBuilder builder(op);
    for (OpOperand &operand : op->getOpOperands()) {
      Type type = decoder.type(operand.get().getType());
      if (type && type != operand.get().getType())
        operand.set(cast(builder, op->getLoc(), operand.get(), type));
    }
    builder.setInsertionPointAfter(op);
    for (Value result : op->getResults())
      hide(builder, result);
    for (Region &region : op->getRegions())
      for (Block &block : region) {
        builder.setInsertionPointToStart(&block);
        for (BlockArgument argument : block.getArguments())
          hide(builder, argument);
        for (Operation &inner : llvm::make_early_inc_range(block))
          if (failed(convert(&inner)))
            return failure();
      }
    return success();
  }

  static Value cast(OpBuilder &builder, Location loc, Value value, Type type) {
    return builder.create<UnrealizedConversionCastOp>(loc, type, value).getResult(0);
  }

  /// Lets everything use a value of another dialect through a cast to its vhlo type.
  void hide(OpBuilder &builder, Value value) {
    Type type = encoder.type(value.getType());
    encoder.reason.clear();
    if (!type || value.use_empty())
      return;
    Value casted = cast(builder, value.getLoc(), value, type);
    value.replaceAllUsesExcept(casted, casted.getDefiningOp());
  }

  LogicalResult fail(Operation *op, StringRef attribute) {
    InFlightDiagnostic diagnostic = op->emitError("failed to legalize operation '")
                                    << op->getName() << "' that was explicitly marked illegal";
    if (!attribute.empty())
      diagnostic.attachNote() << "in its attribute '" << attribute << "': " << encoder.reason;
    else
      diagnostic.attachNote() << encoder.reason;
    return failure();
  }

  MLIRContext *context;
  bool allowOtherDialects;
  Encoder encoder;
  Decoder decoder;
};

} // namespace

LogicalResult cupel::portable::convertStablehloToVhlo(ModuleOp module, bool allowOtherDialects) {
  return ToVhlo(module.getContext(), allowOtherDialects).convertBody(module.getBodyRegion());
}
