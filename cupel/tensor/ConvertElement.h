// The conversion of one element, inline: what Convert.h says, for kernels that convert inside their
// own loops. A "carrier" is int32, int64, uint64, float or double, and holds the source exactly.

#pragma once

#include "cupel/tensor/Float.h"

#include <limits>

namespace cupel::tensor {

namespace detail {
template <DType type> constexpr auto carrierFor() {
  constexpr DTypeInfo i = info(type);
  if constexpr (i.kind == Kind::Complex)
    return typename Storage<type>::value_type{};
  else if constexpr (i.kind == Kind::Float && i.bits <= 32)
    return float{};
  else if constexpr (i.kind == Kind::Float)
    return double{};
  else if constexpr (i.bits < 32 || type == DType::I32)
    return int32_t{};
  else if constexpr (type == DType::U64)
    return uint64_t{};
  else
    return int64_t{};
}
} // namespace detail

/// The arithmetic type that holds every value of this type (of a complex one, its real part).
template <DType type> using Carrier = decltype(detail::carrierFor<type>());

/// A stored integer type's range, sub-byte types included.
template <DType type> constexpr Storage<type> minValue() {
  if constexpr (info(type).kind == Kind::Signed)
    return static_cast<Storage<type>>(~uint64_t{0} << (info(type).bits - 1));
  else
    return 0;
}
template <DType type> constexpr Storage<type> maxValue() {
  constexpr int valueBits = info(type).bits - (info(type).kind == Kind::Signed ? 1 : 0);
  return static_cast<Storage<type>>(~uint64_t{0} >> (64 - valueBits));
}

/// Keeps the low bits, as all integer arithmetic does: 9 as i4 is -7.
template <DType type> constexpr Storage<type> wrap(uint64_t value) {
  static_assert(isInteger(type));
  constexpr int bits = info(type).bits;
  if constexpr (bits >= 8)
    return static_cast<Storage<type>>(value);
  else if constexpr (info(type).kind == Kind::Signed)
    return static_cast<Storage<type>>(static_cast<int8_t>(value << (8 - bits)) >> (8 - bits));
  else
    return static_cast<Storage<type>>(value & ((1u << bits) - 1));
}

/// Toward zero, into the range of the type; NaN gives 0.
template <DType type, typename Wide> constexpr Storage<type> truncateToInteger(Wide value) {
  static_assert(isInteger(type));
  constexpr Wide low = static_cast<Wide>(minValue<type>());
  // One past the maximum is a power of two and therefore exact.
  constexpr int valueBits = info(type).bits - (info(type).kind == Kind::Signed ? 1 : 0);
  constexpr Wide past = detail::powerOfTwo<Wide>(valueBits);
  if (!(value > low)) // also NaN
    return value <= low ? minValue<type>() : Storage<type>{0};
  return value >= past ? maxValue<type>() : static_cast<Storage<type>>(value);
}

template <DType type> constexpr Carrier<type> toCarrier(Storage<type> stored) {
  if constexpr (isComplex(type))
    return stored.real();
  else if constexpr (isNarrowFloat(type))
    return toFloat<type>(stored);
  else
    return static_cast<Carrier<type>>(stored);
}

template <DType type, typename C> constexpr Storage<type> fromCarrier(C value) {
  constexpr bool fromFloating = std::is_floating_point_v<C>;
  if constexpr (isComplex(type)) {
    return {static_cast<typename Storage<type>::value_type>(value), 0};
  } else if constexpr (type == DType::I1) {
    return value != 0;
  } else if constexpr (isInteger(type)) {
    if constexpr (fromFloating)
      return truncateToInteger<type>(value);
    else
      return wrap<type>(static_cast<uint64_t>(value));
  } else if constexpr (std::is_same_v<C, float>) {
    return fromFloat<type>(value);
  } else if constexpr (fromFloating) {
    return fromDouble<type>(value);
  } else if constexpr (!isNarrowFloat(type)) {
    return static_cast<Storage<type>>(value);
  } else if constexpr (std::is_same_v<C, int32_t>) {
    return fromDouble<type>(value);
  } else if constexpr (std::is_same_v<C, uint64_t>) {
    return fromUnsigned<type>(value);
  } else {
    return fromSigned<type>(value);
  }
}

/// One stored value of one type as a stored value of another.
template <DType from, DType to> constexpr Storage<to> convertElement(Storage<from> value) {
  if constexpr (from == to)
    return value;
  else if constexpr (isComplex(from) && isComplex(to))
    return static_cast<Storage<to>>(value);
  else
    return fromCarrier<to>(toCarrier<from>(value));
}

} // namespace cupel::tensor
