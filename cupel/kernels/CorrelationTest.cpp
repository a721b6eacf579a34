#include "cupel/kernels/Correlation.h"

#include "cupel/kernels/IsaTesting.h"
#include "cupel/kernels/TestBuffers.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <vector>

namespace cupel::kernels {
namespace {

struct Exact {
  double value = 0, magnitude = 0;
};

Exact exactAt(const CorrelationShape &shape, const float *image, const float *window, int64_t y, int64_t x,
              int64_t row, int64_t column) {
  Exact sum;
  for (int64_t n = 0; n < shape.images; ++n)
    for (int64_t v = 0; v < shape.window[0]; ++v)
      for (int64_t u = 0; u < shape.window[1]; ++u) {
        int64_t fromY = y * shape.strides[0] + v * shape.dilations[0] - shape.paddingLow[0];
        int64_t fromX = x * shape.strides[1] + u * shape.dilations[1] - shape.paddingLow[1];
        bool isInside = fromY >= 0 && fromY < shape.input[0] && fromX >= 0 && fromX < shape.input[1];
        int64_t pixel = (n * shape.input[0] + fromY) * shape.input[1] + fromX;
        double left = isInside ? image[pixel * shape.rows + row] : 0.0;
        double term =
            left * window[((n * shape.window[0] + v) * shape.window[1] + u) * shape.columns + column];
        sum.value += term;
        sum.magnitude += std::abs(term);
      }
  return sum;
}

std::vector<float> check(const CorrelationShape &shape, int threads, float oneOfWindow = 1) {
  SCOPED_TRACE(testing::Message() << shape.images << " images of " << shape.input[0] << "x" << shape.input[1] << "x"
                                  << shape.rows << ", window " << shape.window[0] << "x" << shape.window[1]
                                  << "x" << shape.columns << ", threads " << threads);
  GuardedFloats image(shape.images * shape.input[0] * shape.input[1] * shape.rows);
  GuardedFloats window(shape.images * shape.window[0] * shape.window[1] * shape.columns);
  auto [height, width] = shape.output();
  GuardedFloats c(height * width * shape.rows * shape.columns);
  image.fill(1), window.fill(2), c.fillWith(777);
  if (window.length() > 0)
    window[0] = oneOfWindow;
  correlate(shape, image.data(), window.data(), c.data(), Pool(threads, Pool::Sharing::Always));
  double steps = static_cast<double>(shape.images * shape.window[0] * shape.window[1]);
  int64_t at = 0;
  for (int64_t y = 0; y < height; ++y)
    for (int64_t x = 0; x < width; ++x)
      for (int64_t row = 0; row < shape.rows; ++row)
        for (int64_t column = 0; column < shape.columns; ++column, ++at) {
          Exact exact = exactAt(shape, image.data(), window.data(), y, x, row, column);
          if (std::isnan(exact.value)) {
            EXPECT_TRUE(std::isnan(c[at])) << y << ", " << x << ", " << row << ", " << column;
            continue;
          }
          if (std::isinf(exact.value)) {
            EXPECT_EQ(c[at], exact.value) << y << ", " << x << ", " << row << ", " << column;
            continue;
          }
          double bound = (steps + 4) * std::ldexp(1.0, -23) * (exact.magnitude + 1e-3);
          EXPECT_NEAR(c[at], exact.value, bound) << y << ", " << x << ", " << row << ", " << column;
          if (testing::Test::HasNonfatalFailure())
            return {};
        }
  return {c.data(), c.data() + c.length()};
}

CorrelationShape shapeOf(int64_t images, int64_t rows, int64_t columns, CorrelationShape::Sizes input,
                         CorrelationShape::Sizes window) {
  CorrelationShape shape;
  shape.images = images;
  shape.rows = rows;
  shape.columns = columns;
  shape.input = input;
  shape.window = window;
  return shape;
}

class CorrelationTest : public OnEveryIsa {};
INSTANTIATE_TEST_SUITE_P(, CorrelationTest, everyIsa(), nameOfIsa);

TEST_P(CorrelationTest, ChannelsOfAllNumbers) {
  for (int64_t rows : {1, 3, 8, 17})
    for (int64_t columns : {1, 4, 31, 48, 80}) {
      CorrelationShape shape = shapeOf(2, rows, columns, {5, 6}, {5, 6});
      shape.paddingLow = shape.paddingHigh = {1, 1};
      check(shape, 1);
    }
}

TEST_P(CorrelationTest, StridesDilationsAndPaddings) {
  for (int64_t stride : {1, 2})
    for (int64_t dilation : {1, 2, 3})
      for (int64_t low : {-1, 0, 2})
        for (int64_t high : {-1, 0, 1}) {
          CorrelationShape shape = shapeOf(2, 5, 18, {9, 11}, {3, 4});
          shape.strides = {stride, stride};
          shape.dilations = {dilation, dilation};
          shape.paddingLow = {low, low + 1};
          shape.paddingHigh = {high, high};
          check(shape, 2);
        }
}

TEST_P(CorrelationTest, LongLinesAreCut) {
  check(shapeOf(1, 4, 20, {1, 1000}, {1, 997}), 1);
  CorrelationShape shape = shapeOf(2, 2, 5, {1, 400}, {1, 399});
  shape.paddingLow = {0, 1};
  shape.paddingHigh = {0, 1};
  check(shape, 2);
}

TEST_P(CorrelationTest, EmptySums) {
  check(shapeOf(0, 3, 5, {4, 4}, {2, 2}), 1);
  check(shapeOf(2, 3, 5, {2, 2}, {4, 4}), 1); // No place at all.
}

TEST_P(CorrelationTest, BitsDoNotDependOnThreads) {
  CorrelationShape shape = shapeOf(2, 19, 70, {6, 8}, {6, 8});
  shape.paddingLow = shape.paddingHigh = {1, 1};
  std::vector<float> one = check(shape, 1);
  for (int threads : {2, 3, 7}) {
    std::vector<float> other = check(shape, threads);
    ASSERT_EQ(one.size(), other.size());
    EXPECT_EQ(std::memcmp(one.data(), other.data(), one.size() * sizeof(float)), 0) << threads;
  }
}

/// Padding is zero, and zero times infinity is not.
TEST_P(CorrelationTest, InfinityMeetsPadding) {
  CorrelationShape shape = shapeOf(2, 3, 20, {5, 5}, {5, 5});
  shape.paddingLow = shape.paddingHigh = {1, 1};
  std::vector<float> made = check(shape, 1, std::numeric_limits<float>::infinity());
  ASSERT_FALSE(made.empty());
  EXPECT_TRUE(std::isnan(made[0]));
}

} // namespace
} // namespace cupel::kernels
