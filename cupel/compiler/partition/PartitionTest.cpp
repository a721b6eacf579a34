// Programs on whole tensors, split over four devices, against the same programs on one.

#include "cupel/compiler/Compile.h"

#include "cupel/reference/ShardsOf.h"

#include <gtest/gtest.h>

#include <cmath>

namespace cupel::compiler {
namespace {

using runtime::ProcessTensors;
using runtime::ValueInfo;
using tensor::DType;
using tensor::Tensor;

Tensor counted(const ValueInfo &info) {
  Tensor tensor = *Tensor::zeros(info.type, info.shape);
  for (int64_t i = 0; i < tensor.size(); ++i) {
    if (info.type.storage == DType::F32)
      tensor.mutableAs<float>()[i] = static_cast<float>(i * 7 % 23 - 11) / 4;
    else if (info.type.storage == DType::I32)
      tensor.mutableAs<int32_t>()[i] = static_cast<int32_t>(i * 5 % 8);
  }
  return tensor;
}

void expectEqual(const Tensor &actual, const Tensor &expected, const std::string &what) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  for (int64_t i = 0; i < actual.size(); ++i) {
    if (actual.dtype() == DType::F32)
      EXPECT_NEAR(actual.dataAs<float>()[i], expected.dataAs<float>()[i],
                  1e-5 * (1 + std::abs(expected.dataAs<float>()[i])))
          << what << " at " << i;
    else if (actual.dtype() == DType::I32)
      EXPECT_EQ(actual.dataAs<int32_t>()[i], expected.dataAs<int32_t>()[i]) << what << " at " << i;
    else
      EXPECT_EQ(actual.dataAs<uint8_t>()[i], expected.dataAs<uint8_t>()[i]) << what << " at " << i;
  }
}

struct Ran {
  std::string text;
  ProcessTensors pieces;
};

/// Runs a program whose mesh is @mesh = <["x"=2, "y"=2]> on one device and on four, and compares.
Ran run(const std::string &body, bool splits = true, const std::string &order = "",
        const std::string &axes = "\"x\"=2, \"y\"=2") {
  std::string program = "sdy.mesh @mesh = <[" + axes + "]" + order + ">\n" + body;
  auto single = compile(program, {});
  CompileOptions options;
  options.partitions = 4;
  options.propagateToResults = {true};
  options.splitsWork = splits;
  auto split = compile(program, options);
  if (!single || !split) {
    ADD_FAILURE() << (!single ? single : split).error().message;
    return {};
  }
  std::vector<Tensor> wholes;
  ProcessTensors arguments(4);
  for (const ValueInfo &argument : (*split)->info().arguments) {
    wholes.push_back(counted(argument));
    for (int64_t device = 0; device < 4; ++device)
      arguments[device].push_back(*argument.shards.piece(wholes.back(), device)->contiguous());
  }
  auto expected = (*single)->execute({wholes});
  auto results = (*split)->execute(arguments);
  if (!expected || !results) {
    ADD_FAILURE() << (!expected ? expected : results).error().message;
    return {};
  }
  for (size_t i = 0; i < (*split)->info().results.size(); ++i) {
    const ValueInfo &result = (*split)->info().results[i];
    std::vector<Tensor> pieces;
    for (int64_t device = 0; device < 4; ++device) {
      pieces.push_back((*results)[device][i]);
      EXPECT_TRUE(std::ranges::equal(pieces.back().shape(), result.shardShape()));
    }
    Result<Tensor> whole = reference::assembleSum(result.shards, pieces, result.shape);
    EXPECT_TRUE(whole) << (whole ? "" : whole.message());
    if (whole)
      expectEqual(*whole, (*expected)[0][i], "result " + std::to_string(i));
    // Who holds the same holds the same.
    if (result.shards.kind == tensor::Shards::Kind::Replicated)
      for (int64_t device = 1; device < 4; ++device)
        expectEqual(pieces[device], pieces[0], "copy on " + std::to_string(device));
  }
  return {(*split)->text(), std::move(*results)};
}

bool has(const Ran &ran, const std::string &what) {
  return ran.text.find(what) != std::string::npos;
}

TEST(PartitionTest, ElementsAreComputedWhereTheyAre) {
  Ran ran = run(R"(
    func.func @main(%a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) -> tensor<8x4xf32> {
      %c = stablehlo.constant dense<2.0> : tensor<8x4xf32>
      %i = stablehlo.iota dim = 0 : tensor<8x4xf32>
      %0 = stablehlo.multiply %a, %c : tensor<8x4xf32>
      %1 = stablehlo.add %0, %i : tensor<8x4xf32>
      %2 = stablehlo.tanh %1 : tensor<8x4xf32>
      return %2 : tensor<8x4xf32>
    })");
  EXPECT_FALSE(has(ran, "tensor<8x4xf32>")) << ran.text;
  EXPECT_FALSE(has(ran, "all_")) << ran.text;
}

TEST(PartitionTest, ComputesOnWholeTensorsWhereTold) {
  Ran ran = run(R"(
    func.func @main(%a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) -> tensor<8x4xf32> {
      %0 = stablehlo.tanh %a : tensor<8x4xf32>
      return %0 : tensor<8x4xf32>
    })",
                /*splits=*/false);
  EXPECT_TRUE(has(ran, "tensor<8x4xf32>")) << ran.text;
}

