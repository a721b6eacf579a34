#include "cupel/compiler/passes/Expr.h"

#include "cupel/compiler/passes/Shapes.h"
#include "cupel/ir/stablehlo/Stablehlo.h"
#include "cupel/tensor/Float.h"

#include <array>
#include <cmath>

using namespace mlir;
using namespace cupel::stablehlo;

namespace cupel::compiler {

//===----------------------------------------------------------------------===//
// Emitter
//===----------------------------------------------------------------------===//

Expr Emitter::wrap(Value value) { return Expr(*this, value); }

Expr Emitter::splat(TypedAttr scalar) {
  Value &known = constants[scalar];
  if (known)
    return Expr(*this, known);
  Type element = scalar.getType();
  auto attribute = [&](ArrayRef<int64_t> sizes) {
    return DenseElementsAttr::get(RankedTensorType::get(sizes, element), Attribute(scalar));
  };
  if (shape.hasStaticShape()) {
    known = builder.create<ConstantOp>(loc, attribute(shape.getShape()));
  } else {
    if (!dynamicShape)
      dynamicShape = getShape(builder, loc, shapeSource);
    Value value = builder.create<ConstantOp>(loc, attribute({}));
    known = broadcastTo(builder, loc, value, shape.clone(element), {}, dynamicShape);
  }
  return Expr(*this, known);
}

Expr Emitter::constant(const APFloat &value, Type elementType) {
  if (isRareFloat(elementType)) // MLIR has no constants of these.
    return convert(constant(value, Float32Type::get(elementType.getContext())), elementType);
  APFloat rounded = value;
  bool losesInfo;
  rounded.convert(cast<FloatType>(elementType).getFloatSemantics(), APFloat::rmNearestTiesToEven,
                  &losesInfo);
  return splat(FloatAttr::get(elementType, rounded));
}

Expr Emitter::constant(const APInt &value, Type elementType) {
  return splat(IntegerAttr::get(elementType, value));
}

Expr Emitter::constant(double value, Type elementType) {
  if (isFloat(elementType))
    return constant(APFloat(value), elementType);
  auto integer = cast<IntegerType>(elementType);
  return constant(APInt(integer.getWidth(), static_cast<int64_t>(value), /*isSigned=*/true),
                  elementType);
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

namespace {

std::pair<Expr, Expr> resolve(const Operand &a, const Operand &b) {
  const Expr &typed = a.isNumber() ? b.getExpr() : a.getExpr();
  return {a.resolve(typed), b.resolve(typed)};
}

template <typename OpT> Expr binary(const Operand &a, const Operand &b) {
  auto [lhs, rhs] = resolve(a, b);
  return lhs.getEmitter().make<OpT>(lhs.getElementType(), {lhs.getValue(), rhs.getValue()});
}

template <typename OpT> Expr unary(const Expr &x) {
  return x.getEmitter().make<OpT>(x.getElementType(), x.getValue());
}

Expr compare(const Operand &a, const Operand &b, ComparisonDirection direction) {
  auto [lhs, rhs] = resolve(a, b);
  MLIRContext *context = lhs.getEmitter().getContext();
  Builder builder(context);
  NamedAttribute attribute = builder.getNamedAttr("comparison_direction",
                                                  ComparisonDirectionAttr::get(context, direction));
  return lhs.getEmitter().make<CompareOp>(builder.getI1Type(), {lhs.getValue(), rhs.getValue()},
                                          attribute);
}

} // namespace

Expr operator+(const Operand &a, const Operand &b) { return binary<AddOp>(a, b); }
Expr operator-(const Operand &a, const Operand &b) { return binary<SubtractOp>(a, b); }
Expr operator*(const Operand &a, const Operand &b) { return binary<MultiplyOp>(a, b); }
Expr operator/(const Operand &a, const Operand &b) { return binary<DivideOp>(a, b); }
Expr operator-(const Expr &x) { return unary<NegateOp>(x); }
Expr maximum(const Operand &a, const Operand &b) { return binary<MaximumOp>(a, b); }
Expr minimum(const Operand &a, const Operand &b) { return binary<MinimumOp>(a, b); }
Expr remainder(const Operand &a, const Operand &b) { return binary<RemainderOp>(a, b); }
Expr power(const Operand &a, const Operand &b) { return binary<PowerOp>(a, b); }
Expr atan2(const Operand &y, const Operand &x) { return binary<Atan2Op>(y, x); }

Expr abs(const Expr &x) { return unary<AbsOp>(x); }
Expr sign(const Expr &x) { return unary<SignOp>(x); }
Expr floor(const Expr &x) { return unary<FloorOp>(x); }
Expr sqrt(const Expr &x) { return unary<SqrtOp>(x); }
Expr exp(const Expr &x) { return unary<ExponentialOp>(x); }
Expr expm1(const Expr &x) { return unary<ExponentialMinusOneOp>(x); }
Expr log(const Expr &x) { return unary<LogOp>(x); }
Expr log1p(const Expr &x) { return unary<LogPlusOneOp>(x); }
Expr sin(const Expr &x) { return unary<SineOp>(x); }
Expr cos(const Expr &x) { return unary<CosineOp>(x); }
Expr tan(const Expr &x) { return unary<TanOp>(x); }

Expr operator<(const Operand &a, const Operand &b) {
  return compare(a, b, ComparisonDirection::LT);
}
Expr operator<=(const Operand &a, const Operand &b) {
  return compare(a, b, ComparisonDirection::LE);
}
Expr operator>(const Operand &a, const Operand &b) {
  return compare(a, b, ComparisonDirection::GT);
}
Expr operator>=(const Operand &a, const Operand &b) {
  return compare(a, b, ComparisonDirection::GE);
}
Expr operator==(const Operand &a, const Operand &b) {
  return compare(a, b, ComparisonDirection::EQ);
}
Expr operator!=(const Operand &a, const Operand &b) {
  return compare(a, b, ComparisonDirection::NE);
}
Expr operator&(const Expr &a, const Expr &b) { return binary<AndOp>(a, b); }
Expr operator|(const Expr &a, const Expr &b) { return binary<OrOp>(a, b); }
Expr operator^(const Expr &a, const Expr &b) { return binary<XorOp>(a, b); }
Expr operator!(const Expr &x) { return unary<NotOp>(x); }

Expr isFinite(const Expr &x) {
  return x.getEmitter().make<IsFiniteOp>(IntegerType::get(x.getEmitter().getContext(), 1),
                                         x.getValue());
}

Expr select(const Expr &condition, const Operand &ifTrue, const Operand &ifFalse) {
  auto [onTrue, onFalse] = resolve(ifTrue, ifFalse);
  return condition.getEmitter().make<SelectOp>(
      onTrue.getElementType(), {condition.getValue(), onTrue.getValue(), onFalse.getValue()});
}

Expr shiftLeft(const Operand &a, const Operand &b) { return binary<ShiftLeftOp>(a, b); }
Expr shiftRightLogical(const Operand &a, const Operand &b) {
  return binary<ShiftRightLogicalOp>(a, b);
}
Expr shiftRightArithmetic(const Operand &a, const Operand &b) {
  return binary<ShiftRightArithmeticOp>(a, b);
}

Expr convert(const Expr &x, Type elementType) {
  if (x.getElementType() == elementType)
    return x;
  return x.getEmitter().make<ConvertOp>(elementType, x.getValue());
}

Expr bitcast(const Expr &x, Type elementType) {
  if (x.getElementType() == elementType)
    return x;
  return x.getEmitter().make<BitcastConvertOp>(elementType, x.getValue());
}

Expr real(const Expr &z) {
  return z.getEmitter().make<RealOp>(cast<ComplexType>(z.getElementType()).getElementType(),
                                     z.getValue());
}

Expr imag(const Expr &z) {
  return z.getEmitter().make<ImagOp>(cast<ComplexType>(z.getElementType()).getElementType(),
                                     z.getValue());
}

Expr complex(const Expr &re, const Expr &im) {
  return re.getEmitter().make<ComplexOp>(ComplexType::get(re.getElementType()),
                                         {re.getValue(), im.getValue()});
}

Expr reducePrecision(const Expr &x, int exponentBits, int mantissaBits) {
  Builder builder(x.getEmitter().getContext());
  NamedAttribute attributes[] = {
      builder.getNamedAttr("exponent_bits", builder.getI32IntegerAttr(exponentBits)),
      builder.getNamedAttr("mantissa_bits", builder.getI32IntegerAttr(mantissaBits))};
  return x.getEmitter().make<ReducePrecisionOp>(x.getElementType(), x.getValue(), attributes);
}

//===----------------------------------------------------------------------===//
// Composites
//===----------------------------------------------------------------------===//

Expr polynomial(const Expr &x, ArrayRef<double> coefficients) {
  Expr sum = x.like(coefficients.front());
  for (double coefficient : coefficients.drop_front())
    sum = sum * x + coefficient;
  return sum;
}

Expr signBit(const Expr &x) {
  unsigned width = getElementBits(x.getElementType());
  return bitcast(x, IntegerType::get(x.getEmitter().getContext(), width)) < 0;
}

Expr withSignOf(const Expr &magnitude, const Expr &signSource) {
  return select(signBit(signSource), -magnitude, magnitude);
}

/// What a float that MLIR lacks has: the largest number, the least normal one, the distance from 1
/// to the next.
static std::array<double, 3> rareLimits(Type elementType) {
  return tensor::dispatch(*tensor::parseDType(rareFloatName(elementType)),
                          []<tensor::DType type>() -> std::array<double, 3> {
                            if constexpr (tensor::isRareFloat(type)) {
                              constexpr tensor::FloatFormat f = tensor::FormatOf<type>::value;
                              return {tensor::toDouble<type>(f.maxFinite()),
                                      std::ldexp(1.0, 1 - f.bias),
                                      std::ldexp(1.0, -f.mantissaBits)};
                            } else {
                              return {};
                            }
                          });
}

double largestFinite(Type elementType) {
  if (isRareFloat(elementType))
    return rareLimits(elementType)[0];
  return APFloat::getLargest(cast<FloatType>(elementType).getFloatSemantics()).convertToDouble();
}

double smallestNormal(Type elementType) {
  if (isRareFloat(elementType))
    return rareLimits(elementType)[1];
  return APFloat::getSmallestNormalized(cast<FloatType>(elementType).getFloatSemantics())
      .convertToDouble();
}

double epsilon(Type elementType) {
  if (isRareFloat(elementType))
    return rareLimits(elementType)[2];
  return std::ldexp(1.0, 1 - static_cast<int>(cast<FloatType>(elementType).getFPMantissaWidth()));
}

} // namespace cupel::compiler
