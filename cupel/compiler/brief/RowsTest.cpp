// Row kernels and epilogues: against plain loops in f64, for odd sizes, every
// instruction set and any split of the work, which must not change a bit.

#include "cupel/compiler/brief/KernelTesting.h"

#include <bit>
#include <cfenv>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

using namespace cupel;
using namespace cupel::codegen;
using tensor::DType;

namespace {

class RowsTest : public KernelTest {};

const char *kSoftmax = R"(func.func @softmax(%x: tensor<$Nxf32>) -> tensor<$Nxf32> {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %max = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [0] : (tensor<$Nxf32>, tensor<f32>) -> tensor<f32>
  %m = stablehlo.broadcast_in_dim %max, dims = [] : (tensor<f32>) -> tensor<$Nxf32>
  %d = stablehlo.subtract %x, %m : tensor<$Nxf32>
  %e = stablehlo.exponential %d : tensor<$Nxf32>
  %sum = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<$Nxf32>, tensor<f32>) -> tensor<f32>
  %s = stablehlo.broadcast_in_dim %sum, dims = [] : (tensor<f32>) -> tensor<$Nxf32>
  %r = stablehlo.divide %e, %s : tensor<$Nxf32>
  return %r : tensor<$Nxf32> })";

const char *kLayerNorm = R"(func.func @norm(%x: tensor<$Nxf32>, %w: tensor<$Nxf32>, %b: tensor<$Nxf32>, %eps: tensor<f32>) -> (tensor<$Nxf32>, tensor<f32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %n = stablehlo.constant dense<$N.0> : tensor<f32>
  %sum = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<$Nxf32>, tensor<f32>) -> tensor<f32>
  %mean = stablehlo.divide %sum, %n : tensor<f32>
  %m = stablehlo.broadcast_in_dim %mean, dims = [] : (tensor<f32>) -> tensor<$Nxf32>
  %d = stablehlo.subtract %x, %m : tensor<$Nxf32>
  %q = stablehlo.multiply %d, %d : tensor<$Nxf32>
  %squares = stablehlo.reduce(%q init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<$Nxf32>, tensor<f32>) -> tensor<f32>
  %v = stablehlo.divide %squares, %n : tensor<f32>
  %ve = stablehlo.add %v, %eps : tensor<f32>
  %i = stablehlo.rsqrt %ve : tensor<f32>
  %ib = stablehlo.broadcast_in_dim %i, dims = [] : (tensor<f32>) -> tensor<$Nxf32>
  %y = stablehlo.multiply %d, %ib : tensor<$Nxf32>
  %yw = stablehlo.multiply %y, %w : tensor<$Nxf32>
  %r = stablehlo.add %yw, %b : tensor<$Nxf32>
  return %r, %mean : tensor<$Nxf32>, tensor<f32> })";

constexpr int64_t kLengths[] = {1, 7, 16, 17, 100, 1000};

TEST_P(RowsTest, Softmax) {
  for (int64_t n : kLengths) {
    constexpr int64_t rows = 5;
    View view = View::contiguous(DType::F32, {rows, n});
    RowKernel kernel{{rows}, n, {view}, {view}, parse(kSoftmax, n)};
    auto code = make(kernel, target());
    ASSERT_TRUE(code) << code.message();
    GuardedBytes in(rows * n * 4), out(rows * n * 4);
    fillRandom(in.as<float>(), rows * n, 3);
    runInPieces(*code, {in.data()}, {out.data()}, 2);
    for (int64_t r = 0; r < rows; ++r) {
      const float *x = in.as<float>() + r * n;
      double most = *std::max_element(x, x + n), sum = 0;
      for (int64_t i = 0; i < n; ++i)
        sum += std::exp(x[i] - most);
      for (int64_t i = 0; i < n; ++i)
        ASSERT_NEAR(out.as<float>()[r * n + i], std::exp(x[i] - most) / sum,
                    1e-6 * std::exp(x[i] - most) / sum);
    }
    EXPECT_TRUE(out.isClean());
    // In place, and in other pieces: the same bits.
    runInPieces(*code, {in.data()}, {in.data()}, 5, 9);
    EXPECT_EQ(std::memcmp(in.data(), out.data(), in.size), 0) << n;
  }
}

