#include "cupel/compare/Noise.h"

#include <bit>
#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>

using namespace cupel;
using namespace cupel::compare;
using tensor::DType;
using tensor::Tensor;
using ::testing::HasSubstr;

namespace {

constexpr int kRows = 64, kColumns = 48, kCount = kRows * kColumns;

Tensor floats(const std::vector<float> &values) {
  return Tensor::of<DType::F32>({kRows, kColumns}, values);
}

/// Values as a layer gives them, and what rounding at `step` makes of them.
struct Layer {
  explicit Layer(uint32_t seed = 1) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    for (int i = 0; i < kCount; ++i)
      values.push_back(normal(random));
  }
  std::vector<float> moved(double step, uint32_t seed) const {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> uniform(-1, 1);
    std::vector<float> result;
    for (float value : values)
      result.push_back(float(value * (1 + step * uniform(random))));
    return result;
  }
  Noise noise(std::string_view precision, double growth = 4) const {
    const Precision *found = findPrecision(precision);
    return {{*found, *found},
            {floats(moved(growth * found->step, 11)), floats(moved(growth * found->step, 12))}};
  }
  std::vector<float> values;
};

bool passes(const std::vector<float> &actual, const Layer &layer, const Noise &noise) {
  Result<NoiseVerdict> verdict = checkByNoise(floats(actual), floats(layer.values), noise);
  EXPECT_TRUE(verdict) << verdict.message();
  return verdict && verdict->passed;
}

TEST(NoiseTest, EveryPrecisionIsFoundByItsName) {
  for (const Precision &precision : precisions())
    EXPECT_EQ(findPrecision(precision.name)->step, precision.step);
  EXPECT_EQ(findPrecision("f31"), nullptr);
}

TEST(NoiseTest, ADeviceMayComputeProductsInAnotherFormat) {
  Result<DevicePrecision> both = DevicePrecision::parse("tf32/f32");
  ASSERT_TRUE(both);
  EXPECT_EQ(both->products.name, "tf32");
  EXPECT_EQ(both->rest.name, "f32");
  EXPECT_EQ(both->text(), "tf32/f32");
  EXPECT_EQ(both->coarsest().name, "tf32");
  EXPECT_EQ(DevicePrecision::parse("bf16")->text(), "bf16");
  EXPECT_EQ(DevicePrecision().text(), "f32");
  EXPECT_EQ(DevicePrecision::parse("f32/f32/f32")->doubles.name, "f32");
  EXPECT_EQ(DevicePrecision::parse("f32/f32/f32")->text(), "f32/f32/f32");
  for (const char *wrong : {"", "f31", "f32/", "/f32", "f32/f32/f32/f32", "f32/f32/"})
    EXPECT_FALSE(DevicePrecision::parse(wrong)) << wrong;
}

class ByPrecision : public ::testing::TestWithParam<const char *> {};
INSTANTIATE_TEST_SUITE_P(All, ByPrecision, ::testing::Values("f32", "tf32", "bf16"));

TEST_P(ByPrecision, RoundingIsNoError) {
  Layer layer;
  double step = findPrecision(GetParam())->step;
  for (uint32_t seed = 20; seed < 40; ++seed)
    EXPECT_TRUE(passes(layer.moved(4 * step, seed), layer, layer.noise(GetParam())));
  EXPECT_TRUE(passes(layer.values, layer, layer.noise(GetParam())));
}

TEST_P(ByPrecision, WhatCorrelationDoesNotSeeIsSeen) {
  Layer layer;
  Noise noise = layer.noise(GetParam());
  double step = findPrecision(GetParam())->step;
  auto with = [&](auto &&change) {
    std::vector<float> actual = layer.moved(4 * step, 33);
    for (int i = 0; i < kCount; ++i)
      actual[i] = change(actual[i], i);
    return actual;
  };
  EXPECT_FALSE(passes(with([](float x, int) { return x * 1.5f; }), layer, noise)) << "scaled";
  EXPECT_FALSE(passes(with([](float x, int) { return x + 1; }), layer, noise)) << "shifted";
  EXPECT_FALSE(passes(with([](float x, int i) { return i / kColumns == 7 ? 0 : x; }), layer, noise))
      << "a row is lost";
  EXPECT_FALSE(passes(with([](float x, int i) { return i == 1234 ? x + 8 : x; }), layer, noise))
      << "one element";
  EXPECT_FALSE(passes(with([](float x, int i) { return i == 1234 ? NAN : x; }), layer, noise))
      << "NaN";
}

