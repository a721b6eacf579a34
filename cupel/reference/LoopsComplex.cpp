// Loops on complex numbers. Sums and products are computed in the type itself, everything else in
// complex<f64>, where complex<f32> rounds its results once.

#include "cupel/reference/LoopTemplates.h"

#include <cmath>
#include <complex>

namespace cupel::reference {
namespace {

using Z = std::complex<double>;

bool isFinite(Z z) { return std::isfinite(z.real()) && std::isfinite(z.imag()); }

template <typename T> std::complex<T> multiply(std::complex<T> a, std::complex<T> b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

template <typename T> bool less(std::complex<T> a, std::complex<T> b) {
  return a.real() < b.real() || (a.real() == b.real() && a.imag() < b.imag());
}
template <typename T> bool isNan(std::complex<T> a) {
  return std::isnan(a.real()) || std::isnan(a.imag());
}
template <typename T> std::complex<T> maximum(std::complex<T> a, std::complex<T> b) {
  return isNan(a) ? a : isNan(b) ? b : less(a, b) ? b : a;
}
template <typename T> std::complex<T> minimum(std::complex<T> a, std::complex<T> b) {
  return isNan(a) ? a : isNan(b) ? b : less(b, a) ? b : a;
}

/// (1 + x)^2 + y^2 - 1 without cancellation: the terms are summed with their rounding errors.
double squaredMinusOne(double x, double y) {
  double terms[] = {2 * x, x * x, std::fma(x, x, -(x * x)), y * y, std::fma(y, y, -(y * y))};
  double sum = 0, error = 0;
  for (double term : terms) {
    double next = sum + term, back = next - sum;
    error += (sum - (next - back)) + (term - back);
    sum = next;
  }
  return sum + error;
}

Z logPlusOne(Z z) {
  double x = z.real(), y = z.imag();
  Z naive = std::log(Z(1 + x, y));
  if (!isFinite(z) || std::fabs(x) > 1e100 || std::fabs(y) > 1e100)
    return naive;
  double square = squaredMinusOne(x, y);
  // Far from the unit circle around -1 the logarithm itself is as good.
  double real = square > -0.5 && square < 1 ? 0.5 * std::log1p(square) : naive.real();
  return {real, std::atan2(y, 1 + x)};
}

Z expMinusOne(Z z) {
  double x = z.real(), y = z.imag();
  if (!isFinite(z))
    return std::exp(z) - 1.0;
  double half = std::sin(y / 2);
  return {std::expm1(x) * std::cos(y) - 2 * half * half, y == 0 ? y : std::exp(x) * std::sin(y)};
}

Z power(Z a, Z b) {
  if (b == 0.0)
    return 1;
  if (a == 0.0) {
    if (b.imag() == 0 && b.real() > 0)
      return 0;
    if (b.imag() == 0 && b.real() < 0)
      return {INFINITY, 0};
  }
  double theta = std::arg(a), logarithm = std::log(a).real();
  double scale = std::exp(b.real() * logarithm - b.imag() * theta);
  double angle = b.real() * theta + b.imag() * logarithm;
  return {scale * std::cos(angle), scale * std::sin(angle)};
}

Z sign(Z a) {
  if (isNan(a))
    return {NAN, NAN};
  double size = std::hypot(a.real(), a.imag());
  if (size == 0)
    return a;
  return {a.real() / size, a.imag() / size};
}

Z reciprocalSquareRoot(Z a) {
  if (std::isinf(a.real()) || std::isinf(a.imag()))
    return 0;
  return 1.0 / std::sqrt(a);
}

Z logistic(Z a) { return 1.0 / (1.0 + std::exp(-a)); }

Z cubeRoot(Z a) {
  if (a == 0.0)
    return a;
  return std::polar(std::cbrt(std::abs(a)), std::arg(a) / 3);
}

/// -i log((b + i a) / sqrt(a^2 + b^2)).
Z atan2(Z a, Z b) {
  Z i(0, 1);
  return -i * std::log((b + i * a) / std::sqrt(a * a + b * b));
}

template <typename T> LoopFunction basicLoop(ElementOp op) {
  using C = std::complex<T>;
#define UNARY(name, result, expression)                                                            \
  case ElementOp::name:                                                                            \
    return [](const LoopArguments &l) {                                                            \
      loop1<C, result>(l, [](C a) -> result { return expression; });                               \
    };
#define BINARY(name, result, expression)                                                           \
  case ElementOp::name:                                                                            \
    return [](const LoopArguments &l) {                                                            \
      loop2<C, result>(l, [](C a, C b) -> result { return expression; });                          \
    };
  switch (op) {
    UNARY(Negate, C, -a)
    UNARY(Real, T, a.real())
    UNARY(Imag, T, a.imag())
    BINARY(Add, C, a + b)
    BINARY(Subtract, C, a - b)
    BINARY(Multiply, C, multiply(a, b))
    BINARY(Maximum, C, maximum(a, b))
    BINARY(Minimum, C, minimum(a, b))
    BINARY(Equal, uint8_t, a == b)
    BINARY(NotEqual, uint8_t, a != b)
    BINARY(Less, uint8_t, less(a, b))
    BINARY(Greater, uint8_t, less(b, a))
    BINARY(LessEqual, uint8_t, less(a, b) || a == b)
    BINARY(GreaterEqual, uint8_t, less(b, a) || a == b)
  case ElementOp::Clamp:
    return [](const LoopArguments &l) {
      loop3<C, C, C>(l, [](C low, C x, C high) { return minimum(maximum(x, low), high); });
    };
  default:
    return nullptr;
  }
}

} // namespace

LoopFunction complexLoop(ElementOp op) {
  if (op == ElementOp::Abs)
    return [](const LoopArguments &l) {
      loop1<std::complex<float>, float>(l, [](std::complex<float> a) {
        return static_cast<float>(
            std::hypot(static_cast<double>(a.real()), static_cast<double>(a.imag())));
      });
    };
  return basicLoop<float>(op);
}

LoopFunction complexDoubleLoop(ElementOp op) {
  using C = Z;
  switch (op) {
    UNARY(Abs, double, std::hypot(a.real(), a.imag()))
    UNARY(Cbrt, C, cubeRoot(a))
    UNARY(Cosine, C, std::cos(a))
    UNARY(Exponential, C, std::exp(a))
    UNARY(ExponentialMinusOne, C, expMinusOne(a))
    UNARY(Log, C, std::log(a))
    UNARY(LogPlusOne, C, logPlusOne(a))
    UNARY(Logistic, C, logistic(a))
    UNARY(Rsqrt, C, reciprocalSquareRoot(a))
    UNARY(Sign, C, sign(a))
    UNARY(Sine, C, std::sin(a))
    UNARY(Sqrt, C, std::sqrt(a))
    UNARY(Tan, C, std::tan(a))
    UNARY(Tanh, C, std::tanh(a))
    BINARY(Divide, C, a / b)
    BINARY(Power, C, power(a, b))
    BINARY(Atan2, C, atan2(a, b))
  default:
    return basicLoop<double>(op);
  }
}
#undef UNARY
#undef BINARY

} // namespace cupel::reference
