#include "cupel/compiler/codegen/VectorMath.h"

#include "llvm/IR/Constants.h"

#include <cmath>
#include <limits>

namespace cupel::codegen {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Coefficients are minimax on the interval named, weighted to be relative to the result.

// e^r = 1 + r + r^2 q(r), |r| <= ln(2)/2; 2^-28.
constexpr double kExp[] = {0.500000010096, 0.166665128902, 0.0416661872946, 0.00836959824821,
                           0.00139517176768};
// The same for |r| <= ln(2)/32; 2^-29.
constexpr double kExpNear[] = {0.500016188, 0.166666667};
// log(1 + f) = f - f^2/2 + f^3 p(f), sqrt(1/2) - 1 <= f <= sqrt(2) - 1; 2^-30.
constexpr double kLog[] = {0.333333126062,  -0.250000096085, 0.200021185302,
                           -0.166679952803, 0.142195542812,  -0.124055998287,
                           0.118881603648,  -0.116755884139, 0.0674656704381};
// tanh(x) = x + x^3 t(x^2), |x| <= 0.6; 2^-28.
constexpr double kTanh[] = {-0.33333299272, 0.133319582432, -0.0537866836616, 0.0208053850067,
                            -0.00590586899316};
// erf(x) = x + x s(x^2), |x| <= 0.95; 2^-30.
constexpr double kErfNear[] = {0.128379166495,   -0.376126322858,  0.112836725469,
                               -0.0268581043523, 0.00519779730024, -0.000810596639989,
                               8.21542832812e-5};
// log(erfc(x)), 0.9 <= x <= 4; 2^-33 of erf.
constexpr double kErfFar[] = {0.00019734192466, -1.12964379668,    -0.633033858612,
                              -0.108703811775,  0.0254685025809,   -0.00435005994809,
                              0.000490173993243, -3.07026691017e-5, 7.01607179484e-7};

// erf(centre + r) = value + r (s0 + s1 r + ...), |r| <= 0.13, in sixteen stretches of 1 / kErfStretches; 2^-25. Centres are numbers
// whose value is nearly one of f32. Of the first stretch, about 0, it is r + r (s0 + ...).
constexpr double kErfStretches = 3.92;
constexpr double kErfCentres[16] = {
    0, 0x1.05ed78p-2, 0x1.05c778p-1, 0x1.884034p-1, 0x1.056a78p+0, 0x1.4669d6p+0, 0x1.87f134p+0, 0x1.c98592p+0,
    0x1.051af8p+1, 0x1.25b028p+1, 0x1.468356p+1, 0x1.673206p+1, 0x1.87d734p+1, 0x1.a86c64p+1, 0x1.c95692p+1, 0x1.e9fdc2p+1};
constexpr double kErfValues[16] = {
    0, 0x1.213b80p-2, 0x1.0f8bbap-1, 0x1.715a32p-1, 0x1.b3dd5ep-1, 0x1.db770cp-1, 0x1.f072fcp-1, 0x1.fa1e2ap-1,
    0x1.fdfeb2p-1, 0x1.ff65f6p-1, 0x1.ffd77ap-1, 0x1.fff686p-1, 0x1.fffe0ap-1, 0x1.ffffa4p-1, 0x1.fffff2p-1, 0x1.fffffep-1};
constexpr double kErfSlopes[5][16] = {
    {0.128379166, 1.05691525, 0.868808535, 0.627413392, 0.397731949, 0.222022521, 0.108256379, 0.0462690671,
     0.0175913006, 0.00583625796, 0.00168460861, 0.00042899961, 9.60637852e-05, 1.89482466e-05, 3.23299544e-06, 4.97116771e-07},
    {2.32031862e-07, -0.27034231, -0.444205225, -0.480667881, -0.406147045, -0.283092987, -0.165745247, -0.0826925902,
     -0.0358841681, -0.0133905735, -0.00429696268, -0.00120368069, -0.000293955968, -6.28378459e-05, -1.59133726e-05, -2.62693938e-06},
    {-0.37614004, -0.306238691, -0.13821628, 0.0363497252, 0.143913119, 0.166628655, 0.133088267, 0.0831039879,
     0.0429367553, 0.0185382795, 0.00674619726, 0.00210904752, 0.000568061251, 0.000132558505, 2.30475944e-05, 5.00057017e-07},
    {0.000266555961, 0.128354929, 0.182279581, 0.145735078, 0.0620534131, -0.0113659755, -0.0462168637, -0.0465307492,
     -0.0318412263, -0.01687307, -0.00722987521, -0.00259130424, -0.000787467051, -0.000201735915, 0.000172728466, 4.68243379e-05},
    {0.111044705, 0.0801153819, 0.00543050789, -0.0548142544, -0.0681234474, -0.0438534937, -0.0115936852, 0.00819967351,
     0.0130082612, 0.00981968423, 0.00530937146, 0.00225661243, 0.000783758848, 0.000226490926, 0.000258001628, 0.000356445541}};

/// NaN stays.
V noLess(Emitter &e, V x, double low) {
  V bound = e.number(x->getType(), low);
  return e.CreateSelect(e.CreateFCmpOLT(x, bound), bound, x);
}
V noMore(Emitter &e, V x, double high) {
  V bound = e.number(x->getType(), high);
  return e.CreateSelect(e.CreateFCmpOGT(x, bound), bound, x);
}

struct ExpNeeds {
  bool normal = false;  // Neither the result nor its power of two can be subnormal or infinite.
  bool seldomSmall = false; // Results are seldom subnormal: these may take long.
  bool precise = false; // Little more than the last rounding, and not 1.02 ULP.
};

/// Below this e^x is subnormal. There numbers of the least subnormal's size are counted instead: many processors take
/// more than a hundred cycles for a result that is subnormal or is rounded to zero, and masks are exponentials of -1e9.
constexpr double kLeastOfNormal = -87.33654;
constexpr int kLeastExponent = 149; // The least subnormal is 2^-149.

/// `counts`, which are numbers up to 2^23, as whole multiples of the least subnormal, whose bits they are.
V subnormal(Emitter &e, V counts) {
  llvm::Type *t = counts->getType();
  V rounded = e.asBits(e.CreateFAdd(counts, e.number(t, 0x1p23)));
  return e.asFloat(e.CreateSub(rounded, e.integer(e.bitsOf(t), 0x4b000000)), t);
}

/// The same where there is an instruction for powers of two: a sixteenth of such a power comes from
/// a register, and what is left needs three terms. Where it has to be precise, what that power has
/// lost comes from another register.
V exponentialByTable(Emitter &e, V x, ExpNeeds needs) {
  llvm::Type *t = x->getType();
  SmallVector<float> powers, losses;
  for (int i = 0; i < 16; ++i) {
    powers.push_back(static_cast<float>(std::exp2(i / 16.0)));
    losses.push_back(static_cast<float>(std::exp2(i / 16.0) - powers.back()));
  }
  // Adding `magic` rounds to sixteenths, whose number is in the low bits.
  V magic = e.number(t, 0x1.8p19);
  V shifted = e.fma(x, e.number(t, 0x1.715476p0), magic);
  V k = e.CreateFSub(shifted, magic);
  V high = e.fma(k, e.number(t, -0x1.62e4p-1), x);
  V r = e.fma(k, e.number(t, -0x1.7f7d1cf8p-20), high);
  V rest = e.fma(e.CreateFMul(r, r), e.polynomial(r, kExpNear), r);
  V power = e.pick(llvm::ConstantDataVector::get(e.getContext(), powers), e.asBits(shifted));
  V mantissa;
  if (needs.precise) {
    V lost = e.pick(llvm::ConstantDataVector::get(e.getContext(), losses), e.asBits(shifted));
    mantissa = e.CreateFAdd(power, e.fma(power, rest, lost));
  } else {
    mantissa = e.fma(power, rest, power);
  }
  if (needs.normal || needs.seldomSmall)
    return e.scale(mantissa, k); // By the whole part of k.
  V isSmall = e.CreateFCmpOLT(x, e.number(t, kLeastOfNormal));
  V raised = e.CreateFAdd(k, e.number(t, kLeastExponent));
  V result = e.scale(mantissa, e.CreateSelect(isSmall, raised, k));
  return e.CreateSelect(isSmall, subnormal(e, result), result);
}

/// e^x, -104 <= x <= 89.
V exponential(Emitter &e, V x, ExpNeeds needs) {
  if (e.target.hasScale)
    return exponentialByTable(e, x, needs);
  llvm::Type *t = x->getType();
  V one = e.number(t, 1);
  // Adding `magic` rounds to an integer, in the low bits; beside it there is room for an exponent's bias.
  constexpr int kBias = 127;
  double magic = 0x1.8p23 + (needs.normal ? 0 : 2 * kBias);
  V shifted = e.fma(x, e.number(t, 0x1.715476p0), e.number(t, magic));
  V k = e.CreateFSub(shifted, e.number(t, magic));
  // ln 2 in two parts; the first is short enough for exact products.
  V high = e.fma(k, e.number(t, -0x1.62e4p-1), x), low = e.number(t, -0x1.7f7d1cf8p-20);
  V r = e.fma(k, low, high);
  V q = e.polynomial(r, kExp), square = e.CreateFMul(r, r);
  V mantissa;
  if (needs.precise) {
    V most = e.CreateFAdd(r, one);
    V lost = e.CreateFSub(r, e.CreateFSub(most, one)); // exact
    lost = e.CreateFAdd(lost, e.fma(k, low, e.CreateFSub(high, r))); // of r itself
    mantissa = e.CreateFAdd(most, e.fma(square, q, lost));
  } else {
    mantissa = e.CreateFAdd(e.fma(square, q, r), one);
  }
  // Moved to where exponents are, the low bits are all that is left.
  V exponent = e.CreateShl(e.asBits(shifted), e.integer(e.bitsOf(t), 23));
  if (needs.normal)
    return e.CreateFMul(mantissa, e.asFloat(e.CreateAdd(exponent, e.asBits(one)), t));
  // In two steps, since 2^k itself may be subnormal or infinite: the last is one of two numbers, and the
  // only one that can overflow.
  V isNegative = e.CreateICmpSLT(e.asBits(x), e.integer(e.bitsOf(t), 0));
  V last = e.CreateSelect(isNegative, e.number(t, 0x1p-64), e.number(t, 0x1p64));
  V first = e.asFloat(e.CreateSub(exponent, e.asBits(last)), t);
  if (needs.seldomSmall)
    return e.CreateFMul(e.CreateFMul(mantissa, first), last);
  V isSmall = e.CreateFCmpOLT(x, e.number(t, kLeastOfNormal));
  last = e.CreateSelect(isSmall, e.number(t, 0x1p85), last); // 2^(149 - 64)
  V result = e.CreateFMul(e.CreateFMul(mantissa, first), last);
  return e.CreateSelect(isSmall, subnormal(e, result), result);
}

} // namespace

