#include "cupel/compare/Repeat.h"

#include <cmath>
#include <gtest/gtest.h>

namespace cupel::compare {
namespace {

using tensor::DType;
using tensor::Tensor;

constexpr int64_t kCount = 4096;

/// A wave whose every element is moved by `moved(i)`, as a share of its amplitude.
template <typename F> Tensor wave(F &&moved, int64_t count = kCount) {
  std::vector<float> values(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i)
    values[size_t(i)] = float(std::sin(0.1 * double(i)) + moved(i));
  return Tensor::of<DType::F32>({count}, values);
}

double alternating(int64_t i, int64_t seed) { return (i * 7 + seed) % 13 < 6 ? 1 : -1; }

/// What the program's own rounding makes: a hundredth, everywhere.
Noise noisy(int64_t count = kCount) {
  Noise noise;
  noise.center = wave([](int64_t) { return 0.0; }, count);
  for (int64_t seed : {1, 2})
    noise.samples.push_back(wave([&](int64_t i) { return 0.01 * alternating(i, seed); }, count));
  return noise;
}

bool mayDiffer(const Tensor &now, const Tensor &before, const Noise &noise) {
  Result<RepeatVerdict> verdict = checkRepeated(now, before, noise);
  EXPECT_TRUE(verdict) << verdict.message();
  EXPECT_EQ(verdict->passed, verdict->sentence.empty()) << verdict->sentence;
  return verdict->passed;
}

TEST(Repeat, ADeviceThatVariesByAShareOfTheNoiseIsNotWrong) {
  Tensor before = wave([](int64_t i) { return 0.005 * alternating(i, 3); });
  Tensor now = wave([](int64_t i) { return 0.005 * alternating(i, 4); });
  EXPECT_TRUE(mayDiffer(now, before, noisy()));
  EXPECT_TRUE(mayDiffer(before, before, noisy()));
}

TEST(Repeat, AllElementsApartByOneFactorIsNoRounding) {
  Tensor before = wave([](int64_t) { return 0.0; });
  auto scaled = [](double by) {
    return wave([by](int64_t i) { return by * std::sin(0.1 * double(i)); });
  };
  // A hundredth is noise: once and a quarter of it in the same direction is not, a tenth may be.
  EXPECT_FALSE(mayDiffer(scaled(0.0125), before, noisy()));
  EXPECT_TRUE(mayDiffer(scaled(0.001), before, noisy()));
  EXPECT_TRUE(mayDiffer(wave([](int64_t i) { return 0.0088 * alternating(i, 4); }), before, noisy()));
}

TEST(Repeat, OneElementThatIsOffByMoreThanAllOthersIsWrong) {
  // Four times the noise: the reference would let it pass.
  Tensor before = wave([](int64_t) { return 0.0; });
  Tensor now = wave([](int64_t i) { return i == 77 ? 0.04 : 0.0; });
  Noise noise = noisy();
  EXPECT_TRUE(checkByNoise(now, before, noise)->passed);
  EXPECT_FALSE(mayDiffer(now, before, noise));
  // Where all vary, one that varies a little more is none of them.
  Tensor varying = wave([](int64_t i) { return (i == 77 ? 0.03 : 0.01) * alternating(i, 5); });
  EXPECT_TRUE(mayDiffer(varying, before, noise));
}

TEST(Repeat, AWholeThatIsScaledNowAndThenIsWrong) {
  Tensor before = wave([](int64_t) { return 0.0; });
  Tensor now = wave([](int64_t i) { return 0.05 * std::sin(0.1 * double(i)); });
  EXPECT_FALSE(mayDiffer(now, before, noisy()));
}

TEST(Repeat, FewElementsAreJudgedByNoiseAlone) {
  Tensor before = wave([](int64_t) { return 0.0; }, 8);
  EXPECT_FALSE(mayDiffer(wave([](int64_t i) { return i == 3 ? 0.05 : 0; }, 8), before, noisy(8)));
  EXPECT_TRUE(mayDiffer(wave([](int64_t i) { return i == 3 ? 0.01 : 0; }, 8), before, noisy(8)));
}

TEST(Repeat, IntegersStayUnlessRoundingDecidesThem) {
  auto counts = [](int32_t last) { return Tensor::of<DType::I32>({4}, {1, 2, 3, last}); };
  Noise none;
  EXPECT_FALSE(mayDiffer(counts(5), counts(4), none));
  Noise decided;
  decided.samples = {counts(4), counts(5)};
  EXPECT_TRUE(mayDiffer(counts(5), counts(4), decided));
  decided.center = counts(4);
  EXPECT_TRUE(mayDiffer(counts(5), counts(4), decided));
}

TEST(Repeat, ANumberThatComesAndGoesIsWrong) {
  Tensor before = wave([](int64_t) { return 0.0; });
  Tensor now = wave([](int64_t i) { return i == 9 ? NAN : 0.0; });
  EXPECT_FALSE(mayDiffer(now, before, noisy()));
}

} // namespace
} // namespace cupel::compare
