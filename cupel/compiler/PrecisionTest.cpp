// precision=bf16: products and convolutions of f32 with operands in bf16 and sums in f32, within the bound of that
// and not nearer; weights are made once for each buffer.

#include "cupel/compiler/backends/cpu/BackendTesting.h"
#include "cupel/compiler/backends/cpu/PackedWeights.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

namespace cupel::compiler {
namespace {

using tensor::DType;
using tensor::Tensor;

/// Half a step of bf16's eight bits, as a share of the number.
constexpr double kBf16 = 0x1p-9, kF32 = 0x1p-24;

void fill(Tensor &argument, int64_t number) {
  auto *data = reinterpret_cast<float *>(argument.mutableData());
  auto seed = uint32_t(number) * 7919u + 17u;
  for (int64_t i = 0; i < argument.size(); ++i) {
    seed = seed * 1664525u + 1013904223u;
    data[i] = std::ldexp(float(int32_t(seed) >> 8) / float(1 << 23), int(seed % 7) - 3);
  }
}

std::string product(int64_t rows, int64_t depth, int64_t columns, const std::string &precision = "") {
  std::string m = std::to_string(rows), k = std::to_string(depth), n = std::to_string(columns);
  std::string a = "tensor<" + m + "x" + k + "xf32>", b = "tensor<" + k + "x" + n + "xf32>", c = "tensor<" + m + "x" + n + "xf32>";
  return "func.func @main(%a: " + a + ", %b: " + b + ") -> " + c + " {\n  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]" +
         precision + " : (" + a + ", " + b + ") -> " + c + "\n  return %0 : " + c + "\n}\n";
}

/// The result farthest from the exact sum, in shares of the sum of all products' sizes.
double worstOf(const Tensor &c, int64_t rows, int64_t depth, int64_t columns) {
  Tensor a = *Tensor::zeros(DType::F32, {rows, depth}), b = *Tensor::zeros(DType::F32, {depth, columns});
  fill(a, 0);
  fill(b, 1);
  double worst = 0;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) {
      double sum = 0, size = 0;
      for (int64_t k = 0; k < depth; ++k) {
        double term = double(a.dataAs<float>()[i * depth + k]) * double(b.dataAs<float>()[k * columns + j]);
        sum += term;
        size += std::fabs(term);
      }
      worst = std::max(worst, std::fabs(double(c.dataAs<float>()[i * columns + j]) - sum) / size);
    }
  return worst;
}

CompileOptions narrow() {
  CompileOptions options;
  options.narrowsProducts = true;
  return options;
}

TEST(Precision, ProductsAreWithinTheBoundOfBf16OnEveryBackend) {
  for (auto [rows, depth, columns] : {std::tuple<int64_t, int64_t, int64_t>{5, 33, 7}, {64, 129, 96}, {1, 512, 40}})
    for (const char *backend : {"cpu", "reference"}) {
      auto exact = runBy(backend, product(rows, depth, columns), fill), made = runBy(backend, product(rows, depth, columns), fill, narrow());
      ASSERT_TRUE(exact && made) << exact.message() << made.message();
      double bound = 2 * kBf16 + kBf16 * kBf16 + double(depth) * kF32;
      double worst = worstOf(made->results[0], rows, depth, columns);
      EXPECT_LE(worst, bound) << backend;
      // It is no f32 that passes for less.
      EXPECT_GT(worst, 4 * worstOf(exact->results[0], rows, depth, columns)) << backend;
      EXPECT_TRUE(made->notes.at("precision").starts_with("bf16/f32, 1 product")) << made->notes.at("precision");
      EXPECT_FALSE(exact->notes.contains("precision"));
    }
}

TEST(Precision, BothBackendsMultiplyTheSameNumbers) {
  auto ours = runBy("cpu", product(33, 70, 18), fill, narrow()), golden = runBy("reference", product(33, 70, 18), fill, narrow());
  ASSERT_TRUE(ours && golden);
  for (int64_t i = 0; i < 33 * 18; ++i)
    EXPECT_NEAR(ours->results[0].dataAs<float>()[i], golden->results[0].dataAs<float>()[i], 70 * kF32 * 70 * 64) << i;
}

TEST(Precision, WhoAsksForTheHighestGetsF32) {
  std::string text = product(16, 64, 16, ", precision = [HIGHEST, HIGHEST]");
  auto exact = runBy("cpu", text, fill), asked = runBy("cpu", text, fill, narrow());
  ASSERT_TRUE(exact && asked);
  EXPECT_EQ(std::memcmp(exact->results[0].data(), asked->results[0].data(), size_t(exact->results[0].byteSize())), 0);
  EXPECT_FALSE(asked->notes.contains("precision"));
}

/// In pairs where the processor multiplies these, of many channels and of few: the golden reference's sums of the same rounded
/// numbers, within the bound of sums in f32.
TEST(Precision, ConvolutionsRoundOnTheirWay) {
  struct Case {
    const char *image, *kernel, *result, *window;
    int groups, terms;
  };
  for (const Case &one : {Case{"2x9x9x21", "3x3x21x40", "2x9x9x40", "pad = [[1, 1], [1, 1]]", 1, 9 * 21},
                          Case{"1x12x10x64", "1x1x64x96", "1x12x10x96", "", 1, 64},
                          Case{"1x12x10x33", "1x1x33x96", "1x12x10x96", "", 1, 33},
                          Case{"1x9x9x32", "3x3x32x16", "1x5x5x16", "stride = [2, 2], pad = [[1, 1], [1, 1]]", 1, 9 * 32},
                          Case{"1x7x7x40", "3x3x20x24", "1x5x5x24", "", 2, 9 * 20},
                          Case{"2x9x9x8", "3x3x8x16", "2x7x7x16", "", 1, 9 * 8},
                          Case{"1x20x22x3", "7x7x3x24", "1x10x11x24", "stride = [2, 2], pad = [[3, 3], [3, 3]]", 1, 49 * 3}}) {
    auto type = [](const char *sizes) { return "tensor<" + std::string(sizes) + "xf32>"; };
    std::string i = type(one.image), k = type(one.kernel), c = type(one.result);
    std::string text = "func.func @main(%i: " + i + ", %k: " + k + ") -> " + c +
                       " {\n  %c = stablehlo.convolution(%i, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {" + one.window +
                       "} {batch_group_count = 1 : i64, feature_group_count = " + std::to_string(one.groups) + " : i64} : (" + i + ", " + k + ") -> " + c +
                       "\n  return %c : " + c + "\n}\n";
    auto made = runBy("cpu", text, fill, narrow(), 2), golden = runBy("reference", text, fill, narrow()), exact = runBy("cpu", text, fill);
    ASSERT_TRUE(made && golden && exact) << made.message() << golden.message() << exact.message();
    EXPECT_FALSE(made->notes.contains("fallbacks"));
    double farthest = 0;
    const auto *ours = made->results[0].dataAs<float>(), *theirs = golden->results[0].dataAs<float>(), *wide = exact->results[0].dataAs<float>();
    for (int64_t n = 0; n < made->results[0].size(); ++n) {
      EXPECT_NEAR(ours[n], theirs[n], one.terms * kF32 * one.terms * 64) << one.image << " " << n;
      farthest = std::max(farthest, std::fabs(double(ours[n]) - double(wide[n])));
    }
    EXPECT_GT(farthest, one.terms * kF32 * one.terms * 4) << one.image; // It is no f32 that passes for less.
  }
}

/// Groups that fill no vector, channels by themselves and batches are computed in f32 on rounded numbers: as by a program that rounds
/// them itself.
TEST(Precision, GroupsAndBatchesTakeRoundedNumbers) {
  std::string plain = R"(func.func @main(%i: tensor<2x9x9x32xf32>, %k: tensor<3x3x4x64xf32>, %w: tensor<3x3x1x32xf32>, %q: tensor<4x12x20xf32>, %r: tensor<4x20x6xf32>) -> (tensor<2x7x7x64xf32>, tensor<2x4x4x32xf32>, tensor<4x12x6xf32>) {
  %c = stablehlo.convolution(%i, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 8 : i64} : (tensor<2x9x9x32xf32>, tensor<3x3x4x64xf32>) -> tensor<2x7x7x64xf32>
  %e = stablehlo.convolution(%i, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 2], pad = [[0, 1], [1, 0]]} {batch_group_count = 1 : i64, feature_group_count = 32 : i64} : (tensor<2x9x9x32xf32>, tensor<3x3x1x32xf32>) -> tensor<2x4x4x32xf32>
  %d = stablehlo.dot_general %q, %r, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<4x12x20xf32>, tensor<4x20x6xf32>) -> tensor<4x12x6xf32>
  return %c, %e, %d : tensor<2x7x7x64xf32>, tensor<2x4x4x32xf32>, tensor<4x12x6xf32>
})";
  auto rounded = [](Tensor &argument, int64_t number) {
    fill(argument, number);
    auto *bits = reinterpret_cast<uint32_t *>(argument.mutableData());
    for (int64_t i = 0; i < argument.size(); ++i)
      bits[i] = (bits[i] + 0x7fff + (bits[i] >> 16 & 1)) & 0xffff0000u;
  };
  auto expected = runBy("cpu", plain, rounded), made = runBy("cpu", plain, fill, narrow(), 2);
  ASSERT_TRUE(expected && made) << expected.message() << made.message();
  for (size_t r = 0; r < 3; ++r)
    EXPECT_EQ(std::memcmp(expected->results[r].data(), made->results[r].data(), size_t(made->results[r].byteSize())), 0) << r;
  EXPECT_TRUE(made->notes.at("precision").starts_with("bf16/f32, 3 products"));
  EXPECT_FALSE(made->notes.contains("fallbacks"));
}

