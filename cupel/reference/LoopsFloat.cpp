// Loops on f32 and f64. Basic arithmetic is IEEE in the type; transcendental functions exist in f64
// only, and smaller types round their results once.

#include "cupel/reference/LoopTemplates.h"

#include <bit>
#include <cmath>

namespace cupel::reference {
namespace {

template <typename T> using BitsOf = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;

// Equal values differ at most in the sign of a zero.
template <typename T> T maximum(T a, T b) {
  using B = BitsOf<T>;
  T equal = std::bit_cast<T>(std::bit_cast<B>(a) & std::bit_cast<B>(b));
  T larger = a == b ? equal : (a > b ? a : b);
  return a != a ? a : (b != b ? b : larger);
}
template <typename T> T minimum(T a, T b) {
  using B = BitsOf<T>;
  T equal = std::bit_cast<T>(std::bit_cast<B>(a) | std::bit_cast<B>(b));
  T smaller = a == b ? equal : (a < b ? a : b);
  return a != a ? a : (b != b ? b : smaller);
}

template <typename T> T sign(T a) {
  T one = std::copysign(T(1), a);
  return a != a || a == 0 ? a : one;
}

/// Integers in the order of the floats: -NaN < -inf < ... < -0 < +0 < ... < +inf < NaN.
template <typename T> auto totalKey(T a) {
  using S = std::make_signed_t<BitsOf<T>>;
  S bits = std::bit_cast<S>(a);
  return static_cast<S>(bits ^
                        static_cast<S>(static_cast<BitsOf<T>>(bits >> (sizeof(T) * 8 - 1)) >> 1));
}

/// Rounds to a format of fewer bits, keeping the type.
template <typename T> void reducePrecision(const LoopArguments &arguments) {
  using B = BitsOf<T>;
  constexpr int kMantissa = sizeof(T) == 4 ? 23 : 52;
  constexpr int kExponent = sizeof(T) == 4 ? 8 : 11;
  constexpr int kBias = (1 << (kExponent - 1)) - 1;
  constexpr B kSign = B(1) << (sizeof(T) * 8 - 1);
  constexpr B kInfinity = ((B(1) << kExponent) - 1) << kMantissa;
  int exponentBits = arguments.exponentBits, mantissaBits = arguments.mantissaBits;
  loop1<T, T>(arguments, [=](T a) -> T {
    B bits = std::bit_cast<B>(a), sign = bits & kSign, magnitude = bits & ~kSign;
    if (magnitude > kInfinity)
      return mantissaBits ? a : std::bit_cast<T>(sign | kInfinity);
    if (magnitude == kInfinity)
      return a;
    if (mantissaBits < kMantissa) {
      int shift = kMantissa - mantissaBits;
      B half = (B(1) << (shift - 1)) - 1 + (magnitude >> shift & 1);
      magnitude = (magnitude + half) & ~((B(1) << shift) - 1);
    }
    if (exponentBits < kExponent) {
      int bias = (1 << (exponentBits - 1)) - 1;
      int exponent = static_cast<int>(magnitude >> kMantissa) - kBias;
      if (exponent > bias)
        magnitude = kInfinity;
      else if (exponent < 1 - bias)
        magnitude = 0;
    }
    return std::bit_cast<T>(sign | magnitude);
  });
}

template <typename T> LoopFunction basicLoop(ElementOp op) {
#define UNARY(name, expression)                                                                    \
  case ElementOp::name:                                                                            \
    return [](const LoopArguments &l) { loop1<T, T>(l, [](T a) -> T { return expression; }); };
#define BINARY(name, expression)                                                                   \
  case ElementOp::name:                                                                            \
    return [](const LoopArguments &l) { loop2<T, T>(l, [](T a, T b) -> T { return expression; }); };
#define COMPARE(name, operation)                                                                   \
  case ElementOp::name:                                                                            \
    return [](const LoopArguments &l) {                                                            \
      loop2<T, uint8_t>(l, [](T a, T b) -> uint8_t { return a operation b; });                     \
    };                                                                                             \
  case ElementOp::Total##name:                                                                     \
    return [](const LoopArguments &l) {                                                            \
      loop2<T, uint8_t>(l, [](T a, T b) -> uint8_t { return totalKey(a) operation totalKey(b); }); \
    };
  switch (op) {
    UNARY(Abs, std::fabs(a))
    UNARY(Negate, -a)
    UNARY(Sign, sign(a))
    UNARY(Ceil, std::ceil(a))
    UNARY(Floor, std::floor(a))
    UNARY(RoundNearestAfz, std::round(a))
    UNARY(RoundNearestEven, std::nearbyint(a))
    UNARY(Real, a)
    UNARY(Imag, (void(a), T(0)))
    UNARY(Sqrt, std::sqrt(a))
    BINARY(Add, a + b)
    BINARY(Subtract, a - b)
    BINARY(Multiply, a * b)
    BINARY(Divide, a / b)
    BINARY(Remainder, std::fmod(a, b))
    BINARY(Maximum, maximum(a, b))
    BINARY(Minimum, minimum(a, b))
    COMPARE(Equal, ==)
    COMPARE(NotEqual, !=)
    COMPARE(GreaterEqual, >=)
    COMPARE(Greater, >)
    COMPARE(LessEqual, <=)
    COMPARE(Less, <)
  case ElementOp::IsFinite:
    return [](const LoopArguments &l) {
      loop1<T, uint8_t>(l, [](T a) -> uint8_t { return a - a == 0; });
    };
  case ElementOp::ReducePrecision:
    return reducePrecision<T>;
  case ElementOp::Complex:
    return [](const LoopArguments &l) {
      loop2<T, std::complex<T>>(l, [](T a, T b) { return std::complex<T>(a, b); });
    };
  case ElementOp::Clamp:
    return [](const LoopArguments &l) {
      loop3<T, T, T>(l, [](T low, T x, T high) { return minimum(maximum(x, low), high); });
    };
  default:
    return nullptr;
  }
#undef COMPARE
}

/// The C library's cube root may be off by several units; one step of Newton's method with an exact
/// residual mends that.
double cubeRoot(double x) {
  if (x == 0 || std::fabs(x) == INFINITY || x != x)
    return std::cbrt(x);
  // Near the bottom of the range the residual would underflow.
  if (std::fabs(x) < 0x1p-900)
    return 0x1p-100 * cubeRoot(0x1p300 * x);
  double y = std::cbrt(x);
  double square = y * y, squareError = std::fma(y, y, -square);
  double residual = std::fma(square, y, -x) + squareError * y;
  return y - residual / (3 * square);
}

/// 1 / (1 + exp(-x)), where only the exponential and the result are rounded.
double logistic(double x) {
  // Below, 1 + exp(-x) is exp(-x) to the last bit, and would overflow early.
  if (x < -40)
    return std::exp(x);
  double e = std::exp(-x);
  double sum = 1 + e, part = sum - 1;
  double sumError = (1 - (sum - part)) + (e - part);
  double quotient = 1 / sum;
  double residual = std::fma(-quotient, sum, 1.0) - quotient * sumError;
  return quotient + quotient * residual;
}

/// (e^y - 1) / (e^y + 1) for y = 2 |x|; numerator and denominator are kept in two parts each, so
/// that little more than the last rounding is lost. The C library's is off by more than 2 ULP.
double hyperbolicTangent(double x) {
  double y = 2 * std::fabs(x);
  if (y < 0x1p-27 || std::isnan(y))
    return x;
  y = y > 44 ? 44 : y; // From there on it is 1.
  // y = k ln 2 + r, r in two parts; the first part of ln 2 is short enough for exact products.
  double k = std::nearbyint(y * 0x1.71547652b82fep0);
  double near = y - k * 0x1.62e42fee00000p-1, away = k * 0x1.a39ef35793c76p-33;
  double r = near - away, rest = (near - r) - away;
  // p = e^r - 1 = r + r^2/2 + r^3 (1/3! + r/4! + ...), of which the first two terms are exact.
  double square = r * r, squareError = std::fma(r, r, -square), half = square / 2;
  double series = 0;
  for (double factor : {1.0 / 1307674368000, 1.0 / 87178291200, 1.0 / 6227020800, 1.0 / 479001600,
                        1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040,
                        1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6})
    series = series * r + factor;
  double cubic = square * r * series;
  double p = r + half, low = (r - p) + half;
  double all = p + cubic;
  low += (p - all) + cubic;
  low += rest + rest * r + squareError / 2;
  // e^y - 1 = (scale - 1) + scale * p.
  double scale = std::ldexp(1.0, static_cast<int>(k)), high = scale * all;
  double top = (scale - 1) + high, back = top - (scale - 1);
  double topError = ((scale - 1) - (top - back)) + (high - back) + scale * low;
  double bottom = top + 2, forth = bottom - top;
  double bottomError = (top - (bottom - forth)) + (2 - forth) + topError;
  double quotient = top / bottom;
  double residual = std::fma(-quotient, bottom, top) + (topError - quotient * bottomError);
  return std::copysign(quotient + residual / bottom, x);
}

} // namespace

LoopFunction floatLoop(ElementOp op) { return basicLoop<float>(op); }

LoopFunction doubleLoop(ElementOp op) {
  using T = double;
  switch (op) {
    UNARY(Cbrt, cubeRoot(a))
    UNARY(Cosine, std::cos(a))
    UNARY(Exponential, std::exp(a))
    UNARY(ExponentialMinusOne, std::expm1(a))
    UNARY(Log, std::log(a))
    UNARY(LogPlusOne, std::log1p(a))
    UNARY(Logistic, logistic(a))
    UNARY(Rsqrt, 1 / std::sqrt(a))
    UNARY(Sine, std::sin(a))
    UNARY(Tan, std::tan(a))
    UNARY(Tanh, hyperbolicTangent(a))
    BINARY(Power, std::pow(a, b))
    BINARY(Atan2, std::atan2(a, b))
  default:
    return basicLoop<double>(op);
  }
}
#undef UNARY
#undef BINARY

} // namespace cupel::reference
