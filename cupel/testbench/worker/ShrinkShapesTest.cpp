// Sizes that belong together shrink together, and what comes out is a program that runs.

#include "cupel/testbench/worker/ShrinkShapes.h"

#include <gtest/gtest.h>

namespace cupel::testbench::worker {
namespace {

using tensor::DType;
using tensor::Tensor;

constexpr const char *kToShrink = R"(
func.func @main(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>, %b: tensor<4xf32>) -> tensor<6xf32> {
  %p = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  %c = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<4xf32>) -> tensor<6x4xf32>
  %s = stablehlo.add %p, %c : tensor<6x4xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %r = stablehlo.reduce(%s init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<6x4xf32>, tensor<f32>) -> tensor<6xf32>
  return %r : tensor<6xf32>
}
)";

Tensor ramp(tensor::Shape shape) {
  Tensor made = *Tensor::uninitialized(DType::F32, std::move(shape));
  for (int64_t i = 0; i < made.size(); ++i)
    made.mutableAs<float>()[i] = float(i);
  return made;
}

TEST(ShrinkShapesTest, ShrinksWhatBelongsTogether) {
  ProgramReader reader;
  auto read = reader.read(kToShrink, "program.mlir");
  ASSERT_TRUE(read) << read.message();
  Prepared whole{std::move(*read), {}, {}};
  whole.workload.inputs.push_back({ramp({6, 8}), ramp({8, 4}), ramp({4})});
  ShapeClasses classes(whole);
  ASSERT_EQ(classes.classes().size(), 3u); // Rows, what is summed over, and columns.
  EXPECT_EQ(classes.classes()[0].size, 8);
  EXPECT_EQ(classes.classes()[1].size, 6);
  EXPECT_EQ(classes.classes()[2].size, 4);
  std::optional<Prepared> smaller = classes.shrunk({{0, 2}, {1, 3}, {2, 1}});
  ASSERT_TRUE(smaller);
  const std::vector<Tensor> &inputs = smaller->workload.inputs.front();
  EXPECT_EQ(smaller->program().arguments[0].shape, (tensor::Shape{3, 2}));
  EXPECT_EQ(smaller->program().arguments[1].shape, (tensor::Shape{2, 1}));
  EXPECT_EQ(smaller->program().results[0].shape, (tensor::Shape{3}));
  // The first elements along each size.
  EXPECT_EQ(reinterpret_cast<const float *>(inputs[0].data())[2], 8.0f);
  EXPECT_EQ(reinterpret_cast<const float *>(inputs[1].data())[1], 4.0f);
  auto reference = openDevice("reference");
  ASSERT_TRUE(reference);
  auto executable = (*reference)->compile(smaller->program(), {});
  ASSERT_TRUE(executable) << executable.message();
  auto outputs = (*executable)->run(smaller->workload.inputs, {});
  ASSERT_TRUE(outputs) << outputs.message();
  // Row 1: 8 * 0 + 9 * 4, and a bias of 0.
  EXPECT_EQ(reinterpret_cast<const float *>(outputs->front().data())[1], 36.0f);
}

TEST(ShrinkShapesTest, LeavesSizesThatMeanSomething) {
  ProgramReader reader;
  auto read = reader.read(R"(
func.func @main(%x: tensor<4x6xf32>) -> tensor<4x2xf32> {
  %s = stablehlo.slice %x [0:4, 1:3] : (tensor<4x6xf32>) -> tensor<4x2xf32>
  return %s : tensor<4x2xf32>
}
)",
                          "slice.mlir");
  ASSERT_TRUE(read) << read.message();
  Prepared whole{std::move(*read), {}, {}};
  whole.workload.inputs.push_back({ramp({4, 6})});
  ShapeClasses classes(whole);
  ASSERT_EQ(classes.classes().size(), 1u); // Rows alone: columns are cut.
  EXPECT_EQ(classes.classes()[0].size, 4);
  std::optional<Prepared> smaller = classes.shrunk({{0, 1}});
  ASSERT_TRUE(smaller);
  EXPECT_EQ(smaller->program().results[0].shape, (tensor::Shape{1, 2}));
}

/// Everything that can shrink is two now, and the reference runs it.
std::optional<Prepared> smallest(ProgramReader &reader, const std::string &program,
                                 std::vector<Tensor> inputs) {
  auto read = reader.read(program, "program.mlir");
  EXPECT_TRUE(read) << read.message();
  Prepared whole{std::move(*read), {}, {}};
  whole.workload.inputs.push_back(std::move(inputs));
  ShapeClasses classes(whole);
  std::vector<std::pair<size_t, int64_t>> sizes;
  for (size_t i = 0; i < classes.classes().size(); ++i)
    if (classes.classes()[i].size > 2)
      sizes.emplace_back(i, 2);
  std::optional<Prepared> smaller = classes.shrunk(sizes);
  if (smaller) {
    auto reference = openDevice("reference");
    auto executable = (*reference)->compile(smaller->program(), {});
    EXPECT_TRUE(executable) << executable.message();
    auto outputs = (*executable)->run(smaller->workload.inputs, {});
    EXPECT_TRUE(outputs) << outputs.message();
  }
  return smaller;
}

TEST(ShrinkShapesTest, GathersAndScattersKeepWhatIndicesCount) {
  ProgramReader reader;
  std::optional<Prepared> smaller = smallest(reader, R"(
func.func @main(%table: tensor<24x10xf32>, %places: tensor<7x1xi32>) -> tensor<24x10xf32> {
  %found = "stablehlo.gather"(%table, %places) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 10>}> : (tensor<24x10xf32>, tensor<7x1xi32>) -> tensor<7x10xf32>
  %written = "stablehlo.scatter"(%table, %places, %found) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<24x10xf32>, tensor<7x1xi32>, tensor<7x10xf32>) -> tensor<24x10xf32>
  return %written : tensor<24x10xf32>
}
)",
                                             {ramp({24, 10}), Tensor::of<DType::I32>({7, 1}, {23, 1, 2, 3, 4, 5, 6})});
  ASSERT_TRUE(smaller);
  EXPECT_EQ(smaller->program().arguments[0].shape, (tensor::Shape{24, 2}));
  EXPECT_EQ(smaller->program().arguments[1].shape, (tensor::Shape{2, 1}));
}

TEST(ShrinkShapesTest, WindowsKeepTheirPlacesAndShrinkBatches) {
  ProgramReader reader;
  std::optional<Prepared> smaller = smallest(reader, R"(
func.func @main(%image: tensor<5x8x8x6xf32>, %at: tensor<i32>) -> tensor<5x2x4x6xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %lowest = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %pooled = "stablehlo.reduce_window"(%image, %lowest) <{window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = array<i64: 1, 2, 2, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<5x8x8x6xf32>, tensor<f32>) -> tensor<5x4x4x6xf32>
  %part = stablehlo.dynamic_slice %pooled, %zero, %at, %zero, %zero, sizes = [5, 2, 4, 6] : (tensor<5x4x4x6xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<5x2x4x6xf32>
  return %part : tensor<5x2x4x6xf32>
}
)",
                                             {ramp({5, 8, 8, 6}), Tensor::of<DType::I32>({}, {1})});
  ASSERT_TRUE(smaller);
  EXPECT_EQ(smaller->program().arguments[0].shape, (tensor::Shape{2, 8, 8, 2}));
  EXPECT_EQ(smaller->program().results[0].shape, (tensor::Shape{2, 2, 4, 2}));
}

} // namespace
} // namespace cupel::testbench::worker
