// Programs of the kinds that models are made of, large enough to be shared among threads: neither
// the number of threads nor the run shows in the bits of their results.

#include "cupel/compiler/Compile.h"

#include <gtest/gtest.h>

#include <cstring>

namespace cupel::compiler {
namespace {

using tensor::DType;
using tensor::Tensor;

struct Kind {
  const char *name, *text;
};

constexpr Kind kKinds[] = {
    {"mlp", R"(func.func @main(%x: tensor<32x512xf32>, %u: tensor<512x768xf32>, %v: tensor<768x256xf32>, %b: tensor<768xf32>) -> tensor<32x256xf32> {
  %0 = stablehlo.dot_general %x, %u, contracting_dims = [1] x [0] : (tensor<32x512xf32>, tensor<512x768xf32>) -> tensor<32x768xf32>
  %1 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<768xf32>) -> tensor<32x768xf32>
  %2 = stablehlo.add %0, %1 : tensor<32x768xf32>
  %3 = stablehlo.tanh %2 : tensor<32x768xf32>
  %4 = stablehlo.dot_general %3, %v, contracting_dims = [1] x [0] : (tensor<32x768xf32>, tensor<768x256xf32>) -> tensor<32x256xf32>
  return %4 : tensor<32x256xf32>
})"},
    {"one row times a matrix", R"(func.func @main(%x: tensor<1x1000xf32>, %w: tensor<1000x1111xf32>) -> tensor<1x1111xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<1x1000xf32>, tensor<1000x1111xf32>) -> tensor<1x1111xf32>
  return %0 : tensor<1x1111xf32>
})"},
    {"convolutions", R"(func.func @main(%x: tensor<1x3x57x61xf32>, %k: tensor<32x3x7x7xf32>, %d: tensor<32x1x3x3xf32>, %p: tensor<48x32x1x1xf32>) -> (tensor<1x48x29x31xf32>, tensor<1x48xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [2, 2], pad = [[3, 3], [3, 3]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x3x57x61xf32>, tensor<32x3x7x7xf32>) -> tensor<1x32x29x31xf32>
  %zeros = stablehlo.constant dense<0.0> : tensor<1x32x29x31xf32>
  %1 = stablehlo.maximum %0, %zeros : tensor<1x32x29x31xf32>
  %2 = stablehlo.convolution(%1, %d) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 32 : i64} : (tensor<1x32x29x31xf32>, tensor<32x1x3x3xf32>) -> tensor<1x32x29x31xf32>
  %3 = stablehlo.convolution(%2, %p) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x32x29x31xf32>, tensor<48x32x1x1xf32>) -> tensor<1x48x29x31xf32>
  %4 = stablehlo.reduce(%3 init: %zero) applies stablehlo.add across dimensions = [2, 3] : (tensor<1x48x29x31xf32>, tensor<f32>) -> tensor<1x48xf32>
  return %3, %4 : tensor<1x48x29x31xf32>, tensor<1x48xf32>
})"},
    {"attention", R"(func.func @main(%q: tensor<2x4x96x32xf32>, %k: tensor<2x4x96x32xf32>, %v: tensor<2x4x96x32xf32>) -> tensor<2x4x96x32xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0 = stablehlo.dot_general %q, %k, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3] : (tensor<2x4x96x32xf32>, tensor<2x4x96x32xf32>) -> tensor<2x4x96x96xf32>
  %1 = stablehlo.reduce(%0 init: %least) applies stablehlo.maximum across dimensions = [3] : (tensor<2x4x96x96xf32>, tensor<f32>) -> tensor<2x4x96xf32>
  %2 = stablehlo.broadcast_in_dim %1, dims = [0, 1, 2] : (tensor<2x4x96xf32>) -> tensor<2x4x96x96xf32>
  %3 = stablehlo.subtract %0, %2 : tensor<2x4x96x96xf32>
  %4 = stablehlo.exponential %3 : tensor<2x4x96x96xf32>
  %5 = stablehlo.reduce(%4 init: %zero) applies stablehlo.add across dimensions = [3] : (tensor<2x4x96x96xf32>, tensor<f32>) -> tensor<2x4x96xf32>
  %6 = stablehlo.broadcast_in_dim %5, dims = [0, 1, 2] : (tensor<2x4x96xf32>) -> tensor<2x4x96x96xf32>
  %7 = stablehlo.divide %4, %6 : tensor<2x4x96x96xf32>
  %8 = stablehlo.dot_general %7, %v, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2] : (tensor<2x4x96x96xf32>, tensor<2x4x96x32xf32>) -> tensor<2x4x96x32xf32>
  return %8 : tensor<2x4x96x32xf32>
})"},
    {"norm of rows", R"(func.func @main(%x: tensor<777x513xf32>) -> (tensor<777x513xf32>, tensor<777xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %n = stablehlo.constant dense<0.001949318> : tensor<777xf32>
  %0 = stablehlo.multiply %x, %x : tensor<777x513xf32>
  %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<777x513xf32>, tensor<f32>) -> tensor<777xf32>
  %2 = stablehlo.multiply %1, %n : tensor<777xf32>
  %3 = stablehlo.rsqrt %2 : tensor<777xf32>
  %4 = stablehlo.broadcast_in_dim %3, dims = [0] : (tensor<777xf32>) -> tensor<777x513xf32>
  %5 = stablehlo.multiply %x, %4 : tensor<777x513xf32>
  return %5, %2 : tensor<777x513xf32>, tensor<777xf32>
})"},
    {"elementwise, transposed, reduced every way", R"(func.func @main(%x: tensor<701x803xf32>, %y: tensor<803x701xf32>) -> (tensor<701x803xf32>, tensor<803xf32>, tensor<701xf32>, tensor<f32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.transpose %y, dims = [1, 0] : (tensor<803x701xf32>) -> tensor<701x803xf32>
  %1 = stablehlo.multiply %x, %0 : tensor<701x803xf32>
  %2 = stablehlo.exponential %1 : tensor<701x803xf32>
  %3 = stablehlo.logistic %2 : tensor<701x803xf32>
  %4 = stablehlo.reduce(%3 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<701x803xf32>, tensor<f32>) -> tensor<803xf32>
  %5 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<701x803xf32>, tensor<f32>) -> tensor<701xf32>
  %6 = stablehlo.reduce(%y init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<803x701xf32>, tensor<f32>) -> tensor<f32>
  return %3, %4, %5, %6 : tensor<701x803xf32>, tensor<803xf32>, tensor<701xf32>, tensor<f32>
})"},
    {"a step of training", R"(func.func @main(%x: tensor<64x300xf32>, %w: tensor<300x200xf32>, %t: tensor<64x200xf32>) -> (tensor<300x200xf32>, tensor<f32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %rate = stablehlo.constant dense<-0.01> : tensor<300x200xf32>
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<64x300xf32>, tensor<300x200xf32>) -> tensor<64x200xf32>
  %1 = stablehlo.tanh %0 : tensor<64x200xf32>
  %2 = stablehlo.subtract %1, %t : tensor<64x200xf32>
  %3 = stablehlo.multiply %2, %2 : tensor<64x200xf32>
  %loss = stablehlo.reduce(%3 init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<64x200xf32>, tensor<f32>) -> tensor<f32>
  %4 = stablehlo.multiply %1, %1 : tensor<64x200xf32>
  %ones = stablehlo.constant dense<1.0> : tensor<64x200xf32>
  %5 = stablehlo.subtract %ones, %4 : tensor<64x200xf32>
  %6 = stablehlo.multiply %2, %5 : tensor<64x200xf32>
  %7 = stablehlo.dot_general %x, %6, contracting_dims = [0] x [0] : (tensor<64x300xf32>, tensor<64x200xf32>) -> tensor<300x200xf32>
  %8 = stablehlo.multiply %7, %rate : tensor<300x200xf32>
  %9 = stablehlo.add %w, %8 : tensor<300x200xf32>
  return %9, %loss : tensor<300x200xf32>, tensor<f32>
})"},
    {"a loop", R"(func.func @main(%x: tensor<301x257xf32>) -> (tensor<301x257xf32>, tensor<301x257xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %n = stablehlo.constant dense<5> : tensor<i32>
  %0:2 = stablehlo.while(%i = %zero, %s = %x) : tensor<i32>, tensor<301x257xf32> cond {
    %c = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %next = stablehlo.add %i, %one : tensor<i32>
    %t = stablehlo.sine %s : tensor<301x257xf32>
    %u = stablehlo.add %t, %x : tensor<301x257xf32>
    stablehlo.return %next, %u : tensor<i32>, tensor<301x257xf32>
  }
  %1 = "stablehlo.sort"(%0#1) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %c = stablehlo.compare LT, %p, %q : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) : (tensor<301x257xf32>) -> tensor<301x257xf32>
  return %0#1, %1 : tensor<301x257xf32>, tensor<301x257xf32>
})"},
};

