// How far the numbers of a tensor move, by themselves.

#include "cupel/reference/JitterTesting.h"
#include "cupel/tensor/Float.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <numeric>
#include <set>

namespace cupel::reference {
namespace {

using tensor::DType;
using tensor::Tensor;

TEST(MovedNumbersTest, MovesByAtMostAStepAndNeverWhatHasNone) {
  Tensor values = Tensor::of<DType::F32>({6}, {1, -3, 0, INFINITY, NAN, 1e-20f});
  Result<Tensor> moved = jittered(values, 0x1p-7, 0x1p-52, 42);
  ASSERT_TRUE(moved);
  std::vector<double> before = numbers(values), after = numbers(*moved);
  for (int i : {0, 1, 5}) {
    EXPECT_NE(after[i], before[i]);
    EXPECT_LE(std::fabs(after[i] - before[i]), std::fabs(before[i]) * (0x1p-7 + 0x1p-23));
  }
  EXPECT_EQ(after[2], 0);
  EXPECT_EQ(after[3], INFINITY);
  EXPECT_TRUE(std::isnan(after[4]));
  EXPECT_EQ(numbers(*jittered(values, 0x1p-7, 0x1p-52, 42))[0], after[0]);
  EXPECT_NE(numbers(*jittered(values, 0x1p-7, 0x1p-52, 43))[0], after[0]);
  EXPECT_EQ(numbers(*jittered(values, 0, 0x1p-52, 42))[0], 1);
  Tensor integers = Tensor::of<DType::I32>({2}, {1, 2});
  EXPECT_EQ(numbers(*jittered(integers, 0.5, 0x1p-52, 1)), (std::vector<double>{1, 2}));
}

TEST(MovedNumbersTest, EveryMachineMovesNumbersByTheSameAmounts) {
  // Worked out elsewhere: neither vectors nor what is left behind them may change a bit.
  struct Place {
    int64_t at;
    double f32, f64, bf16;
  };
  constexpr Place places[] = {
      {0, 0x1.00476ap+0, 0x1.000000008ed28p+0, 0x1p+0},
      {1, 0x1.ffd072p-1, 0x1.003fffff50723p+0, 0x1p+0},
      {7, 0x1.006028p+0, 0x1.01bffffd404fap+0, 0x1p+0},
      {8, 0x1.01ae3cp+0, 0x1.01ffffff5c774p+0, 0x1.02p+0},
      {100, 0x1.170808p+0, 0x1.18fffffc10117p+0, 0x1.16p+0},
      {998, 0x1.f88416p+0, 0x1.f97ffffe082bep+0, 0x1.fap+0},
      {1002, 0x1.fcdf94p+0, 0x1.fa800004bf28ep+0, 0x1.fcp+0}};
  std::vector<float> singles(1003);
  std::vector<double> doubles(1003);
  std::vector<uint16_t> halves(1003);
  for (size_t i = 0; i < singles.size(); ++i) {
    doubles[i] = singles[i] = 1 + float(i) / 1024;
    halves[i] = tensor::fromFloat<DType::BF16>(singles[i]);
  }
  auto moved = [](const Tensor &values) { return numbers(*jittered(values, 0x1p-7, 0x1p-30, 42)); };
  std::vector<double> f32 = moved(Tensor::of<DType::F32>({1003}, singles)),
                      f64 = moved(Tensor::of<DType::F64>({1003}, doubles)),
                      bf16 = moved(Tensor::of<DType::BF16>({1003}, halves));
  for (const Place &place : places) {
    EXPECT_EQ(f32[place.at], place.f32) << place.at;
    EXPECT_EQ(f64[place.at], place.f64) << place.at;
    EXPECT_EQ(bf16[place.at], place.bf16) << place.at;
  }
}

TEST(MovedNumbersTest, WhatNobodySharesMovesWhereItLiesByTheSameAmounts) {
  auto check = [](Tensor alone) {
    Tensor copy = alone, kept = *Tensor::uninitialized(alone.elementType(), {alone.size()});
    std::memcpy(kept.mutableData(), alone.data(), size_t(alone.byteSize()));
    ASSERT_TRUE(jitter(copy, 0x1p-7, 0x1p-30, 42));
    EXPECT_NE(copy.data(), alone.data()); // Shared at first.
    EXPECT_EQ(std::memcmp(alone.data(), kept.data(), size_t(kept.byteSize())), 0);
    const std::byte *place = alone.data();
    ASSERT_TRUE(jitter(alone, 0x1p-7, 0x1p-30, 42));
    EXPECT_EQ(alone.data(), place);
    EXPECT_EQ(std::memcmp(alone.data(), copy.data(), size_t(copy.byteSize())), 0);
    EXPECT_NE(std::memcmp(alone.data(), kept.data(), size_t(kept.byteSize())), 0);
  };
  std::vector<float> singles(1003), few(1003);
  std::vector<double> doubles(1003);
  std::vector<uint16_t> halves(1003);
  for (size_t i = 0; i < singles.size(); ++i) {
    doubles[i] = singles[i] = std::sin(float(i));
    few[i] = float(1 + i % 3); // Equal ones move alike.
    halves[i] = tensor::fromFloat<DType::BF16>(singles[i]);
  }
  check(Tensor::of<DType::F32>({1003}, singles));
  check(Tensor::of<DType::F32>({1003}, few));
  check(Tensor::of<DType::F64>({1003}, doubles));
  check(Tensor::of<DType::BF16>({1003}, halves));
}

// What moves in f64 without being rounded says what it must be in bf16 and f32: rounded once, and
// finite where it was.
TEST(MovedNumbersTest, MovedNumbersAreRoundedOnce) {
  auto check = [](auto type, std::vector<tensor::Storage<decltype(type)::value>> stored) {
    constexpr DType kType = decltype(type)::value;
    const auto count = static_cast<int64_t>(stored.size());
    std::vector<double> values;
    for (auto one : stored)
      values.push_back(tensor::toDouble<kType>(one));
    size_t changed = 0;
    for (uint64_t key = 1; key <= 12; ++key) {
      // A step of bf16, which leaves ties between its numbers, and others.
      const double step = key % 3 == 0 ? 0x1p-8 : key % 3 == 1 ? 0x1.8p-7 : 0x1.2345p-6;
      Tensor narrow = Tensor::of<kType>({count}, std::span<const tensor::Storage<kType>>(stored));
      Tensor wide = Tensor::of<DType::F64>({count}, std::span<const double>(values));
      ASSERT_TRUE(jitter(narrow, step, step, key) && jitter(wide, step, step, key));
      for (int64_t i = 0; i < count; ++i) {
        auto got = narrow.dataAs<tensor::Storage<kType>>()[i];
        auto expected = tensor::fromDouble<kType>(wide.dataAs<double>()[i]);
        if (std::isnan(values[i])) {
          ASSERT_TRUE(std::isnan(tensor::toDouble<kType>(got)));
          continue;
        }
        if (!std::isfinite(tensor::toDouble<kType>(expected)))
          expected = stored[i];
        ASSERT_EQ(tensor::toDouble<kType>(got), tensor::toDouble<kType>(expected))
            << values[i] << " by " << step;
        ASSERT_EQ(std::signbit(tensor::toDouble<kType>(got)), std::signbit(values[i]));
        changed += got != stored[i];
      }
    }
    EXPECT_GT(changed, stored.size());
  };
  std::vector<uint16_t> all(65536);
  std::iota(all.begin(), all.end(), uint16_t(0));
  check(std::integral_constant<DType, DType::BF16>(), all);
  std::vector<float> some;
  for (uint64_t bits = 0; bits < (uint64_t(1) << 32); bits += 39916801 / 1024)
    some.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  check(std::integral_constant<DType, DType::F32>(), some);
}

TEST(MovedNumbersTest, NarrowTypesMoveByTheirOwnSteps) {
  std::vector<uint16_t> ones(4096, 0x3f80); // 1.0
  Tensor values = Tensor::of<DType::BF16>({4096}, ones);
  int up = 0, down = 0;
  for (double value : numbers(*jittered(values, 0x1p-23, 0x1p-52, 7))) {
    up += value > 1;
    down += value < 1;
    EXPECT_LE(std::fabs(value - 1), 0x1p-7);
  }
  EXPECT_GT(up + down, 500);
}

TEST(MovedNumbersTest, EqualNumbersMoveAlikeWhereAFewMakeTheTensor) {
  // Rounding the same sum the same way at every place does not average out.
  std::vector<float> values(1 << 12);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = i % 3 == 0 ? 1.5f : 0.75f;
  std::vector<double> moved =
      numbers(*jittered(Tensor::of<DType::F32>({1 << 12}, values), 0x1p-10, 0x1p-52, 5));
  for (size_t i = 3; i < moved.size(); ++i)
    EXPECT_EQ(moved[i], moved[i - 3]);
  EXPECT_NE(moved[0], 1.5);
  EXPECT_NE(moved[0], 2 * moved[1]);
}

TEST(MovedNumbersTest, MovesBothWaysAndAboutEvenly) {
  std::vector<float> ones(1 << 16);
  for (size_t i = 0; i < ones.size(); ++i)
    ones[i] = 1 + float(i) * 0x1p-22f; // others, and as good as one
  std::vector<double> moved =
      numbers(*jittered(Tensor::of<DType::F32>({1 << 16}, ones), 0x1p-10, 0x1p-52, 77));
  double sum = 0, squares = 0, neighbours = 0;
  for (size_t i = 0; i < moved.size(); ++i) {
    double u = (moved[i] / ones[i] - 1) * 0x1p10;
    sum += u;
    squares += u * u;
    if (i)
      neighbours += u * (moved[i - 1] / ones[i - 1] - 1) * 0x1p10;
  }
  double count = double(moved.size());
  EXPECT_NEAR(sum / count, 0, 0.01);
  EXPECT_NEAR(squares / count, 1.0 / 3, 0.01);
  EXPECT_NEAR(neighbours / count, 0, 0.01);
}

} // namespace
} // namespace cupel::reference
