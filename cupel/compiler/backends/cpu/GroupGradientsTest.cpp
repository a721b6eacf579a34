// Gradients of kernels in groups, depthwise ones among them, as PyTorch and JAX write them: on kernels of our own, and what the golden reference computes.

#include "cupel/compiler/backends/cpu/OwnKernelTesting.h"

#include <gtest/gtest.h>

namespace cupel::compiler {
namespace {

/// A convolution of an argument with another that is computed: `window` and groups as they are written.
std::string gradient(const std::string &image, const std::string &pixels, const std::string &result, const std::string &numbers,
                     const std::string &window, int batchGroups, int groups) {
  auto typed = [](const std::string &shape) { return "tensor<" + shape + ">"; };
  return "func.func @main(%x: " + typed(image) + ", %y: " + typed(pixels) + ") -> " + typed(result) + " {\n  %g = stablehlo.negate %y : " + typed(pixels) +
         "\n  %0 = stablehlo.convolution(%x, %g) dim_numbers = " + numbers + ", window = {" + window +
         "} {batch_group_count = " + std::to_string(batchGroups) + " : i64, feature_group_count = " + std::to_string(groups) + " : i64} : (" + typed(image) +
         ", " + typed(pixels) + ") -> " + typed(result) + "\n  return %0 : " + typed(result) + "\n}\n";
}

TEST(GroupGradientsTest, OfDepthwiseKernels) {
  // As JAX writes them: channels are groups of the batch. Of images, with strides, of lines, of volumes.
  expectOwnKernel(gradient("4x9x8x24xf32", "4x9x8x24xf32", "3x3x1x24xf32", "[f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f]", "pad = [[1, 1], [1, 1]]", 24, 1), true);
  expectOwnKernel(gradient("4x9x8x6xf32", "4x5x4x6xf32", "3x3x1x6xf32", "[f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f]", "pad = [[1, 1], [1, 0]], rhs_dilate = [2, 2]", 6, 1), true);
  expectOwnKernel(gradient("3x5x31xf32", "3x5x30xf32", "1x5x4xf32", "[f, b, 0]x[i, o, 0]->[b, f, 0]", "pad = [[1, 1]]", 5, 1), true);
  expectOwnKernel(gradient("2x5x6x7x3xf32", "2x5x6x7x3xf32", "3x3x3x1x3xf32", "[f, 0, 1, 2, b]x[i, 0, 1, 2, o]->[0, 1, 2, b, f]", "pad = [[1, 1], [1, 1], [1, 1]]", 3, 1), true);
  // As PyTorch does: the batch of each channel is a group of channels of one image.
  expectOwnKernel(gradient("1x48x9x8xf32", "4x12x9x8xf32", "1x12x3x3xf32", "[b, f, 0, 1]x[i, o, 0, 1]->[b, f, 0, 1]", "pad = [[1, 1], [1, 1]]", 1, 12), true);
  expectOwnKernel(gradient("2x48x9x8xbf16", "4x12x9x8xbf16", "2x12x3x3xbf16", "[b, f, 0, 1]x[i, o, 0, 1]->[b, f, 0, 1]", "pad = [[1, 1], [1, 1]]", 1, 12), true);
}

/// Several filters of a group, and groups of the batch where nothing is a gradient.
TEST(GroupGradientsTest, OfGroups) {
  expectOwnKernel(gradient("4x9x8x6xf32", "4x9x8x15xf32", "3x3x2x15xf32", "[f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f]", "pad = [[1, 1], [1, 1]]", 3, 1), true);
  expectOwnKernel(gradient("6x5x5x4xf32", "3x3x4x9xf32", "2x3x3x9xf32", "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]", "", 3, 1), true);
}

/// Of other numbers they are the reference's, and right.
TEST(GroupGradientsTest, OfComplexNumbers) {
  const std::string text = gradient("4x9x8x6xcomplex<f32>", "4x9x8x6xcomplex<f32>", "3x3x1x6xcomplex<f32>", "[f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f]",
                                    "pad = [[1, 1], [1, 1]]", 6, 1);
  auto expected = outcomeBy("reference", text, /*isTame=*/true), actual = outcomeBy("cpu", text, /*isTame=*/true);
  ASSERT_TRUE(expected) << expected.message();
  ASSERT_TRUE(actual) << actual.message();
  EXPECT_EQ(std::memcmp(expected->results[0].data(), actual->results[0].data(), size_t(expected->results[0].byteSize())), 0);
}

} // namespace
} // namespace cupel::compiler
