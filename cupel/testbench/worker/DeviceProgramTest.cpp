// Programs made ready for devices: what each device is given of values that are split over them, and
// what its results are parts of.

#include "cupel/testbench/worker/DeviceProgram.h"
#include "cupel/testbench/worker/ProgramReader.h"

#include <gtest/gtest.h>

namespace cupel::testbench::worker {
namespace {

using tensor::DType;
using tensor::Tensor;

Tensor counted(tensor::Shape shape) {
  Tensor made = *Tensor::uninitialized(DType::F32, std::move(shape));
  for (int64_t i = 0; i < made.size(); ++i)
    made.mutableAs<float>()[i] = float(i);
  return made;
}

std::vector<float> numbersOf(const Tensor &tensor) {
  return {tensor.dataAs<float>(), tensor.dataAs<float>() + tensor.size()};
}

/// Rows lie over two devices and the columns over two more; the sum of each row is split as rows are.
constexpr const char *kSplit = R"(
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["rows"=2, "columns"=2]>
  func.func @main(%x: tensor<4x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"rows"}, {"columns"}]>}, %y: tensor<2xf32>)
      -> (tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"rows"}]>}, tensor<2xf32>) {
    %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"rows"}, {"columns"}]>] out_shardings=[<@mesh, [{"rows"}]>] manual_axes={"rows", "columns"} (%piece: tensor<2x1xf32>) {
      %1 = stablehlo.reshape %piece : (tensor<2x1xf32>) -> tensor<2xf32>
      %2 = "stablehlo.all_reduce"(%1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, use_global_device_ids}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %3 = stablehlo.add %a, %b : tensor<f32>
        stablehlo.return %3 : tensor<f32>
      }) : (tensor<2xf32>) -> tensor<2xf32>
      sdy.return %2 : tensor<2xf32>
    } : (tensor<4x2xf32>) -> tensor<4xf32>
    return %0, %y : tensor<4xf32>, tensor<2xf32>
  }
}
)";

TEST(DeviceProgram, DevicesGetTheirPiecesAndGiveThem) {
  ProgramReader reader;
  auto read = reader.read(kSplit, "split.mlir");
  ASSERT_TRUE(read) << read.message();
  ASSERT_EQ((*read)->program.partitions, 4u);
  Result<DeviceProgram> program = prepareForDevice((*read)->program, {});
  ASSERT_TRUE(program) << program.message();
  Tensor x = counted({4, 2}), y = counted({2});
  Result<TensorLists> given = program->argumentsFor({{x, y}});
  ASSERT_TRUE(given) << given.message();
  ASSERT_EQ(given->size(), 4u);
  EXPECT_EQ(numbersOf((*given)[0][0]), (std::vector<float>{0, 2}));
  EXPECT_EQ(numbersOf((*given)[1][0]), (std::vector<float>{1, 3}));
  EXPECT_EQ(numbersOf((*given)[2][0]), (std::vector<float>{4, 6}));
  EXPECT_EQ(numbersOf((*given)[3][0]), (std::vector<float>{5, 7}));
  for (const std::vector<Tensor> &list : *given)
    EXPECT_EQ(numbersOf(list[1]), (std::vector<float>{0, 1})); // Nobody says that it is split.

  auto sums = [](float a, float b) { return Tensor::of<DType::F32>({2}, {a, b}); };
  TensorLists outputs = {{sums(1, 5), y}, {sums(1, 5), y}, {sums(9, 13), y}, {sums(9, 13), y}};
  Result<std::vector<Tensor>> results = program->resultsFrom(outputs, (*read)->program.results);
  ASSERT_TRUE(results) << results.message();
  ASSERT_EQ(results->size(), 8u); // Of each device.
  EXPECT_EQ(numbersOf((*results)[0]), (std::vector<float>{1, 5, 9, 13}));
  EXPECT_EQ(numbersOf((*results)[6]), (std::vector<float>{1, 5, 9, 13}));

  // A copy that differs is its device's result.
  outputs[1][0] = sums(1, 6);
  Result<std::vector<Tensor>> differing = program->resultsFrom(outputs, (*read)->program.results);
  ASSERT_TRUE(differing) << differing.message();
  EXPECT_EQ(numbersOf((*differing)[0]), (std::vector<float>{1, 5, 9, 13}));
  EXPECT_EQ(numbersOf((*differing)[2]), (std::vector<float>{1, 6, 9, 13}));

  // What is saved for a device expects of each what it gives.
  workload::Workload whole;
  whole.inputs = {{x, y}};
  whole.expected = {*results};
  Result<workload::Workload> saved = program->complete(whole);
  ASSERT_TRUE(saved) << saved.message();
  ASSERT_EQ(saved->expected.size(), 4u);
  EXPECT_EQ(numbersOf(saved->expected[3][0]), (std::vector<float>{9, 13}));
  EXPECT_EQ(numbersOf(saved->expected[3][1]), (std::vector<float>{0, 1}));
  EXPECT_EQ(numbersOf(saved->inputs[1][0]), (std::vector<float>{1, 3}));
}

} // namespace
} // namespace cupel::testbench::worker
