#include "cupel/kernels/Bytes.h"

#include "cupel/kernels/IntegerTesting.h"
#include "cupel/kernels/IsaTesting.h"
#include "cupel/kernels/TestBuffers.h"

#include <gtest/gtest.h>
#include <random>
#include <vector>

namespace cupel::kernels {
namespace {

class BytesTest : public OnEveryIsa {};
INSTANTIATE_TEST_SUITE_P(, BytesTest, everyIsa(), nameOfIsa);

constexpr IntegerType kTypes[] = {IntegerType::I8, IntegerType::U8};

/// Bytes that end where memory ends, many of them the greatest and least ones: sums of two products of those do not fit
/// into 16 bits.
class GuardedBytes {
public:
  GuardedBytes(IntegerType type, int64_t count, unsigned seed) : type(type), memory((count + 3) / 4) {
    first = reinterpret_cast<uint8_t *>(memory.data()) + memory.length() * 4 - count;
    std::mt19937 random(seed);
    constexpr uint8_t kEnds[] = {0x80, 0x7f, 0xff, 0x00};
    for (int64_t i = 0; i < count; ++i)
      first[i] = random() % 3 == 0 ? kEnds[random() % 4] : static_cast<uint8_t>(random());
  }

  const void *data() const { return first; }
  int32_t at(int64_t i) const { return type == IntegerType::I8 ? static_cast<int8_t>(first[i]) : first[i]; }

  const IntegerType type;

private:
  GuardedFloats memory;
  uint8_t *first;
};

/// Writes what it is shown, plus the place in the result, into a dense matrix of halves.
struct Kept {
  std::vector<int64_t> elements;
  int64_t columns;

