// Programs as tests, in this process: stages, outcomes, inputs and expectations from files.

#include "cupel/testbench/worker/Programs.h"

#include "cupel/tensor/Safetensors.h"

#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

namespace cupel::testbench::worker {
namespace {

using results::Outcome;
using results::Stage;
using results::TestRecord;
using tensor::DType;
using tensor::Tensor;

class Programs : public testing::Test {
protected:
  Programs() {
    std::string pattern = testing::TempDir() + "cupel-programs-XXXXXX";
    folder = mkdtemp(pattern.data());
    nowhere = open("/dev/null", O_WRONLY);
  }
  ~Programs() override {
    std::filesystem::remove_all(folder);
    close(nowhere);
  }

  void write(const std::string &name, const std::string &text) {
    std::ofstream(folder + "/" + name) << text;
  }
  void save(const std::string &name, std::vector<std::pair<std::string, Tensor>> tensors) {
    ASSERT_TRUE(tensor::writeSafetensors(folder + "/" + name, {std::move(tensors), {}}));
  }
  TestRecord run(const std::string &file, uint32_t part = 0, const config::Expectation &e = {}) {
    Request request;
    request.item.suite = "programs";
    request.item.file = file;
    request.item.part = part;
    request.item.expectation = e;
    request.folder = folder;
    request.device = "reference";
    request.timeoutSeconds = 20;
    Progress progress(nowhere, 1);
    progress.enter(Stage::Load);
    TestRecord record = programs.run(request, progress);
    record.lastStage = progress.stage();
    return record;
  }
  static Tensor floats(std::initializer_list<float> values) {
    return Tensor::of<DType::F32>({int64_t(values.size())}, values);
  }

  std::string folder;
  int nowhere;
  Trials trials;
  ProgramTest programs{trials};
};

constexpr const char *kDouble = R"(
func.func @main(%x: tensor<3xf32> loc("x")) -> tensor<3xf32> {
  %0 = stablehlo.add %x, %x : tensor<3xf32>
  return %0 : tensor<3xf32>
}
)";
std::string checking(int value) {
  return R"(func.func @main() {
  %a = stablehlo.constant dense<2> : tensor<i32>
  check.expect_eq_const %a, dense<)" +
         std::to_string(value) + R"(> : tensor<i32>
  return
}
)";
}

TEST_F(Programs, SelfChecking) {
  write("good.mlir", checking(2));
  write("bad.mlir", checking(3));
  TestRecord good = run("good.mlir");
  EXPECT_EQ(good.outcome, Outcome::Passed) << good.message;
  EXPECT_EQ(good.notes.at("expectation"), "its own checks");
  TestRecord bad = run("bad.mlir");
  EXPECT_EQ(bad.outcome, Outcome::Failed);
  EXPECT_EQ(bad.lastStage, Stage::Compare);
  EXPECT_EQ(bad.errorClass, "check_failed");
  EXPECT_TRUE(bad.message.starts_with("bad.mlir:3:")) << bad.message;
  ASSERT_EQ(bad.comparisons.size(), 1u);
}

TEST_F(Programs, ChunksByNumber) {
  write("many.mlir", checking(2) + "// -----\n" + checking(3) + "// -----\n" + checking(2));
  EXPECT_EQ(run("many.mlir", 0).outcome, Outcome::Passed);
  TestRecord second = run("many.mlir", 1);
  EXPECT_EQ(second.outcome, Outcome::Failed);
  EXPECT_TRUE(second.message.starts_with("many.mlir:9:")) << second.message;
  EXPECT_EQ(run("many.mlir", 2).outcome, Outcome::Passed);
  TestRecord none = run("many.mlir", 3);
  EXPECT_EQ(none.outcome, Outcome::Failed);
  EXPECT_EQ(none.lastStage, Stage::Load);
  // A file that changes is read anew.
  write("many.mlir", checking(3) + "// -----\n" + checking(2) + "\n\n");
  EXPECT_EQ(run("many.mlir", 0).outcome, Outcome::Failed);
}

TEST_F(Programs, WithoutExpectationItIsEvaluatedOnly) {
  write("double.mlir", kDouble);
  TestRecord record = run("double.mlir");
  EXPECT_EQ(record.outcome, Outcome::Unjudged) << record.message;
  EXPECT_EQ(record.notes.at("expectation"), "no expectation: evaluated only");
}

TEST_F(Programs, FilesBesideItTellReplicasApart) {
  write("sum.mlir", R"(
module attributes {mhlo.num_replicas = 2 : i32, mhlo.num_partitions = 1 : i32} {
  func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
    %0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %1 = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %1 : tensor<f32>
    }) : (tensor<3xf32>) -> tensor<3xf32>
    return %0 : tensor<3xf32>
  }
})");
  save("sum.inputs.safetensors", {{"0/0", floats({1, 2, 3})}, {"1/0", floats({10, 20, 30})}});
  save("sum.expected.safetensors", {{"0", floats({11, 22, 33})}});
  TestRecord record = run("sum.mlir");
  EXPECT_EQ(record.outcome, Outcome::Passed) << record.message;
  EXPECT_EQ(record.comparisons.size(), 2u);
  save("sum.expected.safetensors", {{"0/0", floats({11, 22, 33})}, {"1/0", floats({11, -22, 33})}});
  record = run("sum.mlir");
  EXPECT_EQ(record.outcome, Outcome::Failed);
  EXPECT_NE(record.message.find("output 1"), std::string::npos) << record.message;
  save("sum.inputs.safetensors", {{"0/0", floats({1, 2, 3})}});
  EXPECT_NE(run("sum.mlir").message.find("holds no tensor '1/0'"), std::string::npos);
}

