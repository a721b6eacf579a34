// com.microsoft: operators on quantized tensors. Elementwise ones compute on the dequantized values
// and quantize the result.

#include "cupel/frontends/onnx/Lowering.h"

#include <fmt/format.h>

namespace cupel::frontends::onnx_import {

using namespace mlir;

namespace {

constexpr StringRef kDomain = "com.microsoft";

Status checkScalar(Node &n, size_t i) {
  if (n.has(i) && HloBuilder::countOf(n.in(i)) != 1)
    return n.error(fmt::format("operand {}, a scale or zero point, should be one number", i));
  return {};
}

/// Operand `x` with its scale at x + 1 and its zero point, which may be missing, at x + 2.
Result<Value> dequantized(Node &n, size_t x) {
  HloBuilder &b = n.b;
  if (!n.has(x) || !n.has(x + 1))
    return n.error(fmt::format("lacks operand {} or its scale", x));
  ONNX_TRY(checkScalar(n, x + 1));
  ONNX_TRY(checkScalar(n, x + 2));
  Value value = b.convert(n.in(x), b.i32());
  if (n.has(x + 2))
    value = b.subtract(value, convertPoint(b, b.reshape(n.in(x + 2), {}), b.i32()));
  return b.multiply(b.convert(value, b.f32()), b.reshape(b.convert(n.in(x + 1), b.f32()), {}));
}

/// Into the type of operand 0 (or `like`) with the scale at `scale` and the zero point after it.
Result<Value> quantized(Node &n, Value y, size_t scale, Type element) {
  HloBuilder &b = n.b;
  if (!n.has(scale))
    return n.error("lacks the scale of its result");
  ONNX_TRY(checkScalar(n, scale));
  ONNX_TRY(checkScalar(n, scale + 1));
  if (!isa<IntegerType>(element) || element.isInteger(1))
    return n.error("takes quantized tensors");
  Value factor = b.reshape(b.convert(n.in(scale), b.f32()), {});
  Value rounded = b.unary<stablehlo::RoundNearestEvenOp>(b.divide(y, factor));
  Value zero = n.has(scale + 1) ? b.reshape(n.in(scale + 1), {}) : Value();
  return quantizeTo(b, rounded, zero, element);
}

template <bool product> Status lowerBinary(Node &n) {
  ONNX_TRY(n.expect(2, 8));
  ONNX_LET(x, dequantized(n, 0));
  ONNX_LET(y, dequantized(n, 3));
  ONNX_TRY(n.checkBroadcast(x, y));
  ONNX_LET(result, quantized(n, product ? n.b.multiply(x, y) : n.b.add(x, y), 6, n.element(0)));
  n.out(0, result);
  return {};
}

/// One operand with its parameters at 1 and 2, the result's at 3 and 4; `op` of the standard
/// between.
template <const char *const &op> Status lowerUnary(Node &n) {
  ONNX_TRY(n.expect(2, 5));
  HloBuilder &b = n.b;
  ONNX_LET(x, dequantized(n, 0));
  int64_t rank = HloBuilder::rankOf(x);
  bool channelsLast = n.integer("channels_last", 0);
  if (channelsLast && rank < 3)
    return n.error("takes tensors with spatial dimensions");
  if (channelsLast) {
    Dims order = dimsFrom(0, rank);
    order.insert(order.begin() + 1, order.pop_back_val());
    x = b.transpose(x, order);
  }
  ONNX_LET(y, n.apply(op, {x}));
  if (channelsLast) {
    Dims order = dimsFrom(0, rank);
    order.erase(order.begin() + 1);
    order.push_back(1);
    y = b.transpose(y, order);
  }
  ONNX_LET(result, quantized(n, y, 3, n.element(0)));
  n.out(0, result);
  return {};
}
constexpr const char *kSigmoid = "Sigmoid", *kLeakyRelu = "LeakyRelu", *kPool = "AveragePool",
                     *kGlobalPool = "GlobalAveragePool";

Status lowerSoftmax(Node &n) {
  ONNX_TRY(n.expect(2, 5));
  HloBuilder &b = n.b;
  ONNX_LET(x, dequantized(n, 0));
  Dims shape(HloBuilder::shapeOf(x));
  ONNX_LET(axis, n.axis(n.integer("axis", -1), shape.size()));
  if (n.integer("opset", 13) < 13) {
    int64_t before = 1, after = 1;
    for (auto [i, size] : llvm::enumerate(shape))
      (int64_t(i) < axis ? before : after) *= size;
    x = b.reshape(x, {before, after});
    axis = 1;
  }
  ONNX_LET(result, quantized(n, b.reshape(softmax(b, x, axis), shape), 3, n.element(0)));
  n.out(0, result);
  return {};
}

Status lowerConcat(Node &n) {
  ONNX_TRY(n.expect(5));
  if ((n.inputCount() - 2) % 3)
    return n.error("each of its tensors should have a scale and a zero point");
  SmallVector<Value> parts;
  for (size_t i = 2; i < n.inputCount(); i += 3) {
    ONNX_LET(part, dequantized(n, i));
    parts.push_back(part);
  }
  ONNX_LET(joined, n.apply("Concat", parts));
  ONNX_LET(result, quantized(n, joined, 0, n.element(2)));
  n.out(0, result);
  return {};
}

Status lowerWhere(Node &n) {
  ONNX_TRY(n.expect(9, 9));
  ONNX_LET(x, dequantized(n, 1));
  ONNX_LET(y, dequantized(n, 4));
  ONNX_LET(picked, n.apply("Where", {n.in(0), x, y}));
  ONNX_LET(result, quantized(n, picked, 7, n.element(1)));
  n.out(0, result);
  return {};
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// The product of two integer matrices less their zero points (which may be null), in int32.
Result<Value> integerProduct(Node &n, Value x, Value xZero, Value y, Value yZero) {
  SmallVector<Value> operands{x, y, xZero, yZero};
  return n.apply("MatMulInteger", operands);
}

/// Scales of one number, or one a column of `y` (the last dimension).
Result<Value> columnScale(Node &n, size_t i, Value y) {
  HloBuilder &b = n.b;
  Value scale = b.convert(n.in(i), b.f32());
  if (HloBuilder::countOf(scale) == 1)
    return b.reshape(scale, {});
  std::optional<Dims> shape =
      HloBuilder::broadcastShape(HloBuilder::shapeOf(scale), HloBuilder::shapeOf(y));
  if (!shape || ArrayRef<int64_t>(*shape) != HloBuilder::shapeOf(y))
    return n.error("its scale does not fit its result's columns");
  return scale;
}

Result<Value> withBias(Node &n, Value y, size_t i) {
  if (!n.has(i))
    return y;
  if (n.shape(i) != ArrayRef<int64_t>({HloBuilder::shapeOf(y).back()}))
    return n.error("its bias does not fit its result");
  return n.b.add(y, n.b.convert(n.in(i), n.b.f32()));
}

Value operandOrNull(Node &n, size_t i) { return n.has(i) ? n.in(i) : Value(); }

Status lowerMatMulIntegerToFloat(Node &n) {
  ONNX_TRY(n.expect(4, 7));
  n.asConstants({2, 3, 4, 5});
  HloBuilder &b = n.b;
  ONNX_TRY(checkScalar(n, 2));
  ONNX_TRY(checkScalar(n, 4));
  ONNX_LET(sum, integerProduct(n, n.in(0), operandOrNull(n, 4), n.in(1), operandOrNull(n, 5)));
  ONNX_LET(scale, columnScale(n, 3, sum));
  Value factor = scaleFactor(b, b.reshape(b.convert(n.in(2), b.f32()), {}), scale, {});
  ONNX_LET(y, withBias(n, b.multiply(b.convert(sum, b.f32()), factor), 6));
  n.out(0, b.convert(y, n.element(2)));
  return {};
}

Status lowerDynamicQuantizeMatMul(Node &n) {
  ONNX_TRY(n.expect(3, 5));
  HloBuilder &b = n.b;
  // As DynamicQuantizeLinear: eight bits without sign, the range widened to hold zero.
  Value x = n.in(0), zero = b.splat(0, b.f32());
  if (!n.element(0).isF32())
    return n.error("takes a float32 operand");
  Dims all = dimsFrom(0, n.rank(0));
  Value high = b.maximum(b.reduce(x, all, Fold::Max), zero),
        low = b.minimum(b.reduce(x, all, Fold::Min), zero);
  Value scale = b.divide(b.subtract(high, low), b.like(high, 255));
  Value point = b.unary<stablehlo::RoundNearestEvenOp>(
      b.clamp(zero, b.divide(b.negate(low), scale), b.like(high, 255)));
  Type narrow = IntegerType::get(b.context(), 8, IntegerType::Unsigned);
  Value rounded = b.unary<stablehlo::RoundNearestEvenOp>(b.divide(x, scale));
  Value small = quantizeTo(b, rounded, point, narrow);
  ONNX_LET(sum, integerProduct(n, small, b.convert(point, narrow), n.in(1), operandOrNull(n, 3)));
  ONNX_LET(columns, columnScale(n, 2, sum));
  Value product = b.multiply(b.convert(sum, b.f32()), b.multiply(scale, columns));
  ONNX_LET(y, withBias(n, product, 4));
  n.out(0, y);
  return {};
}

Status lowerQGemm(Node &n) {
  ONNX_TRY(n.expect(6, 9));
  n.asConstants({1, 2, 4, 5, 7, 8});
  HloBuilder &b = n.b;
  if (n.rank(0) != 2 || n.rank(3) != 2)
    return n.error("takes matrices");
  ONNX_TRY(checkScalar(n, 1));
  ONNX_TRY(checkScalar(n, 2));
  Value x = n.integer("transA", 0) ? b.transpose(n.in(0), {1, 0}) : n.in(0);
  Value y = n.integer("transB", 0) ? b.transpose(n.in(3), {1, 0}) : n.in(3);
  ONNX_LET(sum, integerProduct(n, x, b.reshape(n.in(2), {}), y, n.in(5)));
  if (n.has(6)) {
    std::optional<Dims> shape = HloBuilder::broadcastShape(HloBuilder::shapeOf(sum), n.shape(6));
    if (!shape || ArrayRef<int64_t>(*shape) != HloBuilder::shapeOf(sum))
      return n.error("its third matrix does not broadcast to the product");
    sum = b.add(sum, b.convert(n.in(6), b.i32()));
  }
  ONNX_LET(columns, columnScale(n, 4, sum));
  Value factor = scaleFactor(b, b.reshape(b.convert(n.in(1), b.f32()), {}), columns, {});
  if (double alpha = n.real("alpha", 1); alpha != 1)
    factor = b.multiply(factor, b.like(factor, alpha));
  Value product = b.multiply(b.convert(sum, b.f32()), factor);
  if (!n.has(7)) {
    n.out(0, product);
    return {};
  }
  ONNX_LET(result, quantized(n, product, 7, n.has(8) ? n.element(8) : n.element(0)));
  n.out(0, result);
  return {};
}

/// [rows, bytes] of `bits` each, lowest bits first -> [rows, count] as i32.
Value unpackBits(HloBuilder &b, Value bytes, int64_t bits, int64_t count) {
  ArrayRef<int64_t> s = HloBuilder::shapeOf(bytes);
  int64_t rows = s[0], each = 8 / bits;
  Value wide = b.unsqueeze(b.convert(bytes, b.i32()), 2);
  Dims apart{rows, s[1], each};
  Value shifts =
      b.multiply(b.iota({1, 1, each}, 2, b.i32()), b.splatInteger(bits, b.i32(), {1, 1, each}));
  Value moved = b.binary<stablehlo::ShiftRightLogicalOp>(b.broadcastTo(wide, apart),
                                                         b.broadcastTo(shifts, apart));
  Value mask = b.splatInteger((1 << bits) - 1, b.i32(), apart);
  Value flat = b.reshape(b.logicalAnd(moved, mask), {rows, s[1] * each});
  return b.sliceDim(flat, 1, 0, count);
}

Status lowerMatMulNBits(Node &n) {
  ONNX_TRY(n.expect(3, 6));
  HloBuilder &b = n.b;
  int64_t inner = n.integer("K", 0), outer = n.integer("N", 0), bits = n.integer("bits", 4),
          block = n.integer("block_size", 0);
  if (inner < 1 || outer < 1 || block < 1 || inner > (1 << 30) || outer > (1 << 30) ||
      block > (1 << 30) || (bits != 2 && bits != 4 && bits != 8))
    return n.error("K, N and block_size should be positive, and bits 2, 4 or 8");
  if (n.has(4) || n.integer("weight_prepacked", 0))
    return n.refuse(ErrorCode::NotYet, "g_idx and prepacked weights are not lowered");
  int64_t blocks = (inner + block - 1) / block, blob = block * bits / 8;
  if (n.rank(0) < 1 || n.shape(0).back() != inner ||
      HloBuilder::countOf(n.in(1)) != outer * blocks * blob ||
      HloBuilder::countOf(n.in(2)) != outer * blocks || n.element(0) != n.element(2))
    return n.error("its weights or scales do not fit K, N, bits and block_size");
  Type element = n.element(0);
  Value weights = unpackBits(b, b.reshape(n.in(1), {outer * blocks, blob}), bits, block);
  Dims column{outer * blocks, 1};
  Value zero;
  if (!n.has(3)) {
    zero = b.splatInteger(int64_t(1) << (bits - 1), b.i32(), column);
  } else if (n.element(3) == element) {
    if (HloBuilder::countOf(n.in(3)) != outer * blocks)
      return n.error("its zero points do not fit its blocks");
    zero = b.reshape(n.in(3), column);
  } else {
    int64_t bytes = (blocks * bits + 7) / 8;
    if (HloBuilder::countOf(n.in(3)) != outer * bytes)
      return n.error("its zero points do not fit its blocks");
    zero = b.reshape(unpackBits(b, b.reshape(n.in(3), {outer, bytes}), bits, blocks), column);
  }
  Value real = b.subtract(b.convert(weights, element), b.convert(zero, element));
  real = b.multiply(real, b.reshape(n.in(2), column));
  Value matrix = b.sliceDim(b.reshape(real, {outer, blocks * block}), 1, 0, inner);
  Value y = b.dotGeneral(n.in(0), matrix, {}, {}, {n.rank(0) - 1}, {1});
  if (n.has(5)) {
    if (n.shape(5) != ArrayRef<int64_t>({outer}) || n.element(5) != element)
      return n.error("its bias does not fit its result");
    y = b.add(y, n.in(5));
  }
  n.out(0, y);
  return {};
}

/// The standard's operators under another name; without an axis they are for the whole tensor.
template <const char *const &op> Status lowerLinear(Node &n) {
  ONNX_TRY(n.expect(2, 3));
  ONNX_LET(y, n.apply(op, {n.in(0), n.in(1), operandOrNull(n, 2)}));
  n.out(0, y);
  return {};
}
constexpr const char *kQuantize = "QuantizeLinear", *kDequantize = "DequantizeLinear";

} // namespace

void registerMicrosoftQuantized(OpTable &table) {
  auto add = [&](StringRef name, Lowering lower) { table.add(name, 1, lower, true, kDomain); };
  add("QLinearAdd", lowerBinary<false>);
  add("QLinearMul", lowerBinary<true>);
  add("QLinearSigmoid", lowerUnary<kSigmoid>);
  add("QLinearLeakyRelu", lowerUnary<kLeakyRelu>);
  add("QLinearAveragePool", lowerUnary<kPool>);
  add("QLinearGlobalAveragePool", lowerUnary<kGlobalPool>);
  add("QLinearSoftmax", lowerSoftmax);
  add("QLinearConcat", lowerConcat);
  add("QLinearWhere", lowerWhere);
  add("MatMulIntegerToFloat", lowerMatMulIntegerToFloat);
  add("DynamicQuantizeMatMul", lowerDynamicQuantizeMatMul);
  add("QGemm", lowerQGemm);
  add("MatMulNBits", lowerMatMulNBits);
  add("QuantizeLinear", lowerLinear<kQuantize>);
  add("DequantizeLinear", lowerLinear<kDequantize>);
}

} // namespace cupel::frontends::onnx_import