/// Underflow takes many processors a hundred times as long as anything else in a row.
TEST_P(RowsTest, WhatIsMaskedVanishesWithoutUnderflow) {
  constexpr int64_t n = 100;
  View view = View::contiguous(DType::F32, {1, n});
  auto code = make(RowKernel{{1}, n, {view}, {view}, parse(kSoftmax, n)}, target());
  ASSERT_TRUE(code) << code.message();
  GuardedBytes in(n * 4), out(n * 4);
  for (float masked : {-1e9f, -INFINITY, -106.5f, -100.0f}) {
    fillRandom(in.as<float>(), n, 3); // -2 to 2
    for (int64_t i = 1; i < n; i += 2)
      in.as<float>()[i] = masked;
    std::feclearexcept(FE_ALL_EXCEPT);
    runInPieces(*code, {in.data()}, {out.data()}, 1);
    if (!code->work && masked < -106) // What stays a number is rare, and may take its time.
      EXPECT_FALSE(std::fetestexcept(FE_UNDERFLOW)) << masked;
    const float *x = in.as<float>();
    double most = *std::max_element(x, x + n), sum = 0;
    for (int64_t i = 0; i < n; ++i)
      sum += std::exp(x[i] - most);
    for (int64_t i = 0; i < n; ++i)
      ASSERT_NEAR(out.as<float>()[i], std::exp(x[i] - most) / sum, 1e-6 * std::exp(x[i] - most) / sum + 0x1p-148) << masked;
  }
}

TEST_P(RowsTest, LayerNormWithScalarsAndSharedRows) {
  for (int64_t n : kLengths) {
    constexpr int64_t a = 3, b = 2; // rows [a, b], transposed in the input
    View x = View::contiguous(DType::F32, {a, b, n});
    x.strides = {n, a * n, 1};
    View shared{DType::F32, 0, {0, 0, 1}, {}, 0}, eps{DType::F32, 0, {1, 0, 0}, {}, 0};
    View mean{DType::F32, 0, {b, 1, 0}, {}, 0};
    RowKernel kernel{{a, b}, n, {x, shared, shared, eps},
                     {View::contiguous(DType::F32, {a, b, n}), mean}, parse(kLayerNorm, n)};
    auto code = make(kernel, target());
    ASSERT_TRUE(code) << code.message();
    GuardedBytes in(a * b * n * 4), w(n * 4), bias(n * 4), e(a * 4);
    GuardedBytes out(a * b * n * 4), means(a * b * 4);
    fillRandom(in.as<float>(), a * b * n, 1);
    fillRandom(w.as<float>(), n, 2);
    fillRandom(bias.as<float>(), n, 3);
    for (int64_t i = 0; i < a; ++i)
      e.as<float>()[i] = 0.01f * static_cast<float>(i + 1);
    runInPieces(*code, {in.data(), w.data(), bias.data(), e.data()}, {out.data(), means.data()}, 4);
    for (int64_t i = 0; i < a; ++i)
      for (int64_t j = 0; j < b; ++j) {
        const float *row = in.as<float>() + i * n + j * a * n;
        double sum = 0, squares = 0;
        for (int64_t k = 0; k < n; ++k)
          sum += row[k];
        for (int64_t k = 0; k < n; ++k)
          squares += (row[k] - sum / n) * (row[k] - sum / n);
        double scale = 1 / std::sqrt(squares / n + e.as<float>()[i]);
        ASSERT_NEAR(means.as<float>()[i * b + j], sum / n, 1e-6);
        for (int64_t k = 0; k < n; ++k)
          ASSERT_NEAR(out.as<float>()[(i * b + j) * n + k],
                      (row[k] - sum / n) * scale * w.as<float>()[k] + bias.as<float>()[k], 2e-5);
      }
    EXPECT_TRUE(out.isClean() && means.isClean());
  }
}