TEST(PartitionTest, ProductsGatherOrSum) {
  Ran gathered = run(R"(
    func.func @main(%a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
                    %b: tensor<4x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<8x6xf32> {
      %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
      return %0 : tensor<8x6xf32>
    })");
  EXPECT_TRUE(has(gathered, "all_gather")) << gathered.text;
  Ran summed = run(R"(
    func.func @main(%a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>},
                    %b: tensor<4x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}]>}) -> tensor<8x6xf32> {
      %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
      return %0 : tensor<8x6xf32>
    })");
  EXPECT_TRUE(has(summed, "all_reduce")) << summed.text;
  EXPECT_TRUE(has(summed, "-> tensor<4x6xf32>")) << summed.text;
  run(R"(
    func.func @main(%a: tensor<4x6x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}, {}, {}]>},
                    %b: tensor<4x2x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {"y"}]>}) -> tensor<4x6x8xf32> {
      %0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<4x6x2xf32>, tensor<4x2x8xf32>) -> tensor<4x6x8xf32>
      return %0 : tensor<4x6x8xf32>
    })");
}

TEST(PartitionTest, SummandsStayWhereTheyAreMade) {
  Ran ran = run(R"(
    func.func @main(%a: tensor<2x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>},
                    %b: tensor<2x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
        -> (tensor<2x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}], unreduced={"x"}>}) {
      %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
      %1 = sdy.sharding_constraint %0 <@mesh, [{}, {}], unreduced={"x"}> : tensor<2x2xf32>
      %2 = stablehlo.negate %1 : tensor<2x2xf32>
      return %2 : tensor<2x2xf32>
    })");
  EXPECT_FALSE(has(ran, "all_")) << ran.text;
  // The second summand is -a[:, 1] * b[1, :].
  const float *second = ran.pieces[2][0].dataAs<float>();
  auto element = [](int64_t i) { return static_cast<float>(i * 7 % 23 - 11) / 4; };
  EXPECT_FLOAT_EQ(second[0], -element(1) * element(2));
  EXPECT_FLOAT_EQ(second[3], -element(3) * element(3));
}

TEST(PartitionTest, ProductsOfSums) {
  // One factor is a sum over x, the other over y; then both over x.
  for (const char *axis : {"x", "y"}) {
    std::string other = axis;
    run(R"(
    func.func @main(%a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
                    %b: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{")" +
        other + R"("}, {}]>}) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
      %i = stablehlo.constant dense<0.0> : tensor<f32>
      %two = stablehlo.constant dense<2.0> : tensor<4xf32>
      %0 = stablehlo.reduce(%a init: %i) applies stablehlo.add across dimensions = [0] : (tensor<8x4xf32>, tensor<f32>) -> tensor<4xf32>
      %1 = stablehlo.reduce(%b init: %i) applies stablehlo.add across dimensions = [0] : (tensor<8x4xf32>, tensor<f32>) -> tensor<4xf32>
      %2 = stablehlo.multiply %0, %1 : tensor<4xf32>
      %3 = stablehlo.add %0, %1 : tensor<4xf32>
      %4 = stablehlo.divide %0, %two : tensor<4xf32>
      %5 = stablehlo.divide %two, %0 : tensor<4xf32>
      return %2, %3, %4, %5 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
    })");
  }
}

