// Random StableHLO programs by seed: well-typed, of all families of operations, with shapes that
// compilers stumble over. Used to hold a compiled device against the golden reference. The same seed
// gives the same program everywhere.

#pragma once

#include "cupel/tensor/Tensor.h"

#include <cstdint>
#include <string>
#include <vector>

namespace cupel::random_programs {

/// How far a result may differ from another rendering of the same program.
enum class Roundings {
  None,   ///< Made of operations whose results IEEE 754 or the specification fixes to the last bit.
  Usual,  ///< By those of f32 and f64.
  Narrow, ///< A rounding on the way was to 16 bits or fewer.
};

struct Program {
  std::string text;
  /// Of each replica.
  std::vector<std::vector<tensor::Tensor>> arguments;
  std::vector<Roundings> roundings; ///< Of each result.
};

Program generate(uint64_t seed);

} // namespace cupel::random_programs
