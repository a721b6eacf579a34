#include "cupel/kernels/Pooling.h"

#include "cupel/kernels/IsaTesting.h"
#include "cupel/kernels/TestBuffers.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <vector>

namespace cupel::kernels {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

int64_t product(const Spatial &sizes) { return sizes[0] * sizes[1] * sizes[2]; }

float initialOf(PoolingKind kind) {
  return kind == PoolingKind::Max ? -kInfinity : kind == PoolingKind::Min ? kInfinity : 0;
}

double fold(PoolingKind kind, double a, double b) {
  if (kind == PoolingKind::Sum || std::isnan(a) || std::isnan(b))
    return a + b;
  if (a == b)
    return (kind == PoolingKind::Max) == std::signbit(a) ? b : a;
  return (kind == PoolingKind::Max) == (a > b) ? a : b;
}

double expectedAt(const PoolingShape &shape, PoolingKind kind, float initial, const float *input,
                  int64_t row, int64_t channel) {
  Spatial output = shape.output(), at;
  for (int d = 2; d >= 0; --d) {
    at[d] = row % output[d];
    row /= output[d];
  }
  double value = initial;
  for (int64_t tap = 0; tap < product(shape.window); ++tap) {
    Spatial k = {tap / (shape.window[1] * shape.window[2]),
                 tap / shape.window[2] % shape.window[1], tap % shape.window[2]};
    int64_t place = row;
    bool isInside = true;
    for (int d = 0; d < 3; ++d) {
      int64_t p = at[d] * shape.strides[d] + k[d] * shape.windowDilation[d] - shape.paddingLow[d];
      isInside = isInside && p >= 0 && p < shape.input[d];
      place = place * shape.input[d] + p;
    }
    value = fold(kind, value, isInside ? input[place * shape.channels + channel] : initial);
  }
  return value;
}

class PoolingTest : public OnEveryIsa {};
INSTANTIATE_TEST_SUITE_P(, PoolingTest, everyIsa(), nameOfIsa);

void check(const PoolingShape &shape, PoolingKind kind, int threads) {
  GuardedFloats input(shape.batch * product(shape.input) * shape.channels);
  int64_t ldc = shape.channels + 1, rows = shape.rows();
  GuardedFloats c(rows ? (rows - 1) * ldc + shape.channels : 0);
  input.fill(1);
  float initial = initialOf(kind);
  computeWindows(shape, kind, initial, input.data(), c.data(), ldc, {}, Pool(threads));
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t channel = 0; channel < shape.channels; ++channel) {
      double expected = expectedAt(shape, kind, initial, input.data(), row, channel);
      if (std::isinf(expected))
        ASSERT_EQ(c[row * ldc + channel], expected);
      else
        ASSERT_NEAR(c[row * ldc + channel], expected, 1e-5) << row << ", " << channel;
    }
}

TEST_P(PoolingTest, Windows) {
  for (PoolingKind kind : {PoolingKind::Max, PoolingKind::Min, PoolingKind::Sum})
    for (int64_t channels : {0, 1, 3, 16, 37})
      for (int64_t window : {1, 2, 3, 7})
        for (int64_t stride : {1, 2})
          for (int64_t padding : {-1, 0, 1, 3}) {
            PoolingShape shape;
            shape.batch = 2;
            shape.channels = channels;
            shape.input = {1, 7, 9};
            shape.window = {1, window, window};
            shape.strides = {1, stride, 2};
            shape.paddingLow = {0, padding, 1};
            shape.paddingHigh = {0, 0, padding};
            check(shape, kind, stride);
          }
}

TEST_P(PoolingTest, DilatedAndInThreeDimensions) {
  PoolingShape shape;
  shape.channels = 20;
  shape.input = {5, 6, 7};
  shape.window = {2, 3, 2};
  shape.windowDilation = {2, 1, 3};
  shape.paddingLow = {1, 1, 2};
  for (PoolingKind kind : {PoolingKind::Max, PoolingKind::Min, PoolingKind::Sum})
    check(shape, kind, 3);
  shape.input = {5, 0, 7};
  check(shape, PoolingKind::Max, 1);
}

