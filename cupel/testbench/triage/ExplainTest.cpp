#include "cupel/testbench/triage/Explain.h"

#include <gtest/gtest.h>
#include <limits>

using namespace cupel;
using namespace cupel::testbench;
using namespace cupel::testbench::triage;
using config::BringupStatus;
using config::Expectation;
using config::TestStatus;
using results::ComparisonRecord;
using results::Outcome;
using results::Stage;
using results::TestRecord;

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
using Words = std::vector<std::string>;

ReasonTable table() {
  std::string file = defaultReasonsFile();
  Result<ReasonTable> loaded = ReasonTable::load(std::span(&file, 1));
  EXPECT_TRUE(loaded) << loaded.message();
  return std::move(*loaded);
}

TestRecord model(Outcome outcome, Stage stage) {
  TestRecord record;
  record.suite = "models";
  record.id = "bert/pytorch-base-single_device-inference";
  record.modelPath = "bert/pytorch";
  record.outcome = outcome;
  record.lastStage = stage;
  return record;
}

ComparisonRecord comparison(double pcc, double threshold, bool asserted, bool passed) {
  ComparisonRecord c;
  c.pcc = pcc;
  c.pccThreshold = threshold;
  c.pccAsserted = asserted;
  c.passed = passed;
  return c;
}

TestRecord compared(Outcome outcome, std::vector<ComparisonRecord> comparisons) {
  TestRecord record = model(outcome, outcome == Outcome::Passed ? Stage::Done : Stage::Compare);
  record.comparisons = std::move(comparisons);
  return record;
}

Expectation with(TestStatus status) {
  Expectation expectation;
  expectation.hasEntry = status != TestStatus::Unspecified;
  expectation.status = status;
  return expectation;
}

TEST(BringupStatusOf, TheLastStageReached) {
  Expectation expectation = with(TestStatus::ExpectedPassing);
  auto status = [&](Outcome outcome, Stage stage) {
    return bringupStatus(model(outcome, stage), expectation);
  };
  EXPECT_EQ(status(Outcome::Failed, Stage::Load), BringupStatus::Unknown);
  EXPECT_EQ(status(Outcome::Failed, Stage::Frontend), BringupStatus::FailedFrontendCompilation);
  EXPECT_EQ(status(Outcome::Crashed, Stage::Compile), BringupStatus::FailedDeviceCompilation);
  EXPECT_EQ(status(Outcome::TimedOut, Stage::Execute), BringupStatus::FailedRuntime);
  EXPECT_EQ(status(Outcome::OutOfMemory, Stage::Execute), BringupStatus::FailedRuntime);
  EXPECT_EQ(status(Outcome::XFailed, Stage::Compile), BringupStatus::FailedDeviceCompilation);
  EXPECT_EQ(status(Outcome::Failed, Stage::Reference), BringupStatus::Unknown);
  EXPECT_EQ(status(Outcome::Failed, Stage::Compare), BringupStatus::IncorrectResult);
  EXPECT_EQ(status(Outcome::Passed, Stage::Done), BringupStatus::Passed);
  EXPECT_EQ(status(Outcome::Interrupted, Stage::None), BringupStatus::Unknown);
}

TEST(BringupStatusOf, WhatTheConfigurationSaysWhereNothingRan) {
  Expectation expectation = with(TestStatus::NotSupportedSkip);
  expectation.bringupStatus = BringupStatus::FailedRuntime;
  EXPECT_EQ(bringupStatus(model(Outcome::Skipped, Stage::None), expectation),
            BringupStatus::FailedRuntime);
  expectation.bringupStatus = BringupStatus::NotStarted;
  EXPECT_EQ(bringupStatus(model(Outcome::NotRun, Stage::None), expectation),
            BringupStatus::NotStarted);
  // Forced to run: what happened counts.
  expectation.bringupStatus = BringupStatus::FailedRuntime;
  EXPECT_EQ(bringupStatus(model(Outcome::Passed, Stage::Done), expectation), BringupStatus::Passed);
}

