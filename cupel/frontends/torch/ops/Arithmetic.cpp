// Sums, products, quotients, remainders, powers and roundings of two tensors or a tensor and a
// number.

#include "cupel/frontends/torch/ops/Elementwise.h"
#include "cupel/ir/chlo/Chlo.h"

#include <fmt/format.h>

namespace cupel::frontends::torch_import {

using namespace mlir;

bool fitTogether(Node &n, ValueRange values) {
  Dims shape;
  for (Value value : values) {
    std::optional<Dims> common = HloBuilder::broadcastShape(shape, HloBuilder::shapeOf(value));
    if (!common) {
      n.fail("its arguments' shapes do not broadcast together");
      return false;
    }
    shape = *common;
  }
  return !n.failed();
}

Value signBit(HloBuilder &b, Value x) {
  if (!HloBuilder::isFloat(x))
    return HloBuilder::isUnsigned(x) || HloBuilder::isBool(x)
               ? b.splatInteger(0, b.i1(), HloBuilder::shapeOf(x))
               : b.less(x, b.like(x, 0));
  bool wide = HloBuilder::elementOf(x).isF64();
  Value bits = b.unary<stablehlo::BitcastConvertOp>(wide ? x : b.convert(x, b.f32()),
                                                    wide ? b.i64() : b.i32());
  return b.less(bits, b.like(bits, 0));
}

Value copySign(HloBuilder &b, Value magnitude, Value sign) {
  auto [x, y] = b.broadcastPair(magnitude, sign);
  Value positive = b.abs(x);
  return b.select(signBit(b, y), b.negate(positive), positive);
}

Value truncate(HloBuilder &b, Value x) {
  if (!HloBuilder::isFloat(x))
    return x;
  return b.select(signBit(b, x), b.ceil(x), b.floor(x));
}

Value floorRemainder(HloBuilder &b, Value dividend, Value divisor) {
  auto [x, y] = b.broadcastPair(dividend, divisor);
  Value r = b.remainder(x, y);
  if (HloBuilder::isUnsigned(x))
    return r;
  Value zero = b.like(r, 0);
  Value differ = b.notEqual(b.less(r, zero), b.less(y, zero));
  return b.select(b.logicalAnd(b.notEqual(r, zero), differ), b.add(r, y), r);
}

Value floorDivide(HloBuilder &b, Value dividend, Value divisor) {
  auto [x, y] = b.broadcastPair(dividend, divisor);
  if (HloBuilder::isUnsigned(x))
    return b.divide(x, y);
  Value zero = b.like(x, 0), one = b.like(x, 1);
  Value r = b.remainder(x, y);
  Value adjust = b.logicalAnd(b.notEqual(r, zero), b.notEqual(b.less(r, zero), b.less(y, zero)));
  if (!HloBuilder::isFloat(x)) {
    Value q = b.divide(x, y);
    return b.select(adjust, b.subtract(q, one), q);
  }
  // As Python's: the quotient of what the remainder leaves is nearly whole, and is made so.
  Value plain = b.divide(x, y);
  Value q = b.divide(b.subtract(x, r), y);
  q = b.select(adjust, b.subtract(q, one), q);
  Value whole = b.floor(q);
  whole = b.select(b.greater(b.subtract(q, whole), b.like(q, 0.5)), b.add(whole, one), whole);
  Value result = b.select(b.equal(q, zero), copySign(b, zero, plain), whole);
  return b.select(b.equal(y, zero), plain, result);
}

Value logAddExp(HloBuilder &b, Value first, Value second) {
  auto [x, y] = b.broadcastPair(first, second);
  Value top = b.maximum(x, y);
  Value tail = log1p(b, b.exp(b.negate(b.abs(b.subtract(x, y)))));
  Value same = b.logicalAnd(isInfinite(b, x), b.equal(x, y));
  return b.select(same, x, b.add(top, tail));
}

Value xlogy(HloBuilder &b, Value first, Value second) {
  auto [x, y] = b.broadcastPair(first, second);
  Value zero = b.like(x, 0);
  Value product = b.select(b.equal(x, zero), zero, b.multiply(x, b.log(y)));
  return b.select(isNan(b, y), y, product);
}

Value powerOf(HloBuilder &b, Value base, Value exponent) {
  auto [x, y] = b.broadcastPair(base, exponent);
  if (HloBuilder::isBool(x)) // x ** y is false for x = 0, y = 1 only.
    return b.logicalOr(x, b.logicalNot(y));
  if (!HloBuilder::isInteger(x))
    return b.power(x, y);
  if (HloBuilder::isUnsigned(x))
    return b.power(x, y);
  Value zero = b.like(x, 0), one = b.like(x, 1), two = b.like(x, 2);
  Value plain = b.power(x, b.maximum(y, zero));
  Value odd = b.notEqual(b.remainder(y, two), zero);
  Value alternating = b.select(odd, b.like(x, -1), one);
  Value negative =
      b.select(b.equal(x, one), one, b.select(b.equal(x, b.like(x, -1)), alternating, zero));
  return b.select(b.less(y, zero), negative, plain);
}

namespace {

/// other * alpha in the type of computation.
Value scaled(Node &n, StringRef argument, Type type) {
  Value y = n.in(argument, type);
  if (!n.declares("alpha") || !n.has("alpha"))
    return y;
  Scalar alpha = n.scalar("alpha");
  if (alpha.number == std::complex<double>(1))
    return y;
  return n.b.multiply(y, n.in("alpha", type));
}

void lowerAdd(Node &n) {
  Type type = n.computeType(n.promote({"self", "other"}));
  Value x = n.in("self", type), y = scaled(n, "other", type);
  if (fitTogether(n, {x, y}))
    n.out(n.b.add(x, y));
}

void lowerSubtract(Node &n) {
  Type type = n.computeType(n.promote({"self", "other"}));
  Value x = n.in("self", type), y = scaled(n, "other", type);
  if (fitTogether(n, {x, y}))
    n.out(n.b.subtract(x, y));
}

void lowerReverseSubtract(Node &n) {
  Type type = n.computeType(n.promote({"self", "other"}));
  Value x = scaled(n, "self", type), y = n.in("other", type);
  if (fitTogether(n, {x, y}))
    n.out(n.b.subtract(y, x));
}

Value multiply(HloBuilder &b, Value x, Value y) { return b.multiply(x, y); }
Value divide(HloBuilder &b, Value x, Value y) { return b.divide(x, y); }

void lowerDivide(Node &n) {
  std::string mode = n.declares("rounding_mode") ? n.text("rounding_mode") : "";
  if (mode.empty())
    return floatBinary<divide>(n);
  if (mode != "trunc" && mode != "floor")
    return n.fail("argument 'rounding_mode' is '" + mode + "', not trunc or floor");
  // Narrow floats are not widened: the quotient is rounded before it is cut, as torch does.
  Type type = n.promote({"self", "other"});
  if (type.isInteger(1))
    type = n.b.f32();
  Value x = n.in("self", type), y = n.in("other", type);
  if (!fitTogether(n, {x, y}))
    return;
  n.out(mode == "floor" ? floorDivide(n.b, x, y) : truncate(n.b, n.b.divide(x, y)));
}

void lowerFloorDivide(Node &n) {
  Type type = n.promote({"self", "other"});
  Value x = n.in("self", type), y = n.in("other", type);
  if (fitTogether(n, {x, y}))
    n.out(floorDivide(n.b, x, y));
}

Value fmod(HloBuilder &b, Value x, Value y) { return b.remainder(x, y); }

void lowerPower(Node &n) {
  HloBuilder &b = n.b;
  StringRef base = "self", exponent = "exponent";
  Type type = n.computeType(n.promote({base, exponent}));
  Value x = n.in(base, type);
  if (!n.isTensor(exponent) && HloBuilder::isFloat(x)) {
    // The cases torch computes apart; they differ from pow at zeros and infinities.
    Scalar number = n.scalar(exponent);
    if (number.kind != Scalar::Kind::Complex) {
      double p = number.real();
      if (p == 0)
        return n.out(b.like(x, 1));
      if (p == 1)
        return n.out(x);
      if (p == 0.5)
        return n.out(b.sqrt(x));
      if (p == 2)
        return n.out(b.square(x));
      if (p == 3)
        return n.out(b.multiply(b.square(x), x));
      if (p == -1)
        return n.out(b.divide(b.like(x, 1), x));
      if (p == -2)
        return n.out(b.divide(b.like(x, 1), b.square(x)));
      if (p == -0.5)
        return n.out(b.divide(b.like(x, 1), b.sqrt(x)));
    }
  }
  Value y = n.in(exponent, type);
  if (fitTogether(n, {x, y}))
    n.out(powerOf(b, x, y));
}

/// In double precision, whatever the operands are.
void lowerFloatPower(Node &n) {
  Type type = n.resultElement();
  Value x = n.in("self", type), y = n.in("exponent", type);
  if (fitTogether(n, {x, y}))
    n.out(n.b.power(x, y));
}

void lowerAddcmul(Node &n) {
  HloBuilder &b = n.b;
  Type type = n.computeType(n.promote({"self", "tensor1", "tensor2"}));
  Value x = n.in("self", type), y = n.in("tensor1", type), z = n.in("tensor2", type);
  if (!fitTogether(n, {x, y, z}))
    return;
  if (n.scalar("value").number != std::complex<double>(1))
    y = b.multiply(y, n.in("value", type));
  n.out(b.add(x, b.multiply(y, z)));
}

void lowerAddcdiv(Node &n) {
  HloBuilder &b = n.b;
  Type type = n.computeType(n.promoteToFloat({"self", "tensor1", "tensor2"}));
  Value x = n.in("self", type), y = n.in("tensor1", type), z = n.in("tensor2", type);
  if (!fitTogether(n, {x, y, z}))
    return;
  if (n.scalar("value").number != std::complex<double>(1))
    y = b.multiply(y, n.in("value", type));
  n.out(b.add(x, b.divide(y, z)));
}

void lowerLerp(Node &n) {
  HloBuilder &b = n.b;
  Type type = n.computeType(n.promote({"self", "end"}));
  Value x = n.in("self", type), y = n.in("end", type), weight = n.in("weight", type);
  if (!fitTogether(n, {x, y, weight}))
    return;
  // From the nearer end, so that weight 1 gives `end` itself.
  Value difference = b.subtract(y, x), one = b.like(weight, 1);
  Value low = b.add(x, b.multiply(weight, difference));
  Value high = b.subtract(y, b.multiply(difference, b.subtract(one, weight)));
  Value size = HloBuilder::isComplex(weight) ? b.abs(weight) : b.abs(weight);
  n.out(b.select(b.less(size, b.like(size, 0.5)), low, high));
}

Value maximum(HloBuilder &b, Value x, Value y) { return b.maximum(x, y); }
Value minimum(HloBuilder &b, Value x, Value y) { return b.minimum(x, y); }

template <bool largest> Value extremeWithoutNan(HloBuilder &b, Value first, Value second) {
  auto [x, y] = b.broadcastPair(first, second);
  Value plain = largest ? b.maximum(x, y) : b.minimum(x, y);
  if (!HloBuilder::isFloat(x))
    return plain;
  return b.select(isNan(b, x), y, b.select(isNan(b, y), x, plain));
}

void lowerClamp(Node &n) {
  SmallVector<StringRef> names{"self"};
  bool low = n.declares("min") && n.has("min"), high = n.declares("max") && n.has("max");
  if (low)
    names.push_back("min");
  if (high)
    names.push_back("max");
  Type type = n.computeType(n.promote(names));
  Value x = n.in("self", type);
  if (low) {
    if (!fitTogether(n, {x, n.in("min", type)}))
      return;
    x = n.b.maximum(x, n.in("min", type));
  }
  if (high) {
    if (!fitTogether(n, {x, n.in("max", type)}))
      return;
    x = n.b.minimum(x, n.in("max", type));
  }
  n.out(x);
}

Value hypot(HloBuilder &b, Value first, Value second) {
  auto [x, y] = b.broadcastPair(b.abs(first), b.abs(second));
  Value top = b.maximum(x, y), bottom = b.minimum(x, y), zero = b.like(top, 0);
  Value ratio = b.divide(bottom, top);
  Value length = b.multiply(top, b.sqrt(b.add(b.like(top, 1), b.square(ratio))));
  length = b.select(b.equal(top, zero), zero, length);
  Value endless = b.logicalOr(isInfinite(b, x), isInfinite(b, y));
  return b.select(endless, b.highest(HloBuilder::elementOf(x), HloBuilder::shapeOf(x)), length);
}

Value heaviside(HloBuilder &b, Value first, Value second) {
  auto [x, values] = b.broadcastPair(first, second);
  Value zero = b.like(x, 0);
  Value step = b.select(b.greater(x, zero), b.like(x, 1), zero);
  return b.select(b.equal(x, zero), values, step);
}

void lowerHeaviside(Node &n) {
  Type type = n.computeType(n.promote({"self", "values"}));
  Value x = n.in("self", type), y = n.in("values", type);
  if (fitTogether(n, {x, y}))
    n.out(heaviside(n.b, x, y));
}

Value gcd(HloBuilder &b, Value first, Value second) {
  auto [x, y] = b.broadcastPair(b.abs(first), b.abs(second));
  if (HloBuilder::countOf(x) == 0)
    return x;
  Value zero = b.like(x, 0), one = b.like(x, 1);
  auto result = b.whileLoop(
      {x, y},
      [&](ValueRange v) {
        Dims all = dimsFrom(0, HloBuilder::rankOf(v[1]));
        return b.reduce(b.notEqual(v[1], zero), all, Fold::Or);
      },
      [&](ValueRange v) -> SmallVector<Value> {
        Value done = b.equal(v[1], zero);
        Value rest = b.remainder(v[0], b.select(done, one, v[1]));
        return {b.select(done, v[0], v[1]), b.select(done, zero, rest)};
      });
  return result[0];
}

Value lcm(HloBuilder &b, Value first, Value second) {
  auto [x, y] = b.broadcastPair(first, second);
  Value divisor = gcd(b, x, y), zero = b.like(x, 0);
  Value none = b.equal(divisor, zero);
  Value product = b.multiply(b.divide(x, b.select(none, b.like(x, 1), divisor)), y);
  return b.select(none, zero, b.abs(product));
}

Value ldexp(HloBuilder &b, Value x, Value y) { return b.multiply(x, b.power(b.like(y, 2), y)); }

Value logAddExp2(HloBuilder &b, Value first, Value second) {
  auto [x, y] = b.broadcastPair(first, second);
  Value top = b.maximum(x, y);
  Value gap = b.negate(b.abs(b.subtract(x, y)));
  Value tail = b.multiply(log1p(b, b.power(b.like(gap, 2), gap)), b.like(x, 1.4426950408889634074));
  Value same = b.logicalAnd(isInfinite(b, x), b.equal(x, y));
  return b.select(same, x, b.add(top, tail));
}

void lowerNegate(Node &n) {
  Value x = n.in("self");
  n.out(n.b.negate(x));
}

Value roundEven(HloBuilder &b, Value x) {
  return HloBuilder::isFloat(x) ? b.unary<stablehlo::RoundNearestEvenOp>(x) : x;
}

void lowerRound(Node &n) {
  HloBuilder &b = n.b;
  Value x = n.in("self", n.computeType(n.element("self")));
  int64_t decimals = n.declares("decimals") ? n.integer("decimals", 0) : 0;
  if (decimals == 0 || !HloBuilder::isFloat(x))
    return n.out(roundEven(b, x));
  Value power = b.like(x, std::pow(10.0, std::abs(double(decimals))));
  Value up = decimals > 0 ? b.multiply(x, power) : b.divide(x, power);
  Value whole = roundEven(b, up);
  n.out(decimals > 0 ? b.divide(whole, power) : b.multiply(whole, power));
}

Value floorOf(HloBuilder &b, Value x) { return HloBuilder::isFloat(x) ? b.floor(x) : x; }
Value ceilOf(HloBuilder &b, Value x) { return HloBuilder::isFloat(x) ? b.ceil(x) : x; }
Value frac(HloBuilder &b, Value x) { return b.subtract(x, truncate(b, x)); }
Value absOf(HloBuilder &b, Value x) { return b.abs(x); }
Value identity(HloBuilder &, Value x) { return x; }

/// NaN has sign 0.
Value signOf(HloBuilder &b, Value x) {
  if (HloBuilder::isBool(x))
    return x;
  if (HloBuilder::isComplex(x))
    return b.unary<stablehlo::SignOp>(x);
  Value zero = b.like(x, 0), one = b.like(x, 1);
  if (HloBuilder::isUnsigned(x))
    return b.minimum(x, one);
  Value below = b.select(b.less(x, zero), b.like(x, -1), zero);
  return b.select(b.greater(x, zero), one, below);
}

Value atan2Of(HloBuilder &b, Value x, Value y) { return b.binary<stablehlo::Atan2Op>(x, y); }
Value nextAfter(HloBuilder &b, Value x, Value y) { return b.binary<chlo::NextAfterOp>(x, y); }

void lowerNextAfter(Node &n) {
  // No wider type: the next value is the next of the operands' own type.
  Type type = n.promote({"self", "other"});
  Value x = n.in("self", type), y = n.in("other", type);
  if (fitTogether(n, {x, y}))
    n.out(nextAfter(n.b, x, y));
}

void lowerXlog1py(Node &n) {
  HloBuilder &b = n.b;
  Type type = n.computeType(n.promoteToFloat({"self", "other"}));
  Value x = n.in("self", type), y = n.in("other", type);
  if (!fitTogether(n, {x, y}))
    return;
  std::tie(x, y) = b.broadcastPair(x, y);
  Value zero = b.like(x, 0);
  Value product = b.select(b.equal(x, zero), zero, b.multiply(x, log1p(b, y)));
  n.out(b.select(isNan(b, y), y, product));
}

} // namespace

void registerArithmetic(OpTable &table) {
  table.add("aten.add", lowerAdd);
  table.add("aten.sub", lowerSubtract);
  table.add("aten.subtract", lowerSubtract);
  table.add("aten.rsub", lowerReverseSubtract);
  table.add("aten.mul", promotedBinary<multiply>);
  table.add("aten.multiply", promotedBinary<multiply>);
  table.add("aten.div", lowerDivide);
  table.add("aten.divide", lowerDivide);
  table.add("aten.true_divide", floatBinary<divide>);
  table.add("aten.floor_divide", lowerFloorDivide);
  table.add("aten.remainder", promotedBinary<floorRemainder>);
  table.add("aten.fmod", promotedBinary<fmod>);
  table.add("aten.pow", lowerPower);
  table.add("aten.float_power", lowerFloatPower);
  table.add("aten.addcmul", lowerAddcmul);
  table.add("aten.addcdiv", lowerAddcdiv);
  table.add("aten.lerp", lowerLerp);
  for (const char *name : {"aten.maximum", "aten.max.other"})
    table.add(name, promotedBinary<maximum>);
  for (const char *name : {"aten.minimum", "aten.min.other"})
    table.add(name, promotedBinary<minimum>);
  table.add("aten.fmax", promotedBinary<extremeWithoutNan<true>>);
  table.add("aten.fmin", promotedBinary<extremeWithoutNan<false>>);
  for (const char *name : {"aten.clamp", "aten.clip", "aten.clamp_min", "aten.clamp_max"})
    table.add(name, lowerClamp);
  table.add("aten.hypot", floatBinary<hypot>);
  table.add("aten.atan2", floatBinary<atan2Of>);
  table.add("aten.arctan2", floatBinary<atan2Of>);
  table.add("aten.copysign", floatBinary<copySign>);
  table.add("aten.nextafter", lowerNextAfter);
  table.add("aten.heaviside", lowerHeaviside);
  table.add("aten.gcd", promotedBinary<gcd>);
  table.add("aten.lcm", promotedBinary<lcm>);
  table.add("aten.ldexp", floatBinary<ldexp>);
  table.add("aten.logaddexp", floatBinary<logAddExp>);
  table.add("aten.logaddexp2", floatBinary<logAddExp2>);
  table.add("aten.xlogy", floatBinary<xlogy>);
  table.add("aten.special_xlogy", floatBinary<xlogy>);
  table.add("aten.special_xlog1py", lowerXlog1py);
  table.add("aten.neg", lowerNegate);
  table.add("aten.negative", lowerNegate);
  table.add("aten.positive", sameUnary<identity>);
  table.add("aten.abs", sameUnary<absOf>);
  table.add("aten.absolute", sameUnary<absOf>);
  table.add("aten.sign", sameUnary<signOf>);
  table.add("aten.sgn", sameUnary<signOf>);
  table.add("aten.floor", sameUnary<floorOf>);
  table.add("aten.ceil", sameUnary<ceilOf>);
  table.add("aten.trunc", sameUnary<truncate>);
  table.add("aten.fix", sameUnary<truncate>);
  table.add("aten.frac", sameUnary<frac>);
  table.add("aten.round", lowerRound);
  table.add("aten.special_round", lowerRound);
}

} // namespace cupel::frontends::torch_import
