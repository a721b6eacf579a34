// Convolutions whose results in bf16 are written over the residuals that their epilogues add: by kernels that see each element
// once, and beside them by those that do not.

#include "cupel/compiler/backends/cpu/OwnKernelTesting.h"

namespace cupel::compiler {
namespace {

/// A convolution of its result, whose sums are added to that result; `end` makes %e of the sum %s. A last one
/// reads it, so that it is no result of the program.
struct Block {
  int64_t outputs, size;
  int64_t middle = 24; ///< Channels of the image whose sums they are added to.
  int64_t groups = 1;
  int64_t images = 1;
};

std::string residualBlock(const Block &block, const std::string &end) {
  constexpr int64_t channels = 16;
  const auto [outputs, size, between, groups, images] = block;
  auto list = [](std::initializer_list<int64_t> sizes, const char *type) {
    std::string text = "tensor<";
    for (int64_t each : sizes)
      text += std::to_string(each) + "x";
    return text + type + ">";
  };
  auto image = [&](int64_t of, const char *type) { return list({images, size, size, of}, type); };
  const std::string narrow = image(outputs, "bf16"), wide = image(outputs, "f32"), first = image(channels, "bf16");
  const std::string in = list({1, 1, channels, outputs}, "bf16"), middle = list({1, 1, outputs, between}, "bf16"),
                    out = list({3, 3, between / groups, outputs}, "bf16"), inner = image(between, "bf16"), last = list({1, 1, outputs, 8}, "bf16");
  auto convolution = [](const std::string &x, const std::string &k, int64_t padding, const std::string &types, int64_t groups = 1) {
    std::string pad = std::to_string(padding);
    return "stablehlo.convolution(" + x + ", " + k + ") dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[" + pad + ", " + pad +
           "], [" + pad + ", " + pad + "]]} {batch_group_count = 1 : i64, feature_group_count = " + std::to_string(groups) + " : i64} : " + types + "\n";
  };
  // Of ones and zeros no sum is so large that an order would round it, or that it would be no number of bf16 where the
  // reference sums in that.
  auto small = [](const std::string &name, const std::string &type) {
    return "  %" + name + " = stablehlo.clamp %low, %" + name + "0, %high : (tensor<bf16>, " + type + ", tensor<bf16>) -> " + type + "\n";
  };
  return "func.func @main(%x0: " + first + ", %a0: " + in + ", %b0: " + middle + ", %c0: " + out + ", %d0: " + last + ") -> " + image(8, "f32") + " {\n" +
         "  %low = stablehlo.constant dense<-1.0> : tensor<bf16>\n  %high = stablehlo.constant dense<1.0> : tensor<bf16>\n" + small("x", first) +
         small("a", in) + small("b", middle) + small("c", out) + small("d", last) +
         "  %p = " + convolution("%x", "%a", 0, "(" + first + ", " + in + ") -> " + narrow) +
         "  %q = " + convolution("%p", "%b", 0, "(" + narrow + ", " + middle + ") -> " + inner) +
         "  %r = " + convolution("%q", "%c", 1, "(" + inner + ", " + out + ") -> " + wide, groups) +
         "  %w = stablehlo.convert %p : (" + narrow + ") -> " + wide + "\n  %s = stablehlo.add %r, %w : " + wide + "\n" + end + "  %n = stablehlo.convert %e : (" +
         wide + ") -> " + narrow + "\n  %l = " + convolution("%n", "%d", 0, "(" + narrow + ", " + last + ") -> " + image(8, "f32")) + "  return %l : " +
         image(8, "f32") + "\n}\n";
}

std::string positive(const Block &block) {
  std::string size = std::to_string(block.size),
              type = "tensor<" + std::to_string(block.images) + "x" + size + "x" + size + "x" + std::to_string(block.outputs) + "xf32>";
  return "  %zero = stablehlo.constant dense<0.0> : " + type + "\n  %e = stablehlo.maximum %s, %zero : " + type + "\n";
}

/// No infinities and NaNs.
constexpr bool kIsTame = true;

TEST(ResidualsTest, AreWrittenOver) {
  // Whole panels and ragged ones, tiles of all heights, several images.
  for (int64_t outputs : {32, 41, 80})
    for (int64_t size : {1, 5, 7, 14}) {
      SCOPED_TRACE(testing::Message() << outputs << " channels of " << size);
      Block block{outputs, size};
      expectOwnKernel(residualBlock(block, positive(block)), kIsTame);
    }
  Block images{48, 9, 24, 1, 3};
  expectOwnKernel(residualBlock(images, positive(images)), kIsTame);
}

/// Channels by themselves, and lines of images of few channels, are computed with some pixels or channels twice.
TEST(ResidualsTest, AreAddedOnceByKernelsThatComputeTwice) {
  for (int64_t size : {5, 12, 13})
    for (int64_t outputs : {4, 24, 40, 72}) {
      SCOPED_TRACE(testing::Message() << outputs << " channels of " << size);
      Block alone{outputs, size, outputs, outputs}, lines{outputs, size, 3}, pairs{outputs, size, outputs, outputs / 2};
      for (const Block &block : {alone, lines, pairs})
        expectOwnKernel(residualBlock(block, positive(block)), kIsTame);
    }
}

/// What no kernel does in registers is done by machine code.
TEST(ResidualsTest, AreReadByCode) {
  expectOwnKernel(residualBlock({40, 11}, "  %e = stablehlo.abs %s : tensor<1x11x11x40xf32>\n"), kIsTame);
}

} // namespace
} // namespace cupel::compiler
