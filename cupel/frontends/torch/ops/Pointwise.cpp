// Elementary functions of one number, and choices between two.

#include "cupel/frontends/torch/ops/Elementwise.h"
#include "cupel/ir/chlo/Chlo.h"

#include <limits>
#include <numbers>

namespace cupel::frontends::torch_import {

using namespace mlir;

Value log1p(HloBuilder &b, Value x) { return b.unary<stablehlo::LogPlusOneOp>(x); }
Value expm1(HloBuilder &b, Value x) { return b.unary<stablehlo::ExponentialMinusOneOp>(x); }

Value isNan(HloBuilder &b, Value x) {
  if (HloBuilder::isFloat(x) || HloBuilder::isComplex(x))
    return b.notEqual(x, x);
  return b.splatInteger(0, b.i1(), HloBuilder::shapeOf(x));
}

Value isInfinite(HloBuilder &b, Value x) {
  if (auto complex = dyn_cast<ComplexType>(HloBuilder::elementOf(x))) {
    Type part = complex.getElementType();
    return b.logicalOr(isInfinite(b, b.unary<stablehlo::RealOp>(x, part)),
                       isInfinite(b, b.unary<stablehlo::ImagOp>(x, part)));
  }
  if (!HloBuilder::isFloat(x))
    return b.splatInteger(0, b.i1(), HloBuilder::shapeOf(x));
  return b.equal(b.abs(x), b.splat(std::numeric_limits<double>::infinity(),
                                   HloBuilder::elementOf(x), HloBuilder::shapeOf(x)));
}

namespace {

constexpr double kLn2 = std::numbers::ln2, kLn10 = std::numbers::ln10, kPi = std::numbers::pi;

Value exp2Of(HloBuilder &b, Value x) { return b.power(b.like(x, 2), x); }
Value log2Of(HloBuilder &b, Value x) { return b.divide(b.log(x), b.like(x, kLn2)); }
Value log10Of(HloBuilder &b, Value x) { return b.divide(b.log(x), b.like(x, kLn10)); }
Value reciprocal(HloBuilder &b, Value x) { return b.divide(b.like(x, 1), x); }
Value square(HloBuilder &b, Value x) { return b.square(x); }
Value degrees(HloBuilder &b, Value x) { return b.multiply(x, b.like(x, 180 / kPi)); }
Value radians(HloBuilder &b, Value x) { return b.multiply(x, b.like(x, kPi / 180)); }

Value sinc(HloBuilder &b, Value x) {
  Value scaled = b.multiply(x, b.like(x, kPi)), one = b.like(x, 1);
  Value zero = b.equal(x, b.like(x, 0));
  return b.select(zero, one, b.divide(b.unary<stablehlo::SineOp>(scaled), scaled));
}

void lowerLogit(Node &n) {
  HloBuilder &b = n.b;
  // In the operand's own type: torch rounds after each step here.
  Value x = n.in("self", n.promoteToFloat({"self"}));
  if (n.has("eps")) {
    double eps = n.real("eps");
    x = b.clamp(b.like(x, eps), x, b.like(x, 1 - eps));
  }
  n.out(b.log(b.divide(x, b.subtract(b.like(x, 1), x))));
}

void lowerNanToNum(Node &n) {
  HloBuilder &b = n.b;
  Value x = n.in("self");
  if (HloBuilder::isComplex(x))
    return n.notYet("argument 'self' is complex");
  if (!HloBuilder::isFloat(x))
    return n.out(x);
  Type element = HloBuilder::elementOf(x);
  ArrayRef<int64_t> shape = HloBuilder::shapeOf(x);
  const llvm::fltSemantics &semantics = cast<FloatType>(element).getFloatSemantics();
  double top = APFloat::getLargest(semantics).convertToDouble();
  Value nan = b.like(x, n.has("nan") ? n.real("nan") : 0);
  Value high = b.like(x, n.has("posinf") ? n.real("posinf") : top);
  Value low = b.like(x, n.has("neginf") ? n.real("neginf") : -top);
  Value result = b.select(b.equal(x, b.highest(element, shape)), high, x);
  result = b.select(b.equal(x, b.lowest(element, shape)), low, result);
  n.out(b.select(isNan(b, x), nan, result));
}

Value positiveInfinite(HloBuilder &b, Value x) {
  if (!HloBuilder::isFloat(x))
    return b.splatInteger(0, b.i1(), HloBuilder::shapeOf(x));
  return b.equal(x, b.highest(HloBuilder::elementOf(x), HloBuilder::shapeOf(x)));
}
Value negativeInfinite(HloBuilder &b, Value x) {
  if (!HloBuilder::isFloat(x))
    return b.splatInteger(0, b.i1(), HloBuilder::shapeOf(x));
  return b.equal(x, b.lowest(HloBuilder::elementOf(x), HloBuilder::shapeOf(x)));
}
Value finite(HloBuilder &b, Value x) {
  return b.logicalNot(b.logicalOr(isNan(b, x), isInfinite(b, x)));
}
template <UnaryFormula formula> void predicate(Node &n) { n.out(formula(n.b, n.in("self"))); }

/// x = mantissa * 2^exponent with 0.5 <= |mantissa| < 1.
void lowerFrexp(Node &n) {
  HloBuilder &b = n.b;
  // In double precision every narrower number, subnormal ones too, has a plain exponent field.
  Value x = n.in("self", b.f64());
  if (n.element("self").isF64())
    return n.notYet("argument 'self' is float64");
  Value bits = b.unary<stablehlo::BitcastConvertOp>(x, b.i64());
  auto constant = [&](int64_t value) { return b.splatInteger(value, b.i64(), n.shape("self")); };
  Value field =
      b.logicalAnd(b.binary<stablehlo::ShiftRightLogicalOp>(bits, constant(52)), constant(0x7ff));
  Value rest = b.logicalAnd(bits, constant(static_cast<int64_t>(0x800fffffffffffffull)));
  Value mantissa = b.unary<stablehlo::BitcastConvertOp>(
      b.logicalOr(rest, constant(0x3fe0000000000000ll)), b.f64());
  Value plain = b.logicalAnd(finite(b, x), b.notEqual(x, b.like(x, 0)));
  n.out(0, b.select(plain, mantissa, x));
  n.out(1, b.select(plain, b.subtract(field, constant(1022)), constant(0)));
}

void lowerWhere(Node &n) {
  HloBuilder &b = n.b;
  Type type = n.promote({"self", "other"});
  Value condition = cast(b, n.in("condition"), b.i1());
  Value x = n.in("self", type), y = n.in("other", type);
  if (fitTogether(n, {condition, x, y}))
    n.out(b.select(condition, x, y));
}

void lowerWhereAlone(Node &n) {
  n.refuse(ErrorCode::DataDependent,
           "where of a condition alone: how many places it finds depends on values");
}

/// With exp(|x| / 2) squared at last: it overflows no sooner than the result does, and half of x is
/// exact.
template <bool odd> Value hyperbolic(HloBuilder &b, Value x) {
  Value plain = odd ? b.unary<chlo::SinhOp>(x) : b.unary<chlo::CoshOp>(x);
  if (!HloBuilder::isFloat(x))
    return plain;
  Value size = b.abs(x), half = b.like(x, 0.5), root = b.exp(b.multiply(size, half));
  Value up = b.multiply(b.multiply(half, root), root), down = b.divide(b.divide(half, root), root);
  Value result = odd ? copySign(b, b.subtract(up, down), x) : b.add(up, down);
  return b.select(b.less(size, b.like(x, 1)), plain, result);
}

Value tanOf(HloBuilder &b, Value x) { return b.unary<stablehlo::TanOp>(x); }
Value expOf(HloBuilder &b, Value x) { return b.exp(x); }
Value logOf(HloBuilder &b, Value x) { return b.log(x); }
Value sqrtOf(HloBuilder &b, Value x) { return b.sqrt(x); }
Value rsqrtOf(HloBuilder &b, Value x) {
  return HloBuilder::isComplex(x) ? b.divide(b.like(x, 1), b.sqrt(x)) : b.rsqrt(x);
}
Value tanhOf(HloBuilder &b, Value x) { return b.tanh(x); }
Value logisticOf(HloBuilder &b, Value x) { return b.logistic(x); }

/// Rounded to the steps of a quantized type and back, as training that is aware of it does; a
/// second result says where nothing was cut off.
void lowerFakeQuantize(Node &n) {
  HloBuilder &b = n.b;
  Type type = n.computeType(n.resultElement());
  Value x = n.in("self", type), scale = n.in("scale", type), zero = n.in("zero_point", type);
  double low = double(n.integer("quant_min")), high = double(n.integer("quant_max"));
  if (n.failed())
    return;
  Dims shape(HloBuilder::shapeOf(x));
  auto spread = [&](Value each) -> Value {
    if (!n.declares("axis"))
      return HloBuilder::countOf(each) == 1 ? b.broadcastInDim(b.reshape(each, {}), shape, {})
                                            : Value();
    int64_t axis = n.dim("axis", int64_t(shape.size()));
    if (n.failed() || axis >= int64_t(shape.size()) || HloBuilder::rankOf(each) != 1 ||
        HloBuilder::countOf(each) != shape[axis])
      return {};
    return b.broadcastInDim(each, shape, {axis});
  };
  Value wideScale = spread(scale), wideZero = spread(zero);
  if (!wideScale || !wideZero)
    return n.fail("arguments 'scale' and 'zero_point' are not one number, or one a channel");
  Value steps = b.multiply(x, b.divide(b.like(x, 1), wideScale));
  // A zero point that is no integer is added before rounding.
  bool isWhole = !n.isTensor("zero_point") || !HloBuilder::isFloat(n.in("zero_point"));
  Value at = isWhole ? b.add(b.unary<stablehlo::RoundNearestEvenOp>(steps), wideZero)
                     : b.unary<stablehlo::RoundNearestEvenOp>(b.add(steps, wideZero));
  Value kept = b.clamp(b.like(at, low), at, b.like(at, high));
  Value y = b.multiply(b.subtract(kept, wideZero), wideScale);
  Value inside =
      b.logicalAnd(b.greaterEqual(at, b.like(at, low)), b.lessEqual(at, b.like(at, high)));
  if (n.declares("fake_quant_enabled")) {
    Value enabled = n.in("fake_quant_enabled");
    if (HloBuilder::countOf(enabled) != 1)
      return n.fail("argument 'fake_quant_enabled' is not one number");
    Value on = b.broadcastInDim(b.reshape(b.notEqual(enabled, b.like(enabled, 0)), {}), shape, {});
    y = b.select(on, y, x);
    inside = b.logicalOr(inside, b.logicalNot(on));
  }
  n.out(0, y);
  if (n.outputCount() > 1)
    n.out(1, inside);
}

void lowerFakeQuantizeBackward(Node &n) {
  Value g = n.in("grad"), mask = n.in("mask", n.b.i1());
  if (!fitTogether(n, {g, mask}))
    return;
  n.out(n.b.select(mask, g, n.b.like(g, 0)));
}

} // namespace

void registerPointwise(OpTable &table) {
  auto both = [&](StringRef name, StringRef other, Lowering lower) {
    table.add(name, lower);
    table.add(other, lower);
  };
  table.add("aten.exp", floatUnary<expOf>);
  both("aten.exp2", "aten.special_exp2", floatUnary<exp2Of>);
  both("aten.expm1", "aten.special_expm1", floatUnary<expm1>);
  table.add("aten.log", floatUnary<logOf>);
  table.add("aten.log2", floatUnary<log2Of>);
  table.add("aten.log10", floatUnary<log10Of>);
  both("aten.log1p", "aten.special_log1p", floatUnary<log1p>);
  table.add("aten.sqrt", floatUnary<sqrtOf>);
  table.add("aten.rsqrt", floatUnary<rsqrtOf>);
  table.add("aten.sin", floatUnary<unaryOf<stablehlo::SineOp>>);
  table.add("aten.cos", floatUnary<unaryOf<stablehlo::CosineOp>>);
  table.add("aten.tan", floatUnary<tanOf>);
  both("aten.asin", "aten.arcsin", floatUnary<unaryOf<chlo::AsinOp>>);
  both("aten.acos", "aten.arccos", floatUnary<unaryOf<chlo::AcosOp>>);
  both("aten.atan", "aten.arctan", floatUnary<unaryOf<chlo::AtanOp>>);
  table.add("aten.sinh", floatUnary<hyperbolic<true>>);
  table.add("aten.cosh", floatUnary<hyperbolic<false>>);
  table.add("aten.tanh", floatUnary<tanhOf>);
  both("aten.asinh", "aten.arcsinh", floatUnary<unaryOf<chlo::AsinhOp>>);
  both("aten.acosh", "aten.arccosh", floatUnary<unaryOf<chlo::AcoshOp>>);
  both("aten.atanh", "aten.arctanh", floatUnary<unaryOf<chlo::AtanhOp>>);
  both("aten.sigmoid", "aten.special_expit", floatUnary<logisticOf>);
  both("aten.logit", "aten.special_logit", lowerLogit);
  both("aten.sinc", "aten.special_sinc", floatUnary<sinc>);
  table.add("aten.reciprocal", floatUnary<reciprocal>);
  table.add("aten.square", sameUnary<square>);
  table.add("aten.rad2deg", floatUnary<degrees>);
  table.add("aten.deg2rad", floatUnary<radians>);
  table.add("aten.nan_to_num", lowerNanToNum);
  table.add("aten.isnan", predicate<isNan>);
  table.add("aten.isinf", predicate<isInfinite>);
  table.add("aten.isposinf", predicate<positiveInfinite>);
  table.add("aten.isneginf", predicate<negativeInfinite>);
  table.add("aten.isfinite", predicate<finite>);
  table.add("aten.signbit", predicate<signBit>);
  table.add("aten.frexp", lowerFrexp);
  for (const char *name :
       {"aten.fake_quantize_per_tensor_affine", "aten.fake_quantize_per_tensor_affine_cachemask",
        "aten.fake_quantize_per_channel_affine", "aten.fake_quantize_per_channel_affine_cachemask",
        "aten._fake_quantize_per_tensor_affine_cachemask_tensor_qparams"})
    table.add(name, lowerFakeQuantize);
  both("aten.fake_quantize_per_tensor_affine_cachemask_backward",
       "aten.fake_quantize_per_channel_affine_cachemask_backward", lowerFakeQuantizeBackward);
  table.add("aten.where", lowerWhere);
  table.add("aten.where.default", lowerWhereAlone);
}

} // namespace cupel::frontends::torch_import