TEST_F(Programs, FilesBesideIt) {
  write("double.mlir", kDouble);
  save("double.inputs.safetensors", {{"x", floats({1, 2, 3})}});
  save("double.expected.safetensors", {{"0", floats({2, 4, 6})}});
  TestRecord right = run("double.mlir");
  EXPECT_EQ(right.outcome, Outcome::Passed) << right.message;
  ASSERT_EQ(right.comparisons.size(), 1u);
  EXPECT_NEAR(*right.comparisons[0].pcc, 1, 1e-12);
  save("double.expected.safetensors", {{"0", floats({6, 4, 2})}});
  TestRecord wrong = run("double.mlir");
  EXPECT_EQ(wrong.outcome, Outcome::Failed);
  EXPECT_EQ(wrong.lastStage, Stage::Compare);
  EXPECT_EQ(wrong.errorClass, "wrong_result");
  config::Expectation lenient;
  lenient.assertPcc = false;
  EXPECT_EQ(run("double.mlir", 0, lenient).outcome, Outcome::Passed);
}

TEST_F(Programs, FilesThatDoNotFit) {
  write("double.mlir", kDouble);
  save("double.inputs.safetensors", {{"y", floats({1, 2, 3})}});
  EXPECT_NE(run("double.mlir").message.find("holds no tensor '0' or 'x' for argument 0"),
            std::string::npos);
  save("double.inputs.safetensors", {{"0", floats({1, 2})}});
  EXPECT_NE(run("double.mlir").message.find("tensor<2xf32>, but argument 0 is tensor<3xf32>"),
            std::string::npos)
      << run("double.mlir").message;
  save("double.inputs.safetensors", {{"0", floats({1, 2, 3})}, {"1", floats({1})}});
  EXPECT_EQ(run("double.mlir").outcome, Outcome::Failed);
  write("double.inputs.safetensors", "garbage");
  TestRecord garbage = run("double.mlir");
  EXPECT_EQ(garbage.outcome, Outcome::Failed);
  EXPECT_EQ(garbage.errorClass, "invalid_argument");
}

TEST_F(Programs, WhatCannotBeRead) {
  EXPECT_EQ(run("missing.mlir").lastStage, Stage::Load);
  write("syntax.mlir", "func.func @main() {");
  TestRecord syntax = run("syntax.mlir");
  EXPECT_EQ(syntax.lastStage, Stage::Frontend);
  EXPECT_EQ(syntax.errorClass, "invalid_program");
  write("empty.mlir", "");
  EXPECT_EQ(run("empty.mlir").outcome, Outcome::Failed);
  write("binary.mlirbc", std::string("ML\xefR\x0d\x00\x01", 7));
  EXPECT_EQ(run("binary.mlirbc").outcome, Outcome::Failed);
  write("dynamic.mlir", "func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {\n"
                        "  return %x : tensor<?xf32>\n}\n");
  EXPECT_NE(run("dynamic.mlir").message.find("NAME.inputs.safetensors"), std::string::npos);
}

TEST_F(Programs, TimeAndMemoryAreKept) {
  write("endless.mlir", R"(func.func @main() -> tensor<i32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.while(%i = %zero) : tensor<i32>
    cond {
      %true = stablehlo.constant dense<true> : tensor<i1>
      stablehlo.return %true : tensor<i1>
    } do {
      stablehlo.return %i : tensor<i32>
    }
  return %0 : tensor<i32>
}
)");
  write("greedy.mlir", R"(func.func @main() -> tensor<65536x65536xf64> {
  %0 = stablehlo.iota dim = 0 : tensor<65536x65536xf64>
  return %0 : tensor<65536x65536xf64>
}
)");
  Request request;
  request.folder = folder;
  request.item.suite = "programs";
  request.item.file = "endless.mlir";
  request.timeoutSeconds = 0.2;
  Progress progress(nowhere, 1);
  EXPECT_EQ(programs.run(request, progress).outcome, Outcome::TimedOut);
  request.item.file = "greedy.mlir";
  request.timeoutSeconds = 20;
  request.memoryLimitBytes = 1 << 30;
  EXPECT_EQ(programs.run(request, progress).outcome, Outcome::OutOfMemory);
}

TEST_F(Programs, TheReferenceIsHealthy) {
  Request request;
  request.kind = Request::Kind::Health;
  request.device = "reference";
  Progress progress(nowhere, 1);
  TestRecord record = programs.checkHealth(request, progress);
  EXPECT_EQ(record.outcome, Outcome::Passed) << record.message;
  request.device = "no-such-device";
  EXPECT_EQ(programs.checkHealth(request, progress).outcome, Outcome::Failed);
}

TEST_F(Programs, TheContextIsRenewed) {
  // More text than one context is kept for.
  std::string text = checking(2);
  text += "// " + std::string(3 << 20, 'x') + "\n";
  write("long.mlir", text);
  for (int i = 0; i < 14; ++i)
    EXPECT_EQ(run("long.mlir").outcome, Outcome::Passed);
}

} // namespace
} // namespace cupel::testbench::worker
