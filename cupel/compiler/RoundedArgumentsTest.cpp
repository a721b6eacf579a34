// Weights that arrive as arguments are rounded once for each buffer, and as programs that round in
// every run round them.

#include "cupel/compiler/backends/cpu/BackendTesting.h"
#include "cupel/compiler/backends/cpu/PackedWeights.h"
#include "cupel/tensor/BlockFloat.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

namespace cupel::compiler {
namespace {

using tensor::BlockFormat;
using tensor::DType;
using tensor::Tensor;

/// The input is the unit matrix: each result is a weight as its product takes it.
constexpr const char *kProducts = R"(
func.func @main(%x: tensor<24x24xf32>, %w: tensor<24x40xf32> loc("up"), %v: tensor<40x24xf32> loc("down")) -> (tensor<24x40xf32>, tensor<24x40xf32>) {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<24x24xf32>, tensor<24x40xf32>) -> tensor<24x40xf32>
  %t = stablehlo.transpose %v, dims = [1, 0] : (tensor<40x24xf32>) -> tensor<24x40xf32>
  %1 = stablehlo.dot_general %x, %t, contracting_dims = [1] x [0] : (tensor<24x24xf32>, tensor<24x40xf32>) -> tensor<24x40xf32>
  return %0, %1 : tensor<24x40xf32>, tensor<24x40xf32>
}
)";

Tensor filled(tensor::Shape shape, uint32_t seed) {
  Tensor made = *Tensor::zeros(DType::F32, shape);
  auto *data = reinterpret_cast<float *>(made.mutableData());
  for (int64_t i = 0; i < made.size(); ++i) {
    seed = seed * 1664525u + 1013904223u;
    data[i] = std::ldexp(float(int32_t(seed) >> 8) / float(1 << 23), int(seed % 7) - 3);
  }
  return made;
}

Tensor unit(int64_t size) {
  Tensor made = *Tensor::zeros(DType::F32, {size, size});
  for (int64_t i = 0; i < size; ++i)
    reinterpret_cast<float *>(made.mutableData())[i * size + i] = 1;
  return made;
}

Tensor transposed(const Tensor &matrix) {
  int64_t rows = matrix.shape()[0], columns = matrix.shape()[1];
  Tensor made = *Tensor::zeros(DType::F32, {columns, rows});
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      reinterpret_cast<float *>(made.mutableData())[j * rows + i] = matrix.dataAs<float>()[i * columns + j];
  return made;
}

void expectEqual(const Tensor &actual, const Tensor &expected) {
  ASSERT_EQ(actual.byteSize(), expected.byteSize());
  EXPECT_EQ(std::memcmp(actual.data(), expected.data(), size_t(actual.byteSize())), 0);
}

std::shared_ptr<const runtime::Executable> compiled(const std::string &formats) {
  CompileOptions options;
  options.backend = "cpu";
  options.weightFormats = formats;
  auto made = compile(kProducts, options);
  EXPECT_TRUE(static_cast<bool>(made)) << made.message();
  return *made;
}

TEST(RoundedArguments, AreMadeOnceForEachBufferAndGoWithIt) {
  auto executable = compiled(R"({"up": "bfp_bf8", "default": "bfp_bf4"})");
  EXPECT_EQ(executable->info().arguments.size(), 3u);
  EXPECT_EQ(executable->info().notes.at("rounded once a buffer"), "2");
  int64_t before = PackedWeights::get().count();
  Tensor x = unit(24), up = filled({24, 40}, 1), down = filled({40, 24}, 2);
  for (int run = 0; run < 3; ++run) {
    auto results = executable->execute({{x, up, down}});
    ASSERT_TRUE(static_cast<bool>(results)) << results.message();
    expectEqual((*results)[0][0], *tensor::roundToBlocks(up, BlockFormat::Bfp8));
    expectEqual((*results)[0][1], *tensor::roundToBlocks(transposed(down), BlockFormat::Bfp4));
  }
  int64_t kept = PackedWeights::get().count();
  EXPECT_GE(kept, before + 2);
  // Another buffer is another weight.
  Tensor other = filled({24, 40}, 3);
  auto results = executable->execute({{x, other, down}});
  ASSERT_TRUE(static_cast<bool>(results)) << results.message();
  expectEqual((*results)[0][0], *tensor::roundToBlocks(other, BlockFormat::Bfp8));
  for (const Tensor *one : {&up, &other, &down})
    forgetArgument(one->data());
  EXPECT_EQ(PackedWeights::get().count(), before);
}

TEST(RoundedArguments, GoWithTheExecutable) {
  int64_t before = PackedWeights::get().count();
  Tensor x = unit(24), up = filled({24, 40}, 4), down = filled({40, 24}, 5);
  {
    auto executable = compiled("bfp8");
    ASSERT_TRUE(static_cast<bool>(executable->execute({{x, up, down}})));
    EXPECT_GT(PackedWeights::get().count(), before);
  }
  EXPECT_EQ(PackedWeights::get().count(), before);
}

TEST(RoundedArguments, ComeBackFromSavedBytes) {
  auto executable = compiled("bfp_bf4");
  auto again = deserialize(executable->serialize());
  ASSERT_TRUE(static_cast<bool>(again)) << again.message();
  Tensor x = unit(24), up = filled({24, 40}, 6), down = filled({40, 24}, 7);
  auto first = executable->execute({{x, up, down}}), second = (*again)->execute({{x, up, down}});
  ASSERT_TRUE(first && second);
  for (size_t i = 0; i < 2; ++i)
    expectEqual((*second)[0][i], (*first)[0][i]);
  EXPECT_NE(executable->info().fingerprint, compiled("bfp_bf8")->info().fingerprint);
}

TEST(RoundedArguments, LeaveWhatNoFormatNames) {
  auto executable = compiled(R"({"nothing": "bfp8"})");
  EXPECT_EQ(executable->info().notes.count("rounded once a buffer"), 0u);
  Tensor x = unit(24), up = filled({24, 40}, 8), down = filled({40, 24}, 9);
  auto results = executable->execute({{x, up, down}});
  ASSERT_TRUE(static_cast<bool>(results)) << results.message();
  expectEqual((*results)[0][0], up);
}

} // namespace
} // namespace cupel::compiler
