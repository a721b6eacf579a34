// Between versions of vhlo: every operation to its newest form, or to the form it has in an older
// version. A revision added attributes, operands, results or regions; going back is possible where
// what it added has its default.

#include "cupel/ir/portable/Conversion.h"
#include "cupel/ir/vhlo/Defaults.h"

using namespace mlir;
using namespace cupel;
using namespace cupel::portable;
using vhlo::OpInfo;

namespace {

//===----------------------------------------------------------------------===//
// Between two forms of one operation
//===----------------------------------------------------------------------===//

/// The attributes of an operation in another form: those both have, and defaults for the rest.
FailureOr<SmallVector<Attribute>> attributesIn(const OpInfo &to, const OpInfo &from,
                                               ArrayRef<Attribute> values, MLIRContext *context) {
  SmallVector<Attribute> result(to.attributes.size());
  for (auto [index, slot] : llvm::enumerate(to.attributes))
    if (int source = from.attributeIndex(slot.name); source >= 0)
      result[index] = values[source];
  for (unsigned index = 0; index != result.size(); ++index)
    if (!result[index] && !(result[index] = vhlo::defaultValue(to, index, result, context)))
      return failure();
  return result;
}

/// Replaces an operation by another form of it.
LogicalResult changeForm(Operation *op, const OpInfo &from, const OpInfo &to) {
  auto values = attributesIn(to, from, vhlo::attributesOf(op), op->getContext());
  if (failed(values))
    return op->emitOpError("is malformed: it has no '")
           << to.name << "' form, because the size of its window is not known";
  OperationState state(op->getLoc(), vhlo::operationName(to, op->getContext()));
  state.addOperands(op->getOperands());
  state.addTypes(op->getResultTypes());
  if (!values->empty())
    state.getOrAddProperties<vhlo::OpAttributes>().values.assign(values->begin(), values->end());
  state.addAttributes(op->getDiscardableAttrDictionary().getValue());
  for (Region &region : op->getRegions())
    state.addRegion()->takeBody(region);
  return replaceOp(op, state, [](Region &) { return success(); });
}

//===----------------------------------------------------------------------===//
// What a version can say
//===----------------------------------------------------------------------===//

/// Something that a version does not have yet.
struct Novelty {
  std::string what;
  vhlo::Version since;
};

/// Knows which types and attributes are too new for a version.
class Limits {
public:
  explicit Limits(vhlo::Version target) : target(target) {}

  std::optional<Novelty> check(Type type) { return cached(types, type); }
  std::optional<Novelty> check(Attribute attr) { return cached(attributes, attr); }

private:
  template <typename T>
  std::optional<Novelty> cached(llvm::DenseMap<T, std::optional<Novelty>> &cache, T value) {
    auto it = cache.find(value);
    if (it != cache.end())
      return it->second;
    std::optional<Novelty> found;
    auto visitType = [&](Type type) {
      const vhlo::TypeInfo *info = vhlo::typeInfoOf(type);
      if (!info || info->since <= target)
        return WalkResult::advance();
      found = Novelty{"type '" + vhlo::plainName(*info) + "'", info->since};
      return WalkResult::interrupt();
    };
    auto visitAttr = [&](Attribute attr) {
      const vhlo::AttrInfo *info = vhlo::attrInfoOf(attr);
      if (!info || info->since <= target)
        return WalkResult::advance();
      found = Novelty{"attribute kind '" + info->mnemonic.str() + "'", info->since};
      return WalkResult::interrupt();
    };
    value.walk(visitType, visitAttr);
    cache.try_emplace(value, found);
    return found;
  }

  vhlo::Version target;
  llvm::DenseMap<Type, std::optional<Novelty>> types;
  llvm::DenseMap<Attribute, std::optional<Novelty>> attributes;
};

Type elementType(Type type) {
  if (auto ranked = llvm::dyn_cast<vhlo::RankedV1Type>(type))
    return ranked.getElement();
  return {};
}

/// What an operation says that needs a certain version although its form is older.
std::optional<Novelty> newUse(Operation *op, const OpInfo &info) {
  if (info.base == "custom_call") {
    for (Type type : llvm::concat<const Type>(SmallVector<Type>(op->getOperandTypes()),
                                              SmallVector<Type>(op->getResultTypes())))
      if (auto list = llvm::dyn_cast<vhlo::ListV1Type>(type);
          list && list.getCode() == vhlo::TypeCode::Future)
        return Novelty{"a future in a custom call", {1, 17, 0}};
    auto api = llvm::dyn_cast<vhlo::EnumV1Attr>(vhlo::attributeOf(op, "api_version"));
    if (api && api.getValue() == 4)
      return Novelty{"the typed interface of custom calls (api_version 4)", {1, 3, 0}};
    if (llvm::isa<vhlo::DictionaryV1Attr>(vhlo::attributeOf(op, "backend_config")))
      return Novelty{"a dictionary as backend_config", {1, 3, 0}};
  }
  if (info.promotesSince > vhlo::Version{})
    for (auto [operand, result] : llvm::zip(op->getOperandTypes(), op->getResultTypes()))
      if (elementType(operand) != elementType(result))
        return Novelty{"a reduction whose result has another element type than its operand",
                       info.promotesSince};
  return std::nullopt;
}

/// Why an operation cannot be said in the form before its own; nothing if it can.
std::optional<std::string> whyNotOlder(Operation *op, const OpInfo &from, const OpInfo &to) {
  for (auto [slot, value] : llvm::zip_equal(from.attributes, vhlo::attributesOf(op)))
    if (to.attributeIndex(slot.name) < 0 && slot.missing != vhlo::Default::ZeroPadding &&
        !vhlo::isDefault(slot.missing, value))
      return "its attribute '" + slot.name.str() + "' is not the default";
  auto fits = [](ArrayRef<vhlo::Slot> slots, size_t count) {
    bool variadic = llvm::any_of(slots, [](const vhlo::Slot &slot) { return slot.variadic; });
    return variadic ? count + 1 >= slots.size() : count == slots.size();
  };
  if (!fits(to.operands, op->getNumOperands()) || !fits(to.results, op->getNumResults()))
    return "it has " + std::to_string(op->getNumOperands()) + " operands and " +
           std::to_string(op->getNumResults()) + " results instead of one each";
  if (!fits(to.regions, op->getNumRegions()))
    return "it has regions";
  return std::nullopt;
}

class Downgrade {
public:
  explicit Downgrade(vhlo::Version target) : target(target.withoutPatch()), limits(this->target) {}

