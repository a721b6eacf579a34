// Expected values by hand: scales are powers of two unless a test is about rounding.

#include "cupel/reference/Quantized.h"

#include "cupel/reference/LinearTesting.h"

using namespace cupel;
using namespace cupel::reference;
using namespace cupel::reference::testing;
using tensor::DType;
using tensor::ElementType;
using tensor::Quantization;
using tensor::Shape;
using tensor::Tensor;
using ::testing::ElementsAre;

namespace {

ElementType quantized(DType storage, double scale, int64_t zero) {
  Quantization q;
  bool small = storage == DType::I8;
  q.storageMin = small ? -128 : INT32_MIN;
  q.storageMax = small ? 127 : INT32_MAX;
  q.scales = {scale};
  q.zeroPoints = {zero};
  return {storage, std::make_shared<const Quantization>(q)};
}

Tensor i8(Shape shape, double scale, int64_t zero, std::initializer_list<int8_t> values) {
  return Tensor::of<DType::I8>(std::move(shape), values)
      .withElementType(quantized(DType::I8, scale, zero));
}

DotDimensions matrixProduct() { return {{}, {}, {1}, {0}}; }

TEST(Quantized, ThroughRealNumbers) {
  Tensor operands[] = {i8({2}, 0.5, 2, {4, 3})}; // 1.0, 0.5
  auto result =
      throughRealNumbers(operands, quantized(DType::I8, 0.25, -3),
                         [](std::span<const Tensor> reals) -> Result<Tensor> {
                           EXPECT_THAT(valuesOf<DType::F32>(reals[0]), ElementsAre(1.0f, 0.5f));
                           return reals[0];
                         });
  EXPECT_THAT(valuesOf<DType::I8>(result), ElementsAre(1, -1));
  EXPECT_TRUE(anyQuantized(operands, DType::F32));
  EXPECT_FALSE(anyQuantized({}, DType::F32));
}

TEST(Quantized, AddIsExactBeforeItClamps) {
  // 63 + -60 with a result that reaches 31.75: each side alone would saturate.
  Tensor lhs = i8({3}, 0.5, 0, {126, 2, 3}), rhs = i8({3}, 0.5, 7, {-113, 9, 7});
  auto result = quantizedAdd(lhs, rhs, quantized(DType::I8, 0.25, -1));
  EXPECT_THAT(valuesOf<DType::I8>(result), ElementsAre(11, 7, 5)); // 3, 2, 1.5
  auto high = quantizedAdd(lhs, lhs, quantized(DType::I8, 0.25, 0));
  EXPECT_THAT(valuesOf<DType::I8>(high), ElementsAre(127, 8, 12));
  EXPECT_EQ(high->elementType(), quantized(DType::I8, 0.25, 0));
}

TEST(Quantized, DotInIntegersWithOneScale) {
  Tensor lhs = i8({1, 2}, 0.5, 0, {3, 5}), rhs = i8({2, 2}, 0.5, 0, {1, -2, 7, 1});
  auto same = quantizedDotGeneral(lhs, rhs, matrixProduct(), quantized(DType::I32, 0.25, 0),
                                  Accumulate::Native);
  EXPECT_THAT(valuesOf<DType::I32>(same), ElementsAre(38, -1));
  // 38 * 0.0625 = 2.375 and -1 * 0.0625: truncated toward zero.
  auto scaled = quantizedDotGeneral(lhs, rhs, matrixProduct(), quantized(DType::I32, 4, 0),
                                    Accumulate::Native);
  EXPECT_THAT(valuesOf<DType::I32>(scaled), ElementsAre(2, 0));
}

TEST(Quantized, ZeroPointOfLhsIsScaledByItself) {
  // Stored product 11 * 1 + 13 * 7 = 102, of which 8 * 8 = 64 is the zero point's.
  // With 1/16: 6.375 - 4 = trunc 6 - trunc 4 = 2.
  Tensor lhs = i8({1, 2}, 0.5, 8, {11, 13}), rhs = i8({2, 1}, 0.5, 0, {1, 7});
  auto scaled = quantizedDotGeneral(lhs, rhs, matrixProduct(), quantized(DType::I32, 4, 0),
                                    Accumulate::Native);
  EXPECT_THAT(valuesOf<DType::I32>(scaled), ElementsAre(2));
  auto same = quantizedDotGeneral(lhs, rhs, matrixProduct(), quantized(DType::I32, 0.25, 0),
                                  Accumulate::Native);
  EXPECT_THAT(valuesOf<DType::I32>(same), ElementsAre(38));
}

TEST(Quantized, OtherZeroPointsGoThroughRealNumbersAndRound) {
  // (1.5 * 0.5 + 2.5 * 3.5) = 9.5; / 4 = 2.375 -> 2; with zero point 10: 12. At scale 1: 9.5 -> 10.
  Tensor lhs = i8({1, 2}, 0.5, 0, {3, 5}), rhs = i8({2, 1}, 0.5, 1, {2, 8});
  auto result = quantizedDotGeneral(lhs, rhs, matrixProduct(), quantized(DType::I32, 4, 10),
                                    Accumulate::Native);
  EXPECT_THAT(valuesOf<DType::I32>(result), ElementsAre(12));
  result = quantizedDotGeneral(lhs, rhs, matrixProduct(), quantized(DType::I32, 1, 0),
                               Accumulate::Native);
  EXPECT_THAT(valuesOf<DType::I32>(result), ElementsAre(10));
}

TEST(Quantized, HybridDequantizesTheWeights) {
  Tensor lhs = Tensor::of<DType::F32>({1, 2}, {0.1f, 2}), rhs = i8({2, 1}, 0.5, 1, {2, 8});
  auto result = quantizedDotGeneral(lhs, rhs, matrixProduct(), DType::F32, Accumulate::Native);
  EXPECT_THAT(valuesOf<DType::F32>(result), ElementsAre(0.1f * 0.5f + 2 * 3.5f));
}

TEST(Quantized, PerAxisWeights) {
  Quantization q;
  q.storageMin = -128, q.storageMax = 127, q.axis = 1;
  q.scales = {0.5, 0.25}, q.zeroPoints = {0, 0};
  Tensor rhs = Tensor::of<DType::I8>({2, 2}, {4, 4, 8, 8})
                   .withElementType({DType::I8, std::make_shared<const Quantization>(q)});
  q.storageMin = INT32_MIN, q.storageMax = INT32_MAX;
  q.scales = {1, 1};
  ElementType out{DType::I32, std::make_shared<const Quantization>(q)};
  Tensor lhs = i8({1, 2}, 1, 0, {1, 2});
  auto result = quantizedDotGeneral(lhs, rhs, matrixProduct(), out, Accumulate::Native);
  EXPECT_THAT(valuesOf<DType::I32>(result), ElementsAre(10, 5));
}

TEST(Quantized, ConvolutionPadsWithTheRealZero) {
  // 1x1x3x1 (reals 1 2 3), kernel 1x3 of ones: 3 6 5 as reals. The result's scale is the product's.
  ConvolutionDimensions dims{0, 3, {1, 2}, 2, 3, {0, 1}, 0, 3, {1, 2}};
  ConvolutionWindow window;
  window.paddingLow = window.paddingHigh = {0, 1};
  Tensor lhs = i8({1, 1, 3, 1}, 0.5, -4, {-2, 0, 2}), ones = i8({1, 3, 1, 1}, 0.5, 0, {2, 2, 2});
  auto integer = quantizedConvolution(lhs, ones, dims, window, quantized(DType::I32, 0.25, 0),
                                      Accumulate::Native);
  EXPECT_THAT(valuesOf<DType::I32>(integer), ElementsAre(12, 24, 20));
  Tensor shifted = i8({1, 3, 1, 1}, 0.5, 3, {5, 5, 5});
  auto real = quantizedConvolution(lhs, shifted, dims, window, quantized(DType::I32, 0.25, 0),
                                   Accumulate::Native);
  EXPECT_THAT(valuesOf<DType::I32>(real), ElementsAre(12, 24, 20));
  // Stored products with padding -4 are -12, 0, -4, of which -24 each is the zero point's. Times
  // 1/16, each truncated: 0 - -1.
  auto scaled = quantizedConvolution(lhs, ones, dims, window, quantized(DType::I32, 4, 0),
                                     Accumulate::Native);
  EXPECT_THAT(valuesOf<DType::I32>(scaled), ElementsAre(1, 1, 1));
}

TEST(Quantized, ParametersThatDoNotFitAreErrors) {
  Quantization q;
  q.storageMin = -128, q.storageMax = 127, q.axis = 1;
  q.scales = {0.5, 0.25, 1}, q.zeroPoints = {0, 0, 0}; // one too many
  Tensor lhs = i8({1, 2}, 1, 0, {1, 2});
  Tensor rhs = Tensor::of<DType::I8>({2, 2}, {4, 4, 8, 8})
                   .withElementType({DType::I8, std::make_shared<const Quantization>(q)});
  EXPECT_FALSE(quantizedDotGeneral(lhs, rhs, matrixProduct(), quantized(DType::I32, 1, 0),
                                   Accumulate::Native));
  EXPECT_FALSE(quantizedAdd(lhs, i8({2}, 1, 0, {1, 2}), quantized(DType::I8, 1, 0)));
}

TEST(Quantized, ZeroSizes) {
  Tensor lhs = i8({0, 2}, 0.5, 3, {}), rhs = i8({2, 3}, 0.5, 0, {1, 2, 3, 4, 5, 6});
  auto result = quantizedDotGeneral(lhs, rhs, matrixProduct(), quantized(DType::I32, 4, 0),
                                    Accumulate::Native);
  ASSERT_TRUE(result);
  EXPECT_THAT(result->shape(), ElementsAre(0, 3));
  EXPECT_EQ(quantizedAdd(lhs, lhs, quantized(DType::I8, 1, 0))->size(), 0);
}

} // namespace
