// Custom calls that their authors split, with authors in C++: who is asked for what, and what
// becomes of wrong answers. tests/jax_plugin asks those that JAX registers.
#include "cupel/calls/CallPartitioners.h"
#include "cupel/compiler/Compile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cupel::compiler {
namespace {

using calls::CallPartitioner;
using calls::CallPartitioners;
using calls::PartitionedCall;
using tensor::DType;
using tensor::Shards;
using tensor::Tensor;
using ::testing::HasSubstr;
using Values = CallPartitioner::Values;

/// Four devices, 2 x 2; the argument is split by `in`, and `attributes` stand at the call.
std::string program(const std::string &in, const std::string &attributes,
                    const std::string &use = "") {
  return R"(module @m {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func @main(%a: tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, )" +
         in + R"(>}) -> tensor<4x4xf32> {
    %0 = stablehlo.custom_call @mine(%a) {backend_config = "key")" +
         attributes + R"(} : (tensor<4x4xf32>) -> tensor<4x4xf32>
)" + use + "    return " +
         (use.empty() ? "%0" : "%1") + " : tensor<4x4xf32>\n  }\n}";
}

/// What each device runs: its piece, times ten.
std::string timesTen(const std::string &type) {
  return "func.func @main(%a: tensor<" + type + ">) -> tensor<" + type +
         "> {\n  %0 = call @helper(%a) : (tensor<" + type + ">) -> tensor<" + type +
         ">\n  return %0 : tensor<" + type + ">\n}\nfunc.func private @helper(%a: tensor<" + type +
         ">) -> tensor<" + type + "> {\n  %c = stablehlo.constant dense<10.0> : tensor<" + type +
         ">\n  %0 = stablehlo.multiply %a, %c : tensor<" + type + ">\n  return %0 : tensor<" +
         type + ">\n}";
}

Shards rows() { return Shards::tiled({2, 1}, {0, 1, 2, 3}); }
Shards columns() { return Shards::tiled({1, 2}, {0, 2, 1, 3}); } // Over the minor axis.

class PartitionCallsTest : public ::testing::Test {
protected:
  /// An author who answers so, and notes what he is asked with.
  void answer(PartitionedCall call) {
    partitioner.partition = [this, call](Values operands, Values results, std::string_view config) {
      seen = {operands[0].shards, results[0].shards};
      EXPECT_EQ(config, "key");
      return Result<PartitionedCall>(call);
    };
  }
  void SetUp() override {
    partitioner.fromOperands = [this](Values operands, Values, std::string_view) {
      ++operandQuestions;
      return CallPartitioner::Placement(std::optional(std::vector{operands[0].shards}));
    };
    partitioner.fromUsers = [this](Values results, std::string_view) {
      ++userQuestions;
      return CallPartitioner::Placement(std::optional(std::vector{results[0].shards}));
    };
  }

  Result<std::shared_ptr<const runtime::Executable>> compileIt(const std::string &text) {
    CallPartitioners::get().set("mine", partitioner);
    CompileOptions options;
    options.partitions = 4;
    options.propagateToResults = {true};
    return compile(text, options);
  }

  CallPartitioner partitioner;
  std::vector<Shards> seen;
  int operandQuestions = 0, userQuestions = 0;
};

constexpr const char *kRule =
    ", sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=4, j=4}, custom>";

TEST_F(PartitionCallsTest, RunsTheAuthorsProgramOnPieces) {
  answer({timesTen("2x4xf32"), {rows()}, {rows()}});
  auto made = compileIt(program("[{\"x\"}, {}]", kRule));
  ASSERT_TRUE(made) << made.message();
  EXPECT_EQ(seen, (std::vector{rows(), rows()}));
  EXPECT_EQ(operandQuestions + userQuestions, 0);
  EXPECT_EQ((*made)->info().results[0].shards, rows());
  runtime::ProcessTensors arguments(4);
  for (int device = 0; device < 4; ++device)
    arguments[device].push_back(
        Tensor::of<DType::F32>({2, 4}, std::vector<float>(8, float(device / 2 + 1))));
  auto results = (*made)->execute(arguments);
  ASSERT_TRUE(results) << results.message();
  for (int device = 0; device < 4; ++device)
    EXPECT_EQ((*results)[device][0].dataAs<float>()[7], 10.0f * float(device / 2 + 1));

  // Who loads it needs no author.
  CallPartitioners::get().set("mine", {});
  auto loaded = deserialize((*made)->serialize());
  ASSERT_TRUE(loaded) << loaded.message();
  EXPECT_EQ((*loaded)->info().results[0].shards, rows());
}

