// Quantisation: to and from narrow types, and products on quantised operands.

#include "cupel/frontends/onnx/CodedTypes.h"
#include "cupel/frontends/onnx/Lowering.h"

#include "mlir/IR/Matchers.h"

namespace cupel::frontends::onnx_import {

using namespace mlir;

Value convertPoint(HloBuilder &b, Value value, Type element) {
  Value from = value;
  for (Operation *op; (op = from.getDefiningOp()) && op->hasTrait<stablehlo::MovesElements>() && op->getNumOperands() == 1;)
    from = op->getOperand(0);
  DenseIntElementsAttr numbers;
  if (!matchPattern(from, m_Constant(&numbers)) || numbers.empty() || !numbers.isSplat() || numbers.getElementType().getIntOrFloatBitWidth() > 16)
    return b.convert(value, element);
  auto number = numbers.getSplatValue<APInt>();
  bool isUnsigned = cast<IntegerType>(numbers.getElementType()).isUnsigned();
  return b.splat(isUnsigned ? double(number.getZExtValue()) : double(number.getSExtValue()), element,
                 Dims(HloBuilder::shapeOf(value)));
}

/// The numbers of a constant; of one number, wherever it was moved.
static std::optional<SmallVector<float>> knownNumbers(Value value) {
  auto isOne = [](Value one) { return HloBuilder::countOf(one) == 1; };
  for (Operation *op; (op = value.getDefiningOp()) && op->hasTrait<stablehlo::MovesElements>() && op->getNumOperands() == 1 &&
                      isOne(value) && isOne(op->getOperand(0));)
    value = op->getOperand(0);
  DenseFPElementsAttr numbers;
  if (!matchPattern(value, m_Constant(&numbers)) || numbers.empty() || !numbers.getElementType().isF32())
    return std::nullopt;
  return llvm::to_vector(numbers.getValues<float>());
}

Value scaleFactor(HloBuilder &b, Value left, Value right, Value result) {
  std::optional<SmallVector<float>> a = knownNumbers(left), c = knownNumbers(right), d;
  if (result)
    d = knownNumbers(result);
  // One on each side, but for that of one number for each column or filter.
  if (!a || !c || a->size() != 1 || (result && (!d || d->size() != 1))) {
    Value factor = b.multiply(left, right);
    return result ? b.divide(factor, result) : factor;
  }
  for (float &number : *c)
    number = result ? *a->begin() * number / *d->begin() : *a->begin() * number;
  auto type = RankedTensorType::get(HloBuilder::shapeOf(right), b.f32());
  return b.builder().create<stablehlo::ConstantOp>(b.location(), type, DenseElementsAttr::get(type, ArrayRef<float>(*c)));
}

Value quantizeTo(HloBuilder &b, Value rounded, Value zero, Type element) {
  Type wide = HloBuilder::elementOf(rounded);
  if (zero)
    rounded = b.add(rounded, convertPoint(b, zero, wide));
  Value low = convertPoint(b, b.lowest(element), wide), high = convertPoint(b, b.highest(element), wide);
  return castValue(b, b.clamp(low, rounded, high), element, true);
}

namespace {

/// A scale or zero point spread to meet `x`: one for all, one an index of the axis, or one a block.
Result<Value> spread(Node &n, Value x, Value scale) {
  HloBuilder &b = n.b;
  int64_t rank = HloBuilder::rankOf(x), block = n.integer("block_size", 0);
  ArrayRef<int64_t> shape = HloBuilder::shapeOf(x), given = HloBuilder::shapeOf(scale);
  if (HloBuilder::countOf(scale) == 1 && given.size() <= 1)
    return b.reshape(scale, {});
  ONNX_LET(axis, n.axis(n.integer("axis", 1), rank));
  if (given.size() == 1 && given[0] == shape[axis]) {
    Dims wide(rank, 1);
    wide[axis] = given[0];
    return b.reshape(scale, wide);
  }
  if (int64_t(given.size()) != rank || block < 1)
    return n.error("its scale or zero point does not fit its operand");
  Dims repeated(given), apart(given);
  apart.insert(apart.begin() + axis + 1, block);
  repeated[axis] = given[axis] * block;
  if (repeated[axis] < shape[axis])
    return n.error("its blocks do not cover its axis");
  Dims dimensions;
  for (int64_t i = 0; i < rank; ++i)
    dimensions.push_back(i <= axis ? i : i + 1);
  Value wide = b.reshape(b.broadcastInDim(scale, apart, dimensions), repeated);
  Value cut = b.sliceDim(wide, axis, 0, shape[axis]);
  if (HloBuilder::shapeOf(cut) != shape)
    return n.error("its scale or zero point does not fit its operand");
  return cut;
}

/// Operand i, or what its bits stand for.
Value decoded(Node &n, size_t i) { return n.coded(i) ? decode(n.b, n.in(i), n.coded(i)) : n.in(i); }

Status lowerQuantize(Node &n) {
  ONNX_TRY(n.expect(2, 3));
  n.asConstants({1, 2});
  HloBuilder &b = n.b;
  Type element = IntegerType::get(b.context(), 8, IntegerType::Unsigned);
  int64_t coded = n.has(2) ? n.coded(2) : 0;
  if (n.has(2)) {
    element = n.element(2);
  } else if (int64_t number = n.integer("output_dtype", 0)) {
    if (isCoded(number)) {
      coded = number;
    } else {
      ONNX_LET(type, n.elementTypeNumbered(number));
      element = type;
    }
  }
  ONNX_LET(scale, spread(n, n.in(0), decoded(n, 1)));
  Type inner = HloBuilder::elementOf(scale);
  if (int64_t number = n.integer("precision", 0)) {
    ONNX_LET(type, n.elementTypeNumbered(number));
    inner = type;
  }
  if (!isa<FloatType>(inner))
    inner = b.f32();
  Value divided = b.divide(b.convert(n.in(0), inner), b.convert(scale, inner));
  Value zero;
  if (n.has(2)) {
    ONNX_LET(made, spread(n, n.in(0), decoded(n, 2)));
    zero = made;
  }
  if (isa<FloatType>(element) || coded) {
    if (zero)
      divided = b.add(divided, b.convert(zero, inner));
    if (coded) {
      n.outCoded(0, encode(b, divided, coded, n.integer("saturate", 1), "up"), coded);
      return {};
    }
    n.out(0, castValue(b, divided, element, n.integer("saturate", 1)));
    return {};
  }
  Value rounded = b.unary<stablehlo::RoundNearestEvenOp>(b.convert(divided, b.f32()));
  n.out(0, quantizeTo(b, rounded, zero, element));
  return {};
}

Status lowerDequantize(Node &n) {
  ONNX_TRY(n.expect(2, 3));
  n.asConstants({1, 2});
  HloBuilder &b = n.b;
  ONNX_LET(scale, spread(n, n.in(0), decoded(n, 1)));
  Type element = HloBuilder::elementOf(scale);
  if (int64_t number = n.integer("output_dtype", 0)) {
    ONNX_LET(type, n.elementTypeNumbered(number));
    element = type;
  }
  Value x = decoded(n, 0);
  bool integers = HloBuilder::isInteger(x);
  Type inner = integers ? b.i32() : b.f32();
  x = b.convert(x, inner);
  if (n.has(2)) {
    ONNX_LET(zero, spread(n, n.in(0), decoded(n, 2)));
    x = b.subtract(x, convertPoint(b, zero, inner));
  }
  n.out(0, b.convert(b.multiply(b.convert(x, b.f32()), b.convert(scale, b.f32())), element));
  return {};
}

Status lowerDynamicQuantize(Node &n) {
  ONNX_TRY(n.expect(1, 1));
  HloBuilder &b = n.b;
  Value x = n.in(0), zero = b.splat(0, n.element(0));
  Dims all = dimsFrom(0, n.rank(0));
  Value high = b.maximum(b.reduce(x, all, Fold::Max), zero),
        low = b.minimum(b.reduce(x, all, Fold::Min), zero);
  Value scale = b.divide(b.subtract(high, low), b.like(high, 255));
  Value point = b.clamp(zero, b.divide(b.negate(low), scale), b.like(high, 255));
  point = b.unary<stablehlo::RoundNearestEvenOp>(point);
  Value rounded = b.unary<stablehlo::RoundNearestEvenOp>(b.divide(x, scale));
  Type element = IntegerType::get(b.context(), 8, IntegerType::Unsigned);
  n.out(0, quantizeTo(b, rounded, point, element));
  n.out(1, scale);
  n.out(2, b.convert(point, element));
  return {};
}

/// A 1-D number a row of the left operand, or a column of the right one, made to meet it.
Value rowOrColumn(HloBuilder &b, Value value, bool row) {
  if (HloBuilder::countOf(value) == 1)
    return b.reshape(value, {});
  if (HloBuilder::rankOf(value) == 1 && row)
    return b.reshape(value, {HloBuilder::countOf(value), 1});
  return value;
}

Status checkMatrices(Node &n, size_t x, size_t y) {
  if (n.rank(x) < 1 || n.rank(y) < 1 ||
      n.shape(x).back() != (n.rank(y) == 1 ? n.shape(y)[0] : n.shape(y)[n.rank(y) - 2]))
    return n.error("its operands' inner sizes differ");
  if (n.rank(x) > 2 && n.rank(y) > 2 &&
      !HloBuilder::broadcastShape(n.shape(x).drop_back(2), n.shape(y).drop_back(2)))
    return n.error("its operands' batches do not broadcast");
  return {};
}

Status lowerMatMulInteger(Node &n) {
  ONNX_TRY(n.expect(2, 4));
  ONNX_TRY(checkMatrices(n, 0, 1));
  n.asConstants({2, 3});
  HloBuilder &b = n.b;
  Value x = b.convert(n.in(0), b.i32()), y = b.convert(n.in(1), b.i32());
  if (n.has(2)) {
    Value zero = convertPoint(b, rowOrColumn(b, n.in(2), true), b.i32());
    ONNX_TRY(n.checkBroadcast(x, zero));
    x = b.subtract(x, zero);
  }
  if (n.has(3)) {
    Value zero = convertPoint(b, rowOrColumn(b, n.in(3), false), b.i32());
    ONNX_TRY(n.checkBroadcast(y, zero));
    y = b.subtract(y, zero);
  }
  n.out(0, b.matmul(x, y));
  return {};
}

Status lowerQLinearMatMul(Node &n) {
  ONNX_TRY(n.expect(8, 8));
  ONNX_TRY(checkMatrices(n, 0, 3));
  n.asConstants({1, 2, 4, 5, 6, 7});
  HloBuilder &b = n.b;
  auto moved = [&](size_t operand, size_t zero, bool row) {
    return b.subtract(b.convert(n.in(operand), b.i32()),
                      convertPoint(b, rowOrColumn(b, n.in(zero), row), b.i32()));
  };
  for (auto [operand, zero, row] : {std::tuple{0, 2, true}, std::tuple{3, 5, false}})
    ONNX_TRY(n.checkBroadcast(n.in(operand), rowOrColumn(b, n.in(zero), row)));
  Value sum = b.matmul(moved(0, 2, true), moved(3, 5, false));
  auto scale = [&](size_t i, bool row) { return b.convert(rowOrColumn(b, n.in(i), row), b.f32()); };
  Value factor = scaleFactor(b, scale(1, true), scale(4, false), scale(6, true));
  ONNX_TRY(n.checkBroadcast(sum, factor));
  Value y = b.unary<stablehlo::RoundNearestEvenOp>(b.multiply(b.convert(sum, b.f32()), factor));
  n.out(0, quantizeTo(b, y, rowOrColumn(b, n.in(7), true), n.element(7)));
  return {};
}

} // namespace

void registerQuantization(OpTable &table) {
  table.add("QuantizeLinear", 10, lowerQuantize);
  table.add("DequantizeLinear", 10, lowerDequantize);
  table.add("DynamicQuantizeLinear", 11, lowerDynamicQuantize);
  table.add("MatMulInteger", 10, lowerMatMulInteger);
  table.add("QLinearMatMul", 10, lowerQLinearMatMul);
}

} // namespace cupel::frontends::onnx_import
