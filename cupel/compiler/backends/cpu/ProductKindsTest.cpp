// Products and convolutions whose kernels are chosen by what is done to their elements or by what these
// are: steps with a number for each column, and integers. Held against the golden reference.

#include "cupel/compiler/Compile.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string_view>

namespace cupel::compiler {
namespace {

using tensor::DType;
using tensor::Tensor;

std::vector<Tensor> run(const std::string &text, const std::vector<Tensor> &arguments,
                        const char *backend) {
  CompileOptions options;
  options.alwaysMakesCode = true;
  options.backend = backend;
  auto program = compile(text, options);
  if (!program) {
    ADD_FAILURE() << program.message();
    return {};
  }
  auto results = (*program)->execute({arguments});
  if (!results) {
    ADD_FAILURE() << results.message();
    return {};
  }
  return std::move((*results)[0]);
}

Tensor floats(tensor::Shape shape, unsigned seed, float scale = 1) {
  Tensor made = *Tensor::uninitialized(DType::F32, shape);
  std::mt19937 random(seed);
  auto *data = reinterpret_cast<float *>(made.mutableData());
  for (int64_t i = 0; i < made.byteSize() / 4; ++i)
    data[i] = scale * (static_cast<float>(random() % 2001) - 1000) / 512;
  return made;
}

/// A convolution, then (x - m) * r * g + b and a maximum, for each channel.
const char *kNormalised = R"(func.func @main(%x: tensor<1x9x11x8xf32>, %k: tensor<3x3x8x20xf32>, %m: tensor<20xf32>, %r: tensor<20xf32>, %g: tensor<20xf32>, %b: tensor<20xf32>) -> tensor<1x9x11x20xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<1x9x11x20xf32>
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x9x11x8xf32>, tensor<3x3x8x20xf32>) -> tensor<1x9x11x20xf32>
  %1 = stablehlo.broadcast_in_dim %m, dims = [3] : (tensor<20xf32>) -> tensor<1x9x11x20xf32>
  %2 = stablehlo.subtract %0, %1 : tensor<1x9x11x20xf32>
  %3 = stablehlo.broadcast_in_dim %r, dims = [3] : (tensor<20xf32>) -> tensor<1x9x11x20xf32>
  %4 = stablehlo.multiply %2, %3 : tensor<1x9x11x20xf32>
  %5 = stablehlo.broadcast_in_dim %g, dims = [3] : (tensor<20xf32>) -> tensor<1x9x11x20xf32>
  %6 = stablehlo.multiply %4, %5 : tensor<1x9x11x20xf32>
  %7 = stablehlo.broadcast_in_dim %b, dims = [3] : (tensor<20xf32>) -> tensor<1x9x11x20xf32>
  %8 = stablehlo.add %6, %7 : tensor<1x9x11x20xf32>
  %9 = stablehlo.maximum %8, %zero : tensor<1x9x11x20xf32>
  return %9 : tensor<1x9x11x20xf32>
})";

void checkNormalised(const std::vector<Tensor> &arguments) {
  std::vector<Tensor> expected = run(kNormalised, arguments, "reference"),
                      got = run(kNormalised, arguments, "cpu");
  ASSERT_EQ(expected.size(), 1u);
  ASSERT_EQ(got.size(), 1u);
  auto *want = reinterpret_cast<const float *>(expected[0].data());
  auto *have = reinterpret_cast<const float *>(got[0].data());
  for (int64_t i = 0; i < got[0].byteSize() / 4; ++i) {
    if (std::isnan(want[i])) {
      ASSERT_TRUE(std::isnan(have[i])) << i;
    } else if (std::isinf(want[i])) {
      ASSERT_EQ(have[i], want[i]) << i;
    } else {
      // Sums of 72 products of at most 4, times at most 4.
      ASSERT_NEAR(have[i], want[i], 1e-3) << i;
    }
  }
}