/// A group norm: rows are channels, each of which has a factor.
TEST_P(RowsTest, FactorsThatRepeatAlongParts) {
  for (auto [channels, pixels] : {std::pair<int64_t, int64_t>{1, 40}, {3, 32}, {5, 48}, {7, 33}, {2, 100}, {3, 1001}}) {
    constexpr int64_t groups = 3;
    int64_t n = channels * pixels;
    View x = View::contiguous(DType::F32, {groups, n});
    View factor{DType::F32, 0, {channels, 1}, {}, 0, pixels}, backwards{DType::F32, groups * channels - 1, {-channels, -1}, {}, 0, pixels};
    View eps{DType::F32, 0, {0, 0}, {}, 0}, mean{DType::F32, 0, {1, 0}, {}, 0};
    RowKernel kernel{{groups}, n, {x, factor, backwards, eps}, {x, mean}, parse(kLayerNorm, n)};
    auto code = make(kernel, target());
    ASSERT_TRUE(code) << code.message();
    GuardedBytes in(groups * n * 4), w(groups * channels * 4), b(groups * channels * 4), e(4), out(groups * n * 4), means(groups * 4);
    fillRandom(in.as<float>(), groups * n, 1);
    fillRandom(w.as<float>(), groups * channels, 2);
    fillRandom(b.as<float>(), groups * channels, 3);
    e.as<float>()[0] = 0.01f;
    runInPieces(*code, {in.data(), w.data(), b.data(), e.data()}, {out.data(), means.data()}, 2);
    for (int64_t g = 0; g < groups; ++g) {
      const float *row = in.as<float>() + g * n;
      double sum = 0, squares = 0;
      for (int64_t k = 0; k < n; ++k)
        sum += row[k];
      for (int64_t k = 0; k < n; ++k)
        squares += (row[k] - sum / double(n)) * (row[k] - sum / double(n));
      double scale = 1 / std::sqrt(squares / double(n) + e.as<float>()[0]);
      for (int64_t k = 0; k < n; ++k) {
        int64_t channel = g * channels + k / pixels;
        ASSERT_NEAR(out.as<float>()[g * n + k],
                    (row[k] - sum / double(n)) * scale * w.as<float>()[channel] + b.as<float>()[groups * channels - 1 - channel], 2e-5)
            << channels << " channels of " << pixels << ", element " << k;
      }
    }
    EXPECT_TRUE(out.isClean() && means.isClean());
  }
}

TEST_P(RowsTest, IntegersIotaAndTwoReductionsInOnePass) {
  const char *text = R"(func.func @f(%x: tensor<$Nxi32>) -> (tensor<i32>, tensor<i32>, tensor<$Nxi1>) {
    %zero = stablehlo.constant dense<5> : tensor<i32>
    %i = stablehlo.iota dim = 0 : tensor<$Nxi32>
    %p = stablehlo.multiply %x, %i : tensor<$Nxi32>
    %sum = stablehlo.reduce(%p init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<$Nxi32>, tensor<i32>) -> tensor<i32>
    %min = stablehlo.reduce(%x init: %zero) applies stablehlo.minimum across dimensions = [0] : (tensor<$Nxi32>, tensor<i32>) -> tensor<i32>
    %m = stablehlo.broadcast_in_dim %min, dims = [] : (tensor<i32>) -> tensor<$Nxi32>
    %is = stablehlo.compare EQ, %x, %m : (tensor<$Nxi32>, tensor<$Nxi32>) -> tensor<$Nxi1>
    return %sum, %min, %is : tensor<i32>, tensor<i32>, tensor<$Nxi1> })";
  for (int64_t n : kLengths) {
    constexpr int64_t rows = 3;
    View row = View::contiguous(DType::I32, {rows, n}), scalar{DType::I32, 0, {1, 0}, {}, 0};
    RowKernel kernel{{rows}, n, {row}, {scalar, scalar, View::contiguous(DType::I1, {rows, n})},
                     parse(text, n)};
    auto code = make(kernel, target());
    ASSERT_TRUE(code) << code.message();
    GuardedBytes in(rows * n * 4), sums(rows * 4), mins(rows * 4), flags(rows * n);
    std::mt19937 random(1);
    for (int64_t i = 0; i < rows * n; ++i)
      in.as<int32_t>()[i] = static_cast<int32_t>(random());
    runInPieces(*code, {in.data()}, {sums.data(), mins.data(), flags.data()}, 1);
    for (int64_t r = 0; r < rows; ++r) {
      uint32_t sum = 5;
      int32_t least = 5;
      for (int64_t i = 0; i < n; ++i) {
        sum += static_cast<uint32_t>(in.as<int32_t>()[r * n + i]) * static_cast<uint32_t>(i);
        least = std::min(least, in.as<int32_t>()[r * n + i]);
      }
      EXPECT_EQ(sums.as<uint32_t>()[r], sum);
      EXPECT_EQ(mins.as<int32_t>()[r], least);
      for (int64_t i = 0; i < n; ++i)
        ASSERT_EQ(flags.as<uint8_t>()[r * n + i], in.as<int32_t>()[r * n + i] == least);
    }
    EXPECT_TRUE(flags.isClean());
  }
}

