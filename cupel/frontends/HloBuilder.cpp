// Types, constants, elementwise operations and shapes.

#include "cupel/frontends/HloBuilder.h"

#include "cupel/tensor/Convert.h"

#include <algorithm>

namespace cupel::frontends {

using namespace mlir;
using stablehlo::ComparisonDirection;
using tensor::DType;

Type elementTypeFor(MLIRContext *context, DType type) {
  Builder b(context);
  auto unsignedType = [&](unsigned bits) {
    return IntegerType::get(context, bits, IntegerType::Unsigned);
  };
  switch (type) {
  case DType::I1:
    return b.getI1Type();
  case DType::I2:
    return b.getIntegerType(2);
  case DType::I4:
    return b.getIntegerType(4);
  case DType::I8:
    return b.getIntegerType(8);
  case DType::I16:
    return b.getIntegerType(16);
  case DType::I32:
    return b.getIntegerType(32);
  case DType::I64:
    return b.getIntegerType(64);
  case DType::U2:
    return unsignedType(2);
  case DType::U4:
    return unsignedType(4);
  case DType::U8:
    return unsignedType(8);
  case DType::U16:
    return unsignedType(16);
  case DType::U32:
    return unsignedType(32);
  case DType::U64:
    return unsignedType(64);
  case DType::F4E2M1FN:
  case DType::F6E2M3FN:
  case DType::F6E3M2FN:
  case DType::F8E3M4:
  case DType::F8E8M0FNU:
    return stablehlo::rareFloatType(context, tensor::info(type).name);
  case DType::F8E4M3:
    return b.getType<Float8E4M3Type>();
  case DType::F8E4M3FN:
    return b.getType<Float8E4M3FNType>();
  case DType::F8E4M3FNUZ:
    return b.getType<Float8E4M3FNUZType>();
  case DType::F8E4M3B11FNUZ:
    return b.getType<Float8E4M3B11FNUZType>();
  case DType::F8E5M2:
    return b.getType<Float8E5M2Type>();
  case DType::F8E5M2FNUZ:
    return b.getType<Float8E5M2FNUZType>();
  case DType::F16:
    return b.getF16Type();
  case DType::BF16:
    return b.getBF16Type();
  case DType::F32:
    return b.getF32Type();
  case DType::F64:
    return b.getF64Type();
  case DType::C64:
    return ComplexType::get(b.getF32Type());
  case DType::C128:
    return ComplexType::get(b.getF64Type());
  }
  llvm_unreachable("an element type was forgotten");
}

ElementsAttr denseAttribute(MLIRContext *context, const tensor::Tensor &tensor) {
  Result<tensor::Tensor> packed = tensor.contiguous();
  assert(packed && "constants are small");
  ArrayRef<int64_t> shape(tensor.shape().data(), tensor.shape().size());
  auto type = RankedTensorType::get(shape, elementTypeFor(context, tensor.dtype()));
  if (tensor.dtype() == DType::I1) {
    SmallVector<bool> bits(packed->dataAs<uint8_t>(), packed->dataAs<uint8_t>() + packed->size());
    return DenseElementsAttr::get(type, bits);
  }
  ArrayRef bytes(reinterpret_cast<const char *>(packed->data()), packed->byteSize());
  if (tensor::isRareFloat(tensor.dtype()))
    return stablehlo::BitsAttr::get(type, bytes);
  return DenseElementsAttr::getFromRawBuffer(type, bytes);
}

HloBuilder::HloBuilder(func::FuncOp function)
    : function(function), ops(function.getBody()), loc(function.getLoc()) {
  ops.setInsertionPointToEnd(&function.getBody().front());
}

ModuleOp HloBuilder::module() { return function->getParentOfType<ModuleOp>(); }

RankedTensorType HloBuilder::typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

RankedTensorType HloBuilder::tensorType(ArrayRef<int64_t> shape, Type element) {
  // Nobody has a tensor of more elements; products of two such sizes still fit 64 bits.
  constexpr int64_t kMost = int64_t(1) << 40;
  int64_t count = 1;
  bool good = true;
  for (int64_t size : shape) {
    good &= size >= 0 && size <= kMost;
    count = good ? count * std::max<int64_t>(size, 1) : 1;
    good &= count <= kMost;
  }
  if (possible(good, "a tensor has a negative or an impossibly large size"))
    return RankedTensorType::get(shape, element);
  return RankedTensorType::get(Dims(shape.size(), 0), element);
}

bool HloBuilder::areDimensions(Value x, ArrayRef<int64_t> dimensions) {
  return llvm::all_of(dimensions, [&](int64_t dimension) { return isDimension(x, dimension); });
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

static Value constantAt(OpBuilder &ops, Location loc, func::FuncOp function, Operation *&last,
                        llvm::DenseMap<Attribute, Value> &known, ElementsAttr attribute) {
  Value &made = known[attribute];
  if (made)
    return made;
  OpBuilder::InsertionGuard guard(ops);
  if (last)
    ops.setInsertionPointAfter(last);
  else
    ops.setInsertionPointToStart(&function.getBody().front());
  auto op = ops.create<stablehlo::ConstantOp>(loc, attribute);
  last = op;
  return made = op;
}

Value HloBuilder::constant(const tensor::Tensor &tensor) {
  return constantAt(ops, loc, function, lastConstant, constants, denseAttribute(context(), tensor));
}

Value HloBuilder::splat(double number, Type element, ArrayRef<int64_t> shape) {
  RankedTensorType type = tensorType(shape, element);
  ElementsAttr attribute;
  if (stablehlo::isRareFloat(element)) {
    DType rare = *tensor::parseDType(stablehlo::rareFloatName(element));
    uint8_t bits = 0;
    tensor::convertElements(DType::F64, &number, rare, &bits, 1);
    char byte = static_cast<char>(bits);
    attribute = stablehlo::BitsAttr::get(type, ArrayRef(byte));
  } else if (auto complex = dyn_cast<ComplexType>(element)) {
    auto part = cast<FloatType>(complex.getElementType());
    APFloat real = FloatAttr::get(part, number).getValue();
    APFloat zero = APFloat::getZero(part.getFloatSemantics());
    attribute = DenseElementsAttr::get(type, std::complex<APFloat>(real, zero));
  } else if (auto real = dyn_cast<FloatType>(element)) {
    attribute = DenseElementsAttr::get(type, FloatAttr::get(real, number).getValue());
  } else {
    // What no integer holds becomes the nearest that does.
    constexpr double kLimit = 9223372036854774784.0;
    double held = number != number ? 0 : std::clamp(number, -kLimit, kLimit);
    return splatInteger(static_cast<int64_t>(held), element, shape);
  }
  return constantAt(ops, loc, function, lastConstant, constants, attribute);
}

Value HloBuilder::splatInteger(int64_t number, Type element, ArrayRef<int64_t> shape) {
  auto integer = dyn_cast<IntegerType>(element);
  if (!integer)
    return splat(static_cast<double>(number), element, shape);
  APInt value(64, static_cast<uint64_t>(number), true);
  auto attribute =
      DenseElementsAttr::get(tensorType(shape, element), value.sextOrTrunc(integer.getWidth()));
  return constantAt(ops, loc, function, lastConstant, constants, attribute);
}

Value HloBuilder::like(Value value, double number) {
  return splat(number, elementOf(value), shapeOf(value));
}

Value HloBuilder::integers(ArrayRef<int64_t> values) {
  auto attribute = DenseElementsAttr::get(tensorType({int64_t(values.size())}, i64()), values);
  return constantAt(ops, loc, function, lastConstant, constants, attribute);
}

Value HloBuilder::iota(ArrayRef<int64_t> shape, int64_t dimension, Type element) {
  if (shape.empty() ||
      !possible(dimension >= 0 && dimension < int64_t(shape.size()), "a dimension is out of range"))
    return splatInteger(0, element, shape);
  return ops.create<stablehlo::IotaOp>(loc, tensorType(shape, element),
                                       ops.getI64IntegerAttr(dimension));
}

static DenseElementsAttr extremeOf(RankedTensorType type, bool highest) {
  Type element = type.getElementType();
  if (auto real = dyn_cast<FloatType>(element)) {
    const llvm::fltSemantics &semantics = real.getFloatSemantics();
    APFloat value = APFloat::getInf(semantics, !highest);
    if (!value.isInfinity()) // Some narrow types have no infinity.
      value = APFloat::getLargest(semantics, !highest);
    return DenseElementsAttr::get(type, value);
  }
  auto integer = cast<IntegerType>(element);
  unsigned width = integer.getWidth();
  bool fromZero = integer.isUnsigned() || width == 1;
  APInt value = fromZero
                    ? (highest ? APInt::getAllOnes(width) : APInt(width, 0))
                    : (highest ? APInt::getSignedMaxValue(width) : APInt::getSignedMinValue(width));
  return DenseElementsAttr::get(type, value);
}

Value HloBuilder::extreme(Type element, ArrayRef<int64_t> shape, bool highest) {
  if (!possible(isa<FloatType, IntegerType>(element), "complex numbers have no order"))
    return splat(0, element, shape);
  return constantAt(ops, loc, function, lastConstant, constants,
                    extremeOf(tensorType(shape, element), highest));
}
Value HloBuilder::lowest(Type element, ArrayRef<int64_t> shape) {
  return extreme(element, shape, false);
}
Value HloBuilder::highest(Type element, ArrayRef<int64_t> shape) {
  return extreme(element, shape, true);
}

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

Value HloBuilder::add(Value x, Value y) { return binary<stablehlo::AddOp>(x, y); }
Value HloBuilder::subtract(Value x, Value y) { return binary<stablehlo::SubtractOp>(x, y); }
Value HloBuilder::multiply(Value x, Value y) { return binary<stablehlo::MultiplyOp>(x, y); }
Value HloBuilder::divide(Value x, Value y) { return binary<stablehlo::DivideOp>(x, y); }
Value HloBuilder::remainder(Value x, Value y) { return binary<stablehlo::RemainderOp>(x, y); }
Value HloBuilder::maximum(Value x, Value y) { return binary<stablehlo::MaximumOp>(x, y); }
Value HloBuilder::minimum(Value x, Value y) { return binary<stablehlo::MinimumOp>(x, y); }
Value HloBuilder::power(Value x, Value y) { return binary<stablehlo::PowerOp>(x, y); }
Value HloBuilder::logicalAnd(Value x, Value y) { return binary<stablehlo::AndOp>(x, y); }
Value HloBuilder::logicalOr(Value x, Value y) { return binary<stablehlo::OrOp>(x, y); }
Value HloBuilder::logicalNot(Value x) { return unary<stablehlo::NotOp>(x); }
Value HloBuilder::negate(Value x) { return unary<stablehlo::NegateOp>(x); }
Value HloBuilder::exp(Value x) { return unary<stablehlo::ExponentialOp>(x); }
Value HloBuilder::log(Value x) { return unary<stablehlo::LogOp>(x); }
Value HloBuilder::sqrt(Value x) { return unary<stablehlo::SqrtOp>(x); }
Value HloBuilder::rsqrt(Value x) { return unary<stablehlo::RsqrtOp>(x); }
Value HloBuilder::tanh(Value x) { return unary<stablehlo::TanhOp>(x); }
Value HloBuilder::logistic(Value x) { return unary<stablehlo::LogisticOp>(x); }
Value HloBuilder::floor(Value x) { return unary<stablehlo::FloorOp>(x); }
Value HloBuilder::ceil(Value x) { return unary<stablehlo::CeilOp>(x); }

Value HloBuilder::abs(Value x) {
  if (isUnsigned(x) || isBool(x))
    return x;
  if (isComplex(x))
    return unary<stablehlo::AbsOp>(x, cast<ComplexType>(elementOf(x)).getElementType());
  return unary<stablehlo::AbsOp>(x);
}

Value HloBuilder::compare(Value x, Value y, ComparisonDirection direction) {
  auto [a, b] = broadcastPair(x, y);
  auto attribute = stablehlo::ComparisonDirectionAttr::get(context(), direction);
  return ops.create<stablehlo::CompareOp>(
      loc, TypeRange{withElement(a, i1())}, ValueRange{a, b},
      ArrayRef<NamedAttribute>{ops.getNamedAttr("comparison_direction", attribute)});
}
Value HloBuilder::equal(Value x, Value y) { return compare(x, y, ComparisonDirection::EQ); }
Value HloBuilder::notEqual(Value x, Value y) { return compare(x, y, ComparisonDirection::NE); }
Value HloBuilder::less(Value x, Value y) { return compare(x, y, ComparisonDirection::LT); }
Value HloBuilder::lessEqual(Value x, Value y) { return compare(x, y, ComparisonDirection::LE); }
Value HloBuilder::greater(Value x, Value y) { return compare(x, y, ComparisonDirection::GT); }
Value HloBuilder::greaterEqual(Value x, Value y) { return compare(x, y, ComparisonDirection::GE); }

Value HloBuilder::select(Value condition, Value x, Value y) {
  auto [a, b] = broadcastPair(x, y);
  if (shapeOf(condition) != shapeOf(a)) {
    std::optional<Dims> made = broadcastShape(shapeOf(condition), shapeOf(a));
    if (!possible(made.has_value(), "shapes do not broadcast"))
      return a;
    Dims shape = *made;
    condition = broadcastTo(condition, shape);
    a = broadcastTo(a, shape);
    b = broadcastTo(b, shape);
  }
  return ops.create<stablehlo::SelectOp>(loc, TypeRange{a.getType()}, ValueRange{condition, a, b});
}

Value HloBuilder::clamp(Value low, Value x, Value high) { return minimum(maximum(x, low), high); }
Value HloBuilder::reflect(Value x, double low, double high) {
  double range = high - low;
  if (range <= 0)
    return like(x, 0);
  Value moved = abs(subtract(x, like(x, low)));
  Value within = remainder(moved, like(x, 2 * range));
  Value back = subtract(like(x, 2 * range), within);
  return add(select(greater(within, like(x, range)), back, within), like(x, low));
}

Value HloBuilder::convert(Value x, Type element) {
  if (elementOf(x) == element)
    return x;
  if (element.isInteger(1))
    return notEqual(x, like(x, 0));
  return unary<stablehlo::ConvertOp>(x, element);
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

Value HloBuilder::reshape(Value x, ArrayRef<int64_t> shape) {
  if (shapeOf(x) == shape)
    return x;
  RankedTensorType type = tensorType(shape, elementOf(x));
  if (!possible(type.getNumElements() == countOf(x), "a reshape changes the number of elements"))
    return splat(0, elementOf(x), type.getShape());
  return ops.create<stablehlo::ReshapeOp>(loc, TypeRange{type}, ValueRange{x});
}

Value HloBuilder::broadcastInDim(Value x, ArrayRef<int64_t> shape, ArrayRef<int64_t> dimensions) {
  bool good = int64_t(dimensions.size()) == rankOf(x);
  for (auto [size, dimension] : llvm::zip(shapeOf(x), dimensions))
    good = good && dimension >= 0 && dimension < int64_t(shape.size()) &&
           (size == 1 || size == shape[dimension]);
  if (!possible(good, "shapes do not broadcast"))
    return splat(0, elementOf(x), shape);
  return ops.create<stablehlo::BroadcastInDimOp>(
      loc, TypeRange{tensorType(shape, elementOf(x))}, ValueRange{x},
      ArrayRef<NamedAttribute>{
          ops.getNamedAttr("broadcast_dimensions", ops.getDenseI64ArrayAttr(dimensions))});
}

Value HloBuilder::broadcastTo(Value x, ArrayRef<int64_t> shape) {
  if (shapeOf(x) == shape)
    return x;
  Dims dimensions;
  for (int64_t i = 0, offset = int64_t(shape.size()) - rankOf(x); i < rankOf(x); ++i)
    dimensions.push_back(i + offset);
  return broadcastInDim(x, shape, dimensions);
}

std::optional<Dims> HloBuilder::broadcastShape(ArrayRef<int64_t> a, ArrayRef<int64_t> b) {
  if (a.size() < b.size())
    std::swap(a, b);
  Dims shape(a.begin(), a.end());
  size_t offset = a.size() - b.size();
  for (size_t i = 0; i < b.size(); ++i) {
    int64_t &dim = shape[offset + i];
    if (dim == 1)
      dim = b[i];
    else if (b[i] != 1 && b[i] != dim)
      return std::nullopt;
  }
  return shape;
}

std::pair<Value, Value> HloBuilder::broadcastPair(Value x, Value y) {
  if (shapeOf(x) == shapeOf(y))
    return {x, y};
  std::optional<Dims> shape = broadcastShape(shapeOf(x), shapeOf(y));
  if (!possible(shape.has_value(), "shapes do not broadcast"))
    return {x, x};
  return {broadcastTo(x, *shape), broadcastTo(y, *shape)};
}

Value HloBuilder::transpose(Value x, ArrayRef<int64_t> permutation) {
  Dims shape;
  bool identity = true;
  if (!areDimensions(x, permutation))
    return x;
  for (auto [i, from] : llvm::enumerate(permutation)) {
    shape.push_back(shapeOf(x)[from]);
    identity &= int64_t(i) == from;
  }
  if (identity)
    return x;
  return ops.create<stablehlo::TransposeOp>(
      loc, TypeRange{tensorType(shape, elementOf(x))}, ValueRange{x},
      ArrayRef<NamedAttribute>{
          ops.getNamedAttr("permutation", ops.getDenseI64ArrayAttr(permutation))});
}

Value HloBuilder::reverse(Value x, ArrayRef<int64_t> dimensions) {
  if (dimensions.empty() || !areDimensions(x, dimensions))
    return x;
  return ops.create<stablehlo::ReverseOp>(loc, TypeRange{x.getType()}, ValueRange{x},
                                          ArrayRef<NamedAttribute>{ops.getNamedAttr(
                                              "dimensions", ops.getDenseI64ArrayAttr(dimensions))});
}

Value HloBuilder::slice(Value x, ArrayRef<int64_t> start, ArrayRef<int64_t> limit,
                        ArrayRef<int64_t> stride) {
  Dims strides = stride.empty() ? Dims(start.size(), 1) : Dims(stride.begin(), stride.end());
  size_t rank = rankOf(x);
  Dims shape;
  bool good = start.size() == rank && limit.size() == rank && strides.size() == rank;
  for (size_t i = 0; good && i < rank; ++i) {
    good = start[i] >= 0 && start[i] <= limit[i] && limit[i] <= shapeOf(x)[i] && strides[i] > 0;
    if (good)
      shape.push_back(limit[i] == start[i] ? 0 : (limit[i] - start[i] - 1) / strides[i] + 1);
  }
  if (!possible(good, "a slice lies outside its tensor"))
    return x;
  if (ArrayRef<int64_t>(shape) == shapeOf(x))
    return x;
  return ops.create<stablehlo::SliceOp>(
      loc, TypeRange{tensorType(shape, elementOf(x))}, ValueRange{x},
      ArrayRef<NamedAttribute>{ops.getNamedAttr("start_indices", ops.getDenseI64ArrayAttr(start)),
                               ops.getNamedAttr("limit_indices", ops.getDenseI64ArrayAttr(limit)),
                               ops.getNamedAttr("strides", ops.getDenseI64ArrayAttr(strides))});
}

Value HloBuilder::sliceDim(Value x, int64_t dimension, int64_t start, int64_t limit,
                           int64_t stride) {
  if (!isDimension(x, dimension))
    return x;
  Dims starts(rankOf(x), 0), limits(shapeOf(x).begin(), shapeOf(x).end()), strides(rankOf(x), 1);
  starts[dimension] = start;
  limits[dimension] = limit;
  strides[dimension] = stride;
  return slice(x, starts, limits, strides);
}

Value HloBuilder::concatenate(ArrayRef<Value> values, int64_t dimension) {
  if (!possible(!values.empty(), "nothing is concatenated"))
    return splat(0, f32());
  if (values.size() == 1 || !isDimension(values[0], dimension))
    return values[0];
  Dims shape(shapeOf(values[0]));
  for (Value value : values.drop_front()) {
    bool good = rankOf(value) == int64_t(shape.size()) && elementOf(value) == elementOf(values[0]);
    for (size_t i = 0; good && i < shape.size(); ++i)
      good = int64_t(i) == dimension || shapeOf(value)[i] == shape[i];
    if (!possible(good, "tensors that do not fit each other are concatenated"))
      return values[0];
    shape[dimension] += shapeOf(value)[dimension];
  }
  return ops.create<stablehlo::ConcatenateOp>(
      loc, TypeRange{tensorType(shape, elementOf(values[0]))}, values,
      ArrayRef<NamedAttribute>{ops.getNamedAttr("dimension", ops.getI64IntegerAttr(dimension))});
}

Value HloBuilder::pad(Value x, Value value, ArrayRef<int64_t> low, ArrayRef<int64_t> high,
                      ArrayRef<int64_t> interior) {
  Dims inner = interior.empty() ? Dims(low.size(), 0) : Dims(interior.begin(), interior.end());
  constexpr int64_t kFar = int64_t(1) << 40;
  auto near = [](int64_t amount) { return amount > -kFar && amount < kFar; };
  size_t rank = rankOf(x);
  if (!possible(low.size() == rank && high.size() == rank && inner.size() == rank &&
                    llvm::all_of(low, near) && llvm::all_of(high, near) &&
                    llvm::all_of(inner, [](int64_t one) { return one >= 0 && one < (1 << 20); }),
                "padding does not fit its tensor"))
    return x;
  Dims shape;
  for (int64_t i = 0; i < rankOf(x); ++i) {
    int64_t size = shapeOf(x)[i];
    shape.push_back(low[i] + high[i] + size + std::max<int64_t>(size - 1, 0) * inner[i]);
  }
  if (ArrayRef<int64_t>(shape) == shapeOf(x) && llvm::all_of(low, [](int64_t l) { return l == 0; }))
    return x;
  return ops.create<stablehlo::PadOp>(
      loc, TypeRange{tensorType(shape, elementOf(x))}, ValueRange{x, value},
      ArrayRef<NamedAttribute>{
          ops.getNamedAttr("edge_padding_low", ops.getDenseI64ArrayAttr(low)),
          ops.getNamedAttr("edge_padding_high", ops.getDenseI64ArrayAttr(high)),
          ops.getNamedAttr("interior_padding", ops.getDenseI64ArrayAttr(inner))});
}

Value HloBuilder::unsqueeze(Value x, int64_t dimension) {
  if (!possible(dimension >= 0 && dimension <= rankOf(x), "a dimension is out of range"))
    return x;
  Dims shape(shapeOf(x));
  shape.insert(shape.begin() + dimension, 1);
  return reshape(x, shape);
}

Value HloBuilder::dynamicSlice(Value x, ValueRange starts, ArrayRef<int64_t> sizes) {
  SmallVector<Value> operands{x};
  operands.append(starts.begin(), starts.end());
  return ops.create<stablehlo::DynamicSliceOp>(
      loc, TypeRange{tensorType(sizes, elementOf(x))}, operands,
      ArrayRef<NamedAttribute>{ops.getNamedAttr("slice_sizes", ops.getDenseI64ArrayAttr(sizes))});
}

Value HloBuilder::dynamicUpdateSlice(Value x, Value update, ValueRange starts) {
  SmallVector<Value> operands{x, update};
  operands.append(starts.begin(), starts.end());
  return ops.create<stablehlo::DynamicUpdateSliceOp>(loc, TypeRange{x.getType()}, operands);
}

} // namespace cupel::frontends
