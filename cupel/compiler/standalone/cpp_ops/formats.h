// Element types of generated code: floats and integers that C++ has no types for, and conversions
// between all of them. Small floats compute in float and round after each step; integers wrap.
#pragma once

// Nobody asks which exceptions were raised, or for errno: without that, loops with comparisons, roots and
// divisions become vector code. clang makes it anyway.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-trapping-math", "no-math-errno")
#endif

#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>

namespace ops {

template <class To, class From> inline To bits_as(const From &from) {
  static_assert(sizeof(To) == sizeof(From), "the same number of bits");
  To to;
  std::memcpy(&to, &from, sizeof(To));
  return to;
}

/// The nearest value of a format of `mantissa` bits, of two equally near ones the even one.
inline double round_to_format(double x, int mantissa, int least, double largest, double beyond) {
  if (x == 0 || std::isnan(x))
    return x;
  if (std::isinf(x))
    return std::isinf(beyond) ? x : beyond;
  int exponent;
  std::frexp(x, &exponent);
  exponent = (exponent - 1 > least ? exponent - 1 : least) - mantissa;
  double rounded = std::ldexp(std::nearbyint(std::ldexp(x, -exponent)), exponent);
  return std::fabs(rounded) > largest ? std::copysign(beyond, x) : rounded;
}

/// A float of 8 bits. `unsigned_zero` formats have neither -0 nor infinities, and one NaN (0x80).
template <int mantissa, int least, int largest_times_64, bool has_infinity, bool unsigned_zero>
struct Float8 {
  uint8_t bits = 0;
  Float8() = default;
  explicit Float8(double x) {
    double largest = largest_times_64 / 64.0;
    double beyond = has_infinity ? std::numeric_limits<double>::infinity() : std::nan("");
    x = round_to_format(x, mantissa, least, largest, beyond);
    unsigned sign = std::signbit(x) ? 0x80u : 0u;
    if (std::isnan(x)) {
      bits = unsigned_zero ? 0x80 : 0x7f;
      return;
    }
    if (std::isinf(x)) {
      bits = uint8_t(sign | ((0x7fu >> mantissa) << mantissa));
      return;
    }
    x = std::fabs(x);
    if (x == 0) {
      bits = uint8_t(unsigned_zero ? 0 : sign);
      return;
    }
    int exponent;
    std::frexp(x, &exponent);
    --exponent;
    if (exponent < least)
      bits = uint8_t(sign | unsigned(std::ldexp(x, mantissa - least)));
    else
      bits = uint8_t(sign | (unsigned(exponent - least + 1) << mantissa) |
                     (unsigned(std::ldexp(x, mantissa - exponent)) & ((1u << mantissa) - 1)));
  }
  operator float() const {
    unsigned magnitude = bits & 0x7fu, exponent = magnitude >> mantissa;
    unsigned fraction = magnitude & ((1u << mantissa) - 1);
    double value;
    if (unsigned_zero ? bits == 0x80 : (!has_infinity && magnitude == 0x7f))
      return std::numeric_limits<float>::quiet_NaN();
    if (has_infinity && exponent == 0x7fu >> mantissa)
      value = fraction ? std::nan("") : std::numeric_limits<double>::infinity();
    else if (exponent == 0)
      value = std::ldexp(double(fraction), least - mantissa);
    else
      value = std::ldexp(double(fraction + (1u << mantissa)), int(exponent) - 1 + least - mantissa);
    return float(bits & 0x80 ? -value : value);
  }
};
using f8E4M3 = Float8<3, -6, 240 * 64, true, false>;
using f8E4M3FN = Float8<3, -6, 448 * 64, false, false>;
using f8E4M3FNUZ = Float8<3, -7, 240 * 64, false, true>;
using f8E4M3B11FNUZ = Float8<3, -10, 30 * 64, false, true>;
using f8E5M2 = Float8<2, -14, 57344 * 64, true, false>;
using f8E5M2FNUZ = Float8<2, -15, 57344 * 64, false, true>;

struct bf16 {
  uint16_t bits = 0;
  bf16() = default;
  explicit bf16(double x) {
    float near = float(x);
    if (double(near) != x && !std::isnan(x)) // Rounded once: the sticky bit says that there was more.
      near = bits_as<float>((bits_as<uint32_t>(std::fabs(double(near)) > std::fabs(x)
                                                   ? std::nextafter(near, 0.0f)
                                                   : near)) | 1u);
    *this = bf16(near);
  }
  explicit bf16(float x) {
    uint32_t word = bits_as<uint32_t>(x);
    bits = x != x ? uint16_t((word >> 16) | 0x40) : uint16_t((word + 0x7fff + ((word >> 16) & 1)) >> 16);
  }
  operator float() const { return bits_as<float>(uint32_t(bits) << 16); }
};

struct f16 {
  uint16_t bits = 0;
  f16() = default;
  explicit f16(double x) {
    double rounded = round_to_format(x, 10, -14, 65504, std::numeric_limits<double>::infinity());
    unsigned sign = std::signbit(x) ? 0x8000u : 0u;
    double size = std::fabs(rounded);
    if (std::isnan(x))
      bits = uint16_t(sign | 0x7e00);
    else if (std::isinf(rounded))
      bits = uint16_t(sign | 0x7c00);
    else if (size < 0x1p-14)
      bits = uint16_t(sign | unsigned(std::ldexp(size, 24)));
    else {
      int exponent;
      std::frexp(size, &exponent);
      bits = uint16_t(sign | (unsigned(exponent + 14) << 10) |
                      (unsigned(std::ldexp(size, 11 - exponent)) & 0x3ffu));
    }
  }
  operator float() const {
    unsigned exponent = (bits >> 10) & 31u, fraction = bits & 0x3ffu;
    double value = exponent == 31 ? (fraction ? std::nan("") : std::numeric_limits<double>::infinity())
                   : exponent == 0 ? std::ldexp(double(fraction), -24)
                                   : std::ldexp(double(fraction + 1024), int(exponent) - 25);
    return float(bits & 0x8000 ? -value : value);
  }
};

/// An integer of fewer than 8 bits, in a byte.
template <int bit_count, bool is_signed> struct SmallInt {
  using Byte = std::conditional_t<is_signed, int8_t, uint8_t>;
  Byte value = 0;
  SmallInt() = default;
  template <class T, class = std::enable_if_t<std::is_integral<T>::value>> explicit SmallInt(T x) {
    unsigned low = unsigned(x) & ((1u << bit_count) - 1);
    if (is_signed && (low >> (bit_count - 1)))
      low |= ~((1u << bit_count) - 1);
    value = Byte(low);
  }
  operator int() const { return value; }
};
using i2 = SmallInt<2, true>;
using i4 = SmallInt<4, true>;
using ui2 = SmallInt<2, false>;
using ui4 = SmallInt<4, false>;
using c64 = std::complex<float>;
using c128 = std::complex<double>;

//===----------------------------------------------------------------------===//
// What kind of type it is
//===----------------------------------------------------------------------===//

template <class T> struct is_small_float : std::false_type {};
template <int a, int b, int c, bool d, bool e>
struct is_small_float<Float8<a, b, c, d, e>> : std::true_type {};
template <> struct is_small_float<bf16> : std::true_type {};
template <> struct is_small_float<f16> : std::true_type {};
template <class T> struct is_small_int : std::false_type {};
template <int b, bool s> struct is_small_int<SmallInt<b, s>> : std::true_type {};
template <class T> struct is_complex : std::false_type {};
template <class T> struct is_complex<std::complex<T>> : std::true_type {};

template <class T> constexpr bool is_float_v = std::is_floating_point<T>::value || is_small_float<T>::value;
template <class T> constexpr bool is_complex_v = is_complex<T>::value;
template <class T> constexpr bool is_bool_v = std::is_same<T, bool>::value;
template <class T>
constexpr bool is_integer_v = (std::is_integral<T>::value && !is_bool_v<T>) || is_small_int<T>::value;

template <class T> struct IntegerTraits {
  static constexpr int bits = int(sizeof(T)) * 8;
  static constexpr bool is_signed = std::is_signed<T>::value;
};
template <int b, bool s> struct IntegerTraits<SmallInt<b, s>> {
  static constexpr int bits = b;
  static constexpr bool is_signed = s;
};

/// What a type computes in, and what its sums are formed in where they are short.
template <class T> struct Computes { using type = T; };
template <> struct Computes<bf16> { using type = float; };
template <> struct Computes<f16> { using type = float; };
template <int a, int b, int c, bool d, bool e> struct Computes<Float8<a, b, c, d, e>> { using type = float; };
template <class T> struct Accumulates { using type = T; };
template <> struct Accumulates<float> { using type = double; };
template <> struct Accumulates<bf16> { using type = double; };
template <> struct Accumulates<f16> { using type = double; };
template <int a, int b, int c, bool d, bool e> struct Accumulates<Float8<a, b, c, d, e>> { using type = double; };
template <> struct Accumulates<c64> { using type = c128; };

//===----------------------------------------------------------------------===//
// Conversion
//===----------------------------------------------------------------------===//

template <class To> inline To float_to_integer(double x) {
  constexpr int bits = IntegerTraits<To>::bits;
  constexpr bool is_signed = IntegerTraits<To>::is_signed;
  if (std::isnan(x))
    return To(0);
  double low = is_signed ? -std::ldexp(1.0, bits - 1) : 0.0;
  double high = std::ldexp(1.0, is_signed ? bits - 1 : bits); // one beyond
  if (x <= low)
    return To(is_signed ? -int64_t((uint64_t(1) << (bits - 1)) - 1) - 1 : int64_t(0));
  if (x >= high)
    return To(is_signed ? int64_t((uint64_t(1) << (bits - 1)) - 1)
                        : int64_t(bits == 64 ? ~uint64_t(0) : (uint64_t(1) << (bits & 63)) - 1));
  return is_signed ? To(int64_t(x)) : To(uint64_t(x));
}

template <class To, class From> inline To convert(const From &x) {
  if constexpr (std::is_same<To, From>::value)
    return x;
  else if constexpr (is_complex_v<From>) {
    if constexpr (is_complex_v<To>)
      return To(typename To::value_type(x.real()), typename To::value_type(x.imag()));
    else
      return convert<To>(x.real());
  } else if constexpr (is_complex_v<To>)
    return To(convert<typename To::value_type>(x), 0);
  else if constexpr (is_bool_v<To>) {
    if constexpr (is_float_v<From>)
      return float(x) != 0 || double(x) != 0;
    else
      return int64_t(x) != 0;
  } else if constexpr (is_float_v<To>) {
    if constexpr (is_float_v<From>) {
      if constexpr (std::is_same<From, double>::value || std::is_same<From, float>::value)
        return To(x);
      else
        return To(float(x));
    } else if constexpr (std::is_same<From, uint64_t>::value && std::is_same<To, float>::value)
      return To(x);
    else if constexpr (std::is_same<From, uint64_t>::value)
      return To(double(x));
    else if constexpr (std::is_same<To, float>::value && is_integer_v<From> && !is_small_int<From>::value)
      return To(x);
    else
      return To(double(int64_t(x)));
  } else if constexpr (is_float_v<From>)
    return float_to_integer<To>(std::is_same<From, double>::value ? double(x) : double(float(x)));
  else if constexpr (is_small_int<From>::value)
    return To(int(x));
  else
    return To(x);
}

} // namespace ops
