#include "cupel/compare/UlpDistance.h"

#include "cupel/compare/Elements.h"
#include "cupel/tensor/Convert.h"
#include "cupel/tensor/Float.h"

using namespace cupel;
using namespace cupel::compare;
using namespace cupel::tensor;

namespace {

/// Whether values of integer type `narrow` all exist in `wide`.
bool fits(DType narrow, DType wide) {
  if (info(narrow).kind == info(wide).kind)
    return info(narrow).bits <= info(wide).bits;
  return info(wide).kind == Kind::Signed && info(narrow).bits < info(wide).bits;
}

DType commonType(DType actual, DType expected) {
  actual = partType(actual);
  expected = partType(expected);
  if (isFloat(actual) != isFloat(expected))
    return isFloat(actual) ? actual : expected;
  if (isFloat(actual))
    return mantissaBits(actual) < mantissaBits(expected) ? actual : expected;
  // Integers: the one that holds both. Of a signed type and ui64 none does; then the difference is
  // taken in 64 bits by sign (see `measureIntegers`).
  if (fits(actual, expected))
    return expected;
  if (fits(expected, actual))
    return actual;
  return info(actual).bits == 64 || info(expected).bits == 64 ? DType::U64 : DType::I64;
}

/// The pattern of the type as an unsigned number, and what is known about its magnitudes.
template <DType type> struct Patterns {
  static constexpr FloatFormat format = FormatOf<type>::value;
  using Bits = Storage<type>;
  // Wider than the pattern, for that of a format without sign stands above it.
  static constexpr uint32_t sign = format.signBit();
  static constexpr Bits maxFinite = format.maxFinite();
  static constexpr bool unsignedZero = format.specials == FloatSpecials::FnUz;
  static constexpr bool hasInfinity = format.hasInfinity();
};
template <> struct Patterns<DType::F32> {
  using Bits = uint32_t;
  static constexpr Bits sign = 0x80000000u, maxFinite = 0x7f7fffffu;
  static constexpr bool unsignedZero = false, hasInfinity = true;
};
template <> struct Patterns<DType::F64> {
  using Bits = uint64_t;
  static constexpr Bits sign = uint64_t{1} << 63, maxFinite = 0x7fefffffffffffffu;
  static constexpr bool unsignedZero = false, hasInfinity = true;
};

template <DType type>
void measureFloats(const std::byte *a, const std::byte *e, int64_t count, uint64_t *distances) {
  using P = Patterns<type>;
  using Bits = typename P::Bits;
  auto *actual = reinterpret_cast<const Bits *>(a);
  auto *expected = reinterpret_cast<const Bits *>(e);
  for (int64_t i = 0; i < count; ++i) {
    uint64_t am = actual[i] & (P::sign - 1);
    uint64_t em = expected[i] & (P::sign - 1);
    bool sameSign = !((actual[i] ^ expected[i]) & P::sign);
    uint64_t apart = am > em ? am - em : em - am;
    uint64_t distance = sameSign ? apart : am + em;
    bool aFinite, eFinite, aNan, eNan;
    if constexpr (P::unsignedZero) {
      aNan = actual[i] == P::sign, eNan = expected[i] == P::sign;
      aFinite = !aNan, eFinite = !eNan;
    } else {
      // Above the largest finite magnitude: one pattern is the infinity (if there is one), the
      // others are NaN.
      constexpr uint64_t lastNumber =
          static_cast<uint64_t>(P::maxFinite) + (P::hasInfinity ? 1 : 0);
      aFinite = am <= P::maxFinite, eFinite = em <= P::maxFinite;
      aNan = am > lastNumber, eNan = em > lastNumber;
    }
    distance = (aFinite && eFinite) ? distance : kInfiniteUlp;
    distances[i] = (actual[i] == expected[i] || (aNan && eNan)) ? 0 : distance;
  }
}

template <typename Integer>
void measureIntegers(const std::byte *a, const std::byte *e, int64_t count, uint64_t *distances) {
  auto *actual = reinterpret_cast<const Integer *>(a);
  auto *expected = reinterpret_cast<const Integer *>(e);
  for (int64_t i = 0; i < count; ++i) {
    uint64_t x = static_cast<uint64_t>(actual[i]), y = static_cast<uint64_t>(expected[i]);
    distances[i] = actual[i] > expected[i] ? x - y : y - x;
  }
}

/// ui64 against a signed type: the distance of a negative number is the sum, up to saturation.
void measureSignedAgainstUnsigned(const std::byte *s, const std::byte *u, int64_t count,
                                  uint64_t *distances) {
  auto *withSign = reinterpret_cast<const int64_t *>(s);
  auto *without = reinterpret_cast<const uint64_t *>(u);
  for (int64_t i = 0; i < count; ++i) {
    uint64_t x = static_cast<uint64_t>(withSign[i]), y = without[i];
    if (withSign[i] >= 0)
      distances[i] = x > y ? x - y : y - x;
    else
      distances[i] = y > kInfiniteUlp - 1 + x ? kInfiniteUlp - 1 : y - x;
  }
}

} // namespace

