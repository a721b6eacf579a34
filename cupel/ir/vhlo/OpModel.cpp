#include "cupel/ir/vhlo/OpModel.h"

#include "mlir/Bytecode/BytecodeImplementation.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace cupel::vhlo;

namespace {

/// Since bytecode level 5 an operation's attributes are a list of attribute numbers in the order of
/// the table; before, MLIR itself keeps them in a dictionary and never calls this.
struct BytecodeModel : mlir::detail::BytecodeOpInterfaceInterfaceTraits::Concept {
  using Interface = BytecodeOpInterface;
  BytecodeModel() : Concept{readProperties, writeProperties} {}

  static LogicalResult readProperties(DialectBytecodeReader &reader, OperationState &state) {
    const OpInfo *info = VhloDialect::infoOf(state.name);
    if (!info)
      return reader.emitError() << state.name << " is not an operation of the portable format";
    // An operation without attributes has no properties to hold.
    if (info->attributes.empty())
      return success();
    auto &values = state.getOrAddProperties<OpAttributes>().values;
    values.resize(info->attributes.size());
    for (Attribute &value : values)
      if (failed(reader.readAttribute(value)))
        return failure();
    return success();
  }

  static void writeProperties(const Concept *, Operation *op, DialectBytecodeWriter &writer) {
    for (Attribute value : attributesOf(op))
      writer.writeAttribute(value);
  }
};

class OpModel final : public OperationName::Impl {
public:
  OpModel(VhloDialect &dialect, TypeID typeId, const OpInfo &info)
      : Impl(("vhlo." + info.name).str(), &dialect, typeId, interfaces()), info(info) {}

  LogicalResult foldHook(Operation *, ArrayRef<Attribute>,
                         SmallVectorImpl<OpFoldResult> &) override {
    return failure();
  }
  void getCanonicalizationPatterns(RewritePatternSet &, MLIRContext *) override {}

  bool hasTrait(TypeID trait) override {
    if (isReturn())
      return trait == TypeID::get<OpTrait::IsTerminator>();
    if (isFunc())
      return trait == TypeID::get<OpTrait::IsIsolatedFromAbove>();
    return false;
  }

  OperationName::ParseAssemblyFn getParseAssemblyFn() override {
    if (isFunc())
      return parseFunc;
    return [](OpAsmParser &parser, OperationState &state) -> ParseResult {
      return parser.emitError(parser.getNameLoc())
             << "'" << state.name << "' is written in its generic form: \"" << state.name
             << "\"(operands) <{attributes}> : (types) -> types";
    };
  }
  void printAssembly(Operation *op, OpAsmPrinter &printer, StringRef) override {
    // The custom form can show neither a function that is not well formed nor one without a body
    // (whose attributes would be read as the body).
    if (isFunc() && isWellFormedFunc(op) && !op->getRegion(0).empty())
      return printFunc(op, printer);
    printer.printGenericOp(op);
  }
  void populateDefaultAttrs(const OperationName &, NamedAttrList &) override {}

  LogicalResult verifyInvariants(Operation *op) override {
    if (failed(verifyCount(op, "operand", info.operands, op->getNumOperands())) ||
        failed(verifyCount(op, "result", info.results, op->getNumResults())) ||
        failed(verifyCount(op, "region", info.regions, op->getNumRegions())))
      return failure();
    if (op->getNumSuccessors())
      return op->emitOpError("has successors, but no operation of the portable format has any");
    for (auto [slot, value] : llvm::zip_equal(info.attributes, attributesOf(op)))
      if (!value)
        return op->emitOpError("lacks its attribute '") << slot.name << "'";
    if (isReturn())
      return OpTrait::impl::verifyIsTerminator(op);
    if (isFunc() && !isWellFormedFunc(op))
      return op->emitOpError(
          "needs 'sym_name' to be a string_v1 and 'function_type' a type_v1 that "
          "holds a function type agreeing with its body");
    return success();
  }
  LogicalResult verifyRegionInvariants(Operation *op) override {
    return isFunc() ? OpTrait::impl::verifyIsIsolatedFromAbove(op) : success();
  }

  std::optional<Attribute> getInherentAttr(Operation *op, StringRef name) override {
    int index = info.attributeIndex(name);
    if (index < 0)
      return std::nullopt;
    return attributesOf(op)[index];
  }
  void setInherentAttr(Operation *op, StringAttr name, Attribute value) override {
    int index = info.attributeIndex(name);
    if (index >= 0)
      op->getPropertiesStorage().as<OpAttributes *>()->values[index] = value;
  }
  void populateInherentAttrs(Operation *op, NamedAttrList &attrs) override {
    for (auto [name, value] : llvm::zip_equal(attributeNames, attributesOf(op)))
      if (value)
        attrs.append(name, value);
  }
  LogicalResult verifyInherentAttrs(OperationName, NamedAttrList &,
                                    function_ref<InFlightDiagnostic()>) override {
    return success();
  }

