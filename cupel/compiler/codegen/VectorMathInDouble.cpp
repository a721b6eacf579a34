#include "cupel/compiler/codegen/VectorMath.h"

#include <limits>
#include <numbers>

namespace cupel::codegen {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Coefficients are minimax on the interval named, weighted to be relative to the result.

// e^r = 1 + r + r^2 q(r), |r| <= ln(2)/2; 2^-51.
constexpr double kExp[] = {0.5000000000000016978,   0.1666666666660565975,  0.04166666666646523337,
                           0.008333333373759126736, 0.001388888896189958932, 0.00019841181046152106,
                           0.00002480147373753057006, 2.763685639456564191e-6,
                           2.763716620940684311e-7};
// log((1+s)/(1-s)) = 2s + s^3 l(s^2), |s| <= 0.1716; 2^-58.
constexpr double kLog[] = {0.6666666666666735445, 0.3999999999940701885, 0.2857142874425549348,
                           0.2222219836583390307, 0.181835758682412945,  0.1531373667253130478,
                           0.1479926765258765955};
// sin(r) = r + r^3 s(r^2) and cos(r) = 1 - r^2/2 + r^4 c(r^2), |r| <= pi/4; 2^-47 and 2^-53.
constexpr double kSin[] = {-0.1666666666663127284, 0.008333333325212630442,
                           -0.0001984126378977986447, 2.75553505357349831e-6,
                           -2.476111806071004847e-8};
constexpr double kCos[] = {0.04166666666660161155, -0.001388888887818935552,
                           0.00002480158093372494341, -2.755556014199637149e-7,
                           2.064728235358918375e-9};
// atan(a) = a + a^3 t(a^2), |a| <= tan(pi/8); 2^-45.
constexpr double kAtan[] = {-0.3333333333168526069, 0.1999999968364394072,  -0.1428569348624102559,
                            0.111104471218071879,   -0.09079098034455474651, 0.07568241197595966407,
                            -0.05889895281428985377, 0.03087645085943325428};

V wide(Emitter &e, V x) {
  return e.CreateFPExt(x, x->getType()->getWithNewType(e.getDoubleTy()));
}
V narrow(Emitter &e, V x) {
  return e.CreateFPTrunc(x, x->getType()->getWithNewType(e.getFloatTy()));
}

/// e^x = scale (1 + p) for f64 |x| <= 700 or NaN.
struct ExpParts {
  V scale, p;
};
ExpParts expParts(Emitter &e, V x) {
  llvm::Type *t = x->getType(), *ints = e.bitsOf(t);
  constexpr double kMagic = 0x1.8p52;
  V shifted = e.fma(x, e.number(t, 0x1.71547652b82fep0), e.number(t, kMagic));
  V k = e.CreateFSub(shifted, e.number(t, kMagic));
  V r = e.fma(k, e.number(t, -0x1.62e42fee00000p-1), x);
  r = e.fma(k, e.number(t, -0x1.a39ef35793c76p-33), r);
  V p = e.fma(e.CreateFMul(r, r), e.polynomial(r, kExp), r);
  V exponent = e.CreateShl(e.asBits(shifted), e.integer(ints, 52));
  V scale = e.asFloat(e.CreateAdd(exponent, e.integer(ints, 0x3ff0000000000000)), t);
  return {scale, p};
}

V limit(Emitter &e, V x, double low, double high) {
  llvm::Type *t = x->getType();
  x = e.CreateSelect(e.CreateFCmpOLT(x, e.number(t, low)), e.number(t, low), x);
  return e.CreateSelect(e.CreateFCmpOGT(x, e.number(t, high)), e.number(t, high), x);
}

/// log(u) for finite normal u > 0 in f64.
V logOf(Emitter &e, V u) {
  llvm::Type *t = u->getType(), *ints = e.bitsOf(t);
  // u = 2^k m, sqrt(1/2) <= m < sqrt(2). k as a number, from bits: the upper half of a double that
  // is 2^52 + its lower bits.
  V bits = e.asBits(u);
  V k = e.CreateAShr(e.CreateSub(bits, e.integer(ints, 0x3fe6a09e667f3bcd)), e.integer(ints, 52));
  V shift = e.CreateShl(k, e.integer(ints, 52));
  V m = e.asFloat(e.CreateSub(bits, shift), t);
  V biased = e.CreateAdd(k, e.integer(ints, 0x4338000000000000));
  V exponent = e.CreateFSub(e.asFloat(biased, t), e.number(t, 0x1.8p52));
  V f = e.CreateFSub(m, e.number(t, 1));
  V s = e.CreateFDiv(f, e.CreateFAdd(f, e.number(t, 2)));
  V z = e.CreateFMul(s, s);
  V tail = e.CreateFMul(e.CreateFMul(z, s), e.polynomial(z, kLog));
  V log = e.fma(s, e.number(t, 2), tail);
  return e.fma(exponent, e.number(t, std::numbers::ln2), log);
}

/// sin and cos of x - q pi/2, and q in the low bits of integers.
struct Circle {
  V sin, cos, quadrant;
};
Circle circleOf(Emitter &e, V x) {
  llvm::Type *t = x->getType();
  constexpr double kMagic = 0x1.8p52;
  V shifted = e.fma(x, e.number(t, 0x1.45f306dc9c883p-1), e.number(t, kMagic));
  V k = e.CreateFSub(shifted, e.number(t, kMagic));
  // pi/2 in two parts; products with the first are exact for k < 2^20.
  V r = e.fma(k, e.number(t, -0x1.921fb544p0), x);
  r = e.fma(k, e.number(t, -0x1.0b4611a626331p-34), r);
  V z = e.CreateFMul(r, r);
  V sin = e.fma(e.CreateFMul(z, r), e.polynomial(z, kSin), r);
  V cos = e.fma(e.CreateFMul(z, z), e.polynomial(z, kCos),
                e.fma(z, e.number(t, -0.5), e.number(t, 1)));
  return {sin, cos, e.asBits(shifted)};
}

V bitIsSet(Emitter &e, V value, uint64_t bit) {
  llvm::Type *t = value->getType();
  return e.CreateICmpNE(e.CreateAnd(value, e.integer(t, bit)), e.integer(t, 0));
}

/// `near` where all operands are small, else the C library: reducing a huge angle takes more
/// digits of pi than are worth having in every kernel.
V withHugeAngles(Emitter &e, V x, llvm::StringRef name, llvm::function_ref<V()> near) {
  // Infinities and NaN have right results on either way.
  V isHuge = e.any(e.CreateFCmpOGT(e.fabs(x), e.number(x->getType(), 0x1p20)));
  return e.branch(
      isHuge, [&] { return SmallVector<V>{e.callRuntime(name, {x})}; },
      [&] { return SmallVector<V>{near()}; }, /*likely=*/false)[0];
}

} // namespace

