#include "cupel/tensor/Quantize.h"

#include "cupel/tensor/Convert.h"
#include "cupel/tensor/Float.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace cupel;
using namespace cupel::tensor;

namespace {

ElementType quantized(DType storage, DType expressed, int64_t min, int64_t max,
                      std::vector<double> scales, std::vector<int64_t> zeros, int axis = -1) {
  auto q = std::make_shared<Quantization>();
  q->expressed = expressed, q->storageMin = min, q->storageMax = max, q->axis = axis;
  q->scales = std::move(scales), q->zeroPoints = std::move(zeros);
  return {storage, q};
}

std::vector<double> reals(const Tensor &t) {
  Result<Tensor> wide = convert(t, DType::F64);
  const double *data = wide->dataAs<double>();
  return {data, data + wide->size()};
}
std::vector<double> stored(const Tensor &t) { return reals(t.withElementType(t.dtype())); }

TEST(Quantize, RoundsToEvenAndClamps) {
  ElementType type = quantized(DType::I8, DType::F32, -128, 127, {0.5}, {10});
  // In quanta: 0, 0.5, 1.5, -0.5, 2.5, far out both ways, NaN, infinity; plus zero point 10.
  Tensor t = Tensor::of<DType::F32>(
      {9}, {0.0f, 0.25f, 0.75f, -0.25f, 1.25f, 1e9f, -1e9f, std::nanf(""), -HUGE_VALF});
  Result<Tensor> q = quantize(t, type);
  ASSERT_TRUE(q);
  EXPECT_EQ(q->elementType(), type);
  EXPECT_EQ(stored(*q), (std::vector<double>{10, 10, 12, 10, 12, 127, -128, 0, -128}));
  EXPECT_EQ(reals(*dequantize(*q)), (std::vector<double>{0, 0, 1, 0, 1, 58.5, -69, -5, -69}));
}

TEST(Quantize, HonoursNarrowRangesAndUnsignedStorage) {
  ElementType type = quantized(DType::U8, DType::F32, 3, 200, {1.0}, {128});
  Tensor t = Tensor::of<DType::F32>({4}, {-1000.0f, 1000.0f, 0.5f, std::nanf("")});
  EXPECT_EQ(stored(*quantize(t, type)), (std::vector<double>{3, 200, 128, 3}));
  ElementType four = quantized(DType::I4, DType::F32, -8, 7, {1.0}, {0});
  EXPECT_EQ(stored(*quantize(t, four)), (std::vector<double>{-8, 7, 0, 0}));
  ElementType whole = quantized(DType::I32, DType::F32, INT32_MIN, INT32_MAX, {1.0}, {0});
  Tensor far = Tensor::of<DType::F32>({3}, {3e9f, -3e9f, 16777216.0f});
  EXPECT_EQ(stored(*quantize(far, whole)),
            (std::vector<double>{2147483647, -2147483648.0, 16777216}));
}

// Each axis position has its own scale and zero point; the axis is not the last one.
TEST(Quantize, PerAxis) {
  ElementType type = quantized(DType::I8, DType::F32, -128, 127, {0.5, 2.0}, {0, -4}, 1);
  Tensor t = Tensor::of<DType::F32>({2, 2, 2}, {1, 2, 4, 8, -1, -2, -4, -8});
  Result<Tensor> q = quantize(t, type);
  ASSERT_TRUE(q);
  EXPECT_EQ(stored(*q), (std::vector<double>{2, 4, -2, 0, -2, -4, -6, -8}));
  EXPECT_EQ(reals(*dequantize(*q)), reals(t));
  // And the same through a transposed view: the axis moves with the data only by the caller.
  Tensor flipped = t.transposed(std::vector<int64_t>{2, 1, 0});
  EXPECT_EQ(stored(*quantize(flipped, type)), (std::vector<double>{2, -2, -2, -6, 4, -4, 0, -8}));
}

TEST(Quantize, EveryStoredByteAgainstThePlainFormula) {
  for (double scale : {0.003937, 1.0, 0.1, 3.7})
    for (int64_t zero : {-128, -7, 0, 100}) {
      ElementType type = quantized(DType::I8, DType::F32, -128, 127, {scale}, {zero});
      std::vector<int8_t> all(256);
      for (int i = 0; i < 256; ++i)
        all[i] = static_cast<int8_t>(i - 128);
      Tensor t = Tensor::of<DType::I8>({256}, all).withElementType(type);
      Result<Tensor> real = dequantize(t);
      for (int i = 0; i < 256; ++i)
        ASSERT_EQ(real->dataAs<float>()[i],
                  static_cast<float>(i - 128 - zero) * static_cast<float>(scale));
      EXPECT_EQ(stored(*quantize(*real, type)), stored(t)) << scale << " " << zero;
    }
}

TEST(Quantize, NarrowExpressedTypesRoundAfterEachStep) {
  ElementType type = quantized(DType::I8, DType::BF16, -128, 127, {0.1}, {-100});
  // 127 + 100 = 227 is exact in bf16; 0.1 becomes 0.10009765625; the product rounds to bf16.
  Tensor t = Tensor::of<DType::I8>({1}, {127}).withElementType(type);
  Result<Tensor> real = dequantize(t);
  ASSERT_TRUE(real);
  EXPECT_EQ(*real->dataAs<uint16_t>(), fromDouble<DType::BF16>(227 * 0.10009765625));
  // Values between the samples of bf16: 16-bit storage, difference 257 rounds to 256 first.
  ElementType wide = quantized(DType::I16, DType::BF16, -32768, 32767, {1.0}, {0});
  Tensor w = Tensor::of<DType::I16>({1}, {257}).withElementType(wide);
  EXPECT_EQ(reals(*dequantize(w)), (std::vector<double>{256}));
}

TEST(Requantize, MergesScales) {
  ElementType from = quantized(DType::I8, DType::F32, -128, 127, {0.5}, {2});
  ElementType to = quantized(DType::U8, DType::F32, 0, 255, {0.25}, {100});
  Tensor t = Tensor::of<DType::I8>({4}, {2, 3, -128, 127}).withElementType(from);
  // (x - 2) * 2 + 100, clamped to 0..255.
  EXPECT_EQ(stored(*requantize(t, to)), (std::vector<double>{100, 102, 0, 255}));
  ElementType coarse = quantized(DType::I4, DType::F32, -8, 7, {1.0}, {0});
  Tensor half = Tensor::of<DType::I8>({4}, {3, 5, 7, 1}).withElementType(from);
  // (x - 2) / 2: 0.5, 1.5, 2.5, -0.5 to even.
  EXPECT_EQ(stored(*requantize(half, coarse)), (std::vector<double>{0, 2, 2, 0}));
}

TEST(Requantize, PerAxisToPerTensorAndBack) {
  ElementType axis = quantized(DType::I8, DType::F32, -128, 127, {1.0, 2.0}, {0, 1}, 0);
  ElementType flat = quantized(DType::I8, DType::F32, -128, 127, {1.0}, {0});
  Tensor t = Tensor::of<DType::I8>({2, 2}, {5, -5, 5, -5}).withElementType(axis);
  Result<Tensor> one = requantize(t, flat);
  ASSERT_TRUE(one);
  EXPECT_EQ(stored(*one), (std::vector<double>{5, -5, 8, -12}));
  EXPECT_EQ(stored(*requantize(*one, axis)), stored(t));
  ElementType other = quantized(DType::I8, DType::F32, -128, 127, {1.0, 2.0}, {0, 1}, 1);
  EXPECT_FALSE(requantize(t, other));
}

TEST(Quantize, RefusesTypesThatMakeNoSense) {
  Tensor t = Tensor::of<DType::F32>({2}, {1, 2});
  auto refused = [&](const ElementType &type) { return !quantize(t, type); };
  EXPECT_TRUE(refused(DType::I8));
  EXPECT_TRUE(refused(quantized(DType::F32, DType::F32, 0, 1, {1}, {0})));
  EXPECT_TRUE(refused(quantized(DType::I64, DType::F32, 0, 1, {1}, {0})));
  EXPECT_TRUE(refused(quantized(DType::I8, DType::I32, 0, 1, {1}, {0})));
  EXPECT_TRUE(refused(quantized(DType::I8, DType::F32, -129, 1, {1}, {0})));
  EXPECT_TRUE(refused(quantized(DType::I8, DType::F32, 1, 1, {1}, {1})));
  EXPECT_TRUE(refused(quantized(DType::I8, DType::F32, 0, 1, {0}, {0})));
  EXPECT_TRUE(refused(quantized(DType::I8, DType::F32, 0, 1, {HUGE_VAL}, {0})));
  EXPECT_TRUE(refused(quantized(DType::I8, DType::F32, 0, 1, {std::nan("")}, {0})));
  EXPECT_TRUE(refused(quantized(DType::I8, DType::F32, 0, 1, {1}, {2})));
  EXPECT_TRUE(refused(quantized(DType::I8, DType::F32, 0, 1, {}, {})));
  EXPECT_TRUE(refused(quantized(DType::I8, DType::F32, 0, 1, {1}, {0}, 1)));
  EXPECT_TRUE(refused(quantized(DType::I8, DType::F32, 0, 1, {1, 1, 1}, {0, 0, 0}, 0)));
  EXPECT_TRUE(refused(quantized(DType::I8, DType::F64, 0, 1, {1}, {0})));
  EXPECT_FALSE(refused(quantized(DType::I8, DType::F32, 0, 1, {1, 1}, {0, 0}, 0)));
  EXPECT_FALSE(dequantize(t));
}

} // namespace
