#include "cupel/compiler/codegen/VectorMath.h"

#include "llvm/IR/Constants.h"

#include <limits>

namespace cupel::codegen {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Coefficients are minimax on the interval named, weighted to be relative to the result.

// e^r = 1 + r + r^2 q(r), |r| <= ln(2)/2; 2^-34.
constexpr double kExp[] = {0.500000008264,   0.166666668723,   0.0416662540078,
                           0.00833326162307, 0.00139472116337, 0.00019919898385};
// log(1 + f) = f - f^2/2 + f^3 p(f), sqrt(1/2) - 1 <= f <= sqrt(2) - 1; 2^-30.
constexpr double kLog[] = {0.333333126062,  -0.250000096085, 0.200021185302,
                           -0.166679952803, 0.142195542812,  -0.124055998287,
                           0.118881603648,  -0.116755884139, 0.0674656704381};
// tanh(x) = x + x^3 t(x^2), |x| <= 0.6; 2^-33.
constexpr double kTanh[] = {-0.333333317824, 0.133332477888,    -0.0539524752674,
                            0.021734438206,  -0.00826708733577, 0.00223106099555};
// erf(x) = x + x s(x^2), |x| <= 0.95; 2^-30.
constexpr double kErfNear[] = {0.128379166495,   -0.376126322858,  0.112836725469,
                               -0.0268581043523, 0.00519779730024, -0.000810596639989,
                               8.21542832812e-5};
// log(erfc(x)), 0.9 <= x <= 4; 2^-33 of erf.
constexpr double kErfFar[] = {0.00019734192466, -1.12964379668,    -0.633033858612,
                              -0.108703811775,  0.0254685025809,   -0.00435005994809,
                              0.000490173993243, -3.07026691017e-5, 7.01607179484e-7};

/// x limited to [low, high]; NaN stays.
V limit(Emitter &e, V x, double low, double high) {
  llvm::Type *t = x->getType();
  x = e.CreateSelect(e.CreateFCmpOLT(x, e.number(t, low)), e.number(t, low), x);
  return e.CreateSelect(e.CreateFCmpOGT(x, e.number(t, high)), e.number(t, high), x);
}

/// 2^n for integer lanes of f32, -126 <= n <= 127.
V powerOfTwo(Emitter &e, V n, llvm::Type *floats) {
  llvm::Type *t = n->getType();
  return e.asFloat(e.CreateShl(e.CreateAdd(n, e.integer(t, 127)), e.integer(t, 23)), floats);
}

/// e^x = 2^n (1 + p).
struct ExpParts {
  V n, p; // integers; f32
};
ExpParts expParts(Emitter &e, V x) {
  llvm::Type *t = x->getType();
  constexpr double kMagic = 0x1.8p23; // Adding it rounds to an integer, in the low bits.
  V shifted = e.fma(x, e.number(t, 0x1.715476p0), e.number(t, kMagic));
  V k = e.CreateFSub(shifted, e.number(t, kMagic));
  V n = e.CreateSub(e.asBits(shifted), e.asBits(e.number(t, kMagic)));
  // ln 2 in two parts; the first is short enough for exact products.
  V r = e.fma(k, e.number(t, -0x1.62e4p-1), x);
  r = e.fma(k, e.number(t, -0x1.7f7d1cf8p-20), r);
  V square = e.CreateFMul(r, r);
  return {n, e.fma(square, e.polynomial(r, kExp), r)};
}

} // namespace

V emitExp(Emitter &e, V x) {
  llvm::Type *t = x->getType();
  ExpParts parts = expParts(e, limit(e, x, -104, 89));
  // In two steps, since 2^n itself may be subnormal or infinite.
  V half = e.CreateAShr(parts.n, e.integer(parts.n->getType(), 1));
  V rest = e.CreateSub(parts.n, half);
  V scaled = e.CreateFMul(e.CreateFAdd(parts.p, e.number(t, 1)), powerOfTwo(e, half, t));
  return e.CreateFMul(scaled, powerOfTwo(e, rest, t));
}

V emitLog(Emitter &e, V x) {
  llvm::Type *t = x->getType(), *ints = e.bitsOf(t);
  V isSmall = e.CreateFCmpOLT(x, e.number(t, 0x1p-126));
  V scaled = e.CreateSelect(isSmall, e.CreateFMul(x, e.number(t, 0x1p23)), x);
  // x = 2^k m, sqrt(1/2) <= m < sqrt(2).
  V bits = e.asBits(scaled);
  V k = e.CreateAShr(e.CreateSub(bits, e.integer(ints, 0x3f3504f3)), e.integer(ints, 23));
  V m = e.asFloat(e.CreateSub(bits, e.CreateShl(k, e.integer(ints, 23))), t);
  k = e.CreateSub(k, e.CreateSelect(isSmall, e.integer(ints, 23), e.integer(ints, 0)));
  V exponent = e.CreateSIToFP(k, t);
  V f = e.CreateFSub(m, e.number(t, 1));
  V square = e.CreateFMul(f, f);
  V tail = e.CreateFMul(e.CreateFMul(square, f), e.polynomial(f, kLog));
  tail = e.fma(exponent, e.number(t, 0x1.7f7d1cf8p-20), tail);
  tail = e.fma(square, e.number(t, -0.5), tail);
  V sum = e.CreateFAdd(f, tail);
  V result = e.fma(exponent, e.number(t, 0x1.62e4p-1), sum);
  // +infinity and NaN are their own results.
  V special = e.CreateSelect(e.CreateFCmpOLT(x, e.number(t, 0)), e.bits(t, 0x7fc00000), x);
  special = e.CreateSelect(e.CreateFCmpOEQ(x, e.number(t, 0)), e.number(t, -kInfinity), special);
  V isPlain = e.CreateAnd(e.CreateFCmpOGT(x, e.number(t, 0)),
                          e.CreateFCmpOLT(x, e.number(t, kInfinity)));
  return e.CreateSelect(isPlain, result, special);
}

