#include "cupel/testbench/worker/ChosenInputs.h"

#include "cupel/testbench/worker/ProgramReader.h"

#include <gtest/gtest.h>
#include <set>

namespace cupel::testbench::worker {
namespace {

using tensor::Tensor;

constexpr const char *kProgram = R"(
func.func @main(%a: tensor<2x3x3xf64>, %x: tensor<8x64xf32>, %w: tensor<64x16xf32>,
                %i: tensor<6xi32>, %which: tensor<i32>, %at: tensor<i64>, %d: tensor<64xi32>)
    -> (tensor<2x3x3xf64>, tensor<8x16xf32>, tensor<6x16xf32>, tensor<f32>, tensor<2x16xf32>,
        tensor<64xi32>) {
  %l = stablehlo.cholesky %a, lower = true : tensor<2x3x3xf64>
  %p = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
      : (tensor<8x64xf32>, tensor<64x16xf32>) -> tensor<8x16xf32>
  %j = stablehlo.reshape %i : (tensor<6xi32>) -> tensor<6x1xi32>
  %g = "stablehlo.gather"(%p, %j) <{dimension_numbers = #stablehlo.gather<offset_dims = [1],
      collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>,
      slice_sizes = array<i64: 1, 16>}> : (tensor<8x16xf32>, tensor<6x1xi32>) -> tensor<6x16xf32>
  %c = "stablehlo.case"(%which) ({
    %0 = stablehlo.constant dense<1.0> : tensor<f32>
    stablehlo.return %0 : tensor<f32>
  }, {
    %0 = stablehlo.constant dense<2.0> : tensor<f32>
    stablehlo.return %0 : tensor<f32>
  }, {
    %0 = stablehlo.constant dense<3.0> : tensor<f32>
    stablehlo.return %0 : tensor<f32>
  }) : (tensor<i32>) -> tensor<f32>
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %s = stablehlo.dynamic_slice %p, %at, %zero, sizes = [2, 16]
      : (tensor<8x16xf32>, tensor<i64>, tensor<i64>) -> tensor<2x16xf32>
  %q = stablehlo.divide %d, %d : tensor<64xi32>
  return %l, %p, %g, %c, %s, %q : tensor<2x3x3xf64>, tensor<8x16xf32>, tensor<6x16xf32>,
      tensor<f32>, tensor<2x16xf32>, tensor<64xi32>
}
)";

class Chosen : public ::testing::Test {
protected:
  void SetUp() override {
    auto found = reader.read(kProgram, "test");
    ASSERT_TRUE(found) << found.message();
    read = std::move(*found);
    inputs.emplace(read->program);
  }
  Tensor make(size_t argument, uint32_t look = 0, uint32_t replica = 0) {
    Result<Tensor> made = inputs->make(argument, 7, replica, look);
    EXPECT_TRUE(made) << made.message();
    return std::move(*made);
  }
  template <typename T> std::vector<T> values(const Tensor &tensor) {
    return {tensor.dataAs<T>(), tensor.dataAs<T>() + tensor.size()};
  }

  ProgramReader reader;
  std::unique_ptr<ProgramReader::Read> read;
  std::optional<ChosenInputs> inputs;
};

TEST_F(Chosen, KeepWhatTheProgramAsksFor) {
  Tensor matrices = make(0);
  for (int64_t base : {0, 9}) {
    const double *m = matrices.dataAs<double>() + base;
    EXPECT_EQ(m[1], m[3]);
    EXPECT_GT(m[0], 0);
    EXPECT_GT(m[0] * m[4] - m[1] * m[3], 0);
    double determinant = m[0] * (m[4] * m[8] - m[5] * m[7]) - m[1] * (m[3] * m[8] - m[5] * m[6]) +
                         m[2] * (m[3] * m[7] - m[4] * m[6]);
    EXPECT_GT(determinant, 0);
  }
  for (int32_t index : values<int32_t>(make(3)))
    EXPECT_TRUE(index >= 0 && index < 8) << index;
  int64_t at = make(5).dataAs<int64_t>()[0];
  EXPECT_TRUE(at >= 0 && at <= 6) << at;
  for (int32_t divisor : values<int32_t>(make(6)))
    EXPECT_NE(divisor, 0);
  for (float weight : values<float>(make(2)))
    EXPECT_LE(std::abs(weight), std::sqrt(3.0f / 64));
}

TEST_F(Chosen, TakeEveryBranch) {
  std::set<int32_t> taken;
  for (uint32_t look = 0; look < 3; ++look)
    taken.insert(make(4, look).dataAs<int32_t>()[0]);
  EXPECT_EQ(taken, (std::set<int32_t>{0, 1, 2}));
}

TEST_F(Chosen, NoValueTwiceAndBothSigns) {
  std::vector<float> x = values<float>(make(1));
  std::set<float> distinct(x.begin(), x.end());
  EXPECT_EQ(distinct.size(), x.size());
  EXPECT_LT(*distinct.begin(), -0.9f);
  EXPECT_GT(*distinct.rbegin(), 0.9f);
  std::vector<int32_t> whole = values<int32_t>(make(6));
  EXPECT_EQ(std::set<int32_t>(whole.begin(), whole.end()).size(), whole.size());
  EXPECT_EQ(x, values<float>(make(1)));
  EXPECT_NE(x, values<float>(make(1, 1)));
  EXPECT_NE(x, values<float>(make(1, 0, 1)));
  for (float positive : values<float>(make(1, ChosenInputs::kPositive)))
    EXPECT_GT(positive, 0);
}

} // namespace
} // namespace cupel::testbench::worker
