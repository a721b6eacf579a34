#include "cupel/ir/portable/Values.h"

#include "cupel/ir/stablehlo/Stablehlo.h"
#include "cupel/ir/vhlo/Builtin.h"
#include "cupel/ir/vhlo/Defaults.h"

#include "mlir/Dialect/Quant/QuantTypes.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace cupel;
using namespace cupel::portable;
using vhlo::AttrCode;
using vhlo::TypeCode;

template <typename T> static std::string printed(T value) {
  std::string text;
  llvm::raw_string_ostream os(text);
  value.print(os);
  // A large constant is no help in a message.
  constexpr size_t kMaxLength = 200;
  if (text.size() > kMaxLength)
    text = text.substr(0, kMaxLength) + "...";
  return text;
}

std::string cupel::portable::describe(Type type) { return "type '" + printed(type) + "'"; }
std::string cupel::portable::describe(Attribute attr) {
  return "attribute '" + printed(attr) + "'";
}

Type Encoder::type(Type type) {
  auto [it, isNew] = typeCache.try_emplace(type);
  if (!isNew && it->second)
    return it->second;
  Type result = convertType(type);
  if (result)
    typeCache[type] = result;
  else if (reason.empty())
    reason = describe(type) + " has no portable form";
  return result;
}

LogicalResult Encoder::types(TypeRange types, SmallVectorImpl<Type> &result) {
  for (Type original : types) {
    result.push_back(type(original));
    if (!result.back())
      return failure();
  }
  return success();
}

Attribute Encoder::encoding(Attribute attr) {
  if (auto extensions = llvm::dyn_cast<stablehlo::TypeExtensionsAttr>(attr))
    return vhlo::TypeExtensionsV1Attr::get(context, extensions.getBounds());
  return keepForeign ? attr : Attribute();
}

Type Encoder::convertType(Type type) {
  if (Type scalar = vhlo::scalarFromBuiltin(type))
    return scalar;
  auto wrap = [&](TypeCode code, Type inner) -> Type {
    Type element = this->type(inner);
    return element ? vhlo::WrapperV1Type::get(context, code, element) : Type();
  };
  auto list = [&](TypeCode code, TypeRange inner) -> Type {
    SmallVector<Type> elements;
    if (failed(types(inner, elements)))
      return {};
    return vhlo::ListV1Type::get(context, code, elements);
  };
  return TypeSwitch<Type, Type>(type)
      .Case([&](ComplexType type) { return wrap(TypeCode::Complex, type.getElementType()); })
      .Case([&](UnrankedTensorType type) {
        return wrap(TypeCode::UnrankedTensor, type.getElementType());
      })
      .Case([&](TupleType type) { return list(TypeCode::Tuple, type.getTypes()); })
      .Case([&](stablehlo::FutureType type) { return list(TypeCode::Future, type.getTypes()); })
      .Case<stablehlo::F4E2M1FNType, stablehlo::F6E2M3FNType, stablehlo::F6E3M2FNType,
            stablehlo::F8E3M4Type, stablehlo::F8E8M0FNUType>([&](Type type) {
        return vhlo::ScalarV1Type::get(
            context, vhlo::findType((stablehlo::rareFloatName(type) + "_v1").str())->code);
      })
      .Case([&](stablehlo::TokenType) { return vhlo::ScalarV1Type::get(context, TypeCode::Token); })
      .Case([&](RankedTensorType type) -> Type {
        Type element = this->type(type.getElementType());
        Attribute encoded = type.getEncoding() ? encoding(type.getEncoding()) : Attribute();
        if (!element || bool(encoded) != bool(type.getEncoding()))
          return {};
        return vhlo::RankedV1Type::get(context, TypeCode::RankedTensor, type.getShape(), element,
                                       encoded);
      })
      .Case([&](MemRefType type) -> Type {
        Type element = this->type(type.getElementType());
        if (!element || !type.getLayout().isIdentity() || type.getMemorySpace())
          return {};
        return vhlo::RankedV1Type::get(context, TypeCode::RankedBuffer, type.getShape(), element,
                                       Attribute());
      })
      .Case([&](FunctionType type) -> Type {
        SmallVector<Type> inputs, outputs;
        if (failed(types(type.getInputs(), inputs)) || failed(types(type.getResults(), outputs)))
          return {};
        return vhlo::FunctionV1Type::get(context, inputs, outputs);
      })
      .Case([&](quant::UniformQuantizedType type) -> Type {
        Type storage = this->type(type.getStorageType());
        Type expressed = this->type(type.getExpressedType());
        if (!storage || !expressed)
          return {};
        return vhlo::QuantizedV1Type::get(context, type.getFlags(), storage, expressed,
                                          APFloat(type.getScale()), type.getZeroPoint(),
                                          type.getStorageTypeMin(), type.getStorageTypeMax());
      })
      .Case([&](quant::UniformQuantizedPerAxisType type) -> Type {
        Type storage = this->type(type.getStorageType());
        Type expressed = this->type(type.getExpressedType());
        if (!storage || !expressed)
          return {};
        SmallVector<APFloat> scales;
        for (double scale : type.getScales())
          scales.push_back(APFloat(scale));
        return vhlo::QuantizedPerAxisV1Type::get(
            context, type.getFlags(), storage, expressed, type.getQuantizedDimension(), scales,
            type.getZeroPoints(), type.getStorageTypeMin(), type.getStorageTypeMax());
      })
      .Default([](Type) { return Type(); });
}

