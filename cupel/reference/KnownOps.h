// The known two-operand functions (add, multiply, minimum, ...) on stored elements of every type,
// as inline code for typed loops. Semantics are those of the ops: integers wrap within their bits,
// floats round after each step, minimum and maximum propagate NaN and order -0 before +0. Used by
// the kernels that take an ElementFunction; comparators are not here.

#pragma once

#include "cupel/reference/ElementFunction.h"
#include "cupel/tensor/Float.h"

#include <bit>
#include <type_traits>

namespace cupel::reference {

/// Brings an integer that was computed in a whole byte back into the type's own bits.
template <tensor::DType type> constexpr tensor::Storage<type> normalized(tensor::Storage<type> x) {
  constexpr tensor::DTypeInfo about = tensor::info(type);
  if constexpr (about.bits >= 8)
    return x;
  else if constexpr (about.kind == tensor::Kind::Signed)
    return static_cast<int8_t>(static_cast<int8_t>(static_cast<uint8_t>(x) << (8 - about.bits)) >>
                               (8 - about.bits));
  else
    return static_cast<uint8_t>(x & ((1 << about.bits) - 1));
}

/// `b` if take, else `a`, without a branch that random data would mispredict; loops over it
/// vectorise.
template <typename T> constexpr T selected(bool take, T b, T a) {
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  Bits mask = Bits{0} - static_cast<Bits>(take);
  return std::bit_cast<T>((std::bit_cast<Bits>(b) & mask) | (std::bit_cast<Bits>(a) & ~mask));
}

/// Equal operands differ in the sign of zero only.
template <typename T> constexpr T maximumOf(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    using Bits = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
    bool takeB = (b > a) | (b != b) | ((b == a) & (std::bit_cast<Bits>(b) >= 0));
    return selected(takeB & (a == a), b, a);
  } else {
    return a < b ? b : a;
  }
}
template <typename T> constexpr T minimumOf(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    using Bits = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
    bool takeB = (b < a) | (b != b) | ((b == a) & (std::bit_cast<Bits>(b) < 0));
    return selected(takeB & (a == a), b, a);
  } else {
    return b < a ? b : a;
  }
}

/// Whether `applyKnown` has this pair; Second and First are for callers, who copy or do nothing.
constexpr bool hasKnown(KnownFunction function, tensor::DType type) {
  if (tensor::isRareFloat(type) && function != KnownFunction::Add)
    return false;
  switch (function) {
  case KnownFunction::Add:
  case KnownFunction::Multiply:
    return true;
  case KnownFunction::Minimum:
  case KnownFunction::Maximum:
    return !tensor::isComplex(type);
  case KnownFunction::And:
  case KnownFunction::Or:
  case KnownFunction::Xor:
    return !tensor::isComplex(type) && !tensor::isFloat(type);
  default:
    return false;
  }
}

template <KnownFunction function, tensor::DType type>
constexpr tensor::Storage<type> applyKnown(tensor::Storage<type> a, tensor::Storage<type> b) {
  using tensor::Kind;
  using F = KnownFunction;
  using S = tensor::Storage<type>;
  constexpr Kind kind = tensor::info(type).kind;
  if constexpr (kind == Kind::Complex) {
    using P = typename S::value_type;
    if constexpr (function == F::Add)
      return S(a.real() + b.real(), a.imag() + b.imag());
    // Naive, as the op is: no recovery of infinities, no fused steps.
    P ac = a.real() * b.real(), bd = a.imag() * b.imag();
    P ad = a.real() * b.imag(), bc = a.imag() * b.real();
    return S(ac - bd, ad + bc);
  } else if constexpr (tensor::isNarrowFloat(type)) {
    float x = tensor::toFloat<type>(a), y = tensor::toFloat<type>(b);
    if constexpr (function == F::Add)
      return tensor::fromFloat<type>(x + y);
    else if constexpr (function == F::Multiply)
      return tensor::fromFloat<type>(x * y);
    else if constexpr (function == F::Minimum)
      return tensor::fromFloat<type>(minimumOf(x, y));
    else
      return tensor::fromFloat<type>(maximumOf(x, y));
  } else if constexpr (kind == Kind::Float) {
    if constexpr (function == F::Add)
      return a + b;
    else if constexpr (function == F::Multiply)
      return a * b;
    else if constexpr (function == F::Minimum)
      return minimumOf(a, b);
    else
      return maximumOf(a, b);
  } else {
    // i1: add is or, multiply is and, as are maximum and minimum.
    constexpr bool boolean = kind == Kind::Boolean;
    using U = std::make_unsigned_t<S>;
    using W = std::conditional_t<(sizeof(U) < 4), uint32_t, U>; // promotes without sign
    if constexpr (function == F::Or || (boolean && function == F::Add))
      return static_cast<S>(a | b);
    else if constexpr (function == F::And || (boolean && function == F::Multiply))
      return static_cast<S>(a & b);
    else if constexpr (function == F::Xor)
      return static_cast<S>(a ^ b);
    else if constexpr (function == F::Add)
      return normalized<type>(
          static_cast<S>(static_cast<U>(W(static_cast<U>(a)) + W(static_cast<U>(b)))));
    else if constexpr (function == F::Multiply)
      return normalized<type>(
          static_cast<S>(static_cast<U>(W(static_cast<U>(a)) * W(static_cast<U>(b)))));
    else if constexpr (function == F::Minimum)
      return minimumOf(a, b);
    else
      return maximumOf(a, b);
  }
}

/// Calls `f.template operator()<KnownFunction>()` for the arithmetic ones; false for others.
template <typename F> bool dispatchKnown(KnownFunction function, F &&f) {
  switch (function) {
#define CUPEL_KNOWN(name)                                                                          \
  case KnownFunction::name:                                                                        \
    f.template operator()<KnownFunction::name>();                                                  \
    return true;
    CUPEL_KNOWN(Add)
    CUPEL_KNOWN(Multiply)
    CUPEL_KNOWN(Minimum)
    CUPEL_KNOWN(Maximum)
    CUPEL_KNOWN(And)
    CUPEL_KNOWN(Or)
    CUPEL_KNOWN(Xor)
#undef CUPEL_KNOWN
  default:
    return false;
  }
}

} // namespace cupel::reference
