// Tensors for the tests of comparison: seeded random values that are the same everywhere, in any
// float type; and comparisons that must succeed.

#pragma once

#include "cupel/compare/Compare.h"
#include "cupel/tensor/Convert.h"
#include "cupel/tensor/Tensor.h"

#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <limits>

namespace cupel::compare {

inline constexpr double kInf = std::numeric_limits<double>::infinity();
inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// SplitMix64.
class Random {
public:
  explicit Random(uint64_t seed) : state(seed) {}
  uint64_t bits() {
    uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  double uniform() { return static_cast<double>(bits() >> 11) * 0x1p-53; }
  /// Roughly normal, mean 0 and deviation 1.
  double normal() {
    double sum = -6;
    for (int i = 0; i < 12; ++i)
      sum += uniform();
    return sum;
  }
  int64_t below(int64_t limit) {
    return static_cast<int64_t>(bits() % static_cast<uint64_t>(limit));
  }

private:
  uint64_t state;
};

using Values = std::vector<double>;

inline Values normals(int64_t count, uint64_t seed) {
  Random random(seed);
  Values values(count);
  for (double &value : values)
    value = random.normal();
  return values;
}

/// The values rounded to the type.
inline tensor::Tensor tensorOf(tensor::DType type, tensor::Shape shape, const Values &values) {
  tensor::Tensor wide =
      tensor::Tensor::of<tensor::DType::F64>(std::move(shape), std::span<const double>(values));
  Result<tensor::Tensor> result = tensor::convert(wide, type);
  EXPECT_TRUE(static_cast<bool>(result));
  return std::move(*result);
}
inline tensor::Tensor vectorOf(tensor::DType type, const Values &values) {
  return tensorOf(type, {static_cast<int64_t>(values.size())}, values);
}

inline Statistics measure(const tensor::Tensor &a, const tensor::Tensor &b,
                          const Tolerance &tolerance = {}, const Options &options = {}) {
  Result<Statistics> result = compare(a, b, tolerance, options);
  EXPECT_TRUE(static_cast<bool>(result)) << result.message();
  return std::move(*result);
}

} // namespace cupel::compare
