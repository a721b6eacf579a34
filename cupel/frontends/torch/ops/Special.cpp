// Special functions: what CHLO has, the rest from Chebyshev series, recurrences and continued
// fractions, in double precision where single would not do.

#include "cupel/frontends/torch/ops/Elementwise.h"
#include "cupel/frontends/torch/ops/SpecialTables.h"
#include "cupel/ir/chlo/Chlo.h"

#include <cmath>
#include <limits>
#include <numbers>

namespace cupel::frontends::torch_import {

using namespace mlir;

namespace {

constexpr double kPi = std::numbers::pi, kInfinity = std::numeric_limits<double>::infinity(),
                 kNan = std::numeric_limits<double>::quiet_NaN();

/// A Chebyshev series on [low, high], by Clenshaw's recurrence. x is moved inside first: what lies
/// outside is another formula's.
Value chebyshev(HloBuilder &b, Value x, double low, double high, ArrayRef<double> coefficients) {
  Value inside = b.clamp(b.like(x, low), x, b.like(x, high));
  Value t = b.subtract(b.multiply(inside, b.like(x, 2 / (high - low))),
                       b.like(x, (high + low) / (high - low)));
  Value twice = b.add(t, t), last = b.like(x, 0), now = b.like(x, 0);
  for (size_t i = coefficients.size(); i-- > 1;) {
    Value next = b.add(b.subtract(b.multiply(twice, now), last), b.like(x, coefficients[i]));
    last = now;
    now = next;
  }
  return b.add(b.subtract(b.multiply(t, now), last), b.like(x, coefficients[0]));
}

/// A function in double precision, whatever the operand.
template <UnaryFormula formula> void wideUnary(Node &n) {
  n.out(formula(n.b, n.in("self", n.b.f64())));
}

template <UnaryFormula formula> void wideUnaryX(Node &n) {
  n.out(formula(n.b, n.in("x", n.b.f64())));
}

Value sine(HloBuilder &b, Value x) { return b.unary<stablehlo::SineOp>(x); }
Value cosine(HloBuilder &b, Value x) { return b.unary<stablehlo::CosineOp>(x); }

//===----------------------------------------------------------------------===//
// Bessel functions
//===----------------------------------------------------------------------===//

Value i0e(HloBuilder &b, Value x) {
  Value a = b.abs(x), eight = b.like(a, 8);
  Value beyond = b.maximum(a, eight);
  Value large = b.divide(chebyshev(b, b.divide(eight, beyond), 0, 1, kI0Large), b.sqrt(beyond));
  return b.select(b.lessEqual(a, eight), chebyshev(b, a, 0, 8, kI0Small), large);
}
Value i1e(HloBuilder &b, Value x) {
  Value a = b.abs(x), eight = b.like(a, 8);
  Value beyond = b.maximum(a, eight);
  Value large = b.divide(chebyshev(b, b.divide(eight, beyond), 0, 1, kI1Large), b.sqrt(beyond));
  Value small = b.multiply(a, chebyshev(b, a, 0, 8, kI1Small));
  Value size = b.select(b.lessEqual(a, eight), small, large);
  Value result = b.select(b.less(x, b.like(x, 0)), b.negate(size), size);
  return b.select(isNan(b, x), x, result);
}
Value i0(HloBuilder &b, Value x) { return b.multiply(b.exp(b.abs(x)), i0e(b, x)); }
Value i1(HloBuilder &b, Value x) { return b.multiply(b.exp(b.abs(x)), i1e(b, x)); }

/// K0 and K1, scaled by exp(x) or not. Infinite at 0, undefined below.
template <int order, bool scaled> Value besselK(HloBuilder &b, Value x) {
  Value two = b.like(x, 2), zero = b.like(x, 0);
  Value near = b.clamp(b.like(x, 1e-300), x, two), far = b.maximum(x, two);
  Value square = b.square(near), logarithm = b.log(b.divide(near, two));
  Value small = order == 0 ? b.subtract(chebyshev(b, square, 0, 4, kK0Small),
                                        b.multiply(logarithm, i0(b, near)))
                           : b.add(b.divide(chebyshev(b, square, 0, 4, kK1Small), near),
                                   b.multiply(logarithm, i1(b, near)));
  Value large = b.divide(
      chebyshev(b, b.divide(two, far), 0, 1, order == 0 ? ArrayRef(kK0Large) : ArrayRef(kK1Large)),
      b.sqrt(far));
  if (scaled)
    small = b.multiply(small, b.exp(near));
  else
    large = b.multiply(large, b.exp(b.negate(far)));
  Value result = b.select(b.lessEqual(x, two), small, large);
  result = b.select(b.equal(x, zero), b.like(x, kInfinity), result);
  result = b.select(b.less(x, zero), b.like(x, kNan), result);
  return b.select(isNan(b, x), x, result);
}

/// Amplitudes and phase of J and Y beyond 8; x >= 8.
struct Wave {
  Value p, q, angle, scale;
};
template <int order> Wave wave(HloBuilder &b, Value x) {
  Value ratio = b.divide(b.like(x, 8), x), z = b.square(ratio);
  Value p = chebyshev(b, z, 0, 1, order == 0 ? ArrayRef(kP0) : ArrayRef(kP1));
  Value q = b.divide(chebyshev(b, z, 0, 1, order == 0 ? ArrayRef(kQ0) : ArrayRef(kQ1)), x);
  Value angle = b.subtract(x, b.like(x, (2 * order + 1) * kPi / 4));
  return {p, q, angle, b.sqrt(b.divide(b.like(x, 2 / kPi), x))};
}

template <int order> Value besselJ(HloBuilder &b, Value x) {
  Value a = b.abs(x), eight = b.like(x, 8);
  Value square = b.square(b.minimum(a, eight));
  Value small = order == 0 ? chebyshev(b, square, 0, 64, kJ0Small)
                           : b.multiply(x, chebyshev(b, square, 0, 64, kJ1Small));
  Wave w = wave<order>(b, b.maximum(a, eight));
  Value large = b.multiply(
      w.scale, b.subtract(b.multiply(w.p, cosine(b, w.angle)), b.multiply(w.q, sine(b, w.angle))));
  if (order == 1)
    large = b.select(b.less(x, b.like(x, 0)), b.negate(large), large);
  Value result = b.select(b.lessEqual(a, eight), small, large);
  return b.select(isNan(b, x), x, result);
}

template <int order> Value besselY(HloBuilder &b, Value x) {
  Value eight = b.like(x, 8), zero = b.like(x, 0);
  Value near = b.clamp(b.like(x, 1e-300), x, eight), square = b.square(near);
  Value logarithm = b.log(b.divide(near, b.like(x, 2))), scale = b.like(x, 2 / kPi);
  Value small;
  if (order == 0) {
    small = b.add(b.multiply(scale, b.multiply(logarithm, besselJ<0>(b, near))),
                  chebyshev(b, square, 0, 64, kY0Small));
  } else {
    Value part =
        b.subtract(b.multiply(logarithm, besselJ<1>(b, near)), b.divide(b.like(x, 1), near));
    small = b.add(b.multiply(scale, part), b.multiply(near, chebyshev(b, square, 0, 64, kY1Small)));
  }
  Wave w = wave<order>(b, b.maximum(x, eight));
  Value large = b.multiply(
      w.scale, b.add(b.multiply(w.p, sine(b, w.angle)), b.multiply(w.q, cosine(b, w.angle))));
  Value result = b.select(b.lessEqual(x, eight), small, large);
  result = b.select(b.equal(x, zero), b.like(x, -kInfinity), result);
  result = b.select(b.less(x, zero), b.like(x, kNan), result);
  return b.select(isNan(b, x), x, result);
}

Value sphericalJ0(HloBuilder &b, Value x) {
  Value square = b.square(x), one = b.like(x, 1);
  // 1 - x^2/6 + x^4/120 - x^6/5040 near 0.
  Value series = b.multiply(square, b.like(x, -1.0 / 5040));
  series = b.multiply(square, b.add(series, b.like(x, 1.0 / 120)));
  series = b.add(one, b.multiply(square, b.add(series, b.like(x, -1.0 / 6))));
  Value small = b.less(b.abs(x), b.like(x, 0.05));
  Value result = b.select(small, series, b.divide(sine(b, x), b.select(small, one, x)));
  return b.select(isInfinite(b, x), b.like(x, 0), result);
}

Value airyAi(HloBuilder &b, Value x) {
  Value right = b.maximum(x, b.like(x, 2)), left = b.maximum(b.negate(x), b.like(x, 8));
  auto zetaOf = [&](Value v) { return b.multiply(b.multiply(v, b.sqrt(v)), b.like(v, 2.0 / 3)); };
  Value zeta = zetaOf(right), root = b.sqrt(b.sqrt(right));
  Value far = b.divide(b.multiply(chebyshev(b, b.divide(b.like(x, 1), zeta), 0, 0.55, kAiryRight),
                                  b.exp(b.negate(zeta))),
                       b.multiply(root, b.like(x, 2 * std::sqrt(kPi))));
  zeta = zetaOf(left);
  Value z = b.divide(b.like(x, 1), b.square(zeta)), angle = b.add(zeta, b.like(x, kPi / 4));
  Value p = chebyshev(b, z, 0, 0.0045, kAiryLeftP),
        q = b.divide(chebyshev(b, z, 0, 0.0045, kAiryLeftQ), zeta);
  Value waves = b.divide(b.subtract(b.multiply(p, sine(b, angle)), b.multiply(q, cosine(b, angle))),
                         b.multiply(b.sqrt(b.sqrt(left)), b.like(x, std::sqrt(kPi))));
  Value result = b.select(b.greater(x, b.like(x, 2)), far, chebyshev(b, x, -8, 2, kAiryMiddle));
  result = b.select(b.less(x, b.like(x, -8)), waves, result);
  result = b.select(isInfinite(b, x), b.like(x, kNan), result);
  return b.select(isNan(b, x), x, result);
}

//===----------------------------------------------------------------------===//
// Error functions and normal distribution
//===----------------------------------------------------------------------===//

Value erfc(HloBuilder &b, Value x) { return b.unary<chlo::ErfcOp>(x); }

Value erfcx(HloBuilder &b, Value x) {
  Value a = b.abs(x), four = b.like(x, 4);
  Value t = b.divide(four, b.add(four, a));
  Value right = b.multiply(t, chebyshev(b, t, 0, 1, kErfcx));
  Value left = b.subtract(b.multiply(b.like(x, 2), b.exp(b.square(x))), right);
  return b.select(b.less(x, b.like(x, 0)), left, right);
}

/// (1 + erf(x / sqrt 2)) / 2, step by step in the operand's type: torch composes it so.
void lowerNdtr(Node &n) {
  HloBuilder &b = n.b;
  Type type = n.promoteToFloat({"self"});
  Value x = n.in("self", type);
  Value scaled = b.convert(b.divide(x, b.like(x, std::numbers::sqrt2)), n.computeType(type));
  Value e = b.convert(b.unary<chlo::ErfOp>(scaled), type);
  n.out(b.multiply(b.add(b.like(e, 1), e), b.like(e, 0.5)));
}

Value logNdtr(HloBuilder &b, Value x) {
  Value t = b.multiply(x, b.like(x, 1 / std::numbers::sqrt2));
  Value tail = b.subtract(b.log(b.multiply(erfcx(b, b.negate(t)), b.like(x, 0.5))), b.square(t));
  Value body = log1p(b, b.multiply(erfc(b, t), b.like(x, -0.5)));
  return b.select(b.less(x, b.like(x, -1)), tail, body);
}

/// From a first guess by erf_inv, two steps of Newton's method on the logarithm, which is smooth
/// down to the smallest probabilities.
Value ndtri(HloBuilder &b, Value p) {
  Value half = b.like(p, 0.5), one = b.like(p, 1), zero = b.like(p, 0);
  Value upper = b.greater(p, half);
  Value q = b.select(upper, b.subtract(one, p), p);
  Value safe = b.clamp(b.like(p, 1e-300), q, half);
  // Small: sqrt(-2 log q) is near enough.
  Value centre =
      b.multiply(b.unary<chlo::ErfInvOp>(b.subtract(b.multiply(safe, b.like(p, 2)), one)),
                 b.like(p, std::numbers::sqrt2));
  Value r = b.sqrt(b.multiply(b.log(safe), b.like(p, -2)));
  Value guess = b.subtract(b.divide(b.log(b.multiply(r, b.like(p, std::sqrt(2 * kPi)))), r), r);
  Value x = b.select(b.less(safe, b.like(p, 1e-6)), guess, centre);
  Value goal = b.log(safe);
  for (int i = 0; i < 4; ++i) {
    Value now = logNdtr(b, x);
    // d/dx log ndtr(x) = pdf(x) / ndtr(x)
    Value slope = b.exp(b.subtract(
        b.subtract(b.multiply(b.square(x), b.like(p, -0.5)), b.like(p, std::log(2 * kPi) / 2)),
        now));
    x = b.subtract(x, b.divide(b.subtract(now, goal), slope));
  }
  x = b.select(upper, b.negate(x), x);
  x = b.select(b.equal(p, zero), b.like(p, -kInfinity), x);
  x = b.select(b.equal(p, one), b.like(p, kInfinity), x);
  Value outside = b.logicalOr(b.less(p, zero), b.greater(p, one));
  x = b.select(outside, b.like(p, kNan), x);
  return b.select(isNan(b, p), p, x);
}

Value entr(HloBuilder &b, Value x) {
  Value zero = b.like(x, 0);
  Value result = b.select(b.greater(x, zero), b.negate(b.multiply(x, b.log(x))), zero);
  result = b.select(b.less(x, zero), b.like(x, -kInfinity), result);
  return b.select(isNan(b, x), x, result);
}

//===----------------------------------------------------------------------===//
// Gamma functions
//===----------------------------------------------------------------------===//

Value digamma(HloBuilder &b, Value x) {
  Value zero = b.like(x, 0);
  Value pole = copySign(b, b.like(x, kInfinity), b.negate(x));
  return b.select(b.equal(x, zero), pole, b.unary<chlo::DigammaOp>(x));
}

/// Hurwitz zeta by Euler and Maclaurin: the first terms one by one, the rest by an integral and
/// Bernoulli numbers. Negative q is walked up to where the rest is smooth.
Value zeta(HloBuilder &b, Value first, Value second) {
  auto [x, q] = b.broadcastPair(first, second);
  Value negative = b.negate(x), total = b.like(x, 0), at = q;
  constexpr int terms = 12;
  for (int i = 0; i < terms; ++i) {
    total = b.add(total, b.power(at, negative));
    at = b.add(at, b.like(x, 1));
  }
  Value limit = b.like(x, double(terms));
  if (HloBuilder::countOf(x) != 0) {
    Dims all = dimsFrom(0, HloBuilder::rankOf(x));
    auto walked = b.whileLoop(
        {at, total, b.splatInteger(0, b.i32())},
        [&](ValueRange v) {
          Value some = b.reduce(b.less(v[0], limit), all, Fold::Or);
          return b.logicalAnd(some, b.less(v[2], b.splatInteger(1000, b.i32())));
        },
        [&](ValueRange v) -> SmallVector<Value> {
          Value low = b.less(v[0], limit);
          Value more = b.add(v[1], b.power(v[0], negative));
          return {b.select(low, b.add(v[0], b.like(v[0], 1)), v[0]), b.select(low, more, v[1]),
                  b.add(v[2], b.splatInteger(1, b.i32()))};
        });
    at = walked[0];
    total = walked[1];
  }
  // The rest: at^(1-x)/(x-1) + at^-x/2 + sum of B_2k/(2k)! x(x+1)...(x+2k-2) at^(-x-2k+1).
  Value one = b.like(x, 1), power = b.power(at, negative);
  Value rest =
      b.add(b.divide(b.multiply(power, at), b.subtract(x, one)), b.multiply(power, b.like(x, 0.5)));
  // B_2k / (2k)!
  constexpr double coefficients[] = {1.0 / 12,           -1.0 / 720,     1.0 / 30240,
                                     -1.0 / 1209600,     1.0 / 47900160, -691.0 / 1307674368000.0,
                                     1.0 / 74724249600.0};
  Value rising = x, inverse = b.divide(one, at), scaled = b.multiply(power, inverse);
  for (auto [k, coefficient] : llvm::enumerate(coefficients)) {
    rest = b.add(rest, b.multiply(b.multiply(rising, scaled), b.like(x, coefficient)));
    double step = 2 * double(k) + 1;
    rising =
        b.multiply(rising, b.multiply(b.add(x, b.like(x, step)), b.add(x, b.like(x, step + 1))));
    scaled = b.multiply(scaled, b.square(inverse));
  }
  Value result = b.add(total, rest);
  Value zero = b.like(x, 0);
  Value pole = b.lessEqual(q, zero);
  Value whole = b.equal(q, b.floor(q)), integer = b.equal(x, b.floor(x));
  result = b.select(b.logicalAnd(pole, b.logicalNot(integer)), b.like(x, kNan), result);
  result = b.select(b.logicalAnd(pole, whole), b.like(x, kInfinity), result);
  result = b.select(b.equal(x, one), b.like(x, kInfinity), result);
  result = b.select(b.less(x, one), b.like(x, kNan), result);
  return b.select(b.logicalOr(isNan(b, x), isNan(b, q)), b.like(x, kNan), result);
}

void lowerZeta(Node &n) {
  Value x = n.in("self", n.b.f64()), q = n.in("other", n.b.f64());
  if (fitTogether(n, {x, q}))
    n.out(zeta(n.b, x, q));
}

/// trigamma: below 1/2 by reflection, then six steps up, then the asymptotic series; in the type
/// torch computes in, whose sine of pi x decides the result near negative integers.
Value trigamma(HloBuilder &b, Value x) {
  Value one = b.like(x, 1);
  Value low = b.less(x, b.like(x, 0.5)), at = b.select(low, b.subtract(one, x), x);
  Value s = sine(b, b.multiply(b.like(x, kPi), x)), pi = b.like(x, kPi);
  Value total =
      b.select(low, b.negate(b.divide(b.multiply(pi, pi), b.multiply(s, s))), b.like(x, 0));
  for (int i = 0; i < 6; ++i) {
    total = b.add(total, b.divide(one, b.multiply(at, at)));
    at = b.add(at, one);
  }
  Value inverse = b.divide(one, b.multiply(at, at));
  Value inner = b.subtract(b.like(x, 1.0 / 30), b.multiply(inverse, b.like(x, 1.0 / 42)));
  inner = b.subtract(b.like(x, 1.0 / 6), b.multiply(inverse, inner));
  Value series = b.add(b.add(one, b.divide(one, b.add(at, at))), b.multiply(inverse, inner));
  total = b.add(total, b.divide(series, at));
  return b.select(low, b.negate(total), total);
}

void lowerPolygamma(Node &n) {
  HloBuilder &b = n.b;
  int64_t order = n.integer("n");
  Value x = n.in("self", b.f64());
  if (n.failed())
    return;
  if (order < 0 || order > 150)
    return n.fail("argument 'n' is out of range");
  if (order == 0)
    return n.out(digamma(b, x));
  if (order == 1)
    return n.out(trigamma(b, n.in("self", n.computeType(n.promoteToFloat({"self"})))));
  double factor = std::tgamma(double(order) + 1) * (order % 2 ? 1 : -1);
  n.out(b.multiply(zeta(b, b.like(x, double(order) + 1), x), b.like(x, factor)));
}

void lowerMultivariateLgamma(Node &n) {
  HloBuilder &b = n.b;
  Value x = n.in("self", n.computeType(n.promoteToFloat({"self"})));
  int64_t p = n.integer("p");
  if (n.failed())
    return;
  if (p < 1 || p > 1000)
    return n.fail("argument 'p' is out of range");
  Value total = b.like(x, double(p) * double(p - 1) / 4 * std::log(kPi));
  for (int64_t j = 0; j < p; ++j)
    total = b.add(total, b.unary<chlo::LgammaOp>(b.subtract(x, b.like(x, double(j) / 2))));
  n.out(total);
}

/// The regularised incomplete gamma functions: a series for small x, else Lentz's continued
/// fraction.
template <bool upper> Value incompleteGamma(HloBuilder &b, Value first, Value second) {
  auto [a, x] = b.broadcastPair(first, second);
  if (HloBuilder::countOf(a) == 0)
    return a;
  Value zero = b.like(a, 0), one = b.like(a, 1), tiny = b.like(a, 1e-300);
  Value valid = b.logicalAnd(b.logicalAnd(b.greater(a, zero), b.greater(x, zero)),
                             b.logicalNot(b.logicalOr(isInfinite(b, a), isInfinite(b, x))));
  Value sa = b.select(valid, a, one), sx = b.select(valid, x, one);
  Value prefix =
      b.exp(b.subtract(b.subtract(b.multiply(sa, b.log(sx)), sx), b.unary<chlo::LgammaOp>(sa)));
  Dims all = dimsFrom(0, HloBuilder::rankOf(a));
  Value most = b.splatInteger(3000, b.i32()), next = b.splatInteger(1, b.i32());
  Value useSeries = b.lessEqual(sx, b.add(sa, one));
  // sum of x^k / (a (a + 1) ... (a + k))
  Value start = b.divide(one, sa), seriesX = b.select(useSeries, sx, zero);
  auto series = b.whileLoop(
      {start, start, sa, b.splatInteger(0, b.i32())},
      [&](ValueRange v) {
        Value open = b.greater(v[0], b.multiply(v[1], b.like(v[1], 1e-17)));
        return b.logicalAnd(b.reduce(open, all, Fold::Or), b.less(v[3], most));
      },
      [&](ValueRange v) -> SmallVector<Value> {
        Value at = b.add(v[2], one);
        Value term = b.multiply(v[0], b.divide(seriesX, at));
        return {term, b.add(v[1], term), at, b.add(v[3], next)};
      });
  Value lower = b.multiply(prefix, series[1]);
  // 1 / (x + 1 - a - 1 (1 - a) / (x + 3 - a - 2 (2 - a) / (...)))
  Value fx = b.select(useSeries, b.add(sa, b.like(sa, 2)), sx);
  Value base = b.subtract(b.add(fx, one), sa);
  Value c = b.divide(one, tiny), d = b.divide(one, base);
  auto fraction = b.whileLoop(
      {base, c, d, d, one, b.splatInteger(0, b.i32())},
      [&](ValueRange v) {
        Value change = b.abs(b.subtract(v[4], one));
        Value open = b.greater(change, b.like(change, 1e-16));
        Value early = b.less(v[5], b.splatInteger(2, b.i32()));
        return b.logicalAnd(b.logicalOr(early, b.reduce(open, all, Fold::Or)), b.less(v[5], most));
      },
      [&](ValueRange v) -> SmallVector<Value> {
        Value i = b.broadcastTo(b.convert(b.add(v[5], next), HloBuilder::elementOf(a)),
                                HloBuilder::shapeOf(a));
        Value an = b.negate(b.multiply(i, b.subtract(i, sa)));
        Value bn = b.add(v[0], b.like(v[0], 2));
        auto nonzero = [&](Value value) {
          return b.select(b.less(b.abs(value), tiny), tiny, value);
        };
        Value dn = b.divide(one, nonzero(b.add(b.multiply(an, v[2]), bn)));
        Value cn = nonzero(b.add(bn, b.divide(an, v[1])));
        Value ratio = b.multiply(dn, cn);
        return {bn, cn, dn, b.multiply(v[3], ratio), ratio, b.add(v[5], next)};
      });
  Value above = b.multiply(prefix, fraction[3]);
  Value result = upper ? b.select(useSeries, b.subtract(one, lower), above)
                       : b.select(useSeries, lower, b.subtract(one, above));
  // The edges.
  Value none = b.like(a, upper ? 1 : 0), whole = b.like(a, upper ? 0 : 1), nan = b.like(a, kNan);
  Value aInfinite = isInfinite(b, a), xInfinite = isInfinite(b, x);
  result = b.select(aInfinite, b.select(xInfinite, nan, none), b.select(xInfinite, whole, result));
  Value aZero = b.equal(a, zero), xZero = b.equal(x, zero);
  result = b.select(xZero, none, result);
  result = b.select(aZero, b.select(b.greater(x, zero), whole, nan), result);
  Value bad = b.logicalOr(b.less(a, zero), b.less(x, zero));
  bad = b.logicalOr(bad, b.logicalOr(isNan(b, a), isNan(b, x)));
  return b.select(bad, nan, result);
}

template <bool upper> void lowerIncompleteGamma(Node &n) {
  Value a = n.in("self", n.b.f64()), x = n.in("other", n.b.f64());
  if (fitTogether(n, {a, x}))
    n.out(incompleteGamma<upper>(n.b, a, x));
}

Value lgamma(HloBuilder &b, Value x) { return b.unary<chlo::LgammaOp>(x); }
Value erf(HloBuilder &b, Value x) { return b.unary<chlo::ErfOp>(x); }
Value erfinv(HloBuilder &b, Value x) { return b.unary<chlo::ErfInvOp>(x); }

} // namespace

void registerSpecial(OpTable &table) {
  auto add = [&](std::initializer_list<const char *> names, Lowering lower) {
    for (const char *name : names)
      table.add(name, lower);
  };
  add({"aten.erf", "aten.special_erf"}, floatUnary<erf>);
  add({"aten.erfc", "aten.special_erfc"}, floatUnary<erfc>);
  add({"aten.erfinv", "aten.special_erfinv"}, floatUnary<erfinv>);
  add({"aten.special_erfcx"}, wideUnary<erfcx>);
  add({"aten.special_ndtr"}, lowerNdtr);
  add({"aten.special_log_ndtr"}, wideUnary<logNdtr>);
  add({"aten.special_ndtri"}, wideUnary<ndtri>);
  add({"aten.special_entr"}, floatUnary<entr>);
  add({"aten.lgamma", "aten.special_gammaln"}, floatUnary<lgamma>);
  add({"aten.digamma", "aten.special_digamma", "aten.special_psi"}, wideUnary<digamma>);
  add({"aten.polygamma", "aten.special_polygamma"}, lowerPolygamma);
  add({"aten.mvlgamma", "aten.special_multigammaln"}, lowerMultivariateLgamma);
  add({"aten.special_zeta"}, lowerZeta);
  add({"aten.igamma", "aten.special_gammainc"}, lowerIncompleteGamma<false>);
  add({"aten.igammac", "aten.special_gammaincc"}, lowerIncompleteGamma<true>);
  add({"aten.i0", "aten.special_i0", "aten.special_modified_bessel_i0"}, wideUnary<i0>);
  add({"aten.special_i0e"}, wideUnary<i0e>);
  add({"aten.special_i1", "aten.special_modified_bessel_i1"}, wideUnary<i1>);
  add({"aten.special_i1e"}, wideUnary<i1e>);
  add({"aten.special_modified_bessel_k0"}, wideUnary<besselK<0, false>>);
  add({"aten.special_modified_bessel_k1"}, wideUnary<besselK<1, false>>);
  add({"aten.special_scaled_modified_bessel_k0"}, wideUnaryX<besselK<0, true>>);
  add({"aten.special_scaled_modified_bessel_k1"}, wideUnaryX<besselK<1, true>>);
  add({"aten.special_spherical_bessel_j0"}, wideUnaryX<sphericalJ0>);
  add({"aten.special_airy_ai"}, wideUnaryX<airyAi>);
  table.add("aten.special_bessel_j0", wideUnary<besselJ<0>>);
  table.add("aten.special_bessel_j1", wideUnary<besselJ<1>>);
  table.add("aten.special_bessel_y0", wideUnary<besselY<0>>);
  table.add("aten.special_bessel_y1", wideUnary<besselY<1>>);
}

} // namespace cupel::frontends::torch_import
