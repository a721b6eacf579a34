#include "cupel/ir/vhlo/Defaults.h"

#include "cupel/ir/vhlo/Builtin.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace cupel::vhlo;

namespace {

ScalarV1Type scalar(TypeCode code, MLIRContext *context) {
  return ScalarV1Type::get(context, code);
}

IntegerV1Attr i64Attr(int64_t value, MLIRContext *context) {
  return IntegerV1Attr::get(context, scalar(TypeCode::SI64, context),
                            APInt(64, value, /*isSigned=*/true));
}

/// More dimensions than any program has; a file that says more is not believed.
constexpr int64_t kMaxRank = 1 << 16;

/// The number of elements of a rank-1 tensor attribute.
std::optional<int64_t> sizeOf(Attribute attr) {
  auto tensor = llvm::dyn_cast_or_null<TensorV1Attr>(attr);
  auto type = tensor ? llvm::dyn_cast<RankedV1Type>(tensor.getType()) : RankedV1Type();
  if (!type || type.getShape().size() != 1 || type.getShape()[0] < 0 ||
      type.getShape()[0] > kMaxRank)
    return std::nullopt;
  return type.getShape()[0];
}

/// The number of dimensions of the window of an operation.
std::optional<int64_t> windowRank(const OpInfo &info, ArrayRef<Attribute> attributes) {
  for (StringRef name : {"window_dimensions", "input_spatial_dimensions"})
    if (int index = info.attributeIndex(name); index >= 0)
      return sizeOf(attributes[index]);
  return std::nullopt;
}

bool allIntegersAre(Attribute attr, int64_t expected) {
  auto tensor = llvm::dyn_cast<TensorV1Attr>(attr);
  auto elements = llvm::dyn_cast_or_null<DenseIntElementsAttr>(tensor ? tensorToElements(tensor)
                                                                      : DenseElementsAttr());
  if (!elements)
    return false;
  auto isExpected = [&](const APInt &value) {
    // A one-bit "1" reads as -1 when taken as signed.
    return value.getBitWidth() == 1 ? value.getZExtValue() == uint64_t(expected)
                                    : value.getSExtValue() == expected;
  };
  // A splat may stand for any number of elements.
  if (elements.isSplat())
    return isExpected(elements.getSplatValue<APInt>());
  return llvm::all_of(elements.getValues<APInt>(), isExpected);
}

bool isEmptyTensor(Attribute attr) {
  auto tensor = llvm::dyn_cast<TensorV1Attr>(attr);
  auto type = tensor ? llvm::dyn_cast<RankedV1Type>(tensor.getType()) : RankedV1Type();
  return type && llvm::is_contained(type.getShape(), 0);
}

bool isEnum(Attribute attr, AttrCode code, unsigned value) {
  auto enumerator = llvm::dyn_cast<EnumV1Attr>(attr);
  return enumerator && enumerator.getCode() == code && enumerator.getValue() == value;
}

bool isInteger(Attribute attr, int64_t value) {
  auto integer = llvm::dyn_cast<IntegerV1Attr>(attr);
  return integer && integer.getValue().getSExtValue() == value;
}

bool isEmptyString(Attribute attr) {
  auto string = llvm::dyn_cast<StringV1Attr>(attr);
  return string && string.getValue().empty();
}

bool isEmptyDictionary(Attribute attr) {
  auto dictionary = llvm::dyn_cast<DictionaryV1Attr>(attr);
  return dictionary && dictionary.getValue().empty();
}

} // namespace

TensorV1Attr cupel::vhlo::integersAttr(ArrayRef<int64_t> values, MLIRContext *context) {
  return tensorFromElements(Builder(context).getI64TensorAttr(values));
}