TEST(NoiseTest, WithoutSamplesTheDeclaredPrecisionDecides) {
  Layer layer;
  for (const char *name : {"f32", "tf32", "bf16"}) {
    Noise noise{*DevicePrecision::parse(name), {}};
    EXPECT_TRUE(passes(layer.moved(3 * noise.precision.rest.step, 5), layer, noise)) << name;
    EXPECT_FALSE(passes(layer.moved(400 * noise.precision.rest.step, 5), layer, noise)) << name;
  }
}

TEST(NoiseTest, AnIllConditionedProgramGetsWideLimitsAndIsCalledSo) {
  Layer layer;
  Noise noise = layer.noise("f32", 0x1p19);
  Result<NoiseVerdict> verdict =
      checkByNoise(floats(layer.moved(0x1p-8, 5)), floats(layer.values), noise);
  ASSERT_TRUE(verdict);
  EXPECT_TRUE(verdict->passed) << verdict->sentence;
  EXPECT_THAT(verdict->note, HasSubstr("ill-conditioned: "));
  EXPECT_THAT(verdict->note, HasSubstr(" % noise in f32"));
  EXPECT_EQ(checkByNoise(floats(layer.values), floats(layer.values), layer.noise("f32"))->note, "");
}

TEST(NoiseTest, TheSentenceNamesTheBoundThePlaceAndThePicture) {
  Layer layer;
  std::vector<float> actual = layer.values;
  for (int i = 32 * kColumns; i < kCount; ++i)
    actual[i] = 0;
  Result<NoiseVerdict> verdict =
      checkByNoise(floats(actual), floats(layer.values), layer.noise("bf16"));
  ASSERT_TRUE(verdict);
  EXPECT_FALSE(verdict->passed);
  EXPECT_THAT(verdict->sentence, HasSubstr("beyond 8x noise, worst at ["));
  EXPECT_THAT(verdict->sentence, HasSubstr("the whole is off by"));
  EXPECT_THAT(verdict->sentence, HasSubstr("in bf16"));
  EXPECT_THAT(verdict->sentence, HasSubstr("looks like: rows 32..63 (the tail) are zero"));
  EXPECT_GT(verdict->worst, 8);
  EXPECT_GT(verdict->whole, 4);
}

TEST(NoiseTest, IntegersAreEqualUnlessRoundingDecidesThem) {
  std::vector<int32_t> values(100), other;
  for (int i = 0; i < 100; ++i)
    values[i] = i * 7;
  auto of = [](const std::vector<int32_t> &v) { return Tensor::of<DType::I32>({100}, v); };
  other = values;
  other[3] += 1;
  Noise still{*DevicePrecision::parse("f32"), {of(values), of(values)}};
  EXPECT_TRUE(checkByNoise(of(values), of(values), still)->passed);
  EXPECT_FALSE(checkByNoise(of(other), of(values), still)->passed);
  EXPECT_FALSE(checkByNoise(of(other), of(values), {*DevicePrecision::parse("f32"), {}})->passed);
  // One index flips under jitter: a tie.
  std::vector<int32_t> flipped = values;
  flipped[50] = 1;
  Noise tie{*DevicePrecision::parse("f32"), {of(values), of(flipped)}};
  EXPECT_TRUE(checkByNoise(of(other), of(values), tie)->passed);
  for (int i = 0; i < 5; ++i)
    other[i * 10] = -1;
  EXPECT_FALSE(checkByNoise(of(other), of(values), tie)->passed);
}