TEST_P(RowsTest, ExtremesKnowNanInfinityAndZerosWhereverTheyAre) {
  const char *text = R"(func.func @f(%x: tensor<$Nxf32>) -> (tensor<f32>, tensor<f32>) {
    %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %high = stablehlo.constant dense<0x7F800000> : tensor<f32>
    %max = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [0] : (tensor<$Nxf32>, tensor<f32>) -> tensor<f32>
    %min = stablehlo.reduce(%x init: %high) applies stablehlo.minimum across dimensions = [0] : (tensor<$Nxf32>, tensor<f32>) -> tensor<f32>
    return %max, %min : tensor<f32>, tensor<f32> })";
  for (int64_t n : {37, 64, 150, 256}) {
    View scalar{DType::F32, 0, {1, 0}, {}, 0};
    RowKernel kernel{{n}, n, {View::contiguous(DType::F32, {n, n})}, {scalar, scalar}, parse(text, n)};
    auto code = make(kernel, target());
    ASSERT_TRUE(code) << code.message();
    GuardedBytes in(n * n * 4), most(n * 4), least(n * 4);
    // Row r is full of one number and has another one at r.
    auto extremes = [&](float everywhere, float there) {
      for (int64_t i = 0; i < n * n; ++i)
        in.as<float>()[i] = i / n == i % n ? there : everywhere;
      runInPieces(*code, {in.data()}, {most.data(), least.data()}, 3);
    };
    auto bits = [](float value) { return std::bit_cast<uint32_t>(value); };
    for (float nan : {std::bit_cast<float>(0x7fc00000), std::bit_cast<float>(0xffc00000),
                      std::bit_cast<float>(0x7f800001)})
      for (float everywhere : {-1.0f, INFINITY, -INFINITY}) {
        extremes(everywhere, nan);
        for (int64_t r = 0; r < n; ++r)
          ASSERT_TRUE(std::isnan(most.as<float>()[r]) && std::isnan(least.as<float>()[r])) << n << " " << r;
      }
    extremes(-0.0f, 0.0f);
    for (int64_t r = 0; r < n; ++r)
      ASSERT_TRUE(bits(most.as<float>()[r]) == bits(0.0f) && bits(least.as<float>()[r]) == bits(-0.0f)) << n << " " << r;
    extremes(0.0f, -0.0f);
    for (int64_t r = 0; r < n; ++r)
      ASSERT_TRUE(bits(most.as<float>()[r]) == bits(0.0f) && bits(least.as<float>()[r]) == bits(-0.0f)) << n << " " << r;
    extremes(-INFINITY, -INFINITY);
    EXPECT_EQ(most.as<float>()[n - 1], -INFINITY);
    EXPECT_EQ(least.as<float>()[n - 1], -INFINITY);
  }
}

TEST_P(RowsTest, ExtremesOfLongReductionsKnowNan) {
  constexpr int64_t n = 200001; // Several parts, and a rest of each kind.
  mlir::Block *body = bodies.parse("func.func @f(%x: tensor<f32>) -> tensor<f32> { return %x : tensor<f32> }");
  for (Combiner combiner : {Combiner::Maximum, Combiner::Minimum}) {
    float initial = combiner == Combiner::Maximum ? -INFINITY : INFINITY;
    Reduction kernel{{n}, {true}, {View::contiguous(DType::F32, {n})}, {DType::F32, 0, {0}, {}, 0},
                     combiner, std::bit_cast<uint32_t>(initial), body};
    auto code = make(kernel, target());
    ASSERT_TRUE(code) << code.message();
    GuardedBytes in(n * 4), out(4);
    fillRandom(in.as<float>(), n, 8);
    const float *x = in.as<float>();
    runInPieces(*code, {in.data()}, {out.data()}, 3);
    EXPECT_EQ(out.as<float>()[0], combiner == Combiner::Maximum ? *std::max_element(x, x + n) : *std::min_element(x, x + n));
    for (int64_t at : {int64_t{0}, int64_t{65535}, int64_t{65536}, int64_t{100000}, n - 2, n - 1}) {
      float before = std::exchange(in.as<float>()[at], NAN);
      runInPieces(*code, {in.data()}, {out.data()}, 3);
      EXPECT_TRUE(std::isnan(out.as<float>()[0])) << at;
      in.as<float>()[at] = before;
    }
  }
}

