#include "cupel/reference/Widen.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace cupel::reference {

using tensor::DType;
using tensor::info;
using tensor::Kind;

namespace {

/// A small float format. Formats without infinity have `infinity` == `nan`; those without a
/// negative zero keep NaN in its place.
struct Format {
  int mantissa;
  int bias;
  uint32_t largest;  // Bits of the largest finite value.
  uint32_t infinity; // Bits of what overflow gives.
  uint32_t nan;
  bool negativeZero;
  int bits;
};

constexpr Format formatOf(DType type) {
  switch (type) {
  case DType::F8E4M3:
    return {3, 7, 0x77, 0x78, 0x7c, true, 8};
  case DType::F8E4M3FN:
    return {3, 7, 0x7e, 0x7f, 0x7f, true, 8};
  case DType::F8E4M3FNUZ:
    return {3, 8, 0x7f, 0x80, 0x80, false, 8};
  case DType::F8E4M3B11FNUZ:
    return {3, 11, 0x7f, 0x80, 0x80, false, 8};
  case DType::F8E5M2:
    return {2, 15, 0x7b, 0x7c, 0x7e, true, 8};
  case DType::F8E5M2FNUZ:
    return {2, 16, 0x7f, 0x80, 0x80, false, 8};
  case DType::F16:
    return {10, 15, 0x7bff, 0x7c00, 0x7e00, true, 16};
  default:
    return {7, 127, 0x7f7f, 0x7f80, 0x7fc0, true, 16};
  }
}

template <DType type> uint32_t encode(double value) {
  constexpr Format f = formatOf(type);
  uint64_t bits = std::bit_cast<uint64_t>(value);
  uint32_t sign = static_cast<uint32_t>(bits >> 63) << (f.bits - 1);
  uint64_t magnitude = bits & ~(1ull << 63);
  uint32_t result;
  if (magnitude >= 0x7ff0000000000000ull) {
    bool isNan = magnitude > 0x7ff0000000000000ull;
    result = isNan ? f.nan : f.infinity;
  } else {
    int exponent = static_cast<int>(magnitude >> 52) - 1023;
    constexpr int least = 1 - f.bias;
    int shift = 52 - f.mantissa + (exponent < least ? least - exponent : 0);
    uint64_t rounded = 0;
    if (shift <= 54 && magnitude >> 52) {
      uint64_t mantissa = (magnitude & 0xfffffffffffffull) | 1ull << 52;
      rounded = (mantissa + (1ull << (shift - 1)) - 1 + (mantissa >> shift & 1)) >> shift;
    }
    int top = (exponent < least ? least : exponent) + f.bias - 1;
    uint64_t whole = (static_cast<uint64_t>(top) << f.mantissa) + rounded;
    result = whole > f.largest ? f.infinity : static_cast<uint32_t>(whole);
  }
  if constexpr (!f.negativeZero)
    return result == 0 || result == f.nan ? result : result | sign;
  return result | sign;
}

template <DType type> float decode(uint32_t bits) {
  constexpr Format f = formatOf(type);
  constexpr uint32_t signBit = 1u << (f.bits - 1);
  uint32_t magnitude = bits & (signBit - 1);
  float sign = bits & signBit ? -1.0f : 1.0f;
  if constexpr (!f.negativeZero) {
    if (bits == f.nan)
      return std::numeric_limits<float>::quiet_NaN();
  } else if (magnitude > f.largest) {
    if (magnitude == f.infinity && f.infinity != f.nan)
      return sign * std::numeric_limits<float>::infinity();
    return std::copysign(std::numeric_limits<float>::quiet_NaN(), sign);
  }
  uint32_t exponent = magnitude >> f.mantissa;
  uint32_t mantissa = magnitude & ((1u << f.mantissa) - 1);
  float value = exponent ? std::ldexp(static_cast<float>(mantissa + (1u << f.mantissa)),
                                      static_cast<int>(exponent) - f.bias - f.mantissa)
                         : std::ldexp(static_cast<float>(mantissa), 1 - f.bias - f.mantissa);
  return sign * value;
}

template <DType type> const std::array<float, 256> &decodeTable() {
  static const std::array<float, 256> table = [] {
    std::array<float, 256> values;
    for (uint32_t i = 0; i < 256; ++i)
      values[i] = decode<type>(i);
    return values;
  }();
  return table;
}

float decodeHalf(uint16_t half) {
  uint32_t sign = (half & 0x8000u) << 16;
  uint32_t magnitude = half & 0x7fffu;
  // Scaling by 2^112 also puts subnormal values right.
  float scaled = std::bit_cast<float>(magnitude << 13) * 0x1p112f;
  uint32_t bits = magnitude >= 0x7c00u ? 0x7f800000u | (magnitude & 0x3ffu) << 13
                                       : std::bit_cast<uint32_t>(scaled);
  return std::bit_cast<float>(bits | sign);
}

uint16_t encodeBrain(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  uint32_t rounded = (bits + 0x7fffu + (bits >> 16 & 1)) >> 16;
  uint32_t quiet = bits >> 16 | 0x40u;
  return static_cast<uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? quiet : rounded);
}

