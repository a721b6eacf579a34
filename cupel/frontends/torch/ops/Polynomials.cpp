// Orthogonal polynomials of a degree given by a tensor, by their three-term recurrences, in the
// type and the order of operations torch computes them in: cancellation makes both visible.

#include "cupel/frontends/torch/ops/Elementwise.h"
#include "cupel/ir/chlo/Chlo.h"

#include <limits>

namespace cupel::frontends::torch_import {

using namespace mlir;

namespace {

/// x * y - z with one rounding: torch's kernels are compiled so, and the difference shows.
Value multiplySubtract(HloBuilder &b, Value x, Value y, Value z) {
  Type type = HloBuilder::elementOf(x);
  if (!type.isF32())
    return b.subtract(b.multiply(x, y), z);
  Value product = b.multiply(b.convert(x, b.f64()), b.convert(y, b.f64()));
  return b.convert(b.subtract(product, b.convert(z, b.f64())), type);
}

/// P0 = 1, P1 = `first`, then `step(k, P(k-1), P(k))` is P(k+1), up to the degree of each element.
/// Negative degrees give 0.
Value recurrence(HloBuilder &b, Value degree, Value first,
                 const std::function<Value(Value, Value, Value)> &step) {
  Value one = b.like(first, 1), zero = b.like(first, 0);
  Type type = HloBuilder::elementOf(first);
  if (HloBuilder::countOf(first) == 0)
    return first;
  // No degree beyond this gives anything but infinities and NaN.
  Value top = b.minimum(b.reduce(degree, dimsFrom(0, HloBuilder::rankOf(degree)), Fold::Max),
                        b.splat(20000, type));
  auto result = b.whileLoop(
      {b.splat(1, type), one, first}, [&](ValueRange v) { return b.less(v[0], top); },
      [&](ValueRange v) -> SmallVector<Value> {
        Value k = b.broadcastTo(v[0], HloBuilder::shapeOf(first));
        Value active = b.less(k, degree), next = step(k, v[1], v[2]);
        return {b.add(v[0], b.splat(1, type)), b.select(active, v[2], v[1]),
                b.select(active, next, v[2])};
      });
  Value value = b.select(b.less(degree, one), one, result[2]);
  return b.select(b.less(degree, zero), zero, value);
}

Value isOdd(HloBuilder &b, Value degree) {
  return b.notEqual(b.remainder(degree, b.like(degree, 2)), b.like(degree, 0));
}

struct Operands {
  Value x, degree;
};
std::optional<Operands> operands(Node &n) {
  HloBuilder &b = n.b;
  Type type = n.computeType(n.promoteToFloat({"x", "n"}));
  Value x = n.in("x", type), degree = n.in("n", type);
  if (!fitTogether(n, {x, degree}))
    return std::nullopt;
  std::tie(x, degree) = b.broadcastPair(x, degree);
  return Operands{x, truncate(b, degree)};
}

enum class Kind { T, U, V, W };

/// The four kinds of Chebyshev polynomials of y, which is x or 2x - 1: at the ends by their
/// values, inside by angles for high degrees.
template <Kind kind, bool shifted> void lowerChebyshev(Node &n) {
  auto given = operands(n);
  if (!given)
    return;
  HloBuilder &b = n.b;
  Value x = given->x, degree = given->degree;
  Value one = b.like(x, 1), zero = b.like(x, 0), half = b.like(x, 0.5);
  Value y = shifted ? b.subtract(b.add(x, x), one) : x, twice = b.add(y, y);
  Value first = kind == Kind::T   ? y
                : kind == Kind::U ? twice
                : kind == Kind::V ? b.subtract(twice, one)
                                  : b.add(twice, one);
  Value plain = recurrence(
      b, degree, first, [&](Value, Value p, Value q) { return multiplySubtract(b, twice, q, p); });
  Value odd = isOdd(b, degree);
  auto alternating = [&](Value value) { return b.select(odd, b.negate(value), value); };
  Value more = b.add(degree, one), both = b.add(b.add(degree, degree), one);
  Value high, low; // At y = 1 and y = -1.
  Value angle = b.unary<chlo::AcosOp>(y), inner;
  auto sine = [&](Value v) { return b.unary<stablehlo::SineOp>(v); };
  auto cosine = [&](Value v) { return b.unary<stablehlo::CosineOp>(v); };
  double limit = 8;
  switch (kind) {
  case Kind::T:
    high = one;
    low = alternating(one);
    inner = cosine(b.multiply(degree, angle));
    limit = 6;
    break;
  case Kind::U: {
    high = more;
    low = alternating(more);
    Value s = sine(angle);
    Value edge = b.divide(b.multiply(more, cosine(b.multiply(more, angle))), y);
    inner = b.select(b.notEqual(s, zero), b.divide(sine(b.multiply(more, angle)), s), edge);
    limit = shifted ? 6 : 8;
    break;
  }
  case Kind::V: {
    high = one;
    low = alternating(both);
    Value part = b.multiply(angle, half);
    inner = b.divide(cosine(b.multiply(b.add(degree, half), angle)), cosine(part));
    inner = b.select(b.notEqual(sine(part), one), inner, low);
    limit = shifted ? 6 : 8;
    break;
  }
  case Kind::W: {
    high = both;
    low = alternating(one);
    Value part = b.multiply(angle, half);
    inner = b.divide(sine(b.multiply(b.add(degree, half), angle)), sine(part));
    Value edge = b.select(b.greater(x, zero), both, low);
    inner = b.select(b.notEqual(cosine(part), one), inner, edge);
    limit = shifted ? 4 : 8;
    break;
  }
  }
  Value steep = b.logicalAnd(b.greater(degree, b.like(degree, limit)), b.less(b.abs(y), one));
  Value result = b.select(steep, inner, plain);
  result = b.select(b.equal(y, one), high, result);
  result = b.select(b.equal(y, b.like(y, -1)), low, result);
  n.out(b.select(b.less(degree, zero), zero, result));
}

/// Beyond this degree torch gives NaN.
Value hermiteLimit(HloBuilder &b, Value degree, Value value) {
  double limit = HloBuilder::elementOf(value).isF64() ? 512 : 128;
  return b.select(b.greater(degree, b.like(degree, limit)),
                  b.like(value, std::numeric_limits<double>::quiet_NaN()), value);
}

void lowerHermiteH(Node &n) {
  auto given = operands(n);
  if (!given)
    return;
  HloBuilder &b = n.b;
  Value twice = b.add(given->x, given->x);
  Value value = recurrence(b, given->degree, twice, [&](Value k, Value p, Value q) {
    return multiplySubtract(b, twice, q, b.multiply(b.add(k, k), p));
  });
  n.out(hermiteLimit(b, given->degree, value));
}

void lowerHermiteHe(Node &n) {
  auto given = operands(n);
  if (!given)
    return;
  HloBuilder &b = n.b;
  Value value = recurrence(b, given->degree, given->x, [&](Value k, Value p, Value q) {
    return multiplySubtract(b, given->x, q, b.multiply(k, p));
  });
  n.out(hermiteLimit(b, given->degree, value));
}

void lowerLaguerre(Node &n) {
  auto given = operands(n);
  if (!given)
    return;
  HloBuilder &b = n.b;
  Value one = b.like(given->x, 1), first = b.subtract(one, given->x);
  Value value = recurrence(b, given->degree, first, [&](Value k, Value p, Value q) {
    Value top = multiplySubtract(b, b.add(b.add(k, k), first), q, b.multiply(k, p));
    return b.divide(top, b.add(k, one));
  });
  Value zero = b.like(given->x, 0);
  value = b.select(b.equal(given->x, zero), one, value);
  n.out(b.select(b.less(given->degree, zero), zero, value));
}

void lowerLegendre(Node &n) {
  auto given = operands(n);
  if (!given)
    return;
  HloBuilder &b = n.b;
  Value one = b.like(given->x, 1), zero = b.like(given->x, 0);
  Value value = recurrence(b, given->degree, given->x, [&](Value k, Value p, Value q) {
    Value slope = b.multiply(b.add(b.add(k, k), one), given->x);
    return b.divide(multiplySubtract(b, slope, q, b.multiply(k, p)), b.add(k, one));
  });
  Value end = b.select(b.logicalAnd(isOdd(b, given->degree), b.less(given->x, zero)),
                       b.like(given->x, -1), one);
  value = b.select(b.equal(b.abs(given->x), one), end, value);
  n.out(b.select(b.less(given->degree, zero), zero, value));
}

} // namespace

void registerPolynomials(OpTable &table) {
  table.add("aten.special_chebyshev_polynomial_t", lowerChebyshev<Kind::T, false>);
  table.add("aten.special_chebyshev_polynomial_u", lowerChebyshev<Kind::U, false>);
  table.add("aten.special_chebyshev_polynomial_v", lowerChebyshev<Kind::V, false>);
  table.add("aten.special_chebyshev_polynomial_w", lowerChebyshev<Kind::W, false>);
  table.add("aten.special_shifted_chebyshev_polynomial_t", lowerChebyshev<Kind::T, true>);
  table.add("aten.special_shifted_chebyshev_polynomial_u", lowerChebyshev<Kind::U, true>);
  table.add("aten.special_shifted_chebyshev_polynomial_v", lowerChebyshev<Kind::V, true>);
  table.add("aten.special_shifted_chebyshev_polynomial_w", lowerChebyshev<Kind::W, true>);
  table.add("aten.special_hermite_polynomial_h", lowerHermiteH);
  table.add("aten.special_hermite_polynomial_he", lowerHermiteHe);
  table.add("aten.special_laguerre_polynomial_l", lowerLaguerre);
  table.add("aten.special_legendre_polynomial_p", lowerLegendre);
}

} // namespace cupel::frontends::torch_import
