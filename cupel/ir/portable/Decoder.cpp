#include "cupel/ir/portable/Values.h"

#include "cupel/ir/stablehlo/Stablehlo.h"
#include "cupel/ir/vhlo/Builtin.h"

#include "mlir/Dialect/Quant/QuantTypes.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace cupel;
using namespace cupel::portable;
using vhlo::AttrCode;
using vhlo::TypeCode;

namespace {
/// More entries than any list of dimensions has. A file can claim any number of equal ones in a few
/// bytes.
constexpr int64_t kMaxListLength = 1 << 20;

/// Collects what the verifier of an attribute or type says.
struct Complaint {
  explicit Complaint(MLIRContext *context)
      : handler(context,
                [this](Diagnostic &diagnostic) {
                  text = diagnostic.str();
                  return success();
                }),
        emit([context] { return mlir::emitError(UnknownLoc::get(context)); }) {}
  llvm::function_ref<InFlightDiagnostic()> emitError() { return emit; }
  std::string text;
  ScopedDiagnosticHandler handler;
  std::function<InFlightDiagnostic()> emit;
};
} // namespace

Type Decoder::type(Type type) {
  auto it = typeCache.find(type);
  if (it != typeCache.end())
    return it->second;
  Type result = convertType(type);
  if (result)
    typeCache[type] = result;
  else if (reason.empty())
    reason = describe(type) + " is not a type of a program";
  return result;
}

LogicalResult Decoder::types(TypeRange types, SmallVectorImpl<Type> &result) {
  for (Type original : types) {
    result.push_back(type(original));
    if (!result.back())
      return failure();
  }
  return success();
}

