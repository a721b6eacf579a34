#include "cupel/ir/stablehlo/Stablehlo.h"

#include "mlir/Dialect/Quant/QuantTypes.h"

using namespace mlir;
using mlir::quant::QuantizedType;
using mlir::quant::UniformQuantizedPerAxisType;
using mlir::quant::UniformQuantizedType;

namespace cupel::stablehlo {

namespace {
struct RareFloat {
  StringLiteral name;
  unsigned bits;
  TypeID id;
  Type (*get)(MLIRContext *);
};
template <typename T> RareFloat rareFloat(unsigned bits) {
  return {T::getMnemonic(), bits, TypeID::get<T>(),
          [](MLIRContext *context) { return Type(T::get(context)); }};
}
} // namespace

static const RareFloat *findRareFloat(llvm::function_ref<bool(const RareFloat &)> isIt) {
  static const RareFloat kAll[] = {rareFloat<F4E2M1FNType>(4), rareFloat<F6E2M3FNType>(6),
                                   rareFloat<F6E3M2FNType>(6), rareFloat<F8E3M4Type>(8),
                                   rareFloat<F8E8M0FNUType>(8)};
  const RareFloat *found = llvm::find_if(kAll, isIt);
  return found == std::end(kAll) ? nullptr : found;
}

static const RareFloat *findRareFloat(Type type) {
  return findRareFloat([&](const RareFloat &one) { return one.id == type.getTypeID(); });
}

bool isRareFloat(Type type) { return findRareFloat(type) != nullptr; }

StringRef rareFloatName(Type type) {
  const RareFloat *found = findRareFloat(type);
  return found ? StringRef(found->name) : "";
}

Type rareFloatType(MLIRContext *context, StringRef name) {
  const RareFloat *found = findRareFloat([&](const RareFloat &one) { return one.name == name; });
  return found ? found->get(context) : Type();
}

bool isFloat(Type type) { return isa<FloatType>(type) || isRareFloat(type); }

static bool hasSupportedStorage(QuantizedType type) {
  auto storage = dyn_cast<IntegerType>(type.getStorageType());
  return storage && storage.isSignless() &&
         llvm::is_contained({2u, 4u, 8u, 16u, 32u}, storage.getWidth()) &&
         type.getExpressedType() && isa<FloatType>(type.getExpressedType());
}

bool isQuantizedPerTensor(Type type) {
  auto quantized = dyn_cast<UniformQuantizedType>(type);
  return quantized && hasSupportedStorage(quantized);
}

bool isQuantizedPerAxis(Type type) {
  auto quantized = dyn_cast<UniformQuantizedPerAxisType>(type);
  return quantized && hasSupportedStorage(quantized);
}

bool isQuantized(Type type) { return isQuantizedPerTensor(type) || isQuantizedPerAxis(type); }

bool hasValidQuantizedDimension(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  auto axis = tensor ? dyn_cast<UniformQuantizedPerAxisType>(tensor.getElementType())
                     : UniformQuantizedPerAxisType();
  if (!axis)
    return true;
  int64_t dim = axis.getQuantizedDimension();
  if (dim < 0 || dim >= tensor.getRank())
    return false;
  int64_t size = tensor.getDimSize(dim);
  return ShapedType::isDynamic(size) || size == static_cast<int64_t>(axis.getScales().size());
}

static bool isScalarOf(Type type, bool isUnsigned) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || tensor.getRank() != 0)
    return false;
  Type element = tensor.getElementType();
  return isUnsigned ? element.isUnsignedInteger(32) : element.isSignlessInteger(32);
}

bool isScalarI32(Type type) { return isScalarOf(type, /*isUnsigned=*/false); }
bool isScalarUI32(Type type) { return isScalarOf(type, /*isUnsigned=*/true); }

bool isLayout(Attribute attr) {
  auto elements = dyn_cast<DenseIntElementsAttr>(attr);
  return elements && elements.getType().getRank() == 1 && elements.getElementType().isIndex();
}

ArrayRef<int64_t> getBounds(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return {};
  auto extensions = dyn_cast_if_present<TypeExtensionsAttr>(tensor.getEncoding());
  return extensions ? extensions.getBounds() : ArrayRef<int64_t>();
}

RankedTensorType getTensorType(ArrayRef<int64_t> shape, Type elementType,
                               ArrayRef<int64_t> bounds) {
  bool bounded = llvm::any_of(bounds, [](int64_t b) { return !ShapedType::isDynamic(b); });
  Attribute encoding;
  if (bounded)
    encoding = TypeExtensionsAttr::get(elementType.getContext(), bounds);
  return RankedTensorType::get(shape, elementType, encoding);
}

bool isStaticOrSingleBounded(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return false;
  if (tensor.hasStaticShape())
    return true;
  ArrayRef<int64_t> bounds = getBounds(type);
  if (tensor.getNumDynamicDims() != 1 || bounds.empty())
    return false;
  for (auto [size, bound] : llvm::zip_equal(tensor.getShape(), bounds))
    if (ShapedType::isDynamic(size))
      return !ShapedType::isDynamic(bound);
  return false;
}

bool areCompatibleSizes(int64_t a, int64_t boundA, int64_t b, int64_t boundB) {
  bool dynamicA = ShapedType::isDynamic(a), dynamicB = ShapedType::isDynamic(b);
  if (!dynamicA && !dynamicB)
    return a == b;
  if (dynamicA && !dynamicB)
    return ShapedType::isDynamic(boundA) || b <= boundA;
  if (!dynamicA && dynamicB)
    return ShapedType::isDynamic(boundB) || a <= boundB;
  return true;
}

