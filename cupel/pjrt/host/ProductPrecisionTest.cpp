#include "cupel/pjrt/host/ProductPrecision.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

namespace cupel::pjrt {
namespace {

/// A number as a format with that many bits behind the first keeps it.
float rounded(float value, int bits, float largest = std::numeric_limits<float>::max()) {
  if (value == 0)
    return 0;
  int exponent = std::ilogb(value);
  float scaled = std::ldexp(value, bits - exponent);
  float kept = std::ldexp(std::nearbyint(scaled), exponent - bits);
  return std::fabs(kept) > largest ? std::numeric_limits<float>::infinity() : kept;
}

std::string formatWith(int bits, float largest = std::numeric_limits<float>::max()) {
  std::vector<float> product = productFactor();
  for (float &value : product)
    value = rounded(value, bits, largest);
  Result<compare::Precision> found = formatOfProduct(product);
  return found ? std::string(found->name) : found.message();
}

TEST(ProductPrecisionTest, EveryFormatIsToldFromTheOthers) {
  EXPECT_EQ(formatWith(23), "f32");
  EXPECT_EQ(formatWith(10), "tf32");
  EXPECT_EQ(formatWith(10, 65504), "f16");
  EXPECT_EQ(formatWith(7), "bf16");
  EXPECT_EQ(formatWith(6), "bfp8");
  EXPECT_EQ(formatWith(3, 448), "fp8");
  EXPECT_EQ(formatWith(2, 57344), "fp8");
}

TEST(ProductPrecisionTest, AWrongProductIsNoFormat) {
  std::vector<float> product = productFactor();
  product[1] = 0.5f;
  Result<compare::Precision> found = formatOfProduct(product);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.message(), "element [0, 1] of the product is 0.5, not 0");
  product = productFactor();
  product[0] = std::nanf("");
  EXPECT_FALSE(formatOfProduct(product));
  EXPECT_FALSE(formatOfProduct(std::span<const float>(product).first(7)));
}

} // namespace
} // namespace cupel::pjrt