TEST(NoiseTest, InfinitiesAndShapesAreAsEverywhere) {
  auto of = [](std::vector<float> v) {
    return Tensor::of<DType::F32>({int64_t(v.size())}, std::span<const float>(v));
  };
  Noise noise{*DevicePrecision::parse("f32"), {}};
  Tensor expected = of({1, INFINITY, NAN, -INFINITY});
  EXPECT_TRUE(checkByNoise(expected, expected, noise)->passed);
  EXPECT_FALSE(checkByNoise(of({1, -INFINITY, NAN, -INFINITY}), expected, noise)->passed);
  EXPECT_FALSE(checkByNoise(of({1, INFINITY, 0, -INFINITY}), expected, noise)->passed);
  Result<NoiseVerdict> shorter = checkByNoise(of({1, 2}), expected, noise);
  ASSERT_TRUE(shorter);
  EXPECT_FALSE(shorter->passed);
  EXPECT_THAT(shorter->sentence, HasSubstr("shape is 2, expected 4"));
}

TEST(NoiseTest, ZeroExpectedAcceptsOnlyZero) {
  std::vector<float> zeros(kCount), tiny(kCount, 1e-30f);
  Layer layer;
  layer.values = zeros;
  Noise noise{*DevicePrecision::parse("bf16"), {floats(zeros), floats(zeros)}};
  EXPECT_TRUE(passes(zeros, layer, noise));
  EXPECT_FALSE(passes(tiny, layer, noise));
}

TEST(NoiseTest, WhatSaysNothingIsCalledVacuous) {
  auto of = [](std::vector<float> v) {
    return Tensor::of<DType::F32>({int64_t(v.size())}, std::span<const float>(v));
  };
  EXPECT_TRUE(vacuous(of({NAN, NAN, INFINITY})));
  EXPECT_TRUE(vacuous(of({2, 2, 2})));
  EXPECT_FALSE(vacuous(of({2, 2, 3})));
  EXPECT_FALSE(vacuous(of({2})));
  EXPECT_FALSE(vacuous(of({})));
  EXPECT_FALSE(vacuous(of({NAN, 1, 2})));
}

TEST(NoiseTest, TheNumberOfThreadsChangesNothing) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  std::vector<float> e(300'000), a, s;
  for (float &x : e)
    x = normal(random);
  for (float x : e) {
    a.push_back(x * 1.0000002f);
    s.push_back(x * 0.9999999f);
  }
  auto of = [](const std::vector<float> &v) {
    return Tensor::of<DType::F32>({int64_t(v.size())}, std::span<const float>(v));
  };
  Noise noise{*DevicePrecision::parse("f32"), {of(s)}};
  Result<NoiseVerdict> one = checkByNoise(of(a), of(e), noise, {}, {.threads = 1});
  Result<NoiseVerdict> three = checkByNoise(of(a), of(e), noise, {}, {.threads = 3});
  ASSERT_TRUE(one && three);
  EXPECT_EQ(one->sentence, three->sentence);
  EXPECT_EQ(one->worst, three->worst);
  EXPECT_EQ(one->whole, three->whole);
}

TEST(NoiseTest, SixtyFourBitsAreComparedToTheLast) {
  auto of = [](int64_t value) { return Tensor::of<DType::I64>({2}, {7, value}); };
  int64_t large = int64_t(1) << 60;
  EXPECT_TRUE(checkByNoise(of(large), of(large), {})->passed);
  EXPECT_FALSE(checkByNoise(of(large + 1), of(large), {})->passed);
  EXPECT_FALSE(vacuous(Tensor::of<DType::I64>({2}, {large, large + 1})));
}

TEST(NoiseTest, WhatOnlyMovesNumbersMayRoundThemOnceAndNoMore) {
  Layer layer;
  Noise still{{}, {floats(layer.values), floats(layer.values)}};
  EXPECT_TRUE(passes(layer.moved(0x1p-21, 3), layer, still));
  EXPECT_FALSE(passes(layer.moved(0x1p-10, 3), layer, still));
}

TEST(NoiseTest, ARoundingMayDecideWhetherThereIsANumber) {
  auto of = [](std::vector<float> v) {
    return Tensor::of<DType::F32>({int64_t(v.size())}, std::span<const float>(v));
  };
  Tensor expected = of({0, 1, 2, 3});
  Noise noise{{}, {of({NAN, 1, 2, 3}), of({0, 1, 2, 3})}};
  EXPECT_TRUE(checkByNoise(of({NAN, 1, 2, 3}), expected, noise)->passed);
  EXPECT_FALSE(checkByNoise(of({0, NAN, 2, 3}), expected, noise)->passed);
}