V emitExp(Emitter &e, V x) { return exponential(e, noMore(e, noLess(e, x, -104), 89), {}); }

V emitExpm1(Emitter &e, V x) {
  llvm::Type *t = x->getType();
  // x = k ln 2 + r: twice (2^(k-1) (e^r - 1) + 2^(k-1) - 1/2), which cannot overflow before the result does. From -20 on it is -1.
  V inside = noMore(e, noLess(e, x, -20), 89);
  V shifted = e.fma(inside, e.number(t, 0x1.715476p0), e.number(t, 0x1.8p23));
  V k = e.CreateFSub(shifted, e.number(t, 0x1.8p23));
  V r = e.fma(k, e.number(t, -0x1.7f7d1cf8p-20), e.fma(k, e.number(t, -0x1.62e4p-1), inside));
  V p = e.fma(e.CreateFMul(r, r), e.polynomial(r, kExp), r);
  V half = e.number(t, 0.5), exponent = e.CreateShl(e.asBits(shifted), e.integer(e.bitsOf(t), 23));
  V scale = e.asFloat(e.CreateAdd(exponent, e.asBits(half)), t);
  V result = e.fma(scale, p, e.CreateFSub(scale, half));
  // Of the least numbers nothing but themselves is left, with the sign of zeros.
  V isTiny = e.CreateFCmpOLT(e.fabs(x), e.number(t, 0x1p-26));
  return e.CreateSelect(isTiny, x, e.CreateFAdd(result, result));
}