TEST(ProductKindsTest, NumbersForEachChannel) {
  checkNormalised({floats({1, 9, 11, 8}, 1), floats({3, 3, 8, 20}, 2), floats({20}, 3),
                   floats({20}, 4), floats({20}, 5), floats({20}, 6)});
}

/// What joined numbers would lose: a product that overflows before it is made small again, and others.
TEST(ProductKindsTest, NumbersForEachChannelThatDoNotJoinAreTakenOneByOne) {
  for (float odd : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN(),
                    0x1p120f, -0x1p127f}) {
    Tensor factors = floats({20}, 4), others = floats({20}, 5);
    reinterpret_cast<float *>(factors.mutableData())[7] = odd;
    reinterpret_cast<float *>(others.mutableData())[7] = 0x1p-120f;
    checkNormalised({floats({1, 9, 11, 8}, 1), floats({3, 3, 8, 20}, 2), floats({20}, 3), factors,
                     others, floats({20}, 6)});
  }
  for (float odd : {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN(), 0x1p127f})
    for (int which : {2, 5}) {
      std::vector<Tensor> arguments = {floats({1, 9, 11, 8}, 1), floats({3, 3, 8, 20}, 2), floats({20}, 3), floats({20}, 4), floats({20}, 5), floats({20}, 6)};
      reinterpret_cast<float *>(arguments[size_t(which)].mutableData())[7] = odd;
      reinterpret_cast<float *>(arguments[3].mutableData())[7] = 0;
      checkNormalised(arguments);
    }
}

Tensor integers(DType type, tensor::Shape shape, unsigned seed) {
  Tensor made = *Tensor::uninitialized(type, shape);
  std::mt19937 random(seed);
  std::byte *data = made.mutableData();
  for (int64_t i = 0; i < made.byteSize(); ++i)
    data[i] = static_cast<std::byte>(random());
  return made;
}

void checkExact(const std::string &text, const std::vector<Tensor> &arguments) {
  std::vector<Tensor> expected = run(text, arguments, "reference"), got = run(text, arguments, "cpu");
  ASSERT_EQ(got.size(), 1u);
  ASSERT_EQ(expected.size(), 1u);
  ASSERT_EQ(got[0].byteSize(), expected[0].byteSize());
  EXPECT_EQ(std::memcmp(got[0].data(), expected[0].data(), size_t(got[0].byteSize())), 0);
}

TEST(ProductKindsTest, ProductsOfIntegers) {
  checkExact(R"(func.func @main(%a: tensor<2x33x5x7xi8>, %b: tensor<7x2x21x5xi8>) -> tensor<2x33x21xi32> {
  %0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [1], contracting_dims = [3, 2] x [0, 3] : (tensor<2x33x5x7xi8>, tensor<7x2x21x5xi8>) -> tensor<2x33x21xi32>
  return %0 : tensor<2x33x21xi32>
})",
             {integers(DType::I8, {2, 33, 5, 7}, 1), integers(DType::I8, {7, 2, 21, 5}, 2)});
  checkExact(R"(func.func @main(%a: tensor<40x50xi32>, %b: tensor<50x30xi32>) -> tensor<40x30xi32> {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<40x50xi32>, tensor<50x30xi32>) -> tensor<40x30xi32>
  return %0 : tensor<40x30xi32>
})",
             {integers(DType::I32, {40, 50}, 3), integers(DType::I32, {50, 30}, 4)});
}

TEST(ProductKindsTest, ConvolutionsOfIntegers) {
  checkExact(R"(func.func @main(%x: tensor<2x6x9x10xui8>, %k: tensor<8x3x3x2xui8>) -> tensor<2x8x5x11xui32> {
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [2, 1], pad = [[1, 1], [1, 1]], reverse = [true, false]} {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<2x6x9x10xui8>, tensor<8x3x3x2xui8>) -> tensor<2x8x5x11xui32>
  return %0 : tensor<2x8x5x11xui32>
})",
             {integers(DType::U8, {2, 6, 9, 10}, 5), integers(DType::U8, {8, 3, 3, 2}, 6)});
  checkExact(R"(func.func @main(%x: tensor<3x12x16xi16>, %k: tensor<3x1x16xi8>) -> tensor<3x10x16xi32> {
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 16 : i64} : (tensor<3x12x16xi16>, tensor<3x1x16xi8>) -> tensor<3x10x16xi32>
  return %0 : tensor<3x10x16xi32>
})",
             {integers(DType::I16, {3, 12, 16}, 7), integers(DType::I8, {3, 1, 16}, 8)});
}

