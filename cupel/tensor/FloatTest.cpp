#include "cupel/tensor/Float.h"

#include <gtest/gtest.h>

using namespace cupel::tensor;

namespace {

TEST(Float, KnownPatterns) {
  EXPECT_EQ(fromFloat<DType::F16>(65504.0f), 0x7bff);
  EXPECT_EQ(fromFloat<DType::F16>(65519.996f), 0x7bff);
  EXPECT_EQ(fromFloat<DType::F16>(65520.0f), 0x7c00);
  EXPECT_EQ(fromFloat<DType::F8E4M3FN>(464.0f), 0x7e);
  EXPECT_EQ(fromFloat<DType::F8E4M3FN>(465.0f), 0x7f);
  EXPECT_EQ(fromFloat<DType::F8E4M3FNUZ>(-0.0f), 0x00);
  EXPECT_EQ(fromFloat<DType::BF16>(1.0f), 0x3f80);
}

} // namespace