/// Groups of which a vector holds whole ones are multiplied in bf16: of whole numbers, of which sums are exact, with the bits of f32.
TEST(Precision, GroupsThatFillVectorsTakeBf16) {
  std::string plain = R"(func.func @main(%i: tensor<2x9x9x40xf32>, %k: tensor<3x3x8x40xf32>, %l: tensor<3x3x2x40xf32>) -> tensor<2x7x7x40xf32> {
  %c = stablehlo.convolution(%i, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 5 : i64} : (tensor<2x9x9x40xf32>, tensor<3x3x8x40xf32>) -> tensor<2x9x9x40xf32>
  %quarter = stablehlo.constant dense<0.25> : tensor<2x9x9x40xf32>
  %s = stablehlo.multiply %c, %quarter : tensor<2x9x9x40xf32>
  %r = stablehlo.floor %s : tensor<2x9x9x40xf32>
  %d = stablehlo.convolution(%r, %l) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 20 : i64} : (tensor<2x9x9x40xf32>, tensor<3x3x2x40xf32>) -> tensor<2x7x7x40xf32>
  return %d : tensor<2x7x7x40xf32>
})";
  auto whole = [](Tensor &argument, int64_t number) {
    fill(argument, number);
    auto *values = reinterpret_cast<float *>(argument.mutableData());
    for (int64_t i = 0; i < argument.size(); ++i)
      values[i] = std::round(std::fmod(values[i] * 64, 3.0f));
  };
  auto expected = runBy("cpu", plain, whole);
  ASSERT_TRUE(expected) << expected.message();
  for (int threads : {1, 3}) {
    auto made = runBy("cpu", plain, whole, narrow(), threads);
    ASSERT_TRUE(made) << made.message();
    EXPECT_EQ(std::memcmp(expected->results[0].data(), made->results[0].data(), size_t(made->results[0].byteSize())), 0) << threads << " threads";
    EXPECT_TRUE(made->notes.at("precision").starts_with("bf16/f32, 2 products"));
  }
}