TEST_P(RowsTest, SoftmaxOfWhateverThereIs) {
  // Rows that hold what only one element may be: the others are far below, masked or no numbers.
  constexpr float kBig = 0x1.fffffep127f;
  const std::vector<float> rows[] = {{0, -1e30f, -kBig, -INFINITY}, {kBig, -kBig, 0, 1},   {88, -88, -15, 0},
                                     {-INFINITY, -1, -104, -105},   {-150, -254, -253, -150}, {1e-40f, -1e-40f, 0, -0.0f},
                                     {100, 100 - 0x1p23f, 12, 0}};
  constexpr int64_t n = 85;
  auto count = static_cast<int64_t>(std::size(rows));
  View view = View::contiguous(DType::F32, {count + 3, n});
  RowKernel kernel{{count + 3}, n, {view}, {view}, parse(kSoftmax, n)};
  auto code = make(kernel, target());
  ASSERT_TRUE(code) << code.message();
  GuardedBytes in((count + 3) * n * 4), out((count + 3) * n * 4);
  for (int64_t i = 0; i < count * n; ++i)
    in.as<float>()[i] = rows[i / n][i % n % 4];
  const float kNoNumbers[] = {NAN, INFINITY, -INFINITY};
  for (int64_t r = 0; r < 3; ++r)
    for (int64_t i = 0; i < n; ++i)
      in.as<float>()[(count + r) * n + i] = r == 2 || i == 70 ? kNoNumbers[r] : float(i);
  runInPieces(*code, {in.data()}, {out.data()}, 2);
  for (int64_t r = 0; r < count; ++r) {
    const float *x = in.as<float>() + r * n;
    float most = *std::max_element(x, x + n);
    double sum = 0;
    for (int64_t i = 0; i < n; ++i)
      sum += std::exp(double(x[i] - most));
    for (int64_t i = 0; i < n; ++i) {
      double right = std::exp(double(x[i] - most)) / sum;
      ASSERT_NEAR(out.as<float>()[r * n + i], right, 1e-6 * right + 0x1p-148) << r << " " << i;
    }
  }
  for (int64_t i = 0; i < n; ++i) {
    EXPECT_TRUE(std::isnan(out.as<float>()[count * n + i])) << i;
    // Of an infinity itself there is none, and the others are nothing beside it.
    EXPECT_TRUE(std::isnan(out.as<float>()[(count + 1) * n + i])) << i;
    EXPECT_TRUE(std::isnan(out.as<float>()[(count + 2) * n + i])) << i;
  }
}

TEST_P(RowsTest, RowsAreDividedByWhateverTheyShare) {
  constexpr int64_t n = 203;
  const char *text = R"(func.func @f(%x: tensor<$Nxf32>, %s: tensor<f32>) -> tensor<$Nxf32> {
    %b = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<$Nxf32>
    %q = stablehlo.divide %x, %b : tensor<$Nxf32>
    return %q : tensor<$Nxf32> })";
  std::vector<float> divisors = {1,        3,      -7.25f,    0x1p-126f, 0x1p-149f, 0x1p127f, 0.0f,
                                 -0.0f,    INFINITY, -INFINITY, NAN,     0x1p99f,   0x1p-99f, 1e30f,
                                 0x1.fffffep0f};
  for (int i = 0; i < 200; ++i)
    divisors.push_back(0.37f + 0.731f * static_cast<float>(i));
  auto rows = static_cast<int64_t>(divisors.size());
  View view = View::contiguous(DType::F32, {rows, n});
  RowKernel kernel{{rows}, n, {view, {DType::F32, 0, {1, 0}, {}, 0}}, {view}, parse(text, n)};
  auto code = make(kernel, target());
  ASSERT_TRUE(code) << code.message();
  GuardedBytes in(rows * n * 4), by(rows * 4), out(rows * n * 4);
  fillRandom(in.as<float>(), rows * n, 100);
  constexpr float kSpecial[] = {0.0f, -0.0f, INFINITY, -INFINITY, NAN, 0x1p-149f, 0x1.fffffep127f};
  for (int64_t r = 0; r < rows; ++r)
    std::copy(std::begin(kSpecial), std::end(kSpecial), in.as<float>() + r * n);
  std::copy(divisors.begin(), divisors.end(), by.as<float>());
  runInPieces(*code, {in.data(), by.data()}, {out.data()}, 3);
  int64_t differing = 0;
  for (int64_t i = 0; i < rows * n; ++i) {
    float right = in.as<float>()[i] / by.as<float>()[i / n], got = out.as<float>()[i];
    if (std::isnan(right)) {
      EXPECT_TRUE(std::isnan(got)) << i;
    } else if (got != right || std::signbit(got) != std::signbit(right)) {
      ++differing;
      EXPECT_TRUE(got == std::nextafter(right, INFINITY) || got == std::nextafter(right, -INFINITY))
          << in.as<float>()[i] << " / " << by.as<float>()[i / n] << ": " << got;
    }
  }
  EXPECT_LT(differing, rows * n / 100);
}

