// Plans as a whole: limits, grids, memory, and the page that lists what is evaluated.

#include "cupel/ir/stablehlo/Stablehlo.h"
#include "cupel/reference/PlanTesting.h"

#include <cstdlib>
#include <fstream>
#include <sstream>

using namespace cupel;
using namespace cupel::reference;

namespace {

using PlanTest = ProgramTest;

constexpr const char *kEndless = R"(
func.func @main() -> tensor<i32> {
  %c = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.while(%a = %c) : tensor<i32>
    cond { %t = stablehlo.constant dense<true> : tensor<i1>  stablehlo.return %t : tensor<i1> }
    do { %one = stablehlo.constant dense<1> : tensor<i32>
         %n = stablehlo.add %a, %one : tensor<i32>  stablehlo.return %n : tensor<i32> }
  return %0 : tensor<i32>
})";

TEST_F(PlanTest, EndlessLoopsMeetTheLimits) {
  RunOptions steps;
  steps.maxSteps = 100000;
  auto result = run(kEndless, steps);
  ASSERT_FALSE(result);
  EXPECT_NE(result.message().find("--max-steps"), std::string::npos) << result.message();
  RunOptions time;
  time.timeoutSeconds = 0.1;
  result = run(kEndless, time);
  ASSERT_FALSE(result);
  EXPECT_NE(result.message().find("--timeout"), std::string::npos) << result.message();
}

// A broadcast that only elementwise operations take is not written out; one that leaves the program,
// or goes elsewhere, is.
TEST_F(PlanTest, BroadcastsAreReadWhereTheyLie) {
  const char *text = R"(
func.func @main(%x: tensor<2x3x100xf32>, %c: tensor<3xf32>) -> (tensor<2x3x100xf32>, tensor<2x3x100xf32>, tensor<2x100x3xf32>) {
  %0 = stablehlo.broadcast_in_dim %c, dims = [1] : (tensor<3xf32>) -> tensor<2x3x100xf32>
  %1 = stablehlo.add %x, %0 : tensor<2x3x100xf32>
  %2 = stablehlo.multiply %1, %0 : tensor<2x3x100xf32>
  %3 = stablehlo.broadcast_in_dim %c, dims = [1] : (tensor<3xf32>) -> tensor<2x3x100xf32>
  %4 = stablehlo.broadcast_in_dim %c, dims = [1] : (tensor<3xf32>) -> tensor<2x3x100xf32>
  %5 = stablehlo.transpose %4, dims = [0, 2, 1] : (tensor<2x3x100xf32>) -> tensor<2x100x3xf32>
  return %2, %3, %5 : tensor<2x3x100xf32>, tensor<2x3x100xf32>, tensor<2x100x3xf32>
})";
  std::vector<bool> lies;
  RunOptions options;
  options.trace = [&](const Step &step, std::span<const Value> values) {
    if (step.op->getName().getStringRef() == "stablehlo.broadcast_in_dim")
      lies.push_back(!values[0].tensor().isContiguous());
  };
  tensor::Tensor x = *tensor::Tensor::zeros(tensor::DType::F32, {2, 3, 100});
  tensor::Tensor c = tensor::Tensor::of<tensor::DType::F32>({3}, {1, 2, 3});
  auto results = run(text, options, {Value(x), Value(c)});
  ASSERT_TRUE(results) << results.message();
  EXPECT_EQ(lies, (std::vector<bool>{true, false, false}));
  for (int64_t i = 0; i < 600; ++i) {
    float channel = static_cast<float>(1 + i / 100 % 3);
    ASSERT_EQ((*results)[0].tensor().dataAs<float>()[i], channel * channel);
    ASSERT_EQ((*results)[1].tensor().dataAs<float>()[i], channel);
    ASSERT_EQ((*results)[2].tensor().dataAs<float>()[i], static_cast<float>(1 + i % 3));
  }
}