std::vector<Tensor> argumentsOf(const runtime::Executable &executable) {
  std::vector<Tensor> arguments;
  uint64_t state = 7;
  for (const runtime::ValueInfo &value : executable.info().arguments) {
    Result<Tensor> argument = Tensor::zeros(DType::F32, value.shape);
    for (int64_t i = 0; i < argument->size(); ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      argument->mutableAs<float>()[i] = float(state >> 40) / float(1 << 23) - 1;
    }
    arguments.push_back(std::move(*argument));
  }
  return arguments;
}

TEST(ThreadsTest, BitsDependNeitherOnThreadsNorOnTheRun) {
  for (const Kind &kind : kKinds) {
    CompileOptions options;
    options.backend = "cpu";
    auto executable = compile(kind.text, options);
    ASSERT_TRUE(executable) << kind.name << ": " << executable.message();
    EXPECT_FALSE((*executable)->info().notes.contains("backend")) << kind.name;
    std::vector<Tensor> arguments = argumentsOf(**executable), first;
    for (bool always : {false, true})
      for (int threads : {1, 1, 2, 3, 7}) {
        useThreads(threads, always);
        auto results = (*executable)->execute({arguments});
        ASSERT_TRUE(results) << kind.name << ": " << results.message();
        if (first.empty())
          first = (*results)[0];
        ASSERT_EQ(first.size(), (*results)[0].size());
        for (size_t r = 0; r < first.size(); ++r)
          EXPECT_EQ(std::memcmp(first[r].data(), (*results)[0][r].data(),
                                size_t(first[r].byteSize())),
                    0)
              << kind.name << ", result " << r << ", " << threads << " threads";
      }
  }
  useThreads(0);
}

} // namespace
} // namespace cupel::compiler
