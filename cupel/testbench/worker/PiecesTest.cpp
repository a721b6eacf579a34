// Programs in pieces: each piece runs alone on values of the reference, and together they compute
// what the whole program does.

#include "cupel/testbench/worker/Pieces.h"

#include <cstring>
#include <gtest/gtest.h>

namespace cupel::testbench::worker {
namespace {

using tensor::DType;
using tensor::Tensor;

class PiecesTest : public testing::Test {
protected:
  void SetUp() override {
    Result<std::unique_ptr<Device>> opened = openDevice("reference");
    ASSERT_TRUE(opened) << opened.message();
    device = std::move(*opened);
  }
  Prepared prepare(const std::string &text, std::vector<Tensor> inputs) {
    auto read = reader.read(text, "program.mlir");
    EXPECT_TRUE(read) << read.message();
    Prepared prepared{std::move(*read), {}, {}};
    prepared.workload.inputs.push_back(std::move(inputs));
    return prepared;
  }
  std::vector<Tensor> run(const Prepared &prepared) {
    auto executable = device->compile(prepared.program(), prepared.budget);
    EXPECT_TRUE(executable) << executable.message();
    auto outputs = (*executable)->run(prepared.workload.inputs, prepared.budget);
    EXPECT_TRUE(outputs) << outputs.message();
    return *outputs;
  }

  ProgramReader reader;
  std::unique_ptr<Device> device;
};

constexpr const char *kLayers = R"(
func.func @main(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> (tensor<4x8xf32>, tensor<4xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %half = stablehlo.constant dense<0.5> : tensor<f32>
  %halves = stablehlo.broadcast_in_dim %half, dims = [] : (tensor<f32>) -> tensor<4x8xf32>
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %1 = stablehlo.tanh %0 : tensor<4x8xf32>
  %2 = func.call @layer(%1, %w) : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %3 = func.call @layer(%2, %w) : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %4 = stablehlo.multiply %3, %halves : tensor<4x8xf32>
  %5 = stablehlo.add %4, %1 : tensor<4x8xf32>
  %6 = stablehlo.reduce(%5 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
  return %5, %6 : tensor<4x8xf32>, tensor<4xf32>
}
func.func private @layer(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> tensor<4x8xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %1 = stablehlo.exponential %0 : tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}
)";

Tensor ramp(tensor::Shape shape, float from, float step) {
  Tensor made = *Tensor::uninitialized(DType::F32, std::move(shape));
  float *values = made.mutableAs<float>();
  for (int64_t i = 0; i < made.size(); ++i)
    values[i] = from + step * float(i % 13);
  return made;
}

TEST_F(PiecesTest, TogetherComputeTheWhole) {
  Prepared whole = prepare(kLayers, {ramp({4, 8}, -0.4f, 0.07f), ramp({8, 8}, 0.3f, -0.05f)});
  std::vector<Tensor> expected = run(whole);
  for (uint32_t count : {1u, 2u, 3u, 5u, 9u, 100u}) {
    Result<Pieces> pieces = Pieces::of(whole, count);
    ASSERT_TRUE(pieces) << pieces.message();
    EXPECT_LE(pieces->size(), count);
    EXPECT_GE(pieces->size(), std::min(count, 4u));
    if (count == 100) {
      EXPECT_EQ(pieces->size(), 9u); // Each operation alone.
    }
    std::vector<Tensor> last;
    size_t seen = 0;
    while (std::optional<Prepared> piece = pieces->next()) {
      last = run(*piece);
      pieces->setResults(last);
      ++seen;
    }
    EXPECT_EQ(seen, pieces->size());
    // The last piece gives the last result of the program, whatever else it gives.
    const Tensor &sum = expected[1];
    bool found = false;
    for (const Tensor &one : last)
      found |= one.byteSize() == sum.byteSize() &&
               std::memcmp(one.data(), sum.data(), size_t(sum.byteSize())) == 0;
    EXPECT_TRUE(found) << count;
  }
}

TEST_F(PiecesTest, KnowsWhatOnlyUntoldResultsShow) {
  Prepared whole = prepare(kLayers, {ramp({4, 8}, -0.4f, 0.07f), ramp({8, 8}, 0.3f, -0.05f)});
  auto hiding = [&](std::vector<bool> tells) {
    Result<Pieces> pieces = Pieces::of(whole, 100, compiler::Counts::WhatIsNotMoved, tells);
    EXPECT_TRUE(pieces) << pieces.message();
    std::string found;
    for (size_t i = 0; i < pieces->size(); ++i) {
      found += pieces->nextHides() ? 'h' : '.';
      pieces->setResults(run(*pieces->next()));
    }
    EXPECT_EQ(pieces->hidingLeft(), 0u);
    return found;
  };
  EXPECT_EQ(hiding({}), ".........");
  EXPECT_EQ(hiding({true, true}), ".........");
  // The sum alone is not worth it, and everything else shows in the first result.
  EXPECT_EQ(hiding({true, false}), ".........");
  // The other way round everything shows in the sum.
  EXPECT_EQ(hiding({false, true}), ".........");
  EXPECT_EQ(hiding({false, false}), "hhhhhhhh.");
}

TEST_F(PiecesTest, KnowsWhatResultsOfOwnShow) {
  Prepared whole = prepare(R"(
func.func @main(%x: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %0 = stablehlo.tanh %x : tensor<4x4xf32>
  %1 = stablehlo.dot_general %0, %0, contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = stablehlo.exponential %0 : tensor<4x4xf32>
  %3 = stablehlo.transpose %1, dims = [1, 0] : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %2, %3 : tensor<4x4xf32>, tensor<4x4xf32>
})",
                           {ramp({4, 4}, -0.4f, 0.07f)});
  // The product, wherever cuts are: what is told of a value is handed on from piece to piece.
  for (uint32_t count : {1u, 2u, 100u}) {
    Result<Pieces> pieces =
        Pieces::of(whole, count, compiler::Counts::WhatIsNotMoved, {true, false});
    ASSERT_TRUE(pieces) << pieces.message();
    EXPECT_EQ(pieces->hidingLeft(), 1u) << count;
    EXPECT_EQ(pieces->nextHides(), count == 1) << count;
  }
}

TEST_F(PiecesTest, SaysWherePiecesStand) {
  Prepared whole = prepare(kLayers, {ramp({4, 8}, -0.4f, 0.07f), ramp({8, 8}, 0.3f, -0.05f)});
  Result<Pieces> pieces = Pieces::of(whole, 2);
  ASSERT_TRUE(pieces);
  EXPECT_EQ(pieces->describeNext(), "piece 1 of 2 (program.mlir:6:8)");
}

TEST_F(PiecesTest, RefusesWhatCannotBeCut) {
  Prepared checking = prepare(R"(func.func @main() {
    %a = stablehlo.constant dense<2> : tensor<i32>
    check.expect_eq_const %a, dense<2> : tensor<i32>
    return
  })",
                              {});
  Result<Pieces> pieces = Pieces::of(checking, 4);
  ASSERT_FALSE(pieces);
  EXPECT_EQ(pieces.message(), "it checks itself");

