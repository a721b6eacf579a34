#include "cupel/ir/vhlo/Vhlo.h"

#include "cupel/ir/vhlo/Bytecode.h"
#include "cupel/ir/vhlo/OpModel.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

#include "cupel/ir/vhlo/VhloDialect.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "cupel/ir/vhlo/VhloTypes.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "cupel/ir/vhlo/VhloAttrs.cpp.inc"

using namespace mlir;
using namespace cupel::vhlo;

void VhloDialect::initialize() {
  registerTypesAndAttributes();
  registerOps();
  addBytecodeInterface(*this);
}

void VhloDialect::registerTypesAndAttributes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "cupel/ir/vhlo/VhloTypes.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "cupel/ir/vhlo/VhloAttrs.cpp.inc"
      >();
}

void VhloDialect::registerOps() {
  for (const OpInfo &info : allOps()) {
    TypeID typeId = typeIds.allocate();
    infoByTypeId[typeId] = &info;
    registerOp(*this, typeId, info);
  }
}

const OpInfo *VhloDialect::infoOf(OperationName name) {
  auto *dialect = llvm::dyn_cast_or_null<VhloDialect>(name.getDialect());
  if (!dialect || !name.isRegistered())
    return nullptr;
  return dialect->infoByTypeId.lookup(name.getTypeID());
}

ArrayRef<Attribute> cupel::vhlo::attributesOf(Operation *op) {
  // The properties of operations of other dialects are something else.
  if (!op->getPropertiesStorageSize() || !infoOf(op))
    return {};
  return op->getPropertiesStorage().as<const OpAttributes *>()->values;
}

Attribute cupel::vhlo::attributeOf(Operation *op, StringRef name) {
  const OpInfo *info = infoOf(op);
  int index = info ? info->attributeIndex(name) : -1;
  return index < 0 ? Attribute() : attributesOf(op)[index];
}

OperationName cupel::vhlo::operationName(const OpInfo &info, MLIRContext *context) {
  return OperationName(("vhlo." + info.name).str(), context);
}

const TypeInfo *cupel::vhlo::typeInfoOf(Type type) {
  return TypeSwitch<Type, const TypeInfo *>(type)
      .Case<ScalarV1Type, WrapperV1Type, ListV1Type, RankedV1Type>(
          [](auto type) { return findType(uint64_t(type.getCode())); })
      .Case([](FunctionV1Type) { return &infoOf(TypeCode::Function); })
      .Case([](QuantizedV1Type) { return &infoOf(TypeCode::Quantized); })
      .Case([](QuantizedPerAxisV1Type) { return &infoOf(TypeCode::QuantizedPerAxis); })
      .Default([](Type) { return nullptr; });
}

const AttrInfo *cupel::vhlo::attrInfoOf(Attribute attr) {
  auto code = TypeSwitch<Attribute, std::optional<AttrCode>>(attr)
                  .Case([](EnumV1Attr attr) { return attr.getCode(); })
                  .Case([](ArrayV1Attr) { return AttrCode::Array; })
                  .Case([](BooleanV1Attr) { return AttrCode::Boolean; })
                  .Case([](DictionaryV1Attr) { return AttrCode::Dictionary; })
                  .Case([](FloatV1Attr) { return AttrCode::Float; })
                  .Case([](IntegerV1Attr) { return AttrCode::Integer; })
                  .Case([](OutputOperandAliasV1Attr) { return AttrCode::OutputOperandAlias; })
                  .Case([](StringV1Attr) { return AttrCode::String; })
                  .Case([](TensorV1Attr) { return AttrCode::Tensor; })
                  .Case([](TypeV1Attr) { return AttrCode::Type; })
                  .Case([](TypeExtensionsV1Attr) { return AttrCode::TypeExtensions; })
                  .Case([](ResultAccuracyV1Attr) { return AttrCode::ResultAccuracy; })
                  .Case([](SubAxisInfoV1Attr) { return AttrCode::SubAxisInfo; })
                  .Case([](AxisRefV1Attr) { return AttrCode::AxisRef; })
                  .Case([](ReplicaGroupMeshAxesV1Attr) { return AttrCode::ReplicaGroupMeshAxes; })
                  .Case([](MeshAxisV1Attr) { return AttrCode::MeshAxis; })
                  .Case([](MeshV1Attr) { return AttrCode::Mesh; })
                  .Default([](Attribute) { return std::nullopt; });
  return code ? &infoOf(*code) : nullptr;
}

std::string cupel::vhlo::plainName(const TypeInfo &info) {
  if (info.code == TypeCode::TF32)
    return "tf32";
  StringRef name = info.mnemonic;
  name.consume_back("_v1");
  return name.str();
}
