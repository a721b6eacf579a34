// Sorts, windows, gradients of pools and convolutions of halves: on the device's own kernels and on none
// of the golden reference's, with the reference's bits. Arguments are small whole numbers, zeros of both
// signs, infinities and NaNs, so that nothing is rounded.

#include "cupel/compiler/backends/cpu/BackendTesting.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstring>
#include <limits>

namespace cupel::compiler {
namespace {

using tensor::DType;
using tensor::Tensor;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

float numberAt(int64_t i, bool isTame) {
  int64_t k = (i * 2654435761u >> 7) % 23;
  if (isTame)
    return float(k - 11);
  switch (k) {
  case 0: return -0.0f;
  case 1: return 0.0f;
  case 2: return std::nanf("");
  case 3: return -std::nanf("1");
  case 4: return kInfinity;
  case 5: return -kInfinity;
  default: return float(k - 14);
  }
}

Result<Outcome> outcomeBy(const char *backend, const std::string &text, bool isTame) {
  return runBy(backend, text, [&](Tensor &argument, int64_t place) {
    for (int64_t i = 0; i < argument.size(); ++i) {
      float number = numberAt(i + place * 5, isTame);
      switch (argument.dtype()) {
      case DType::F32: argument.mutableAs<float>()[i] = number; break;
      case DType::F64: argument.mutableAs<double>()[i] = number; break;
      case DType::C64: argument.mutableAs<std::complex<float>>()[i] = {number, float(i % 5)}; break;
      case DType::BF16: {
        uint32_t bits;
        std::memcpy(&bits, &number, sizeof bits);
        argument.mutableAs<uint16_t>()[i] = uint16_t(bits >> 16);
        break;
      }
      case DType::I32: argument.mutableAs<int32_t>()[i] = int32_t(i * 37 % 19) - 9; break;
      case DType::U8: argument.mutableAs<uint8_t>()[i] = uint8_t(i * 61); break;
      case DType::I64: argument.mutableAs<int64_t>()[i] = (i * 31 % 17 - 8) * (int64_t{1} << 40); break;
      default: break;
      }
    }
  });
}

void expectOwnKernel(const std::string &text, bool isTame = false) {
  auto expected = outcomeBy("reference", text, isTame), actual = outcomeBy("cpu", text, isTame);
  ASSERT_TRUE(expected) << expected.message() << "\n" << text;
  ASSERT_TRUE(actual) << actual.message() << "\n" << text;
  EXPECT_EQ(actual->notes.count("fallbacks"), 0u) << actual->notes["fallbacks"] << "\n" << text;
  EXPECT_EQ(actual->notes.count("backend"), 0u) << text;
  ASSERT_EQ(expected->results.size(), actual->results.size());
  for (size_t i = 0; i < expected->results.size(); ++i)
    EXPECT_EQ(std::memcmp(expected->results[i].data(), actual->results[i].data(),
                          size_t(expected->results[i].byteSize())),
              0)
        << "result " << i << " of\n" << text;
}

std::string sortOf(const std::string &shape, const std::string &element, const std::string &compare,
                   int dimension) {
  std::string type = "tensor<" + shape + "x" + element + ">", other = "tensor<" + shape + "xi32>",
              e = "tensor<" + element + ">";
  return "func.func @main(%a: " + type + ", %b: " + other + ") -> (" + type + ", " + other + ") {\n"
         "  %0:2 = \"stablehlo.sort\"(%a, %b) <{dimension = " + std::to_string(dimension) +
         " : i64, is_stable = true}> ({\n  ^bb0(%p: " + e + ", %q: " + e +
         ", %r: tensor<i32>, %s: tensor<i32>):\n" + compare +
         "    stablehlo.return %c : tensor<i1>\n  }) : (" + type + ", " + other + ") -> (" + type +
         ", " + other + ")\n  return %0#0, %0#1 : " + type + ", " + other + "\n}\n";
}

std::string plain(const std::string &direction, const std::string &element, const char *order,
                  const char *sides = "%p, %q") {
  return "    %c = stablehlo.compare " + direction + ", " + sides + ", " + order + " : (tensor<" +
         element + ">, tensor<" + element + ">) -> tensor<i1>\n";
}

TEST(OwnKernelsTest, SortsByOneKeyAreStableAndPutSpecialNumbersWhereTheyBelong) {
  for (const char *shape : {"1", "7x5", "3x600", "2x9000"})
    for (int dimension : {0, 1}) {
      if (std::string_view(shape) == "1" && dimension == 1)
        continue;
      for (const char *direction : {"LT", "GT"}) {
        // Without a place for NaNs they are no order.
        expectOwnKernel(sortOf(shape, "f32", plain(direction, "f32", "FLOAT"), dimension), true);
        expectOwnKernel(sortOf(shape, "f32", plain(direction, "f32", "TOTALORDER"), dimension));
      }
      expectOwnKernel(sortOf(shape, "bf16", plain("LT", "bf16", "TOTALORDER"), dimension));
      expectOwnKernel(sortOf(shape, "f64", plain("GT", "f64", "FLOAT"), dimension), true);
      expectOwnKernel(sortOf(shape, "i64", plain("LT", "i64", "SIGNED"), dimension));
      expectOwnKernel(sortOf(shape, "i32", plain("LT", "i32", "SIGNED", "%q, %p"), dimension));
      expectOwnKernel(sortOf(shape, "ui8", plain("GT", "ui8", "UNSIGNED"), dimension));
    }
}

TEST(OwnKernelsTest, SortsBySeveralKeysLookAtTheNextWhereTheFirstAreEqual) {
  auto keys = [](const std::string &element, const char *order, const char *direction) {
    std::string e = "(tensor<" + element + ">, tensor<" + element + ">) -> tensor<i1>\n";
    return "    %before = stablehlo.compare " + std::string(direction) + ", %p, %q, " + order + " : " + e +
           "    %same = stablehlo.compare EQ, %p, %q, " + order + " : " + e +
           "    %next = stablehlo.compare GT, %r, %s, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>\n";
  };
  const char *jax = "    %both = stablehlo.and %same, %next : tensor<i1>\n    %c = stablehlo.or %before, %both : tensor<i1>\n",
             *turned = "    %both = stablehlo.and %next, %same : tensor<i1>\n    %c = stablehlo.or %both, %before : tensor<i1>\n",
             *chosen = "    %c = stablehlo.select %same, %next, %before : tensor<i1>, tensor<i1>\n";
  for (const char *shape : {"1x1", "7x5", "40x3", "2x9000"})
    for (int dimension : {0, 1})
      for (const char *way : {jax, turned, chosen}) {
        expectOwnKernel(sortOf(shape, "f32", keys("f32", "TOTALORDER", "LT") + way, dimension));
        expectOwnKernel(sortOf(shape, "i64", keys("i64", "SIGNED", "GT") + way, dimension));
        expectOwnKernel(sortOf(shape, "ui8", keys("ui8", "UNSIGNED", "LT") + way, dimension));
      }
}

TEST(OwnKernelsTest, ComparatorsThatAreNoOrderOfKeysStayTheReferences) {
  // Where the first keys are equal by another operand's word.
  auto actual = outcomeBy("cpu", sortOf("5x4", "f32", "    %before = stablehlo.compare LT, %p, %q, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
                                        "    %same = stablehlo.compare EQ, %r, %s, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
                                        "    %both = stablehlo.and %same, %before : tensor<i1>\n    %c = stablehlo.or %before, %both : tensor<i1>\n", 1), false);
  ASSERT_TRUE(actual) << actual.message();
  EXPECT_EQ(actual->notes.count("fallbacks"), 1u);
}

TEST(OwnKernelsTest, SortsAsJaxWritesThem) {
  std::string text = sortOf("4x333", "f32", R"(    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %nan = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %0 = stablehlo.compare EQ, %p, %zero, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %1 = stablehlo.select %0, %zero, %p : tensor<i1>, tensor<f32>
    %2 = stablehlo.compare NE, %p, %p, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %3 = stablehlo.select %2, %nan, %1 : tensor<i1>, tensor<f32>
    %4 = stablehlo.compare EQ, %q, %zero, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %5 = stablehlo.select %4, %zero, %q : tensor<i1>, tensor<f32>
    %6 = stablehlo.compare NE, %q, %q, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %7 = stablehlo.select %6, %nan, %5 : tensor<i1>, tensor<f32>
    %c = stablehlo.compare LT, %3, %7, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
)", 1);
  expectOwnKernel(text);
  // With constants around the comparator, as passes may leave them.
  for (const char *name : {"    %zero =", "    %nan ="}) {
    size_t begin = text.find(name), end = text.find('\n', begin) + 1;
    std::string line = text.substr(begin, end - begin);
    text.erase(begin, end - begin);
    text.insert(text.find('\n') + 1, line);
  }
  expectOwnKernel(text);
}

std::string windowOf(const std::string &in, const std::string &out, const std::string &element,
                     const std::string &init, const std::string &op, const std::string &attributes) {
  std::string i = "tensor<" + in + "x" + element + ">", o = "tensor<" + out + "x" + element + ">",
              e = "tensor<" + element + ">";
  return "func.func @main(%a: " + i + ") -> " + o + " {\n  %z = stablehlo.constant dense<" + init +
         "> : " + e + "\n  %0 = \"stablehlo.reduce_window\"(%a, %z) <{" + attributes +
         "}> ({\n  ^bb0(%p: " + e + ", %q: " + e + "):\n    %s = stablehlo." + op + " %p, %q : " + e +
         "\n    stablehlo.return %s : " + e + "\n  }) : (" + i + ", " + e + ") -> " + o +
         "\n  return %0 : " + o + "\n}\n";
}

TEST(OwnKernelsTest, WindowsOfAnyRankStrideAndDilation) {
  // A line, a solid, and a beginning that counts as padding too.
  expectOwnKernel(windowOf("3x11", "3x5", "f32", "0xFF800000", "maximum",
                           "window_dimensions = array<i64: 1, 3>, window_strides = array<i64: 1, 2>"));
  expectOwnKernel(windowOf("2x5x6x7x2", "2x2x3x3x2", "f32", "0xFF800000", "maximum",
                           "window_dimensions = array<i64: 1, 3, 2, 2, 1>, window_strides = array<i64: 1, 2, 2, 2, 1>"));
  expectOwnKernel(windowOf("9", "13", "i32", "3", "add",
                           "window_dimensions = array<i64: 4>, base_dilations = array<i64: 2>, window_dilations = array<i64: 2>, padding = dense<[[1, 1]]> : tensor<1x2xi64>"));
  expectOwnKernel(windowOf("4x4", "3x3", "f64", "2.0", "multiply",
                           "window_dimensions = array<i64: 2, 2>"), true);
  expectOwnKernel(windowOf("4x6", "6x6", "i64", "-1", "and",
                           "window_dimensions = array<i64: 2, 3>, padding = dense<[[2, 1], [1, 1]]> : tensor<2x2xi64>"));
}

TEST(OwnKernelsTest, GradientsOfPoolsPickOneOfEachWindow) {
  for (const char *pick : {"GE", "GT", "LE", "LT"})
    for (const char *padding : {"", ", padding = dense<[[0, 0], [1, 1], [1, 0]]> : tensor<3x2xi64>"}) {
      std::string source = *padding ? "tensor<2x7x6xf32>" : "tensor<2x5x5xf32>";
      expectOwnKernel("func.func @main(%a: tensor<2x6x6xf32>, %g: " + source + R"() -> tensor<2x6x6xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.select_and_scatter"(%a, %g, %z) <{window_dimensions = array<i64: 1, 2, 2>, window_strides = array<i64: 1, 1, 1>)" +
                          std::string(padding) + R"(}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %c = stablehlo.compare )" + pick + R"(, %p, %q : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }, {
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %s = stablehlo.add %p, %q : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<2x6x6xf32>, )" + source + R"(, tensor<f32>) -> tensor<2x6x6xf32>
  return %0 : tensor<2x6x6xf32>
})", true);
    }
}