TEST(NoiseTest, NoiseThatScalesTheWholeDoesNotHideALostCorrelation) {
  // Every sample is the result times one number, as where all is divided by a sum that cancels.
  Layer layer;
  auto scaled = [&](float by) {
    std::vector<float> values = layer.values;
    for (float &x : values)
      x *= by;
    return values;
  };
  Noise noise{{}, {floats(scaled(1.05f)), floats(scaled(0.96f))}};
  EXPECT_TRUE(passes(scaled(1.1f), layer, noise));
  Result<NoiseVerdict> verdict =
      checkByNoise(floats(layer.moved(0.05, 4)), floats(layer.values), noise);
  ASSERT_TRUE(verdict);
  EXPECT_FALSE(verdict->passed);
  EXPECT_THAT(verdict->sentence, HasSubstr("pcc 0.99"));
}

TEST(NoiseTest, MagnitudesWhoseSquaresOverflowAreJudgedLikeOthers) {
  for (double size : {1e-200, 1e200}) {
    std::vector<double> values, off;
    for (int i = 0; i < 100; ++i) {
      values.push_back(size * std::sin(i));
      off.push_back(values.back() * (1 + 1e-9 * (i % 3)));
    }
    auto of = [](const std::vector<double> &v) {
      return Tensor::of<DType::F64>({int64_t(v.size())}, std::span<const double>(v));
    };
    EXPECT_TRUE(checkByNoise(of(values), of(values), {})->passed);
    EXPECT_FALSE(checkByNoise(of(off), of(values), {})->passed) << size;
  }
}

class PartTest : public ::testing::Test {
protected:
  std::string pictureWith(auto &&change) {
    std::vector<float> actual = layer.values;
    for (int i = 0; i < kCount; ++i)
      actual[i] = change(actual[i], i);
    Result<NoiseVerdict> verdict =
        checkByNoise(floats(actual), floats(layer.values), layer.noise("f32"));
    EXPECT_TRUE(verdict && !verdict->passed);
    return verdict ? verdict->picture : "";
  }
  Layer layer;
};

TEST_F(PartTest, OneRowIsLookedAtAlone) {
  EXPECT_EQ(pictureWith([](float x, int i) { return i / kColumns == 7 ? x * 1.5f : x; }),
            "in row 7: scaled by 1.5");
  EXPECT_EQ(pictureWith([&](float x, int i) {
              return i % kColumns == 3 ? layer.values[(kRows - 1 - i / kColumns) * kColumns + 3]
                                       : x;
            }),
            "in column 3: reversed");
}

TEST_F(PartTest, OneElementOfABatchIsLookedAtAlone) {
  std::vector<float> values(4 * 8 * 16);
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  for (float &x : values)
    x = normal(random);
  std::vector<float> actual = values;
  for (int i = 2 * 128; i < 3 * 128; ++i)
    actual[i] += 0.5f;
  auto of = [](const std::vector<float> &v) {
    return Tensor::of<DType::F32>({4, 8, 16}, std::span<const float>(v));
  };
  Result<NoiseVerdict> verdict = checkByNoise(of(actual), of(values), {});
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->picture,
            "in dimension 0 at 2: the constant 0.5 is added to every element");
}

TEST_F(PartTest, ASingleElementIsNamed) {
  const std::string where = "a single wrong element at [25, 34]";
  auto at = [](int i) { return i == 25 * kColumns + 34; };
  EXPECT_EQ(pictureWith([&](float x, int i) { return at(i) ? 0 : x; }),
            "the block [25, 34] is zero");
  EXPECT_EQ(pictureWith([&](float x, int i) { return at(i) ? -x : x; }),
            where + ": the sign is flipped");
  EXPECT_EQ(pictureWith([&](float x, int i) {
              return at(i) ? std::bit_cast<float>(std::bit_cast<uint32_t>(x) ^ (1u << 22)) : x;
            }),
            where + ": bit 22 is flipped");
}

} // namespace