template <typename Out> void load(DType from, const void *in, Out *out, int64_t count) {
  auto fromTable = [&](const std::array<float, 256> &table) {
    const uint8_t *bytes = static_cast<const uint8_t *>(in);
    for (int64_t i = 0; i < count; ++i)
      out[i] = table[bytes[i]];
  };
  switch (from) {
#define CASE(name)                                                                                 \
  case DType::name:                                                                                \
    return fromTable(decodeTable<DType::name>());
    CASE(F8E4M3)
    CASE(F8E4M3FN)
    CASE(F8E4M3FNUZ)
    CASE(F8E4M3B11FNUZ)
    CASE(F8E5M2)
    CASE(F8E5M2FNUZ)
#undef CASE
  case DType::F16: {
    const uint16_t *halves = static_cast<const uint16_t *>(in);
    for (int64_t i = 0; i < count; ++i)
      out[i] = decodeHalf(halves[i]);
    return;
  }
  case DType::BF16: {
    const uint16_t *halves = static_cast<const uint16_t *>(in);
    for (int64_t i = 0; i < count; ++i)
      out[i] = std::bit_cast<float>(static_cast<uint32_t>(halves[i]) << 16);
    return;
  }
  case DType::F32: {
    const float *values = static_cast<const float *>(in);
    for (int64_t i = 0; i < count; ++i)
      out[i] = values[i];
    return;
  }
  default: {
    const double *values = static_cast<const double *>(in);
    for (int64_t i = 0; i < count; ++i)
      out[i] = static_cast<Out>(values[i]);
    return;
  }
  }
}

template <typename In> void store(DType to, const In *in, void *out, int64_t count) {
  switch (to) {
#define CASE(name)                                                                                 \
  case DType::name: {                                                                              \
    auto *values = static_cast<tensor::Storage<DType::name> *>(out);                               \
    for (int64_t i = 0; i < count; ++i)                                                            \
      values[i] = static_cast<tensor::Storage<DType::name>>(encode<DType::name>(in[i]));           \
    return;                                                                                        \
  }
    CASE(F8E4M3)
    CASE(F8E4M3FN)
    CASE(F8E4M3FNUZ)
    CASE(F8E4M3B11FNUZ)
    CASE(F8E5M2)
    CASE(F8E5M2FNUZ)
    CASE(F16)
#undef CASE
  case DType::BF16: {
    uint16_t *values = static_cast<uint16_t *>(out);
    for (int64_t i = 0; i < count; ++i)
      if constexpr (std::is_same_v<In, float>)
        values[i] = encodeBrain(in[i]);
      else
        values[i] = static_cast<uint16_t>(encode<DType::BF16>(in[i]));
    return;
  }
  case DType::F32: {
    float *values = static_cast<float *>(out);
    for (int64_t i = 0; i < count; ++i)
      values[i] = static_cast<float>(in[i]);
    return;
  }
  default: {
    double *values = static_cast<double *>(out);
    for (int64_t i = 0; i < count; ++i)
      values[i] = in[i];
    return;
  }
  }
}

constexpr int64_t kChunk = 256;

/// Toward zero, saturating; NaN gives zero.
template <typename T> T toInteger(double value, int bits, bool isSigned) {
  if (std::isnan(value))
    return 0;
  double low = isSigned ? -std::ldexp(1.0, bits - 1) : 0.0;
  double high = std::ldexp(1.0, isSigned ? bits - 1 : bits); // Not in range any more.
  if (value <= low)
    return isSigned ? static_cast<T>(static_cast<int64_t>(low)) : T(0);
  if (value >= high)
    return static_cast<T>(isSigned ? (uint64_t(1) << (bits - 1)) - 1
                          : bits == 64 ? ~uint64_t(0)
                                       : (uint64_t(1) << bits) - 1);
  return isSigned ? static_cast<T>(static_cast<int64_t>(value))
                  : static_cast<T>(static_cast<uint64_t>(value));
}

/// An integer as a double that rounds further like the integer itself would (the last bit set where
/// something was lost).
template <typename T> double toOdd(T value) {
  double nearest = static_cast<double>(value);
  if constexpr (sizeof(T) < 8)
    return nearest;
  bool negative = std::is_signed_v<T> && value < 0;
  uint64_t magnitude = negative ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  int spare = 64 - 53 - std::countl_zero(magnitude);
  if (magnitude == 0 || spare <= 0)
    return nearest;
  uint64_t kept = magnitude >> spare;
  if (kept << spare != magnitude)
    kept |= 1;
  double odd = std::ldexp(static_cast<double>(kept), spare);
  return negative ? -odd : odd;
}

