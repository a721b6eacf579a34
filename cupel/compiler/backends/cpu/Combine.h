// Two elements made one, as StableHLO's add, multiply, maximum, minimum, and, or do; and which of them
// the body of a scatter or a window is. Used by kernels that combine elements one by one.

#pragma once

#include "cupel/compiler/tensor/TensorIr.h"

#include "llvm/ADT/StringSwitch.h"

#include <cmath>
#include <cstdint>
#include <optional>
#include <type_traits>

namespace cupel::compiler {

enum class Combine { Second, Add, Multiply, Maximum, Minimum, And, Or };

/// What a region of two arguments does with them; nothing if it is none of these.
inline std::optional<Combine> combineOf(mlir::Region &region) {
  mlir::Block &body = region.front();
  if (body.getNumArguments() == 2 && body.without_terminator().empty() &&
      body.getTerminator()->getNumOperands() == 1 &&
      body.getTerminator()->getOperand(0) == body.getArgument(1))
    return Combine::Second;
  mlir::Operation *op = tir::simpleCombiner(region);
  if (!op)
    return std::nullopt;
  return llvm::StringSwitch<std::optional<Combine>>(op->getName().stripDialect())
      .Case("add", Combine::Add)
      .Case("multiply", Combine::Multiply)
      .Case("maximum", Combine::Maximum)
      .Case("minimum", Combine::Minimum)
      .Case("and", Combine::And)
      .Case("or", Combine::Or)
      .Default(std::nullopt);
}

/// Whether `combined` is defined on the type.
template <Combine combine, typename T>
inline constexpr bool kCombines =
    std::is_integral_v<T> || (combine != Combine::And && combine != Combine::Or);

template <Combine combine, typename T> T combined(T a, T b) {
  if constexpr (combine == Combine::Second) {
    return b;
  } else if constexpr (std::is_floating_point_v<T>) {
    if constexpr (combine == Combine::Add)
      return a + b;
    else if constexpr (combine == Combine::Multiply)
      return a * b;
    // NaN wins, and zeros have an order.
    else if constexpr (combine == Combine::Maximum)
      return a > b || a != a ? a : b > a || b != b ? b : std::signbit(a) ? b : a;
    else
      return a < b || a != a ? a : b < a || b != b ? b : std::signbit(a) ? a : b;
  } else {
    using U = std::make_unsigned_t<T>; // Integers wrap.
    if constexpr (combine == Combine::Add)
      return T(U(a) + U(b));
    else if constexpr (combine == Combine::Multiply)
      return T(U(a) * U(b));
    else if constexpr (combine == Combine::Maximum)
      return a > b ? a : b;
    else if constexpr (combine == Combine::Minimum)
      return a < b ? a : b;
    else if constexpr (combine == Combine::And)
      return T(a & b);
    else
      return T(a | b);
  }
}

/// Calls `use.operator()<combine, T>()` for an element type of 32 or 64 bits; false if there is no such
/// case.
template <typename F> bool dispatchCombine(Combine combine, mlir::Type element, F &&use) {
  auto ofType = [&]<typename T>() {
    auto one = [&]<Combine which>() {
      if constexpr (kCombines<which, T>) {
        use.template operator()<which, T>();
        return true;
      }
      return false;
    };
    switch (combine) {
    case Combine::Second: return one.template operator()<Combine::Second>();
    case Combine::Add: return one.template operator()<Combine::Add>();
    case Combine::Multiply: return one.template operator()<Combine::Multiply>();
    case Combine::Maximum: return one.template operator()<Combine::Maximum>();
    case Combine::Minimum: return one.template operator()<Combine::Minimum>();
    case Combine::And: return one.template operator()<Combine::And>();
    case Combine::Or: return one.template operator()<Combine::Or>();
    }
    return false;
  };
  if (element.isF32())
    return ofType.template operator()<float>();
  if (element.isF64())
    return ofType.template operator()<double>();
  auto integer = mlir::dyn_cast<mlir::IntegerType>(element);
  if (!integer)
    return false;
  if (integer.getWidth() == 32)
    return integer.isUnsigned() ? ofType.template operator()<uint32_t>()
                                : ofType.template operator()<int32_t>();
  if (integer.getWidth() == 64)
    return integer.isUnsigned() ? ofType.template operator()<uint64_t>()
                                : ofType.template operator()<int64_t>();
  return false;
}

} // namespace cupel::compiler