V emitSin(Emitter &e, V x) {
  return withHugeAngles(e, x, "sin", [&] {
    Circle c = circleOf(e, wide(e, x));
    V value = e.CreateSelect(bitIsSet(e, c.quadrant, 1), c.cos, c.sin);
    V result = narrow(e, e.CreateSelect(bitIsSet(e, c.quadrant, 2), e.CreateFNeg(value), value));
    return e.CreateSelect(e.CreateFCmpOEQ(x, e.number(x->getType(), 0)), x, result);
  });
}

V emitCos(Emitter &e, V x) {
  return withHugeAngles(e, x, "cos", [&] {
    Circle c = circleOf(e, wide(e, x));
    V value = e.CreateSelect(bitIsSet(e, c.quadrant, 1), c.sin, c.cos);
    V next = e.CreateAdd(c.quadrant, e.integer(c.quadrant->getType(), 1));
    return narrow(e, e.CreateSelect(bitIsSet(e, next, 2), e.CreateFNeg(value), value));
  });
}

V emitTan(Emitter &e, V x) {
  return withHugeAngles(e, x, "tan", [&] {
    Circle c = circleOf(e, wide(e, x));
    V isOdd = bitIsSet(e, c.quadrant, 1);
    V top = e.CreateSelect(isOdd, e.CreateFNeg(c.cos), c.sin);
    V bottom = e.CreateSelect(isOdd, c.sin, c.cos);
    V result = narrow(e, e.CreateFDiv(top, bottom));
    return e.CreateSelect(e.CreateFCmpOEQ(x, e.number(x->getType(), 0)), x, result);
  });
}