// A loop on scalars is compiled, but a trace sees what happens in it.
TEST_F(PlanTest, TracesShowEveryIteration) {
  const char *text = R"(
func.func @main() -> tensor<i32> {
  %c = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.while(%a = %c) : tensor<i32>
    cond { %l = stablehlo.constant dense<5> : tensor<i32>
           %t = stablehlo.compare LT, %a, %l : (tensor<i32>, tensor<i32>) -> tensor<i1>
           stablehlo.return %t : tensor<i1> }
    do { %one = stablehlo.constant dense<1> : tensor<i32>
         %n = stablehlo.add %a, %one : tensor<i32>  stablehlo.return %n : tensor<i32> }
  return %0 : tensor<i32>
})";
  std::vector<int32_t> sums;
  RunOptions options;
  options.trace = [&](const Step &step, std::span<const Value> values) {
    if (step.op->getName().getStringRef() == "stablehlo.add")
      sums.push_back(*values[0].tensor().dataAs<int32_t>());
  };
  auto traced = run(text, options), plain = run(text);
  ASSERT_TRUE(traced && plain);
  EXPECT_EQ(sums, (std::vector<int32_t>{1, 2, 3, 4, 5}));
  EXPECT_EQ(*(*traced)[0].tensor().dataAs<int32_t>(), 5);
  EXPECT_EQ(*(*plain)[0].tensor().dataAs<int32_t>(), 5);
}

TEST_F(PlanTest, HugeShapesAreRefused) {
  RunOptions options;
  options.maxMemory = int64_t(1) << 30;
  auto result = run("func.func @main() -> tensor<1000000x1000000xf32> {\n"
                    "  %0 = stablehlo.iota dim = 0 : tensor<1000000x1000000xf32>\n"
                    "  return %0 : tensor<1000000x1000000xf32>\n}",
                    options);
  ASSERT_FALSE(result);
  EXPECT_NE(result.message().find("--max-memory"), std::string::npos) << result.message();
}

TEST_F(PlanTest, RecursionEnds) {
  auto result = run("func.func @main() { call @main() : () -> ()  return }");
  ASSERT_FALSE(result);
  EXPECT_NE(result.message().find("nest deeper"), std::string::npos) << result.message();
}

TEST_F(PlanTest, UnknownOperationsAreNamed) {
  auto result = run("func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {\n"
                    "  %0 = stablehlo.custom_call @magic(%a) : (tensor<2xf32>) -> tensor<2xf32>\n"
                    "  return %0 : tensor<2xf32>\n}");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.message(), "p.mlir:2:8: stablehlo.custom_call: a custom call of @magic is not "
                              "evaluated");
}

TEST_F(PlanTest, ProcessesThatWaitForEachOtherAreFoundOut) {
  auto result = run(R"(
module {
  func.func @one(%a: tensor<i32>) -> tensor<i32> {
    %0 = "stablehlo.all_reduce"(%a) ({
      ^bb0(%x: tensor<i32>, %y: tensor<i32>):
        %s = stablehlo.add %x, %y : tensor<i32>
        stablehlo.return %s : tensor<i32>
    }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<i32>) -> tensor<i32>
    return %0 : tensor<i32>
  }
  func.func @two(%a: tensor<i32>) -> tensor<i32> { return %a : tensor<i32> }
  func.func @main() -> (tensor<i32>, tensor<i32>) {
    %c = stablehlo.constant dense<1> : tensor<i32>
    %0:2 = "interpreter.run_parallel"(%c, %c) {programs = [[@one], [@two]]}
      : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    return %0#0, %0#1 : tensor<i32>, tensor<i32>
  }
})");
  ASSERT_FALSE(result);
  EXPECT_NE(result.message().find("wait for others"), std::string::npos) << result.message();
}

