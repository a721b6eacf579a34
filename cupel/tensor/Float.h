// The narrow float formats (f16, bf16, f8, f6, f4) as bit patterns, converted to and from float
// and double: exactly outwards, with one rounding to nearest even inwards. Inline and without
// branches, so that loops over them vectorise. Relies on the default rounding mode and on
// subnormals being honoured; must never round twice (double -> f16 does not pass through float).

#pragma once

#include "cupel/tensor/DType.h"

#include <array>
#include <bit>
#include <type_traits>

namespace cupel::tensor {

/// What a format does with the patterns that IEEE reserves.
enum class FloatSpecials : uint8_t {
  Ieee, // infinities and NaNs in the topmost exponent
  Fn,   // finite: no infinities, one NaN a sign (all ones); overflow gives NaN
  FnUz, // finite, unsigned zero: the pattern of -0 is the only NaN; overflow gives NaN
  // The last two as the OCP microscaling formats have them and ml_dtypes rounds them.
  Numbers, // nothing but numbers: overflow gives the largest, NaN the zero of the other sign
  Powers,  // powers of two without sign and zero: one NaN (all ones), which is also what overflow,
           // zero and everything negative give
};

struct FloatFormat {
  int exponentBits, mantissaBits, bias;
  FloatSpecials specials = FloatSpecials::Ieee;

