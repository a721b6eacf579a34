// The rows of the decision tables that depend on what the runner says, with a CPU and a runner that
// say what the test wants. Rows about loaders are run for real in tests/triage.

#include "cupel/testbench/procedures/Procedure.h"

#include "cupel/support/Files.h"
#include "cupel/support/TemporaryFolder.h"

#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cupel::testbench::procedures {
namespace {

using config::BringupStatus;
using results::Outcome;
using results::TestRecord;
using testing::HasSubstr;

constexpr const char *kId = "a/pytorch-X-single_device-training";
constexpr const char *kMismatch =
    "mat1 and mat2 must have the same dtype, but got Float and BFloat16";
constexpr const char *kLoader =
    "import torch\n\n\nclass ModelLoader:\n    def load_inputs(self, dtype_override=None):\n"
    "        values = torch.ones(4)\n        return {\"values\": values}\n";

CpuPhase fine(std::string dtype) {
  CpuPhase phase;
  phase.dtype = std::move(dtype);
  phase.ok = true;
  phase.step = "done";
  phase.unpackedIsTensor = true;
  return phase;
}

CpuPhase broken(std::string dtype, std::string error) {
  CpuPhase phase = fine(std::move(dtype));
  phase.ok = false;
  phase.step = "forward";
  phase.errorClass = "RuntimeError";
  phase.error = std::move(error);
  phase.inputsKind = "mapping";
  phase.inputs = {{"values", "float32", "", "4", true}};
  return phase;
}

class ProcedureTest : public testing::Test {
protected:
  ProcedureTest() {
    std::filesystem::create_directories(folder.path / "zoo/a/pytorch");
    EXPECT_TRUE(writeOutput(folder.path / "zoo/a/pytorch/loader.py", kLoader));
    record.suite = "models";
    record.id = kId;
    after = {"X", {fine("bfloat16"), fine("float32")}};
    before = {"X", {broken("bfloat16", kMismatch), fine("float32")}};
  }

  ProcedureReport run(const Procedure &procedure = kBfloat16) {
    std::string yaml = folder.path / "test_config_training_single_device.yaml";
    EXPECT_TRUE(writeOutput(
        yaml, std::string("test_config:\n  ") + kId +
                  ":\n    status: NOT_SUPPORTED_SKIP\n    reason: \"RuntimeError: " + kMismatch +
                  "\"  # why\n"));
    config::Configuration configuration = config::Configuration::load({yaml});
    TestItem item;
    item.suite = "models";
    item.id = kId;
    item.modelPath = "a/pytorch";
    item.variant = "X";
    item.runMode = "training";
    item.framework = "pytorch";
    Inputs inputs{&configuration, {item}, folder.path / "zoo"};
    Seams seams;
    seams.cpu = [&](const std::string &zoo,
                    const std::vector<CpuTest> &tests) -> Result<std::vector<CpuRun>> {
      bool isShadow = zoo != inputs.zoo;
      shadows += isShadow;
      return std::vector<CpuRun>(tests.size(), isShadow ? after : before);
    };
    seams.verify = [&](const std::string &zoo,
                       const std::vector<std::string> &ids) -> Result<std::vector<TestRecord>> {
      return std::vector<TestRecord>{zoo == inputs.zoo && original ? *original : record};
    };
    seams.say = [](const std::string &) {};
    Result<ProcedureReport> report = runProcedure(procedure, inputs, kId, seams);
    EXPECT_TRUE(report) << report.message();
    text = report->yaml.empty() ? "" : report->yaml.begin()->second;
    return std::move(*report);
  }

