// Distances worked out by hand from the bit patterns.

#include "cupel/compare/UlpDistance.h"

#include "cupel/compare/TestTensors.h"

#include <limits>

using namespace cupel;
using namespace cupel::compare;
using namespace cupel::tensor;

namespace {

std::vector<uint64_t> distances(const Tensor &a, const Tensor &b) {
  std::vector<uint64_t> result(a.size());
  UlpMeter(a, b).measure(0, a.size(), result.data());
  return result;
}

template <DType type>
std::vector<uint64_t> ofPatterns(std::initializer_list<Storage<type>> a,
                                 std::initializer_list<Storage<type>> b) {
  return distances(Tensor::of<type>({static_cast<int64_t>(a.size())}, a),
                   Tensor::of<type>({static_cast<int64_t>(b.size())}, b));
}

using U = std::vector<uint64_t>;

TEST(UlpDistance, CountsStepsOfF32) {
  float one = 1, next = std::nextafter(1.0f, 2.0f), below = std::nextafter(1.0f, 0.0f);
  EXPECT_EQ(
      (ofPatterns<DType::F32>({one, next, below, -0.0f, 1e-45f}, {one, one, next, 0.0f, -1e-45f})),
      (U{0, 1, 2, 0, 2}));
}

TEST(UlpDistance, NanEqualsNanAndInfinityOnlyItself) {
  Tensor a = vectorOf(DType::F32, {kNan, kNan, kInf, kInf, kInf, 1});
  Tensor b = vectorOf(DType::F32, {-kNan, 1, kInf, -kInf, 3.4028234663852886e38, kNan});
  EXPECT_EQ(distances(a, b), (U{0, kInfiniteUlp, 0, kInfiniteUlp, kInfiniteUlp, kInfiniteUlp}));
}

TEST(UlpDistance, NarrowFormats) {
  EXPECT_EQ((ofPatterns<DType::BF16>({0x3f80, 0x8001, 0x7fc0, 0x7f80, 0x7f7f},
                                     {0x3f82, 0x0001, 0xffff, 0x7f80, 0x7f80})),
            (U{2, 2, 0, 0, kInfiniteUlp}));
  // f8E4M3FN has no infinity: 0x7e is the largest number, 0x7f is NaN.
  EXPECT_EQ((ofPatterns<DType::F8E4M3FN>({0x7e, 0x7f, 0x80}, {0x7f, 0xff, 0x00})),
            (U{kInfiniteUlp, 0, 0}));
  // The FNUZ kinds have one NaN, 0x80, and one zero.
  EXPECT_EQ((ofPatterns<DType::F8E5M2FNUZ>({0x7f, 0x80, 0x81}, {0x7e, 0x80, 0x01})), (U{1, 0, 2}));
  EXPECT_EQ((ofPatterns<DType::F8E5M2>({0x7c, 0x7d, 0x7b}, {0x7c, 0x7f, 0x7c})),
            (U{0, 0, kInfiniteUlp}));
}

TEST(UlpDistance, IntegersByDifference) {
  EXPECT_EQ((ofPatterns<DType::I64>({INT64_MIN, 5}, {INT64_MAX, -1})), (U{UINT64_MAX, 6}));
  Tensor s = Tensor::of<DType::I8>({2}, {-128, 127});
  Tensor u = Tensor::of<DType::U64>({2}, {UINT64_MAX - 1000, 0});
  EXPECT_EQ(distances(s, u), (U{UINT64_MAX - 1000 + 128, 127}));
  EXPECT_EQ(distances(Tensor::of<DType::I8>({1}, {-1}), Tensor::of<DType::U8>({1}, {255})),
            (U{256}));
}

TEST(UlpDistance, ComplexTakesTheWorsePart) {
  float next = std::nextafter(1.0f, 2.0f);
  EXPECT_EQ((ofPatterns<DType::C64>({{1, next}, {next, 2}}, {{1, 1}, {1, 2}})), (U{1, 1}));
}

TEST(UlpDistance, DifferentTypesCountInTheCoarser) {
  // 1.001 rounds to 1 in bf16, whose next value is 1.0078125.
  Tensor fine = vectorOf(DType::F32, {1.001, 1.0078125, 3});
  Tensor coarse = vectorOf(DType::BF16, {1, 1, 3});
  EXPECT_EQ(UlpMeter(fine, coarse).unit(), DType::BF16);
  EXPECT_EQ(distances(fine, coarse), (U{0, 1, 0}));
  EXPECT_EQ(distances(Tensor::of<DType::I32>({1}, {3}), vectorOf(DType::F16, {3})), (U{0}));
  EXPECT_EQ(distances(Tensor::of<DType::C128>({1}, {{1, 0.001}}), vectorOf(DType::BF16, {1}))[0],
            0x3a83u); // 0.001 is this bf16 pattern, counted from zero
}

TEST(UlpDistance, BucketsDoubleInWidth) {
  EXPECT_EQ(UlpStatistics::bucketOf(0), 0);
  EXPECT_EQ(UlpStatistics::bucketOf(1), 1);
  EXPECT_EQ(UlpStatistics::bucketOf(2), 2);
  EXPECT_EQ(UlpStatistics::bucketOf(3), 3);
  EXPECT_EQ(UlpStatistics::bucketOf(4), 3);
  EXPECT_EQ(UlpStatistics::bucketOf(5), 4);
  EXPECT_LT(UlpStatistics::bucketOf(kInfiniteUlp - 1), UlpStatistics::kBuckets);
  for (int i = 0; i < UlpStatistics::kBuckets; ++i)
    EXPECT_EQ(UlpStatistics::bucketOf(UlpStatistics::bucketEnd(i)), i);
}

} // namespace
