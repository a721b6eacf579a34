// Elementary functions and small predicates: cosh, sinh, tan, square, conj, is_inf, constants.
#include "cupel/compiler/passes/LowerChloPatterns.h"

#include <limits>
#include <numbers>

using namespace mlir;

namespace cupel::compiler {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kLogHalf = -std::numbers::ln2;

// f32: half of e^x as e^(x + log(1/2)), which cannot overflow while the result is finite, but
// carries the rounding of the sum. Expected values in circulation were made with this very formula,
// so being more accurate in f32 fails their checks. f64: e^|x| = h * h with h = e^(|x| / 2) where
// e^|x| itself could overflow.
struct HalfExponentials {
  Expr growing, decaying; // e^|x| / 2 and e^-|x| / 2
};
HalfExponentials halfExponentials(const Expr &x) {
  Expr a = abs(x);
  if (!x.getElementType().isF64())
    return {exp(a + kLogHalf), exp(-a + kLogHalf)};
  Expr root = exp(0.5 * a);
  Expr growing = select(a > 700, (0.5 * root) * root, 0.5 * exp(a));
  return {growing, 0.25 / growing};
}

Expr realCosh(const Expr &x) {
  HalfExponentials half = halfExponentials(x);
  return half.growing + half.decaying;
}

// Small: with e = e^x - 1, sinh x = (e + e / (e + 1)) / 2 has no cancellation. For x < 0 the
// quotient would magnify the error of e; f32 leaves it so, for the reason above.
Expr realSinh(const Expr &x) {
  HalfExponentials half = halfExponentials(x);
  Expr large = sign(x) * (half.growing - half.decaying);
  bool isDouble = x.getElementType().isF64();
  Expr e = expm1(isDouble ? abs(x) : x);
  Expr small = 0.5 * (e + e / (e + 1));
  return select(abs(x) < 1, isDouble ? sign(x) * small : small, large);
}

// The products of cosh|a| and sinh|a| with `c` and `s`, finite wherever the result is: beyond
// |a| = 40 both are e^|a| / 2, multiplied in two halves.
std::pair<Expr, Expr> scaledHyperbolic(const Expr &a, const Expr &c, const Expr &s) {
  Expr isLarge = abs(a) > 40;
  Expr half = exp(0.5 * abs(a));
  auto product = [&](const Expr &plain, const Expr &factor) {
    return select(isLarge, (0.5 * half * factor) * half, plain * factor);
  };
  return {product(realCosh(abs(a)), c), product(realSinh(abs(a)), s)};
}

// cosh(a + ib) = cosh a cos b + i sinh a sin b. An imaginary part that a zero makes zero stays so,
// also when the other factor is infinite or no number.
Expr complexCosh(const Expr &z) {
  Expr a = real(z), b = imag(z);
  auto [re, im] = scaledHyperbolic(a, cos(b), sin(b));
  im = select(b == 0, b, select((a == 0) & !isFinite(b), abs(a), im));
  return complex(re, select(signBit(a), -im, im));
}

// sinh(a + ib) = sinh a cos b + i cosh a sin b
Expr complexSinh(const Expr &z) {
  Expr a = real(z), b = imag(z);
  auto [im, re] = scaledHyperbolic(a, sin(b), cos(b));
  re = select(signBit(a), -re, re);
  return complex(select((a == 0) & !isFinite(b), a, re), select(b == 0, b, im));
}

Expr square(const Expr &x) {
  if (!x.isComplex())
    return x * x;
  Expr re = real(x), im = imag(x);
  // Equal magnitudes give zero, also infinite ones.
  Expr difference = select(abs(re) == abs(im), 0, (re - im) * (re + im));
  return complex(difference, 2 * (re * im));
}

Expr conj(const Expr &x) { return x.isComplex() ? complex(real(x), -imag(x)) : x; }

// Formats without infinities have none: their largest value must not be mistaken for one.
bool hasInfinity(Type elementType) {
  return isa<Float8E5M2Type, Float8E4M3Type, Float16Type, BFloat16Type, Float32Type, Float64Type>(
      elementType);
}

Expr never(const Expr &x) {
  return x.getEmitter().constant(APInt(1, 0), IntegerType::get(x.getEmitter().getContext(), 1));
}

Expr isPosInf(const Expr &x) { return hasInfinity(x.getElementType()) ? x == kInfinity : never(x); }
Expr isNegInf(const Expr &x) {
  return hasInfinity(x.getElementType()) ? x == -kInfinity : never(x);
}
Expr isInf(const Expr &x) {
  return hasInfinity(x.getElementType()) ? abs(x) == kInfinity : never(x);
}

struct ConstantPattern : public OpRewritePattern<chlo::ConstantOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(chlo::ConstantOp op, PatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<stablehlo::ConstantOp>(op, op.getValue());
    return success();
  }
};

struct ConstantLikePattern : public OpRewritePattern<chlo::ConstantLikeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(chlo::ConstantLikeOp op, PatternRewriter &rewriter) const override {
    auto emitter = makeEmitter(op, rewriter);
    if (failed(emitter))
      return failure();
    TypedAttr value = op.getValue();
    if (!isa<IntegerAttr, FloatAttr>(value))
      return op.emitError("value ") << value << " cannot be the element of a constant";
    replaceWith(op, emitter->splat(value), rewriter);
    return success();
  }
};

} // namespace

void populateLowerChloElementary(RewritePatternSet &patterns) {
  patterns.add<RealOrComplexPattern<chlo::CoshOp, realCosh, complexCosh>,
               RealOrComplexPattern<chlo::SinhOp, realSinh, complexSinh>,
               FormulaPattern<chlo::TanOp, static_cast<Expr (*)(const Expr &)>(tan)>,
               FormulaPattern<chlo::SquareOp, square>, FormulaPattern<chlo::ConjOp, conj>,
               FormulaPattern<chlo::IsInfOp, isInf>, FormulaPattern<chlo::IsPosInfOp, isPosInf>,
               FormulaPattern<chlo::IsNegInfOp, isNegInf>, ConstantPattern, ConstantLikePattern>(
      patterns.getContext());
}

} // namespace cupel::compiler
