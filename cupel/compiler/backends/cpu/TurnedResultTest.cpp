// Convolutions whose results lie channels first are computed and turned in one launch, with the reference's bits: in every way of convolving, with
// several images, with more pixels and channels than a unit of work or a vector has, and with what is done to elements behind them.

#include "cupel/compiler/backends/cpu/OwnKernelTesting.h"

#include <algorithm>

namespace cupel::compiler {
namespace {

struct TurnedCase {
  const char *image, *kernel, *result, *window; // Channels first; the kernel is out x in x sizes.
  int groups;
};

std::string turnedConvolutionOf(const TurnedCase &one, const std::string &rest) {
  std::string image = std::string("tensor<") + one.image + "xf32>", kernel = std::string("tensor<") + one.kernel + "xf32>",
              result = std::string("tensor<") + one.result + "xf32>";
  auto rank = std::count(image.begin(), image.end(), 'x') - 2;
  std::string spatial = rank == 1 ? "0" : rank == 2 ? "0, 1" : "0, 1, 2";
  std::string text = "func.func @main(%x: " + image + ", %k: " + kernel + ", %b: BIAS) -> " + result + " {\n  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, f, " +
                     spatial + "]x[o, i, " + spatial + "]->[b, f, " + spatial + "], window = {" + one.window +
                     "} {batch_group_count = 1 : i64, feature_group_count = " + std::to_string(one.groups) + " : i64} : (" + image + ", " + kernel + ") -> " + result +
                     "\n  %w = stablehlo.broadcast_in_dim %b, dims = [1] : (BIAS) -> " + result + "\n" + rest + "  return %9 : " + result + "\n}\n";
  std::string bias = "tensor<" + kernel.substr(7, kernel.find('x') - 7) + "xf32>";
  for (size_t at; (at = text.find("BIAS")) != std::string::npos;)
    text.replace(at, 4, bias);
  for (size_t at; (at = text.find("RESULT")) != std::string::npos;)
    text.replace(at, 6, result);
  return text;
}

const TurnedCase kTurnedCases[] = {
    {"2x20x9x11", "70x20x3x3", "2x70x9x11", "pad = [[1, 1], [1, 1]]", 1},                        // Pixels.
    {"1x8x40x33", "33x8x3x2", "1x33x19x31", "stride = [2, 1], rhs_dilate = [1, 2]", 1},          // The same, in several units.
    {"2x3x17x19", "40x3x5x3", "2x40x9x10", "stride = [2, 2], pad = [[2, 2], [1, 1]]", 1},        // Lines of few channels.
    {"1x1x5003", "18x1x10", "1x18x1000", "stride = [5], pad = [[1, 1]]", 1},                     // One line in several parts.
    {"2x1x700", "5x1x4", "2x5x697", "", 1},                                                      // Which is read where it lies.
    {"2x32x9x12", "3x32x3x5", "2x3x9x12", "pad = [[1, 1], [2, 2]]", 1},                          // Columns of the kernel.
    {"2x32x6x7", "32x4x3x3", "2x32x6x7", "pad = [[1, 1], [1, 1]]", 8},                           // Small groups.
    {"2x40x6x7", "40x20x3x3", "2x40x6x7", "pad = [[1, 1], [1, 1]]", 2},                          // Large groups.
    {"2x37x10x9", "37x1x3x3", "2x37x10x9", "pad = [[1, 1], [1, 1]]", 37},                        // Depthwise.
    {"1x24x300", "24x1x4", "1x24x303", "pad = [[3, 3]]", 24},                                    // The same of a line.
    {"2x5x6x7", "18x5x4x4", "2x18x12x14", "pad = [[2, 2], [2, 2]], lhs_dilate = [2, 2]", 1},     // Transposed.
    {"2x4x5x6x7", "6x4x3x3x3", "2x6x5x6x7", "pad = [[1, 1], [1, 1], [1, 1]]", 1},                // Volumes.
};

TEST(TurnedResultTest, IsThatOfTheReference) {
  for (const TurnedCase &one : kTurnedCases) {
    std::string text = turnedConvolutionOf(one, "  %1 = stablehlo.add %0, %w : RESULT\n  %z = stablehlo.constant dense<0.0> : RESULT\n"
                                          "  %9 = stablehlo.maximum %1, %z : RESULT\n");
    expectOwnKernel(text, /*isTame=*/true);
    expectOwnKernel(turnedConvolutionOf(one, "  %1 = stablehlo.add %0, %w : RESULT\n  %2 = stablehlo.multiply %1, %1 : RESULT\n  %3 = stablehlo.subtract %2, %1 : RESULT\n"
                                       "  %9 = stablehlo.abs %3 : RESULT\n"), /*isTame=*/true);
    Result<Outcome> outcome = outcomeBy("cpu", text, /*isTame=*/true);
    ASSERT_TRUE(outcome);
    // The image is brought to channels inmost, unless it has but one; the result is not brought back.
    std::string kernels = outcome->notes["kernels"];
    EXPECT_TRUE(kernels == "1 convolution" || kernels == "1 convolution, 1 map") << kernels << "\n" << text;
  }
}

} // namespace
} // namespace cupel::compiler