/// What lies between convolutions and products is kept in bf16 where all that read it round, and in f32 where one does
/// not: with whole numbers, of which sums are exact, the bits are those of the golden reference.
TEST(Precision, WhatIsKeptInBf16HasTheSameNumbers) {
  std::string text = R"(func.func @main(%x: tensor<1x8x8x16xf32>, %w: tensor<3x3x16x24xf32>, %s: tensor<24xf32>, %d: tensor<3x3x1x24xf32>, %v: tensor<1x1x24x24xf32>, %u: tensor<1x1x24x24xf32>, %m: tensor<24x10xf32>) -> (tensor<64x10xf32>, tensor<1x8x8x24xf32>) {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x16xf32>, tensor<3x3x16x24xf32>) -> tensor<1x8x8x24xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<1x8x8x24xf32>
  %1 = stablehlo.maximum %0, %zero : tensor<1x8x8x24xf32>
  %2 = stablehlo.convolution(%1, %d) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 24 : i64} : (tensor<1x8x8x24xf32>, tensor<3x3x1x24xf32>) -> tensor<1x8x8x24xf32>
  %3 = stablehlo.maximum %2, %zero : tensor<1x8x8x24xf32>
  %4 = stablehlo.convolution(%3, %v) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x24xf32>, tensor<1x1x24x24xf32>) -> tensor<1x8x8x24xf32>
  %5 = stablehlo.broadcast_in_dim %s, dims = [3] : (tensor<24xf32>) -> tensor<1x8x8x24xf32>
  %6 = stablehlo.add %4, %5 : tensor<1x8x8x24xf32>
  %7 = stablehlo.convolution(%6, %u) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x24xf32>, tensor<1x1x24x24xf32>) -> tensor<1x8x8x24xf32>
  %8 = stablehlo.add %7, %6 : tensor<1x8x8x24xf32>
  %9 = stablehlo.reshape %7 : (tensor<1x8x8x24xf32>) -> tensor<64x24xf32>
  %10 = stablehlo.dot_general %9, %m, contracting_dims = [1] x [0] : (tensor<64x24xf32>, tensor<24x10xf32>) -> tensor<64x10xf32>
  return %10, %8 : tensor<64x10xf32>, tensor<1x8x8x24xf32>
})";
  auto whole = [](Tensor &argument, int64_t number) {
    fill(argument, number);
    auto *data = reinterpret_cast<float *>(argument.mutableData());
    for (int64_t i = 0; i < argument.size(); ++i)
      data[i] = std::round(std::fmod(data[i] * 64, 3.0f));
  };
  auto made = runBy("cpu", text, whole, narrow(), 2), golden = runBy("reference", text, whole, narrow());
  ASSERT_TRUE(made && golden) << made.message() << golden.message();
  EXPECT_FALSE(made->notes.contains("fallbacks"));
  for (size_t r = 0; r < 2; ++r)
    EXPECT_EQ(std::memcmp(golden->results[r].data(), made->results[r].data(), size_t(made->results[r].byteSize())), 0) << r;
}