Type Decoder::convertType(Type type) {
  if (!llvm::isa<vhlo::VhloDialect>(type.getDialect()))
    return type;
  auto list = [&](ArrayRef<Type> inner) -> std::optional<SmallVector<Type>> {
    SmallVector<Type> elements;
    if (failed(types(inner, elements)))
      return std::nullopt;
    return elements;
  };
  auto quantizedTypes = [&](Type storage, Type expressed) -> std::pair<Type, Type> {
    return {this->type(storage), this->type(expressed)};
  };
  return TypeSwitch<Type, Type>(type)
      .Case([&](vhlo::ScalarV1Type type) -> Type {
        if (type.getCode() == TypeCode::Token)
          return stablehlo::TokenType::get(context);
        std::string name = vhlo::plainName(vhlo::infoOf(type.getCode()));
        if (Type rare = stablehlo::rareFloatType(context, name))
          return rare;
        return vhlo::scalarToBuiltin(type);
      })
      .Case([&](vhlo::WrapperV1Type type) -> Type {
        Type element = this->type(type.getElement());
        if (!element)
          return {};
        if (type.getCode() == TypeCode::Complex)
          return llvm::isa<IntegerType, FloatType>(element) ? ComplexType::get(element) : Type();
        return TensorType::isValidElementType(element) ? UnrankedTensorType::get(element) : Type();
      })
      .Case([&](vhlo::ListV1Type type) -> Type {
        auto elements = list(type.getTypes());
        if (!elements)
          return {};
        if (type.getCode() == TypeCode::Tuple)
          return TupleType::get(context, *elements);
        return stablehlo::FutureType::get(context, *elements);
      })
      .Case([&](vhlo::RankedV1Type type) -> Type {
        Type element = this->type(type.getElement());
        if (!element)
          return {};
        Attribute encoding;
        if (type.getEncoding() && !(encoding = attribute(type.getEncoding())))
          return {};
        Complaint complaint(context);
        Type result;
        if (type.getCode() == TypeCode::RankedTensor)
          result = RankedTensorType::getChecked(complaint.emitError(), type.getShape(), element,
                                                encoding);
        else if (BaseMemRefType::isValidElementType(element) && !encoding)
          result = MemRefType::getChecked(complaint.emitError(), type.getShape(), element,
                                          MemRefLayoutAttrInterface(), Attribute());
        if (!result)
          reason = describe(type) + " is malformed: " + complaint.text;
        return result;
      })
      .Case([&](vhlo::FunctionV1Type type) -> Type {
        auto inputs = list(type.getInputs());
        auto outputs = inputs ? list(type.getOutputs()) : std::nullopt;
        return outputs ? FunctionType::get(context, *inputs, *outputs) : Type();
      })
      .Case([&](vhlo::QuantizedV1Type type) -> Type {
        auto [storage, expressed] = quantizedTypes(type.getStorage(), type.getExpressed());
        if (!storage || !expressed)
          return {};
        Complaint complaint(context);
        Type result = quant::UniformQuantizedType::getChecked(
            complaint.emitError(), type.getFlags(), storage, expressed,
            type.getScale().convertToDouble(), type.getZeroPoint(), type.getStorageMin(),
            type.getStorageMax());
        if (!result)
          reason = describe(type) + " is malformed: " + complaint.text;
        return result;
      })
      .Case([&](vhlo::QuantizedPerAxisV1Type type) -> Type {
        auto [storage, expressed] = quantizedTypes(type.getStorage(), type.getExpressed());
        if (!storage || !expressed)
          return {};
        SmallVector<double> scales;
        for (const APFloat &scale : type.getScales())
          scales.push_back(scale.convertToDouble());
        Complaint complaint(context);
        Type result;
        if (type.getDimension() >= 0 && type.getDimension() <= INT32_MAX)
          result = quant::UniformQuantizedPerAxisType::getChecked(
              complaint.emitError(), type.getFlags(), storage, expressed, scales,
              type.getZeroPoints(), int32_t(type.getDimension()), type.getStorageMin(),
              type.getStorageMax());
        if (!result)
          reason = describe(type) + " is malformed: " + complaint.text;
        return result;
      })
      .Default([](Type) { return Type(); });
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

Attribute Decoder::unexpected(StringRef expected, Attribute attr) {
  if (reason.empty())
    reason = (expected + " was expected, not " + describe(attr)).str();
  return {};
}

std::optional<SmallVector<int64_t>> Decoder::integers(Attribute attr) {
  auto tensor = llvm::dyn_cast<vhlo::TensorV1Attr>(attr);
  auto elements = llvm::dyn_cast_or_null<DenseIntElementsAttr>(
      tensor ? vhlo::tensorToElements(tensor) : DenseElementsAttr());
  if (!elements || elements.getType().getRank() != 1 ||
      elements.getNumElements() > kMaxListLength ||
      elements.getElementType().getIntOrFloatBitWidth() > 64) {
    unexpected("a list of integers", attr);
    return std::nullopt;
  }
  SmallVector<int64_t> values;
  for (const APInt &value : elements.getValues<APInt>())
    values.push_back(value.getSExtValue());
  return values;
}

std::optional<int64_t> Decoder::integer(Attribute attr) {
  if (auto integer = llvm::dyn_cast<vhlo::IntegerV1Attr>(attr))
    return integer.getValue().getSExtValue();
  unexpected("an integer", attr);
  return std::nullopt;
}

std::optional<bool> Decoder::boolean(Attribute attr) {
  if (auto boolean = llvm::dyn_cast<vhlo::BooleanV1Attr>(attr))
    return boolean.getValue();
  unexpected("a boolean", attr);
  return std::nullopt;
}

std::optional<StringRef> Decoder::string(Attribute attr) {
  if (auto string = llvm::dyn_cast<vhlo::StringV1Attr>(attr))
    return string.getValue();
  unexpected("a string", attr);
  return std::nullopt;
}

Attribute Decoder::attribute(Attribute attr) {
  if (!llvm::isa<vhlo::VhloDialect>(attr.getDialect()))
    return attr;
  Attribute result = convertAttribute(attr);
  if (!result && reason.empty())
    reason = describe(attr) + " is malformed";
  return result;
}

static Attribute decodeEnum(vhlo::EnumV1Attr attr) {
  MLIRContext *context = attr.getContext();
  auto value = attr.getValue();
  switch (attr.getCode()) {
  case AttrCode::ComparisonDirection:
    return stablehlo::ComparisonDirectionAttr::get(context, stablehlo::ComparisonDirection(value));
  case AttrCode::ComparisonType:
    return stablehlo::ComparisonTypeAttr::get(context, stablehlo::ComparisonType(value));
  case AttrCode::FftType:
    return stablehlo::FftTypeAttr::get(context, stablehlo::FftType(value));
  case AttrCode::Precision:
    return stablehlo::PrecisionAttr::get(context, stablehlo::Precision(value));
  case AttrCode::RngAlgorithm:
    return stablehlo::RngAlgorithmAttr::get(context, stablehlo::RngAlgorithm(value));
  case AttrCode::RngDistribution:
    return stablehlo::RngDistributionAttr::get(context, stablehlo::RngDistribution(value));
  case AttrCode::Transpose:
    return stablehlo::TransposeAttr::get(context, stablehlo::Transpose(value));
  case AttrCode::ResultAccuracyMode:
    return stablehlo::ResultAccuracyModeAttr::get(context, stablehlo::ResultAccuracyMode(value));
  default:
    // The version of a custom call is a plain integer in stablehlo.
    return IntegerAttr::get(IntegerType::get(context, 32), value);
  }
}

Attribute Decoder::convertAttribute(Attribute attr) {
  return TypeSwitch<Attribute, Attribute>(attr)
      .Case([&](vhlo::EnumV1Attr attr) { return decodeEnum(attr); })
      .Case([&](vhlo::ArrayV1Attr attr) -> Attribute {
        SmallVector<Attribute> elements;
        for (Attribute element : attr.getValue()) {
          elements.push_back(attribute(element));
          if (!elements.back())
            return {};
        }
        return ArrayAttr::get(context, elements);
      })
      .Case([&](vhlo::BooleanV1Attr attr) { return BoolAttr::get(context, attr.getValue()); })
      .Case([&](vhlo::DictionaryV1Attr attr) -> Attribute {
        NamedAttrList entries;
        for (auto [key, value] : attr.getValue()) {
          auto name = string(key);
          if (!name)
            return {};
          Attribute decoded = attribute(value);
          if (!decoded)
            return {};
          if (name->empty() || entries.set(StringAttr::get(context, *name), decoded))
            return unexpected("a dictionary with distinct names", attr);
        }
        return entries.getDictionary(context);
      })
      .Case([&](vhlo::FloatV1Attr attr) -> Attribute {
        Type type = this->type(attr.getType());
        return llvm::isa_and_nonnull<FloatType>(type) ? FloatAttr::get(type, attr.getValue())
                                                      : Attribute();
      })
      .Case([&](vhlo::IntegerV1Attr attr) -> Attribute {
        Type type = this->type(attr.getType());
        return llvm::isa_and_nonnull<IntegerType, IndexType>(type)
                   ? IntegerAttr::get(type, attr.getValue())
                   : Attribute();
      })
      .Case([&](vhlo::StringV1Attr attr) { return StringAttr::get(context, attr.getValue()); })
      .Case([&](vhlo::TensorV1Attr attr) -> Attribute {
        auto type = llvm::dyn_cast_or_null<RankedTensorType>(this->type(attr.getType()));
        if (!type)
          return {};
        if (stablehlo::isRareFloat(type.getElementType()))
          return vhlo::isWellFormed(attr) ? stablehlo::BitsAttr::get(type, attr.getData())
                                          : Attribute();
        return vhlo::tensorToElements(attr);
      })
      .Case([&](vhlo::TypeV1Attr attr) -> Attribute {
        Type type = this->type(attr.getValue());
        return type ? TypeAttr::get(type) : Attribute();
      })
      .Case([&](vhlo::TypeExtensionsV1Attr attr) {
        return stablehlo::TypeExtensionsAttr::get(context, attr.getBounds());
      })
      .Case([&](vhlo::OutputOperandAliasV1Attr attr) {
        return stablehlo::OutputOperandAliasAttr::get(context, attr.getOutputTupleIndices(),
                                                      attr.getOperandIndex(),
                                                      attr.getOperandTupleIndices());
      })
      .Case([&](vhlo::ResultAccuracyV1Attr attr) -> Attribute {
        auto mode =
            llvm::dyn_cast_or_null<stablehlo::ResultAccuracyModeAttr>(attribute(attr.getMode()));
        if (!mode)
          return unexpected("a mode of accuracy", attr.getMode());
        Complaint complaint(context);
        auto result = stablehlo::ResultAccuracyAttr::getChecked(
            complaint.emitError(), context, attr.getAtol(), attr.getRtol(), attr.getUlps(), mode);
        if (!result)
          reason = describe(attr) + " is malformed: " + complaint.text;
        return result;
      })
      .Case([&](vhlo::SubAxisInfoV1Attr attr) {
        return stablehlo::SubAxisInfoAttr::get(context, attr.getPreSize(), attr.getSize());
      })
      .Case([&](vhlo::AxisRefV1Attr attr) -> Attribute {
        auto name = string(attr.getName());
        stablehlo::SubAxisInfoAttr subAxis;
        if (attr.getSubAxisInfo()) {
          subAxis =
              llvm::dyn_cast_or_null<stablehlo::SubAxisInfoAttr>(attribute(attr.getSubAxisInfo()));
          if (!subAxis)
            return unexpected("a sub-axis", attr.getSubAxisInfo());
        }
        if (!name)
          return {};
        return stablehlo::AxisRefAttr::get(context, StringAttr::get(context, *name), subAxis);
      })
      .Case([&](vhlo::MeshAxisV1Attr attr) -> Attribute {
        auto name = string(attr.getName());
        if (!name)
          return {};
        Complaint complaint(context);
        auto result = stablehlo::MeshAxisAttr::getChecked(
            complaint.emitError(), context, StringAttr::get(context, *name), attr.getSize());
        if (!result)
          reason = describe(attr) + " is malformed: " + complaint.text;
        return result;
      })
      .Case([&](vhlo::MeshV1Attr attr) -> Attribute {
        auto array = llvm::dyn_cast<vhlo::ArrayV1Attr>(attr.getAxes());
        if (!array)
          return unexpected("an array of mesh axes", attr.getAxes());
        SmallVector<stablehlo::MeshAxisAttr> axes;
        for (Attribute element : array.getValue()) {
          auto axis = llvm::dyn_cast_or_null<stablehlo::MeshAxisAttr>(attribute(element));
          if (!axis)
            return unexpected("a mesh axis", element);
          axes.push_back(axis);
        }
        DenseIntElementsAttr ids;
        if (attr.getDeviceIds()) {
          ids = llvm::dyn_cast_or_null<DenseIntElementsAttr>(attribute(attr.getDeviceIds()));
          if (!ids)
            return unexpected("device ids", attr.getDeviceIds());
        }
        return stablehlo::MeshAttr::get(context, axes, ids);
      })
      .Case([&](vhlo::ReplicaGroupMeshAxesV1Attr attr) -> Attribute {
        // A string here is the symbol of a mesh.
        Attribute mesh;
        if (auto name = llvm::dyn_cast<vhlo::StringV1Attr>(attr.getMesh()))
          mesh = FlatSymbolRefAttr::get(context, name.getValue());
        else
          mesh = attribute(attr.getMesh());
        auto array = llvm::dyn_cast<vhlo::ArrayV1Attr>(attr.getAxes());
        if (!mesh || !array)
          return unexpected("a mesh and its axes", attr);
        SmallVector<stablehlo::AxisRefAttr> axes;
        for (Attribute element : array.getValue()) {
          auto axis = llvm::dyn_cast_or_null<stablehlo::AxisRefAttr>(attribute(element));
          if (!axis)
            return unexpected("an axis", element);
          axes.push_back(axis);
        }
        Complaint complaint(context);
        auto result = stablehlo::ReplicaGroupMeshAxesAttr::getChecked(
            complaint.emitError(), context, mesh, ArrayRef(axes));
        if (!result)
          reason = describe(attr) + " is malformed: " + complaint.text;
        return result;
      })
      .Default([](Attribute) { return Attribute(); });
}