V emitExpOfNotPositive(Emitter &e, V x) {
  // What is masked is far below and has no share; what is just above it is rare, and rows have no time for it.
  V zero = e.number(x->getType(), 0), isNone = e.CreateFCmpOLT(x, e.number(x->getType(), -104));
  V power = exponential(e, e.CreateSelect(isNone, zero, x), {.seldomSmall = true});
  return e.CreateSelect(isNone, zero, power);
}

namespace {

/// log(x + lost) of normal and denormal positive numbers; `lost` is less than half of x's last place, or null.
V logInFloat(Emitter &e, V x, V lost) {
  llvm::Type *t = x->getType(), *ints = e.bitsOf(t);
  V isSmall = e.CreateFCmpOLT(x, e.number(t, 0x1p-126));
  V scaled = e.CreateSelect(isSmall, e.CreateFMul(x, e.number(t, 0x1p23)), x);
  // x = 2^k m, sqrt(1/2) <= m < sqrt(2).
  V bits = e.asBits(scaled);
  V k = e.CreateAShr(e.CreateSub(bits, e.integer(ints, 0x3f3504f3)), e.integer(ints, 23));
  V m = e.asFloat(e.CreateSub(bits, e.CreateShl(k, e.integer(ints, 23))), t);
  V power = k;
  k = e.CreateSub(k, e.CreateSelect(isSmall, e.integer(ints, 23), e.integer(ints, 0)));
  V exponent = e.CreateSIToFP(k, t);
  V f = e.CreateFSub(m, e.number(t, 1));
  V square = e.CreateFMul(f, f);
  V tail = e.CreateFMul(e.CreateFMul(square, f), e.polynomial(f, kLog));
  tail = e.fma(exponent, e.number(t, 0x1.7f7d1cf8p-20), tail);
  tail = e.fma(square, e.number(t, -0.5), tail);
  if (lost) {
    // log(m + l) = log(m) + l / m, and 1 / m is about 1 - f + f^2. From 2^25 on nothing is lost.
    V isFar = e.CreateICmpSGT(power, e.integer(ints, 25));
    V down = e.CreateSub(e.integer(ints, 127), e.CreateSelect(isFar, e.integer(ints, 25), power));
    V part = e.CreateFMul(lost, e.asFloat(e.CreateShl(down, e.integer(ints, 23)), t));
    tail = e.CreateFAdd(tail, e.CreateFMul(part, e.CreateFAdd(e.CreateFSub(e.number(t, 1), f), square)));
  }
  V sum = e.CreateFAdd(f, tail);
  return e.fma(exponent, e.number(t, 0x1.62e4p-1), sum);
}

/// `result` where x lies above `least`, at which a logarithm is minus infinity; below it is none. +infinity and NaN are their own.
V whereLogIs(Emitter &e, V x, double least, V result) {
  llvm::Type *t = x->getType();
  V special = e.CreateSelect(e.CreateFCmpOLT(x, e.number(t, least)), e.bits(t, 0x7fc00000), x);
  special = e.CreateSelect(e.CreateFCmpOEQ(x, e.number(t, least)), e.number(t, -kInfinity), special);
  V isPlain = e.CreateAnd(e.CreateFCmpOGT(x, e.number(t, least)), e.CreateFCmpOLT(x, e.number(t, kInfinity)));
  return e.CreateSelect(isPlain, result, special);
}

} // namespace