TEST(PartitionTest, SummandsMoveWithTheirElements) {
  Ran ran = run(R"(
    func.func @main(%a: tensor<2x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}], unreduced={"x"}>},
                    %b: tensor<1x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}], unreduced={"x"}>}, %n: tensor<i32>)
        -> (tensor<3x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}], unreduced={"x"}>}) {
      %z = stablehlo.constant dense<0> : tensor<i32>
      %0 = stablehlo.dynamic_update_slice %a, %b, %n, %z : (tensor<2x4xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<2x4xf32>
      %1 = stablehlo.reverse %0, dims = [0] : tensor<2x4xf32>
      %2 = stablehlo.dynamic_slice %1, %n, %z, sizes = [1, 4] : (tensor<2x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x4xf32>
      %3 = stablehlo.concatenate %0, %2, dim = 0 : (tensor<2x4xf32>, tensor<1x4xf32>) -> tensor<3x4xf32>
      return %3 : tensor<3x4xf32>
    })");
  EXPECT_FALSE(has(ran, "all_")) << ran.text;
}

TEST(PartitionTest, EveryWayFromOneSplitToAnother) {
  const char *splits[] = {"[{}, {}]",
                          "[{\"x\"}, {}]",
                          "[{}, {\"x\"}]",
                          "[{\"y\"}, {\"x\"}]",
                          "[{\"x\", \"y\"}, {}]",
                          "[{\"y\", \"x\"}, {}]",
                          "[{\"x\"}, {\"y\"}]",
                          "[{}, {\"x\", \"y\"}]",
                          "[{}, {}], unreduced={\"x\"}",
                          "[{\"y\"}, {}], unreduced={\"x\"}",
                          "[{}, {}], unreduced={\"x\", \"y\"}"};
  for (std::string from : splits)
    for (std::string to : splits) {
      SCOPED_TRACE(from + " to " + to);
      run("func.func @main(%a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, " + from +
          ">}) -> (tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, " + to +
          ">}) {\n return %a : tensor<8x4xf32>\n}");
    }
}

TEST(PartitionTest, ReductionsOfEveryKind) {
  for (const char *one :
       {"stablehlo.add:0.0", "stablehlo.maximum:0xFF800000", "stablehlo.minimum:0x7F800000",
        "stablehlo.multiply:1.0", "stablehlo.add:1.0"}) {
    std::string pair = one, op = pair.substr(0, pair.find(':')),
                init = pair.substr(pair.find(':') + 1);
    for (const char *dims : {"[0]", "[1]", "[0, 1]"}) {
      SCOPED_TRACE(pair + dims);
      std::string type = std::string(dims) == "[0]"   ? "tensor<4xf32>"
                         : std::string(dims) == "[1]" ? "tensor<8xf32>"
                                                      : "tensor<f32>";
      Ran ran = run("func.func @main(%a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, "
                    "[{\"x\"}, {\"y\"}]>}) -> " +
                    type +
                    " {\n"
                    "%i = stablehlo.constant dense<" +
                    init +
                    "> : tensor<f32>\n"
                    "%0 = stablehlo.reduce(%a init: %i) applies " +
                    op + " across dimensions = " + dims + " : (tensor<8x4xf32>, tensor<f32>) -> " +
                    type + "\n return %0 : " + type + "\n}");
      EXPECT_TRUE(has(ran, init == "1.0" && op == "stablehlo.add" ? "all_gather" : "all_reduce"));
    }
  }
}

