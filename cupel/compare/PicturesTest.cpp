// Faults planted into random results in f32 and bf16, each with the noise a device adds to a right
// result; and right or merely noisy results, which must not be given a picture.

#include "cupel/compare/Pictures.h"

#include "cupel/compare/TestTensors.h"
#include "cupel/compare/Verdict.h"

#include <limits>

using namespace cupel;
using namespace cupel::compare;
using namespace cupel::tensor;

namespace {

class Pictures : public ::testing::TestWithParam<DType> {
protected:
  static constexpr int64_t kRows = 96, kColumns = 64;
  Shape shape{kRows, kColumns};
  Values expected = normals(kRows * kColumns, 11);

  /// What a device makes of right values: off by up to one part in a thousand.
  static Values noisy(Values values) {
    Random random(99);
    for (double &value : values)
      value *= 1 + 0.001 * (2 * random.uniform() - 1);
    return values;
  }
  Verdict judge(const Values &actual) const {
    Result<Verdict> verdict =
        check(tensorOf(GetParam(), shape, actual), tensorOf(GetParam(), shape, expected),
              {.pcc = 0.999, .atol = 0.05});
    EXPECT_TRUE(static_cast<bool>(verdict));
    return std::move(*verdict);
  }
  std::string picture(const Values &actual) const {
    Verdict verdict = judge(actual);
    EXPECT_FALSE(verdict.passed) << verdict.sentence;
    if (!verdict.picture.empty())
      EXPECT_TRUE(verdict.sentence.ends_with("; looks like: " + verdict.picture));
    return verdict.picture;
  }
  /// actual[i] = expected[source(row, column)]; a source of -1 gives other numbers.
  Values moved(const std::function<int64_t(int64_t, int64_t)> &source) const {
    Values result(expected.size()), other = normals(expected.size(), 1234);
    for (int64_t r = 0; r < shape[0]; ++r)
      for (int64_t c = 0; c < shape[1]; ++c) {
        int64_t from = source(r, c), to = r * shape[1] + c;
        result[to] = from < 0 ? other[to] : expected[from];
      }
    return noisy(result);
  }
};

TEST_P(Pictures, TransposedSquare) {
  shape = {64, 64};
  expected.resize(64 * 64);
  EXPECT_EQ(picture(moved([](int64_t r, int64_t c) { return c * 64 + r; })), "transposed");
}
TEST_P(Pictures, TransposedMemory) {
  // The buffer holds the 64x96 transpose, read as 96x64.
  EXPECT_EQ(picture(moved([](int64_t r, int64_t c) {
              int64_t flat = r * kColumns + c;
              return flat % kRows * kColumns + flat / kRows;
            })),
            "transposed (the memory of a 64x96 tensor)");
}
TEST_P(Pictures, TransposedInFourDimensions) {
  shape = {2, 12, 16, 16};
  Values actual(expected.size());
  for (int64_t i = 0; i < 24; ++i)
    for (int64_t r = 0; r < 16; ++r)
      for (int64_t c = 0; c < 16; ++c)
        actual[i * 256 + r * 16 + c] = expected[i * 256 + c * 16 + r];
  EXPECT_EQ(picture(noisy(actual)), "transposed (dimensions 2 and 3)");
}
TEST_P(Pictures, ShiftedAlongColumns) {
  EXPECT_EQ(picture(moved([](int64_t r, int64_t c) { return c < 3 ? -1 : r * kColumns + c - 3; })),
            "shifted by 3 along the columns' dimension");
}
TEST_P(Pictures, RotatedAlongRows) {
  EXPECT_EQ(picture(moved([](int64_t r, int64_t c) { return (r + 1) % kRows * kColumns + c; })),
            "rotated by -1 along the rows' dimension");
}
TEST_P(Pictures, ShiftedFlat) {
  Values actual(expected.size());
  for (size_t i = 5; i < actual.size(); ++i)
    actual[i] = expected[i - 5];
  EXPECT_EQ(picture(noisy(actual)), "shifted by 5 in the flattened tensor");
}
TEST_P(Pictures, Reversed) {
  EXPECT_EQ(picture(moved([](int64_t r, int64_t c) { return r * kColumns + kColumns - 1 - c; })),
            "reversed along the columns' dimension");
}
TEST_P(Pictures, ReversedInAllDimensions) {
  EXPECT_EQ(picture(noisy(Values(expected.rbegin(), expected.rend()))),
            "reversed along all dimensions");
}
TEST_P(Pictures, ZeroedRows) {
  Values actual = noisy(expected);
  std::fill(actual.begin() + 32 * kColumns, actual.begin() + 64 * kColumns, 0.0);
  EXPECT_EQ(picture(actual), "rows 32..63 are zero");
}
TEST_P(Pictures, ZeroedBlock) {
  Values actual = noisy(expected);
  for (int64_t r = 32; r < 64; ++r)
    std::fill_n(actual.begin() + r * kColumns + 16, 16, 0.0);
  EXPECT_EQ(picture(actual), "the block [32..63, 16..31] is zero");
}
TEST_P(Pictures, ZeroedTail) {
  Values actual = noisy(expected);
  std::fill(actual.begin() + 80 * kColumns + 7, actual.end(), 0.0);
  EXPECT_EQ(picture(actual), "the tail from [80,7] on (the last 1017 of 6144 elements) is zero");
}
TEST_P(Pictures, EverythingZeroOrConstant) {
  EXPECT_EQ(picture(Values(expected.size(), 0.0)), "everything is zero");
  EXPECT_EQ(picture(Values(expected.size(), 2.5)), "every element is 2.5");
}
TEST_P(Pictures, RepeatedTileOfRows) {
  EXPECT_EQ(picture(moved([](int64_t r, int64_t c) { return r % 32 * kColumns + c; })),
            "the tile of rows 0..31 is repeated");
}
TEST_P(Pictures, RepeatedRow) {
  EXPECT_EQ(picture(moved([](int64_t, int64_t c) { return c; })), "row 0 is repeated");
}
TEST_P(Pictures, RepeatedTileOfBoth) {
  EXPECT_EQ(picture(moved([](int64_t r, int64_t c) { return r % 32 * kColumns + c % 32; })),
            "the first 32x32 tile is repeated");
}
TEST_P(Pictures, Scaled) {
  Values actual = noisy(expected);
  for (double &value : actual)
    value *= 0.125;
  EXPECT_EQ(picture(actual), "scaled by 0.125 (1/8)");
  actual = noisy(expected);
  for (double &value : actual)
    value /= std::sqrt(128.0);
  EXPECT_NE(picture(actual).find("(1/sqrt(128))"), std::string::npos) << picture(actual);
  actual = noisy(expected);
  for (double &value : actual)
    value *= -3;
  EXPECT_TRUE(picture(actual).starts_with("scaled by -3")) << picture(actual);
}
TEST_P(Pictures, ConstantAdded) {
  Values actual = noisy(expected);
  for (double &value : actual)
    value += 0.75;
  EXPECT_TRUE(picture(actual).starts_with("the constant 0.7")) << picture(actual);
}
TEST_P(Pictures, SignFlipped) {
  Values actual = noisy(expected);
  for (double &value : actual)
    value = -value;
  EXPECT_EQ(picture(actual), "the sign is flipped");
}
TEST_P(Pictures, SignLost) {
  Values actual = noisy(expected);
  for (double &value : actual)
    value = std::fabs(value);
  EXPECT_EQ(picture(actual), "the sign of negative elements is lost");
}
TEST_P(Pictures, NanSpread) {
  Values actual = noisy(expected);
  std::fill(actual.begin() + 3 * kColumns, actual.begin() + 5 * kColumns, kNan);
  EXPECT_EQ(picture(actual), "NaN spread over rows 3..4");
  actual = noisy(expected);
  actual[70] = kNan;
  EXPECT_EQ(picture(actual), "a single NaN at [1,6]");
  EXPECT_EQ(picture(Values(expected.size(), kNan)), "NaN spread over all elements");
}

TEST_P(Pictures, CorrectResultsHaveNone) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    Random random(seed);
    shape = {1 + random.below(64), 1 + random.below(64)};
    expected = normals(shape[0] * shape[1], seed + 1000);
    Verdict verdict = judge(noisy(expected));
    EXPECT_TRUE(verdict.passed) << verdict.sentence;
    EXPECT_EQ(verdict.picture, "");
    EXPECT_EQ(verdict.sentence.find("looks like"), std::string::npos);
  }
}