UlpMeter::UlpMeter(const Tensor &actual, const Tensor &expected)
    : actual(actual), expected(expected), type(commonType(actual.dtype(), expected.dtype())) {
  if (isComplex(actual.dtype()) || isComplex(expected.dtype()))
    parts = 2;
}

void UlpMeter::measure(int64_t first, int64_t count, uint64_t *distances) const {
  assert(count <= kMaxBlock);
  // Bring both to the common type, where they are not of it already.
  alignas(16) std::byte buffers[2][kMaxBlock * 16];
  DType wanted = parts == 1 ? type : type == DType::F64 ? DType::C128 : DType::C64;
  bool narrowParts = parts == 2 && type != DType::F32 && type != DType::F64;
  auto pointer = [&](const Tensor &tensor, DType to, std::byte *buffer) -> const std::byte * {
    const std::byte *from = tensor.data() + first * info(tensor.dtype()).bytes;
    if (tensor.dtype() == to)
      return from;
    convertElements(tensor.dtype(), from, to, buffer, count);
    return buffer;
  };
  bool mixedSigns = type == DType::U64 && (info(actual.dtype()).kind == Kind::Signed ||
                                           info(expected.dtype()).kind == Kind::Signed);
  if (mixedSigns) {
    bool actualSigned = info(actual.dtype()).kind == Kind::Signed;
    const Tensor &withSign = actualSigned ? actual : expected;
    const Tensor &without = actualSigned ? expected : actual;
    return measureSignedAgainstUnsigned(pointer(withSign, DType::I64, buffers[0]),
                                        pointer(without, DType::U64, buffers[1]), count, distances);
  }
  if (narrowParts) // complex against a narrow float: the parts are rounded to that
    wanted = DType::C64;
  const std::byte *a = pointer(actual, wanted, buffers[0]);
  const std::byte *e = pointer(expected, wanted, buffers[1]);

  alignas(16) std::byte narrowed[2][kMaxBlock * 4];
  uint64_t partDistances[2 * kMaxBlock];
  uint64_t *target = parts == 2 ? partDistances : distances;
  if (narrowParts) {
    convertElements(DType::F32, a, type, narrowed[0], 2 * count);
    convertElements(DType::F32, e, type, narrowed[1], 2 * count);
    a = narrowed[0];
    e = narrowed[1];
  }
  dispatch(type, [&]<DType t>() {
    if constexpr (isFloat(t))
      measureFloats<t>(a, e, parts * count, target);
    else if constexpr (!isComplex(t))
      measureIntegers<Storage<t>>(a, e, count, target);
  });
  if (parts == 2)
    for (int64_t i = 0; i < count; ++i)
      distances[i] = std::max(partDistances[2 * i], partDistances[2 * i + 1]);
}