Attribute cupel::vhlo::defaultValue(const OpInfo &info, unsigned index,
                                    ArrayRef<Attribute> attributes, MLIRContext *context) {
  Builder builder(context);
  switch (info.attributes[index].missing) {
  case Default::Required:
    return {};
  case Default::DefaultAccuracy:
    return ResultAccuracyV1Attr::get(context, APFloat(0.0), APFloat(0.0), 0,
                                     EnumV1Attr::get(context, AttrCode::ResultAccuracyMode, 0));
  case Default::DefaultPrecision: {
    Attribute precision = EnumV1Attr::get(context, AttrCode::Precision, 0);
    return ArrayV1Attr::get(context, {precision, precision});
  }
  case Default::EmptyArray:
    return ArrayV1Attr::get(context, {});
  case Default::EmptyBackendConfig: {
    // A typed call has a dictionary, all others a string.
    int api = info.attributeIndex("api_version");
    if (api >= 0 && attributes[api] && isEnum(attributes[api], AttrCode::CustomCallApiVersion, 4))
      return DictionaryV1Attr::get(context, {});
    return StringV1Attr::get(context, "");
  }
  case Default::EmptyDictionary:
    return DictionaryV1Attr::get(context, {});
  case Default::EmptyDims:
    return integersAttr({}, context);
  case Default::EmptyString:
    return StringV1Attr::get(context, "");
  case Default::False:
    return BooleanV1Attr::get(context, false);
  case Default::MinusOne:
    return i64Attr(-1, context);
  case Default::NoneType:
    return TypeV1Attr::get(context, scalar(TypeCode::None, context));
  case Default::NoType:
    return EnumV1Attr::get(context, AttrCode::ComparisonType, 0);
  case Default::OriginalApi:
    return EnumV1Attr::get(context, AttrCode::CustomCallApiVersion, 1);
  case Default::Zero:
    return i64Attr(0, context);
  case Default::Ones:
    if (auto rank = windowRank(info, attributes))
      return integersAttr(SmallVector<int64_t>(*rank, 1), context);
    return {};
  case Default::NoReversal:
    if (auto rank = windowRank(info, attributes)) {
      SmallVector<bool> values(*rank, false);
      return tensorFromElements(DenseElementsAttr::get(
          RankedTensorType::get({*rank}, builder.getI1Type()), ArrayRef<bool>(values)));
    }
    return {};
  case Default::ZeroPadding:
    if (auto rank = windowRank(info, attributes)) {
      SmallVector<int64_t> values(*rank * 2, 0);
      return tensorFromElements(DenseElementsAttr::get(
          RankedTensorType::get({*rank, 2}, builder.getI64Type()), ArrayRef<int64_t>(values)));
    }
    return {};
  }
  llvm_unreachable("all defaults are handled above");
}

bool cupel::vhlo::isDefault(Default kind, Attribute value) {
  switch (kind) {
  case Default::Required:
    return false;
  case Default::DefaultAccuracy: {
    auto accuracy = llvm::dyn_cast<ResultAccuracyV1Attr>(value);
    return accuracy && accuracy.getAtol().isZero() && accuracy.getRtol().isZero() &&
           accuracy.getUlps() == 0 && isEnum(accuracy.getMode(), AttrCode::ResultAccuracyMode, 0);
  }
  case Default::DefaultPrecision: {
    auto array = llvm::dyn_cast<ArrayV1Attr>(value);
    return array && llvm::all_of(array.getValue(), [](Attribute element) {
             return isEnum(element, AttrCode::Precision, 0);
           });
  }
  case Default::EmptyArray: {
    auto array = llvm::dyn_cast<ArrayV1Attr>(value);
    return array && array.getValue().empty();
  }
  case Default::EmptyBackendConfig:
    return isEmptyString(value) || isEmptyDictionary(value);
  case Default::EmptyDictionary:
    return isEmptyDictionary(value);
  case Default::EmptyDims:
    return isEmptyTensor(value);
  case Default::EmptyString:
    return isEmptyString(value);
  case Default::False: {
    auto boolean = llvm::dyn_cast<BooleanV1Attr>(value);
    return boolean && !boolean.getValue();
  }
  case Default::MinusOne:
    return isInteger(value, -1);
  case Default::NoneType: {
    auto type = llvm::dyn_cast<TypeV1Attr>(value);
    auto inner = type ? llvm::dyn_cast<ScalarV1Type>(type.getValue()) : ScalarV1Type();
    return inner && inner.getCode() == TypeCode::None;
  }
  case Default::NoType:
    return isEnum(value, AttrCode::ComparisonType, 0);
  case Default::OriginalApi:
    return isEnum(value, AttrCode::CustomCallApiVersion, 1);
  case Default::Zero:
    return isInteger(value, 0);
  case Default::Ones:
    return allIntegersAre(value, 1);
  case Default::NoReversal:
  case Default::ZeroPadding:
    return allIntegersAre(value, 0);
  }
  llvm_unreachable("all defaults are handled above");
}