TEST_P(PoolingTest, NotANumberAndSignedZeros) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  PoolingShape shape;
  shape.channels = 17;
  shape.input = {1, 1, 2};
  shape.window = {1, 1, 2};
  for (auto [a, b] : {std::pair{kNan, 1.0f}, {1.0f, kNan}, {0.0f, -0.0f}, {-0.0f, 0.0f},
                      {-0.0f, -0.0f}, {-kInfinity, kNan}, {-3.0f, -2.0f}}) {
    std::vector<float> input(34, a), c(17);
    std::fill(input.begin() + 17, input.end(), b);
    for (PoolingKind kind : {PoolingKind::Max, PoolingKind::Min}) {
      computeWindows(shape, kind, initialOf(kind), input.data(), c.data(), 17, {}, Pool(1));
      double expected = fold(kind, a, b);
      for (float value : c) {
        EXPECT_EQ(std::isnan(value), std::isnan(expected)) << a << ", " << b;
        EXPECT_EQ(std::signbit(value), std::signbit(static_cast<float>(expected))) << a << ", " << b;
        if (!std::isnan(expected))
          EXPECT_EQ(value, expected);
      }
    }
  }
}

/// Channels as more images.
void checkPlanar(PoolingShape shape, PoolingKind kind, int threads) {
  GuardedFloats input(shape.batch * shape.channels * product(shape.input));
  PoolingShape single = shape;
  single.batch = shape.batch * shape.channels;
  single.channels = 1;
  int64_t count = single.rows();
  GuardedFloats c(count);
  input.fill(1);
  float initial = initialOf(kind);
  computePlanarWindows(shape, kind, initial, input.data(), c.data(), Pool(threads));
  for (int64_t i = 0; i < count; ++i) {
    double expected = expectedAt(single, kind, initial, input.data(), i, 0);
    if (std::isinf(expected))
      ASSERT_EQ(c[i], expected);
    else
      ASSERT_NEAR(c[i], expected, 1e-5) << i;
  }
}

TEST_P(PoolingTest, PlanarWindows) {
  for (PoolingKind kind : {PoolingKind::Max, PoolingKind::Min, PoolingKind::Sum})
    for (int64_t width : {1, 5, 16, 37})
      for (int64_t window : {1, 2, 3, 7})
        for (int64_t stride : {1, 2, 3})
          for (int64_t padding : {0, 1, 3}) {
            PoolingShape shape;
            shape.batch = 2;
            shape.channels = 3;
            shape.input = {1, 7, width};
            shape.window = {1, 2, window};
            shape.strides = {1, 2, stride};
            shape.paddingLow = {0, padding, padding};
            shape.paddingHigh = {0, 1, padding};
            checkPlanar(shape, kind, stride);
          }
}

TEST_P(PoolingTest, PlanarWindowsDilatedAndInThreeDimensions) {
  PoolingShape shape;
  shape.channels = 5;
  shape.input = {5, 6, 40};
  shape.window = {2, 3, 2};
  shape.windowDilation = {2, 1, 3};
  shape.paddingLow = {1, 1, 2};
  for (PoolingKind kind : {PoolingKind::Max, PoolingKind::Min, PoolingKind::Sum})
    checkPlanar(shape, kind, 3);
  shape.input = {5, 0, 7};
  checkPlanar(shape, PoolingKind::Max, 1);
  // Columns and lines at the end that no window reaches.
  PoolingShape cut;
  cut.batch = 3;
  cut.input = {1, 9, 43};
  cut.window = cut.strides = {1, 2, 2};
  cut.paddingHigh = {0, -1, -1};
  checkPlanar(cut, PoolingKind::Max, 2);
}

/// Windows that move by one, which go through planes: lines that are no vector, one, and up to more than four, with numbers of all kinds among them.
TEST_P(PoolingTest, PlanesOfWindowsThatMoveByOne) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kSpecial[] = {kNan, -kNan, 0.0f, -0.0f, kInfinity, -kInfinity};
  for (int64_t window : {3, 5})
    for (int64_t height : {1, 4, 33})
      for (int64_t width : {1, 3, 16, 17, 33, 50, 64, 131})
        for (int64_t padding : {0, 1, 4}) {
          PoolingShape shape;
          shape.channels = height == 33 ? 1 : 3;
          shape.input = {2, height, width};
          shape.window = {1, window, window};
          shape.paddingLow = {0, padding, padding};
          shape.paddingHigh = {0, padding, padding == 4 ? 0 : padding};
          Spatial output = shape.output();
          if (output[1] <= 0 || output[2] <= 0)
            continue;
          PoolingShape single = shape;
          single.batch = shape.channels, single.channels = 1;
          for (PoolingKind kind : {PoolingKind::Max, PoolingKind::Min, PoolingKind::Sum})
            for (bool hasSpecial : {false, true}) {
              GuardedFloats input(shape.channels * product(shape.input), hasSpecial), c(single.rows());
              input.fill(1);
              for (int64_t i = 0; hasSpecial && i < input.length(); i += 1 + i % 13)
                input[i] = kSpecial[static_cast<size_t>(i / 3) % (kind == PoolingKind::Sum ? 4 : 6)];
              computePlanarWindows(shape, kind, initialOf(kind), input.data(), c.data(), Pool(1));
              for (int64_t i = 0; i < c.length(); ++i) {
                double expected = expectedAt(single, kind, initialOf(kind), input.data(), i, 0);
                ASSERT_EQ(std::isnan(c[i]), std::isnan(expected)) << i;
                if (std::isnan(expected))
                  continue;
                if (std::isinf(expected))
                  ASSERT_EQ(c[i], expected) << i;
                else
                  ASSERT_NEAR(c[i], expected, 1e-5) << i;
                if (kind != PoolingKind::Sum || expected == 0)
                  ASSERT_EQ(std::signbit(c[i]), std::signbit(expected)) << i << " of " << c[i];
              }
              GuardedFloats shared(single.rows());
              computePlanarWindows(shape, kind, initialOf(kind), input.data(), shared.data(), Pool(3, Pool::Sharing::Always));
              for (int64_t i = 0; i < c.length(); ++i)
                ASSERT_EQ(std::bit_cast<uint32_t>(shared[i]) & (std::isnan(c[i]) ? 0 : ~0u), std::bit_cast<uint32_t>(c[i]) & (std::isnan(c[i]) ? 0 : ~0u)) << i;
            }
        }
}

