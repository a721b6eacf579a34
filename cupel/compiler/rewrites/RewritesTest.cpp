#include "cupel/compiler/Compile.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>

namespace cupel::compiler {
namespace {

using tensor::DType;
using tensor::Tensor;

// Something for every pass of the cpu backend. The sums are on lines of their own.
constexpr const char *kProgram = R"(func.func @main(%x: tensor<2x5x6x3xf32>, %k: tensor<3x3x3x4xf32>, %w: tensor<4x7xf32>, %b: tensor<7xf32>) -> (tensor<2x5x6x7xf32>, tensor<7xf32>) {
  %image = stablehlo.transpose %x, dims = [0, 3, 1, 2] : (tensor<2x5x6x3xf32>) -> tensor<2x3x5x6xf32>
  %0 = stablehlo.convolution(%image, %k) dim_numbers = [b, f, 0, 1]x[0, 1, i, o]->[b, f, 0, 1], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x3x5x6xf32>, tensor<3x3x3x4xf32>) -> tensor<2x4x5x6xf32>
  %c = stablehlo.constant dense<0.25> : tensor<f32>
  %half = stablehlo.add %c, %c : tensor<f32>
  %1 = stablehlo.broadcast_in_dim %half, dims = [] : (tensor<f32>) -> tensor<2x4x5x6xf32>
  %2 = stablehlo.add %0, %1 : tensor<2x4x5x6xf32>
  %3 = stablehlo.tanh %2 : tensor<2x4x5x6xf32>
  %4 = stablehlo.dot_general %3, %w, contracting_dims = [1] x [0] : (tensor<2x4x5x6xf32>, tensor<4x7xf32>) -> tensor<2x5x6x7xf32>
  %5 = stablehlo.broadcast_in_dim %b, dims = [3] : (tensor<7xf32>) -> tensor<2x5x6x7xf32>
  %6 = stablehlo.add %4, %5 : tensor<2x5x6x7xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %7 = stablehlo.exponential %6 : tensor<2x5x6x7xf32>
  %8 = stablehlo.reduce(%7 init: %zero) applies stablehlo.add across dimensions = [3] : (tensor<2x5x6x7xf32>, tensor<f32>) -> tensor<2x5x6xf32>
  %9 = stablehlo.broadcast_in_dim %8, dims = [0, 1, 2] : (tensor<2x5x6xf32>) -> tensor<2x5x6x7xf32>
  %10 = stablehlo.divide %7, %9 : tensor<2x5x6x7xf32>
  %11 = stablehlo.reduce(%6 init: %zero) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<2x5x6x7xf32>, tensor<f32>) -> tensor<7xf32>
  %12 = stablehlo.sine %11 : tensor<7xf32>
  %13 = stablehlo.add %12, %b : tensor<7xf32>
  return %10, %13 : tensor<2x5x6x7xf32>, tensor<7xf32>
})";
constexpr int kLinesOfSums[] = {7, 11, 19}; // Of those that are left when constants are folded.

Tensor filled(std::vector<int64_t> shape, int seed) {
  Result<Tensor> tensor = Tensor::zeros(DType::F32, shape);
  for (int64_t i = 0; i < tensor->size(); ++i)
    tensor->mutableAs<float>()[i] = float((i * 37 + seed * 11) % 41) / 41.0f - 0.3f;
  return std::move(*tensor);
}

struct Made {
  std::vector<Tensor> results;
  std::map<std::string, std::string> notes;
};

Made run(CompileOptions options, const char *program = kProgram) {
  auto executable = compile(program, options);
  if (!executable) {
    ADD_FAILURE() << executable.message();
    return {};
  }
  std::vector<Tensor> arguments;
  for (const runtime::ValueInfo &value : (*executable)->info().arguments)
    arguments.push_back(filled(value.shape, int(arguments.size()) + 1));
  auto results = (*executable)->execute({arguments});
  if (!results) {
    ADD_FAILURE() << results.message();
    return {};
  }
  return {std::move((*results)[0]), (*executable)->info().notes};
}

CompileOptions onCpu(int64_t limit, int64_t wrong = 0) {
  CompileOptions options;
  options.backend = "cpu";
  options.rewriteLimit = limit;
  options.wrongRewrite = wrong;
  return options;
}

bool isClose(const std::vector<Tensor> &a, const std::vector<Tensor> &b) {
  for (size_t r = 0; r < a.size(); ++r)
    for (int64_t i = 0; i < a[r].size(); ++i)
      if (!(std::abs(a[r].dataAs<float>()[i] - b[r].dataAs<float>()[i]) <= 1e-4f))
        return false;
  return a.size() == b.size() && !a.empty();
}

int64_t rewritesOf(const Made &made) {
  long long done = -1, all = -1;
  EXPECT_EQ(std::sscanf(made.notes.at("rewrites").c_str(), "%lld of %lld", &done, &all), 2);
  return done;
}

