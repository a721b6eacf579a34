#include "cupel/compiler/Compile.h"

#include <gtest/gtest.h>

#include <cstring>

namespace cupel::compiler {
namespace {

using tensor::DType;
using tensor::Tensor;

// A name by which the source would be found again, a constant, a fallback, and notes on arguments.
constexpr const char *kProgram = R"(module @saved {
  sdy.mesh @only = <["x"=1]>
  func.func @main(%x: tensor<4x6xf32> {jax.buffer_donor = true, sdy.sharding = #sdy.sharding<@only, [{"x"}, {}]>}, %w: tensor<6x8xf32>)
      -> (tensor<4x8xf32>, tensor<8x4xf32> {mhlo.layout_mode = "auto"}, tensor<4x6xf32>) {
    %noticeable = stablehlo.constant dense<[1.5, -2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5]> : tensor<8xf32>
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x6xf32>, tensor<6x8xf32>) -> tensor<4x8xf32>
    %1 = stablehlo.broadcast_in_dim %noticeable, dims = [1] : (tensor<8xf32>) -> tensor<4x8xf32>
    %2 = stablehlo.add %0, %1 : tensor<4x8xf32>
    %3 = "stablehlo.sort"(%2) <{dimension = 1 : i64, is_stable = true}> ({
    ^bb0(%p: tensor<f32>, %q: tensor<f32>):
      %a = stablehlo.abs %p : tensor<f32>
      %b = stablehlo.abs %q : tensor<f32>
      %c = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    }) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %4 = stablehlo.transpose %3, dims = [1, 0] : (tensor<4x8xf32>) -> tensor<8x4xf32>
    %5 = stablehlo.tanh %x : tensor<4x6xf32>
    return %3, %4, %5 : tensor<4x8xf32>, tensor<8x4xf32>, tensor<4x6xf32>
  }
})";

using ExecutablePointer = std::shared_ptr<const runtime::Executable>;

ExecutablePointer compiled() {
  CompileOptions options;
  options.backend = "cpu";
  auto made = compile(kProgram, options);
  EXPECT_TRUE(made) << made.message();
  return made ? *made : nullptr;
}

std::vector<Tensor> run(const ExecutablePointer &executable) {
  std::vector<Tensor> arguments;
  for (std::vector<int64_t> shape : {std::vector<int64_t>{4, 6}, std::vector<int64_t>{6, 8}}) {
    Result<Tensor> argument = Tensor::zeros(DType::F32, shape);
    for (int64_t i = 0; i < argument->size(); ++i)
      argument->mutableAs<float>()[i] = float(i % 7) / 3 - 1;
    arguments.push_back(std::move(*argument));
  }
  auto results = executable->execute({arguments});
  EXPECT_TRUE(results) << results.message();
  return results ? std::move((*results)[0]) : std::vector<Tensor>();
}

TEST(SavedProgramTest, LoadsToEqualBitsWithoutTheSource) {
  ExecutablePointer made = compiled();
  std::string bytes = made->serialize();
  EXPECT_NE(bytes.find("device program\n"), std::string::npos);
  EXPECT_EQ(bytes.find("noticeable"), std::string::npos) << "the source is in the saved form";
  auto loaded = deserialize(bytes);
  ASSERT_TRUE(loaded) << loaded.message();
  std::vector<Tensor> expected = run(made), actual = run(*loaded);
  ASSERT_EQ(expected.size(), 3u);
  ASSERT_EQ(actual.size(), 3u);
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_EQ(expected[i].byteSize(), actual[i].byteSize());
    EXPECT_EQ(std::memcmp(expected[i].data(), actual[i].data(), size_t(expected[i].byteSize())), 0);
  }
}

TEST(SavedProgramTest, SaysOfItselfWhatWasSaid) {
  ExecutablePointer made = compiled();
  auto loaded = deserialize(made->serialize());
  ASSERT_TRUE(loaded) << loaded.message();
  const runtime::ProgramInfo &before = made->info(), &after = (*loaded)->info();
  EXPECT_EQ(after.name, "saved");
  EXPECT_EQ(after.fingerprint, before.fingerprint);
  EXPECT_EQ(after.notes, before.notes);
  EXPECT_FALSE(after.notes.at("fallbacks").empty());
  EXPECT_EQ(after.isBrief, before.isBrief);
  EXPECT_EQ(after.cost.flops, before.cost.flops);
  EXPECT_EQ(after.cost.temporaryBytes, before.cost.temporaryBytes);
  ASSERT_EQ(after.arguments.size(), 2u);
  EXPECT_EQ(after.arguments[0].isDonor, before.arguments[0].isDonor);
  EXPECT_EQ(after.arguments[0].hasShards, before.arguments[0].hasShards);
  ASSERT_EQ(after.results.size(), 3u);
  EXPECT_EQ(before.results[1].layoutMode, "{0,1}");
  EXPECT_EQ(after.results[1].layoutMode, before.results[1].layoutMode);
  EXPECT_EQ(after.results[0].layoutMode, before.results[0].layoutMode);
  EXPECT_NE((*loaded)->text().find("stablehlo.dot_general"), std::string::npos);
  EXPECT_EQ((*loaded)->text().find("cupel."), std::string::npos) << (*loaded)->text();
  // What was loaded is saved as what was compiled.
  EXPECT_EQ((*loaded)->serialize(), made->serialize());
}

TEST(SavedProgramTest, RefusesWhatIsNotItsOwn) {
  std::string bytes = compiled()->serialize();
  auto refusal = [](const std::string &changed) {
    auto loaded = deserialize(changed);
    EXPECT_FALSE(loaded);
    return loaded ? "" : loaded.message();
  };
  std::string damaged = bytes;
  damaged[bytes.size() - 20] = char(damaged[bytes.size() - 20] ^ 1);
  EXPECT_NE(refusal(damaged).find("damaged"), std::string::npos);
  EXPECT_NE(refusal(bytes.substr(0, bytes.size() / 2)).find("damaged"), std::string::npos);
  size_t lines = bytes.find("device program\n") + 15;
  EXPECT_NE(refusal(bytes.substr(0, lines + 5)).find("cut off"), std::string::npos);
  std::string old = bytes;
  old.replace(lines, bytes.find('\n', lines) - lines, "0.0.1 0123456789abcdef");
  std::string why = refusal(old);
  EXPECT_NE(why.find("0.0.1"), std::string::npos) << why;
  EXPECT_NE(why.find("compile the program again"), std::string::npos) << why;
}

TEST(SavedProgramTest, AnotherProcessorIsSaid) {
  std::string bytes = compiled()->serialize();
  size_t line = bytes.find('\n', bytes.find("device program\n") + 15) + 1;
  bytes.replace(line, bytes.find('\n', line) - line, "sparc-sun-solaris ultra 2 lanes");
  auto loaded = deserialize(bytes);
  ASSERT_TRUE(loaded) << loaded.message();
  const std::string &note = (*loaded)->info().notes.at("processor");
  EXPECT_TRUE(note.starts_with("saved on sparc-sun-solaris ultra 2 lanes; its code was made anew"))
      << note;
  EXPECT_EQ(run(*loaded).size(), 3u);
}

} // namespace
} // namespace cupel::compiler