  Prepared several = prepare(R"(
  module attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 2 : i32} {
  func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
    %0 = "stablehlo.all_reduce"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %s = stablehlo.add %x, %y : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<2xf32>) -> tensor<2xf32>
    return %0 : tensor<2xf32>
  }})",
                             {ramp({2}, 1, 1)});
  several.workload.options.replicas = 4; // Of which only two communicate.
  pieces = Pieces::of(several, 4);
  ASSERT_FALSE(pieces);
  EXPECT_EQ(pieces.message(), "its devices hold pieces of whole tensors");

  Prepared split = prepare(R"(
  module attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 2 : i32} {
  func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
    %0 = "stablehlo.all_reduce"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %s = stablehlo.add %x, %y : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }})",
                           {ramp({2}, 1, 1)});
  split.workload.inputs.push_back({ramp({2}, 3, 1)});
  pieces = Pieces::of(split, 4);
  ASSERT_FALSE(pieces);
  EXPECT_EQ(pieces.message(), "its devices hold pieces of whole tensors");
}

TEST_F(PiecesTest, TakesProgramsOfSeveralProcessesApart) {
  Prepared several = prepare(R"(
  module attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 2 : i32} {
  func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
    %b = stablehlo.negate %a : tensor<2xf32>
    %0 = "stablehlo.all_reduce"(%b) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %s = stablehlo.add %x, %y : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<2xf32>) -> tensor<2xf32>
    %1 = stablehlo.multiply %0, %a : tensor<2xf32>
    return %1 : tensor<2xf32>
  }})",
                             {ramp({2}, 1, 1)});
  several.workload.inputs.push_back({ramp({2}, 5, 2)});
  std::vector<Tensor> expected = run(several);
  ASSERT_EQ(expected.size(), 2u);
  Result<Pieces> pieces = Pieces::of(several, 3);
  ASSERT_TRUE(pieces) << pieces.message();
  EXPECT_EQ(pieces->size(), 3u);
  std::vector<Tensor> last;
  while (std::optional<Prepared> piece = pieces->next()) {
    EXPECT_EQ(piece->workload.inputs.size(), 2u);
    last = run(*piece);
    pieces->setResults(last);
  }
  ASSERT_EQ(last.size(), 2u);
  for (size_t i = 0; i < 2; ++i)
    EXPECT_EQ(std::memcmp(last[i].data(), expected[i].data(), 8), 0) << i;
}

} // namespace
} // namespace cupel::testbench::worker
