// Inverse circular and hyperbolic functions, real and complex, accurate over the whole plane:
// near zero, near the branch points +-1 and +-i, on the branch cuts (where the sign of zero decides
// the side) and towards infinity. The complex formulas follow Hull, Fairgrieve and Tang,
// "Implementing the complex arcsine and arccosine functions using exception handling" (1997), and
// Kahan, "Branch cuts for complex elementary functions" (1987).
#include "cupel/compiler/passes/LowerChloPatterns.h"

#include <cmath>
#include <numbers>

using namespace mlir;

namespace cupel::compiler {

namespace {

constexpr double kHalfPi = std::numbers::pi / 2;
constexpr double kLog2 = std::numbers::ln2;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

//===----------------------------------------------------------------------===//
// Real
//===----------------------------------------------------------------------===//

// (1 - x) * (1 + x) has no cancellation that 1 - x*x has, and is negative, so that its root is NaN,
// exactly where the functions are not defined.
Expr realAcos(const Expr &x) { return atan2(sqrt((1 - x) * (1 + x)), x); }
Expr realAsin(const Expr &x) { return atan2(x, sqrt((1 - x) * (1 + x))); }
Expr realAtan(const Expr &x) { return atan2(x, 1); }

// With y = x - 1, exact near 1: log(x + sqrt(x^2 - 1)) = log1p(y + sqrt(y) * sqrt(y + 2)).
Expr realAcosh(const Expr &x) {
  Expr y = x - 1;
  Expr general = log1p(y + sqrt(y) * sqrt(y + 2));
  Expr large = log(x) + kLog2;
  return select(x >= largestFinite(x.getElementType()) / 2, large, general);
}

// log(a + sqrt(a^2 + 1)) = log1p(a + a^2 / (1 + sqrt(a^2 + 1))) for a = |x|.
Expr realAsinh(const Expr &x) {
  Expr a = abs(x);
  Expr square = a * a;
  Expr general = log1p(a + square / (1 + sqrt(square + 1)));
  Expr large = log(a) + kLog2;
  double limit = std::sqrt(largestFinite(x.getElementType())) / 2;
  return sign(x) * select(a >= limit, large, general);
}

// Both logarithms have the sign of x, so nothing cancels; both are NaN beyond +-1.
Expr realAtanh(const Expr &x) { return 0.5 * (log1p(x) - log1p(-x)); }

//===----------------------------------------------------------------------===//
// Complex
//===----------------------------------------------------------------------===//

struct Kernel {
  Expr re, im;
};

// For x, y >= 0: re = |Re sqrt(1 - z^2)| and im = |Im asin z| of z = x + iy, so that
//   asin z = atan2(x, re) + i im  and  acos z = atan2(re, x) - i im.
// With r = |z + 1|, s = |z - 1| and a = (r + s) / 2 these are
//   re = sqrt((a + x) * (a - x))  and  im = log(a + sqrt(a^2 - 1)).
// a - x and a - 1 are written as sums of positive terms, which keeps them accurate.
Kernel asinAcosKernel(const Expr &x, const Expr &y) {
  Type type = x.getElementType();
  // Plain roots of squares: overflow and underflow are the business of the limits below, save for
  // x = 1, where s is y itself.
  Expr squareY = y * y;
  Expr r = sqrt((x + 1) * (x + 1) + squareY);
  Expr s = select(x == 1, y, sqrt((x - 1) * (x - 1) + squareY));
  Expr a = 0.5 * (r + s);
  Expr common = squareY / (r + (x + 1));
  Expr insideUnit = x <= 1;
  Expr aMinusX = 0.5 * (common + select(insideUnit, s + (1 - x), squareY / (s + (x - 1))));
  Expr aMinusOne = 0.5 * (common + select(x < 1, squareY / (s + (1 - x)), s + (x - 1)));
  Expr re = sqrt((a + x) * aMinusX);
  Expr im = log1p(aMinusOne + sqrt(aMinusOne * (a + 1)));

  // y so small beside |x - 1| that y^2 could underflow: the limits for y -> 0.
  Expr root = sqrt(abs(1 - x) * (1 + x));
  Expr nearRealAxis = y < 0.25 * epsilon(type) * abs(1 - x);
  re = select(nearRealAxis, select(insideUnit, root, y * (x / root)), re);
  im = select(nearRealAxis, select(insideUnit, y / root, log1p((x - 1) + root)), im);

  // |z| so large that squares could overflow: asin z ~ atan2(x, y) + i log(2 |z|).
  Expr larger = maximum(x, y);
  Expr smaller = minimum(x, y);
  Expr ratio = select(smaller == larger, 1, smaller / larger);
  Expr isLarge = larger > std::sqrt(largestFinite(type)) / 8;
  re = select(isLarge, y, re);
  im = select(isLarge, (kLog2 + log(larger)) + 0.5 * log1p(ratio * ratio), im);
  // One infinite part decides, even if the other is NaN.
  im = select((x == kInfinity) | (y == kInfinity), kInfinity, im);
  return {re, im};
}

Expr complexAsin(const Expr &z) {
  Expr x = real(z), y = imag(z);
  Kernel w = asinAcosKernel(abs(x), abs(y));
  return complex(atan2(x, w.re), withSignOf(w.im, y));
}

Expr complexAcos(const Expr &z) {
  Expr x = real(z), y = imag(z);
  Kernel w = asinAcosKernel(abs(x), abs(y));
  return complex(atan2(w.re, x), withSignOf(w.im, -y));
}

// asinh z = -i asin(iz)
Expr complexAsinh(const Expr &z) {
  Expr x = real(z), y = imag(z);
  Kernel w = asinAcosKernel(abs(y), abs(x));
  return complex(withSignOf(w.im, x), atan2(y, w.re));
}

// acosh z = +-i acos z, the sign such that the real part is not negative
Expr complexAcosh(const Expr &z) {
  Expr x = real(z), y = imag(z);
  Kernel w = asinAcosKernel(abs(x), abs(y));
  return complex(w.im, withSignOf(atan2(w.re, x), y));
}

Expr kernelOp(const Expr &z) {
  Kernel w = asinAcosKernel(abs(real(z)), abs(imag(z)));
  return complex(w.re, w.im);
}

// atanh(x + iy): re = log1p(4 |x| / ((1 - |x|)^2 + y^2)) / 4 with the sign of x,
//                im = atan2(2 y, (1 - |x|) * (1 + |x|) - y^2) / 2.
Kernel atanhParts(const Expr &x, const Expr &y) {
  Type type = x.getElementType();
  Expr absX = abs(x), absY = abs(y);
  Expr distance = 1 - absX;
  Expr squareY = y * y;
  Expr re = 0.25 * log1p(4 * absX / (distance * distance + squareY));
  Expr im = 0.5 * atan2(2 * y, distance * (1 + absX) - squareY);

  // Just above or below +-1, where y^2 could underflow: log(2 / |y|) / 2.
  Expr atPole = (absX == 1) & (absY < epsilon(type));
  re = select(atPole, 0.5 * (kLog2 - log(absY)), re);

  // Far away, where squares could overflow: re ~ |x| / |z|^2 and im ~ +-pi/2.
  double limit = 4 / epsilon(type);
  Expr isFar = (absX > limit) | (absY > limit);
  Expr wide = absX >= absY;
  Expr ratio = select(wide, absY / absX, absX / absY);
  Expr far = select(wide, 1 / (absX + absY * ratio), ratio / (absX * ratio + absY));
  re = select(isFar, far, re);
  im = select(isFar & (y == y), withSignOf(y.like(kHalfPi), y), im);
  re = select((absX == kInfinity) | (absY == kInfinity), 0, re);
  return {withSignOf(re, x), im};
}

Expr complexAtanh(const Expr &z) {
  Kernel w = atanhParts(real(z), imag(z));
  return complex(w.re, w.im);
}

// atan z = -i atanh(iz), where iz = -y + ix
Expr complexAtan(const Expr &z) {
  Kernel w = atanhParts(-imag(z), real(z));
  return complex(w.im, -w.re);
}

} // namespace

void populateLowerChloInverseTrig(RewritePatternSet &patterns) {
  patterns.add<RealOrComplexPattern<chlo::AcosOp, realAcos, complexAcos>,
               RealOrComplexPattern<chlo::AcoshOp, realAcosh, complexAcosh>,
               RealOrComplexPattern<chlo::AsinOp, realAsin, complexAsin>,
               RealOrComplexPattern<chlo::AsinhOp, realAsinh, complexAsinh>,
               RealOrComplexPattern<chlo::AtanOp, realAtan, complexAtan>,
               RealOrComplexPattern<chlo::AtanhOp, realAtanh, complexAtanh>,
               FormulaPattern<chlo::AsinAcosKernelOp, kernelOp>>(patterns.getContext());
}

} // namespace cupel::compiler