TEST_P(Pictures, NoiseHasNone) {
  // Wrong, but in no particular way; also numbers that repeat a lot by nature.
  for (uint64_t seed = 0; seed < 30; ++seed) {
    Random random(seed);
    shape = {1 + random.below(40), 1 + random.below(40)};
    int64_t count = shape[0] * shape[1];
    expected = normals(count, seed + 2000);
    EXPECT_EQ(judge(normals(count, seed + 3000)).picture, "") << seed;
    Values actual = expected;
    for (double &value : actual)
      value += 0.3 * random.normal();
    EXPECT_EQ(judge(actual).picture, "") << seed;
    if (count < 64)
      continue;
    for (int64_t i = 0; i < count; ++i) {
      expected[i] = static_cast<double>(1 + random.below(4));
      actual[i] = static_cast<double>(1 + random.below(4));
    }
    EXPECT_EQ(judge(actual).picture, "") << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Types, Pictures, ::testing::Values(DType::F32, DType::BF16),
                         [](const auto &type) {
                           return type.param == DType::F32 ? "f32" : "bf16";
                         });

Verdict strictly(const Tensor &actual, const Tensor &expected) {
  Result<Verdict> verdict = check(actual, expected, Tolerance::equal());
  EXPECT_FALSE(verdict->passed);
  return std::move(*verdict);
}

TEST(PictureOfRounding, OneStepOfTheOwnType) {
  for (DType type : {DType::BF16, DType::F16}) {
    Tensor expected = vectorOf(type, normals(500, 1));
    Tensor actual = vectorOf(type, normals(500, 1));
    for (int i = 0; i < 500; i += 3)
      actual.mutableAs<uint16_t>()[i] += i % 2 ? 1 : -1;
    EXPECT_EQ(strictly(actual, expected).picture,
              type == DType::BF16 ? "off by one rounding of bf16" : "off by one rounding of f16");
    actual.mutableAs<uint16_t>()[7] += 5;
    EXPECT_EQ(strictly(actual, expected).picture, "");
  }
}

TEST(PictureOfRounding, RoundedOnTheWay) {
  Values values = normals(500, 1);
  Tensor expected = vectorOf(DType::F32, values);
  for (DType type : {DType::BF16, DType::F16}) {
    Tensor narrow = vectorOf(type, values);
    Tensor actual = std::move(*convert(narrow, DType::F32));
    EXPECT_EQ(strictly(actual, expected).picture,
              type == DType::BF16 ? "rounded to bf16 on the way" : "rounded to f16 on the way");
  }
  Random random(2);
  for (double &value : values)
    value *= 1 + 1e-4 * random.normal();
  EXPECT_EQ(strictly(vectorOf(DType::F32, values), expected).picture, "");
}

TEST(Pictures, OtherTypes) {
  Values values(256);
  for (int i = 0; i < 256; ++i)
    values[i] = (i * 37) % 101;
  Values turned(256);
  for (int r = 0; r < 16; ++r)
    for (int c = 0; c < 16; ++c)
      turned[r * 16 + c] = values[c * 16 + r];
  for (DType type : {DType::I32, DType::I64, DType::U8, DType::F64, DType::C64})
    EXPECT_EQ(strictly(tensorOf(type, {16, 16}, turned), tensorOf(type, {16, 16}, values)).picture,
              "transposed");
  EXPECT_EQ(strictly(tensorOf(DType::I32, {2, 3}, {1, 4, 2, 5, 3, 6}),
                     tensorOf(DType::I32, {2, 3}, {1, 2, 3, 4, 5, 6}))
                .picture,
            "transposed (the memory of a 3x2 tensor)");
}

} // namespace