  int getOpPropertyByteSize() override {
    return info.attributes.empty() ? 0 : sizeof(OpAttributes);
  }
  void initProperties(OperationName, OpaqueProperties storage, OpaqueProperties init) override {
    if (info.attributes.empty())
      return;
    auto *attributes = init ? new (storage.as<void *>()) OpAttributes(*init.as<OpAttributes *>())
                            : new (storage.as<void *>()) OpAttributes();
    attributes->values.resize(info.attributes.size());
  }
  void deleteProperties(OpaqueProperties storage) override {
    if (!info.attributes.empty())
      storage.as<OpAttributes *>()->~OpAttributes();
  }
  void populateDefaultProperties(OperationName, OpaqueProperties) override {}

  LogicalResult setPropertiesFromAttr(OperationName name, OpaqueProperties storage, Attribute attr,
                                      function_ref<InFlightDiagnostic()> emitError) override {
    auto dictionary = llvm::dyn_cast_or_null<DictionaryAttr>(attr);
    if (!dictionary) {
      if (emitError)
        emitError() << "expected a dictionary of the attributes of " << name;
      return failure();
    }
    for (NamedAttribute entry : dictionary) {
      int index = info.attributeIndex(entry.getName());
      if (index < 0) {
        if (emitError)
          emitError() << name << " has no attribute '" << entry.getName().getValue() << "'";
        return failure();
      }
      storage.as<OpAttributes *>()->values[index] = entry.getValue();
    }
    return success();
  }
  Attribute getPropertiesAsAttr(Operation *op) override {
    if (info.attributes.empty())
      return {};
    NamedAttrList attrs;
    populateInherentAttrs(op, attrs);
    return attrs.getDictionary(op->getContext());
  }
  void copyProperties(OpaqueProperties lhs, OpaqueProperties rhs) override {
    if (!info.attributes.empty())
      *lhs.as<OpAttributes *>() = *rhs.as<const OpAttributes *>();
  }
  bool compareProperties(OpaqueProperties lhs, OpaqueProperties rhs) override {
    return info.attributes.empty() ||
           *lhs.as<const OpAttributes *>() == *rhs.as<const OpAttributes *>();
  }
  llvm::hash_code hashProperties(OpaqueProperties storage) override {
    if (info.attributes.empty())
      return 0;
    const auto &values = storage.as<const OpAttributes *>()->values;
    return llvm::hash_combine_range(values.begin(), values.end());
  }

private:
  static mlir::detail::InterfaceMap interfaces() {
    auto map = mlir::detail::InterfaceMap::get<>();
    map.insertModels<BytecodeModel>();
    return map;
  }

  bool isFunc() const { return info.name == "func_v1"; }
  bool isReturn() const { return info.name == "return_v1"; }

  static bool isWellFormedFunc(Operation *op) {
    auto type = llvm::dyn_cast_or_null<TypeV1Attr>(attributeOf(op, "function_type"));
    auto function = type ? llvm::dyn_cast<FunctionV1Type>(type.getValue()) : FunctionV1Type();
    if (!function || !llvm::isa_and_nonnull<StringV1Attr>(attributeOf(op, "sym_name")) ||
        op->getNumRegions() != 1)
      return false;
    Region &body = op->getRegion(0);
    return body.empty() || llvm::equal(body.getArgumentTypes(), function.getInputs());
  }

  static LogicalResult verifyCount(Operation *op, StringRef what, ArrayRef<Slot> slots,
                                   size_t count) {
    size_t variadic = llvm::count_if(slots, [](const Slot &slot) { return slot.variadic; });
    size_t fixed = slots.size() - variadic;
    if (variadic ? count >= fixed : count == fixed)
      return success();
    return op->emitOpError("expects ") << (variadic ? "at least " : "") << fixed << " " << what
                                       << (fixed == 1 ? "" : "s") << ", found " << count;
  }

  const OpInfo &info;
};

} // namespace

void cupel::vhlo::registerOp(VhloDialect &dialect, TypeID typeId, const OpInfo &info) {
  SmallVector<StringRef> names;
  for (const AttributeSlot &slot : info.attributes)
    names.push_back(slot.name);
  RegisteredOperationName::insert(std::make_unique<OpModel>(dialect, typeId, info), names);
}
