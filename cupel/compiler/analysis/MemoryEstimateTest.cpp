// The estimate of what a run takes against what it takes. Tensors of a mebibyte and more are
// announced to a guard, which looks at the heap each time.

#include "cupel/compiler/Compile.h"
#include "cupel/tensor/Allocation.h"

#include <gtest/gtest.h>

#include <atomic>
#include <malloc.h>

namespace cupel::compiler {
namespace {

using runtime::ProgramInfo;
using runtime::ValueInfo;
using tensor::DType;
using tensor::Tensor;

int64_t heapBytes() {
  struct mallinfo2 info = mallinfo2();
  return static_cast<int64_t>(info.uordblks + info.hblkhd);
}

std::atomic<int64_t> peak = 0;

Status watch(int64_t bytes) {
  int64_t now = heapBytes() + bytes;
  for (int64_t seen = peak; seen < now && !peak.compare_exchange_weak(seen, now);)
    ;
  return {};
}

struct Measured {
  int64_t estimate = 0, taken = 0; // Beside arguments, results included.
};

/// Runs a program, whose arguments are not given up, and compares.
Measured measure(const std::string &text, bool wide) {
  CompileOptions options;
  options.wideAccumulation = wide;
  auto made = compile(text, options);
  if (!made) {
    ADD_FAILURE() << made.error().message;
    return {};
  }
  const ProgramInfo &info = (*made)->info();
  std::vector<Tensor> held;
  for (const ValueInfo &argument : info.arguments)
    held.push_back(*Tensor::zeros(argument.type, argument.shape));
  Measured result;
  result.estimate = info.cost.temporaryBytes;
  for (const ValueInfo &value : info.results)
    result.estimate += value.shardBytes();
  for (int turn = 0; turn < 2; ++turn) { // The second finds threads and their stacks made.
    int64_t before = heapBytes();
    peak = before;
    tensor::setAllocationGuard(watch);
    auto outcome = (*made)->execute({held}, nullptr);
    tensor::setAllocationGuard(nullptr);
    EXPECT_TRUE(outcome) << (outcome ? "" : outcome.error().message);
    result.taken = peak - before;
  }
  return result;
}

struct Program {
  const char *name;
  std::string text;
};

std::string function(const std::string &signature, const std::string &body) {
  return "func.func @main(" + signature + " {\n" + body + "}\n";
}

std::vector<Program> programs() {
  std::vector<Program> list;
  list.push_back({"chain", function("%a: tensor<1024x1024xf32>) -> tensor<1024x1024xf32>", R"(
    %0 = stablehlo.sine %a : tensor<1024x1024xf32>
    %1 = stablehlo.cosine %0 : tensor<1024x1024xf32>
    %2 = stablehlo.add %1, %0 : tensor<1024x1024xf32>
    %3 = stablehlo.tanh %2 : tensor<1024x1024xf32>
    %4 = stablehlo.multiply %3, %a : tensor<1024x1024xf32>
    return %4 : tensor<1024x1024xf32>
)")});
  list.push_back({"mlp", function(R"(%x: tensor<1024x512xf32>, %w: tensor<512x1024xf32>,
      %b: tensor<1024xf32>, %v: tensor<1024x512xf32>) -> tensor<1024x512xf32>)",
                                  R"(
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<1024x512xf32>, tensor<512x1024xf32>) -> tensor<1024x1024xf32>
    %1 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<1024xf32>) -> tensor<1024x1024xf32>
    %2 = stablehlo.add %0, %1 : tensor<1024x1024xf32>
    %3 = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<1024x1024xf32>
    %4 = stablehlo.maximum %2, %3 : tensor<1024x1024xf32>
    %5 = stablehlo.dot_general %4, %v, contracting_dims = [1] x [0] : (tensor<1024x1024xf32>, tensor<1024x512xf32>) -> tensor<1024x512xf32>
    return %5 : tensor<1024x512xf32>
)")});
  list.push_back(
      {"convolution",
       function("%x: tensor<8x64x64x16xf32>, %k: tensor<3x3x16x32xf32>) -> tensor<8x64x64x32xf32>",
                R"(
    %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<8x64x64x16xf32>, tensor<3x3x16x32xf32>) -> tensor<8x64x64x32xf32>
    %1 = stablehlo.tanh %0 : tensor<8x64x64x32xf32>
    return %1 : tensor<8x64x64x32xf32>
)")});
  list.push_back({"loop", function("%a: tensor<1024x1024xf32>) -> tensor<1024x1024xf32>", R"(
    %n = stablehlo.constant dense<5> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %start = stablehlo.constant dense<0> : tensor<i32>
    %r:2 = stablehlo.while(%i = %start, %x = %a) : tensor<i32>, tensor<1024x1024xf32>
     cond {
      %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %j = stablehlo.add %i, %one : tensor<i32>
      %s = stablehlo.sine %x : tensor<1024x1024xf32>
      %t = stablehlo.add %s, %x : tensor<1024x1024xf32>
      stablehlo.return %j, %t : tensor<i32>, tensor<1024x1024xf32>
    }
    return %r#1 : tensor<1024x1024xf32>
)")});
  list.push_back({"scan", function("%a: tensor<16x512x512xf32>, %c: tensor<512x512xf32>) -> "
                                   "(tensor<512x512xf32>, tensor<16x512x512xf32>)",
                                   R"(
    %n = stablehlo.constant dense<16> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %f = stablehlo.constant dense<0.0> : tensor<f32>
    %out = stablehlo.broadcast_in_dim %f, dims = [] : (tensor<f32>) -> tensor<16x512x512xf32>
    %r:3 = stablehlo.while(%i = %zero, %x = %c, %ys = %out) : tensor<i32>, tensor<512x512xf32>, tensor<16x512x512xf32>
     cond {
      %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %s = stablehlo.dynamic_slice %a, %i, %zero, %zero, sizes = [1, 512, 512] : (tensor<16x512x512xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x512x512xf32>
      %q = stablehlo.reshape %s : (tensor<1x512x512xf32>) -> tensor<512x512xf32>
      %t = stablehlo.add %x, %q : tensor<512x512xf32>
      %u = stablehlo.tanh %t : tensor<512x512xf32>
      %v = stablehlo.reshape %u : (tensor<512x512xf32>) -> tensor<1x512x512xf32>
      %w = stablehlo.dynamic_update_slice %ys, %v, %i, %zero, %zero : (tensor<16x512x512xf32>, tensor<1x512x512xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<16x512x512xf32>
      %j = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %j, %t, %w : tensor<i32>, tensor<512x512xf32>, tensor<16x512x512xf32>
    }
    return %r#1, %r#2 : tensor<512x512xf32>, tensor<16x512x512xf32>
)")});
  list.push_back({"softmax", function("%a: tensor<512x2048xf32>) -> tensor<512x2048xf32>", R"(
    %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.reduce(%a init: %low) applies stablehlo.maximum across dimensions = [1] : (tensor<512x2048xf32>, tensor<f32>) -> tensor<512xf32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [0] : (tensor<512xf32>) -> tensor<512x2048xf32>
    %2 = stablehlo.subtract %a, %1 : tensor<512x2048xf32>
    %3 = stablehlo.exponential %2 : tensor<512x2048xf32>
    %4 = stablehlo.reduce(%3 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<512x2048xf32>, tensor<f32>) -> tensor<512xf32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<512xf32>) -> tensor<512x2048xf32>
    %6 = stablehlo.divide %3, %5 : tensor<512x2048xf32>
    return %6 : tensor<512x2048xf32>
)")});
  list.push_back({"movement", function("%a: tensor<1024x1024xf32>) -> tensor<2048x512xf32>", R"(
    %0 = stablehlo.transpose %a, dims = [1, 0] : (tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    %1 = stablehlo.concatenate %0, %a, dim = 0 : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<2048x1024xf32>
    %2 = stablehlo.slice %1 [0:2048, 0:1024:2] : (tensor<2048x1024xf32>) -> tensor<2048x512xf32>
    %3 = stablehlo.negate %2 : tensor<2048x512xf32>
    return %3 : tensor<2048x512xf32>
)")});
  list.push_back({"types", function("%a: tensor<1024x1024xbf16>) -> tensor<1024x1024xbf16>", R"(
    %0 = stablehlo.convert %a : (tensor<1024x1024xbf16>) -> tensor<1024x1024xf32>
    %1 = stablehlo.sine %0 : tensor<1024x1024xf32>
    %2 = stablehlo.compare GT, %0, %1 : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xi1>
    %3 = stablehlo.select %2, %0, %1 : (tensor<1024x1024xi1>, tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    %4 = stablehlo.convert %3 : (tensor<1024x1024xf32>) -> tensor<1024x1024xbf16>
    return %4 : tensor<1024x1024xbf16>
)")});
  list.push_back({"calls", R"(
  func.func private @f(%a: tensor<1024x1024xf32>, %b: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
    %0 = stablehlo.sine %a : tensor<1024x1024xf32>
    %1 = stablehlo.dot_general %0, %b, contracting_dims = [1] x [0] : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    return %1 : tensor<1024x1024xf32>
  }
  func.func @main(%a: tensor<1024x1024xf32>, %p: tensor<i1>) -> tensor<1024x1024xf32> {
    %0 = call @f(%a, %a) : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    %1 = call @f(%0, %a) : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    %2 = "stablehlo.if"(%p) ({
      %3 = stablehlo.add %1, %0 : tensor<1024x1024xf32>
      stablehlo.return %3 : tensor<1024x1024xf32>
    }, {
      %4 = stablehlo.transpose %1, dims = [1, 0] : (tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
      %5 = stablehlo.add %4, %0 : tensor<1024x1024xf32>
      stablehlo.return %5 : tensor<1024x1024xf32>
    }) : (tensor<i1>) -> tensor<1024x1024xf32>
    return %2 : tensor<1024x1024xf32>
  }
)"});
  return list;
}

TEST(MemoryEstimateTest, FollowsWhatIsTaken) {
#ifdef CUPEL_SANITIZED
  GTEST_SKIP() << "a sanitizer's heap is not the C library's, whose counts are compared here";
#endif
  for (bool wide : {false, true})
    for (const Program &program : programs()) {
      Measured one = measure(program.text, wide);
      double ratio = static_cast<double>(one.estimate) / static_cast<double>(one.taken);
      std::printf("%-12s %-7s estimated %6.2f MiB, taken %6.2f MiB, ratio %.2f\n", program.name,
                  wide ? "wide" : "native", one.estimate / 1048576., one.taken / 1048576., ratio);
      EXPECT_GT(ratio, 0.9) << program.name;
      EXPECT_LT(ratio, 1.2) << program.name;
    }
}

} // namespace
} // namespace cupel::compiler
