// Integers and booleans: everything wraps, nothing traps.

#include "cupel/compiler/brief/ElementLoops.h"

#include <algorithm>
#include <bit>
#include <type_traits>

namespace cupel::brief {
namespace {

template <typename T, auto function>
void mapped(const void *const *in, void *out, int64_t count, const LoopFacts &) {
  const T *x = static_cast<const T *>(in[0]), *y = static_cast<const T *>(in[1]),
          *z = static_cast<const T *>(in[2]);
  T *result = static_cast<T *>(out);
  for (int64_t i = 0; i < count; ++i) {
    if constexpr (std::is_invocable_v<decltype(function), T>)
      result[i] = function(x[i]);
    else if constexpr (std::is_invocable_v<decltype(function), T, T>)
      result[i] = function(x[i], y[i]);
    else
      result[i] = function(x[i], y[i], z[i]);
  }
}

/// Arithmetic without signs, in which wrapping is defined; narrow types are promoted to int otherwise.
template <typename T>
using Wrapping = std::conditional_t<(sizeof(T) < 4), uint32_t, std::make_unsigned_t<T>>;
template <typename T> constexpr Wrapping<T> wrap(T x) { return static_cast<Wrapping<T>>(x); }

template <typename T> T quotient(T a, T b) {
  if (b == 0)
    return T(-1);
  if (std::is_signed_v<T> && b == T(-1))
    return T(0 - wrap(a));
  return T(a / b);
}
template <typename T> T remainderOf(T a, T b) {
  if (b == 0)
    return a;
  if (std::is_signed_v<T> && b == T(-1))
    return 0;
  return T(a % b);
}

template <typename T> T powerOf(T base, T exponent) {
  if (std::is_signed_v<T> && exponent < 0) { // 1 / base, which only 1 and -1 have.
    if (base == 1)
      return 1;
    return base == T(-1) ? T(exponent & 1 ? -1 : 1) : T(0);
  }
  Wrapping<T> result = 1, square = wrap(base);
  for (auto left = std::make_unsigned_t<T>(exponent); left != 0; left >>= 1) {
    if (left & 1)
      result *= square;
    square *= square;
  }
  return T(result);
}

template <typename T> constexpr unsigned kWidth = sizeof(T) * 8;

/// Shifts by the width and more: all bits are gone, or are the sign.
template <typename T> T shiftedLeft(T x, T by) {
  auto amount = std::make_unsigned_t<T>(by);
  return amount < kWidth<T> ? T(wrap(x) << amount) : T(0);
}
template <typename T> T shiftedRight(T x, T by) {
  auto amount = std::make_unsigned_t<T>(by);
  return amount < kWidth<T> ? T(std::make_unsigned_t<T>(x) >> amount) : T(0);
}
template <typename T> T shiftedWithSign(T x, T by) {
  auto amount = std::make_unsigned_t<T>(by);
  return T(std::make_signed_t<T>(x) >> std::min<uint64_t>(amount, kWidth<T> - 1));
}

template <typename T> T signOf(T x) { return T((x > 0) - (std::is_signed_v<T> && x < 0)); }
template <typename T> T magnitude(T x) {
  return std::is_signed_v<T> && x < 0 ? T(0 - wrap(x)) : x;
}
template <typename T> T clampOf(T low, T x, T high) { return std::min(std::max(x, low), high); }

template <typename T> struct Table {
  static ElementLoop find(std::string_view name) {
    struct Row {
      std::string_view name;
      ElementLoop loop;
    };
    static constexpr Row kRows[] = {
        {"abs", mapped<T, magnitude<T>>},
        {"add", mapped<T, [](T x, T y) { return T(wrap(x) + wrap(y)); }>},
        {"and", mapped<T, [](T x, T y) { return T(x & y); }>},
        {"clamp", mapped<T, clampOf<T>>},
        {"count_leading_zeros",
         mapped<T, [](T x) { return T(std::countl_zero(std::make_unsigned_t<T>(x))); }>},
        {"divide", mapped<T, quotient<T>>},
        {"maximum", mapped<T, [](T x, T y) { return std::max(x, y); }>},
        {"minimum", mapped<T, [](T x, T y) { return std::min(x, y); }>},
        {"multiply", mapped<T, [](T x, T y) { return T(wrap(x) * wrap(y)); }>},
        {"negate", mapped<T, [](T x) { return T(0 - wrap(x)); }>},
        {"not", mapped<T, [](T x) { return T(~x); }>},
        {"or", mapped<T, [](T x, T y) { return T(x | y); }>},
        {"popcnt", mapped<T, [](T x) { return T(std::popcount(std::make_unsigned_t<T>(x))); }>},
        {"power", mapped<T, powerOf<T>>},
        {"remainder", mapped<T, remainderOf<T>>},
        {"shift_left", mapped<T, shiftedLeft<T>>},
        {"shift_right_arithmetic", mapped<T, shiftedWithSign<T>>},
        {"shift_right_logical", mapped<T, shiftedRight<T>>},
        {"sign", mapped<T, signOf<T>>},
        {"subtract", mapped<T, [](T x, T y) { return T(wrap(x) - wrap(y)); }>},
        {"xor", mapped<T, [](T x, T y) { return T(x ^ y); }>},
    };
    for (const Row &row : kRows)
      if (row.name == name)
        return row.loop;
    return nullptr;
  }
};

} // namespace

ElementLoop integerLoop(std::string_view name, DType type) {
  return tensor::dispatch(type, [&]<DType known>() -> ElementLoop {
    if constexpr (tensor::isInteger(known) && tensor::info(known).bits >= 8)
      return Table<tensor::Storage<known>>::find(name);
    else
      return nullptr;
  });
}

ElementLoop booleanLoop(std::string_view name) {
  using T = uint8_t; // 0 or 1.
  if (name == "add" || name == "or" || name == "maximum")
    return mapped<T, [](T x, T y) { return T(x | y); }>;
  if (name == "and" || name == "multiply" || name == "minimum")
    return mapped<T, [](T x, T y) { return T(x & y); }>;
  if (name == "xor")
    return mapped<T, [](T x, T y) { return T(x ^ y); }>;
  if (name == "not")
    return mapped<T, [](T x) { return T(x ^ 1); }>;
  if (name == "clamp")
    return mapped<T, [](T low, T x, T high) { return T((x | low) & high); }>;
  return nullptr;
}

} // namespace cupel::brief