TEST_P(RowsTest, MaximumAndMinimumKnowTheSignsOfZero) {
  constexpr int64_t n = 40;
  const char *text = R"(func.func @f(%x: tensor<$Nxf32>, %y: tensor<$Nxf32>) -> (tensor<$Nxf32>, tensor<$Nxf32>) {
    %a = stablehlo.maximum %x, %y : tensor<$Nxf32>
    %i = stablehlo.minimum %x, %y : tensor<$Nxf32>
    return %a, %i : tensor<$Nxf32>, tensor<$Nxf32> })";
  View view = View::contiguous(DType::F32, {1, n});
  RowKernel kernel{{1}, n, {view, view}, {view, view}, parse(text, n)};
  auto code = make(kernel, target());
  ASSERT_TRUE(code) << code.message();
  GuardedBytes x(n * 4), y(n * 4), most(n * 4), least(n * 4);
  const float kValues[] = {0.0f, -0.0f, 1.0f, -INFINITY, INFINITY, NAN};
  for (int64_t i = 0; i < n; ++i)
    x.as<float>()[i] = kValues[i / 6 % 6], y.as<float>()[i] = kValues[i % 6];
  runInPieces(*code, {x.data(), y.data()}, {most.data(), least.data()}, 1);
  for (int64_t i = 0; i < n; ++i) {
    float a = x.as<float>()[i], b = y.as<float>()[i];
    if (std::isnan(a) || std::isnan(b)) {
      EXPECT_TRUE(std::isnan(most.as<float>()[i]) && std::isnan(least.as<float>()[i])) << i;
      continue;
    }
    bool isLess = a < b || (a == b && std::signbit(a) && !std::signbit(b));
    auto bits = [](float value) { return std::bit_cast<uint32_t>(value); };
    EXPECT_EQ(bits(most.as<float>()[i]), bits(isLess ? b : a)) << i;
    EXPECT_EQ(bits(least.as<float>()[i]), bits(isLess ? a : b)) << i;
  }
}

TEST_P(RowsTest, WhatIsNoRowIsRefused) {
  // Two tensors reduced at once, a reducer that is no combiner, and a constant row.
  const char *texts[] = {
      R"(func.func @f(%x: tensor<$Nxf32>) -> tensor<f32> {
        %z = stablehlo.constant dense<0.0> : tensor<f32>
        %r = stablehlo.reduce(%x init: %z) across dimensions = [0] : (tensor<$Nxf32>, tensor<f32>) -> tensor<f32>
          reducer(%a: tensor<f32>, %b: tensor<f32>) { %s = stablehlo.subtract %a, %b : tensor<f32> stablehlo.return %s : tensor<f32> }
        return %r : tensor<f32> })",
      R"(func.func @f(%x: tensor<$Nxf32>) -> tensor<f32> {
        %c = stablehlo.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
        %z = stablehlo.constant dense<0.0> : tensor<f32>
        %p = stablehlo.multiply %x, %c : tensor<3xf32>
        %r = stablehlo.reduce(%p init: %z) applies stablehlo.add across dimensions = [0] : (tensor<$Nxf32>, tensor<f32>) -> tensor<f32>
        return %r : tensor<f32> })"};
  for (const char *text : texts) {
    View row = View::contiguous(DType::F32, {2, 3}), scalar{DType::F32, 0, {1, 0}, {}, 0};
    RowKernel kernel{{2}, 3, {row}, {scalar}, parse(text, 3)};
    Status status = supports(kernel);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, ErrorCode::Unsupported) << status.message();
  }
}

