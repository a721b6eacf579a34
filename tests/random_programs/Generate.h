// Random StableHLO programs by seed: well-typed, of all families of operations, with shapes that
// compilers stumble over. Used to hold a compiled device against the golden reference. The same seed
// gives the same program everywhere.

#pragma once

#include "cupel/tensor/Tensor.h"

#include <cstdint>
#include <string>
#include <vector>

namespace cupel::random_programs {

struct Program {
  std::string text;
  std::vector<tensor::Tensor> arguments;
  /// Of each result: made of operations whose results IEEE 754 or the specification fixes to the
  /// last bit; others may differ by roundings.
  std::vector<bool> isExact;
};

Program generate(uint64_t seed);

} // namespace cupel::random_programs