TEST(RewritesTest, EveryLimitIsARightProgram) {
  Made expected = run({}), all = run(onCpu(1 << 20));
  EXPECT_TRUE(isClose(expected.results, all.results));
  int64_t total = rewritesOf(all);
  EXPECT_GT(total, 12);
  std::map<std::string, int> patterns;
  for (int64_t limit = 0; limit <= total; ++limit) {
    Made made = run(onCpu(limit));
    EXPECT_TRUE(isClose(expected.results, made.results)) << limit;
    EXPECT_EQ(rewritesOf(made), limit);
    if (limit == 0) {
      EXPECT_FALSE(made.notes.contains("last_rewrite"));
      continue;
    }
    const std::string &last = made.notes.at("last_rewrite");
    EXPECT_TRUE(last.starts_with("rewrite " + std::to_string(limit) + ": pass ")) << last;
    size_t begin = last.find("pattern ") + 8;
    ++patterns[last.substr(begin, last.find(" at ") - begin)];
  }
  for (const char *pattern : {"fold", "convolution", "product", "epilogue", "row", "reduction", "map",
                              "reuse-memory"})
    EXPECT_TRUE(patterns.contains(pattern)) << pattern;
  EXPECT_FALSE(run(onCpu(-1)).notes.contains("rewrites")) << "counted although nobody asked";
}

constexpr const char *kLoop = R"(func.func @main(%x: tensor<3x4xf32>, %y: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %n = stablehlo.constant dense<5> : tensor<i32>
  %0:2 = stablehlo.while(%i = %zero, %s = %x) : tensor<i32>, tensor<3x4xf32> cond {
    %c = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %next = stablehlo.add %i, %one : tensor<i32>
    %two = stablehlo.constant dense<2> : tensor<i32>
    %p = stablehlo.compare LT, %i, %two, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %t = "stablehlo.if"(%p) ({
      %a = stablehlo.sine %s : tensor<3x4xf32>
      stablehlo.return %a : tensor<3x4xf32>
    }, {
      %b = stablehlo.add %s, %y : tensor<3x4xf32>
      stablehlo.return %b : tensor<3x4xf32>
    }) : (tensor<i1>) -> tensor<3x4xf32>
    stablehlo.return %next, %t : tensor<i32>, tensor<3x4xf32>
  }
  %1 = stablehlo.negate %0#1 : tensor<3x4xf32>
  return %1 : tensor<3x4xf32>
})";

TEST(RewritesTest, EveryLimitOfALoopIsARightProgram) {
  Made expected = run({}, kLoop), all = run(onCpu(1 << 20), kLoop);
  EXPECT_TRUE(isClose(expected.results, all.results));
  int64_t total = rewritesOf(all);
  std::string lasts;
  for (int64_t limit = 0; limit <= total; ++limit) {
    Made made = run(onCpu(limit), kLoop);
    EXPECT_TRUE(isClose(expected.results, made.results)) << limit;
    if (limit > 0)
      lasts += made.notes.at("last_rewrite") + "\n";
  }
  EXPECT_NE(lasts.find("pass outline-control-flow, pattern outline at stablehlo.while"),
            std::string::npos)
      << lasts;
}

TEST(RewritesTest, AWrongRewriteIsFoundByHalving) {
  Made expected = run({});
  for (int wrong : {1, 2, 3}) {
    int64_t right = 0, bad = rewritesOf(run(onCpu(1 << 20, wrong)));
    ASSERT_FALSE(isClose(expected.results, run(onCpu(bad, wrong)).results)) << "nothing is wrong";
    ASSERT_TRUE(isClose(expected.results, run(onCpu(right, wrong)).results));
    while (bad - right > 1) {
      int64_t middle = (right + bad) / 2;
      (isClose(expected.results, run(onCpu(middle, wrong)).results) ? right : bad) = middle;
    }
    EXPECT_EQ(run(onCpu(bad, wrong)).notes.at("last_rewrite"),
              "rewrite " + std::to_string(bad) +
                  ": pass plant-wrong-rewrite, pattern commute at stablehlo.add (program:" +
                  std::to_string(kLinesOfSums[wrong - 1]) + ":" +
                  (wrong == 3 ? "9" : "8") + ")");
  }
}

TEST(RewritesTest, SavedExecutablesKeepTheLimit) {
  auto executable = compile(kProgram, onCpu(5, 2));
  ASSERT_TRUE(executable) << executable.message();
  Result<CompileOptions> read = parseCompileOptions(describe(onCpu(5, 2)));
  ASSERT_TRUE(read) << read.message();
  EXPECT_EQ(read->rewriteLimit, 5);
  EXPECT_EQ(read->wrongRewrite, 2);
  auto other = compile(kProgram, onCpu(6, 2));
  ASSERT_TRUE(other);
  EXPECT_NE((*executable)->info().fingerprint, (*other)->info().fingerprint);
}

} // namespace
} // namespace cupel::compiler