TEST(PartitionTest, MovementAlongAndAcrossPieces) {
  run(R"(
    func.func @main(%a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>},
                    %b: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}]>}, %n: tensor<i32>)
        -> (tensor<4x8xf32>, tensor<8x8xf32>, tensor<32xf32>, tensor<2x4x4xf32>, tensor<8x2xf32>, tensor<4x4xf32>, tensor<8x6xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4x3xf32>) {
      %z = stablehlo.constant dense<0> : tensor<i32>
      %f = stablehlo.constant dense<0.0> : tensor<f32>
      %0 = stablehlo.transpose %a, dims = [1, 0] : (tensor<8x4xf32>) -> tensor<4x8xf32>
      %1 = stablehlo.concatenate %a, %b, dim = 1 : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x8xf32>
      %2 = stablehlo.reshape %a : (tensor<8x4xf32>) -> tensor<32xf32>
      %3 = stablehlo.reshape %b : (tensor<8x4xf32>) -> tensor<2x4x4xf32>
      %4 = stablehlo.slice %a [0:8, 1:4:2] : (tensor<8x4xf32>) -> tensor<8x2xf32>
      %5 = stablehlo.dynamic_slice %a, %n, %z, sizes = [4, 4] : (tensor<8x4xf32>, tensor<i32>, tensor<i32>) -> tensor<4x4xf32>
      %6 = stablehlo.pad %a, %f, low = [0, 1], high = [0, 1], interior = [0, 0] : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x6xf32>
      %7 = stablehlo.reverse %a, dims = [0] : tensor<8x4xf32>
      %8 = "stablehlo.sort"(%a) <{dimension = 0 : i64}> ({
      ^bb0(%p: tensor<f32>, %q: tensor<f32>):
        %c = stablehlo.compare LT, %p, %q : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %c : tensor<i1>
      }) : (tensor<8x4xf32>) -> tensor<8x4xf32>
      %9 = stablehlo.broadcast_in_dim %a, dims = [0, 1] : (tensor<8x4xf32>) -> tensor<8x4x3xf32>
      return %0, %1, %2, %3, %4, %5, %6, %7, %8, %9 : tensor<4x8xf32>, tensor<8x8xf32>, tensor<32xf32>, tensor<2x4x4xf32>, tensor<8x2xf32>, tensor<4x4xf32>, tensor<8x6xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4x3xf32>
    })");
}

TEST(PartitionTest, LooksUpAndAddsUp) {
  Ran ran = run(R"(
    func.func @main(%t: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}]>},
                    %i: tensor<6x1xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
                    %u: tensor<6x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) -> (tensor<6x4xf32>, tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}]>}) {
      %0 = "stablehlo.gather"(%t, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>}> : (tensor<8x4xf32>, tensor<6x1xi32>) -> tensor<6x4xf32>
      %z = stablehlo.constant dense<0.0> : tensor<8x4xf32>
      %1 = "stablehlo.scatter"(%z, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
      ^bb0(%p: tensor<f32>, %q: tensor<f32>):
        %s = stablehlo.add %p, %q : tensor<f32>
        stablehlo.return %s : tensor<f32>
      }) : (tensor<8x4xf32>, tensor<6x1xi32>, tensor<6x4xf32>) -> tensor<8x4xf32>
      return %0, %1 : tensor<6x4xf32>, tensor<8x4xf32>
    })");
  EXPECT_TRUE(has(ran, "all_reduce")) << ran.text;
  EXPECT_FALSE(has(ran, "all_gather")) << ran.text;
}

TEST(PartitionTest, LoopsBranchesAndCalls) {
  run(R"(
    func.func private @step(%x: tensor<8x4xf32>, %w: tensor<4x4xf32>) -> tensor<8x4xf32> {
      %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
      %1 = stablehlo.tanh %0 : tensor<8x4xf32>
      return %1 : tensor<8x4xf32>
    }
    func.func @main(%a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
                    %w: tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}]>}) -> (tensor<8x4xf32>, tensor<4xf32>) {
      %n = stablehlo.constant dense<3> : tensor<i32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %f = stablehlo.constant dense<0.0> : tensor<f32>
      %start = stablehlo.constant dense<0.0> : tensor<4xf32>
      %r:3 = stablehlo.while(%i = %zero, %x = %a, %s = %start) : tensor<i32>, tensor<8x4xf32>, tensor<4xf32>
       cond {
        %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %c : tensor<i1>
      } do {
        %y = func.call @step(%x, %w) : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
        %t = stablehlo.reduce(%y init: %f) applies stablehlo.add across dimensions = [0] : (tensor<8x4xf32>, tensor<f32>) -> tensor<4xf32>
        %u = stablehlo.add %s, %t : tensor<4xf32>
        %j = stablehlo.add %i, %one : tensor<i32>
        stablehlo.return %j, %y, %u : tensor<i32>, tensor<8x4xf32>, tensor<4xf32>
      }
      %d = stablehlo.compare EQ, %r#0, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %b = "stablehlo.if"(%d) ({
        %p = stablehlo.negate %r#1 : tensor<8x4xf32>
        stablehlo.return %p : tensor<8x4xf32>
      }, {
        stablehlo.return %a : tensor<8x4xf32>
      }) : (tensor<i1>) -> tensor<8x4xf32>
      return %b, %r#2 : tensor<8x4xf32>, tensor<4xf32>
    })");
}

