#include "cupel/tensor/Fill.h"

#include "cupel/tensor/Convert.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

using namespace cupel;
using namespace cupel::tensor;

namespace {

constexpr FillKey kZero{0, 0}, kOther{42, 7}, kLast{~uint64_t{0}, ~uint64_t{0}};

template <DType type>
std::vector<Storage<type>> filled(int64_t count, const FillSpec &spec, FillKey key) {
  Result<Tensor> t = randomTensor(type, {count}, spec, key);
  EXPECT_TRUE(t) << t.message();
  const auto *data = t->dataAs<Storage<type>>();
  return {data, data + count};
}

TEST(Fill, PhiloxKnownAnswers) { // from the generator's authors
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}),
            (std::array<uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}),
            (std::array<uint32_t, 4>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (std::array<uint32_t, 4>{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

// All golden values below come from testdata/random_fill.py, written from the documentation.
TEST(Fill, GoldenUniform) {
  EXPECT_EQ(
      filled<DType::F64>(6, Uniform{}, kZero),
      (std::vector<double>{0x1.85a71635989fap-1, 0x1.b00dbd8bc57a8p-3, -0x1.1a6ff92038d9cp-2,
                           -0x1.da040261396a4p-1, -0x1.71c66acfd82b0p-2, -0x1.d37650dedf578p-2}));
  EXPECT_EQ(
      filled<DType::F64>(5, Uniform{}, kLast),
      (std::vector<double>{-0x1.d2cf853858840p-4, -0x1.24f0c1ba3fdaep-1, -0x1.60d2fa83664c0p-2,
                           0x1.a649e38697e80p-2, -0x1.798c4bd0379b6p-1}));
}

TEST(Fill, GoldenNormal) {
  EXPECT_EQ(
      filled<DType::F64>(6, Normal{}, kZero),
      (std::vector<double>{0x1.2d769e93cb51fp+0, 0x1.11fbd69d8e301p-2, -0x1.69580971eeeebp-2,
                           -0x1.c913544cdba35p+0, -0x1.e082db6bb1547p-2, -0x1.370f3670d2175p-1}));
  std::vector<double> far = filled<DType::F64>(1028, Normal{}, kOther); // past one block
  EXPECT_EQ(
      std::vector<double>(far.begin() + 1022, far.end()),
      (std::vector<double>{-0x1.1a6c6e36bfb7ap-4, 0x1.214c932460bf7p-1, -0x1.8e74d6b107ee8p-4,
                           0x1.45c319928f776p-3, 0x1.105bc035b6d0ep+1, 0x1.2079b26efc9aap+1}));
  EXPECT_EQ(filled<DType::I8>(6, Normal{100, 20}, kOther),
            (std::vector<int8_t>{125, 91, 94, 81, 127, 119}));
}

TEST(Fill, GoldenIntegersAndBooleans) {
  EXPECT_EQ(filled<DType::I32>(6, Integers::between(-8, 7), kZero),
            (std::vector<int32_t>{6, 1, -3, -8, -3, -4}));
  EXPECT_EQ(filled<DType::F32>(6, Integers::between(-8, 7), kLast),
            (std::vector<float>{-1, -5, -3, 3, -6, -8}));
  EXPECT_EQ(
      filled<DType::I64>(3, Integers::all(DType::I64), kOther),
      (std::vector<int64_t>{7301479365977468716, -3065938887483405771, -2301513583833519808}));
  EXPECT_EQ(filled<DType::U64>(2, Integers::all(DType::U64), kOther),
            (std::vector<uint64_t>{0xe55410cc67ee6f2c, 0x557398d36c7eca35}));
  EXPECT_EQ(filled<DType::I1>(6, Booleans{0.25}, kLast), (std::vector<uint8_t>{0, 1, 0, 0, 1, 1}));
}

TEST(Fill, EveryTypeTakesItsDefaultAndRangesHold) {
  for (int i = 0; i < kDTypeCount; ++i) {
    auto type = static_cast<DType>(i);
    Result<Tensor> t = randomTensor(type, {40, 50}, defaultFill(type), {1, 2});
    ASSERT_TRUE(t) << info(type).name;
    Result<Tensor> wide = convert(*t, DType::F64);
    double low = HUGE_VAL, high = -HUGE_VAL;
    for (int64_t k = 0; k < wide->size(); ++k) {
      low = std::min(low, wide->dataAs<double>()[k]);
      high = std::max(high, wide->dataAs<double>()[k]);
    }
    EXPECT_GE(low, -8) << info(type).name;
    EXPECT_LE(high, 15) << info(type).name;
    EXPECT_LT(low, high) << info(type).name;
  }
}

// The same draws rounded to the type: a narrower type never changes the sequence.
TEST(Fill, NarrowTypesRoundTheSameNumbers) {
  Result<Tensor> wide = randomTensor(DType::F64, {300}, Normal{3, 5}, kOther);
  for (DType type : {DType::F32, DType::F16, DType::BF16, DType::F8E5M2}) {
    Result<Tensor> narrow = randomTensor(type, {300}, Normal{3, 5}, kOther);
    Result<Tensor> rounded = convert(*wide, type);
    EXPECT_EQ(memcmp(narrow->data(), rounded->data(), narrow->byteSize()), 0) << info(type).name;
  }
  Result<Tensor> complex = randomTensor(DType::C128, {150}, Normal{3, 5}, kOther);
  EXPECT_EQ(memcmp(complex->data(), wide->data(), wide->byteSize()), 0);
}

TEST(Fill, MomentsAreRight) {
  constexpr int64_t n = 200000;
  std::vector<double> z = filled<DType::F64>(n, Normal{2, 3}, {9, 9});
  double sum = 0, squares = 0;
  int beyondTwo = 0;
  for (double x : z) {
    double s = (x - 2) / 3;
    sum += s, squares += s * s, beyondTwo += std::fabs(s) > 2;
  }
  EXPECT_NEAR(sum / n, 0, 0.01);
  EXPECT_NEAR(squares / n, 1, 0.015);
  EXPECT_NEAR(beyondTwo / double(n), 0.0455, 0.002);
  std::vector<uint8_t> coins = filled<DType::I1>(n, Booleans{0.1}, {3, 0});
  EXPECT_NEAR(std::count(coins.begin(), coins.end(), 1) / double(n), 0.1, 0.003);
  std::vector<int8_t> dice = filled<DType::I8>(n, Integers::between(1, 6), {3, 1});
  for (int8_t face = 1; face <= 6; ++face)
    EXPECT_NEAR(std::count(dice.begin(), dice.end(), face) / double(n), 1 / 6.0, 0.004);
}

TEST(Fill, QuantilesAreTheInverseOfErfc) {
  for (double p : {1e-300, 1e-16, 1e-9, 1e-3, 0.02, 0.3, 0.5, 0.7, 0.98, 1 - 1e-9})
    EXPECT_NEAR(0.5 * std::erfc(-normalQuantile(p) / std::sqrt(2.0)) / p, 1, 1e-12) << p;
  EXPECT_EQ(normalQuantile(0.5), 0);
}

TEST(Fill, QuantizedTypes) {
  auto q = std::make_shared<Quantization>();
  q->storageMin = -100, q->storageMax = 100, q->scales = {0.01}, q->zeroPoints = {0};
  ElementType type(DType::I8, q);
  Result<Tensor> uniform = randomTensor(type, {1000}, Uniform{-0.5, 0.5}, {});
  ASSERT_TRUE(uniform);
  for (int i = 0; i < 1000; ++i)
    EXPECT_LE(std::abs(uniform->dataAs<int8_t>()[i]), 50);
  Result<Tensor> all = randomTensor(type, {5000}, defaultFill(type), {});
  auto [low, high] =
      std::minmax_element(all->dataAs<int8_t>(), all->dataAs<int8_t>() + all->size());
  EXPECT_EQ(*low, -100);
  EXPECT_EQ(*high, 100);
  EXPECT_FALSE(randomTensor(type, {1}, Integers::between(0, 101), {}));
}

TEST(Fill, RefusesWhatATypeCannotHold) {
  EXPECT_FALSE(randomTensor(DType::I8, {1}, Integers::between(0, 128), {}));
  EXPECT_FALSE(randomTensor(DType::U8, {1}, Integers::between(-1, 1), {}));
  EXPECT_FALSE(randomTensor(DType::I4, {1}, Uniform{-9, 0}, {}));
  EXPECT_FALSE(randomTensor(DType::I32, {1}, Uniform{0.1, 0.9}, {}));
  EXPECT_FALSE(randomTensor(DType::I64, {1}, Uniform{0, 1e30}, {}));
  EXPECT_FALSE(randomTensor(DType::F32, {1}, Uniform{1, 0}, {}));
  EXPECT_FALSE(randomTensor(DType::F32, {1}, Uniform{0, HUGE_VAL}, {}));
  EXPECT_FALSE(randomTensor(DType::F32, {1}, Uniform{-1e308, 1e308}, {}));
  EXPECT_FALSE(randomTensor(DType::F32, {1}, Normal{0, -1}, {}));
  EXPECT_FALSE(randomTensor(DType::I1, {1}, Normal{}, {}));
  EXPECT_FALSE(randomTensor(DType::F32, {1}, Booleans{1.5}, {}));
  EXPECT_FALSE(randomTensor(DType::F64, {1}, Integers{-1, ~uint64_t{0}}, {}));
  EXPECT_FALSE(randomTensor(DType::F32, {INT64_MAX}, Uniform{}, {}));
  EXPECT_TRUE(randomTensor(DType::F32, {0, 7}, Uniform{}, {}));
}

} // namespace
