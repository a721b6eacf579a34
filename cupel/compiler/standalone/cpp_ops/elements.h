// Functions of single elements: what the operations of a program mean. Integers wrap, floats round
// after each step, maximum and minimum keep NaN and tell +0 from -0.
#pragma once

#include "formats.h"

namespace ops {

/// Unsigned arithmetic never overflows.
template <class T> using Wrapping = std::conditional_t<(sizeof(T) < 4), uint32_t, std::make_unsigned_t<T>>;

template <class T> inline T wrap(uint64_t value) {
  if constexpr (is_small_int<T>::value)
    return T(value);
  else
    return T(std::make_unsigned_t<T>(value));
}
template <class T> inline uint64_t widen(T x) {
  if constexpr (is_small_int<T>::value)
    return uint64_t(int64_t(int(x)));
  else
    return uint64_t(x);
}
/// The bits of a value alone.
template <class T> inline uint64_t bits_of(T x) {
  constexpr int bits = IntegerTraits<T>::bits;
  return bits == 64 ? widen(x) : widen(x) & ((uint64_t(1) << (bits & 63)) - 1);
}

#define OPS_BINARY(name, float_expression, integer_expression, bool_expression)                        \
  template <class T> inline T name(const T &a, const T &b) {                                           \
    if constexpr (is_bool_v<T>)                                                                        \
      return bool_expression;                                                                          \
    else if constexpr (is_small_float<T>::value) {                                                     \
      float x = float(a), y = float(b);                                                                \
      return T(float_expression);                                                                      \
    } else if constexpr (is_integer_v<T>)                                                              \
      return integer_expression;                                                                       \
    else {                                                                                             \
      const T &x = a, &y = b;                                                                          \
      return float_expression;                                                                         \
    }                                                                                                  \
  }
OPS_BINARY(add, x + y, wrap<T>(widen(a) + widen(b)), a | b)
OPS_BINARY(subtract, x - y, wrap<T>(widen(a) - widen(b)), a ^ b)
#undef OPS_BINARY

template <class T> inline T multiply(const T &a, const T &b) {
  if constexpr (is_bool_v<T>)
    return a & b;
  else if constexpr (is_small_float<T>::value)
    return T(float(a) * float(b));
  else if constexpr (is_integer_v<T>)
    return wrap<T>(widen(a) * widen(b));
  else if constexpr (is_complex_v<T>)
    return T(a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real());
  else
    return a * b;
}

template <class T> inline T divide(const T &a, const T &b) {
  if constexpr (is_small_float<T>::value)
    return T(float(a) / float(b));
  else if constexpr (is_integer_v<T>) {
    if (widen(b) == 0)
      return wrap<T>(~uint64_t(0));
    if constexpr (IntegerTraits<T>::is_signed)
      return int64_t(widen(b)) == -1 ? wrap<T>(0 - widen(a)) : wrap<T>(uint64_t(int64_t(widen(a)) / int64_t(widen(b))));
    else
      return wrap<T>(bits_of(a) / bits_of(b));
  } else if constexpr (std::is_same<T, c64>::value)
    return c64(c128(a) / c128(b));
  else
    return a / b;
}

template <class T> inline T remainder(const T &a, const T &b) {
  if constexpr (is_small_float<T>::value)
    return T(std::fmod(float(a), float(b)));
  else if constexpr (is_integer_v<T>) {
    if (widen(b) == 0)
      return a;
    if constexpr (IntegerTraits<T>::is_signed)
      return int64_t(widen(b)) == -1 ? T(0) : wrap<T>(uint64_t(int64_t(widen(a)) % int64_t(widen(b))));
    else
      return wrap<T>(bits_of(a) % bits_of(b));
  } else
    return std::fmod(a, b);
}

/// Complex numbers by their real parts, then by their imaginary ones.
template <class T> inline bool is_before(const std::complex<T> &a, const std::complex<T> &b) {
  return a.real() < b.real() || (a.real() == b.real() && a.imag() < b.imag());
}
template <class T> inline T maximum(const T &a, const T &b) {
  if constexpr (is_bool_v<T>)
    return a | b;
  else if constexpr (is_complex_v<T>)
    return a != a ? a : b != b ? b : is_before(a, b) ? b : a;
  else if constexpr (is_integer_v<T>)
    return a < b ? b : a;
  else if constexpr (is_small_float<T>::value)
    return T(maximum(float(a), float(b)));
  else {
    // Of equal numbers only zeros differ, by their signs. Without a branch, so that loops become vector code.
    using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
    T larger = a > b ? a : b, same = bits_as<T>(Bits(bits_as<Bits>(a) & bits_as<Bits>(b)));
    larger = a == b ? same : larger;
    larger = b != b ? b : larger;
    return a != a ? a : larger;
  }
}
template <class T> inline T minimum(const T &a, const T &b) {
  if constexpr (is_bool_v<T>)
    return a & b;
  else if constexpr (is_complex_v<T>)
    return a != a ? a : b != b ? b : is_before(b, a) ? b : a;
  else if constexpr (is_integer_v<T>)
    return b < a ? b : a;
  else if constexpr (is_small_float<T>::value)
    return T(minimum(float(a), float(b)));
  else {
    using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
    T smaller = a < b ? a : b, same = bits_as<T>(Bits(bits_as<Bits>(a) | bits_as<Bits>(b)));
    smaller = a == b ? same : smaller;
    smaller = b != b ? b : smaller;
    return a != a ? a : smaller;
  }
}
template <class T> inline T clamp(const T &low, const T &x, const T &high) {
  return minimum(maximum(x, low), high);
}
template <class T> inline T select(bool condition, const T &a, const T &b) { return condition ? a : b; }

template <class T> inline T logical_and(const T &a, const T &b) {
  if constexpr (is_bool_v<T>)
    return a & b;
  else
    return wrap<T>(widen(a) & widen(b));
}
template <class T> inline T logical_or(const T &a, const T &b) {
  if constexpr (is_bool_v<T>)
    return a | b;
  else
    return wrap<T>(widen(a) | widen(b));
}
template <class T> inline T logical_xor(const T &a, const T &b) {
  if constexpr (is_bool_v<T>)
    return a != b;
  else
    return wrap<T>(widen(a) ^ widen(b));
}
template <class T> inline T logical_not(const T &a) {
  if constexpr (is_bool_v<T>)
    return !a;
  else
    return wrap<T>(~widen(a));
}
template <class T> inline T negate(const T &a) {
  if constexpr (is_small_float<T>::value)
    return T(-float(a));
  else if constexpr (is_integer_v<T>)
    return wrap<T>(0 - widen(a));
  else
    return -a;
}

template <class T> inline T shift_left(const T &a, const T &b) {
  constexpr uint64_t bits = IntegerTraits<T>::bits;
  return bits_of(b) >= bits ? T(0) : wrap<T>(widen(a) << (bits_of(b) & 63));
}
template <class T> inline T shift_right_logical(const T &a, const T &b) {
  constexpr uint64_t bits = IntegerTraits<T>::bits;
  return bits_of(b) >= bits ? T(0) : wrap<T>(bits_of(a) >> (bits_of(b) & 63));
}
template <class T> inline T shift_right_arithmetic(const T &a, const T &b) {
  constexpr int bits = IntegerTraits<T>::bits;
  int64_t value = int64_t(bits_of(a) << (64 - bits)) >> (64 - bits);
  int by = bits_of(b) >= uint64_t(bits) ? bits - 1 : int(bits_of(b));
  return wrap<T>(uint64_t(value >> by));
}
template <class T> inline T popcnt(const T &a) {
  return wrap<T>(uint64_t(__builtin_popcountll(bits_of(a))));
}
template <class T> inline T count_leading_zeros(const T &a) {
  uint64_t value = bits_of(a);
  int zeros = value == 0 ? IntegerTraits<T>::bits : __builtin_clzll(value) - (64 - IntegerTraits<T>::bits);
  return wrap<T>(uint64_t(zeros));
}

template <class T> inline auto absolute(const T &a) {
  if constexpr (is_complex_v<T>)
    return typename T::value_type(std::hypot(double(a.real()), double(a.imag())));
  else if constexpr (is_small_float<T>::value)
    return T(std::fabs(float(a)));
  else if constexpr (is_integer_v<T>) {
    if constexpr (IntegerTraits<T>::is_signed)
      return int64_t(widen(a)) < 0 ? negate(a) : a;
    else
      return a;
  } else
    return std::fabs(a);
}
template <class T> inline T sign(const T &a) {
  if constexpr (is_complex_v<T>) {
    auto size = absolute(a);
    return size == 0 ? a : T(a.real() / size, a.imag() / size);
  } else if constexpr (is_small_float<T>::value)
    return T(sign(float(a)));
  else if constexpr (is_integer_v<T>) {
    if constexpr (IntegerTraits<T>::is_signed)
      return T(int64_t(widen(a)) > 0 ? 1 : int64_t(widen(a)) < 0 ? -1 : 0);
    else
      return T(widen(a) != 0 ? 1 : 0);
  } else
    return a != a || a == 0 ? a : std::copysign(T(1), a);
}

/// Functions that are computed in double (complex ones in complex double) and rounded once.
#define OPS_WIDE(name, real_expression, complex_expression)                                            \
  template <class T> inline T name(const T &a) {                                                       \
    if constexpr (is_complex_v<T>) {                                                                   \
      c128 x(a.real(), a.imag());                                                                      \
      return convert<T>(c128(complex_expression));                                                     \
    } else {                                                                                           \
      double x = double(a);                                                                            \
      return convert<T>(real_expression);                                                              \
    }                                                                                                  \
  }
OPS_WIDE(log, std::log(x), std::log(x))
OPS_WIDE(log_plus_one, std::log1p(x), std::log(x + 1.0))
OPS_WIDE(sine, std::sin(x), std::sin(x))
OPS_WIDE(cosine, std::cos(x), std::cos(x))
OPS_WIDE(tan, std::tan(x), std::tan(x))
OPS_WIDE(cbrt, std::cbrt(x), std::pow(x, 1.0 / 3))
#undef OPS_WIDE

/// e^x = 2^k * (1 + q), |x| below 105, without a branch, so that loops over it become vector code.
struct Exponential {
  float k, q;
};
inline Exponential exponential_parts(float x) {
  float k = __builtin_rintf(x * 1.44269504f);
  float r = x - k * 0.693145752f;
  r = r - k * 1.42860677e-6f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  return {k, p * r * r + r};
}
/// e^x in float, good to about one unit in the last place.
inline float exponential_float(float x) {
  // What vanishes (a mask's -1e9) is not computed: an underflow takes many processors a hundred cycles.
  Exponential parts = exponential_parts(x < -104.0f ? 0.0f : (x > 89.0f ? 89.0f : x));
  float value = parts.q + 1.0f;
  // Two steps, so that results below the normal range come out right.
  int whole = int(parts.k), half = whole / 2;
  value = value * bits_as<float>(uint32_t(half + 127) << 23);
  value = value * bits_as<float>(uint32_t(whole - half + 127) << 23);
  value = x > 88.72284f ? std::numeric_limits<float>::infinity() : value;
  value = x < -104.0f ? 0.0f : value;
  return x != x ? x : value;
}
/// e^x - 1 in float: 2^k * q + (2^k - 1), by halves so that the largest results do not overflow.
inline float exponential_minus_one_float(float x) {
  float clipped = x < -30.0f ? -30.0f : x;
  Exponential parts = exponential_parts(clipped > 89.0f ? 89.0f : clipped);
  float half = bits_as<float>(uint32_t(int(parts.k) + 126) << 23);
  float value = 2.0f * (half * parts.q + (half - 0.5f));
  value = __builtin_fabsf(x) < 1e-9f ? x : value;
  value = x > 88.72284f ? std::numeric_limits<float>::infinity() : value;
  return x != x ? x : value;
}
/// tanh in float: (1 - e) / (1 + e) with e = e^-2|x|, and a series where that loses digits.
inline float tanh_float(float x) {
  float size = __builtin_fabsf(x), e = exponential_float(-2.0f * size);
  float large = (1.0f - e) / (1.0f + e);
  float s = x * x;
  float p = -5.70498872745e-3f;
  p = p * s + 2.06390887954e-2f;
  p = p * s - 5.37397155531e-2f;
  p = p * s + 1.33314422036e-1f;
  p = p * s - 3.33332819422e-1f;
  float small = size + size * s * p;
  float value = size < 0.625f ? small : large;
  return x != x ? x : __builtin_copysignf(value, x);
}

template <class T> inline T exponential(const T &a) {
  if constexpr (std::is_same<T, float>::value)
    return exponential_float(a);
  else if constexpr (is_complex_v<T>)
    return convert<T>(std::exp(c128(a.real(), a.imag())));
  else
    return convert<T>(std::exp(double(a)));
}
template <class T> inline T exponential_minus_one(const T &a) {
  if constexpr (std::is_same<T, float>::value)
    return exponential_minus_one_float(a);
  else if constexpr (is_complex_v<T>)
    return convert<T>(std::exp(c128(a.real(), a.imag())) - 1.0);
  else
    return convert<T>(std::expm1(double(a)));
}
template <class T> inline T tanh(const T &a) {
  if constexpr (std::is_same<T, float>::value)
    return tanh_float(a);
  else if constexpr (is_complex_v<T>)
    return convert<T>(std::tanh(c128(a.real(), a.imag())));
  else
    return convert<T>(std::tanh(double(a)));
}
template <class T> inline T logistic(const T &a) {
  if constexpr (std::is_same<T, float>::value)
    return 1.0f / (1.0f + exponential_float(-a));
  else if constexpr (is_complex_v<T>)
    return convert<T>(1.0 / (1.0 + std::exp(-c128(a.real(), a.imag()))));
  else
    return convert<T>(1.0 / (1.0 + std::exp(-double(a))));
}
template <class T> inline T sqrt(const T &a) {
  if constexpr (std::is_same<T, float>::value)
    return __builtin_sqrtf(a);
  else if constexpr (is_complex_v<T>)
    return convert<T>(std::sqrt(c128(a.real(), a.imag())));
  else
    return convert<T>(std::sqrt(double(a)));
}
template <class T> inline T rsqrt(const T &a) {
  if constexpr (is_complex_v<T>)
    return convert<T>(1.0 / std::sqrt(c128(a.real(), a.imag())));
  else
    return convert<T>(1.0 / std::sqrt(double(a)));
}
template <class T> inline T atan2(const T &y, const T &x) {
  if constexpr (is_complex_v<T>) {
    c128 a(y.real(), y.imag()), b(x.real(), x.imag()), i(0, 1);
    return convert<T>(-i * std::log((b + i * a) / std::sqrt(b * b + a * a)));
  } else
    return convert<T>(std::atan2(double(y), double(x)));
}
template <class T> inline T power(const T &a, const T &b) {
  if constexpr (is_complex_v<T>) {
    c128 x(a.real(), a.imag()), y(b.real(), b.imag());
    return y == c128(0) ? T(1) : x == c128(0) ? T(0) : convert<T>(std::exp(y * std::log(x)));
  } else if constexpr (is_integer_v<T>) {
    if (IntegerTraits<T>::is_signed && int64_t(widen(b)) < 0) {
      int64_t base = int64_t(widen(a));
      return T(base == 1 ? 1 : base == -1 ? ((widen(b) & 1) ? -1 : 1) : 0);
    }
    uint64_t result = 1, square = widen(a);
    for (uint64_t left = bits_of(b); left; left >>= 1) {
      if (left & 1)
        result *= square;
      square *= square;
    }
    return wrap<T>(result);
  } else
    return convert<T>(std::pow(double(a), double(b)));
}

template <class T> inline T floor(const T &a) { return convert<T>(std::floor(typename Computes<T>::type(a))); }
template <class T> inline T ceil(const T &a) { return convert<T>(std::ceil(typename Computes<T>::type(a))); }
template <class T> inline T round_nearest_even(const T &a) {
  return convert<T>(std::nearbyint(typename Computes<T>::type(a)));
}
template <class T> inline T round_nearest_afz(const T &a) {
  return convert<T>(std::round(typename Computes<T>::type(a)));
}
template <class T> inline bool is_finite(const T &a) { return std::isfinite(double(a)); }
template <class T> inline auto real(const T &a) {
  if constexpr (is_complex_v<T>)
    return a.real();
  else
    return a;
}
template <class T> inline auto imag(const T &a) {
  if constexpr (is_complex_v<T>)
    return a.imag();
  else
    return convert<T>(0.0);
}
template <class T> inline std::complex<T> make_complex(const T &a, const T &b) { return {a, b}; }

template <class T> inline T reduce_precision(const T &a, int exponent_bits, int mantissa_bits) {
  if constexpr (is_small_float<T>::value)
    return T(reduce_precision(float(a), exponent_bits, mantissa_bits));
  else {
    using B = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
    constexpr int mantissa = sizeof(T) == 4 ? 23 : 52, exponent = sizeof(T) == 4 ? 8 : 11;
    constexpr B sign_bit = B(1) << (sizeof(T) * 8 - 1), infinity = ((B(1) << exponent) - 1) << mantissa;
    B bits = bits_as<B>(a), sign = bits & sign_bit, size = bits & ~sign_bit;
    if (size > infinity)
      return mantissa_bits ? a : bits_as<T>(B(sign | infinity));
    if (size == infinity)
      return a;
    if (mantissa_bits < mantissa) {
      int shift = mantissa - mantissa_bits;
      size = (size + (B(1) << (shift - 1)) - 1 + ((size >> shift) & 1)) & ~((B(1) << shift) - 1);
    }
    if (exponent_bits < exponent) {
      int bias = (1 << (exponent_bits - 1)) - 1;
      int has = int(size >> mantissa) - ((1 << (exponent - 1)) - 1);
      size = has > bias ? infinity : has < 1 - bias ? 0 : size;
    }
    return bits_as<T>(B(sign | size));
  }
}

/// Integers in the order of floats: -NaN < -inf < ... < -0 < +0 < ... < inf < NaN.
template <class T> inline auto total_order(const T &a) {
  if constexpr (is_small_float<T>::value)
    return total_order(float(a));
  else if constexpr (std::is_floating_point<T>::value) {
    using S = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
    S bits = bits_as<S>(a);
    return S(bits < 0 ? bits ^ std::numeric_limits<S>::max() : bits);
  } else
    return a;
}

template <class T> inline auto comparable(const T &a) {
  if constexpr (is_small_float<T>::value)
    return float(a);
  else if constexpr (is_small_int<T>::value)
    return int(a);
  else
    return a;
}
template <class T> inline bool equal(const T &a, const T &b) { return comparable(a) == comparable(b); }
template <class T> inline bool not_equal(const T &a, const T &b) { return !(comparable(a) == comparable(b)); }
template <class T> inline bool less(const T &a, const T &b) { return comparable(a) < comparable(b); }
template <class T> inline bool less_equal(const T &a, const T &b) { return comparable(a) <= comparable(b); }
template <class T> inline bool greater(const T &a, const T &b) { return comparable(a) > comparable(b); }
template <class T> inline bool greater_equal(const T &a, const T &b) { return comparable(a) >= comparable(b); }

} // namespace ops