V emitPow(Emitter &e, V x, V y) {
  llvm::Type *t = x->getType();
  auto c = [&](double value) { return e.number(t, value); };
  V a = e.fabs(x);
  V wideA = wide(e, a);
  llvm::Type *wideType = wideA->getType();
  // Zero and infinity have logarithms that lead to the right result; NaN comes in with y * log.
  V log = logOf(e, wideA);
  log = e.CreateSelect(e.CreateFCmpOEQ(a, c(0)), e.number(wideType, -kInfinity), log);
  log = e.CreateSelect(e.CreateFCmpUEQ(a, c(kInfinity)), wideA, log);
  V power = e.CreateFMul(wide(e, y), log);
  ExpParts parts = expParts(e, limit(e, power, -200, 200));
  V result = narrow(e, e.fma(parts.scale, parts.p, parts.scale));
  // Signs of negative bases: odd exponents keep them, others that are integers do not.
  V half = e.CreateFMul(y, c(0.5));
  V isInteger = e.CreateFCmpOEQ(e.intrinsic(llvm::Intrinsic::trunc, y), y);
  V isEven = e.CreateFCmpOEQ(e.intrinsic(llvm::Intrinsic::trunc, half), half);
  V isOdd = e.CreateAnd(isInteger, e.CreateNot(isEven));
  result = e.CreateSelect(isOdd, e.copySign(result, x), result);
  V isNegative = e.CreateAnd(e.CreateFCmpOLT(x, c(0)), e.CreateFCmpOGT(x, c(-kInfinity)));
  V isUndefined = e.CreateAnd(isNegative, e.CreateNot(isInteger));
  result = e.CreateSelect(isUndefined, e.bits(t, 0x7fc00000), result);
  // 1 to any power, anything to the power 0, and -1 to an infinite one, NaN notwithstanding.
  V isInfinite = e.CreateFCmpOEQ(e.fabs(y), c(kInfinity));
  V isOne = e.CreateOr(e.CreateFCmpOEQ(x, c(1)), e.CreateFCmpOEQ(y, c(0)));
  isOne = e.CreateOr(isOne, e.CreateAnd(e.CreateFCmpOEQ(a, c(1)), isInfinite));
  return e.CreateSelect(isOne, c(1), result);
}

V emitCbrt(Emitter &e, V x) {
  llvm::Type *t = x->getType();
  V d = wide(e, e.fabs(x));
  llvm::Type *wideType = d->getType(), *ints = e.bitsOf(wideType);
  // A third of the exponent is within 6 % of the root; two steps of Halley's method do the rest.
  V high = e.CreateTrunc(e.CreateLShr(e.asBits(d), e.integer(ints, 32)),
                         ints->getWithNewBitWidth(32));
  high = e.CreateAdd(e.CreateUDiv(high, e.integer(high->getType(), 3)),
                     e.integer(high->getType(), 715094163));
  V y = e.asFloat(e.CreateShl(e.CreateZExt(high, ints), e.integer(ints, 32)), wideType);
  for (int step = 0; step < 2; ++step) {
    V cube = e.CreateFMul(e.CreateFMul(y, y), y);
    V twice = e.CreateFAdd(cube, cube);
    V ratio = e.CreateFDiv(e.CreateFAdd(cube, e.CreateFAdd(d, d)), e.CreateFAdd(twice, d));
    y = e.CreateFMul(y, ratio);
  }
  V result = e.copySign(narrow(e, y), x);
  // Zeros, infinities and NaN are their own roots.
  V isFinite = e.CreateFCmpOLT(e.fabs(x), e.number(t, kInfinity));
  V isPlain = e.CreateAnd(isFinite, e.CreateFCmpONE(x, e.number(t, 0)));
  return e.CreateSelect(isPlain, result, x);
}

