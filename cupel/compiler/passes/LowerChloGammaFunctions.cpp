// lgamma, digamma, zeta and polygamma.
#include "cupel/compiler/passes/LowerChloPatterns.h"

#include <cmath>
#include <limits>
#include <numbers>

using namespace mlir;

namespace cupel::compiler {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kPi = std::numbers::pi;

//===----------------------------------------------------------------------===//
// Lanczos' approximation (g = 7, nine terms):
//   gamma(z + 1) = sqrt(2 pi) * t^(z + 1/2) * e^-t * a(z)   with t = z + g + 1/2
//   and a(z) = base + sum(coefficient[k] / (z + k + 1)).
//===----------------------------------------------------------------------===//

constexpr double kLanczosG = 7;
constexpr double kLanczosBase = 0.99999999999980993227684700473478;
constexpr double kLanczos[] = {
    676.520368121885098567009190444019, -1259.13921672240287047156078755283,
    771.3234287776530788486528258894,   -176.61502916214059906584551354,
    12.507343278686904814458936853,     -0.13857109526572011689554707,
    9.984369578019570859563e-6,         1.50563273514931155834e-7};

// log(t) as log(g + 1/2) + log1p(z / (g + 1/2)): accurate for small z.
Expr logT(const Expr &z) { return std::log(kLanczosG + 0.5) + log1p(z / (kLanczosG + 0.5)); }

Expr lanczosSum(const Expr &z) {
  Expr a = z.like(kLanczosBase);
  for (auto [k, coefficient] : llvm::enumerate(kLanczos))
    a = a + coefficient / (z + (k + 1.0));
  return a;
}

// n! for n >= 0, more accurate than the exponential of lgamma. The power is applied in two halves,
// which overflow no earlier than the result.
Expr factorial(const Expr &n) {
  Expr t = n + (kLanczosG + 0.5);
  Expr root = power(t, 0.5 * n + 0.25);
  return (std::sqrt(2 * kPi) * lanczosSum(n) * root * exp(-t)) * root;
}

//===----------------------------------------------------------------------===//
// Near the zeros of lgamma at 1 and 2, and that of digamma between them, Lanczos' sum cancels;
// there the series around 2 takes over, for |z| <= 1/2:
//   lgamma(2 + z) = (1 - Euler) z + sum((-1)^k (zeta(k) - 1) / k z^k), k = 2, 3, ...
//===----------------------------------------------------------------------===//

constexpr double kZetaMinusOne[] = {
    0.64493406684822643647,     0.2020569031595942854,      0.082323233711138191516,
    0.036927755143369926331,    0.017343061984449139715,    0.0083492773819228268398,
    0.0040773561979443393787,   0.0020083928260822144179,   0.00099457512781808533715,
    0.0004941886041194645587,   0.00024608655330804829864,  0.00012271334757848914675,
    0.000061248135058704829259, 0.000030588236307020493552, 0.000015282259408651871733,
    7.6371976378997622736e-6,   3.8172932649998398565e-6,   1.9082127165539389257e-6,
    9.5396203387279611315e-7,   4.7693298678780646312e-7,   2.3845050272773299e-7,
    1.1921992596531107307e-7,   5.9608189051259479612e-8,   2.9803503514652280186e-8,
    1.4901554828365041235e-8,   7.450711789835429492e-9,    3.7253340247884570548e-9};

// How many terms count: each is about a quarter of the one before.
size_t countSeriesTerms(Type type) { return type.isF64() ? std::size(kZetaMinusOne) : 14; }

Expr lgammaAroundTwo(const Expr &z) {
  SmallVector<double> coefficients;
  for (size_t k = countSeriesTerms(z.getElementType()) + 1; k >= 2; --k)
    coefficients.push_back((k % 2 ? -1 : 1) * kZetaMinusOne[k - 2] / k);
  coefficients.push_back(1 - std::numbers::egamma);
  return z * polynomial(z, coefficients);
}

Expr digammaAroundTwo(const Expr &z) {
  SmallVector<double> coefficients;
  for (size_t k = countSeriesTerms(z.getElementType()) + 1; k >= 2; --k)
    coefficients.push_back((k % 2 ? -1 : 1) * kZetaMinusOne[k - 2]);
  coefficients.push_back(1 - std::numbers::egamma);
  return polynomial(z, coefficients);
}

Expr lgammaFormula(const Expr &x) {
  // For x < 1/2 by reflection: gamma(x) gamma(1 - x) = pi / sin(pi x).
  Expr reflected = x < 0.5;
  Expr z = select(reflected, -x, x - 1);
  Expr a = lanczosSum(z);
  Expr t = z + (kLanczosG + 0.5);
  Expr logarithm = logT(z);
  // (z + 1/2) log t - t, with the factor taken out so that inf - inf does not arise.
  Expr direct = 0.5 * std::log(2 * kPi) + (z + 0.5 - t / logarithm) * logarithm + log(a);

  // Around 1 and around 2, one step of the recurrence apart.
  Expr around = z <= 0.5;
  Expr series = lgammaAroundTwo(select(around, z, z - 1));
  series = select(around, series - log1p(z), series);
  direct = select(z < 1.5, series, direct);

  // |sin(pi x)| from the distance to the nearest integer: exact, also for large |x|.
  Expr fraction = abs(x) - floor(abs(x));
  Expr distance = select(fraction > 0.5, 1 - fraction, fraction);
  Expr logSine = log(sin(kPi * distance));
  // At a pole the logarithm is -inf, and so the result +inf.
  Expr other = select(isFinite(logSine), std::log(kPi) - logSine - direct, -logSine);

  Expr result = select(reflected, other, direct);
  return select(abs(x) == kInfinity, kInfinity, result);
}

Expr digammaFormula(const Expr &x) {
  // For x < 1/2 by reflection: psi(1 - x) - psi(x) = pi / tan(pi x).
  Expr reflected = x < 0.5;
  Expr z = select(reflected, -x, x - 1);
  Expr a = x.like(kLanczosBase);
  Expr derivative = x.like(0);
  for (auto [k, coefficient] : llvm::enumerate(kLanczos)) {
    Expr denominator = z + (k + 1.0);
    derivative = derivative - coefficient / (denominator * denominator);
    a = a + coefficient / denominator;
  }
  Expr t = z + (kLanczosG + 0.5);
  Expr direct = logT(z) + derivative / a - kLanczosG / t;

  Expr around = z <= 0.5;
  Expr series = digammaAroundTwo(select(around, z, z - 1));
  series = select(around, series - 1 / (1 + z), series);
  direct = select(z < 1.5, series, direct);

  // The fraction in [-1/2, 1/2], where pi * fraction is accurate.
  Expr fraction = x + abs(floor(x + 0.5));
  Expr angle = kPi * fraction;
  Expr other = direct - kPi * cos(angle) / sin(angle);

  Expr result = select(reflected, other, direct);
  Expr atPole = (x <= 0) & (x == floor(x));
  return select(atPole, kNaN, result);
}

//===----------------------------------------------------------------------===//
// Hurwitz' zeta function
//===----------------------------------------------------------------------===//

// (2k)! / B(2k) for k = 1, ..., 12, the denominators of Euler-Maclaurin's correction.
constexpr double kEulerMaclaurin[] = {12.0,
                                      -720.0,
                                      30240.0,
                                      -1209600.0,
                                      47900160.0,
                                      -1.8924375803183791606e9,
                                      7.47242496e10,
                                      -2.950130727918164224e12,
                                      1.1646782814350067249e14,
                                      -4.5979787224074726105e15,
                                      1.8152105401943546773e17,
                                      -7.1661652561756670113e18};
constexpr int kDirectTerms = 9;

// For x > 1 and q > 0: nine terms of the sum, then Euler-Maclaurin for the rest from w = q + 9:
//   w^-x * (w / (x - 1) - 1/2 + sum_k x (x + 1) ... (x + 2k - 2) / (denominator_k * w^(2k - 1))),
// where the term of w itself has been summed in full.
Expr zetaOfPositive(const Expr &x, const Expr &q) {
  Expr sum = power(q, -x);
  Expr w = q;
  Expr last = sum;
  for (int i = 0; i < kDirectTerms; ++i) {
    w = w + 1;
    last = power(w, -x);
    sum = sum + last;
  }
  Expr inverse = 1 / w;
  // Horner's rule from the last correction inwards: each step multiplies by
  // (x + 2k - 1) (x + 2k) / w^2, kept as two quotients so that neither overflows.
  Expr correction = x.like(1 / kEulerMaclaurin[std::size(kEulerMaclaurin) - 1]);
  for (int k = std::size(kEulerMaclaurin) - 1; k >= 1; --k) {
    Expr ratio = ((x + (2.0 * k - 1)) * inverse) * ((x + 2.0 * k) * inverse);
    correction = 1 / kEulerMaclaurin[k - 1] + ratio * correction;
  }
  Expr rest = last * (w / (x - 1) - 0.5 + x * inverse * correction);
  // A last term that no longer counts, or is zero, has a rest that does not either, and which may
  // be 0 * inf.
  return select(last <= sum * (epsilon(x.getElementType()) / 1024), sum, sum + rest);
}

Expr zetaFormula(const Expr &x, const Expr &q) {
  // Negative q, integer x: with the fraction f of q, the sum over all n in Z from f on both sides
  // less the part that does not belong to it,
  //   zeta(x, q) = zeta(x, f) + (-1)^x (zeta(x, 1 - f) - zeta(x, 1 - q)).
  Expr isNegative = q <= 0;
  Expr fraction = q - floor(q);
  Expr isEven = remainder(x, 2) == 0;
  Expr mirrored = zetaOfPositive(x, 1 - fraction) - zetaOfPositive(x, 1 - q);
  Expr main = zetaOfPositive(x, select(isNegative, fraction, q));
  Expr result = select(isNegative, main + select(isEven, mirrored, -mirrored), main);

  Expr isInteger = x == floor(x);
  Expr atPole = isNegative & (q == floor(q));
  result = select(isNegative & !isInteger, kNaN, result);
  result = select(atPole, select(isInteger & isEven, x.like(kInfinity), kNaN), result);
  result = select(x < 1, kNaN, result);
  return select(x == 1, kInfinity, result);
}

// psi_n(x) = (-1)^(n + 1) n! zeta(n + 1, x)
Expr polygammaFormula(const Expr &n, const Expr &x) {
  Expr isOdd = remainder(n, 2) == 1;
  Expr magnitude = factorial(n) * zetaFormula(n + 1, x);
  Expr result = select(isOdd, magnitude, -magnitude);
  result = select(n == 0, digammaFormula(x), result);
  return select((n < 0) | (n != floor(n)), kNaN, result);
}

// The formulas above in the precision they are made for.
template <auto formula> Expr widened(const Expr &x) {
  return compute(x, [](ArrayRef<Expr> operands) { return formula(operands[0]); });
}
template <auto formula> Expr widened2(const Expr &a, const Expr &b) {
  return compute({a, b}, [](ArrayRef<Expr> operands) { return formula(operands[0], operands[1]); });
}

} // namespace

Expr polygamma(const Expr &n, const Expr &x) { return widened2<polygammaFormula>(n, x); }
Expr zeta(const Expr &x, const Expr &q) { return widened2<zetaFormula>(x, q); }

void populateLowerChloGammaFunctions(RewritePatternSet &patterns) {
  patterns.add<FormulaPattern<chlo::LgammaOp, widened<lgammaFormula>>,
               FormulaPattern<chlo::DigammaOp, widened<digammaFormula>>,
               FormulaPattern<chlo::PolygammaOp, polygamma>, FormulaPattern<chlo::ZetaOp, zeta>>(
      patterns.getContext());
}

} // namespace cupel::compiler