/// Quantized types, of arguments and results as well: what is stored has the golden reference's bits, with rounding, cutting off and clamping.
TEST(ProductKindsTest, QuantizedTypes) {
  const char *product = R"(func.func @main(%a: tensor<9x40x!quant.uniform<i8:f32, 0.05:3>>, %b: tensor<40x7x!quant.uniform<i8:f32:1, {0.02, 0.01, 0.03, 0.5, 0.007, 0.011, 1.0}>>) -> tensor<9x7x!quant.uniform<i8:f32, 0.9:-5>> {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<9x40x!quant.uniform<i8:f32, 0.05:3>>, tensor<40x7x!quant.uniform<i8:f32:1, {0.02, 0.01, 0.03, 0.5, 0.007, 0.011, 1.0}>>) -> tensor<9x7x!quant.uniform<i32:f32:1, {0.03, 0.011, 0.07, 0.9, 0.01, 0.02, 1.3}>>
  %1 = stablehlo.uniform_quantize %0 : (tensor<9x7x!quant.uniform<i32:f32:1, {0.03, 0.011, 0.07, 0.9, 0.01, 0.02, 1.3}>>) -> tensor<9x7x!quant.uniform<i8:f32, 0.9:-5>>
  %2 = stablehlo.add %1, %1 : tensor<9x7x!quant.uniform<i8:f32, 0.9:-5>>
  return %2 : tensor<9x7x!quant.uniform<i8:f32, 0.9:-5>>
})";
  checkExact(product, {integers(DType::I8, {9, 40}, 1), integers(DType::I8, {40, 7}, 2)});
  CompileOptions options;
  options.backend = "cpu";
  auto compiled = compile(product, options);
  ASSERT_TRUE(compiled) << compiled.message();
  EXPECT_FALSE((*compiled)->info().notes.contains("backend")); // It does not run whole on the reference,
  EXPECT_FALSE((*compiled)->info().notes.contains("fallbacks")); // and no part of it.
  checkExact(R"(func.func @main(%x: tensor<2x6x9x5x!quant.uniform<u8:f32, 0.05:30>>, %k: tensor<3x2x5x8x!quant.uniform<u8:f32, 0.3>>) -> tensor<2x6x8x8x!quant.uniform<u8:f32, 2.5>> {
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [0, 0]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x6x9x5x!quant.uniform<u8:f32, 0.05:30>>, tensor<3x2x5x8x!quant.uniform<u8:f32, 0.3>>) -> tensor<2x6x8x8x!quant.uniform<u8:f32, 2.5>>
  return %0 : tensor<2x6x8x8x!quant.uniform<u8:f32, 2.5>>
})",
             {integers(DType::U8, {2, 6, 9, 5}, 3), integers(DType::U8, {3, 2, 5, 8}, 4)});
}

