// Arithmetic, comparison, logic and the elementary functions: one result element an operand
// element.

#include "cupel/frontends/onnx/Lowering.h"

#include "cupel/ir/chlo/Chlo.h"

namespace cupel::frontends::onnx_import {

using namespace mlir;

namespace {

/// Before opset 7 a right operand of fewer dimensions is aligned at `axis`, and only if `broadcast`
/// is set; afterwards NumPy's rule holds.
Result<Value> alignLegacy(Node &n, Value x, Value y) {
  if (n.opset >= 7)
    return y;
  if (HloBuilder::shapeOf(x) == HloBuilder::shapeOf(y))
    return y;
  if (!n.integer("broadcast", 0))
    return n.error("its operands differ in shape, and broadcast is not set");
  int64_t rank = HloBuilder::rankOf(x), width = HloBuilder::rankOf(y);
  Result<int64_t> axis =
      n.hasAttribute("axis") ? n.axis(n.integer("axis", 0), rank) : Result<int64_t>(rank - width);
  if (!axis)
    return axis.error();
  if (*axis < 0 || *axis + width > rank)
    return n.error("its right operand does not fit at that axis");
  Dims shape(HloBuilder::shapeOf(y));
  shape.append(rank - *axis - width, 1);
  return n.b.reshape(y, shape);
}

struct Pair {
  Value x, y;
};

/// Two operands of one element type, ready to broadcast.
Result<Pair> operands(Node &n) {
  if (Status status = n.expect(2, 2); !status)
    return status.error();
  Value x = n.in(0);
  Result<Value> y = alignLegacy(n, x, n.in(1));
  if (!y)
    return y.error();
  if (HloBuilder::elementOf(x) != HloBuilder::elementOf(*y))
    return n.error("its operands differ in element type");
  if (Status status = n.checkBroadcast(x, *y); !status)
    return status.error();
  return Pair{x, *y};
}

using BinaryBuilder = Value (HloBuilder::*)(Value, Value);
template <BinaryBuilder build> Status binary(Node &n) {
  Result<Pair> pair = operands(n);
  if (!pair)
    return pair.error();
  n.out(0, (n.b.*build)(pair->x, pair->y));
  return {};
}

template <typename Op> Status binaryOp(Node &n) {
  Result<Pair> pair = operands(n);
  if (!pair)
    return pair.error();
  n.out(0, n.b.binary<Op>(pair->x, pair->y));
  return {};
}

using UnaryBuilder = Value (HloBuilder::*)(Value);
template <UnaryBuilder build> Status unary(Node &n) {
  if (Status status = n.expect(1, 1); !status)
    return status;
  n.out(0, (n.b.*build)(n.in(0)));
  return {};
}

template <typename Op> Status unaryOp(Node &n) {
  if (Status status = n.expect(1, 1); !status)
    return status;
  n.out(0, n.b.unary<Op>(n.in(0)));
  return {};
}

/// A formula in x alone.
template <Value (*formula)(Node &, Value)> Status formulaOf(Node &n) {
  if (Status status = n.expect(1, 1); !status)
    return status;
  n.out(0, formula(n, n.in(0)));
  return {};
}

/// Integers divide toward zero, as StableHLO's do.
Status lowerMod(Node &n) {
  Result<Pair> pair = operands(n);
  if (!pair)
    return pair.error();
  HloBuilder &b = n.b;
  auto [x, y] = b.broadcastPair(pair->x, pair->y);
  Value r = b.remainder(x, y);
  if (!n.integer("fmod", 0) && !HloBuilder::isUnsigned(x)) {
    // The sign of the divisor.
    Value zero = b.like(r, 0);
    Value differ = b.notEqual(b.less(r, zero), b.less(y, zero));
    r = b.select(b.logicalAnd(b.notEqual(r, zero), differ), b.add(r, y), r);
  }
  n.out(0, r);
  return {};
}

Status lowerPow(Node &n) {
  if (Status status = n.expect(2, 2); !status)
    return status;
  HloBuilder &b = n.b;
  Value x = n.in(0);
  Result<Value> aligned = alignLegacy(n, x, n.in(1));
  if (!aligned)
    return aligned.error();
  Value y = *aligned;
  if (Status status = n.checkBroadcast(x, y); !status)
    return status;
  Type element = HloBuilder::elementOf(x);
  bool bothIntegers = HloBuilder::isInteger(x) && HloBuilder::isInteger(y);
  // The result has x's type, but an exponent of another kind is not cut first.
  Type common = bothIntegers || HloBuilder::isFloat(x) ? element : HloBuilder::elementOf(y);
  if (HloBuilder::isFloat(x) && HloBuilder::isFloat(y) &&
      HloBuilder::elementOf(y).getIntOrFloatBitWidth() > element.getIntOrFloatBitWidth())
    common = HloBuilder::elementOf(y);
  n.out(0, b.convert(b.power(b.convert(x, common), b.convert(y, common)), element));
  return {};
}

template <BinaryBuilder build> Status variadic(Node &n) {
  if (Status status = n.expect(1); !status)
    return status;
  Value result = n.in(0);
  for (size_t i = 1; i < n.inputCount(); ++i) {
    if (!n.has(i))
      return n.error("lacks operand " + std::to_string(i));
    if (Status status = n.checkBroadcast(result, n.in(i)); !status)
      return status;
    result = (n.b.*build)(result, n.in(i));
  }
  n.out(0, result);
  return {};
}

Status lowerMean(Node &n) {
  if (Status status = variadic<&HloBuilder::add>(n); !status)
    return status;
  Value sum = n.in(0);
  for (size_t i = 1; i < n.inputCount(); ++i)
    sum = n.b.add(sum, n.in(i));
  n.out(0, n.b.divide(sum, n.b.like(sum, double(n.inputCount()))));
  return {};
}

template <stablehlo::ComparisonDirection direction> Status comparison(Node &n) {
  Result<Pair> pair = operands(n);
  if (!pair)
    return pair.error();
  n.out(0, n.b.compare(pair->x, pair->y, direction));
  return {};
}

Value relu(Node &n, Value x) { return frontends::relu(n.b, x); }
Value reciprocal(Node &n, Value x) { return n.b.divide(n.b.like(x, 1), x); }
Value leakyRelu(Node &n, Value x) { return frontends::leakyRelu(n.b, x, n.real("alpha", 0.01)); }
Value elu(Node &n, Value x) { return frontends::elu(n.b, x, n.real("alpha", 1)); }
Value celu(Node &n, Value x) { return frontends::celu(n.b, x, n.real("alpha", 1)); }
Value selu(Node &n, Value x) {
  return frontends::elu(n.b, x, n.real("alpha", 1.67326319217681884765625),
                        n.real("gamma", 1.05070102214813232421875));
}
Value hardSigmoid(Node &n, Value x) {
  return frontends::hardSigmoid(n.b, x, n.real("alpha", 0.2), n.real("beta", 0.5));
}
Value hardSwish(Node &n, Value x) { return frontends::hardSwish(n.b, x); }
Value swish(Node &n, Value x) {
  return n.b.multiply(x, n.b.logistic(n.b.multiply(x, n.b.like(x, n.real("alpha", 1)))));
}
Value softplus(Node &n, Value x) { return frontends::softplus(n.b, x); }
Value mish(Node &n, Value x) { return frontends::mish(n.b, x); }
Value softsign(Node &n, Value x) { return frontends::softsign(n.b, x); }
Value thresholdedRelu(Node &n, Value x) {
  return n.b.select(n.b.greater(x, n.b.like(x, n.real("alpha", 1))), x, n.b.like(x, 0));
}
Value shrink(Node &n, Value x) {
  HloBuilder &b = n.b;
  double bias = n.real("bias", 0), lambd = n.real("lambd", 0.5);
  Value middle = b.like(x, 0);
  Value low = b.select(b.less(x, b.like(x, -lambd)), b.add(x, b.like(x, bias)), middle);
  return b.select(b.greater(x, b.like(x, lambd)), b.subtract(x, b.like(x, bias)), low);
}
Value isNan(Node &n, Value x) { return n.b.notEqual(x, x); }
Value isInf(Node &n, Value x) {
  HloBuilder &b = n.b;
  Value result = b.splatInteger(0, b.i1(), HloBuilder::shapeOf(x));
  Type element = HloBuilder::elementOf(x);
  if (n.integer("detect_positive", 1))
    result = b.logicalOr(result, b.equal(x, b.highest(element, HloBuilder::shapeOf(x))));
  if (n.integer("detect_negative", 1))
    result = b.logicalOr(result, b.equal(x, b.lowest(element, HloBuilder::shapeOf(x))));
  return result;
}
Value affine(Node &n, Value x) {
  return n.b.add(n.b.multiply(x, n.b.like(x, n.real("alpha", 1))), n.b.like(x, n.real("beta", 0)));
}

Value sinh(Node &n, Value x) { return n.b.unary<chlo::SinhOp>(x); }
Value cosh(Node &n, Value x) { return n.b.unary<chlo::CoshOp>(x); }

Status lowerGelu(Node &n) {
  if (Status status = n.expect(1, 1); !status)
    return status;
  std::string approximate = n.text("approximate", "none");
  if (approximate != "none" && approximate != "tanh")
    return n.error("approximate should be none or tanh");
  n.out(0, gelu(n.b, n.in(0), approximate == "tanh", n.element(0)));
  return {};
}

Status lowerClip(Node &n) {
  if (Status status = n.expect(1, 3); !status)
    return status;
  HloBuilder &b = n.b;
  Value x = n.in(0);
  std::optional<Value> low, high;
  if (n.opset < 11) {
    if (n.hasAttribute("min"))
      low = b.like(x, n.real("min", 0));
    if (n.hasAttribute("max"))
      high = b.like(x, n.real("max", 0));
  } else {
    for (size_t i : {1, 2})
      if (n.has(i)) {
        if (HloBuilder::countOf(n.in(i)) != 1)
          return n.error("its bounds should be scalars");
        (i == 1 ? low : high) = b.reshape(n.in(i), {});
      }
  }
  if (low)
    x = b.maximum(x, *low);
  if (high)
    x = b.minimum(x, *high);
  n.out(0, x);
  return {};
}

Status lowerPRelu(Node &n) {
  if (Status status = n.expect(2, 2); !status)
    return status;
  HloBuilder &b = n.b;
  Value x = n.in(0), slope = n.in(1);
  if (n.opset < 7 && HloBuilder::rankOf(slope) == 1 && HloBuilder::rankOf(x) > 2 &&
      HloBuilder::countOf(slope) != 1) {
    Dims shape(HloBuilder::rankOf(x) - 1, 1);
    shape[0] = HloBuilder::shapeOf(slope)[0];
    slope = b.reshape(slope, shape);
  }
  auto shape = HloBuilder::broadcastShape(HloBuilder::shapeOf(x), HloBuilder::shapeOf(slope));
  if (!shape || ArrayRef<int64_t>(*shape) != HloBuilder::shapeOf(x))
    return n.error("its slope does not broadcast to its operand");
  n.out(0, b.select(b.less(x, b.like(x, 0)), b.multiply(x, slope), x));
  return {};
}

Status lowerWhere(Node &n) {
  if (Status status = n.expect(3, 3); !status)
    return status;
  if (!HloBuilder::isBool(n.in(0)) || n.element(1) != n.element(2))
    return n.error("takes a bool and two operands of one element type");
  if (Status status = n.checkBroadcast(n.in(1), n.in(2)); !status)
    return status;
  auto [x, y] = n.b.broadcastPair(n.in(1), n.in(2));
  if (Status status = n.checkBroadcast(n.in(0), x); !status)
    return status;
  n.out(0, n.b.select(n.in(0), x, y));
  return {};
}

Status lowerBitShift(Node &n) {
  Result<Pair> pair = operands(n);
  if (!pair)
    return pair.error();
  std::string direction = n.text("direction", "");
  auto [x, y] = n.b.broadcastPair(pair->x, pair->y);
  if (direction == "LEFT")
    n.out(0, n.b.binary<stablehlo::ShiftLeftOp>(x, y));
  else if (direction == "RIGHT" && HloBuilder::isUnsigned(x))
    n.out(0, n.b.binary<stablehlo::ShiftRightLogicalOp>(x, y));
  else if (direction == "RIGHT")
    n.out(0, n.b.binary<stablehlo::ShiftRightArithmeticOp>(x, y));
  else
    return n.error("direction should be LEFT or RIGHT");
  return {};
}

} // namespace

void registerElementwise(OpTable &table) {
  using stablehlo::ComparisonDirection;
  table.add("Add", 1, binary<&HloBuilder::add>);
  table.add("Sub", 1, binary<&HloBuilder::subtract>);
  table.add("Mul", 1, binary<&HloBuilder::multiply>);
  table.add("Div", 1, binary<&HloBuilder::divide>);
  table.add("Mod", 10, lowerMod);
  table.add("Pow", 1, lowerPow);
  table.add("And", 1, binary<&HloBuilder::logicalAnd>);
  table.add("Or", 1, binary<&HloBuilder::logicalOr>);
  table.add("Xor", 1, binaryOp<stablehlo::XorOp>);
  table.add("Not", 1, unary<&HloBuilder::logicalNot>);
  table.add("BitwiseAnd", 18, binary<&HloBuilder::logicalAnd>);
  table.add("BitwiseOr", 18, binary<&HloBuilder::logicalOr>);
  table.add("BitwiseXor", 18, binaryOp<stablehlo::XorOp>);
  table.add("BitwiseNot", 18, unary<&HloBuilder::logicalNot>);
  table.add("BitShift", 11, lowerBitShift);
  table.add("Equal", 1, comparison<ComparisonDirection::EQ>);
  table.add("Less", 1, comparison<ComparisonDirection::LT>);
  table.add("LessOrEqual", 12, comparison<ComparisonDirection::LE>);
  table.add("Greater", 1, comparison<ComparisonDirection::GT>);
  table.add("GreaterOrEqual", 12, comparison<ComparisonDirection::GE>);
  table.add("Max", 1, variadic<&HloBuilder::maximum>);
  table.add("Min", 1, variadic<&HloBuilder::minimum>);
  table.add("Sum", 1, variadic<&HloBuilder::add>);
  table.add("Mean", 1, lowerMean);
  table.add("Where", 9, lowerWhere);
  table.add("Clip", 1, lowerClip);
  table.add("PRelu", 1, lowerPRelu);
  table.add("Gelu", 20, lowerGelu);

  table.add("Abs", 1, unary<&HloBuilder::abs>);
  table.add("Neg", 1, unary<&HloBuilder::negate>);
  table.add("Exp", 1, unary<&HloBuilder::exp>);
  table.add("Log", 1, unary<&HloBuilder::log>);
  table.add("Sqrt", 1, unary<&HloBuilder::sqrt>);
  table.add("Tanh", 1, unary<&HloBuilder::tanh>);
  table.add("Sigmoid", 1, unary<&HloBuilder::logistic>);
  table.add("Floor", 1, unary<&HloBuilder::floor>);
  table.add("Ceil", 1, unary<&HloBuilder::ceil>);
  table.add("Round", 11, unaryOp<stablehlo::RoundNearestEvenOp>);
  table.add("Sign", 9, unaryOp<stablehlo::SignOp>);
  table.add("Sin", 7, unaryOp<stablehlo::SineOp>);
  table.add("Cos", 7, unaryOp<stablehlo::CosineOp>);
  table.add("Tan", 7, unaryOp<stablehlo::TanOp>);
  table.add("Asin", 7, unaryOp<chlo::AsinOp>);
  table.add("Acos", 7, unaryOp<chlo::AcosOp>);
  table.add("Atan", 7, unaryOp<chlo::AtanOp>);
  table.add("Sinh", 9, formulaOf<sinh>);
  table.add("Cosh", 9, formulaOf<cosh>);
  table.add("Asinh", 9, unaryOp<chlo::AsinhOp>);
  table.add("Acosh", 9, unaryOp<chlo::AcoshOp>);
  table.add("Atanh", 9, unaryOp<chlo::AtanhOp>);
  table.add("Erf", 9, unaryOp<chlo::ErfOp>);
  table.add("Reciprocal", 1, formulaOf<reciprocal>);
  table.add("Relu", 1, formulaOf<relu>);
  table.add("LeakyRelu", 1, formulaOf<leakyRelu>);
  table.add("Elu", 1, formulaOf<elu>);
  table.add("Celu", 12, formulaOf<celu>);
  table.add("Selu", 1, formulaOf<selu>);
  table.add("HardSigmoid", 1, formulaOf<hardSigmoid>);
  table.add("HardSwish", 14, formulaOf<hardSwish>);
  table.add("Swish", 24, formulaOf<swish>);
  table.add("Softplus", 1, formulaOf<softplus>);
  table.add("Softsign", 1, formulaOf<softsign>);
  table.add("Mish", 18, formulaOf<mish>);
  table.add("ThresholdedRelu", 1, formulaOf<thresholdedRelu>);
  table.add("Shrink", 9, formulaOf<shrink>);
  table.add("IsNaN", 9, formulaOf<isNan>);
  table.add("IsInf", 10, formulaOf<isInf>);
  table.add("Affine", 1, formulaOf<affine>);
}

} // namespace cupel::frontends::onnx_import