  static void show(void *const *operands, float *c, int64_t ldc, int64_t row, int64_t rows, int64_t column, int64_t count) {
    auto &kept = *static_cast<Kept *>(operands[0]);
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < count; ++j)
        kept.elements[static_cast<size_t>((row + i) * kept.columns + column + j)] +=
            reinterpret_cast<const int32_t *>(c)[i * ldc + j];
  }
};

/// Runs `work` with a result, and with an epilogue that keeps one elsewhere: `expected` in both.
template <typename F> void checkBoth(int64_t rows, int64_t columns, const std::vector<uint32_t> &expected, F &&work) {
  GuardedFloats result(rows * columns);
  work(reinterpret_cast<int32_t *>(result.data()), Epilogue{});
  const auto *found = reinterpret_cast<const int32_t *>(result.data());
  for (int64_t i = 0; i < rows * columns; ++i)
    ASSERT_EQ(static_cast<uint32_t>(found[i]), expected[static_cast<size_t>(i)]) << i / columns << ", " << i % columns;
  Kept kept{std::vector<int64_t>(static_cast<size_t>(rows * columns)), columns};
  void *operands[] = {&kept};
  work(static_cast<int32_t *>(nullptr), Epilogue{nullptr, &Kept::show, operands});
  for (int64_t i = 0; i < rows * columns; ++i)
    ASSERT_EQ(kept.elements[static_cast<size_t>(i)], static_cast<int32_t>(expected[static_cast<size_t>(i)])) << i / columns << ", " << i % columns;
}

void check(IntegerType left, IntegerType right, ByteZeros zeros, int64_t m, int64_t n, int64_t k, bool turned, int threads) {
  SCOPED_TRACE(testing::Message() << m << " x " << n << " x " << k << " of types " << int(left) << " and " << int(right)
                                  << (turned ? " turned" : "") << ", zeros " << zeros.left << " and " << zeros.right);
  GuardedBytes a(left, m * k, 1), b(right, k * n, 2);
  ProductPlaces at(m, n, k, turned);
  std::vector<uint32_t> expected = at.sums([&](int64_t i) { return static_cast<uint32_t>(a.at(i) - zeros.left); },
                                           [&](int64_t i) { return static_cast<uint32_t>(b.at(i) - zeros.right); });
  Pool pool(threads, Pool::Sharing::Always);
  PackedBytes packed = packBytes({b.data(), right, at.bRows, at.bColumns}, left, zeros, pool);
  checkBoth(m, n, expected, [&](int32_t *c, const Epilogue &epilogue) {
    multiply({a.data(), left, at.aRows, at.aColumns}, packed, c, n, epilogue, pool);
  });
}

int32_t least(IntegerType type) { return type == IntegerType::I8 ? -128 : 0; }

/// Every zero point at the ends and in the middle, of both sides; in rows that are too short for matrix registers, and in
/// such that are not.
TEST_P(BytesTest, ProductsOfAllSignsAndZeroPoints) {
  for (int64_t depth : {44, 256})
    for (IntegerType left : kTypes)
      for (IntegerType right : kTypes)
        for (int32_t leftZero : {0, 1, 128, 255})
          for (int32_t rightZero : {0, 77, 128, 255})
            check(left, right, {least(left) + leftZero, least(right) + rightZero}, 13, 37, depth, rightZero == 77, 2);
}

TEST_P(BytesTest, ProductsOfOddShapes) {
  for (int64_t m : {0, 1, 7, 33})
    for (int64_t n : {1, 16, 50})
      for (int64_t k : {0, 1, 2, 3, 4, 5, 64, 191, 192, 500, 511, 1101}) {
        check(IntegerType::U8, IntegerType::I8, {133, 0}, m, n, k, false, 1);
        check(IntegerType::I8, IntegerType::I8, {-3, 5}, m, n, k, true, 3);
      }
}

/// Sums go on from one part of the depth to the next.
TEST_P(BytesTest, ProductsOfLongRows) {
  check(IntegerType::U8, IntegerType::I8, {7, 0}, 140, 70, 4100, false, 2);
  check(IntegerType::U8, IntegerType::U8, {7, 9}, 20, 70, 4100, false, 1);
}

void checkConvolution(const ConvolutionShape &shape, IntegerType left, IntegerType right, ByteZeros zeros,
                      bool channelsFirst, int threads) {
  SCOPED_TRACE(testing::Message() << shape.inputChannels << " to " << shape.outputChannels << " in " << shape.groups
                                  << " groups of types " << int(left) << " and " << int(right));
  ConvolutionPlaces at(shape, channelsFirst);
  GuardedBytes image(left, at.imageSize(), 3), weights(right, at.weightCount(), 4);
  std::vector<uint32_t> expected = at.sums([&](int64_t i) { return static_cast<uint32_t>(image.at(i) - zeros.left); },
                                           [&](int64_t i) { return static_cast<uint32_t>(weights.at(i) - zeros.right); });
  Pool pool(threads, Pool::Sharing::Always);
  PackedByteConvolution packed = packBytes(shape, {weights.data(), right, at.weights}, left, zeros, pool);
  checkBoth(shape.rows(), shape.outputChannels, expected, [&](int32_t *c, const Epilogue &epilogue) {
    convolve(packed, {image.data(), left, at.image}, c, epilogue, pool);
  });
}

TEST_P(BytesTest, Convolutions) {
  ConvolutionShape shape;
  shape.batch = 2;
  shape.input = {1, 7, 9};
  shape.kernel = {1, 3, 3};
  shape.paddingLow = shape.paddingHigh = {0, 1, 1};
  for (auto [inputs, outputs, groups] :
       {std::array<int64_t, 3>{3, 20, 1}, {16, 33, 1}, {6, 4, 2}, {10, 10, 10}, {40, 40, 40}, {9, 3, 3}, {24, 8, 2}, {67, 20, 1}}) {
    shape.inputChannels = inputs, shape.outputChannels = outputs, shape.groups = groups;
    shape.strides = {1, 1, 1};
    checkConvolution(shape, IntegerType::U8, IntegerType::I8, {133, 0}, false, 1);
    checkConvolution(shape, IntegerType::U8, IntegerType::I8, {0, 0}, false, 1);
    checkConvolution(shape, IntegerType::U8, IntegerType::U8, {0, 3}, false, 2);
    shape.strides = {1, 2, 2};
    shape.kernelDilation = {1, 2, 1};
    checkConvolution(shape, IntegerType::I8, IntegerType::I8, {-128, 0}, true, 3);
    checkConvolution(shape, IntegerType::I8, IntegerType::U8, {5, 200}, false, 1);
    shape.kernelDilation = {1, 1, 1};
  }
}

TEST_P(BytesTest, PointwiseConvolutions) {
  ConvolutionShape shape;
  shape.inputChannels = 8, shape.outputChannels = 24;
  shape.input = {1, 5, 6};
  checkConvolution(shape, IntegerType::U8, IntegerType::I8, {12, 0}, true, 2);
  checkConvolution(shape, IntegerType::I8, IntegerType::U8, {12, 99}, false, 1);
  shape.inputChannels = 7;
  checkConvolution(shape, IntegerType::I8, IntegerType::I8, {12, 1}, false, 1);
}

} // namespace
} // namespace cupel::kernels