bool areCompatibleShapes(Type a, Type b) {
  auto shapedA = dyn_cast<ShapedType>(a), shapedB = dyn_cast<ShapedType>(b);
  if (!shapedA || !shapedB)
    return a == b;
  if (!shapedA.hasRank() || !shapedB.hasRank())
    return true;
  if (shapedA.getRank() != shapedB.getRank())
    return false;
  ArrayRef<int64_t> boundsA = getBounds(a), boundsB = getBounds(b);
  for (int64_t i = 0; i < shapedA.getRank(); ++i) {
    int64_t boundA = boundsA.empty() ? ShapedType::kDynamic : boundsA[i];
    int64_t boundB = boundsB.empty() ? ShapedType::kDynamic : boundsB[i];
    if (!areCompatibleSizes(shapedA.getDimSize(i), boundA, shapedB.getDimSize(i), boundB))
      return false;
  }
  return true;
}

bool areCompatibleElementTypes(Type a, Type b) {
  if (a == b)
    return true;
  auto quantA = dyn_cast<QuantizedType>(a), quantB = dyn_cast<QuantizedType>(b);
  if (!quantA || !quantB || quantA.getStorageType() != quantB.getStorageType() ||
      quantA.getFlags() != quantB.getFlags() ||
      quantA.getStorageTypeMin() != quantB.getStorageTypeMin() ||
      quantA.getStorageTypeMax() != quantB.getStorageTypeMax() ||
      quantA.getExpressedType() != quantB.getExpressedType())
    return false;
  auto axisA = dyn_cast<UniformQuantizedPerAxisType>(a);
  auto axisB = dyn_cast<UniformQuantizedPerAxisType>(b);
  if (axisA && axisB)
    return axisA.getQuantizedDimension() == axisB.getQuantizedDimension();
  return !axisA && !axisB;
}

bool areCompatible(Type a, Type b) {
  if (a == b)
    return true;
  auto tensorA = dyn_cast<TensorType>(a), tensorB = dyn_cast<TensorType>(b);
  if (tensorA && tensorB)
    return areCompatibleElementTypes(tensorA.getElementType(), tensorB.getElementType()) &&
           areCompatibleShapes(a, b);
  auto tupleA = dyn_cast<TupleType>(a), tupleB = dyn_cast<TupleType>(b);
  if (tupleA && tupleB)
    return areCompatible(tupleA.getTypes(), tupleB.getTypes());
  return false;
}

bool areCompatible(TypeRange a, TypeRange b) {
  if (a.size() != b.size())
    return false;
  for (auto [typeA, typeB] : llvm::zip_equal(a, b))
    if (!areCompatible(typeA, typeB))
      return false;
  return true;
}

Type getRealElementType(Type elementType) {
  if (auto complex = dyn_cast<ComplexType>(elementType))
    return complex.getElementType();
  if (auto quantized = dyn_cast<QuantizedType>(elementType))
    return quantized.getExpressedType();
  return elementType;
}

unsigned getElementBits(Type elementType) {
  if (auto complex = dyn_cast<ComplexType>(elementType))
    return 2 * getElementBits(complex.getElementType());
  if (auto quantized = dyn_cast<QuantizedType>(elementType))
    return quantized.getStorageTypeIntegralWidth();
  if (const RareFloat *rare = findRareFloat(elementType))
    return rare->bits;
  return elementType.isIntOrFloat() ? elementType.getIntOrFloatBitWidth() : 0;
}

int64_t elementsOf(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.hasStaticShape() ? tensor.getNumElements() : 0;
}

int64_t bytesOf(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  unsigned bits = tensor ? getElementBits(tensor.getElementType()) : 0;
  int64_t bytes = bits ? (bits + 7) / 8 : 1;
  // Of types that no memory holds, as much as may still be added up.
  int64_t total;
  return __builtin_mul_overflow(elementsOf(type), bytes, &total) ? INT64_MAX / 4 : total;
}

std::optional<Type> mostSpecific(TypeRange types) {
  auto first = dyn_cast<RankedTensorType>(types.front());
  for (Type type : types)
    if (!areCompatible(types.front(), type))
      return std::nullopt;
  if (!first)
    return types.front();
  SmallVector<int64_t> shape(first.getShape());
  SmallVector<int64_t> bounds(first.getRank(), ShapedType::kDynamic);
  for (Type type : types) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor)
      continue;
    ArrayRef<int64_t> typeBounds = getBounds(type);
    for (int64_t i = 0; i < first.getRank(); ++i) {
      int64_t size = tensor.getDimSize(i);
      if (!ShapedType::isDynamic(size)) {
        if (!ShapedType::isDynamic(shape[i]) && shape[i] != size)
          return std::nullopt;
        shape[i] = size;
      }
      if (!typeBounds.empty() && !ShapedType::isDynamic(typeBounds[i]))
        bounds[i] =
            ShapedType::isDynamic(bounds[i]) ? typeBounds[i] : std::min(bounds[i], typeBounds[i]);
    }
  }
  for (int64_t i = 0; i < first.getRank(); ++i) {
    if (ShapedType::isDynamic(shape[i]))
      continue;
    if (!ShapedType::isDynamic(bounds[i]) && shape[i] > bounds[i])
      return std::nullopt;
    bounds[i] = ShapedType::kDynamic;
  }
  return getTensorType(shape, first.getElementType(), bounds);
}

} // namespace cupel::stablehlo