/// Volumes of dequantized bytes: their slices lie where they lie.
TEST(ProductKindsTest, VolumesOfBytes) {
  const char *text =
      R"(func.func @main(%x: tensor<2x4x6x5x8xui8>, %k: tensor<3x2x3x8x24xi8>) -> tensor<2x4x6x5x24xf32> {
  %zero = stablehlo.constant dense<30> : tensor<2x4x6x5x8xi32>
  %0 = stablehlo.convert %x : (tensor<2x4x6x5x8xui8>) -> tensor<2x4x6x5x8xi32>
  %1 = stablehlo.subtract %0, %zero : tensor<2x4x6x5x8xi32>
  %2 = stablehlo.convert %1 : (tensor<2x4x6x5x8xi32>) -> tensor<2x4x6x5x8xf32>
  %3 = stablehlo.convert %k : (tensor<3x2x3x8x24xi8>) -> tensor<3x2x3x8x24xf32>
  %s = stablehlo.constant dense<0.25> : tensor<2x4x6x5x8xf32>
  %t = stablehlo.constant dense<0.5> : tensor<3x2x3x8x24xf32>
  %4 = stablehlo.multiply %2, %s : tensor<2x4x6x5x8xf32>
  %5 = stablehlo.multiply %3, %t : tensor<3x2x3x8x24xf32>
  %6 = stablehlo.convolution(%4, %5) dim_numbers = [b, 0, 1, 2, f]x[0, 1, 2, i, o]->[b, 0, 1, 2, f], window = {pad = [[1, 1], [1, 0], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x4x6x5x8xf32>, tensor<3x2x3x8x24xf32>) -> tensor<2x4x6x5x24xf32>
  return %6 : tensor<2x4x6x5x24xf32>
})";
  checkExact(text,
             {integers(DType::U8, {2, 4, 6, 5, 8}, 3), integers(DType::I8, {3, 2, 3, 8, 24}, 4)});
  CompileOptions options;
  options.backend = "cpu";
  auto compiled = compile(text, options);
  ASSERT_TRUE(compiled) << compiled.message();
  EXPECT_FALSE((*compiled)->info().notes.contains("fallbacks"));
}

/// The gradient of a convolution's kernel, of images and of lines: no window of weights, but one image over another.
TEST(ProductKindsTest, GradientsOfKernels) {
  const char *ofImages = R"(func.func @main(%x: tensor<6x4x13x12xf32>, %y: tensor<6x21x7x6xf32>) -> tensor<4x21x3x4xf32> {
  %g = stablehlo.negate %y : tensor<6x21x7x6xf32>
  %0 = stablehlo.convolution(%x, %g) dim_numbers = [f, b, 0, 1]x[i, o, 0, 1]->[b, f, 0, 1], window = {pad = [[1, 1], [1, 1]], rhs_dilate = [2, 2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<6x4x13x12xf32>, tensor<6x21x7x6xf32>) -> tensor<4x21x3x4xf32>
  return %0 : tensor<4x21x3x4xf32>
})";
  const char *ofLines = R"(func.func @main(%x: tensor<5x40x8xf32>, %y: tensor<5x40x16xf32>) -> tensor<8x5x16xf32> {
  %g = stablehlo.negate %y : tensor<5x40x16xf32>
  %0 = stablehlo.convolution(%x, %g) dim_numbers = [f, 0, b]x[i, 0, o]->[b, 0, f], window = {pad = [[2, 2]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<5x40x8xf32>, tensor<5x40x16xf32>) -> tensor<8x5x16xf32>
  return %0 : tensor<8x5x16xf32>
})";
  struct Case {
    const char *text;
    std::vector<Tensor> arguments;
  };
  for (const Case &one : {Case{ofImages, {floats({6, 4, 13, 12}, 1), floats({6, 21, 7, 6}, 2)}},
                          Case{ofLines, {floats({5, 40, 8}, 3), floats({5, 40, 16}, 4)}}}) {
    std::vector<Tensor> expected = run(one.text, one.arguments, "reference"),
                        got = run(one.text, one.arguments, "cpu");
    ASSERT_EQ(expected.size(), 1u);
    ASSERT_EQ(got.size(), 1u);
    ASSERT_EQ(got[0].byteSize(), expected[0].byteSize());
    auto *want = reinterpret_cast<const float *>(expected[0].data());
    auto *have = reinterpret_cast<const float *>(got[0].data());
    for (int64_t i = 0; i < got[0].byteSize() / 4; ++i)
      ASSERT_NEAR(have[i], want[i], 2e-3) << i; // Sums of some 250 products of at most 4.
  }
}