/// Windows that are folded one by one, of fewer numbers than a vector, of as many and of more; among them NaNs and zeros of both signs.
TEST_P(PoolingTest, PlanarWindowsFarApart) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  for (PoolingKind kind : {PoolingKind::Max, PoolingKind::Min, PoolingKind::Sum})
    for (int64_t window : {4, 8, 9, 16, 20, 33})
      for (int64_t stride : {3, 8, 35}) {
        PoolingShape shape;
        shape.channels = 20;
        shape.input = {1, 5, 73};
        shape.window = {1, 3, window};
        shape.strides = {1, 1, stride};
        shape.paddingLow = {0, 1, 2};
        shape.paddingHigh = {0, 1, 3};
        checkPlanar(shape, kind, 2);
      }
  for (float special : {kNan, 0.0f})
    for (int64_t at = 0; at < 9; ++at)
      for (PoolingKind kind : {PoolingKind::Max, PoolingKind::Min}) {
        PoolingShape shape;
        shape.input = {1, 1, 18};
        shape.window = shape.strides = {1, 1, 9};
        std::vector<float> input(18, kind == PoolingKind::Max ? -0.0f : 0.0f), c(2);
        input[static_cast<size_t>(9 + at)] = kind == PoolingKind::Max ? special : -special;
        computePlanarWindows(shape, kind, initialOf(kind), input.data(), c.data(), Pool(1));
        EXPECT_EQ(c[0], 0);
        EXPECT_EQ(std::signbit(c[0]), kind == PoolingKind::Max);
        EXPECT_EQ(std::isnan(c[1]), std::isnan(special)) << at;
        if (!std::isnan(special))
          EXPECT_EQ(std::signbit(c[1]), kind == PoolingKind::Min) << at;
      }
}

TEST_P(PoolingTest, PlanarNotANumberAndSignedZeros) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  for (bool isDown : {false, true})
    for (auto [a, b] : {std::pair{kNan, 1.0f}, {1.0f, kNan}, {0.0f, -0.0f}, {-0.0f, 0.0f}, {-0.0f, -0.0f}, {-kInfinity, kNan}, {-3.0f, -2.0f}}) {
      PoolingShape shape;
      shape.channels = 3;
      shape.input = shape.window = isDown ? Spatial{1, 2, 1} : Spatial{1, 1, 2};
      std::vector<float> input = {a, b, a, b, a, b}, c(3);
      for (PoolingKind kind : {PoolingKind::Max, PoolingKind::Min}) {
        computePlanarWindows(shape, kind, initialOf(kind), input.data(), c.data(), Pool(1));
        double expected = fold(kind, a, b);
        for (float value : c) {
          EXPECT_EQ(std::isnan(value), std::isnan(expected)) << a << ", " << b;
          EXPECT_EQ(std::signbit(value), std::signbit(static_cast<float>(expected))) << a << ", " << b;
        }
      }
    }
}

void halve(void *const *, float *c, int64_t ldc, int64_t, int64_t rows, int64_t, int64_t columns) {
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      c[i * ldc + j] /= 2;
}

