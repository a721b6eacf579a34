// Operations between types: comparisons, selections and conversions.

#include "cupel/compiler/brief/ElementLoops.h"

#include "cupel/tensor/Float.h"

#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

namespace cupel::brief {
namespace {

constexpr bool isKnown(DType type) {
  return type == DType::I1 || type == DType::F16 || type == DType::BF16 || type == DType::F32 ||
         type == DType::F64 || (tensor::isInteger(type) && tensor::info(type).bits >= 8);
}

/// What elements of a type are while they are worked on.
template <DType type> using Worked = tensor::Storage<computeType(type)>;

//===----------------------------------------------------------------------===//
// Comparisons and selections
//===----------------------------------------------------------------------===//

/// Integers in the order of the floats: -NaN < -inf < ... < -0 < +0 < ... < NaN.
template <typename T> auto totalKey(T x) {
  using Bits = std::conditional_t<sizeof(T) == 8, int64_t, int32_t>;
  auto bits = std::bit_cast<Bits>(x);
  return bits < 0 ? Bits(bits ^ std::numeric_limits<Bits>::max()) : bits;
}

template <typename T, bool isTotal, auto holds>
void compared(const void *const *in, void *out, int64_t count, const LoopFacts &) {
  const T *x = static_cast<const T *>(in[0]), *y = static_cast<const T *>(in[1]);
  for (int64_t i = 0; i < count; ++i) {
    if constexpr (isTotal)
      static_cast<uint8_t *>(out)[i] = holds(totalKey(x[i]), totalKey(y[i]));
    else
      static_cast<uint8_t *>(out)[i] = holds(x[i], y[i]);
  }
}

template <typename T, bool isTotal> ElementLoop comparison(Direction direction) {
  switch (direction) {
  case Direction::EQ:
    return compared<T, isTotal, [](auto x, auto y) { return x == y; }>;
  case Direction::NE:
    return compared<T, isTotal, [](auto x, auto y) { return x != y; }>;
  case Direction::GE:
    return compared<T, isTotal, [](auto x, auto y) { return x >= y; }>;
  case Direction::GT:
    return compared<T, isTotal, [](auto x, auto y) { return x > y; }>;
  case Direction::LE:
    return compared<T, isTotal, [](auto x, auto y) { return x <= y; }>;
  case Direction::LT:
    return compared<T, isTotal, [](auto x, auto y) { return x < y; }>;
  }
  __builtin_unreachable();
}

template <typename T>
void selected(const void *const *in, void *out, int64_t count, const LoopFacts &) {
  const auto *which = static_cast<const uint8_t *>(in[0]);
  const T *x = static_cast<const T *>(in[1]), *y = static_cast<const T *>(in[2]);
  for (int64_t i = 0; i < count; ++i)
    static_cast<T *>(out)[i] = which[i] ? x[i] : y[i];
}

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

/// As f64 that rounds to any narrow float as the integer does: what is lost leaves a bit, so that
/// no tie appears.
template <typename T> double roundableDouble(T x) {
  if constexpr (sizeof(T) == 8) {
    bool isNegative = std::is_signed_v<T> && x < 0;
    uint64_t magnitude = isNegative ? 0 - uint64_t(x) : uint64_t(x);
    if (magnitude >= uint64_t{1} << 53) {
      uint64_t lost = magnitude & 0xfff;
      magnitude = (magnitude & ~uint64_t{0xfff}) | (lost != 0 ? 0x800 : 0);
    }
    return isNegative ? -double(magnitude) : double(magnitude);
  } else {
    return double(x);
  }
}

/// Toward zero, into the range; NaN gives 0.
template <typename To, typename From> To saturated(From x) {
  constexpr int kBits = std::numeric_limits<To>::digits;
  const From above = From(std::ldexp(1.0, kBits)); // One more than the largest, a power of two.
  if (std::isnan(x))
    return 0;
  if (x >= above)
    return std::numeric_limits<To>::max();
  if (std::is_signed_v<To> ? x < -above : x <= -1)
    return std::numeric_limits<To>::min();
  return To(x);
}

template <DType from, DType to> Worked<to> convertedElement(Worked<from> x) {
  using To = Worked<to>;
  if constexpr (to == DType::I1) {
    return x != 0; // NaN is not zero.
  } else if constexpr (to == DType::F16 || to == DType::BF16) {
    if constexpr (tensor::isFloat(from) && from != DType::F64)
      return tensor::toFloat<to>(tensor::fromFloat<to>(x));
    else if constexpr (from == DType::F64)
      return tensor::toFloat<to>(tensor::fromDouble<to>(x));
    else
      return tensor::toFloat<to>(tensor::fromDouble<to>(roundableDouble(x)));
  } else if constexpr (tensor::isFloat(to)) {
    return To(x);
  } else if constexpr (tensor::isFloat(from)) {
    return saturated<To>(x);
  } else {
    return To(x);
  }
}

template <DType from, DType to>
void converted(const void *const *in, void *out, int64_t count, const LoopFacts &) {
  for (int64_t i = 0; i < count; ++i)
    static_cast<Worked<to> *>(out)[i] =
        convertedElement<from, to>(static_cast<const Worked<from> *>(in[0])[i]);
}

} // namespace

ElementLoop compareLoop(Direction direction, bool isTotal, DType type) {
  return tensor::dispatch(type, [&]<DType known>() -> ElementLoop {
    if constexpr (!isKnown(known))
      return nullptr;
    else if constexpr (tensor::isFloat(known))
      return isTotal ? comparison<Worked<known>, true>(direction)
                     : comparison<Worked<known>, false>(direction);
    else
      return comparison<Worked<known>, false>(direction);
  });
}

ElementLoop selectLoop(DType type) {
  switch (tensor::info(computeType(type)).bytes) {
  case 1:
    return selected<uint8_t>;
  case 2:
    return selected<uint16_t>;
  case 4:
    return selected<uint32_t>;
  case 8:
    return selected<uint64_t>;
  default:
    return nullptr;
  }
}

ElementLoop convertLoop(DType from, DType to) {
  return tensor::dispatch(from, [&]<DType source>() -> ElementLoop {
    if constexpr (!isKnown(source))
      return nullptr;
    else
      return tensor::dispatch(to, []<DType target>() -> ElementLoop {
        if constexpr (!isKnown(target))
          return nullptr;
        else
          return converted<source, target>;
      });
  });
}

} // namespace cupel::brief
