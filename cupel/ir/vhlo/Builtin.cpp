#include "cupel/ir/vhlo/Builtin.h"

#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace cupel::vhlo;

ScalarV1Type cupel::vhlo::scalarFromBuiltin(Type type) {
  std::optional<TypeCode> code =
      TypeSwitch<Type, std::optional<TypeCode>>(type)
          .Case([](IndexType) { return TypeCode::Index; })
          .Case([](IntegerType type) -> std::optional<TypeCode> {
            if (type.isSigned())
              return std::nullopt;
            bool isUnsigned = type.isUnsigned();
            switch (type.getWidth()) {
            case 1:
              return isUnsigned ? std::nullopt : std::optional(TypeCode::Bool);
            case 2:
              return isUnsigned ? TypeCode::UI2 : TypeCode::SI2;
            case 4:
              return isUnsigned ? TypeCode::UI4 : TypeCode::SI4;
            case 8:
              return isUnsigned ? TypeCode::UI8 : TypeCode::SI8;
            case 16:
              return isUnsigned ? TypeCode::UI16 : TypeCode::SI16;
            case 32:
              return isUnsigned ? TypeCode::UI32 : TypeCode::SI32;
            case 64:
              return isUnsigned ? TypeCode::UI64 : TypeCode::SI64;
            default:
              return std::nullopt;
            }
          })
          .Case([](BFloat16Type) { return TypeCode::BF16; })
          .Case([](Float16Type) { return TypeCode::F16; })
          .Case([](Float32Type) { return TypeCode::F32; })
          .Case([](Float64Type) { return TypeCode::F64; })
          .Case([](FloatTF32Type) { return TypeCode::TF32; })
          .Case([](Float8E4M3FNType) { return TypeCode::F8E4M3FN; })
          .Case([](Float8E5M2Type) { return TypeCode::F8E5M2; })
          .Case([](Float8E4M3FNUZType) { return TypeCode::F8E4M3FNUZ; })
          .Case([](Float8E5M2FNUZType) { return TypeCode::F8E5M2FNUZ; })
          .Case([](Float8E4M3B11FNUZType) { return TypeCode::F8E4M3B11FNUZ; })
          .Case([](Float8E4M3Type) { return TypeCode::F8E4M3; })
          .Case([](NoneType) { return TypeCode::None; })
          .Default([](Type) { return std::nullopt; });
  return code ? ScalarV1Type::get(type.getContext(), *code) : ScalarV1Type();
}

Type cupel::vhlo::scalarToBuiltin(ScalarV1Type type) {
  MLIRContext *context = type.getContext();
  const TypeInfo &info = infoOf(type.getCode());
  switch (type.getCode()) {
  case TypeCode::Index:
    return IndexType::get(context);
  case TypeCode::BF16:
    return BFloat16Type::get(context);
  case TypeCode::F16:
    return Float16Type::get(context);
  case TypeCode::F32:
    return Float32Type::get(context);
  case TypeCode::F64:
    return Float64Type::get(context);
  case TypeCode::TF32:
    return FloatTF32Type::get(context);
  case TypeCode::F8E4M3FN:
    return Float8E4M3FNType::get(context);
  case TypeCode::F8E5M2:
    return Float8E5M2Type::get(context);
  case TypeCode::F8E4M3FNUZ:
    return Float8E4M3FNUZType::get(context);
  case TypeCode::F8E5M2FNUZ:
    return Float8E5M2FNUZType::get(context);
  case TypeCode::F8E4M3B11FNUZ:
    return Float8E4M3B11FNUZType::get(context);
  case TypeCode::F8E4M3:
    return Float8E4M3Type::get(context);
  case TypeCode::None:
    return NoneType::get(context);
  default:
    break;
  }
  switch (info.kind) {
  case ScalarKind::Boolean:
  case ScalarKind::Signed:
    return IntegerType::get(context, info.width);
  case ScalarKind::Unsigned:
    return IntegerType::get(context, info.width, IntegerType::Unsigned);
  default:
    return {};
  }
}