TEST(OwnKernelsTest, TransformsOfSeveralDimensionsAreOfTheDevicesOwn) {
  for (const std::string kind : {"FFT", "IFFT", "RFFT", "IRFFT"}) {
    bool isFromReals = kind == "RFFT", isToReals = kind == "IRFFT";
    std::string in = isFromReals ? "tensor<3x6x8xf32>" : isToReals ? "tensor<3x6x5xcomplex<f32>>" : "tensor<3x6x8xcomplex<f32>>",
                out = isFromReals ? "tensor<3x6x5xcomplex<f32>>" : isToReals ? "tensor<3x6x8xf32>" : "tensor<3x6x8xcomplex<f32>>",
                text = "func.func @main(%x: " + in + ") -> " + out + " {\n  %0 = stablehlo.fft %x, type = " + kind +
                       ", length = [6, 8] : (" + in + ") -> " + out + "\n  return %0 : " + out + "\n}\n";
    auto expected = outcomeBy("reference", text, true), actual = outcomeBy("cpu", text, true);
    ASSERT_TRUE(expected && actual) << text;
    EXPECT_EQ(actual->notes.count("fallbacks"), 0u) << text;
    const auto *a = reinterpret_cast<const float *>(expected->results[0].data()),
               *b = reinterpret_cast<const float *>(actual->results[0].data());
    for (int64_t i = 0; i < expected->results[0].byteSize() / int64_t(sizeof(float)); ++i)
      EXPECT_NEAR(a[i], b[i], 2e-6f * (std::fabs(a[i]) + 10)) << kind << " at " << i;
  }
}

