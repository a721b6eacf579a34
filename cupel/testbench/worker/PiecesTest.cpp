// Programs in pieces: each piece runs alone on values of the reference, and together they compute
// what the whole program does.

#include "cupel/testbench/worker/Pieces.h"

#include <cstring>
#include <fmt/format.h>
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
  // The sum alone is not worth it, and all that it is made of is the first result.
  EXPECT_EQ(hiding({true, false}), ".........");
  // The other way round nothing is known but the sum: another matrix may have it, too.
  EXPECT_EQ(hiding({false, true}), "hhhhhhhh.");
  EXPECT_EQ(hiding({false, false}), "hhhhhhhhh");
}

TEST_F(PiecesTest, GoesBackToWhatTellingResultsShow) {
  // The gradients of a layer: of its bias a sum, of its weights a product; what comes back to the sum
  // and to the product in different shapes is one value. What is in front of it shows there.
  Prepared layer = prepare(R"(
func.func @main(%x: tensor<8x4xf32>, %g: tensor<2x4x4xf32>) -> (tensor<4x4xf32>, tensor<4xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.tanh %g : tensor<2x4x4xf32>
  %1 = stablehlo.reshape %0 : (tensor<2x4x4xf32>) -> tensor<8x4xf32>
  %2 = stablehlo.dot_general %x, %1, contracting_dims = [0] x [0] : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  %3 = stablehlo.transpose %0, dims = [2, 0, 1] : (tensor<2x4x4xf32>) -> tensor<4x2x4xf32>
  %4 = stablehlo.reduce(%3 init: %zero) applies stablehlo.add across dimensions = [1, 2] : (tensor<4x2x4xf32>, tensor<f32>) -> tensor<4xf32>
  return %2, %4 : tensor<4x4xf32>, tensor<4xf32>
})",
                           {ramp({8, 4}, -0.4f, 0.07f), ramp({2, 4, 4}, -0.4f, 0.07f)});
  Result<Pieces> pieces =
      Pieces::of(layer, 100, compiler::Counts::WhatIsNotMoved, {true, false});
  ASSERT_TRUE(pieces) << pieces.message();
  EXPECT_EQ(pieces->hidingLeft(), 0u);
}

TEST_F(PiecesTest, ShowsNothingThroughWhatHidesErrors) {
  // In the first result an error of the tanh is not to be seen, or need not be: a factor cancels, or an
  // offset does, or it is lost in something larger, or only its sign is asked for. The second one has noise.
  const auto hides = [&](const std::string &told, const std::string &type) {
    Prepared whole = prepare(fmt::format(R"(
func.func @main(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>) -> ({1}, tensor<4x4xf32>) {{
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %zeros = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<4x4xf32>
  %two = stablehlo.constant dense<2.0> : tensor<4x4xf32>
  %a = stablehlo.tanh %x : tensor<4x4xf32>
  %s = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4x4xf32>, tensor<f32>) -> tensor<4xf32>
  %b = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<4xf32>) -> tensor<4x4xf32>
  {0}
  %u = stablehlo.exponential %a : tensor<4x4xf32>
  return %told, %u : {1}, tensor<4x4xf32>
}})",
                                         told, type),
                             {ramp({4, 4}, -0.4f, 0.07f), ramp({4, 4}, 0.3f, 0.05f)});
    Result<Pieces> pieces =
        Pieces::of(whole, 100, compiler::Counts::WhatIsNotMoved, {true, false});
    EXPECT_TRUE(pieces) << pieces.message();
    return pieces->nextHides(); // The tanh.
  };
  const std::string t = "tensor<4x4xf32>";
  EXPECT_TRUE(hides("%told = stablehlo.divide %a, %b : " + t, t));
  EXPECT_TRUE(hides("%told = stablehlo.subtract %a, %b : " + t, t));
  EXPECT_TRUE(hides("%told = stablehlo.add %a, %w : " + t, t));
  EXPECT_TRUE(hides("%told = stablehlo.multiply %a, %a : " + t, t));
  EXPECT_TRUE(hides("%told = stablehlo.compare GT, %a, %zeros : (tensor<4x4xf32>, tensor<4x4xf32>) "
                    "-> tensor<4x4xi1>",
                    "tensor<4x4xi1>"));
  EXPECT_TRUE(hides("%told = stablehlo.convert %a : (tensor<4x4xf32>) -> tensor<4x4xi32>",
                    "tensor<4x4xi32>"));
  EXPECT_TRUE(hides("%told = stablehlo.maximum %a, %zeros : " + t, t));
  EXPECT_TRUE(hides("%told = stablehlo.slice %a [0:2, 0:4] : (tensor<4x4xf32>) -> tensor<2x4xf32>",
                    "tensor<2x4xf32>"));
  // One that cancels in the end, through a product with what has it too.
  EXPECT_TRUE(hides("%told = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : "
                    "(tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>",
                    t));
  EXPECT_FALSE(hides("%told = stablehlo.multiply %a, %two : " + t, t));
  EXPECT_FALSE(hides("%told = stablehlo.dot_general %w, %a, contracting_dims = [1] x [0] : "
                     "(tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>",
                     t));
  EXPECT_FALSE(hides("%c = stablehlo.convert %a : (tensor<4x4xf32>) -> tensor<4x4xbf16> "
                     "  %told = stablehlo.reshape %c : (tensor<4x4xbf16>) -> tensor<16xbf16>",
                     "tensor<16xbf16>"));
}

TEST_F(PiecesTest, KnowsWhatResultsOfOwnShow) {
  Prepared whole = prepare(R"(
func.func @main(%x: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %0 = stablehlo.tanh %x : tensor<4x4xf32>
  %1 = stablehlo.dot_general %0, %0, contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = stablehlo.negate %0 : tensor<4x4xf32>
  %3 = stablehlo.transpose %1, dims = [1, 0] : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %2, %3 : tensor<4x4xf32>, tensor<4x4xf32>
})",
                           {ramp({4, 4}, -0.4f, 0.07f)});
  // The product, wherever cuts are: what is told of a value is handed on from piece to piece.
  for (uint32_t count : {1u, 2u, 100u}) {
    Result<Pieces> pieces =
        Pieces::of(whole, count, compiler::Counts::WhatIsNotMoved, {true, false});
    ASSERT_TRUE(pieces) << pieces.message();
    // (What moves a value that is not shown is in the piece of the product or one of its own.)
    EXPECT_EQ(pieces->hidingLeft(), count == 100 ? 2u : 1u) << count;
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
