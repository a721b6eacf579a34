// What happens where correlation has no meaning: each case that docs/reference/compare.md lists.
// Never does a NaN pass, never do equal tensors fail.

#include "cupel/compare/Verdict.h"

#include "cupel/compare/TestTensors.h"

#include <limits>

using namespace cupel;
using namespace cupel::compare;
using namespace cupel::tensor;

namespace {

Verdict check(const Values &actual, const Values &expected, double pcc = 0.99,
              DType type = DType::F32) {
  Result<Verdict> verdict =
      compare::check(vectorOf(type, actual), vectorOf(type, expected), Tolerance::withPcc(pcc));
  EXPECT_TRUE(static_cast<bool>(verdict));
  return std::move(*verdict);
}

TEST(Pcc, EqualTensorsAlwaysPass) {
  for (const Values &values :
       {Values{}, Values{0}, Values{7}, Values{1, 2}, Values(50, 0.0), Values(50, 3.25),
        Values{1e-38, 2e-38, 1e-38}, Values{5e-45, 0, 5e-45}, Values{kNan, kNan, kNan},
        Values{kNan}, Values{kInf, kInf}, Values{1, kNan, -kInf, 2, 3}})
    for (DType type : {DType::F32, DType::BF16, DType::F16, DType::F64}) {
      Verdict verdict = check(values, values, 1.0, type);
      EXPECT_TRUE(verdict.passed) << verdict.sentence;
      EXPECT_TRUE(verdict.picture.empty());
    }
}

TEST(Pcc, OneElement) {
  EXPECT_TRUE(check({1.005}, {1}).passed);
  Verdict verdict = check({1.1}, {1});
  EXPECT_FALSE(verdict.passed);
  EXPECT_EQ(verdict.statistics.pccState, PccState::TooFew);
  EXPECT_TRUE(std::isnan(verdict.statistics.pcc));
  EXPECT_EQ(verdict.sentence, "pcc has no meaning (one element), relative L2 0.1 > 0.01; 1.1 vs 1");
}

TEST(Pcc, TwoElementsAlwaysCorrelateAndProveNothing) {
  EXPECT_FALSE(check({1, 200}, {1, 2}).passed);
  EXPECT_TRUE(check({1, 2.001}, {1, 2}).passed);
  EXPECT_FALSE(check({2, 1}, {1, 2}).passed);
}

TEST(Pcc, ConstantExpected) {
  Values e(64, 5.0), near(e), far(e);
  near[3] = 5.01;
  for (double &value : far)
    value = 5.5;
  Verdict verdict = check(near, e);
  EXPECT_TRUE(verdict.passed) << verdict.sentence;
  EXPECT_EQ(verdict.statistics.pccState, PccState::ExpectedConstant);
  verdict = check(far, e);
  EXPECT_FALSE(verdict.passed);
  EXPECT_NE(
      verdict.sentence.find("pcc has no meaning (expected is constant), relative L2 0.1 > 0.01"),
      std::string::npos)
      << verdict.sentence;
  EXPECT_FALSE(check(normals(64, 2), e).passed);
}

TEST(Pcc, ConstantUpToRounding) {
  // Both vary in their last bit only, independently: correlation is near zero and means nothing.
  Random random(5);
  Values e(1000), a(1000);
  for (size_t i = 0; i < e.size(); ++i) {
    e[i] = 1 + (random.bits() & 1) * 0x1p-23;
    a[i] = 1 + (random.bits() & 1) * 0x1p-23;
  }
  Verdict verdict = check(a, e, 0.9999);
  EXPECT_TRUE(verdict.passed) << verdict.sentence;
  EXPECT_EQ(verdict.statistics.pccState, PccState::ExpectedConstant);
}

TEST(Pcc, NearlyEqualValuesThatAgreeToRounding) {
  // Logarithms of three determinants: they differ by 1e-6, the results by 2e-7.
  Values e{0.15415069, 0.15415072, 0.15414967}, a{0.15415080, 0.15415050, 0.15414985};
  Verdict verdict = check(a, e);
  EXPECT_TRUE(verdict.passed) << verdict.sentence;
  EXPECT_EQ(verdict.statistics.pccState, PccState::WithinRounding);
  EXPECT_NE(verdict.sentence.find("expected varies by a few roundings"), std::string::npos)
      << verdict.sentence;
  // One of them off by more, and correlation decides.
  a[1] = 0.154158;
  verdict = check(a, e);
  EXPECT_FALSE(verdict.passed) << verdict.sentence;
  EXPECT_EQ(verdict.statistics.pccState, PccState::Measured);
  // Neither a constant nor zeros pass for values that differ visibly, and NaN never does.
  EXPECT_FALSE(check(Values(3, 1.386), {1.386, 1.387, 1.388}).passed);
  EXPECT_FALSE(check(Values(3, 0.0), e).passed);
  EXPECT_FALSE(check({0.15415069, kNan, 0.15414967}, e).passed);
}

TEST(Pcc, OneRoundingOfTheCoarserTypeIsAllowed) {
  // 0.1 is 0.10009765625 in bf16, 0.1 % off; a bound of 0.9999 would allow 0.01 %.
  Result<Verdict> verdict =
      compare::check(vectorOf(DType::BF16, Values(32, 0.1)), vectorOf(DType::F32, Values(32, 0.1)),
                     Tolerance::withPcc(0.9999));
  EXPECT_TRUE(verdict->passed) << verdict->sentence;
}

TEST(Pcc, ConstantActual) {
  Verdict verdict = check(Values(64, 5.0), normals(64, 1));
  EXPECT_FALSE(verdict.passed);
  EXPECT_EQ(verdict.statistics.pccState, PccState::ActualConstant);
  EXPECT_EQ(verdict.statistics.pcc, 0);
  EXPECT_NE(verdict.sentence.find("pcc 0 < 0.99 (the result is constant)"), std::string::npos)
      << verdict.sentence;
}

TEST(Pcc, AllZero) {
  EXPECT_TRUE(check(Values(16, 0.0), Values(16, -0.0)).passed);
  Values noise = normals(16, 1);
  for (double &value : noise)
    value *= 1e-9;
  Verdict verdict = check(noise, Values(16, 0.0));
  EXPECT_FALSE(verdict.passed);
  EXPECT_NE(verdict.sentence.find("expected is all zero"), std::string::npos) << verdict.sentence;
  // An absolute tolerance decides what is as good as zero.
  Result<Verdict> near =
      compare::check(vectorOf(DType::F32, noise), vectorOf(DType::F32, Values(16, 0.0)),
                     {.pcc = 0.99, .atol = 1e-6});
  EXPECT_TRUE(near->passed) << near->sentence;
  EXPECT_FALSE(check(Values(16, 0.0), normals(16, 1)).passed);
}

TEST(Pcc, TinyMagnitudesAreMeasuredLikeAnyOthers) {
  for (DType type : {DType::F32, DType::F64}) {
    double unit = type == DType::F32 ? 1e-36 : 1e-250;
    Values e = normals(500, 1), a = normals(500, 2), near;
    for (size_t i = 0; i < e.size(); ++i) {
      e[i] *= unit, a[i] *= unit;
      near.push_back(e[i] * 1.001);
    }
    EXPECT_FALSE(check(a, e, 0.99, type).passed);
    EXPECT_TRUE(check(near, e, 0.99, type).passed);
    EXPECT_FALSE(check(Values(500, 0.0), e, 0.99, type).passed);
  }
}

TEST(Pcc, NanNeverPasses) {
  Values e = normals(64, 1), a = e;
  a[9] = kNan;
  Verdict verdict = check(a, e, -1); // the weakest bound there is
  EXPECT_FALSE(verdict.passed);
  EXPECT_NE(verdict.sentence.find("1 of 64 elements is NaN, first at [9]"), std::string::npos)
      << verdict.sentence;
  EXPECT_FALSE(check(e, a, -1).passed);
  EXPECT_FALSE(check(Values(64, kNan), e, -1).passed);
  EXPECT_FALSE(check(e, Values(64, kNan), -1).passed);
  EXPECT_FALSE(check(Values(3, kInf), Values(3, -kInf), -1).passed);
  EXPECT_FALSE(check(Values{kInf}, Values{3}, -1).passed);
  // NaN in the same places is equal unless the tolerance says otherwise; the rest is measured.
  Values alsoNan = a;
  EXPECT_TRUE(check(a, alsoNan).passed);
  Result<Verdict> strict = compare::check(vectorOf(DType::F32, a), vectorOf(DType::F32, alsoNan),
                                          {.pcc = 0.99, .nan = NanPolicy::Unequal});
  EXPECT_FALSE(strict->passed);
  EXPECT_EQ(strict->sentence, "1 of 64 elements is NaN on both sides, which the tolerance does not "
                              "accept, first at [9]; worst at [9]: nan vs nan");
}

} // namespace