template <DType from, DType to> void convertIntegers(const void *in, void *out, int64_t count) {
  using From = tensor::Storage<from>;
  using To = tensor::Storage<to>;
  const From *source = static_cast<const From *>(in);
  To *target = static_cast<To *>(out);
  constexpr int bits = info(to).bits;
  constexpr int storage = sizeof(To) * 8;
  for (int64_t i = 0; i < count; ++i) {
    if constexpr (info(to).kind == Kind::Boolean)
      target[i] = source[i] != 0;
    else if constexpr (bits == storage)
      target[i] = static_cast<To>(source[i]);
    else if constexpr (info(to).kind == Kind::Signed)
      target[i] = static_cast<To>(static_cast<int8_t>(static_cast<uint8_t>(source[i])
                                                      << (storage - bits)) >>
                                  (storage - bits));
    else
      target[i] = static_cast<To>(source[i]) & ((1 << bits) - 1);
  }
}

bool isWhole(DType type) { return info(type).kind <= Kind::Unsigned; }

template <DType type> inline constexpr bool kWhole = info(type).kind <= Kind::Unsigned;

/// At most kChunk lanes.
void convertChunk(DType from, DType to, const void *in, void *out, int64_t count) {
  // Complex numbers: the real part alone, or zero imaginary parts.
  if (isComplex(from) || isComplex(to)) {
    std::complex<double> values[kChunk];
    double parts[kChunk];
    if (from == DType::C64) {
      auto *source = static_cast<const std::complex<float> *>(in);
      for (int64_t i = 0; i < count; ++i)
        values[i] = {source[i].real(), source[i].imag()};
    } else if (from == DType::C128) {
      std::memcpy(values, in, count * sizeof(values[0]));
    } else {
      convertChunk(from, DType::F64, in, parts, count);
      // An integer becomes f32 with one rounding.
      if (to == DType::C64 && isWhole(from)) {
        float narrow[kChunk];
        convertChunk(from, DType::F32, in, narrow, count);
        for (int64_t i = 0; i < count; ++i)
          parts[i] = narrow[i];
      }
      for (int64_t i = 0; i < count; ++i)
        values[i] = parts[i];
    }
    if (to == DType::C64) {
      auto *target = static_cast<std::complex<float> *>(out);
      for (int64_t i = 0; i < count; ++i)
        target[i] = {static_cast<float>(values[i].real()), static_cast<float>(values[i].imag())};
    } else if (to == DType::C128) {
      std::memcpy(out, values, count * sizeof(values[0]));
    } else if (to == DType::I1) {
      for (int64_t i = 0; i < count; ++i)
        static_cast<uint8_t *>(out)[i] = values[i].real() != 0;
    } else {
      for (int64_t i = 0; i < count; ++i)
        parts[i] = values[i].real();
      convertChunk(DType::F64, to, parts, out, count);
    }
    return;
  }
  if (isWhole(from) && isWhole(to)) {
    tensor::dispatch(from, [&]<DType f>() {
      if constexpr (kWhole<f>)
        tensor::dispatch(to, [&]<DType t>() {
          if constexpr (kWhole<t>)
            convertIntegers<f, t>(in, out, count);
        });
    });
    return;
  }
  if (isWhole(from)) {
    tensor::dispatch(from, [&]<DType f>() {
      if constexpr (kWhole<f>) {
        auto *source = static_cast<const tensor::Storage<f> *>(in);
        if (to == DType::F64)
          for (int64_t i = 0; i < count; ++i)
            static_cast<double *>(out)[i] = static_cast<double>(source[i]);
        else if (to == DType::F32)
          for (int64_t i = 0; i < count; ++i)
            static_cast<float *>(out)[i] = static_cast<float>(source[i]);
        else {
          double values[kChunk];
          for (int64_t i = 0; i < count; ++i)
            values[i] = toOdd(source[i]);
          store(to, values, out, count);
        }
      }
    });
    return;
  }
  double values[kChunk];
  load(from, in, values, count);
  if (!isWhole(to))
    return store(to, values, out, count);
  tensor::dispatch(to, [&]<DType t>() {
    if constexpr (kWhole<t>) {
      auto *target = static_cast<tensor::Storage<t> *>(out);
      for (int64_t i = 0; i < count; ++i)
        if constexpr (t == DType::I1)
          target[i] = values[i] != 0; // NaN is true.
        else
          target[i] =
              toInteger<tensor::Storage<t>>(values[i], info(t).bits, info(t).kind == Kind::Signed);
    }
  });
}

} // namespace

void loadFloat(DType from, const void *in, float *out, int64_t count) {
  load(from, in, out, count);
}
void loadDouble(DType from, const void *in, double *out, int64_t count) {
  load(from, in, out, count);
}
void storeFloat(DType to, const float *in, void *out, int64_t count) { store(to, in, out, count); }
void storeDouble(DType to, const double *in, void *out, int64_t count) {
  store(to, in, out, count);
}

void convertLanes(DType from, DType to, const void *in, void *out, int64_t count) {
  const char *source = static_cast<const char *>(in);
  char *target = static_cast<char *>(out);
  if (from == to) {
    std::memmove(target, source, count * info(from).bytes);
    return;
  }
  for (int64_t done = 0; done < count; done += kChunk)
    convertChunk(from, to, source + done * info(from).bytes, target + done * info(to).bytes,
                 std::min(kChunk, count - done));
}

} // namespace cupel::reference