const llvm::fltSemantics *cupel::vhlo::semanticsOf(ScalarV1Type type) {
  auto builtin = llvm::dyn_cast_or_null<FloatType>(scalarToBuiltin(type));
  return builtin ? &builtin.getFloatSemantics() : nullptr;
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

namespace {

/// The bytes of one stored element of a type, 0 if it has none; booleans are counted as one.
uint64_t elementBytes(Type type) {
  if (auto wrapper = llvm::dyn_cast<WrapperV1Type>(type))
    return wrapper.getCode() == TypeCode::Complex ? 2 * elementBytes(wrapper.getElement()) : 0;
  auto scalar = llvm::dyn_cast<ScalarV1Type>(type);
  return scalar ? llvm::divideCeil(infoOf(scalar.getCode()).width, 8) : 0;
}

/// The number of elements of a static shape; nothing if it is dynamic or too large to address.
std::optional<uint64_t> elementCount(ArrayRef<int64_t> shape) {
  uint64_t count = 1;
  bool empty = llvm::is_contained(shape, 0);
  for (int64_t size : shape) {
    if (size < 0)
      return std::nullopt;
    bool overflow = false;
    count = llvm::SaturatingMultiply<uint64_t>(count, empty ? 1 : size, &overflow);
    if (overflow || count > (uint64_t(1) << 48))
      return std::nullopt;
  }
  return empty ? 0 : count;
}

/// Booleans as MLIR keeps them: eight in a byte, or one byte 00 or FF for a splat. Some producers
/// wrote a byte for each element.
std::optional<SmallVector<char>> packedBooleans(ArrayRef<char> data, uint64_t count) {
  if (data.size() == 1 && (uint8_t(data[0]) == 0xFF || data[0] == 0))
    return SmallVector<char>{data[0]};
  if (data.size() == 1 && count == 1)
    return SmallVector<char>{char(0xFF)};
  if (data.size() == llvm::divideCeil(count, 8))
    return SmallVector<char>(data.begin(), data.end());
  if (data.size() != count)
    return std::nullopt;
  SmallVector<char> packed(llvm::divideCeil(count, 8), 0);
  for (uint64_t i = 0; i != count; ++i)
    if (data[i])
      packed[i / 8] |= char(1 << (i % 8));
  return packed;
}

} // namespace

TensorV1Attr cupel::vhlo::tensorFromElements(DenseElementsAttr elements) {
  MLIRContext *context = elements.getContext();
  ShapedType type = elements.getType();
  Type element = type.getElementType();
  Type converted;
  if (auto complex = llvm::dyn_cast<ComplexType>(element)) {
    if (ScalarV1Type part = scalarFromBuiltin(complex.getElementType()))
      converted = WrapperV1Type::get(context, TypeCode::Complex, part);
  } else {
    converted = scalarFromBuiltin(element);
  }
  if (!converted || !llvm::isa<DenseIntOrFPElementsAttr>(elements) ||
      !llvm::isa<RankedTensorType>(type) || llvm::cast<RankedTensorType>(type).getEncoding())
    return {};
  auto tensorType =
      RankedV1Type::get(context, TypeCode::RankedTensor, type.getShape(), converted, Attribute());
  return TensorV1Attr::get(context, tensorType, elements.getRawData());
}

DenseElementsAttr cupel::vhlo::tensorToElements(TensorV1Attr tensor) {
  auto type = llvm::dyn_cast<RankedV1Type>(tensor.getType());
  if (!type || !isWellFormed(tensor))
    return {};
  Type element;
  if (auto wrapper = llvm::dyn_cast<WrapperV1Type>(type.getElement())) {
    Type part = scalarToBuiltin(llvm::cast<ScalarV1Type>(wrapper.getElement()));
    element = part ? ComplexType::get(part) : Type();
  } else {
    element = scalarToBuiltin(llvm::cast<ScalarV1Type>(type.getElement()));
  }
  if (!element || llvm::isa<NoneType>(element))
    return {};
  auto builtinType = RankedTensorType::get(type.getShape(), element);
  if (element.isInteger(1)) {
    auto packed = packedBooleans(tensor.getData(), builtinType.getNumElements());
    return packed ? DenseElementsAttr::getFromRawBuffer(builtinType, *packed) : DenseElementsAttr();
  }
  return DenseElementsAttr::getFromRawBuffer(builtinType, tensor.getData());
}

bool cupel::vhlo::isWellFormed(TensorV1Attr tensor) {
  auto type = llvm::dyn_cast<RankedV1Type>(tensor.getType());
  if (!type || type.getCode() != TypeCode::RankedTensor || type.getEncoding())
    return false;
  std::optional<uint64_t> count = elementCount(type.getShape());
  if (!count)
    return false;
  Type element = type.getElement();
  if (auto wrapper = llvm::dyn_cast<WrapperV1Type>(element)) {
    auto part = llvm::dyn_cast<ScalarV1Type>(wrapper.getElement());
    if (!part || infoOf(part.getCode()).kind == ScalarKind::Boolean)
      return false;
  }
  uint64_t size = tensor.getData().size();
  if (auto scalar = llvm::dyn_cast<ScalarV1Type>(element);
      scalar && scalar.getCode() == TypeCode::Bool)
    return packedBooleans(tensor.getData(), *count).has_value();
  uint64_t bytes = elementBytes(element);
  return bytes && (size == bytes * *count || size == bytes);
}

Attribute cupel::vhlo::integerFromBuiltin(IntegerAttr attr) {
  if (attr.getType().isSignlessInteger(1))
    return BooleanV1Attr::get(attr.getContext(), attr.getValue().getBoolValue());
  ScalarV1Type type = scalarFromBuiltin(attr.getType());
  return type ? IntegerV1Attr::get(attr.getContext(), type, attr.getValue()) : Attribute();
}
