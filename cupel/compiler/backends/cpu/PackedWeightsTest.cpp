// Weights as arguments: packed once for each buffer, whoever runs with it, and gone with the buffer or
// with those who packed it.

#include "cupel/compiler/backends/cpu/PackedWeights.h"

#include "cupel/compiler/backends/cpu/BackendTesting.h"

#include <gtest/gtest.h>

namespace cupel::compiler {
namespace {

using tensor::DType;
using tensor::Tensor;

PackedWeights::KeptPointer keep(PackedWeights &all, const Tensor &weights, const char *layout,
                                int &packings, int64_t bytes = 100) {
  return all.find(weights, layout, [&] { return std::make_shared<const int>(++packings); }, bytes);
}

TEST(PackedWeights, AreMadeOnceForEachBufferAndLayout) {
  PackedWeights all(1000);
  Tensor one = filled({4}, 1), two = filled({4}, 2);
  int packings = 0;
  for (int run = 0; run < 3; ++run) {
    keep(all, one, "a", packings);
    keep(all, two, "a", packings);
    keep(all, one, "b", packings);
  }
  EXPECT_EQ(packings, 3);
  EXPECT_EQ(all.count(), 3);
  EXPECT_EQ(all.packedBytes(), 300);
  all.forget(one.data());
  EXPECT_EQ(all.count(), 1);
  EXPECT_EQ(all.packedBytes(), 100);
  keep(all, one, "a", packings);
  EXPECT_EQ(packings, 4);
}

TEST(PackedWeights, AreHeldSoThatNobodyWritesOverThem) {
  PackedWeights all(1000);
  Tensor one = filled({4}, 1);
  int packings = 0;
  keep(all, one, "a", packings);
  EXPECT_EQ(one.mutableData(), nullptr);
  all.forget(one.data());
  EXPECT_NE(one.mutableData(), nullptr);
}

TEST(PackedWeights, AreBoundedAndThoseInUseStay) {
  PackedWeights all(250);
  std::vector<Tensor> weights;
  for (int i = 0; i < 3; ++i)
    weights.push_back(filled({4}, float(i)));
  int packings = 0;
  keep(all, weights[0], "a", packings);
  keep(all, weights[1], "a", packings);
  keep(all, weights[2], "a", packings); // No room, and both are in use.
  EXPECT_EQ(all.packedBytes(), 200);
  keep(all, weights[0], "a", packings);
  EXPECT_EQ(packings, 3);
  // The second is not asked for any more and gives way.
  for (int i = 0; i < 8; ++i)
    keep(all, weights[0], "a", packings);
  keep(all, weights[2], "a", packings);
  keep(all, weights[2], "a", packings);
  EXPECT_EQ(packings, 4);
  EXPECT_EQ(all.packedBytes(), 200);
  keep(all, weights[1], "huge", packings, 1000); // Never fits, and is no reason to drop the others.
  EXPECT_EQ(all.packedBytes(), 200);
}

constexpr const char *kProduct = R"(func.func @main(%x: tensor<8x32xTYPE>, %w: tensor<32x16xTYPE>) -> tensor<8x16xTYPE> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x32xTYPE>, tensor<32x16xTYPE>) -> tensor<8x16xTYPE>
  return %0 : tensor<8x16xTYPE>
})";

std::shared_ptr<const runtime::Executable> compiled(std::string type) {
  std::string text = kProduct;
  for (size_t at; (at = text.find("TYPE")) != std::string::npos;)
    text.replace(at, 4, type);
  CompileOptions options;
  options.backend = "cpu";
  auto made = compile(text, options);
  EXPECT_TRUE(made) << made.message();
  return made ? *made : nullptr;
}

TEST(PackedWeights, OfAProgramGoWithTheBufferOrTheExecutable) {
  PackedWeights &all = PackedWeights::get();
  int64_t before = all.count();
  Tensor x = filled({8, 32}, 1), first = filled({32, 16}, 2), second = filled({32, 16}, 3);
  auto one = compiled("f32"), other = compiled("f32");
  ASSERT_TRUE(one && other);
  for (int run = 0; run < 2; ++run)
    for (auto [weights, expected] : {std::pair(&first, 64.f), std::pair(&second, 96.f)})
      for (const auto &executable : {one, other}) {
        auto results = executable->execute({{x, *weights}});
        ASSERT_TRUE(results) << results.message();
        EXPECT_EQ((*results)[0][0].dataAs<float>()[5], expected);
      }
  EXPECT_EQ(all.count(), before + 2); // Two buffers, however many executables.
  forgetArgument(first.data());
  EXPECT_EQ(all.count(), before + 1);
  one.reset();
  other.reset();
  EXPECT_EQ(all.count(), before);
}

TEST(PackedWeights, InBf16SumInF32AndRoundOnce) {
  // 1 + 31 * 2^-9: each term alone would be lost in bf16, which has 8 bits.
  auto bf16 = [](float value) { return uint16_t(std::bit_cast<uint32_t>(value) >> 16); };
  Tensor x = *Tensor::uninitialized(DType::BF16, {8, 32}), w = *Tensor::uninitialized(DType::BF16, {32, 16});
  for (int64_t i = 0; i < x.size(); ++i)
    x.mutableAs<uint16_t>()[i] = bf16(i % 32 == 0 ? 1.f : 0x1p-9f);
  for (int64_t i = 0; i < w.size(); ++i)
    w.mutableAs<uint16_t>()[i] = bf16(1.f);
  auto executable = compiled("bf16");
  ASSERT_TRUE(executable);
  auto results = executable->execute({{x, w}});
  ASSERT_TRUE(results) << results.message();
  for (int64_t i = 0; i < 8 * 16; ++i) // 1.060546875, of which bf16 has 1.0625.
    EXPECT_EQ((*results)[0][0].dataAs<uint16_t>()[i], bf16(1.0625f));
  const auto &notes = executable->info().notes;
  EXPECT_FALSE(notes.contains("fallbacks")) << notes.at("fallbacks");
}

} // namespace
} // namespace cupel::compiler
