#include "cupel/tensor/Print.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace cupel::tensor;

namespace {

template <DType type> std::string text(Storage<type> value) { return elementText(type, &value); }
template <DType type> std::string brief(Storage<type> value) {
  return shortElementText(type, &value);
}

// What MLIR 19's printer writes for the same values (arith.constant through mlir-opt).
TEST(Print, FloatsAsMlirWritesThem) {
  EXPECT_EQ(text<DType::F32>(1.0f), "1.000000e+00");
  EXPECT_EQ(text<DType::F32>(-0.0f), "-0.000000e+00");
  EXPECT_EQ(text<DType::F32>(0.1f), "1.000000e-01");
  EXPECT_EQ(text<DType::F32>(1.0f / 3), "0.333333343");
  EXPECT_EQ(text<DType::F32>(-1.23456789e10f), "-1.23456788E+10");
  EXPECT_EQ(text<DType::F32>(16777215.0f), "0x4B7FFFFF");
  EXPECT_EQ(text<DType::F32>(0x1.000002p-126f), "1.17549449E-38");
  EXPECT_EQ(text<DType::F64>(0.1), "1.000000e-01");
  EXPECT_EQ(text<DType::F64>(1.0 / 3), "0.33333333333333331");
  EXPECT_EQ(text<DType::F64>(123456.789), "123456.789");
  EXPECT_EQ(text<DType::F64>(3.1415926535897935e-5), "3.1415926535897935E-5");
  EXPECT_EQ(text<DType::F64>(1.23456789e-3), "0.0012345678899999999");
  EXPECT_EQ(text<DType::F64>(1.23456789e-4), "1.23456789E-4");
  EXPECT_EQ(text<DType::F64>(1234567890.5), "1234567890.5");
  EXPECT_EQ(text<DType::F64>(1.2345678912e20), "1.2345678912E+20");
  EXPECT_EQ(text<DType::F64>(96.232), "96.231999999999999");
  EXPECT_EQ(text<DType::F64>(914.005), "914.005");
  EXPECT_EQ(text<DType::F32>(999999.0f), "9.999990e+05");
  EXPECT_EQ(text<DType::BF16>(0x0080), "1.175490e-38");
  EXPECT_EQ(text<DType::F32>(1e-40f), "9.999940e-41");
  EXPECT_EQ(text<DType::F32>(HUGE_VALF), "0x7F800000");
  EXPECT_EQ(text<DType::F64>(-HUGE_VAL), "0xFFF0000000000000");
  EXPECT_EQ(text<DType::F16>(0x3c00), "1.000000e+00");
  EXPECT_EQ(text<DType::F16>(0x7c00), "0x7C00");
  EXPECT_EQ(text<DType::BF16>(0x3f80), "1.000000e+00");
  EXPECT_EQ(text<DType::F8E4M3FN>(0x7e), "4.480000e+02");
  EXPECT_EQ(text<DType::F8E4M3FNUZ>(0x80), "0x80");
}

TEST(Print, OtherElements) {
  EXPECT_EQ(text<DType::I8>(-5), "-5");
  EXPECT_EQ(text<DType::U8>(200), "200");
  EXPECT_EQ(text<DType::U64>(~uint64_t{0}), "18446744073709551615");
  EXPECT_EQ(text<DType::I64>(INT64_MIN), "-9223372036854775808");
  EXPECT_EQ(text<DType::I1>(1), "true");
  EXPECT_EQ(text<DType::C64>({1.0f, -2.5f}), "[1.000000e+00, -2.500000e+00]");
  EXPECT_EQ(brief<DType::F32>(0.1f), "0.1");
  EXPECT_EQ(brief<DType::F32>(NAN), "nan");
  EXPECT_EQ(brief<DType::F16>(0xfc00), "-inf");
  EXPECT_EQ(brief<DType::C128>({1, 2}), "(1, 2)");
}

TEST(Print, Tensors) {
  EXPECT_EQ(tensorText(Tensor::of<DType::U8>({}, {1})), "tensor<ui8> {1}");
  EXPECT_EQ(tensorText(Tensor::of<DType::I32>({2}, {3, 3})), "tensor<2xi32> {\n  [3, 3]\n}");
  Tensor square = Tensor::of<DType::I8>({2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(tensorText(square), "tensor<2x2xi8> {\n"
                                "  [\n"
                                "    [1, 2],\n"
                                "    [3, 4]\n"
                                "  ]\n"
                                "}");
  EXPECT_EQ(tensorText(Tensor::of<DType::I1>({1, 1, 2}, {1, 0})), "tensor<1x1x2xi1> {\n"
                                                                  "  [\n"
                                                                  "    [\n"
                                                                  "      [true, false]\n"
                                                                  "    ]\n"
                                                                  "  ]\n"
                                                                  "}");
  EXPECT_EQ(tensorText(Tensor::of<DType::F32>({0}, {})), "tensor<0xf32> {\n  []\n}");
}

TEST(Print, Dense) {
  Tensor square = Tensor::of<DType::I8>({2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(denseText(square), "dense<[[1, 2], [3, 4]]> : tensor<2x2xi8>");
  EXPECT_EQ(denseText(square.transposed(std::vector<int64_t>{1, 0})),
            "dense<[[1, 3], [2, 4]]> : tensor<2x2xi8>");
  EXPECT_EQ(denseText(Tensor::of<DType::F32>({3}, {2, 2, 2})),
            "dense<2.000000e+00> : tensor<3xf32>");
  EXPECT_EQ(denseText(Tensor::of<DType::C64>({2}, {{1, 2}, {3, 4}})),
            "dense<[(1.000000e+00,2.000000e+00), (3.000000e+00,4.000000e+00)]> : "
            "tensor<2xcomplex<f32>>");
  EXPECT_EQ(denseText(Tensor::of<DType::I1>({0, 2}, {})), "dense<> : tensor<0x2xi1>");
  EXPECT_EQ(denseText(Tensor::of<DType::I1>({}, {1})), "dense<true> : tensor<i1>");
}

} // namespace