V emitLog(Emitter &e, V x) { return whereLogIs(e, x, 0, logInFloat(e, x, nullptr)); }

V emitLog1p(Emitter &e, V x) {
  V one = e.number(x->getType(), 1);
  // What 1 + x loses; of the two subtractions one is exact whichever is larger.
  V u = e.CreateFAdd(x, one);
  V back = e.CreateFSub(u, x);
  V lost = e.CreateFAdd(e.CreateFSub(one, back), e.CreateFSub(x, e.CreateFSub(u, back)));
  V result = whereLogIs(e, x, -1, logInFloat(e, u, lost));
  // Of the least numbers nothing but themselves is left, with the sign of zeros.
  V isTiny = e.CreateFCmpOLT(e.fabs(x), e.number(x->getType(), 0x1p-26));
  return e.CreateSelect(isTiny, x, result);
}

V emitTanh(Emitter &e, V x) {
  llvm::Type *t = x->getType();
  V a = e.fabs(x);
  V square = e.CreateFMul(x, x);
  V near = e.fma(e.CreateFMul(square, a), e.polynomial(square, kTanh), a);
  // 1 - 2 / (e^2a + 1); from 9.1 on it is 1.
  V twice = noMore(e, e.CreateFAdd(a, a), 20);
  V bottom = e.CreateFAdd(exponential(e, twice, {.normal = true}), e.number(t, 1));
  V far = e.CreateFSub(e.number(t, 1), e.CreateFDiv(e.number(t, 2), bottom));
  return e.copySign(e.CreateSelect(e.CreateFCmpOLT(a, e.number(t, 0.6)), near, far), x);
}

