// The restricted Python literals that case files may hold (`py: (Ellipsis, None, slice(None))`):
// tuples, lists, None, Ellipsis, slices, booleans, numbers with inf and nan, and texts. They are
// parsed here into values and handed on as data; nothing is ever evaluated as code.
#pragma once

#include "cupel/support/Error.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cupel::testbench::opcases {

struct Value {
  enum class Kind : uint8_t { None, Ellipsis, Bool, Int, Float, Text, List, Tuple, Slice };

  Kind kind = Kind::None;
  bool flag = false;
  int64_t integer = 0;
  double number = 0;
  std::string text;
  std::vector<Value> items; ///< Of a list or tuple; of a slice start, stop and step.

  static Value none() { return {}; }
  static Value of(bool value);
  static Value of(int64_t value);
  static Value of(double value);
  static Value of(std::string value);
  static Value list(std::vector<Value> items, Kind kind = Kind::List);

  /// As Python writes it; equal values have equal texts.
  std::string str() const;
  bool operator==(const Value &) const = default;
};

/// Why a text is no literal, and at which of its bytes that shows.
struct LiteralError {
  size_t at = 0;
  std::string message;
};

inline constexpr uint32_t kMaxLiteralDepth = 32;

/// Parses a whole text; `problem` says what is wrong where it is none.
bool parseLiteral(std::string_view text, Value &value, LiteralError &problem);

} // namespace cupel::testbench::opcases