TEST(OwnKernelsTest, OneLongLineIsTransformed) {
  constexpr int64_t length = 8192;
  std::string text = "func.func @main(%x: tensor<8192xcomplex<f32>>) -> tensor<8192xcomplex<f32>> {\n"
                     "  %0 = stablehlo.fft %x, type = FFT, length = [8192] : (tensor<8192xcomplex<f32>>) -> tensor<8192xcomplex<f32>>\n"
                     "  return %0 : tensor<8192xcomplex<f32>>\n}\n";
  auto expected = outcomeBy("reference", text, true), actual = outcomeBy("cpu", text, true);
  ASSERT_TRUE(expected && actual);
  EXPECT_EQ(actual->notes.count("fallbacks"), 0u);
  const auto *a = reinterpret_cast<const float *>(expected->results[0].data()),
             *b = reinterpret_cast<const float *>(actual->results[0].data());
  for (int64_t i = 0; i < 2 * length; ++i)
    // Sums of 8192 numbers up to 11, in 13 steps that round; without fused steps more than with them.
    ASSERT_NEAR(a[i], b[i], 2e-6f * (std::fabs(a[i]) + 1000)) << i;
}

/// As much as threads share, with rows that are hit often, once and never.
TEST(OwnKernelsTest, ScattersOfManyRowsAreShared) {
  for (const std::string combine : {"stablehlo.add %a, %b : tensor<f32>", "stablehlo.maximum %a, %b : tensor<f32>"})
    expectOwnKernel(R"(func.func @main(%x: tensor<19x9000xf32>, %i: tensor<700x1xi32>, %u: tensor<700x9000xf32>) -> tensor<19x9000xf32> {
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = )" + combine + R"(
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<19x9000xf32>, tensor<700x1xi32>, tensor<700x9000xf32>) -> tensor<19x9000xf32>
  return %0 : tensor<19x9000xf32>
})", true);
}