  LogicalResult run(Region &region) {
    for (Block &block : region)
      for (Operation &op : llvm::make_early_inc_range(block)) {
        if (failed(check(&op)))
          return failure();
        // Regions first: the operation is replaced, they are not.
        for (Region &inner : op.getRegions())
          if (failed(run(inner)))
            return failure();
        const OpInfo *info = vhlo::infoOf(&op);
        if (info && !info->existsIn(target) && failed(changeForm(&op, *info, *formOf(*info))))
          return failure();
      }
    return success();
  }

private:
  /// The form an operation has in the target version, or null.
  const OpInfo *formOf(const OpInfo &info) const {
    for (unsigned revision = info.revision; revision; --revision)
      if (const OpInfo *form = vhlo::findRevision(info.base, revision); form->existsIn(target))
        return form;
    return nullptr;
  }

  LogicalResult check(Operation *op) {
    const OpInfo *info = vhlo::infoOf(op);
    // Whether operations of other dialects are welcome was decided before.
    if (!info)
      return success();
    if (auto novelty = newUse(op, *info); novelty && novelty->since > target)
      return illegal(op, *novelty);
    if (!formOf(*info)) {
      const OpInfo *first = vhlo::findRevision(info->base, 1);
      return illegal(op, {"operation '" + info->base.str() + "'", first->since});
    }
    // Down to the form of the target, each revision must be undone.
    for (const OpInfo *form = info; !form->existsIn(target);) {
      const OpInfo *older = vhlo::findRevision(form->base, form->revision - 1);
      if (auto why = whyNotOlder(op, *form, *older))
        return illegal(op, {"what '" + form->name.str() + "' can say beyond '" + older->name.str() +
                                "' (" + *why + ")",
                            form->since});
      form = older;
    }
    const OpInfo *form = formOf(*info);
    for (auto [slot, value] : llvm::zip_equal(info->attributes, vhlo::attributesOf(op)))
      if (form->attributeIndex(slot.name) >= 0)
        if (auto novelty = limits.check(value))
          return illegal(op, {novelty->what + " (in its attribute '" + slot.name.str() + "')",
                              novelty->since});
    for (NamedAttribute attr : op->getDiscardableAttrs())
      if (auto novelty = limits.check(attr.getValue()))
        return illegal(op, *novelty);
    for (auto types : {TypeRange(op->getOperandTypes()), TypeRange(op->getResultTypes())})
      for (Type type : types)
        if (auto novelty = limits.check(type))
          return illegal(op, *novelty);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (BlockArgument argument : block.getArguments())
          if (auto novelty = limits.check(argument.getType()))
            return illegal(op, *novelty);
    return success();
  }

  LogicalResult illegal(Operation *op, const Novelty &novelty) {
    op->emitError("failed to legalize operation '")
            .append(op->getName(), "' that was explicitly marked illegal")
            .attachNote()
        << novelty.what << " exists since version " << novelty.since.str() << ", the target is "
        << target.str();
    return failure();
  }

  vhlo::Version target;
  Limits limits;
};

} // namespace

LogicalResult cupel::portable::upgrade(ModuleOp module) {
  SmallVector<Operation *> old;
  module.walk([&](Operation *op) {
    const OpInfo *info = vhlo::infoOf(op);
    if (info && info->until != vhlo::kCurrentVersion)
      old.push_back(op);
  });
  // The walk visits inner operations first, so that a replaced one has none left to visit.
  for (Operation *op : old) {
    const OpInfo *info = vhlo::infoOf(op);
    if (failed(changeForm(op, *info, *vhlo::newestRevision(info->base))))
      return failure();
  }
  return success();
}

LogicalResult cupel::portable::downgrade(ModuleOp module, Version target) {
  if (succeeded(Downgrade(target).run(module.getBodyRegion())))
    return success();
  return module.emitError("failed to convert VHLO to v") << target.str();
}