/// With bf16/bf16 what products read is bf16 for all that read it, a residual that epilogues add and the greatest of windows among them: the
/// golden reference's bits with whole numbers too large for bf16, other ones than with bf16/f32.
TEST(Precision, WhatProductsReadIsKeptForAllThatReadIt) {
  std::string text = R"(func.func @main(%x: tensor<1x8x8x16xf32>, %w: tensor<3x3x16x24xf32>, %u: tensor<1x1x24x24xf32>) -> tensor<1x4x4x24xf32> {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<1x4x4x24xf32>
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x16xf32>, tensor<3x3x16x24xf32>) -> tensor<1x8x8x24xf32>
  %1 = "stablehlo.reduce_window"(%0, %low) <{window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = array<i64: 1, 2, 2, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<1x8x8x24xf32>, tensor<f32>) -> tensor<1x4x4x24xf32>
  %2 = stablehlo.convolution(%1, %u) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x4x4x24xf32>, tensor<1x1x24x24xf32>) -> tensor<1x4x4x24xf32>
  %3 = stablehlo.add %2, %1 : tensor<1x4x4x24xf32>
  %4 = stablehlo.maximum %3, %zero : tensor<1x4x4x24xf32>
  return %4 : tensor<1x4x4x24xf32>
})";
  auto whole = [](Tensor &argument, int64_t number) {
    fill(argument, number);
    auto *data = reinterpret_cast<float *>(argument.mutableData());
    for (int64_t i = 0; i < argument.size(); ++i)
      data[i] = std::round(std::fmod(data[i] * 64, number == 2 ? 3.0f : 40.0f));
  };
  CompileOptions kept = narrow();
  kept.keepsNarrow = true;
  auto made = runBy("cpu", text, whole, kept, 2), golden = runBy("reference", text, whole, kept), others = runBy("cpu", text, whole, narrow(), 2);
  ASSERT_TRUE(made && golden && others) << made.message() << golden.message() << others.message();
  EXPECT_TRUE(made->notes.at("precision").starts_with("bf16/bf16, 2 products")) << made->notes.at("precision");
  EXPECT_FALSE(made->notes.contains("fallbacks"));
  auto size = size_t(made->results[0].byteSize());
  EXPECT_EQ(std::memcmp(golden->results[0].data(), made->results[0].data(), size), 0);
  EXPECT_NE(std::memcmp(others->results[0].data(), made->results[0].data(), size), 0);
  // A saved executable keeps it.
  Result<CompileOptions> again = parseCompileOptions(describe(kept));
  ASSERT_TRUE(static_cast<bool>(again));
  EXPECT_TRUE(again->narrowsProducts && again->keepsNarrow);
}