Attribute Encoder::integers(ArrayRef<int64_t> values) {
  return vhlo::integersAttr(values, context);
}

Attribute Encoder::integer(int64_t value) {
  return vhlo::IntegerV1Attr::get(context, vhlo::ScalarV1Type::get(context, TypeCode::SI64),
                                  APInt(64, value, /*isSigned=*/true));
}

Attribute Encoder::attribute(Attribute attr) {
  Attribute result = convertAttribute(attr);
  if (!result && keepForeign)
    return attr;
  if (!result && reason.empty())
    reason = describe(attr) + " has no portable form";
  return result;
}

Attribute Encoder::convertAttribute(Attribute attr) {
  auto enumerator = [&](AttrCode code, auto value) -> Attribute {
    return vhlo::EnumV1Attr::get(context, code, unsigned(value));
  };
  auto array = [&](auto range) -> Attribute {
    SmallVector<Attribute> elements;
    for (Attribute element : range) {
      elements.push_back(attribute(element));
      if (!elements.back())
        return {};
    }
    return vhlo::ArrayV1Attr::get(context, elements);
  };
  auto string = [&](StringRef value) -> Attribute {
    return vhlo::StringV1Attr::get(context, value);
  };
  return TypeSwitch<Attribute, Attribute>(attr)
      .Case([&](IntegerAttr attr) { return vhlo::integerFromBuiltin(attr); })
      .Case([&](FloatAttr attr) -> Attribute {
        Type type = vhlo::scalarFromBuiltin(attr.getType());
        return type ? vhlo::FloatV1Attr::get(context, type, attr.getValue()) : Attribute();
      })
      .Case([&](StringAttr attr) {
        return llvm::isa<NoneType>(attr.getType()) ? string(attr.getValue()) : Attribute();
      })
      .Case([&](FlatSymbolRefAttr attr) { return string(attr.getValue()); })
      .Case([&](ArrayAttr attr) { return array(attr.getValue()); })
      .Case([&](DictionaryAttr attr) -> Attribute {
        SmallVector<std::pair<Attribute, Attribute>> entries;
        for (NamedAttribute entry : attr) {
          Attribute value = attribute(entry.getValue());
          if (!value)
            return {};
          entries.emplace_back(string(entry.getName()), value);
        }
        return vhlo::DictionaryV1Attr::get(context, entries);
      })
      .Case([&](DenseElementsAttr attr) { return vhlo::tensorFromElements(attr); })
      .Case([&](stablehlo::BitsAttr attr) -> Attribute {
        Type type = this->type(attr.getType());
        return type ? vhlo::TensorV1Attr::get(context, type, attr.getBits().getRawData())
                    : Attribute();
      })
      .Case([&](DenseI64ArrayAttr attr) { return integers(attr); })
      .Case([&](DenseBoolArrayAttr attr) -> Attribute {
        auto type = RankedTensorType::get({attr.size()}, IntegerType::get(context, 1));
        return vhlo::tensorFromElements(DenseElementsAttr::get(type, attr.asArrayRef()));
      })
      .Case([&](TypeAttr attr) -> Attribute {
        Type type = this->type(attr.getValue());
        return type ? vhlo::TypeV1Attr::get(context, type) : Attribute();
      })
      .Case([&](stablehlo::ComparisonDirectionAttr attr) {
        return enumerator(AttrCode::ComparisonDirection, attr.getValue());
      })
      .Case([&](stablehlo::ComparisonTypeAttr attr) {
        return enumerator(AttrCode::ComparisonType, attr.getValue());
      })
      .Case([&](stablehlo::FftTypeAttr attr) {
        return enumerator(AttrCode::FftType, attr.getValue());
      })
      .Case([&](stablehlo::PrecisionAttr attr) {
        return enumerator(AttrCode::Precision, attr.getValue());
      })
      .Case([&](stablehlo::RngAlgorithmAttr attr) {
        return enumerator(AttrCode::RngAlgorithm, attr.getValue());
      })
      .Case([&](stablehlo::RngDistributionAttr attr) {
        return enumerator(AttrCode::RngDistribution, attr.getValue());
      })
      .Case([&](stablehlo::TransposeAttr attr) {
        return enumerator(AttrCode::Transpose, attr.getValue());
      })
      .Case([&](stablehlo::ResultAccuracyModeAttr attr) {
        return enumerator(AttrCode::ResultAccuracyMode, attr.getValue());
      })
      .Case([&](stablehlo::OutputOperandAliasAttr attr) {
        return vhlo::OutputOperandAliasV1Attr::get(context, attr.getOutputTupleIndices(),
                                                   attr.getOperandIndex(),
                                                   attr.getOperandTupleIndices());
      })
      .Case([&](stablehlo::TypeExtensionsAttr attr) { return encoding(attr); })
      .Case([&](stablehlo::ResultAccuracyAttr attr) -> Attribute {
        return vhlo::ResultAccuracyV1Attr::get(context, attr.getAtol(), attr.getRtol(),
                                               attr.getUlps(), attribute(attr.getMode()));
      })
      .Case([&](stablehlo::SubAxisInfoAttr attr) {
        return vhlo::SubAxisInfoV1Attr::get(context, attr.getPreSize(), attr.getSize());
      })
      .Case([&](stablehlo::AxisRefAttr attr) -> Attribute {
        Attribute subAxis = attr.getSubAxisInfo() ? attribute(attr.getSubAxisInfo()) : Attribute();
        return vhlo::AxisRefV1Attr::get(context, string(attr.getName()), subAxis);
      })
      .Case([&](stablehlo::MeshAxisAttr attr) {
        return vhlo::MeshAxisV1Attr::get(context, string(attr.getName()), attr.getSize());
      })
      .Case([&](stablehlo::MeshAttr attr) -> Attribute {
        Attribute ids = attr.getDeviceIds() ? attribute(attr.getDeviceIds()) : Attribute();
        return vhlo::MeshV1Attr::get(context, array(attr.getAxes()), ids);
      })
      .Case([&](stablehlo::ReplicaGroupMeshAxesAttr attr) -> Attribute {
        return vhlo::ReplicaGroupMeshAxesV1Attr::get(context, attribute(attr.getMesh()),
                                                     array(attr.getAxes()));
      })
      .Default([](Attribute) { return Attribute(); });
}