TEST_F(PlanTest, ManyProcessesMeet) {
  std::string programs;
  for (int i = 0; i < 64; ++i)
    programs += std::string(i ? ", " : "") + "[@sum]";
  std::string types;
  for (int i = 0; i < 64; ++i)
    types += std::string(i ? ", " : "") + "tensor<ui32>";
  auto result = run(R"(
module {
  func.func @sum() -> tensor<ui32> {
    %id = stablehlo.replica_id : tensor<ui32>
    %0 = "stablehlo.all_reduce"(%id) ({
      ^bb0(%x: tensor<ui32>, %y: tensor<ui32>):
        %s = stablehlo.add %x, %y : tensor<ui32>
        stablehlo.return %s : tensor<ui32>
    }) {replica_groups = dense<> : tensor<0x0xi64>} : (tensor<ui32>) -> tensor<ui32>
    return %0 : tensor<ui32>
  }
  func.func @main() -> tensor<ui32> {
    %0:64 = "interpreter.run_parallel"() {programs = [)" +
                    programs + "]} : () -> (" + types + ")\n return %0#63 : tensor<ui32> } }");
  ASSERT_TRUE(result) << result.message();
  EXPECT_EQ(*(*result)[0].tensor().dataAs<uint32_t>(), 64u * 63 / 2);
}

TEST_F(PlanTest, MemoryIsUsedAgainAndArgumentsStay) {
  tensor::Tensor argument = tensor::Tensor::of<tensor::DType::F32>({3}, {1, 2, 3});
  auto result = run("func.func @main(%a: tensor<3xf32>) -> tensor<3xf32> {\n"
                    "  %0 = stablehlo.add %a, %a : tensor<3xf32>\n"
                    "  %1 = stablehlo.multiply %0, %0 : tensor<3xf32>\n"
                    "  %2 = stablehlo.negate %1 : tensor<3xf32>\n"
                    "  return %2 : tensor<3xf32>\n}",
                    {}, {argument});
  ASSERT_TRUE(result) << result.message();
  EXPECT_EQ((*result)[0].tensor().dataAs<float>()[2], -36);
  EXPECT_EQ(argument.dataAs<float>()[2], 3);
}

TEST_F(PlanTest, ResultsTakeThePlaceOfOperandsThatEnd) {
  std::vector<const void *> places;
  RunOptions options;
  options.trace = [&](const Step &, std::span<const Value> values) {
    places.push_back(values[0].tensor().data());
  };
  tensor::Tensor argument = tensor::Tensor::of<tensor::DType::F32>({3}, {1, 2, 3});
  auto result = run("func.func @main(%a: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {\n"
                    "  %0 = stablehlo.negate %a : tensor<3xf32>\n"
                    "  %1 = stablehlo.multiply %0, %0 : tensor<3xf32>\n"
                    "  %2 = stablehlo.clamp %1, %1, %1 : tensor<3xf32>\n"
                    "  %3 = stablehlo.add %2, %2 : tensor<3xf32>\n"
                    "  return %2, %3 : tensor<3xf32>, tensor<3xf32>\n}",
                    options, {argument});
  ASSERT_TRUE(result) << result.message();
  ASSERT_EQ(places.size(), 4u);
  EXPECT_NE(places[0], argument.data());
  EXPECT_EQ(places[1], places[0]);
  EXPECT_EQ(places[2], places[0]);
  EXPECT_NE(places[3], places[0]); // %2 is used again
  EXPECT_EQ((*result)[0].tensor().dataAs<float>()[2], 9);
  EXPECT_EQ((*result)[1].tensor().dataAs<float>()[2], 18);
  EXPECT_EQ(argument.dataAs<float>()[2], 3);
}

/// The page is generated: CUPEL_UPDATE_DOCS=1 writes it again.
TEST_F(PlanTest, PageOfEvaluatedOperationsIsCurrent) {
  context.loadAllAvailableDialects();
  std::string page =
      "# What the reference evaluates\n\n"
      "Generated by the test that checks it (`CUPEL_UPDATE_DOCS=1 build/bin/unit/"
      "cupel_reference_test` writes it again).\n"
      "chlo operations are lowered to these first. An operation that is not here ends a program "
      "with an error that\nnames it and its location.\n\n"
      "| operation | evaluated |\n|---|---|\n";
  std::vector<std::string> names = Registry::get().names();
  size_t missing = 0;
  for (mlir::RegisteredOperationName op : context.getRegisteredOperations()) {
    llvm::StringRef dialect = op.getDialectNamespace();
    if (dialect != "stablehlo" && dialect != "check" && dialect != "interpreter")
      continue;
    if (op.getStringRef() == "stablehlo.return")
      continue;
    if (!llvm::is_contained(names, op.getStringRef().str())) {
      names.push_back(op.getStringRef().str());
      ++missing;
    }
  }
  llvm::sort(names);
  for (const std::string &name : names)
    page += "| `" + name + "` | " + (Registry::get().find(name) ? "yes" : "**no**") + " |\n";
  EXPECT_EQ(missing, 0u);
  std::string path = std::string(CUPEL_SOURCE_ROOT) + "/docs/reference/evaluated-ops.md";
  if (std::getenv("CUPEL_UPDATE_DOCS"))
    std::ofstream(path) << page;
  std::ifstream file(path);
  std::ostringstream content;
  content << file.rdbuf();
  EXPECT_EQ(content.str(), page);
}

} // namespace