TEST(PartitionTest, WhatSaysItselfWhatDevicesDo) {
  run(R"(
    func.func @main(%a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) -> tensor<8x4xf32> {
      %0 = stablehlo.tanh %a : tensor<8x4xf32>
      %1 = sdy.manual_computation(%0) in_shardings=[<@mesh, [{"x"}, {"y"}]>] out_shardings=[<@mesh, [{"x"}, {"y"}]>] manual_axes={"x", "y"} (%p: tensor<4x2xf32>) {
        %q = "stablehlo.all_reduce"(%p) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, use_global_device_ids}> ({
        ^bb0(%s: tensor<f32>, %t: tensor<f32>):
          %u = stablehlo.add %s, %t : tensor<f32>
          stablehlo.return %u : tensor<f32>
        }) : (tensor<4x2xf32>) -> tensor<4x2xf32>
        sdy.return %q : tensor<4x2xf32>
      } : (tensor<8x4xf32>) -> tensor<8x4xf32>
      %2 = stablehlo.add %1, %a : tensor<8x4xf32>
      return %2 : tensor<8x4xf32>
    })");
}

TEST(PartitionTest, DevicesInAnyOrder) {
  std::string text = R"(
    func.func @main(%a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>},
                    %b: tensor<4x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}]>}) -> (tensor<8x6xf32>, tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y", "x"}, {}]>}) {
      %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
      %1 = stablehlo.iota dim = 0 : tensor<8x4xf32>
      %2 = stablehlo.add %a, %1 : tensor<8x4xf32>
      return %0, %2 : tensor<8x6xf32>, tensor<8x4xf32>
    })";
  Ran ran = run(text, true, ", device_ids=[2, 0, 3, 1]");
  EXPECT_TRUE(has(ran, "all_reduce")) << ran.text;
}

TEST(PartitionTest, LeavesAloneWhatItCannotSplit) {
  // A part of an axis.
  Ran part = run(R"(
    func.func @main(%a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"z":(1)2}, {}]>}) -> tensor<8x4xf32> {
      %0 = stablehlo.tanh %a : tensor<8x4xf32>
      return %0 : tensor<8x4xf32>
    })",
                 true, "", "\"z\"=4");
  EXPECT_TRUE(has(part, "tensor<8x4xf32>")) << part.text;
  // Two pieces of five rows are uneven.
  Ran uneven = run(R"(
    func.func @main(%a: tensor<5x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<5x4xf32> {
      %0 = stablehlo.tanh %a : tensor<5x4xf32>
      return %0 : tensor<5x4xf32>
    })");
  EXPECT_TRUE(has(uneven, "tensor<5x4xf32>")) << uneven.text;
  // Every device would do all of this product.
  Ran heavy = run(R"(
    func.func @main(%a: tensor<512x512xf32>, %b: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<512x512xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}, tensor<8x4xf32>) {
      %0 = stablehlo.dot_general %a, %a, contracting_dims = [1] x [0] : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
      return %0, %b : tensor<512x512xf32>, tensor<8x4xf32>
    })");
  EXPECT_TRUE(has(heavy, "tensor<8x4xf32>")) << heavy.text;
}

TEST(PartitionTest, SaysWhyItCannotSplit) {
  const std::string uneven = R"(
    sdy.mesh @mesh = <["x"=2]>
    func.func @main(%a: tensor<5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<5xf32> {
      return %a : tensor<5xf32>
    })";
  CompileOptions options;
  options.partitions = 2;
  auto whole = compile(uneven, options);
  ASSERT_TRUE(whole) << whole.message();
  EXPECT_EQ((*whole)->info().notes.at("partition"), "whole (argument 0: its pieces are uneven)");
  options.isStrict = true;
  auto strict = compile(uneven, options);
  ASSERT_FALSE(strict);
  EXPECT_EQ(strict.error().code, ErrorCode::Unsupported);
  EXPECT_NE(strict.message().find("argument 0: its pieces are uneven"), std::string::npos);
  // Who asks for whole tensors is not told about them.
  options.splitsWork = false;
  auto asked = compile(uneven, options);
  ASSERT_TRUE(asked) << asked.message();
  EXPECT_TRUE((*asked)->info().notes.empty());
}

} // namespace
} // namespace cupel::compiler