TEST(BringupStatusOf, FiguresThatAreWrong) {
  Expectation expectation = with(TestStatus::ExpectedPassing);
  auto status = [&](TestRecord record) { return bringupStatus(record, expectation); };
  EXPECT_EQ(status(compared(Outcome::Passed, {comparison(0.999, 0.99, true, true)})),
            BringupStatus::Passed);
  EXPECT_EQ(status(compared(Outcome::Failed, {comparison(0.9, 0.99, true, false)})),
            BringupStatus::IncorrectResult);
  // Even with the check off.
  EXPECT_EQ(status(compared(Outcome::Passed, {comparison(0.9, 0.99, false, true)})),
            BringupStatus::IncorrectResult);
  EXPECT_EQ(status(compared(Outcome::Passed, {comparison(kNan, 0.99, false, true)})),
            BringupStatus::IncorrectResult);
  // Another comparator alone fails: upstream has no answer here.
  ComparisonRecord atol = comparison(0.9999, 0.99, true, false);
  atol.atolAsserted = true;
  atol.maxAbsolute = 1;
  atol.atolThreshold = 0.1;
  EXPECT_EQ(status(compared(Outcome::Failed, {atol})), BringupStatus::IncorrectResult);
}

TEST(Guidance, FollowsTheWorstOutput) {
  Expectation expectation = with(TestStatus::ExpectedPassing);
  auto advice = [&](double pcc, double threshold, bool asserted) {
    return guidance(compared(Outcome::Passed, {comparison(pcc, threshold, asserted, true)}),
                    expectation);
  };
  EXPECT_EQ(advice(0.995, 0.99, false), Words{"ENABLE_PCC_099"});
  EXPECT_EQ(advice(0.992, 0.99, false), Words{}); // Too near.
  EXPECT_EQ(advice(0.975, 0.97, false), Words{"ENABLE_PCC"});
  EXPECT_EQ(advice(0.995, 0.97, true), Words{"RAISE_PCC_099"});
  EXPECT_EQ(advice(0.985, 0.97, true), Words{"RAISE_PCC"});
  EXPECT_EQ(advice(0.983, 0.97, true), Words{});
  EXPECT_EQ(advice(0.9999, 0.99, true), Words{});
  EXPECT_EQ(advice(0.995, 0.97, false), (Words{"ENABLE_PCC", "RAISE_PCC_099"}));
  EXPECT_EQ(advice(kNan, 0.97, false), Words{});
  // 0.57 * 100 is 56.99...: the next hundredth is 0.58 all the same.
  EXPECT_EQ(advice(0.579, 0.57, true), Words{});
  EXPECT_EQ(advice(0.585, 0.57, true), Words{"RAISE_PCC"});
  // What the last output would allow, another one does not.
  EXPECT_EQ(guidance(compared(Outcome::Passed, {comparison(0.971, 0.97, true, true),
                                                comparison(0.9999, 0.97, true, true)}),
                     expectation),
            Words{});
  EXPECT_EQ(guidance(compared(Outcome::Passed, {comparison(0.9999, 0.97, false, true),
                                                comparison(kNan, 0.97, false, true)}),
                     expectation),
            Words{});
}

TEST(Guidance, FollowsTheStatus) {
  TestRecord passed = compared(Outcome::XPassed, {comparison(0.999, 0.99, true, true)});
  EXPECT_EQ(guidance(passed, with(TestStatus::KnownFailureXfail)), Words{"RM_XFAIL"});
  TestRecord wrong = compared(Outcome::XFailed, {comparison(0.5, 0.99, true, false)});
  EXPECT_EQ(guidance(wrong, with(TestStatus::KnownFailureXfail)), Words{"RM_XFAIL"});
  EXPECT_EQ(guidance(model(Outcome::XFailed, Stage::Compile), with(TestStatus::KnownFailureXfail)),
            Words{});
  passed.outcome = Outcome::Passed;
  EXPECT_EQ(guidance(passed, with(TestStatus::Unspecified)), Words{"ADD_CONFIG"});
  passed.modelPath.clear(); // A program has no entry to add.
  EXPECT_EQ(guidance(passed, with(TestStatus::Unspecified)), Words{});
  EXPECT_EQ(guidance(model(Outcome::Skipped, Stage::None), with(TestStatus::NotSupportedSkip)),
            Words{});
}