  /// Powers have no sign: theirs would stand above the stored bits.
  constexpr int signShift() const { return exponentBits + mantissaBits; }
  constexpr uint32_t signBit() const { return 1u << signShift(); }
  constexpr bool hasInfinity() const { return specials == FloatSpecials::Ieee; }
  /// Patterns of magnitudes, without the sign.
  constexpr uint32_t maxFinite() const {
    switch (specials) {
    case FloatSpecials::Ieee:
      return (((1u << exponentBits) - 1) << mantissaBits) - 1;
    case FloatSpecials::Fn:
      return signBit() - 2;
    case FloatSpecials::FnUz:
    case FloatSpecials::Numbers:
      return signBit() - 1;
    case FloatSpecials::Powers:
      return signBit() - 2;
    }
    return 0;
  }
  constexpr uint32_t infinity() const { return maxFinite() + 1; } // Ieee only
  constexpr bool hasNan() const { return specials != FloatSpecials::Numbers; }
  /// The quiet NaN without payload; what stands for it where there is none. For FnUz and Numbers
  /// this pattern includes the sign bit.
  constexpr uint32_t nan() const {
    switch (specials) {
    case FloatSpecials::Ieee:
      return infinity() | (1u << (mantissaBits - 1));
    case FloatSpecials::Fn:
    case FloatSpecials::Powers:
      return signBit() - 1;
    case FloatSpecials::FnUz:
    case FloatSpecials::Numbers:
      return signBit();
    }
    return 0;
  }
};

template <DType> struct FormatOf; // of the narrow formats only
template <> struct FormatOf<DType::F4E2M1FN> {
  static constexpr FloatFormat value{2, 1, 1, FloatSpecials::Numbers};
};
template <> struct FormatOf<DType::F6E2M3FN> {
  static constexpr FloatFormat value{2, 3, 1, FloatSpecials::Numbers};
};
template <> struct FormatOf<DType::F6E3M2FN> {
  static constexpr FloatFormat value{3, 2, 3, FloatSpecials::Numbers};
};
template <> struct FormatOf<DType::F8E3M4> {
  static constexpr FloatFormat value{3, 4, 3};
};
template <> struct FormatOf<DType::F8E8M0FNU> {
  static constexpr FloatFormat value{8, 0, 127, FloatSpecials::Powers};
};
template <> struct FormatOf<DType::F8E4M3> {
  static constexpr FloatFormat value{4, 3, 7};
};
template <> struct FormatOf<DType::F8E4M3FN> {
  static constexpr FloatFormat value{4, 3, 7, FloatSpecials::Fn};
};
template <> struct FormatOf<DType::F8E4M3FNUZ> {
  static constexpr FloatFormat value{4, 3, 8, FloatSpecials::FnUz};
};
template <> struct FormatOf<DType::F8E4M3B11FNUZ> {
  static constexpr FloatFormat value{4, 3, 11, FloatSpecials::FnUz};
};
template <> struct FormatOf<DType::F8E5M2> {
  static constexpr FloatFormat value{5, 2, 15};
};
template <> struct FormatOf<DType::F8E5M2FNUZ> {
  static constexpr FloatFormat value{5, 2, 16, FloatSpecials::FnUz};
};
template <> struct FormatOf<DType::F16> {
  static constexpr FloatFormat value{5, 10, 15};
};
template <> struct FormatOf<DType::BF16> {
  static constexpr FloatFormat value{8, 7, 127};
};

/// f16, bf16 and narrower: floats that are stored as bit patterns.
constexpr bool isNarrowFloat(DType type) {
  return isFloat(type) && type != DType::F32 && type != DType::F64;
}

namespace detail {

template <typename Wide> struct WideTraits;
template <> struct WideTraits<float> {
  using Bits = uint32_t;
  static constexpr int mantissa = 23, bias = 127;
};
template <> struct WideTraits<double> {
  using Bits = uint64_t;
  static constexpr int mantissa = 52, bias = 1023;
};

/// 2^exponent for normal results.
template <typename Wide> constexpr Wide powerOfTwo(int exponent) {
  using Bits = typename WideTraits<Wide>::Bits;
  return std::bit_cast<Wide>(static_cast<Bits>(exponent + WideTraits<Wide>::bias)
                             << WideTraits<Wide>::mantissa);
}

/// The power of two nearest to `value`. A significand of one bit is always odd, so that ties go up.
template <DType type, typename Wide> constexpr Storage<type> narrowToPower(Wide value) {
  constexpr FloatFormat f = FormatOf<type>::value;
  using Traits = WideTraits<Wide>;
  using Bits = typename Traits::Bits;
  if (!(value > 0)) // also NaN
    return f.nan();
  // In float the least power is subnormal. All that is smaller rounds to it and, as in ml_dtypes,
  // all that is larger to the next.
  constexpr Wide second = powerOfTwo<Wide>(1 - f.bias);
  if (value < second)
    return value <= second / 2 ? 0 : 1;
  Bits half = Bits{1} << (Traits::mantissa - 1);
  Bits exponent = (std::bit_cast<Bits>(value) + half) >> Traits::mantissa;
  Bits pattern = exponent - Bits(Traits::bias - f.bias);
  return static_cast<Storage<type>>(pattern > f.maxFinite() ? Bits{f.nan()} : pattern);
}

/// The pattern nearest to `value`, ties to even.
template <DType type, typename Wide> constexpr Storage<type> narrow(Wide value) {
  constexpr FloatFormat f = FormatOf<type>::value;
  if constexpr (f.specials == FloatSpecials::Powers)
    return narrowToPower<type>(value);
  using Traits = WideTraits<Wide>;
  using Bits = typename Traits::Bits;
  constexpr int drop = Traits::mantissa - f.mantissaBits;
  constexpr int wideBits = sizeof(Wide) * 8;
  constexpr Bits wideInfinity = ((Bits{1} << (wideBits - 1 - Traits::mantissa)) - 1)
                                << Traits::mantissa;
  Bits bits = std::bit_cast<Bits>(value);
  Bits magnitude = bits & ~(Bits{1} << (wideBits - 1));

  // Normal results: change the bias, round in integers; a carry moves into the exponent by itself.
  Bits rebias = static_cast<Bits>(Traits::bias - f.bias) << Traits::mantissa;
  Bits rounded =
      (magnitude - rebias + ((Bits{1} << (drop - 1)) - 1) + ((magnitude >> drop) & 1)) >> drop;
  // Subnormal results: let an addition round, whose last place is the format's smallest value.
  if constexpr (Traits::bias != f.bias) {
    constexpr Wide anchor = powerOfTwo<Wide>(1 - f.bias - f.mantissaBits + Traits::mantissa);
    constexpr Bits smallestNormal = static_cast<Bits>(1 - f.bias + Traits::bias)
                                    << Traits::mantissa;
    Bits subnormal =
        std::bit_cast<Bits>(std::bit_cast<Wide>(magnitude) + anchor) - std::bit_cast<Bits>(anchor);
    rounded = magnitude < smallestNormal ? subnormal : rounded;
  }
  bool overflow = rounded > f.maxFinite();
  bool isNan = magnitude > wideInfinity;
  Bits sign = (bits >> (wideBits - 1)) << f.signShift();
  if constexpr (f.specials == FloatSpecials::Ieee) {
    constexpr Bits payloadMask = (Bits{1} << f.mantissaBits) - 1;
    rounded = overflow ? Bits{f.infinity()} : rounded;
    rounded = isNan ? (f.nan() | ((magnitude >> drop) & payloadMask)) : rounded;
    return static_cast<Storage<type>>(sign | rounded);
  } else if constexpr (f.specials == FloatSpecials::Fn) {
    rounded = (overflow | isNan) ? Bits{f.nan()} : rounded;
    return static_cast<Storage<type>>(sign | rounded);
  } else if constexpr (f.specials == FloatSpecials::Numbers) {
    rounded = overflow ? Bits{f.maxFinite()} : rounded;
    return static_cast<Storage<type>>(isNan ? sign ^ Bits{f.nan()} : sign | rounded);
  } else {
    Bits finite = rounded == 0 ? Bits{0} : (sign | rounded);
    return static_cast<Storage<type>>((overflow | isNan) ? Bits{f.nan()} : finite);
  }
}

template <DType type> constexpr float widen(Storage<type> pattern) {
  constexpr FloatFormat f = FormatOf<type>::value;
  if constexpr (f.specials == FloatSpecials::Powers)
    return std::bit_cast<float>(pattern == f.nan() ? 0x7fc00000u
                                : pattern == 0     ? 0x00400000u
                                                   : static_cast<uint32_t>(pattern) << 23);
  uint32_t magnitude = pattern & (f.signBit() - 1);
  uint32_t sign = static_cast<uint32_t>(pattern >> f.signShift()) << 31;
  uint32_t shifted = magnitude << (23 - f.mantissaBits);
  uint32_t result;
  if constexpr (f.bias == 127) { // bf16 is the upper half of float
    result = shifted;
  } else {
    // Normal values change the bias. Subnormal ones are read with the smallest normal's exponent
    // and its implied one subtracted again.
    constexpr uint32_t rebias = static_cast<uint32_t>(127 - f.bias) << 23;
    constexpr uint32_t one = 1u << 23;
    constexpr float smallestNormal = powerOfTwo<float>(1 - f.bias);
    float subnormal = std::bit_cast<float>(shifted + rebias + one) - smallestNormal;
    result =
        magnitude < (1u << f.mantissaBits) ? std::bit_cast<uint32_t>(subnormal) : shifted + rebias;
    if constexpr (f.specials == FloatSpecials::Ieee)
      result =
          magnitude >= f.infinity()
              ? (0x7f800000u | (shifted & 0x7fffffu) | (magnitude > f.infinity() ? 0x400000u : 0u))
              : result;
    else if constexpr (f.specials == FloatSpecials::Fn)
      result = magnitude == f.nan() ? 0x7fc00000u : result;
    else if constexpr (f.specials == FloatSpecials::FnUz)
      return std::bit_cast<float>(pattern == f.nan() ? 0x7fc00000u : sign | result);
  }
  return std::bit_cast<float>(sign | result);
}

template <DType type> constexpr std::array<float, 256> widenTable() {
  std::array<float, 256> table{};
  for (int i = 0; i < 256; ++i)
    table[i] = widen<type>(static_cast<uint8_t>(i));
  return table;
}
template <DType type> inline constexpr std::array<float, 256> kWidenTable = widenTable<type>();

} // namespace detail

/// The value of a stored float (not f64) as a float: exact.
template <DType type> constexpr float toFloat(Storage<type> stored) {
  static_assert(isFloat(type) && type != DType::F64);
  if constexpr (type == DType::F32)
    return stored;
  else if constexpr (sizeof(stored) == 1)
    return detail::kWidenTable<type>[stored];
  else
    return detail::widen<type>(stored);
}

/// The value of any stored float as a double: exact.
template <DType type> constexpr double toDouble(Storage<type> stored) {
  if constexpr (type == DType::F64)
    return stored;
  else
    return static_cast<double>(toFloat<type>(stored));
}

/// The stored form nearest to `value`, ties to even, rounded once.
template <DType type> constexpr Storage<type> fromFloat(float value) {
  static_assert(isFloat(type));
  if constexpr (isNarrowFloat(type))
    return detail::narrow<type>(value);
  else
    return static_cast<Storage<type>>(value);
}
template <DType type> constexpr Storage<type> fromDouble(double value) {
  static_assert(isFloat(type));
  if constexpr (isNarrowFloat(type))
    return detail::narrow<type>(value);
  else
    return static_cast<Storage<type>>(value);
}

/// The stored form nearest to an integer, ties to even, rounded once.
template <DType type> constexpr Storage<type> fromUnsigned(uint64_t value) {
  static_assert(isFloat(type));
  if constexpr (!isNarrowFloat(type)) {
    return static_cast<Storage<type>>(value);
  } else {
    // Doubles hold 53 bits: gather what lies below into one sticky bit that a double keeps.
    uint64_t low = value & 0x7ff;
    if (value >> 53)
      value = (value & ~uint64_t{0x7ff}) | (low ? 0x800 : 0);
    return detail::narrow<type>(static_cast<double>(value));
  }
}
template <DType type> constexpr Storage<type> fromSigned(int64_t value) {
  static_assert(isFloat(type));
  if constexpr (!isNarrowFloat(type)) {
    return static_cast<Storage<type>>(value);
  } else {
    uint64_t magnitude = value < 0 ? -static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
    if (magnitude >> 53)
      magnitude = (magnitude & ~uint64_t{0x7ff}) | ((magnitude & 0x7ff) ? 0x800 : 0);
    double wide = static_cast<double>(magnitude);
    return detail::narrow<type>(value < 0 ? -wide : wide);
  }
}

} // namespace cupel::tensor