TEST(Precision, WeightsAreMadeOnceForEachBuffer) {
  CompileOptions options = narrow();
  options.backend = "cpu";
  auto made = compile(product(8, 32, 24), options);
  ASSERT_TRUE(static_cast<bool>(made)) << made.message();
  EXPECT_EQ((*made)->info().arguments.size(), 2u);
  EXPECT_EQ((*made)->info().notes.at("rounded once a buffer"), "1");
  int64_t before = PackedWeights::get().count();
  Tensor a = *Tensor::zeros(DType::F32, {8, 32}), b = *Tensor::zeros(DType::F32, {32, 24});
  fill(a, 0);
  fill(b, 1);
  std::optional<Tensor> first;
  int64_t kept = 0;
  for (int run = 0; run < 3; ++run) {
    auto results = (*made)->execute({{a, b}});
    ASSERT_TRUE(static_cast<bool>(results)) << results.message();
    if (!first) {
      first = (*results)[0][0];
      kept = PackedWeights::get().count();
      EXPECT_GT(kept, before);
    }
    EXPECT_EQ(PackedWeights::get().count(), kept);
    EXPECT_EQ(std::memcmp(first->data(), (*results)[0][0].data(), size_t(first->byteSize())), 0);
  }
  forgetArgument(b.data());
  EXPECT_EQ(PackedWeights::get().count(), before);
  // Saved and loaded it means the same.
  auto loaded = deserialize((*made)->serialize());
  ASSERT_TRUE(static_cast<bool>(loaded)) << loaded.message();
  auto again = (*loaded)->execute({{a, b}});
  ASSERT_TRUE(static_cast<bool>(again));
  EXPECT_EQ(std::memcmp(first->data(), (*again)[0][0].data(), size_t(first->byteSize())), 0);
}

} // namespace
} // namespace cupel::compiler
