// Floats: functions of f32 are computed in f64 and rounded once, those of f64 are the C library's.

#include "cupel/compiler/brief/ElementLoops.h"

#include "cupel/tensor/Float.h"

#include <bit>
#include <cmath>
#include <type_traits>

namespace cupel::brief {
namespace {

template <typename T, auto function>
void unary(const void *const *in, void *out, int64_t count, const LoopFacts &) {
  const T *x = static_cast<const T *>(in[0]);
  auto *result = static_cast<std::invoke_result_t<decltype(function), T> *>(out);
  for (int64_t i = 0; i < count; ++i)
    result[i] = function(x[i]);
}

template <typename T, auto function>
void binary(const void *const *in, void *out, int64_t count, const LoopFacts &) {
  const T *x = static_cast<const T *>(in[0]), *y = static_cast<const T *>(in[1]);
  T *result = static_cast<T *>(out);
  for (int64_t i = 0; i < count; ++i)
    result[i] = function(x[i], y[i]);
}

/// NaN stays, and -0 is below +0.
template <typename T> T maximumOf(T a, T b) {
  if (std::isnan(a) || std::isnan(b))
    return a + b;
  if (a == b)
    return std::signbit(a) ? b : a;
  return a > b ? a : b;
}
template <typename T> T minimumOf(T a, T b) {
  if (std::isnan(a) || std::isnan(b))
    return a + b;
  if (a == b)
    return std::signbit(a) ? a : b;
  return a < b ? a : b;
}

double logisticOf(double x) {
  double e = std::exp(-std::fabs(x));
  return (x < 0 ? e : 1) / (1 + e);
}

template <typename T> T signOf(T x) {
  return x == 0 || std::isnan(x) ? x : std::copysign(T(1), x);
}

/// Ties away from zero; adding a half would round numbers just below it.
template <typename T> T roundAway(T x) { return std::round(x); }

template <typename T>
void clamped(const void *const *in, void *out, int64_t count, const LoopFacts &) {
  const T *low = static_cast<const T *>(in[0]), *x = static_cast<const T *>(in[1]),
          *high = static_cast<const T *>(in[2]);
  T *result = static_cast<T *>(out);
  for (int64_t i = 0; i < count; ++i)
    result[i] = minimumOf(maximumOf(x[i], low[i]), high[i]);
}

template <typename T>
void withLessPrecision(const void *const *in, void *out, int64_t count, const LoopFacts &facts) {
  using Bits = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
  constexpr int kMantissa = sizeof(T) == 8 ? 52 : 23, kExponent = sizeof(T) == 8 ? 11 : 8;
  constexpr int kBias = (1 << (kExponent - 1)) - 1;
  constexpr Bits kSign = Bits{1} << (sizeof(T) * 8 - 1);
  constexpr Bits kInfinity = ((Bits{1} << kExponent) - 1) << kMantissa;
  for (int64_t i = 0; i < count; ++i) {
    auto bits = std::bit_cast<Bits>(static_cast<const T *>(in[0])[i]);
    Bits sign = bits & kSign, magnitude = bits & ~kSign, rounded = magnitude;
    if (magnitude >= kInfinity) { // Without a mantissa there is no NaN.
      bool isLost = magnitude > kInfinity && facts.mantissaBits == 0;
      static_cast<T *>(out)[i] = std::bit_cast<T>(isLost ? sign | kInfinity : bits);
      continue;
    }
    if (facts.mantissaBits < kMantissa) {
      int shift = kMantissa - facts.mantissaBits;
      Bits odd = (magnitude >> shift) & 1;
      rounded = (magnitude + odd + (Bits{1} << (shift - 1)) - 1) & ~((Bits{1} << shift) - 1);
    }
    if (facts.exponentBits < kExponent) {
      int largest = (1 << (facts.exponentBits - 1)) - 1, power = int(rounded >> kMantissa);
      if (power > largest + kBias)
        rounded = kInfinity;
      else if (power < 1 - largest + kBias)
        rounded = 0;
    }
    static_cast<T *>(out)[i] = std::bit_cast<T>(Bits(sign | rounded));
  }
}

struct Row {
  std::string_view name;
  ElementLoop f32, f64;
};

#define UNARY(name, T, expression) unary<T, [](T x) -> T { return T(expression); }>
#define BINARY(name, T, expression) binary<T, [](T x, T y) -> T { return T(expression); }>
/// The same expression in both types.
#define PLAIN(name, expression) {name, UNARY(name, float, expression), UNARY(name, double, expression)}
#define PAIR(name, expression) {name, BINARY(name, float, expression), BINARY(name, double, expression)}
/// In f64 for both.
#define WIDE(name, function)                                                                       \
  {name, UNARY(name, float, function(double(x))), UNARY(name, double, function(x))}
#define WIDE_PAIR(name, function)                                                                  \
  {name, BINARY(name, float, function(double(x), double(y))), BINARY(name, double, function(x, y))}

constexpr Row kRows[] = {
    PLAIN("abs", std::fabs(x)),
    WIDE("cbrt", std::cbrt),
    PLAIN("ceil", std::ceil(x)),
    WIDE("cosine", std::cos),
    WIDE("exponential", std::exp),
    WIDE("exponential_minus_one", std::expm1),
    PLAIN("floor", std::floor(x)),
    {"is_finite", unary<float, [](float x) -> uint8_t { return std::isfinite(x); }>,
     unary<double, [](double x) -> uint8_t { return std::isfinite(x); }>},
    WIDE("log", std::log),
    WIDE("log_plus_one", std::log1p),
    WIDE("logistic", logisticOf),
    PLAIN("negate", -x),
    PLAIN("real", x),
    {"reduce_precision", withLessPrecision<float>, withLessPrecision<double>},
    PLAIN("round_nearest_afz", roundAway(x)),
    PLAIN("round_nearest_even", std::nearbyint(x)),
    WIDE("rsqrt", 1 / std::sqrt),
    PLAIN("sign", signOf(x)),
    WIDE("sine", std::sin),
    PLAIN("sqrt", std::sqrt(x)),
    WIDE("tan", std::tan),
    WIDE("tanh", std::tanh),
    WIDE("erf", std::erf),
    PAIR("add", x + y),
    WIDE_PAIR("atan2", std::atan2),
    PAIR("divide", x / y),
    PAIR("maximum", maximumOf(x, y)),
    PAIR("minimum", minimumOf(x, y)),
    PAIR("multiply", x *y),
    WIDE_PAIR("power", std::pow),
    PAIR("remainder", std::fmod(x, y)),
    PAIR("subtract", x - y),
    {"clamp", clamped<float>, clamped<double>},
};

#undef UNARY
#undef BINARY
#undef PLAIN
#undef PAIR
#undef WIDE
#undef WIDE_PAIR

template <DType type>
void rounded(const void *const *in, void *out, int64_t count, const LoopFacts &) {
  for (int64_t i = 0; i < count; ++i)
    static_cast<float *>(out)[i] =
        tensor::toFloat<type>(tensor::fromFloat<type>(static_cast<const float *>(in[0])[i]));
}

} // namespace

ElementLoop floatLoop(std::string_view name, DType type) {
  for (const Row &row : kRows)
    if (row.name == name)
      return type == DType::F32 ? row.f32 : row.f64;
  return nullptr;
}

ElementLoop roundLoop(DType type) {
  if (type == DType::F16)
    return rounded<DType::F16>;
  return type == DType::BF16 ? rounded<DType::BF16> : nullptr;
}

} // namespace cupel::brief