/// 200 times 1 + 2^-10 is 200.2; who rounds every sum to f16 gets 200.
TEST(ProductKindsTest, HalvesAreAddedUpInF32) {
  constexpr uint16_t kOneAndABit = 0x3c01, kOne = 0x3c00, kOneOfBf16 = 0x3f80, kRounded = 0x5a42; // Of f16: 1 + 2^-10, 1, 200.25.
  const tensor::Shape left = {3, 200}, right = {200, 5};
  auto filled = [](DType type, tensor::Shape shape, uint16_t bits) {
    Tensor made = *Tensor::uninitialized(type, shape);
    std::fill_n(reinterpret_cast<uint16_t *>(made.mutableData()), made.size(), bits);
    return made;
  };
  for (const char *types : {"f16 f16 f16", "f16 f16 f32", "f16 bf16 f32", "f16 bf16 f16"}) {
    const bool isBf16 = std::string_view(types).find("bf16") != std::string_view::npos, isWide = std::string_view(types).ends_with("f32");
    const std::string a = "tensor<3x200xf16>", b = isBf16 ? "tensor<200x5xbf16>" : "tensor<200x5xf16>", c = isWide ? "tensor<3x5xf32>" : "tensor<3x5xf16>";
    const std::string text = "func.func @main(%a: " + a + ", %b: " + b + ") -> " + c + " {\n" +
                             "  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (" + a + ", " + b + ") -> " + c + "\n  return %0 : " + c + "\n}";
    for (int64_t level : {0, 2}) {
      CompileOptions options;
      options.backend = "cpu";
      options.level = level;
      auto compiled = compile(text, options);
      ASSERT_TRUE(compiled) << types << ": " << compiled.message();
      EXPECT_FALSE((*compiled)->info().notes.contains("fallbacks")) << types;
      Tensor ones = isBf16 ? filled(DType::BF16, right, kOneOfBf16) : filled(DType::F16, right, kOne);
      auto results = (*compiled)->execute({{filled(DType::F16, left, kOneAndABit), ones}});
      ASSERT_TRUE(results) << types << ": " << results.message();
      const Tensor &made = (*results)[0][0];
      for (int64_t i = 0; i < made.size(); ++i)
        if (isWide)
          ASSERT_EQ(made.dataAs<float>()[i], 200.1953125f) << types;
        else
          ASSERT_EQ(reinterpret_cast<const uint16_t *>(made.data())[i], kRounded) << types;
    }
  }
}

/// What older exporters write for a product of matrices or vectors.
TEST(ProductKindsTest, DotsAreProducts) {
  for (const char *types : {"4x6 6x5 4x5", "4x6 6 4", "6 6 ", "6 6x5 5"}) {
    llvm::SmallVector<llvm::StringRef, 3> sizes;
    llvm::StringRef(types).split(sizes, ' ');
    auto typeOf = [&](size_t i) { return "tensor<" + sizes[i].str() + (sizes[i].empty() ? "" : "x") + "f32>"; };
    const std::string a = typeOf(0), b = typeOf(1), c = typeOf(2);
    const std::string text = "func.func @main(%a: " + a + ", %b: " + b + ") -> " + c + " {\n  %0 = stablehlo.dot %a, %b : (" + a + ", " + b + ") -> " + c +
                             "\n  return %0 : " + c + "\n}";
    auto whole = [](llvm::StringRef sizes, unsigned seed) {
      llvm::SmallVector<llvm::StringRef, 2> each;
      sizes.split(each, 'x');
      tensor::Shape shape;
      for (llvm::StringRef one : each)
        shape.push_back(std::stoll(one.str()));
      return floats(shape, seed, 512); // Whole numbers, so that nothing is rounded.
    };
    checkExact(text, {whole(sizes[0], 1), whole(sizes[1], 2)});
    for (int64_t level : {0, 2}) {
      CompileOptions options;
      options.backend = "cpu";
      options.level = level;
      auto compiled = compile(text, options);
      ASSERT_TRUE(compiled) << compiled.message();
      EXPECT_FALSE((*compiled)->info().notes.contains("fallbacks")) << text;
    }
  }
}

} // namespace
} // namespace cupel::compiler
