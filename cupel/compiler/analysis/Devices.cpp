#include "cupel/compiler/analysis/Devices.h"

namespace cupel::compiler {

using namespace mlir;

static constexpr StringLiteral kDevicesAttr = "cupel.devices";
static constexpr StringLiteral kViews[] = {"global", "per_device", "own"};

Devices Devices::of(ModuleOp module) {
  Devices devices;
  auto stated = module->getAttrOfType<DictionaryAttr>(kDevicesAttr);
  if (!stated)
    return devices;
  if (auto number = stated.getAs<IntegerAttr>("replicas"))
    devices.replicas = number.getInt();
  if (auto number = stated.getAs<IntegerAttr>("partitions"))
    devices.partitions = number.getInt();
  if (auto view = stated.getAs<StringAttr>("view"))
    for (auto [i, name] : llvm::enumerate(kViews))
      if (name == view.getValue())
        devices.view = static_cast<View>(i);
  return devices;
}

void Devices::write(ModuleOp module) const {
  Builder builder(module.getContext());
  NamedAttribute entries[] = {
      builder.getNamedAttr("replicas", builder.getI64IntegerAttr(replicas)),
      builder.getNamedAttr("partitions", builder.getI64IntegerAttr(partitions)),
      builder.getNamedAttr("view", builder.getStringAttr(kViews[static_cast<size_t>(view)]))};
  module->setAttr(kDevicesAttr, builder.getDictionaryAttr(entries));
}

func::FuncOp entryOf(ModuleOp module) {
  if (auto entry = module.lookupSymbol<func::FuncOp>("main"))
    return entry;
  auto functions = module.getOps<func::FuncOp>();
  if (llvm::hasSingleElement(functions))
    return *functions.begin();
  auto isOffered = [](func::FuncOp function) { return function.isPublic() && !function.isExternal(); };
  auto offered = llvm::make_filter_range(functions, isOffered);
  return llvm::hasSingleElement(offered) ? *offered.begin() : func::FuncOp();
}

void holdPieces(func::FuncOp entry, FunctionType types) {
  for (auto [i, type] : llvm::enumerate(types.getInputs()))
    if (Type whole = entry.getArgumentTypes()[i]; whole != type)
      entry.setArgAttr(i, kWholeTypeAttr, TypeAttr::get(whole));
  for (auto [i, type] : llvm::enumerate(types.getResults()))
    if (Type whole = entry.getResultTypes()[i]; whole != type)
      entry.setResultAttr(i, kWholeTypeAttr, TypeAttr::get(whole));
  entry.setFunctionType(types);
}

} // namespace cupel::compiler