TEST(Explain, FillsInARecord) {
  ReasonTable reasons = table();
  TestRecord record = compared(Outcome::Failed, {comparison(kNan, 0.99, true, false)});
  record.message = "output 0: pcc is nan";
  explain(record, with(TestStatus::ExpectedPassing), reasons);
  EXPECT_EQ(record.testStatus, "EXPECTED_PASSING");
  EXPECT_EQ(record.bringupStatus, "INCORRECT_RESULT");
  ASSERT_EQ(record.reasons.size(), 1u);
  EXPECT_EQ(record.reasons[0].name, "DATA_MISMATCH_PCC_IS_NAN");
  EXPECT_TRUE(record.notes.empty());
  TestRecord again = record;
  explain(again, with(TestStatus::ExpectedPassing), reasons);
  EXPECT_EQ(again.reasons, record.reasons);

  ComparisonRecord close = comparison(0.9999, 0.99, true, false);
  close.allcloseAsserted = true;
  record = compared(Outcome::Failed, {close});
  explain(record, with(TestStatus::ExpectedPassing), reasons);
  EXPECT_EQ(record.reasons[0].name, "DATA_MISMATCH_ALL_CLOSE");

  // Beyond the noise that there was time to measure: wrong only where there was enough of it.
  ComparisonRecord strict = comparison(0.9999, 0.99, false, false);
  strict.rule = "strict";
  for (auto [outcome, name] : {std::pair(Outcome::Failed, "DATA_MISMATCH_NOISE"),
                               std::pair(Outcome::TimedOut, "NOT_JUDGED_IN_TIME")}) {
    record = compared(outcome, {strict});
    explain(record, with(TestStatus::ExpectedPassing), reasons);
    ASSERT_EQ(record.reasons.size(), 1u);
    EXPECT_EQ(record.reasons[0].name, name);
  }

  record = compared(Outcome::Passed, {comparison(0.5, 0.99, false, true)});
  explain(record, with(TestStatus::ExpectedPassing), reasons);
  EXPECT_EQ(record.reasons[0].name, "INCORRECT_RESULT_PCC_DISABLED");
  EXPECT_EQ(record.bringupStatus, "INCORRECT_RESULT");

  record = model(Outcome::Passed, Stage::Done);
  explain(record, with(TestStatus::ExpectedPassing), reasons);
  EXPECT_TRUE(record.reasons.empty());
  EXPECT_EQ(record.bringupStatus, "PASSED");

  record = model(Outcome::Skipped, Stage::None);
  explain(record, with(TestStatus::NotSupportedSkip), reasons);
  EXPECT_EQ(record.reasons[0].name, "NOT_SUPPORTED_AND_SKIPPED");
  record = model(Outcome::Skipped, Stage::None);
  explain(record, with(TestStatus::ExpectedPassing), reasons); // Skipped itself.
  EXPECT_TRUE(record.reasons.empty());
}

TEST(Explain, AKnownFailureHasTheReasonOfItsFailure) {
  TestRecord record = model(Outcome::XFailed, Stage::Compile);
  record.tryOutcomes = {Outcome::TimedOut};
  explain(record, with(TestStatus::KnownFailureXfail), table());
  EXPECT_EQ(record.reasons[0].name, "TIMED_OUT");
  EXPECT_EQ(record.reasons[0].component, "compiler");
}

TEST(Explain, SeveralAndNoneAreSaid) {
  ReasonTable reasons = table();
  TestRecord record = model(Outcome::Failed, Stage::Execute);
  record.message = "Out of Memory: Not enough space to allocate 1 B L1 buffer; "
                   "For softmax, cannot enable both large_kernel and numeric_stable";
  explain(record, {}, reasons);
  EXPECT_EQ(record.reasons.size(), 2u);
  EXPECT_EQ(record.notes["ambiguous"], "OUT_OF_MEMORY SOFTMAX_NUMERIC_STABLE");

  record = model(Outcome::Failed, Stage::Execute);
  record.message = "it went wrong";
  record.output = "loading\n\x1b[31mSomething: fatal thing\x1b[0m\nmore error\n";
  explain(record, {}, reasons);
  ASSERT_EQ(record.reasons.size(), 1u);
  EXPECT_EQ(record.reasons[0].name, "UNCLASSIFIED");
  EXPECT_EQ(record.reasons[0].summary, "Something: fatal thing");
  EXPECT_EQ(record.reasons[0].component, "runtime");
  EXPECT_EQ(record.notes["unclassified"], "Something: fatal thing");

  record = model(Outcome::Failed, Stage::Execute); // Not a word.
  explain(record, {}, ReasonTable());
  EXPECT_EQ(record.reasons[0].name, "UNCLASSIFIED");
  EXPECT_EQ(record.reasons[0].summary, "");
}

} // namespace
