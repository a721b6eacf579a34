#include "cupel/compare/NoiseLanes.h"

#include "cupel/compare/Lanes.h"
#include "cupel/compare/TestTensors.h"
#include "cupel/tensor/Convert.h"

#include <bit>
#include <cmath>
#include <gtest/gtest.h>
#include <memory>

using namespace cupel;
using namespace cupel::compare;

namespace {

/// A block of `count` numbers around one another, zeros behind them.
std::unique_ptr<NoiseBlock> blockOf(int64_t count, size_t samples, uint32_t seed) {
  auto block = std::make_unique<NoiseBlock>(samples);
  Random random(seed);
  block->count = count;
  auto fill = [&](NoiseBlock::Numbers &numbers, double noise) {
    for (int64_t i = 0; i < kNoiseBlock; ++i)
      numbers.values[i] = i < count ? std::sin(double(i)) + noise * random.normal() : 0;
  };
  fill(block->expected, 0);
  fill(block->center, 0);
  fill(block->actual, 1e-3);
  for (NoiseBlock::Numbers &sample : block->samples)
    fill(sample, 1e-4);
  return block;
}

const ElementLimits kLimits{.factor = 8, .noise = 1e-5, .noiseShare = 1e-7, .least = 1e-6,
                            .smallest = 0x1p-126, .size = 0.1};

TEST(NoiseLanes, HaveTheSameBitsInEveryInstructionSet) {
  for (int64_t count : {1, 7, 8, 9, 500, 512})
    for (size_t samples : {0, 1, 2, 3, 8}) {
      auto block = blockOf(count, samples, uint32_t(count + 1000 * int64_t(samples)));
      BlockSquares plain;
      std::vector<double> ratios(kNoiseBlock);
      double farthest = 0;
      ASSERT_TRUE(addSquares(*block, plain, 0));
      ASSERT_TRUE(findRatios(*block, kLimits, ratios.data(), farthest, 0));
      for (int set = 1; set < instructionSets(); ++set) {
        BlockSquares other;
        std::vector<double> otherRatios(kNoiseBlock);
        double otherFarthest = 0;
        ASSERT_TRUE(addSquares(*block, other, set));
        ASSERT_TRUE(findRatios(*block, kLimits, otherRatios.data(), otherFarthest, set));
        EXPECT_EQ(other.sum, plain.sum);
        EXPECT_EQ(other.expected, plain.expected);
        EXPECT_EQ(other.error, plain.error);
        EXPECT_EQ(other.noise, plain.noise);
        EXPECT_EQ(otherRatios, ratios);
        EXPECT_EQ(otherFarthest, farthest);
      }
    }
}

TEST(NoiseLanes, SumWhatIsThere) {
  auto block = blockOf(77, 2, 5);
  double sum = 0, expected = 0, error = 0, noise[2] = {};
  for (int64_t i = 0; i < 77; ++i) {
    sum += block->expected[i];
    expected += block->expected[i] * block->expected[i];
    error += std::pow(block->actual[i] - block->expected[i], 2);
    for (int s = 0; s < 2; ++s)
      noise[s] += std::pow(block->samples[s][i] - block->center[i], 2);
  }
  BlockSquares found;
  ASSERT_TRUE(addSquares(*block, found));
  EXPECT_NEAR(found.sum, sum, 1e-12);
  EXPECT_NEAR(found.expected, expected, 1e-12);
  EXPECT_NEAR(found.error, error, 1e-15);
  EXPECT_NEAR(found.noise[0], noise[0], 1e-18);
  EXPECT_NEAR(found.noise[1], noise[1], 1e-18);
}

TEST(NoiseLanes, LeaveStrangeNumbersToOthers) {
  for (double strange : {kNan, kInf, -kInf, 0x1p500, 0x1p-500}) {
    bool isFinite = std::isfinite(strange);
    for (NoiseBlock::Numbers NoiseBlock::*side : {&NoiseBlock::actual, &NoiseBlock::expected}) {
      auto block = blockOf(100, 3, 9);
      (*block.*side).values[63] = strange;
      block->expected.values[63] = side == &NoiseBlock::expected ? strange : 0;
      BlockSquares sums;
      std::vector<double> ratios(kNoiseBlock);
      double farthest = 0;
      EXPECT_FALSE(addSquares(*block, sums)) << strange;
      EXPECT_EQ(findRatios(*block, kLimits, ratios.data(), farthest), isFinite) << strange;
    }
    auto block = blockOf(100, 3, 9);
    block->samples[1].values[63] = strange;
    block->center.values[63] = 0;
    BlockSquares sums;
    EXPECT_FALSE(addSquares(*block, sums)) << strange;
  }
  auto block = blockOf(100, 0, 9);
  std::vector<double> ratios(kNoiseBlock);
  double farthest = 0;
  EXPECT_FALSE(findRatios(*block, {}, ratios.data(), farthest)); // no limits, no ratios
}

TEST(NoiseLanes, WidenEveryNumber) {
  std::vector<uint16_t> halves(65536);
  std::vector<float> floats;
  for (uint32_t i = 0; i < 65536; ++i) {
    halves[i] = uint16_t(i);
    floats.push_back(std::bit_cast<float>(i * 65539u));
  }
  struct Case {
    Source source;
    const void *from;
    tensor::DType type;
  };
  for (const Case &each : {Case{Source::F32, floats.data(), tensor::DType::F32},
                           Case{Source::BF16, halves.data(), tensor::DType::BF16},
                           Case{Source::F16, halves.data(), tensor::DType::F16}})
    for (int64_t count : {65536, 65533}) {
      std::vector<double> expected(65536, -7);
      tensor::convertElements(each.type, each.from, tensor::DType::F64, expected.data(), count);
      for (int set = 0; set < instructionSets(); ++set) {
        std::vector<double> wide(65536, -7);
        widen(each.source, each.from, count, wide.data(), set);
        for (size_t i = 0; i < wide.size(); ++i)
          ASSERT_TRUE(wide[i] == expected[i] || (std::isnan(wide[i]) && std::isnan(expected[i])))
              << i;
      }
    }
}

/// Large enough for several chunks, so that threads share them.
TEST(NoiseLanes, VerdictsDoNotDependOnThreads) {
  constexpr int64_t kCount = 300000;
  auto moved = [](double by, uint64_t seed) {
    Values values = normals(kCount, seed);
    for (int64_t i = 0; i < kCount; ++i)
      values[size_t(i)] = std::sin(double(i)) + by * values[size_t(i)];
    return tensorOf(tensor::DType::F32, {600, 500}, values);
  };
  tensor::Tensor expected = moved(0, 0), wrong = moved(1e-3, 1);
  Noise noise{.samples = {moved(1e-6, 2), moved(1e-6, 3)}};
  std::optional<NoiseVerdict> first;
  for (int threads : {1, 2, 3, 7}) {
    Result<NoiseVerdict> verdict = checkByNoise(wrong, expected, noise, {}, {.threads = threads});
    ASSERT_TRUE(verdict);
    EXPECT_FALSE(verdict->passed);
    if (first) {
      EXPECT_EQ(verdict->sentence, first->sentence);
      EXPECT_EQ(verdict->noise, first->noise);
      EXPECT_EQ(verdict->error, first->error);
      EXPECT_EQ(verdict->worst, first->worst);
      EXPECT_EQ(verdict->whole, first->whole);
      EXPECT_EQ(verdict->beyond, first->beyond);
    } else {
      first = std::move(*verdict);
    }
  }
}

} // namespace
