// How sums and products are accumulated. Used by every kernel that folds many values into one;
// says nothing about element types themselves.

#pragma once

#include <cstdint>

namespace cupel::reference {

enum class Accumulate : uint8_t {
  /// Floats of 32 bits and below (and complex of them) accumulate in f64 and are rounded once.
  Wide,
  /// Step by step in the program's own types, in row-major order, starting from the initial value.
  Native,
};

} // namespace cupel::reference