V emitLogistic(Emitter &e, V x) {
  llvm::Type *t = x->getType();
  // At most 1: no overflow on the way to a small result.
  V power = exponential(e, noLess(e, e.CreateFNeg(e.fabs(x)), -104), {.precise = true});
  V one = e.number(t, 1);
  V top = e.CreateSelect(e.CreateFCmpOLT(x, e.number(t, 0)), power, one);
  // top / (1 + power); what the sum and the quotient lose is added at the end. Where `power` is
  // just above a power of two the result is just below, and has the finer steps.
  V sum = e.CreateFAdd(power, one);
  V lost = e.CreateFSub(power, e.CreateFSub(sum, one));
  V most = e.CreateFDiv(top, sum), less = e.CreateFNeg(most);
  // A table's power is so precise that what the quotient loses may stay, and of the sum half of what is added at most.
  if (e.target.hasScale)
    return e.fma(less, lost, most);
  V rest = e.fma(less, lost, e.fma(less, sum, top));
  // 1 / sum of a sum between 1 and 2, to a twentieth: of what is lost no more is needed.
  V inverse = e.fma(sum, e.number(t, -0.5), e.number(t, 1.4571));
  return e.fma(rest, inverse, most);
}

namespace {
/// From here down a logistic function's results, or what they are made of, are subnormal or nearly so.
constexpr double kLeastOfGates = -87;
} // namespace

V emitGate(Emitter &e, V x) {
  // 1 + e^-x, which is at least 1. What is far below is seldom there: of it the function itself, with a sign that nothing else has.
  llvm::Type *t = x->getType();
  V isFar = e.CreateFCmpOLT(x, e.number(t, kLeastOfGates));
  V power = exponential(e, e.CreateFNeg(noMore(e, x, -kLeastOfGates)), {.normal = true});
  V sum = e.CreateFAdd(power, e.number(t, 1));
  auto withFar = [&] { return SmallVector<V>{e.CreateSelect(isFar, e.CreateFNeg(emitLogistic(e, x)), sum)}; };
  return e.branch(e.any(isFar), withFar, [&] { return SmallVector<V>{sum}; }, /*likely=*/false)[0];
}

V emitGated(Emitter &e, V value, V gate) {
  V quotient = e.CreateFDiv(value, gate);
  V isFar = e.CreateICmpSLT(e.asBits(gate), e.integer(e.bitsOf(gate->getType()), 0));
  auto withFar = [&] { return SmallVector<V>{e.CreateSelect(isFar, e.CreateFMul(value, e.CreateFNeg(gate)), quotient)}; };
  return e.branch(e.any(isFar), withFar, [&] { return SmallVector<V>{quotient}; }, /*likely=*/false)[0];
}