TEST_F(PartitionCallsTest, WithoutARuleTheAuthorPlacesResults) {
  answer({timesTen("2x4xf32"), {rows()}, {rows()}});
  auto made = compileIt(program("[{\"x\"}, {}]", ""));
  ASSERT_TRUE(made) << made.message();
  EXPECT_EQ(operandQuestions, 1);
  EXPECT_EQ(userQuestions, 0);
  EXPECT_EQ(seen, (std::vector{rows(), rows()}));

  answer({timesTen("4x2xf32"), {columns()}, {columns()}});
  made = compileIt(program("[{}, {}]", "",
                           "    %1 = sdy.sharding_constraint %0 <@mesh, [{}, {\"y\"}]> : "
                           "tensor<4x4xf32>\n"));
  ASSERT_TRUE(made) << made.message();
  EXPECT_EQ(userQuestions, 1);
  EXPECT_EQ(seen[1], columns());
}

TEST_F(PartitionCallsTest, NamesThePartsOfAxesThatTilesAreLaidOver) {
  // Four rows over both axes, the minor one first.
  Shards turned = Shards::tiled({4, 1}, {0, 2, 1, 3});
  answer({timesTen("1x4xf32"), {turned}, {turned}});
  auto made = compileIt(program("[{\"y\", \"x\"}, {}]", kRule));
  ASSERT_TRUE(made) << made.message();
  EXPECT_EQ(seen, (std::vector{turned, turned}));
  EXPECT_EQ((*made)->info().results[0].shards, turned);
}

TEST_F(PartitionCallsTest, RefusesAnswersThatDoNotFit) {
  const std::string text = program("[{\"x\"}, {}]", kRule);
  auto complaint = [&](PartitionedCall call) {
    answer(std::move(call));
    auto made = compileIt(text);
    return made ? std::string("compiled") : made.message();
  };
  EXPECT_THAT(complaint({"not a program", {rows()}, {rows()}}), HasSubstr("cannot be read"));
  EXPECT_THAT(complaint({"module {}", {rows()}, {rows()}}), HasSubstr("without a function main"));
  EXPECT_THAT(complaint({timesTen("4x4xf32"), {rows()}, {rows()}}),
              HasSubstr("for a piece of type tensor<4x4xf32> where it is a tensor<2x4xf32>"));
  EXPECT_THAT(complaint({timesTen("2x4xf32"), {}, {rows()}}), HasSubstr("another number"));
  Shards thirds = Shards::tiled({3, 1}, {0, 1, 2});
  EXPECT_THAT(complaint({timesTen("2x4xf32"), {thirds}, {thirds}}), HasSubstr("unevenly"));
  // Tiles that no order of the mesh's axes gives.
  Shards odd = Shards::tiled({4, 1}, {0, 3, 1, 2});
  EXPECT_THAT(complaint({timesTen("1x4xf32"), {odd}, {odd}}),
              HasSubstr("in a way that no mesh of the program has"));
  EXPECT_THAT(complaint({timesTen("2x4xf32"), {rows()}, {rows()}}), HasSubstr("compiled"));

  partitioner.partition = [](Values, Values, std::string_view) {
    return Result<PartitionedCall>(Error{ErrorCode::Internal, "the author is ill"});
  };
  auto made = compileIt(text);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ErrorCode::Internal);
  EXPECT_THAT(made.message(), HasSubstr("the partitioner of @mine: the author is ill"));
}

TEST_F(PartitionCallsTest, AskingHoldsNoContext) {
  partitioner.partition = [](Values, Values, std::string_view) {
    // Others compile and drop programs meanwhile, also of the same context.
    auto other = compile("func.func @main() { return }", {});
    EXPECT_TRUE(other) << other.message();
    return Result<PartitionedCall>(PartitionedCall{timesTen("2x4xf32"), {rows()}, {rows()}});
  };
  auto made = compileIt(program("[{\"x\"}, {}]", kRule));
  EXPECT_TRUE(made) << made.message();
}

} // namespace
} // namespace cupel::compiler
