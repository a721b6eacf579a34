// Loops on integers and booleans: everything wraps, nothing traps.

#include "cupel/reference/LoopTemplates.h"

#include <bit>
#include <type_traits>

namespace cupel::reference {

using tensor::DType;
using tensor::Kind;

namespace {

template <DType type> struct Integer {
  using T = tensor::Storage<type>;
  using U = std::make_unsigned_t<T>;
  static constexpr int kBits = info(type).bits;
  static constexpr bool kSigned = info(type).kind == Kind::Signed;
  static constexpr int kStorageBits = sizeof(T) * 8;
  // Small types are promoted to int, in which products of u16 overflow; unsigned arithmetic does
  // not.
  using W = std::conditional_t<(sizeof(T) < 4), uint32_t, U>;

  /// The low bits of a result as the type keeps them.
  static T wrap(W value) {
    if constexpr (kBits == kStorageBits)
      return static_cast<T>(static_cast<U>(value));
    else if constexpr (kSigned)
      return static_cast<T>(static_cast<T>(static_cast<U>(value << (kStorageBits - kBits))) >>
                            (kStorageBits - kBits));
    else
      return static_cast<T>(value & ((1u << kBits) - 1));
  }
  static W wide(T value) {
    return static_cast<W>(
        static_cast<std::conditional_t<kSigned, std::make_signed_t<W>, W>>(value));
  }
  /// The bits of the value alone.
  static W bits(T value) {
    if constexpr (kBits == kStorageBits)
      return static_cast<U>(value);
    else
      return static_cast<U>(value) & ((1u << kBits) - 1);
  }

  static T divide(T a, T b) {
    if (b == 0)
      return wrap(~W(0));
    if constexpr (kSigned)
      if (b == -1)
        return wrap(W(0) - wide(a));
    return static_cast<T>(a / b);
  }
  static T remainder(T a, T b) {
    if (b == 0)
      return a;
    if constexpr (kSigned)
      if (b == -1)
        return 0;
    return static_cast<T>(a % b);
  }
  static T power(T base, T exponent) {
    if constexpr (kSigned)
      if (exponent < 0)
        return base == 1 ? T(1) : base == -1 ? ((exponent & 1) ? T(-1) : T(1)) : T(0);
    W result = 1, square = wide(base);
    for (U left = static_cast<U>(exponent); left; left >>= 1) {
      if (left & 1)
        result *= square;
      square *= square;
    }
    return wrap(result);
  }
  static T shiftLeft(T a, T b) {
    W amount = bits(b);
    return amount >= W(kBits) ? T(0) : wrap(wide(a) << amount);
  }
  static T shiftRightLogical(T a, T b) {
    W amount = bits(b);
    return amount >= W(kBits) ? T(0) : wrap(bits(a) >> amount);
  }
  static T shiftRightArithmetic(T a, T b) {
    using S = std::make_signed_t<W>;
    W amount = bits(b);
    // The sign of an unsigned value is its top bit.
    S value = static_cast<S>(bits(a) << (sizeof(W) * 8 - kBits)) >> (sizeof(W) * 8 - kBits);
    return wrap(static_cast<W>(value >> (amount >= W(kBits) ? kBits - 1 : int(amount))));
  }
  static T countLeadingZeros(T a) {
    return wrap(static_cast<W>(std::countl_zero(bits(a)) - (int(sizeof(W)) * 8 - kBits)));
  }

  static LoopFunction find(ElementOp op) {
#define UNARY(name, expression)                                                                    \
  case ElementOp::name:                                                                            \
    return [](const LoopArguments &l) { loop1<T, T>(l, [](T a) -> T { return expression; }); };
#define BINARY(name, expression)                                                                   \
  case ElementOp::name:                                                                            \
    return [](const LoopArguments &l) { loop2<T, T>(l, [](T a, T b) -> T { return expression; }); };
#define COMPARE(name, operation)                                                                   \
  case ElementOp::name:                                                                            \
  case ElementOp::Total##name:                                                                     \
    return [](const LoopArguments &l) {                                                            \
      loop2<T, uint8_t>(l, [](T a, T b) -> uint8_t { return a operation b; });                     \
    };
    switch (op) {
      UNARY(Abs, a < 0 ? wrap(W(0) - wide(a)) : a)
      UNARY(Negate, wrap(W(0) - wide(a)))
      UNARY(Not, wrap(~wide(a)))
      UNARY(Sign, T(a > 0) - T(kSigned && a < 0))
      UNARY(Popcnt, wrap(W(std::popcount(bits(a)))))
      UNARY(CountLeadingZeros, countLeadingZeros(a))
      BINARY(Add, wrap(wide(a) + wide(b)))
      BINARY(Subtract, wrap(wide(a) - wide(b)))
      BINARY(Multiply, wrap(wide(a) * wide(b)))
      BINARY(Divide, divide(a, b))
      BINARY(Remainder, remainder(a, b))
      BINARY(Power, power(a, b))
      BINARY(Maximum, a < b ? b : a)
      BINARY(Minimum, b < a ? b : a)
      BINARY(And, a & b)
      BINARY(Or, a | b)
      BINARY(Xor, a ^ b)
      BINARY(ShiftLeft, shiftLeft(a, b))
      BINARY(ShiftRightArithmetic, shiftRightArithmetic(a, b))
      BINARY(ShiftRightLogical, shiftRightLogical(a, b))
      COMPARE(Equal, ==)
      COMPARE(NotEqual, !=)
      COMPARE(GreaterEqual, >=)
      COMPARE(Greater, >)
      COMPARE(LessEqual, <=)
      COMPARE(Less, <)
    case ElementOp::Clamp:
      return [](const LoopArguments &l) {
        loop3<T, T, T>(l, [](T low, T x, T high) {
          T raised = x < low ? low : x;
          return high < raised ? high : raised;
        });
      };
    default:
      return nullptr;
    }
#undef UNARY
#undef BINARY
#undef COMPARE
  }
};

} // namespace

LoopFunction integerLoop(ElementOp op, DType type) {
  switch (type) {
#define CASE(name)                                                                                 \
  case DType::name:                                                                                \
    return Integer<DType::name>::find(op);
    CASE(I2)
    CASE(I4)
    CASE(I8)
    CASE(I16)
    CASE(I32)
    CASE(I64)
    CASE(U2)
    CASE(U4)
    CASE(U8)
    CASE(U16)
    CASE(U32)
    CASE(U64)
#undef CASE
  default:
    return nullptr;
  }
}

LoopFunction booleanLoop(ElementOp op) {
  using T = uint8_t; // 0 or 1
#define BINARY(expression)                                                                         \
  return [](const LoopArguments &l) { loop2<T, T>(l, [](T a, T b) -> T { return expression; }); };
  switch (op) {
  case ElementOp::Not:
    return [](const LoopArguments &l) { loop1<T, T>(l, [](T a) -> T { return a ^ 1; }); };
  case ElementOp::Add:
  case ElementOp::Or:
  case ElementOp::Maximum:
    BINARY(a | b)
  case ElementOp::Multiply:
  case ElementOp::And:
  case ElementOp::Minimum:
    BINARY(a & b)
  case ElementOp::Xor:
  case ElementOp::NotEqual:
    BINARY(a ^ b)
  case ElementOp::Equal:
    BINARY(a ^ b ^ 1)
  case ElementOp::GreaterEqual:
    BINARY(a | (b ^ 1))
  case ElementOp::Greater:
    BINARY(a & (b ^ 1))
  case ElementOp::LessEqual:
    BINARY(b | (a ^ 1))
  case ElementOp::Less:
    BINARY(b & (a ^ 1))
  case ElementOp::Clamp:
    return [](const LoopArguments &l) {
      loop3<T, T, T>(l, [](T low, T x, T high) -> T { return (x | low) & high; });
    };
  default:
    return nullptr;
  }
#undef BINARY
}

namespace {
struct Bytes16 {
  uint64_t words[2];
};
template <typename T> void select(const LoopArguments &arguments) {
  loop3<uint8_t, T, T>(arguments, [](uint8_t p, const T &a, const T &b) { return p ? a : b; });
}
} // namespace

LoopFunction selectLoop(int bytes) {
  switch (bytes) {
  case 1:
    return select<uint8_t>;
  case 2:
    return select<uint16_t>;
  case 4:
    return select<uint32_t>;
  case 8:
    return select<uint64_t>;
  default:
    return select<Bytes16>;
  }
}

} // namespace cupel::reference