//===----------------------------------------------------------------------===//
// Epilogues
//===----------------------------------------------------------------------===//

/// Of integers, into a result of bytes: the block stays as it is.
TEST_P(RowsTest, EpiloguesIntoResultsOfAnotherType) {
  mlir::Block *body = bodies.parse(
      R"(func.func @f(%c: tensor<i32>, %scale: tensor<f32>) -> tensor<i8> {
        %0 = stablehlo.convert %c : (tensor<i32>) -> tensor<f32>
        %1 = stablehlo.multiply %0, %scale : tensor<f32>
        %2 = stablehlo.convert %1 : (tensor<f32>) -> tensor<i8>
        return %2 : tensor<i8> })");
  constexpr int64_t rows = 9, columns = 37;
  BlockMap kernel{{{DType::F32, 0, {0, 1}, {}, 0}}, body, DType::I32, View{DType::I8, 0, {columns, 1}, {}, 0}};
  auto isBrief = target().cpu == "brief";
  auto work = brief::prepare(kernel);
  auto code = compile(kernel, isBrief ? Target::host() : target());
  ASSERT_TRUE(code && work) << code.message();
  for (auto [row, height, column, width] : {std::tuple(0, 9, 0, 37), std::tuple(2, 3, 16, 21), std::tuple(8, 1, 5, 1)}) {
    GuardedBytes scale(columns * 4), block(height * width * 4), result(rows * columns);
    std::fill_n(scale.as<float>(), columns, 0.5f);
    std::fill_n(result.as<int8_t>(), rows * columns, int8_t{99});
    for (int64_t i = 0; i < height * width; ++i)
      block.as<int32_t>()[i] = static_cast<int32_t>(2 * i - 40);
    void *operands[] = {scale.data(), result.data()};
    if (isBrief)
      (*work)->run(operands, block.as<float>(), width, row, height, column, width);
    else
      code->function(operands, block.as<float>(), width, row, height, column, width);
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t j = 0; j < columns; ++j) {
        bool isInside = r >= row && r < row + height && j >= column && j < column + width;
        int64_t made = (r - row) * width + (j - column) - 20;
        ASSERT_EQ(result.as<int8_t>()[r * columns + j], isInside ? std::clamp<int64_t>(made, -128, 127) : 99) << r << " " << j;
      }
    EXPECT_TRUE(result.isClean());
    EXPECT_EQ(block.as<int32_t>()[0], -40);
  }
}