V emitTanh(Emitter &e, V x) {
  llvm::Type *t = x->getType();
  V a = e.fabs(x);
  V square = e.CreateFMul(x, x);
  V near = e.fma(e.CreateFMul(square, x), e.polynomial(square, kTanh), x);
  // 1 - 2 / (e^2a + 1); from 9.1 on it is 1.
  V bounded = limit(e, a, 0, 10);
  ExpParts parts = expParts(e, e.CreateFAdd(bounded, bounded));
  V scale = powerOfTwo(e, parts.n, t);
  V exponential = e.fma(scale, parts.p, scale);
  V quotient = e.CreateFDiv(e.number(t, 2), e.CreateFAdd(exponential, e.number(t, 1)));
  V far = e.copySign(e.CreateFSub(e.number(t, 1), quotient), x);
  V result = e.CreateSelect(e.CreateFCmpOLT(a, e.number(t, 0.6)), near, far);
  // The series makes +0 of the smallest.
  return e.CreateSelect(e.CreateFCmpOLT(a, e.number(t, 0x1p-13)), x, result);
}

V emitLogistic(Emitter &e, V x) {
  llvm::Type *t = x->getType();
  V exponential = emitExp(e, e.CreateFNeg(e.fabs(x))); // never overflows
  V top = e.CreateSelect(e.CreateFCmpOLT(x, e.number(t, 0)), exponential, e.number(t, 1));
  return e.CreateFDiv(top, e.CreateFAdd(exponential, e.number(t, 1)));
}

V emitErf(Emitter &e, V x) {
  llvm::Type *t = x->getType();
  V a = e.fabs(x);
  V square = e.CreateFMul(x, x);
  V near = e.fma(x, e.polynomial(square, kErfNear), x);
  ExpParts parts = expParts(e, e.polynomial(limit(e, a, 0.9, 4), kErfFar));
  V scale = powerOfTwo(e, parts.n, t);
  V complement = e.fma(scale, parts.p, scale);
  V far = e.copySign(e.CreateFSub(e.number(t, 1), complement), x);
  return e.CreateSelect(e.CreateFCmpOLT(a, e.number(t, 0.93)), near, far);
}

V emitRsqrt(Emitter &e, V x) {
  return e.CreateFDiv(e.number(x->getType(), 1), e.intrinsic(llvm::Intrinsic::sqrt, x));
}

//===----------------------------------------------------------------------===//
// Extremes
//===----------------------------------------------------------------------===//

namespace {

V extreme(Emitter &e, V a, V b, bool isMaximum) {
  auto beyond = isMaximum ? llvm::CmpInst::FCMP_OGT : llvm::CmpInst::FCMP_OLT;
  auto within = isMaximum ? llvm::CmpInst::FCMP_OLE : llvm::CmpInst::FCMP_OGE;
  if (llvm::isa<llvm::Constant>(a))
    std::swap(a, b);
  if (auto *constant = llvm::dyn_cast<llvm::Constant>(b))
    if (auto *value = llvm::dyn_cast_or_null<llvm::ConstantFP>(constant->getSplatValue())) {
      // A number that is not the zero which loses: one comparison, in which NaN stays.
      const llvm::APFloat &number = value->getValueAPF();
      if (!number.isNaN() && (!number.isZero() || number.isNegative() != isMaximum))
        return e.CreateSelect(e.CreateFCmp(within, a, b), b, a);
    }
  V result = e.CreateSelect(e.CreateFCmp(beyond, a, b), a, b); // NaN of b stays.
  // Equal values differ at most in the sign of a zero.
  V both =
      isMaximum ? e.CreateAnd(e.asBits(a), e.asBits(b)) : e.CreateOr(e.asBits(a), e.asBits(b));
  result = e.CreateSelect(e.CreateFCmpOEQ(a, b), e.asFloat(both, a->getType()), result);
  return e.CreateSelect(e.isNan(a), a, result);
}

} // namespace

V emitMaximum(Emitter &e, V a, V b) { return extreme(e, a, b, true); }
V emitMinimum(Emitter &e, V a, V b) { return extreme(e, a, b, false); }

} // namespace cupel::codegen