  TemporaryFolder folder{"cupel-procedure"};
  TestRecord record;                  ///< What the runner says,
  std::optional<TestRecord> original; ///< and of the loader as it is.
  CpuRun before, after;
  int shadows = 0;
  std::string text; ///< The configuration as it should be.
};

TEST_F(ProcedureTest, FixedAndPasses) {
  record.outcome = Outcome::Passed;
  ProcedureReport report = run();
  EXPECT_EQ(report.branch, 'B');
  EXPECT_EQ(shadows, 1);
  EXPECT_EQ(report.fix, "a/pytorch/loader.py:6: values = torch.ones(4, dtype=dtype_override)");
  EXPECT_THAT(text, HasSubstr("status: EXPECTED_PASSING\n"));
  EXPECT_THAT(text, testing::Not(HasSubstr("reason")));
}

TEST_F(ProcedureTest, FixedAndInaccurate) {
  record.outcome = Outcome::Failed;
  record.bringupStatus = "INCORRECT_RESULT";
  record.message = "output 0: pcc 0.9 is below the required 0.99";
  run();
  EXPECT_THAT(text, HasSubstr("status: EXPECTED_PASSING\n"));
  EXPECT_THAT(text, HasSubstr("assert_pcc: false"));
}

TEST_F(ProcedureTest, FixedAndFailsAnew) {
  record.outcome = Outcome::Failed;
  record.bringupStatus = "FAILED_RUNTIME";
  record.message = "INTERNAL: no core is left";
  run();
  EXPECT_THAT(text, HasSubstr("status: KNOWN_FAILURE_XFAIL\n    bringup_status: FAILED_RUNTIME\n   "
                              " reason: \"INTERNAL: no core is left\""));
}

TEST_F(ProcedureTest, OldFailureComesBack) {
  record.outcome = Outcome::Failed;
  record.bringupStatus = "UNKNOWN";
  record.message =
      std::string("the model fails on the CPU in bfloat16: RuntimeError: ") + kMismatch;
  ProcedureReport report = run();
  EXPECT_EQ(report.branch, 'A');
  EXPECT_TRUE(report.files.empty());
  EXPECT_THAT(report.noFix, HasSubstr("comes back"));
  EXPECT_EQ(report.review.size(), 1u);
  EXPECT_THAT(
      text, HasSubstr("status: KNOWN_FAILURE_XFAIL\n    bringup_status: FAILED_FE_COMPILATION\n"));
  EXPECT_THAT(text, HasSubstr("# why")); // What stands beside it stays.
}

TEST_F(ProcedureTest, SkippedAlthoughForced) {
  record.outcome = Outcome::Skipped;
  ProcedureReport report = run();
  EXPECT_TRUE(report.yaml.empty());
  EXPECT_EQ(report.entries[0].state, "unchanged");
  EXPECT_THAT(report.review[0], HasSubstr("ended as skipped although it was forced to run"));
}

TEST_F(ProcedureTest, FixMovesTheFailure) {
  after = {"X", {broken("bfloat16", "another thing"), fine("float32")}};
  record.outcome = Outcome::Failed;
  record.message = "the model fails on the CPU in bfloat16: RuntimeError: another thing [a.py:3]";
  ProcedureReport report = run();
  EXPECT_EQ(report.branch, 'C');
  EXPECT_EQ(report.files.size(), 1u);
  EXPECT_THAT(text, HasSubstr("bringup_status: FAILED_FE_COMPILATION"));
  EXPECT_THAT(text, HasSubstr("RuntimeError: another thing\""));
  // A pass that nobody expects is for a person.
  record.outcome = Outcome::Passed;
  report = run();
  EXPECT_TRUE(report.yaml.empty());
  EXPECT_THAT(report.review[0], HasSubstr("fails on the CPU and passes when it is run"));
}

TEST_F(ProcedureTest, FixThatBreaksFloat32IsTakenBack) {
  after = {"X", {fine("bfloat16"), broken("float32", "oh")}};
  record.outcome = Outcome::Failed;
  record.message = kMismatch;
  ProcedureReport report = run();
  EXPECT_EQ(report.branch, 'A');
  EXPECT_THAT(report.noFix, HasSubstr("fails in float32"));
}

TEST_F(ProcedureTest, WithoutAFixTheRunnerMustAgree) {
  before = {"X", {broken("bfloat16", "'nms' not implemented for 'BFloat16'"), fine("float32")}};
  // The recorded reason says cross_dtype: the loader is tried, and there is no place to mend.
  before.phases[0].inputs.clear();
  record.outcome = Outcome::Failed;
  record.message = "something else entirely";
  ProcedureReport report = run();
  EXPECT_EQ(report.branch, 'A');
  EXPECT_EQ(shadows, 0);
  EXPECT_TRUE(report.yaml.empty());
  EXPECT_THAT(report.review[0], HasSubstr("fails otherwise when it is run"));
  record.message = "the model fails: RuntimeError: 'nms' not implemented for 'BFloat16'";
  run();
  EXPECT_THAT(text, HasSubstr("RuntimeError: 'nms' not implemented for 'BFloat16'\""));
}

TEST(StageOf, ByWhatTheMessageNames) {
  auto stage = [](const char *message, const char *bringup = "UNKNOWN") {
    TestRecord record;
    record.message = message;
    record.bringupStatus = bringup;
    return stageOf(record);
  };
  EXPECT_EQ(stage("error: 'ttir.add' op failed"), BringupStatus::FailedDeviceCompilation);
  EXPECT_EQ(stage("Aborted (core dumped)"), BringupStatus::FailedDeviceCompilation);
  EXPECT_EQ(stage("TT_FATAL @ kernel dispatch"), BringupStatus::FailedRuntime);
  EXPECT_EQ(stage("it did not end", "FAILED_RUNTIME"), BringupStatus::FailedRuntime);
  EXPECT_EQ(stage("ValueError: no"), BringupStatus::FailedFrontendCompilation);
}

} // namespace
} // namespace cupel::testbench::procedures