TEST_P(RowsTest, EpiloguesOnBlocks) {
  mlir::Block *body = bodies.parse(
      R"(func.func @f(%c: tensor<f32>, %bias: tensor<f32>, %row: tensor<f32>, %r: tensor<f32>, %scale: tensor<f32>) -> tensor<f32> {
        %zero = stablehlo.constant dense<0.0> : tensor<f32>
        %0 = stablehlo.add %c, %bias : tensor<f32>
        %1 = stablehlo.maximum %0, %zero : tensor<f32>
        %2 = stablehlo.multiply %1, %scale : tensor<f32>
        %3 = stablehlo.subtract %2, %row : tensor<f32>
        %4 = stablehlo.add %3, %r : tensor<f32>
        return %4 : tensor<f32> })");
  constexpr int64_t rows = 23, columns = 41;
  BlockMap kernel{{{DType::F32, 0, {0, 1}, {}, 0},
                   {DType::F32, 0, {1, 0}, {}, 0},
                   {DType::F32, 2, {columns, 1}, {}, 0},
                   {DType::F32, 0, {0, 0}, {}, 0}},
                  body, DType::F32, std::nullopt};
  auto isBrief = target().cpu == "brief";
  auto work = brief::prepare(kernel);
  auto code = compile(kernel, isBrief ? Target::host() : target());
  ASSERT_TRUE(code && work) << code.message();
  GuardedBytes bias(columns * 4), perRow(rows * 4), residual((rows * columns + 2) * 4), scale(4);
  fillRandom(bias.as<float>(), columns, 1);
  fillRandom(perRow.as<float>(), rows, 2);
  fillRandom(residual.as<float>(), rows * columns + 2, 3);
  *scale.as<float>() = 1.5f;
  void *operands[] = {bias.data(), perRow.data(), residual.data(), scale.data()};
  for (auto [row, height, column, width] :
       {std::tuple(0, 23, 0, 41), std::tuple(5, 7, 16, 16), std::tuple(22, 1, 40, 1),
        std::tuple(3, 4, 1, 39), std::tuple(0, 0, 0, 5)}) {
    // The block ends at the guard page: its last row has no more than `width`.
    int64_t ldc = width + 3;
    GuardedBytes c(std::max<int64_t>(0, ((height - 1) * ldc + width) * 4));
    std::vector<float> before(c.size / 4);
    fillRandom(before.data(), static_cast<int64_t>(before.size()), 4);
    std::memcpy(c.data(), before.data(), c.size);
    if (isBrief)
      (*work)->run(operands, c.as<float>(), ldc, row, height, column, width);
    else
      code->function(operands, c.as<float>(), ldc, row, height, column, width);
    for (size_t i = 0; i < before.size(); ++i) {
      int64_t r = static_cast<int64_t>(i) / ldc, j = static_cast<int64_t>(i) % ldc;
      float right = before[i];
      if (j < width) {
        float raised = std::max(before[i] + bias.as<float>()[column + j], 0.0f);
        right = (raised * 1.5f - perRow.as<float>()[row + r]) +
                residual.as<float>()[2 + (row + r) * columns + column + j];
      }
      ASSERT_EQ(c.as<float>()[i], right) << r << " " << j;
    }
    EXPECT_TRUE(c.isClean());
  }
}

TEST_P(RowsTest, EpiloguesThatGiveBf16) {
  mlir::Block *body = bodies.parse(
      R"(func.func @f(%c: tensor<f32>, %scale: tensor<f32>) -> tensor<bf16> {
        %0 = stablehlo.multiply %c, %scale : tensor<f32>
        %1 = stablehlo.convert %0 : (tensor<f32>) -> tensor<bf16>
        return %1 : tensor<bf16> })");
  constexpr int64_t rows = 9, columns = 41;
  BlockMap kernel{{{DType::F32, 0, {0, 1}, {}, 0}}, body, DType::F32, View{DType::BF16, 0, {columns, 1}, {}, 0}};
  auto isBrief = target().cpu == "brief";
  auto work = brief::prepare(kernel);
  auto code = compile(kernel, isBrief ? Target::host() : target());
  ASSERT_TRUE(code && work) << code.message();
  GuardedBytes scale(columns * 4), result(rows * columns * 2);
  fillRandom(scale.as<float>(), columns, 1);
  scale.as<float>()[3] = std::numeric_limits<float>::quiet_NaN();
  scale.as<float>()[4] = std::numeric_limits<float>::infinity();
  scale.as<float>()[20] = 1e-39f; // Denormal numbers stay.
  void *operands[] = {scale.data(), result.data()};
  for (auto [row, height, column, width] :
       {std::tuple(0, 9, 0, 41), std::tuple(2, 5, 16, 17), std::tuple(8, 1, 40, 1)}) {
    std::fill_n(result.as<uint16_t>(), rows * columns, uint16_t{0x1234});
    int64_t ldc = width + 3;
    GuardedBytes c(((height - 1) * ldc + width) * 4);
    fillRandom(c.as<float>(), c.size / 4, 4);
    if (isBrief)
      (*work)->run(operands, c.as<float>(), ldc, row, height, column, width);
    else
      code->function(operands, c.as<float>(), ldc, row, height, column, width);
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t j = 0; j < columns; ++j) {
        uint16_t right = 0x1234;
        if (r >= row && r < row + height && j >= column && j < column + width)
          right = static_cast<uint16_t>(tensor::fromFloat<DType::BF16>(
              c.as<float>()[(r - row) * ldc + j - column] * scale.as<float>()[j]));
        ASSERT_EQ(result.as<uint16_t>()[r * columns + j], right) << r << " " << j;
      }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, RowsTest, testing::ValuesIn(withBrief(allTargets())),
                         [](const auto &info) { return info.param.first; });

} // namespace
