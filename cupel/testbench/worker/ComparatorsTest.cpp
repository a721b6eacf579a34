#include "cupel/testbench/worker/Comparators.h"

#include <cmath>
#include <gtest/gtest.h>

namespace cupel::testbench::worker {
namespace {

using tensor::DType;
using tensor::Tensor;

Tensor floats(std::initializer_list<float> values) {
  return Tensor::of<DType::F32>({int64_t(values.size())}, values);
}

results::ComparisonRecord judged(const Tensor &actual, const Tensor &expected,
                                 const config::Expectation &expectation) {
  auto record = compareOutput(0, actual, expected, Comparators::of(expectation));
  EXPECT_TRUE(record) << record.message();
  return record ? *record : results::ComparisonRecord();
}

const Tensor kExpected = floats({1, 2, 3, 4, 5});
const Tensor kClose = floats({1, 2, 3, 4, 5.25f}); // pcc 0.998, off by 0.25.
const Tensor kWrong = floats({5, 4, 3, 2, 1});     // pcc -1.

TEST(Comparators, WithoutAnEntryTheCorrelationIsAsserted) {
  results::ComparisonRecord record = judged(kClose, kExpected, {});
  EXPECT_TRUE(record.passed);
  EXPECT_TRUE(record.pccAsserted);
  EXPECT_FALSE(record.atolAsserted);
  EXPECT_NEAR(*record.pcc, 0.998, 0.002);
  EXPECT_EQ(*record.pccThreshold, 0.99);
  EXPECT_NEAR(*record.maxAbsolute, 0.25, 1e-6);
  EXPECT_FALSE(judged(kWrong, kExpected, {}).passed);
}

TEST(Comparators, RequiredPccIsHonoured) {
  config::Expectation strict;
  strict.requiredPcc = 0.9999;
  EXPECT_FALSE(judged(kClose, kExpected, strict).passed);
  strict.requiredPcc = -1;
  EXPECT_TRUE(judged(kWrong, kExpected, strict).passed);
}

TEST(Comparators, WhatIsNotAssertedIsMeasured) {
  config::Expectation lenient;
  lenient.assertPcc = false;
  results::ComparisonRecord record = judged(kWrong, kExpected, lenient);
  EXPECT_TRUE(record.passed);
  EXPECT_FALSE(record.pccAsserted);
  EXPECT_NEAR(*record.pcc, -1, 1e-9);
  EXPECT_EQ(*record.pccThreshold, 0.99);
  EXPECT_TRUE(record.sentence.starts_with("nothing is asserted")) << record.sentence;
  // Another shape is no result at all.
  EXPECT_FALSE(judged(floats({1, 2}), kExpected, lenient).passed);
}

TEST(Comparators, AtolIsHonoured) {
  config::Expectation expectation;
  expectation.assertPcc = false;
  expectation.assertAtol = true;
  EXPECT_FALSE(judged(kClose, kExpected, expectation).passed); // 0.25 > 0.16.
  expectation.requiredAtol = 0.5;
  results::ComparisonRecord record = judged(kClose, kExpected, expectation);
  EXPECT_TRUE(record.passed) << record.sentence;
  EXPECT_EQ(*record.atolThreshold, 0.5);
}

TEST(Comparators, AllcloseIsHonoured) {
  config::Expectation expectation;
  expectation.assertAllclose = true;
  EXPECT_FALSE(judged(kClose, kExpected, expectation).passed);
  expectation.allcloseRtol = 0.1;
  EXPECT_TRUE(judged(kClose, kExpected, expectation).passed);
  // Both bounds on single elements: each counts.
  expectation.assertAtol = true;
  expectation.requiredAtol = 0.2;
  results::ComparisonRecord record = judged(kClose, kExpected, expectation);
  EXPECT_FALSE(record.passed);
  EXPECT_TRUE(record.sentence.starts_with("largest difference 0.25 > 0.2")) << record.sentence;
}

TEST(Comparators, ToleranceSaysTheSame) {
  config::Expectation both;
  both.assertAllclose = both.assertAtol = true;
  both.requiredAtol = 0.2;
  for (const Comparators &c : {Comparators(), Comparators::onnxSuite(tensor::DType::F32),
                               Comparators::of(both, {.assertPcc = false}), Comparators::of(both)})
    EXPECT_EQ(Comparators::of(c.tolerance()).tolerance(), c.tolerance());
  compare::Tolerance rest{.pcc = 0.5, .relativeL2 = 0.1, .ulp = compare::UlpRange{0, 2}};
  EXPECT_EQ(Comparators::of(rest).tolerance(), rest);
  // No bound is the bound of equality.
  Comparators equal = Comparators::of(compare::Tolerance());
  EXPECT_TRUE(equal.assertsAnything());
  EXPECT_EQ(equal.tolerance(), (compare::Tolerance{.atol = 0.0, .rtol = 0.0}));
}

TEST(Comparators, NanIsAFactOfItsOwn) {
  Tensor broken = floats({1, 2, NAN, 4, 5});
  results::ComparisonRecord record = judged(broken, kExpected, {});
  EXPECT_FALSE(record.passed);
  ASSERT_TRUE(record.pcc);
  EXPECT_TRUE(std::isnan(*record.pcc));
}

} // namespace
} // namespace cupel::testbench::worker
