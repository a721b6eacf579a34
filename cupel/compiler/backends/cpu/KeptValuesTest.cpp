// What follows from small arguments: computed once while they stay, and anew when one of them is another.

#include "cupel/compiler/backends/cpu/KeptValues.h"

#include "cupel/compiler/backends/cpu/BackendTesting.h"

#include <gtest/gtest.h>

namespace cupel::compiler {
namespace {

using tensor::Tensor;

/// Three launches: 0 follows from the first argument, 2 from both.
KeptPlan planOfTwo() {
  KeptPlan plan;
  plan.arguments = {0, 2};
  plan.launches = {{0, {0}}, {2, {0, 1}}};
  plan.launchCount = 3;
  return plan;
}

std::vector<int> leftOut(KeptValues &values, const KeptPlan &plan, const std::vector<Tensor> &given, bool ends = true) {
  std::span<const uint8_t> left = values.begin(plan, given);
  std::vector<int> found(left.begin(), left.end());
  if (ends)
    values.end();
  return found;
}

TEST(KeptValues, LaunchesAreLeftOutWhileTheirArgumentsStay) {
  KeptPlan plan = planOfTwo();
  KeptValues values;
  Tensor a = filled({4}, 1), x = filled({4}, 2), b = filled({4}, 3), other = filled({4}, 3);
  EXPECT_EQ(leftOut(values, plan, {a, x, b}), (std::vector{0, 0, 0}));
  EXPECT_EQ(leftOut(values, plan, {a, x, b}), (std::vector{1, 0, 1}));
  EXPECT_EQ(leftOut(values, plan, {a, x, other}), (std::vector{1, 0, 0}));
  EXPECT_EQ(leftOut(values, plan, {a, x, other}), (std::vector{1, 0, 1}));
  EXPECT_EQ(leftOut(values, plan, {other, x, other}), (std::vector{0, 0, 0}));
}

TEST(KeptValues, ARunThatBrokeOffLeavesNothing) {
  KeptPlan plan = planOfTwo();
  KeptValues values;
  Tensor a = filled({4}, 1), b = filled({4}, 3);
  leftOut(values, plan, {a, a, b}, false);
  EXPECT_EQ(leftOut(values, plan, {a, a, b}, false), (std::vector{0, 0, 0}));
  EXPECT_EQ(leftOut(values, plan, {a, a, b}), (std::vector{0, 0, 0}));
  EXPECT_EQ(leftOut(values, plan, {a, a, b}), (std::vector{1, 0, 1}));
  values.forget();
  EXPECT_EQ(leftOut(values, plan, {a, a, b}), (std::vector{0, 0, 0}));
}

TEST(KeptValues, ArgumentsAreHeldUntilTheyChangeTooOften) {
  KeptPlan plan = planOfTwo();
  KeptValues values;
  Tensor a = filled({4}, 1), b = filled({4}, 3);
  leftOut(values, plan, {a, a, b});
  EXPECT_EQ(b.mutableData(), nullptr); // So its address is that of no other tensor.
  for (int run = 0; run < 8; ++run) {
    Tensor moving = filled({4}, float(run));
    leftOut(values, plan, {a, a, moving});
    if (run > 3) {
      EXPECT_NE(moving.mutableData(), nullptr);
    }
  }
  EXPECT_NE(b.mutableData(), nullptr);
  EXPECT_EQ(leftOut(values, plan, {a, a, b}), (std::vector{1, 0, 0}));
}

/// A product whose columns are scaled by a number that follows from two small arguments.
constexpr const char *kScaled = R"(func.func @main(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>, %v: tensor<64xf32>, %g: tensor<64xf32>) -> tensor<64x64xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = stablehlo.sqrt %v : tensor<64xf32>
  %2 = stablehlo.multiply %1, %g : tensor<64xf32>
  %3 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<64xf32>) -> tensor<64x64xf32>
  %4 = stablehlo.tanh %3 : tensor<64x64xf32>
  %5 = stablehlo.dot_general %0, %4, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %5 : tensor<64x64xf32>
})";

TEST(KeptValues, ResultsFollowTheArguments) {
  for (bool traces : {false, true}) {
    CompileOptions options;
    options.backend = "cpu";
    options.enablesTrace = traces;
    auto kept = compile(kScaled, options);
    ASSERT_TRUE(kept) << kept.message();
    Tensor x = filled({64, 64}, 1), w = filled({64, 64}, 0.01f), one = filled({64}, 0.25f), g = filled({64}, 0.5f);
    auto resultOf = [&](const runtime::Executable &executable, const Tensor &v) {
      auto results = executable.execute({{x, w, v, g}});
      EXPECT_TRUE(results) << results.message();
      return results ? (*results)[0][0].dataAs<float>()[7] : 0;
    };
    for (float value : {0.25f, 0.25f, 4.f, 0.0f, 0.25f, 9.f, 1.f, 16.f, 2.f}) {
      Tensor v = filled({64}, value);
      auto fresh = compile(kScaled, options); // Knows nothing of other runs.
      ASSERT_TRUE(fresh) << fresh.message();
      float expected = resultOf(**fresh, v);
      for (int run = 0; run < 3; ++run)
        EXPECT_EQ(resultOf(**kept, v), expected) << value;
      EXPECT_EQ(resultOf(**kept, one), resultOf(**kept, one));
    }
  }
}

} // namespace
} // namespace cupel::compiler
