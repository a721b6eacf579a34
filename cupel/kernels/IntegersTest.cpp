#include "cupel/kernels/Integers.h"

#include "cupel/kernels/IntegerTesting.h"
#include "cupel/kernels/IsaTesting.h"
#include "cupel/kernels/TestBuffers.h"

#include <gtest/gtest.h>
#include <numeric>
#include <vector>

namespace cupel::kernels {
namespace {

class IntegersTest : public OnEveryIsa {};
INSTANTIATE_TEST_SUITE_P(, IntegersTest, everyIsa(), nameOfIsa);

constexpr IntegerType kTypes[] = {IntegerType::I8, IntegerType::U8, IntegerType::I16,
                                  IntegerType::U16, IntegerType::I32};

int64_t bytesOf(IntegerType type) {
  return type == IntegerType::I32 ? 4 : type == IntegerType::I16 || type == IntegerType::U16 ? 2 : 1;
}

/// Elements of any bits that end where memory ends.
class GuardedIntegers {
public:
  GuardedIntegers(IntegerType type, int64_t count, unsigned seed)
      : type(type), memory((count * bytesOf(type) + 3) / 4) {
    int64_t bytes = count * bytesOf(type);
    first = reinterpret_cast<char *>(memory.data()) + memory.length() * 4 - bytes;
    std::mt19937 random(seed);
    for (int64_t i = 0; i < bytes; ++i)
      first[i] = static_cast<char>(random() % 7 == 0 ? 0x80 : random());
  }

  const void *data() const { return first; }
  uint32_t at(int64_t i) const {
    switch (type) {
    case IntegerType::I8:
      return static_cast<uint32_t>(reinterpret_cast<const int8_t *>(first)[i]);
    case IntegerType::U8:
      return reinterpret_cast<const uint8_t *>(first)[i];
    case IntegerType::I16:
      return static_cast<uint32_t>(reinterpret_cast<const int16_t *>(first)[i]);
    case IntegerType::U16:
      return reinterpret_cast<const uint16_t *>(first)[i];
    case IntegerType::I32:
      return static_cast<uint32_t>(reinterpret_cast<const int32_t *>(first)[i]);
    }
    return 0;
  }

  const IntegerType type;

private:
  GuardedFloats memory;
  char *first;
};

void expectSums(const std::vector<uint32_t> &expected, const int32_t *found, int64_t columns) {
  for (size_t i = 0; i < expected.size(); ++i)
    ASSERT_EQ(static_cast<uint32_t>(found[i]), expected[i]) << i / size_t(columns) << ", " << i % size_t(columns);
}

void check(IntegerType left, IntegerType right, int64_t m, int64_t n, int64_t k, bool turned,
           int threads) {
  SCOPED_TRACE(testing::Message() << m << " x " << n << " x " << k << " of types " << int(left)
                                  << " and " << int(right) << (turned ? " turned" : ""));
  GuardedIntegers a(left, m * k, 1), b(right, k * n, 2);
  ProductPlaces at(m, n, k, turned);
  GuardedFloats result(m * n);
  auto *c = reinterpret_cast<int32_t *>(result.data());
  Pool pool(threads, Pool::Sharing::Always);
  multiply({a.data(), left, at.aRows, at.aColumns}, packIntegers({b.data(), right, at.bRows, at.bColumns}, pool), c, n, pool);
  expectSums(at.sums([&](int64_t i) { return a.at(i); }, [&](int64_t i) { return b.at(i); }), c, n);
}

TEST_P(IntegersTest, ProductsOfAllTypesAreExact) {
  for (IntegerType left : kTypes)
    for (IntegerType right : kTypes)
      check(left, right, 19, 37, 41, left == right, 2);
}

TEST_P(IntegersTest, ProductsOfOddShapesAndStrides) {
  for (int64_t m : {0, 1, 7, 33})
    for (int64_t n : {1, 16, 50})
      for (int64_t k : {0, 1, 2, 3, 64, 1101}) {
        check(IntegerType::U8, IntegerType::I8, m, n, k, false, 1);
        check(IntegerType::I8, IntegerType::I8, m, n, k, true, 3);
      }
}

/// More rows than are brought into pairs at once.
TEST_P(IntegersTest, ProductsOfManyRows) {
  check(IntegerType::U8, IntegerType::I8, 300, 5, 8192, false, 2);
}

/// The largest negative pair, whose sum alone wraps around.
TEST_P(IntegersTest, TheLeastNumbersWrapAround) {
  std::vector<int16_t> a(6, -32768), b(6, -32768);
  std::vector<int64_t> zero = {0}, six = spaced(6, 1);
  int32_t c = 0;
  Pool pool(1);
  multiply({a.data(), IntegerType::I16, zero, six},
           packIntegers({b.data(), IntegerType::I16, six, zero}, pool), &c, 1, pool);
  EXPECT_EQ(static_cast<uint32_t>(c), 6u << 30);
}

void checkConvolution(const ConvolutionShape &shape, IntegerType left, IntegerType right,
                      bool channelsFirst, int threads) {
  SCOPED_TRACE(testing::Message() << shape.inputChannels << " to " << shape.outputChannels << " in "
                                  << shape.groups << " groups of types " << int(left) << " and "
                                  << int(right));
  ConvolutionPlaces at(shape, channelsFirst);
  GuardedIntegers image(left, at.imageSize(), 3), weights(right, at.weightCount(), 4);
  GuardedFloats result(shape.rows() * shape.outputChannels);
  auto *c = reinterpret_cast<int32_t *>(result.data());
  Pool pool(threads, Pool::Sharing::Always);
  convolve(packIntegers(shape, {weights.data(), right, at.weights}, pool), {image.data(), left, at.image}, c, pool);
  expectSums(at.sums([&](int64_t i) { return image.at(i); }, [&](int64_t i) { return weights.at(i); }), c, shape.outputChannels);
}

TEST_P(IntegersTest, Convolutions) {
  ConvolutionShape shape;
  shape.batch = 2;
  shape.input = {1, 7, 9};
  shape.kernel = {1, 3, 3};
  shape.paddingLow = shape.paddingHigh = {0, 1, 1};
  for (auto [inputs, outputs, groups] :
       {std::array<int64_t, 3>{3, 20, 1}, {16, 33, 1}, {6, 4, 2}, {10, 10, 10}, {9, 3, 3}}) {
    shape.inputChannels = inputs, shape.outputChannels = outputs, shape.groups = groups;
    shape.strides = {1, 1, 1};
    checkConvolution(shape, IntegerType::U8, IntegerType::I8, false, 1);
    checkConvolution(shape, IntegerType::I32, IntegerType::I32, true, 2);
    shape.strides = {1, 2, 2};
    shape.kernelDilation = {1, 2, 1};
    checkConvolution(shape, IntegerType::I8, IntegerType::I8, true, 3);
    shape.kernelDilation = {1, 1, 1};
  }
}

TEST_P(IntegersTest, PointwiseAndTransposedConvolutions) {
  ConvolutionShape shape;
  shape.inputChannels = 8, shape.outputChannels = 24;
  shape.input = {1, 5, 6};
  checkConvolution(shape, IntegerType::U8, IntegerType::I8, true, 2);
  shape.kernel = {1, 2, 3};
  shape.inputDilation = {1, 2, 2};
  shape.paddingLow = {0, 1, 2}, shape.paddingHigh = {0, 1, 0};
  checkConvolution(shape, IntegerType::I8, IntegerType::I16, false, 2);
}

} // namespace
} // namespace cupel::kernels
