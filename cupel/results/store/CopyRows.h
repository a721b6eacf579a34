// Rows in the binary form of PostgreSQL's COPY: nothing is escaped here or unescaped there.
// Used by what enters records (Ingest.cpp, TestKeys.cpp); Database::copyIn sends them.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cupel::results {

class CopyRows {
public:
  explicit CopyRows(uint16_t columns) : columns(columns) {
    constexpr std::string_view kSignature("PGCOPY\n\377\r\n\0", 11);
    bytes = kSignature;
    number<uint32_t>(0); // No flags,
    number<uint32_t>(0); // and nothing else before the rows.
  }

  CopyRows &row() {
    number(columns);
    isEmpty = false;
    return *this;
  }
  CopyRows &text(std::string_view value) {
    number(uint32_t(value.size()));
    bytes += value;
    return *this;
  }
  CopyRows &integer(int64_t value) {
    number<uint32_t>(sizeof value);
    number(uint64_t(value));
    return *this;
  }
  CopyRows &real(double value) {
    number<uint32_t>(sizeof value);
    number(std::bit_cast<uint64_t>(value));
    return *this;
  }
  CopyRows &maybe(const std::optional<double> &value) {
    if (value)
      return real(*value);
    number<uint32_t>(UINT32_MAX);
    return *this;
  }

  bool empty() const { return isEmpty; }
  /// All of them, with what ends them.
  std::string_view finish() {
    number<uint16_t>(UINT16_MAX);
    return bytes;
  }

private:
  template <typename Number> void number(Number value) {
    char digits[sizeof value];
    for (size_t i = 0; i < sizeof value; ++i)
      digits[i] = char(value >> 8 * (sizeof value - 1 - i));
    bytes.append(digits, sizeof value);
  }

  std::string bytes;
  uint16_t columns;
  bool isEmpty = true;
};

} // namespace cupel::results