/// More than caches hold, which is written past them, and rows that are no multiple of a line.
TEST(OwnKernelsTest, GathersOfManyRows) {
  for (const std::string width : {"64", "72"})
    expectOwnKernel("func.func @main(%x: tensor<50x" + width + "xf32>, %i: tensor<50001x1xi32>) -> tensor<50001x" + width + R"(xf32> {
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, )" + width + R"(>, indices_are_sorted = false}> : (tensor<50x)" + width + "xf32>, tensor<50001x1xi32>) -> tensor<50001x" + width + "xf32>\n  return %0 : tensor<50001x" + width + "xf32>\n}");
}

TEST(OwnKernelsTest, ConvolutionsOfHalvesAreRoundedOnce) {
  expectOwnKernel(R"(func.func @main(%x: tensor<2x9x3xbf16>, %k: tensor<3x3x4xbf16>) -> tensor<2x7x4xbf16> {
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x9x3xbf16>, tensor<3x3x4xbf16>) -> tensor<2x7x4xbf16>
  return %0 : tensor<2x7x4xbf16>
})", true);
  expectOwnKernel(R"(func.func @main(%x: tensor<1x8x8x2xbf16>, %k: tensor<3x3x2x5xbf16>) -> tensor<1x8x8x5xf32> {
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x2xbf16>, tensor<3x3x2x5xbf16>) -> tensor<1x8x8x5xf32>
  return %0 : tensor<1x8x8x5xf32>
})", true);
}

} // namespace
} // namespace cupel::compiler