TEST_P(PoolingTest, AnAverageIsASumWithAnEpilogue) {
  PoolingShape shape;
  shape.channels = 18;
  shape.input = {1, 4, 6};
  shape.window = shape.strides = {1, 1, 2};
  GuardedFloats input(4 * 6 * 18), c(4 * 3 * 18), bias(18);
  input.fill(1), bias.fill(2);
  computeWindows(shape, PoolingKind::Sum, 0, input.data(), c.data(), 18,
                 {bias.data(), halve, nullptr}, Pool(2));
  for (int64_t i = 0; i < 4 * 3; ++i)
    for (int64_t j = 0; j < 18; ++j)
      EXPECT_NEAR(c[i * 18 + j],
                  (input[2 * i * 18 + j] + input[(2 * i + 1) * 18 + j] + bias[j]) / 2, 1e-6);
}

/// Some of them cover nothing but padding.
PoolingShape withWindowsOutside() {
  PoolingShape shape;
  shape.batch = 2;
  shape.input = {1, 9, 7};
  shape.window = {1, 3, 2};
  shape.strides = {1, 2, 1};
  shape.paddingLow = {0, 3, 1};
  shape.paddingHigh = {0, 1, 2};
  return shape;
}

/// Bytes of both kinds, with windows that lie outside, and channels that fill vectors or not.
TEST_P(PoolingTest, GreatestBytes) {
  PoolingShape shape = withWindowsOutside();
  for (int64_t channels : {1, 3, 16, 64, 67, 130})
    for (bool isSigned : {false, true}) {
      shape.channels = channels;
      int64_t count = shape.batch * product(shape.input) * channels, rows = shape.rows();
      // Memory ends where the operands do.
      GuardedFloats from((count + 3) / 4), to((rows * channels + 3) / 4);
      auto *input = reinterpret_cast<uint8_t *>(from.data()) + ((count + 3) / 4 * 4 - count);
      auto *c = reinterpret_cast<uint8_t *>(to.data()) + ((rows * channels + 3) / 4 * 4 - rows * channels);
      std::mt19937 random(1);
      for (int64_t i = 0; i < count; ++i)
        input[i] = static_cast<uint8_t>(random());
      computeByteWindows(shape, isSigned, input, c, Pool(2));
      std::vector<float> wide(static_cast<size_t>(count));
      for (int64_t i = 0; i < count; ++i)
        wide[static_cast<size_t>(i)] = isSigned ? static_cast<float>(static_cast<int8_t>(input[i])) : static_cast<float>(input[i]);
      for (int64_t row = 0; row < rows; ++row)
        for (int64_t channel = 0; channel < channels; ++channel) {
          double expected = expectedAt(shape, PoolingKind::Max, isSigned ? -128 : 0, wide.data(), row, channel);
          uint8_t got = c[row * channels + channel];
          ASSERT_EQ(isSigned ? static_cast<int8_t>(got) : int{got}, static_cast<int>(expected)) << row << " " << channel;
        }
    }
}

/// Numbers in bf16: the greatest is one of them, minus infinity where a window lies outside, and NaN where one is.
TEST_P(PoolingTest, GreatestHalves) {
  PoolingShape shape = withWindowsOutside();
  for (int64_t channels : {1, 3, 16, 64, 67}) {
    shape.channels = channels;
    int64_t count = shape.batch * product(shape.input) * channels, rows = shape.rows();
    // Memory ends where the operands do.
    GuardedFloats from((count + 1) / 2), to((rows * channels + 1) / 2), wide(count);
    auto *input = reinterpret_cast<uint16_t *>(from.data()) + count % 2;
    auto *c = reinterpret_cast<uint16_t *>(to.data()) + rows * channels % 2;
    wide.fill(3);
    for (int64_t i = 0; i < count; ++i) {
      auto bits = std::bit_cast<uint32_t>(i % 19 == 5 ? -0.0f : i % 23 == 7 ? 0.0f : i % 211 == 9 ? -std::nanf("") : i % 7 == 1 ? -5.0f : wide[i]) >> 16;
      input[i] = static_cast<uint16_t>(bits);
      wide[i] = std::bit_cast<float>(bits << 16);
    }
    computeHalfWindows(shape, input, c, Pool(2));
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t channel = 0; channel < channels; ++channel) {
        double expected = expectedAt(shape, PoolingKind::Max, -std::numeric_limits<float>::infinity(), wide.data(), row, channel);
        float got = std::bit_cast<float>(uint32_t{c[row * channels + channel]} << 16);
        if (std::isnan(expected)) {
          ASSERT_TRUE(std::isnan(got)) << row << " " << channel;
        } else {
          ASSERT_EQ(got, static_cast<float>(expected)) << row << " " << channel;
          ASSERT_EQ(std::signbit(got), std::signbit(expected)) << row << " " << channel;
        }
      }
  }
}

} // namespace
} // namespace cupel::kernels
