// The sentences, and the judgements that self-checking programs ask for.

#include "cupel/compare/Verdict.h"

#include "cupel/compare/TestTensors.h"

#include <limits>

using namespace cupel;
using namespace cupel::compare;
using namespace cupel::tensor;

namespace {

Verdict run(const Tensor &a, const Tensor &e, const Tolerance &tolerance) {
  Result<Verdict> verdict = compare::check(a, e, tolerance);
  EXPECT_TRUE(static_cast<bool>(verdict));
  EXPECT_EQ(verdict->sentence.find('\n'), std::string::npos);
  EXPECT_FALSE(verdict->sentence.empty());
  return std::move(*verdict);
}
bool passes(const Values &a, const Values &e, const Tolerance &tolerance, DType type = DType::F32) {
  return run(vectorOf(type, a), vectorOf(type, e), tolerance).passed;
}

TEST(Verdict, SaysWhatIsWrongInOneSentence) {
  Values e = normals(64 * 32, 4), a = e;
  std::fill(a.begin() + 32 * 32, a.end(), 0.0);
  Verdict verdict = run(tensorOf(DType::F32, {64, 32}, a), tensorOf(DType::F32, {64, 32}, e),
                        {.pcc = 0.99, .atol = 0.02});
  EXPECT_FALSE(verdict.passed);
  EXPECT_EQ(verdict.picture, "rows 32..63 (the tail) are zero");
  EXPECT_TRUE(verdict.sentence.starts_with("pcc 0.7")) << verdict.sentence;
  EXPECT_NE(verdict.sentence.find(" < 0.99; 49 % of elements differ by more than 0.02; worst at ["),
            std::string::npos)
      << verdict.sentence;
  EXPECT_TRUE(verdict.sentence.ends_with("; looks like: rows 32..63 (the tail) are zero"));
}

TEST(Verdict, Shapes) {
  EXPECT_EQ(
      run(tensorOf(DType::F32, {2, 3}, Values(6)), tensorOf(DType::F32, {}, {0}), {}).sentence,
      "shape is 2x3, expected scalar");
}

TEST(Verdict, NumbersShowOnWhichSideTheyAre) {
  Statistics s;
  s.pcc = 0.98999, s.pccState = PccState::Measured, s.different = 1, s.count = 9;
  EXPECT_EQ(judge(s, Tolerance::withPcc(0.99)).sentence, "pcc 0.98999 < 0.99");
  s.pcc = 0.99;
  EXPECT_EQ(judge(s, Tolerance::withPcc(0.99)).sentence, "pcc 0.99 >= 0.99");
  s.pcc = kNan;
  s.pccState = PccState::NothingFinite;
  EXPECT_FALSE(judge(s, Tolerance::withPcc(-1)).passed);
}

TEST(Verdict, EmptyToleranceMeansEqual) {
  EXPECT_TRUE(passes({1, 2}, {1, 2}, {}));
  EXPECT_FALSE(passes({1, 2.0000002}, {1, 2}, {}));
}

TEST(Verdict, RelativeL2AndCosine) {
  EXPECT_TRUE(passes({3, 4.5}, {3, 4}, {.relativeL2 = 0.1}));
  Verdict verdict =
      run(vectorOf(DType::F32, {3, 4.6}), vectorOf(DType::F32, {3, 4}), {.relativeL2 = 0.1});
  EXPECT_TRUE(verdict.sentence.starts_with("relative L2 0.12 > 0.1")) << verdict.sentence;
  EXPECT_TRUE(passes({6, 8}, {3, 4}, {.cosine = 0.9999}));
  EXPECT_FALSE(passes({-3, -4}, {3, 4}, {.cosine = 0}));
  EXPECT_TRUE(passes({0, 0}, {0, 0}, {.relativeL2 = 0.0, .cosine = 1.0}));
  EXPECT_FALSE(passes({0, 1}, {0, 0}, {.relativeL2 = 10.0}));
}

TEST(Verdict, ExpectEq) {
  Tolerance eq = Tolerance::equal();
  EXPECT_TRUE(passes({1, -0.0, kInf}, {1, 0.0, kInf}, eq));
  EXPECT_FALSE(passes({kNan}, {kNan}, eq));
  EXPECT_FALSE(passes({kInf}, {-kInf}, eq));
  EXPECT_EQ(run(Tensor::of<DType::I32>({3}, {1, 2, 3}), Tensor::of<DType::I32>({3}, {1, 5, 3}), eq)
                .sentence,
            "1 of 3 elements differs; worst at [1]: 2 vs 5");
  EXPECT_EQ(run(Tensor::of<DType::I1>({}, {1}), Tensor::of<DType::I1>({}, {0}), eq).sentence,
            "the element differs; true vs false");
  EXPECT_FALSE(
      run(Tensor::of<DType::C64>({1}, {{1, 2}}), Tensor::of<DType::C64>({1}, {{1, 3}}), eq).passed);
}

TEST(Verdict, ExpectAlmostEq) {
  Tolerance almost = Tolerance::almostEqual(1e-4);
  EXPECT_TRUE(passes({1.00005, kNan, kInf}, {1, kNan, kInf}, almost));
  EXPECT_FALSE(passes({1000.01}, {1000}, almost)); // never relative
  EXPECT_FALSE(passes({kNan}, {1}, almost));
  EXPECT_FALSE(passes({kInf}, {1e30}, almost));
  EXPECT_FALSE(passes({kInf}, {kNan}, almost));
  EXPECT_FALSE(passes({kInf}, {1}, Tolerance::almostEqual(kInf)));
  EXPECT_TRUE(passes({5.1}, {5}, Tolerance::almostEqual(0.1 + 1e-15), DType::F64));
}

TEST(Verdict, ExpectClose) {
  double next = 1 + 0x1p-23, third = 1 + 3 * 0x1p-23;
  EXPECT_TRUE(passes({next, kNan, -0.0}, {1, kNan, 0.0}, Tolerance::close(1)));
  EXPECT_TRUE(passes({third}, {1}, Tolerance::close(3)));
  EXPECT_FALSE(passes({third}, {1}, Tolerance::close(2)));
  EXPECT_TRUE(passes({third}, {1}, Tolerance::close(3, 3)));
  EXPECT_FALSE(passes({next}, {1}, Tolerance::close(3, 2)));
  EXPECT_FALSE(passes({kInf}, {3.4e38}, Tolerance::close(UINT64_MAX - 1)));
  Verdict verdict =
      run(vectorOf(DType::F16, {1, 1.01}), vectorOf(DType::F16, {1, 1}), Tolerance::close(3));
  EXPECT_EQ(
      verdict.sentence,
      "1 of 2 elements is more than 3 ULP of f16 apart, at most 10; worst at [1]: 1.00977 vs 1");
  EXPECT_EQ(
      run(vectorOf(DType::F32, {third}), vectorOf(DType::F32, {1}), Tolerance::close(2)).sentence,
      "the element is more than 2 ULP of f32 apart, at most 3; 1.0000004 vs 1");
}

TEST(Verdict, InfiniteUlpBoundStillRefusesNanAgainstNumber) {
  EXPECT_FALSE(passes({kNan}, {1}, Tolerance::close(UINT64_MAX)));
}

} // namespace
