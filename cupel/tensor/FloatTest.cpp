#include "cupel/tensor/Float.h"

#include "cupel/tensor/SlowFormats.h"

#include <gtest/gtest.h>

using namespace cupel::tensor;

namespace {

template <typename Check> void forEachFormat(Check check) {
  for (const slow::Format &format : slow::kFormats)
    dispatch(format.type, [&]<DType type>() {
      if constexpr (isNarrowFloat(type)) {
        SCOPED_TRACE(info(type).name);
        check.template operator()<type>(slow::Reference(format));
      }
    });
}

template <DType type>
testing::AssertionResult agrees(const slow::Reference &reference, Storage<type> got,
                                long double value) {
  int expected = reference.encode(value);
  if (expected < 0 ? reference.isNan(got) : got == expected)
    return testing::AssertionSuccess();
  return testing::AssertionFailure()
         << static_cast<double>(value) << " became pattern " << +got << ", not " << expected;
}

TEST(Float, EveryPatternHasItsExactValue) {
  forEachFormat([]<DType type>(const slow::Reference &reference) {
    for (int pattern = 0; pattern < reference.patternCount(); ++pattern) {
      long double expected = reference.decode(pattern);
      float single = toFloat<type>(pattern);
      double wide = toDouble<type>(pattern);
      if (std::isnan(expected)) {
        ASSERT_TRUE(std::isnan(single) && std::isnan(wide)) << pattern;
        continue;
      }
      ASSERT_EQ(single, expected) << pattern;
      ASSERT_EQ(wide, expected) << pattern;
      ASSERT_EQ(std::signbit(single), std::signbit(expected)) << pattern;
      ASSERT_EQ(fromFloat<type>(single), pattern);
      ASSERT_EQ(fromDouble<type>(wide), pattern);
    }
  });
}

// Every decision a rounding can take lies at a value or in the middle between two: both, and their
// neighbours in float and double, from below zero to beyond overflow.
TEST(Float, RoundsRightAroundEveryValueAndEveryMiddle) {
  forEachFormat([]<DType type>(const slow::Reference &reference) {
    const std::vector<long double> &ladder = reference.ladder();
    for (size_t i = 0; i + 1 < ladder.size(); ++i)
      for (long double at : {ladder[i], (ladder[i] + ladder[i + 1]) / 2, ladder[i + 1]})
        for (int sign : {1, -1}) {
          double wide = static_cast<double>(at) * sign;
          for (double x : {wide, std::nextafter(wide, HUGE_VAL), std::nextafter(wide, -HUGE_VAL)})
            ASSERT_TRUE(agrees<type>(reference, fromDouble<type>(x), x));
          float single = static_cast<float>(wide);
          for (float x :
               {single, std::nextafter(single, HUGE_VALF), std::nextafter(single, -HUGE_VALF)})
            ASSERT_TRUE(agrees<type>(reference, fromFloat<type>(x), x));
        }
  });
}

TEST(Float, RoundsRightAcrossTheWholeRange) {
  forEachFormat([]<DType type>(const slow::Reference &reference) {
    uint64_t state = 1;
    for (int i = 0; i < 200000; ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      float single = std::bit_cast<float>(static_cast<uint32_t>(state >> 32));
      ASSERT_TRUE(agrees<type>(reference, fromFloat<type>(single), single));
      double wide = std::bit_cast<double>(state ^ (state >> 29));
      ASSERT_TRUE(agrees<type>(reference, fromDouble<type>(wide), wide));
    }
    for (double x : {0.0, -0.0, 5e-324, -5e-324, 1e308, -1e308, double(HUGE_VAL), -double(HUGE_VAL),
                     std::nan(""), -std::nan("")}) {
      ASSERT_TRUE(agrees<type>(reference, fromDouble<type>(x), x));
      ASSERT_TRUE(
          agrees<type>(reference, fromFloat<type>(static_cast<float>(x)), static_cast<float>(x)));
    }
  });
}

TEST(Float, IntegersRoundOnceEvenBeyondFiftyThreeBits) {
  forEachFormat([]<DType type>(const slow::Reference &reference) {
    for (int bit = 0; bit < 64; ++bit)
      for (int64_t delta : {-2, -1, 0, 1, 2})
        for (int middle = 0; middle <= bit; ++middle) {
          uint64_t x = (uint64_t{1} << bit) + (uint64_t{1} << middle) + delta;
          ASSERT_TRUE(agrees<type>(reference, fromUnsigned<type>(x), static_cast<long double>(x)))
              << x;
          auto s = static_cast<int64_t>(x);
          ASSERT_TRUE(agrees<type>(reference, fromSigned<type>(s), static_cast<long double>(s)))
              << s;
        }
  });
  // 2^54 + 2^46 is a middle of bf16; one more decides, and a double cannot hold it.
  EXPECT_EQ(fromSigned<DType::BF16>((int64_t{1} << 54) + (int64_t{1} << 46)), 0x5a80);
  EXPECT_EQ(fromSigned<DType::BF16>((int64_t{1} << 54) + (int64_t{1} << 46) + 1), 0x5a81);
}

// 1 + 2^-11 is a middle of f16. What is added below a float's last place decides upwards, and would
// be lost on the way through float.
TEST(Float, DoubleDoesNotPassThroughFloat) {
  double x = 1.0 + 0x1p-11 + 0x1p-40;
  EXPECT_EQ(fromDouble<DType::F16>(x), 0x3c01);
  EXPECT_EQ(fromFloat<DType::F16>(static_cast<float>(x)), 0x3c00);
}

TEST(Float, KnownPatterns) {
  EXPECT_EQ(fromFloat<DType::F16>(65504.0f), 0x7bff);
  EXPECT_EQ(fromFloat<DType::F16>(65519.996f), 0x7bff);
  EXPECT_EQ(fromFloat<DType::F16>(65520.0f), 0x7c00);
  EXPECT_EQ(fromFloat<DType::F8E4M3FN>(464.0f), 0x7e);
  EXPECT_EQ(fromFloat<DType::F8E4M3FN>(465.0f), 0x7f);
  EXPECT_EQ(fromFloat<DType::F8E4M3FN>(-HUGE_VALF), 0xff);
  EXPECT_EQ(fromFloat<DType::F8E4M3FNUZ>(-0.0f), 0x00);
  EXPECT_EQ(fromFloat<DType::F8E5M2FNUZ>(HUGE_VALF), 0x80);
  EXPECT_EQ(fromFloat<DType::F8E4M3B11FNUZ>(30.0f), 0x7f);
  EXPECT_EQ(fromFloat<DType::F4E2M1FN>(2.5f), 0x4);
  EXPECT_EQ(fromFloat<DType::F4E2M1FN>(-HUGE_VALF), 0xf);
  EXPECT_EQ(fromFloat<DType::F4E2M1FN>(std::nanf("")), 0x8);
  EXPECT_EQ(fromFloat<DType::F6E2M3FN>(7.75f), 0x1f);
  EXPECT_EQ(fromFloat<DType::F6E3M2FN>(30.0f), 0x1f);
  EXPECT_EQ(fromFloat<DType::F8E3M4>(15.5f), 0x6f);
  EXPECT_EQ(fromFloat<DType::F8E3M4>(15.75f), 0x70);
  EXPECT_EQ(fromFloat<DType::F8E8M0FNU>(3.0f), 0x81);
  EXPECT_EQ(fromFloat<DType::F8E8M0FNU>(0.0f), 0xff);
  EXPECT_EQ(fromFloat<DType::F8E8M0FNU>(-1.0f), 0xff);
  EXPECT_EQ(fromFloat<DType::F8E8M0FNU>(0x1p-149f), 0x00);
  EXPECT_EQ(fromFloat<DType::F8E8M0FNU>(0x1p-127f), 0x00);
  EXPECT_EQ(fromFloat<DType::F8E8M0FNU>(0x1.000004p-127f), 0x01);
  EXPECT_EQ(fromFloat<DType::F8E8M0FNU>(0x1.8p127f), 0xff);
  EXPECT_EQ(fromFloat<DType::BF16>(1.0f), 0x3f80);
  EXPECT_EQ(fromFloat<DType::BF16>(HUGE_VALF), 0x7f80);
  static_assert(fromFloat<DType::F16>(1.0f) == 0x3c00);
  static_assert(toFloat<DType::F8E5M2>(0x3c) == 1.0f);
}

} // namespace
