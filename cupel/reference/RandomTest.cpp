#include "cupel/reference/Random.h"

#include "cupel/reference/LinearTesting.h"

#include <cmath>

using namespace cupel;
using namespace cupel::reference;
using namespace cupel::reference::testing;
using tensor::DType;
using tensor::Shape;
using tensor::Tensor;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

namespace {

Tensor words(std::initializer_list<uint64_t> values) {
  return Tensor::of<DType::U64>({static_cast<int64_t>(values.size())}, values);
}

template <DType type>
std::vector<tensor::Storage<type>> bitsOf(const Tensor &state, RngAlgorithm algorithm,
                                          Shape shape) {
  auto result = rngBitGenerator(state, algorithm, type, std::move(shape));
  EXPECT_TRUE(result) << result.message();
  return valuesOf<type>(result->bits);
}

// The known answers that the authors of Threefry and Philox publish (Random123, kat_vectors).
TEST(RngBitGenerator, PublishedAnswers) {
  auto threefry = [](uint64_t key, uint64_t counter) {
    return bitsOf<DType::U64>(words({key, counter}), RngAlgorithm::ThreeFry, {})[0];
  };
  EXPECT_EQ(threefry(0, 0), 0x99ba4efe6b200159u);
  EXPECT_EQ(threefry(~uint64_t{0}, ~uint64_t{0}), 0xbb002be71cb996fcu);
  EXPECT_EQ(threefry(0x0370734413198a2e, 0x85a308d3243f6a88), 0x483df7a0c4923a9cu);
  auto philox = [](uint64_t key, uint64_t low, uint64_t high) {
    return bitsOf<DType::U32>(words({key, low, high}), RngAlgorithm::Philox, {4});
  };
  EXPECT_THAT(philox(0, 0, 0), ElementsAre(0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8));
  EXPECT_THAT(philox(~uint64_t{0}, ~uint64_t{0}, ~uint64_t{0}),
              ElementsAre(0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd));
  EXPECT_THAT(philox(0x299f31d0a4093822, 0x85a308d3243f6a88, 0x0370734413198a2e),
              ElementsAre(0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1));
}

// Expected values by a NumPy model that splits and concatenates arrays as XLA describes it.
TEST(RngBitGenerator, ThreeFryPairsWordsAlongOneDimension) {
  auto bits = [](Shape shape) {
    return bitsOf<DType::U32>(words({0x0123456789abcdef, 0xfffffffe}), RngAlgorithm::ThreeFry,
                              std::move(shape));
  };
  EXPECT_EQ(bits({}), (std::vector<uint32_t>{0xd6f05f18u}));
  EXPECT_EQ(bits({1}), (std::vector<uint32_t>{0xd6f05f18u}));
  EXPECT_EQ(bits({5}), (std::vector<uint32_t>{0xd6f05f18u, 0x8ff237cau, 0xaf0500du, 0xae583773u,
                                              0xba3918c0u}));
  EXPECT_EQ(bits({4, 3}),
            (std::vector<uint32_t>{0xd6f05f18u, 0xaf0500du, 0xba3918c0u, 0x8ff237cau, 0xae583773u,
                                   0x525310a8u, 0xcab60d48u, 0xe74f725fu, 0x3487f584u, 0x8b6ec1c2u,
                                   0xb4d15007u, 0xaa68ef32u}));
  EXPECT_EQ(bits({3, 4}),
            (std::vector<uint32_t>{0xd6f05f18u, 0x8ff237cau, 0xaf0500du, 0xae583773u, 0xba3918c0u,
                                   0x525310a8u, 0xcab60d48u, 0x8b6ec1c2u, 0xe74f725fu, 0xb4d15007u,
                                   0x3487f584u, 0xaa68ef32u}));
  EXPECT_EQ(bits({3, 5}), (std::vector<uint32_t>{0xd6f05f18u, 0x8ff237cau, 0xaf0500du, 0xae583773u,
                                                 0xba3918c0u, 0xcab60d48u, 0x8b6ec1c2u, 0xe74f725fu,
                                                 0xb4d15007u, 0x3487f584u, 0xe8b05be3u, 0xcc66f3b7u,
                                                 0xe2095988u, 0x91fbfb17u, 0x7ffc5097u}));
  EXPECT_EQ(bits({5, 3}), (std::vector<uint32_t>{0xd6f05f18u, 0xaf0500du, 0xba3918c0u, 0x8ff237cau,
                                                 0xae583773u, 0x525310a8u, 0xcab60d48u, 0xe74f725fu,
                                                 0x3487f584u, 0x8b6ec1c2u, 0xb4d15007u, 0xaa68ef32u,
                                                 0xe8b05be3u, 0xe2095988u, 0x7ffc5097u}));
  EXPECT_EQ(bits({3, 3}),
            (std::vector<uint32_t>{0xd6f05f18u, 0xaf0500du, 0xba3918c0u, 0x8ff237cau, 0xae583773u,
                                   0x525310a8u, 0xcab60d48u, 0xe74f725fu, 0x3487f584u}));
  EXPECT_EQ(bits({3, 2, 2}),
            (std::vector<uint32_t>{0xd6f05f18u, 0xaf0500du, 0x8ff237cau, 0xae583773u, 0xba3918c0u,
                                   0xcab60d48u, 0x525310a8u, 0x8b6ec1c2u, 0xe74f725fu, 0x3487f584u,
                                   0xb4d15007u, 0xaa68ef32u}));
}

TEST(RngBitGenerator, StateCountsTheCountersUsed) {
  auto next = [](Tensor state, RngAlgorithm algorithm, DType type, Shape shape) {
    return valuesOf<DType::U64>(rngBitGenerator(state, algorithm, type, std::move(shape))->state);
  };
  using enum RngAlgorithm;
  EXPECT_THAT(next(words({7, 10}), ThreeFry, DType::U64, {3, 5}), ElementsAre(7, 25));
  EXPECT_THAT(next(words({7, 10}), ThreeFry, DType::U32, {3, 5}), ElementsAre(7, 19)); // 3 x 3
  EXPECT_THAT(next(words({7, 10}), ThreeFry, DType::U8, {4}), ElementsAre(7, 12));
  EXPECT_THAT(next(words({7, 10}), Philox, DType::U32, {5}), ElementsAre(7, 12));
  EXPECT_THAT(next(words({7, 10}), Philox, DType::F64, {5}), ElementsAre(7, 13));
  EXPECT_THAT(next(words({7, ~uint64_t{0}, 1}), Philox, DType::I16, {8}), ElementsAre(7, 1, 2));
  EXPECT_THAT(next(words({7, 10}), ThreeFry, DType::U32, {0, 3}), ElementsAre(7, 10));
  EXPECT_THAT(next(words({7, 10}), Default, DType::U64, {0}), ElementsAre(7, 10));
}

TEST(RngBitGenerator, NarrowTypesTakeTheLowBits) {
  Tensor state = words({1, 2});
  for (RngAlgorithm algorithm : {RngAlgorithm::ThreeFry, RngAlgorithm::Philox}) {
    auto wide = bitsOf<DType::U32>(state, algorithm, {6});
    auto u16 = bitsOf<DType::U16>(state, algorithm, {6});
    auto i4 = bitsOf<DType::I4>(state, algorithm, {6});
    auto u2 = bitsOf<DType::U2>(state, algorithm, {6});
    for (int i = 0; i < 6; ++i) {
      EXPECT_EQ(u16[i], wide[i] & 0xffff);
      EXPECT_EQ(i4[i], static_cast<int>(wide[i] << 28) >> 28);
      EXPECT_EQ(u2[i], wide[i] & 3);
    }
  }
}

TEST(RngBitGenerator, StateOfHalfWordsAndBadStates) {
  Tensor halves = Tensor::of<DType::U32>({4}, {1, 4, 0, 1});
  EXPECT_EQ(bitsOf<DType::U64>(halves, RngAlgorithm::ThreeFry, {2}),
            bitsOf<DType::U64>(words({1 | uint64_t{4} << 32, uint64_t{1} << 32}),
                               RngAlgorithm::ThreeFry, {2}));
  EXPECT_THAT(rngBitGenerator(words({1}), RngAlgorithm::Philox, DType::U32, {2}).message(),
              HasSubstr("two or three 64-bit words"));
  EXPECT_FALSE(rngBitGenerator(words({1, 2, 3}), RngAlgorithm::ThreeFry, DType::U32, {2}));
  EXPECT_FALSE(rngBitGenerator(words({1, 2}), RngAlgorithm::Philox, DType::C64, {2}));
  EXPECT_FALSE(rngBitGenerator(words({1, 2}), RngAlgorithm::Philox, DType::U32, {INT64_MAX, 2}));
}

TEST(Rng, UniformStaysInRangeAndRepeats) {
  Tensor a = Tensor::of<DType::I8>({}, {-100}), b = Tensor::of<DType::I8>({}, {100});
  auto values = valuesOf<DType::I8>(rngUniform(a, b, {1000}, {1, 2}));
  EXPECT_THAT(values, ::testing::Each(::testing::AllOf(::testing::Ge(-100), ::testing::Lt(100))));
  EXPECT_EQ(values, valuesOf<DType::I8>(rngUniform(a, b, {1000}, {1, 2})));
  EXPECT_NE(values, valuesOf<DType::I8>(rngUniform(a, b, {1000}, {1, 3})));
  EXPECT_NE(values, valuesOf<DType::I8>(rngUniform(a, b, {1000}, {2, 2})));
  auto half = [](float x) { return tensor::fromFloat<DType::BF16>(x); };
  Tensor c = Tensor::of<DType::BF16>({}, {half(1)}), d = Tensor::of<DType::BF16>({}, {half(2)});
  for (uint16_t value : valuesOf<DType::BF16>(rngUniform(c, d, {2000}, {}))) {
    EXPECT_GE(tensor::toFloat<DType::BF16>(value), 1);
    EXPECT_LT(tensor::toFloat<DType::BF16>(value), 2);
  }
  EXPECT_THAT(valuesOf<DType::I8>(rngUniform(b, a, {2}, {})), ElementsAre(100, 100));
  EXPECT_EQ(rngUniform(a, b, {0, 4}, {})->size(), 0);
  EXPECT_FALSE(rngUniform(a, c, {2}, {}));
}

TEST(Rng, NormalHasItsMeanAndDeviation) {
  Tensor a = Tensor::of<DType::F64>({}, {3}), b = Tensor::of<DType::F64>({}, {2});
  auto values = valuesOf<DType::F64>(rngNormal(a, b, {100001}, {42, 0}));
  double mean = 0, square = 0;
  for (double x : values)
    mean += x / 100001;
  for (double x : values)
    square += (x - mean) * (x - mean) / 100001;
  EXPECT_NEAR(mean, 3, 0.03);
  EXPECT_NEAR(std::sqrt(square), 2, 0.03);
  Tensor i = Tensor::of<DType::I32>({}, {3});
  EXPECT_FALSE(rngNormal(i, i, {2}, {}));
}

} // namespace
