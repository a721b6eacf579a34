// Symbolic sizes: expressions as SymPy prints them (srepr), the numbers that symbols stand for in
// one import, and arithmetic on numbers as the graph's own calls ask for it (`_operator.add`,
// `torch.sym_max`, `math.trunc`). Knows no MLIR; nothing is evaluated but these expressions.
#pragma once

#include "cupel/support/Error.h"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace cupel::frontends::torch_import {

/// What Python's bool, int and float are.
struct Number {
  enum class Kind : uint8_t { Bool, Integer, Real } kind = Kind::Integer;
  int64_t integer = 0;
  double real = 0; ///< Also of integers.

  static Number of(int64_t value) { return {Kind::Integer, value, static_cast<double>(value)}; }
  static Number of(bool value) { return {Kind::Bool, value, value ? 1.0 : 0.0}; }
  static Number of(double value) { return {Kind::Real, 0, value}; }
  bool isReal() const { return kind == Kind::Real; }
  bool truth() const { return isReal() ? real != 0 : integer != 0; }
};

class Symbols {
public:
  void bind(const std::string &symbol, int64_t value) { values[symbol] = value; }
  bool isBound(const std::string &symbol) const { return values.count(symbol) > 0; }
  /// Makes `expression` equal `size`: binds the one unbound symbol in it if it is linear in that.
  /// An error if it contradicts what is bound; false if it cannot be solved.
  Result<bool> solve(const std::string &expression, int64_t size);
  Result<Number> evaluate(std::string_view expression) const;
  /// The name if the expression is one symbol.
  static std::optional<std::string> symbolOf(std::string_view expression);

private:
  std::map<std::string, int64_t, std::less<>> values;
};

/// A call on numbers: "_operator.add", "torch.sym_max", "math.sqrt". An error says what is wrong
/// with it; `isNumberCall` says whether it is one at all.
bool isNumberCall(std::string_view target);
Result<Number> callOnNumbers(std::string_view target, std::span<const Number> arguments);

} // namespace cupel::frontends::torch_import