/// Where there are tables in registers: a third of what polynomials that are good everywhere take.
static V erfByTable(Emitter &e, V x) {
  llvm::Type *t = x->getType();
  auto pick = [&](ArrayRef<double> numbers, V index) {
    SmallVector<float> table(numbers.begin(), numbers.end());
    return e.pick(llvm::ConstantDataVector::get(e.getContext(), table), index);
  };
  // From 3.92 on it is 1. Adding `magic` rounds to the number of a stretch, in the low bits.
  V a = noMore(e, e.fabs(x), 3.93), magic = e.number(t, 0x1.8p23);
  V shifted = e.fma(a, e.number(t, kErfStretches), magic), stretch = e.asBits(shifted);
  V r = e.CreateFSub(a, pick(kErfCentres, stretch));
  V slope = pick(kErfSlopes[4], stretch);
  for (int i = 3; i >= 0; --i)
    slope = e.fma(slope, r, pick(kErfSlopes[i], stretch));
  V value = e.CreateSelect(e.CreateFCmpOEQ(shifted, magic), a, pick(kErfValues, stretch));
  return e.copySign(e.fma(r, slope, value), x);
}

V emitErf(Emitter &e, V x) {
  if (e.target.hasScale)
    return erfByTable(e, x);
  llvm::Type *t = x->getType();
  V a = e.fabs(x);
  V square = e.CreateFMul(x, x);
  V near = e.fma(a, e.polynomial(square, kErfNear), a);
  // From 4 on it is 1.
  V complement = exponential(e, e.polynomial(noMore(e, a, 4), kErfFar), {.normal = true});
  V far = e.CreateFSub(e.number(t, 1), complement);
  return e.copySign(e.CreateSelect(e.CreateFCmpOLT(a, e.number(t, 0.93)), near, far), x);
}

V emitRsqrt(Emitter &e, V x) {
  return e.CreateFDiv(e.number(x->getType(), 1), e.intrinsic(llvm::Intrinsic::sqrt, x));
}

SharedDivisor shareDivisor(Emitter &e, V divisor) {
  llvm::Type *t = divisor->getType();
  V size = e.fabs(divisor);
  V isSafe = e.CreateAnd(e.CreateFCmpOGT(size, e.number(t, 0x1p-100)),
                         e.CreateFCmpOLT(size, e.number(t, 0x1p100)));
  return {divisor, e.CreateFDiv(e.number(t, 1), divisor),
          e.CreateExtractElement(isSafe, uint64_t{0})};
}

V emitDivide(Emitter &e, V x, const SharedDivisor &by, bool isRough) {
  auto quickly = [&] {
    V guess = e.CreateFMul(x, by.reciprocal);
    if (isRough)
      return SmallVector<V>{guess};
    V rest = e.fma(e.CreateFNeg(guess), by.divisor, x);
    V quotient = e.fma(rest, by.reciprocal, guess);
    // An infinite guess leaves no rest that is a number, a zero none that knows its sign.
    V isBetter = e.CreateFCmpONE(quotient, e.number(x->getType(), 0));
    return SmallVector<V>{e.CreateSelect(isBetter, quotient, guess)};
  };
  return e.branch(by.isSafe, quickly,
                  [&] { return SmallVector<V>{e.CreateFDiv(x, by.divisor)}; })[0];
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
  if (e.target.hasScale && a->getType()->getScalarType()->isFloatTy())
    return e.CreateSelect(e.CreateFCmpUNO(a, b), e.CreateFAdd(a, b), e.range(a, b, isMaximum));
  // One instruction each: of a NaN and a number, and of equal zeros, one takes b and the other a.
  V one = e.CreateSelect(e.CreateFCmp(beyond, a, b), a, b);
  V other = e.CreateSelect(e.CreateFCmp(beyond, b, a), b, a);
  // The bits of both: the lesser zero is the one with the sign, and a NaN's bits stay one's in whatever they
  // are added to. For the greater zero they are those that both have, which leaves no NaN.
  if (!isMaximum)
    return e.asFloat(e.CreateOr(e.asBits(one), e.asBits(other)), a->getType());
  V both = e.CreateAnd(e.asBits(one), e.asBits(other));
  V isNan = e.CreateSExt(e.CreateFCmpUNO(a, b), both->getType());
  return e.asFloat(e.CreateOr(both, isNan), a->getType());
}

} // namespace

V emitMaximum(Emitter &e, V a, V b) { return extreme(e, a, b, true); }
V emitMinimum(Emitter &e, V a, V b) { return extreme(e, a, b, false); }

} // namespace cupel::codegen