V emitAtan2(Emitter &e, V y, V x) {
  llvm::Type *t = x->getType();
  V ay = wide(e, e.fabs(y)), ax = wide(e, e.fabs(x));
  llvm::Type *wideType = ax->getType();
  auto c = [&](double value) { return e.number(wideType, value); };
  V isSteep = e.CreateFCmpOGT(ay, ax);
  V top = e.CreateSelect(isSteep, ax, ay), bottom = e.CreateSelect(isSteep, ay, ax);
  V ratio = e.CreateFDiv(top, bottom);
  ratio = e.CreateSelect(e.CreateFCmpOEQ(bottom, c(0)), c(0), ratio);
  ratio = e.CreateSelect(e.CreateFCmpOEQ(top, c(kInfinity)), c(1), ratio);
  // Above tan(pi/8): atan(a) = pi/4 + atan((a - 1) / (a + 1)).
  V isLarge = e.CreateFCmpOGT(ratio, c(0.41421356237309503));
  V turned = e.CreateFDiv(e.CreateFSub(ratio, c(1)), e.CreateFAdd(ratio, c(1)));
  V a = e.CreateSelect(isLarge, turned, ratio);
  V z = e.CreateFMul(a, a);
  V angle = e.fma(e.CreateFMul(z, a), e.polynomial(z, kAtan), a);
  angle = e.CreateSelect(isLarge, e.CreateFAdd(angle, c(std::numbers::pi / 4)), angle);
  angle = e.CreateSelect(isSteep, e.CreateFSub(c(std::numbers::pi / 2), angle), angle);
  // The sign bit decides, also that of a zero.
  V isLeft = e.CreateICmpSLT(e.asBits(x), e.integer(e.bitsOf(t), 0));
  angle = e.CreateSelect(isLeft, e.CreateFSub(c(std::numbers::pi), angle), angle);
  V result = e.copySign(narrow(e, angle), y);
  V nan = e.CreateFAdd(x, y);
  return e.CreateSelect(e.CreateFCmpUNO(x, y), nan, result);
}

/// Numbers have 24 bits and quotients 28 here, so that products of both are exact in f64, and so is what they leave.
V emitRemainder(Emitter &e, V x, V y) {
  llvm::Type *t = x->getType();
  V dividend = e.fabs(x), divisor = e.fabs(y);
  V isFar = e.CreateNot(e.CreateFCmpOLT(dividend, e.CreateFMul(divisor, e.number(t, 0x1p28)))); // Or NaN, or by zero.
  V isInfinite = e.CreateFCmpOEQ(divisor, e.number(t, kInfinity));
  return e.branch(
      e.any(e.CreateOr(isFar, isInfinite)), [&] { return SmallVector<V>{e.callRuntime("fmod", {x, y})}; },
      [&] {
        V a = wide(e, dividend), b = wide(e, divisor);
        llvm::Type *doubles = a->getType();
        V quotient = e.CreateFDiv(a, b);
        V whole = e.CreateSIToFP(e.CreateFPToSI(quotient, doubles->getWithNewType(e.getInt32Ty())), doubles);
        V rest = e.CreateFSub(a, e.CreateFMul(whole, b));
        // A quotient that was rounded up to a whole number.
        rest = e.CreateSelect(e.CreateFCmpOLT(rest, e.number(doubles, 0)), e.CreateFAdd(rest, b), rest);
        return SmallVector<V>{e.copySign(narrow(e, rest), x)};
      },
      /*likely=*/false)[0];
}

} // namespace cupel::codegen
