// Expected values are worked out by hand; random cases are checked against std::stable_sort and by
// looking at the result: in order, ties in their old order, nothing lost.

#include "cupel/reference/Sort.h"
#include "cupel/reference/KernelTesting.h"
#include "cupel/tensor/Float.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace cupel::reference {
namespace {

using I32s = std::vector<int32_t>;
constexpr DType I32 = DType::I32, F32 = DType::F32;
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

template <DType key> TestFunction less(std::optional<KnownFunction> known) {
  return binary<key, DType::I1>([](auto a, auto b) { return a < b; }, known);
}

/// Compares the first of two operands.
template <DType key, DType payload, typename F>
TestFunction byKey(F f, std::optional<KnownFunction> known = std::nullopt) {
  return TestFunction(
      {key, key, payload, payload}, {DType::I1}, known, [f](auto in, auto out, int64_t i) {
        static_cast<uint8_t *>(out[0])[i] = f(static_cast<const Storage<key> *>(in[0])[i],
                                              static_cast<const Storage<key> *>(in[1])[i]);
      });
}

TEST(Sort, AlongEitherDimension) {
  Tensor a = Tensor::of<I32>({2, 3}, {3, 1, 2, 0, 5, -4});
  for (auto known : {std::optional(KnownFunction::Less), std::optional<KnownFunction>()}) {
    auto run = [&](const Tensor &input, int64_t dimension) {
      return valuesOf<I32>((*sort(std::span(&input, 1), dimension, less<I32>(known)))[0]);
    };
    EXPECT_EQ(run(a, 1), (I32s{1, 2, 3, -4, 0, 5}));
    EXPECT_EQ(run(a, -1), (I32s{1, 2, 3, -4, 0, 5}));
    EXPECT_EQ(run(a, 0), (I32s{0, 1, -4, 3, 5, 2}));
    std::vector<int64_t> swap{1, 0};
    EXPECT_EQ(run(a.transposed(swap), 0), (I32s{1, -4, 2, 0, 3, 5}));
    EXPECT_EQ(run(counting({0, 3}), 0), I32s{});
    EXPECT_EQ(run(counting({3, 0}), 0), I32s{});
    EXPECT_EQ(run(counting({1}), 0), (I32s{0}));
  }
  EXPECT_FALSE(sort(std::span(&a, 1), 2, less<I32>({})));
  EXPECT_FALSE(sort(std::span(&a, 1), -3, less<I32>({})));
  EXPECT_FALSE(sort(std::span(&a, 1), 0, less<F32>({})));
  TestFunction failing = less<I32>({});
  failing.failing = true;
  EXPECT_FALSE(sort(std::span(&a, 1), 1, failing));
}

TEST(Sort, TotalOrderPutsNegativeNanFirstAndPositiveNanLast) {
  Tensor x = Tensor::of<F32>({8}, {kNan, 0.0f, -0.0f, kInf, -kNan, -kInf, 1.0f, -1.0f});
  auto key = binary<F32, DType::I1>([](float, float) { return false; }, KnownFunction::LessTotal);
  std::vector<float> up = valuesOf<F32>((*sort(std::span(&x, 1), 0, key))[0]);
  EXPECT_TRUE(std::isnan(up[0]) && std::signbit(up[0]));
  EXPECT_EQ(up[1], -kInf);
  EXPECT_EQ(up[2], -1.0f);
  EXPECT_TRUE(up[3] == 0 && std::signbit(up[3]));
  EXPECT_TRUE(up[4] == 0 && !std::signbit(up[4]));
  EXPECT_EQ(up[5], 1.0f);
  EXPECT_EQ(up[6], kInf);
  EXPECT_TRUE(std::isnan(up[7]) && !std::signbit(up[7]));
  auto down =
      binary<F32, DType::I1>([](float, float) { return false; }, KnownFunction::GreaterTotal);
  std::vector<float> falling = valuesOf<F32>((*sort(std::span(&x, 1), 0, down))[0]);
  EXPECT_TRUE(std::isnan(falling[0]) && !std::signbit(falling[0]));
  EXPECT_TRUE(std::isnan(falling[7]) && std::signbit(falling[7]));
}

TEST(Sort, ZerosOfEitherSignAreTiesForIeeeComparisons) {
  for (auto known : {std::optional(KnownFunction::Less), std::optional<KnownFunction>()}) {
    std::vector<Tensor> inputs{Tensor::of<F32>({4}, {0.0f, -0.0f, -1.0f, 0.0f}), counting({4})};
    auto comparator = byKey<F32, I32>([](float a, float b) { return a < b; }, known);
    EXPECT_EQ(valuesOf<I32>((*sort(inputs, 0, comparator))[1]), (I32s{2, 0, 1, 3}));
  }
}

TEST(Sort, KeysOfNarrowTypes) {
  auto sorted = [&]<DType type>(std::vector<Storage<type>> values, KnownFunction known) {
    Tensor x = Tensor::of<type>({static_cast<int64_t>(values.size())}, values);
    auto comparator = binary<type, DType::I1>([](auto, auto) { return false; }, known);
    return valuesOf<type>((*sort(std::span(&x, 1), 0, comparator))[0]);
  };
  using Bytes = std::vector<uint8_t>;
  EXPECT_EQ((sorted.operator()<DType::I1>({1, 0, 1, 0}, KnownFunction::Less)), (Bytes{0, 0, 1, 1}));
  EXPECT_EQ((sorted.operator()<DType::I4>({3, -8, 7, -1}, KnownFunction::Greater)),
            (std::vector<int8_t>{7, 3, -1, -8}));
  // bf16: 1, -2, -1, 0.5. f8E4M3FNUZ: 0x80 is its NaN.
  EXPECT_EQ((sorted.operator()<DType::BF16>({0x3f80, 0xc000, 0xbf80, 0x3f00}, KnownFunction::Less)),
            (std::vector<uint16_t>{0xc000, 0xbf80, 0x3f00, 0x3f80}));
  EXPECT_EQ((sorted.operator()<DType::F8E4M3FNUZ>({0x80, 0x01, 0x81, 0x7f}, KnownFunction::Less)),
            (Bytes{0x81, 0x01, 0x7f, 0x80}));
}

template <DType type> void checkRandom(std::mt19937 &random, int low, int high) {
  for (int64_t length : {2, 3, 63, 64, 65, 1000, 5003})
    for (int64_t rows : {1, 3})
      for (bool descending : {false, true})
        for (bool known : {true, false}) {
          Tensor keys = randomTensor<type>(random, {rows, length}, low, high);
          std::vector<Tensor> inputs{asView(keys, static_cast<int>(random() % 3)),
                                     counting({rows, length})};
          auto comparator = byKey<type, I32>(
              [descending](auto a, auto b) { return descending ? b < a : a < b; },
              known ? std::optional(descending ? KnownFunction::Greater : KnownFunction::Less)
                    : std::nullopt);
          Result<std::vector<Tensor>> result = sort(inputs, 1, comparator);
          ASSERT_TRUE(result);
          auto flat = valuesOf<type>(keys);
          I32s expected(static_cast<size_t>(rows * length));
          std::iota(expected.begin(), expected.end(), 0);
          for (int64_t r = 0; r < rows; ++r) {
            // Sorting by (key, position) is what stable sorting means.
            std::sort(expected.begin() + r * length, expected.begin() + (r + 1) * length,
                      [&](int32_t a, int32_t b) {
                        if (flat[a] != flat[b])
                          return descending ? flat[b] < flat[a] : flat[a] < flat[b];
                        return a < b;
                      });
          }
          ASSERT_EQ(valuesOf<I32>((*result)[1]), expected);
          auto sortedKeys = valuesOf<type>((*result)[0]);
          for (size_t i = 0; i < expected.size(); ++i)
            ASSERT_EQ(sortedKeys[i], flat[expected[i]]);
          if (known) {
            EXPECT_EQ(comparator.calls, 0);
          }
        }
}

TEST(Sort, RandomKeysWithAPayloadKeepTheOrderOfTies) {
  std::mt19937 random(8);
  checkRandom<DType::I8>(random, -20, 20);
  checkRandom<DType::U16>(random, 0, 60000);
  checkRandom<DType::I32>(random, -1000000000, 1000000000);
  checkRandom<DType::I64>(random, -100, 100);
  checkRandom<DType::U64>(random, 0, 1000);
  checkRandom<DType::F32>(random, -1000, 1000);
  checkRandom<DType::F64>(random, -1000000, 1000000);
}

TEST(Sort, UnknownComparatorsAreCalledWithManyLanes) {
  std::mt19937 random(9);
  Tensor x = randomTensor<I32>(random, {20000}, -1000000, 1000000);
  TestFunction comparator = less<I32>({});
  I32s expected = valuesOf<I32>(x);
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(valuesOf<I32>((*sort(std::span(&x, 1), 0, comparator))[0]), expected);
  EXPECT_LT(comparator.calls, 4000); // of about 300,000 comparisons
}

TEST(Sort, ComparatorsWithoutAnOrderLoseNothing) {
  std::mt19937 random(10);
  Tensor x = randomTensor<I32>(random, {3000}, -1000, 1000);
  I32s values = valuesOf<I32>(x);
  std::sort(values.begin(), values.end());
  unsigned state = 1;
  auto chance = [&state](int32_t, int32_t) {
    return (state = state * 1664525u + 1013904223u) >> 31;
  };
  auto always = [](int32_t, int32_t) { return true; };
  for (int kind = 0; kind < 2; ++kind) {
    Result<std::vector<Tensor>> result =
        kind ? sort(std::span(&x, 1), 0, binary<I32, DType::I1>(chance))
             : sort(std::span(&x, 1), 0, binary<I32, DType::I1>(always));
    ASSERT_TRUE(result);
    I32s got = valuesOf<I32>((*result)[0]);
    std::sort(got.begin(), got.end());
    EXPECT_EQ(got, values);
  }
}

TEST(Sort, TwoKeys) {
  TestFunction comparator(
      {I32, I32, I32, I32}, {DType::I1}, std::nullopt, [](auto in, auto out, int64_t i) {
        auto at = [&](int k) { return static_cast<const int32_t *>(in[k])[i]; };
        static_cast<uint8_t *>(out[0])[i] = at(0) < at(1) || (at(0) == at(1) && at(2) > at(3));
      });
  std::vector<Tensor> inputs{Tensor::of<I32>({4}, {1, 0, 1, 0}), counting({4})};
  Result<std::vector<Tensor>> result = sort(inputs, 0, comparator);
  EXPECT_EQ(valuesOf<I32>((*result)[0]), (I32s{0, 0, 1, 1}));
  EXPECT_EQ(valuesOf<I32>((*result)[1]), (I32s{3, 1, 2, 0}));
}

} // namespace
} // namespace cupel::reference
