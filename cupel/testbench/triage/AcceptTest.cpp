#include "cupel/testbench/triage/Accept.h"

#include "cupel/testbench/triage/Patch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cupel::testbench::triage {
namespace {

using config::Configuration;
using results::Outcome;
using results::TestRecord;
using testing::HasSubstr;

constexpr const char *kId = "a/pytorch-x-single_device-inference";
constexpr const char *kFile = "torch/test_config_inference_single_device.yaml";

TestRecord record(Outcome outcome, std::optional<double> pcc = {}, double threshold = 0.99,
                  bool asserted = true) {
  TestRecord made;
  made.suite = "models";
  made.id = kId;
  made.outcome = outcome;
  bool isFine = outcome == Outcome::Passed || outcome == Outcome::XPassed;
  made.bringupStatus = isFine ? "PASSED" : pcc ? "INCORRECT_RESULT" : "FAILED_RUNTIME";
  made.message = isFine ? "" : "RuntimeError: it broke at 17";
  if (!isFine)
    made.reasons = {{pcc ? "DATA_MISMATCH_WRONG_PCC" : "BROKEN", "", "", ""}};
  if (pcc) {
    results::ComparisonRecord comparison;
    comparison.pcc = pcc;
    comparison.pccThreshold = threshold;
    comparison.pccAsserted = asserted;
    comparison.passed = isFine;
    comparison.rule = "configured";
    made.comparisons = {comparison};
  }
  return made;
}

LastOutcomes evidence(std::vector<TestRecord> records) {
  LastOutcomes made;
  for (size_t i = 0; i < records.size(); ++i)
    made.runs.push_back("run" + std::to_string(records.size() - i));
  made.records = std::move(records);
  return made;
}

LastOutcomes three(const TestRecord &one) { return evidence({one, one, one}); }

Configuration configured(const std::string &fields) {
  std::string text = "test_config:\n";
  if (!fields.empty())
    text += "  " + std::string(kId) + ":\n" + fields;
  else
    text += "  b/pytorch-y-single_device-inference:\n    status: EXPECTED_PASSING\n";
  return Configuration::fromTexts({{kFile, text}});
}

/// `field=value` or `arch/field=value` or `-field`, in order.
std::vector<std::string> changesOf(const Acceptance &acceptance) {
  std::vector<std::string> texts;
  for (const Proposal &proposal : acceptance.proposals)
    for (const FieldChange &change : proposal.changes) {
      std::string text = (change.arch.empty() ? "" : change.arch + "/") + change.field;
      if (!change.value)
        texts.push_back("-" + text);
      else if (const auto *words = std::get_if<std::string>(&*change.value))
        texts.push_back(text + "=" + *words);
      else if (const auto *number = std::get_if<double>(&*change.value))
        texts.push_back(text + "=" + std::to_string(*number).substr(0, 4));
      else if (const auto *list = std::get_if<std::vector<std::string>>(&*change.value))
        texts.push_back(text + "=" + (list->empty() ? "" : list->front()));
      else
        texts.push_back(text + "=" + (std::get<bool>(*change.value) ? "true" : "false"));
    }
  return texts;
}

using Texts = std::vector<std::string>;

Acceptance proposed(const std::string &fields, std::map<std::string, LastOutcomes> byArch,
                    AcceptOptions options = {}) {
  return propose(configured(fields), {{kId, std::move(byArch)}}, options);
}

TEST(Accept, KnownFailureThatPassesIsOneNoMore) {
  Acceptance found =
      proposed("    status: KNOWN_FAILURE_XFAIL\n    bringup_status: FAILED_RUNTIME\n"
               "    reason: old\n",
               {{"", three(record(Outcome::XPassed))}});
  EXPECT_EQ(changesOf(found), (Texts{"status=EXPECTED_PASSING", "-bringup_status", "-reason"}));
  EXPECT_THAT(found.proposals[0].because[0], HasSubstr("passes in 3 runs"));
}

TEST(Accept, NewTestsArePromoted) {
  EXPECT_EQ(changesOf(proposed("", {{"", three(record(Outcome::Passed))}})),
            Texts{"status=EXPECTED_PASSING"});
  // The entry says where it was seen to pass.
  EXPECT_EQ(changesOf(proposed("", {{"galaxy-wh-6u", three(record(Outcome::Passed))}})),
            (Texts{"supported_archs=galaxy-wh-6u", "status=EXPECTED_PASSING"}));
  EXPECT_EQ(changesOf(proposed("", {{"n150", three(record(Outcome::Passed))},
                                    {"p150", three(record(Outcome::Passed))}})),
            Texts{"status=EXPECTED_PASSING"});
  EXPECT_EQ(changesOf(proposed("    status: EXPECTED_PASSING\n    markers: [experimental, push]\n",
                               {{"", three(record(Outcome::Passed))}})),
            Texts{"markers=nightly"});
}

TEST(Accept, NewFailuresBecomeKnownWithTheirReasonVerbatim) {
  EXPECT_EQ(
      changesOf(proposed("    status: EXPECTED_PASSING\n", {{"", three(record(Outcome::Failed))}})),
      (Texts{"status=KNOWN_FAILURE_XFAIL", "bringup_status=FAILED_RUNTIME",
             "reason=RuntimeError: it broke at 17"}));
}

TEST(Accept, WhatPeopleWroteOfAFailureStays) {
  std::string fields = "    status: KNOWN_FAILURE_XFAIL\n    bringup_status: FAILED_RUNTIME\n"
                       "    reason: \"see #12\"\n";
  EXPECT_TRUE(proposed(fields, {{"", three(record(Outcome::XFailed))}}).proposals.empty());
  // Another stage is another failure.
  EXPECT_EQ(changesOf(proposed(fields, {{"", three(record(Outcome::XFailed, 0.5))}})),
            (Texts{"bringup_status=INCORRECT_RESULT", "reason=RuntimeError: it broke at 17"}));
}

TEST(Accept, ReasonsAreCutAndNeverRephrased) {
  TestRecord long_ = record(Outcome::Failed);
  long_.message = std::string(110, 'x') + " ääääääääääääääää\nsecond line";
  EXPECT_EQ(reasonText(long_), std::string(110, 'x') + " äääääääää");
}

TEST(Accept, GuardsHoldBack) {
  std::string fields = "    status: KNOWN_FAILURE_XFAIL\n";
  TestRecord pass = record(Outcome::XPassed), fails = record(Outcome::XFailed), flaky = pass,
             notRun = pass, other = record(Outcome::Failed);
  flaky.flaky = true;
  notRun.outcome = Outcome::NotRun;
  auto why = [&](std::vector<TestRecord> records,
                 std::string text = "    status: KNOWN_FAILURE_XFAIL\n") {
    Acceptance found = proposed(text, {{"", evidence(std::move(records))}});
    EXPECT_TRUE(found.proposals.empty());
    return found.heldBack.size() == 1 ? found.heldBack[0].why : "held back nothing";
  };
  EXPECT_EQ(why({pass, pass}), "only 2 of 3 runs");
  EXPECT_EQ(why({pass, flaky, pass}), "flaky in run run2");
  EXPECT_EQ(why({pass, fails, pass}), "xpassed in run run3 and xfailed in run run2");
  EXPECT_EQ(why({pass, pass, notRun}), "not run in run run1");
  TestRecord otherwise = record(Outcome::Failed, 0.5);
  EXPECT_EQ(why({other, other, otherwise}, "    status: EXPECTED_PASSING\n"),
            "fails otherwise in run run3 than in run run1");
  // As many runs as are asked for.
  EXPECT_EQ(changesOf(proposed(fields, {{"", evidence({pass})}}, {.runs = 1, .why = {}})).size(),
            1u);
}

TEST(Accept, EntriesSpeakForAllTheirArchitectures) {
  std::string fields = "    status: KNOWN_FAILURE_XFAIL\n";
  LastOutcomes pass = three(record(Outcome::XPassed)), fails = three(record(Outcome::XFailed));
  EXPECT_EQ(changesOf(proposed(fields, {{"n150", pass}, {"p150", pass}})),
            Texts{"status=EXPECTED_PASSING"});
  // p150 was not run, or says otherwise.
  EXPECT_EQ(changesOf(proposed(fields, {{"n150", pass}})), Texts{"n150/status=EXPECTED_PASSING"});
  EXPECT_EQ(changesOf(proposed(fields, {{"n150", pass}, {"p150", fails}})),
            Texts{"n150/status=EXPECTED_PASSING"});
  // What the override said is said by the entry now.
  EXPECT_EQ(changesOf(proposed("    status: EXPECTED_PASSING\n    arch_overrides:\n      n150:\n"
                               "        status: KNOWN_FAILURE_XFAIL\n",
                               {{"n150", pass}, {"p150", three(record(Outcome::Passed))}})),
            Texts{"-n150/status"});
}

TEST(Accept, ThresholdsFollowTheLowestPcc) {
  std::string fields = "    status: EXPECTED_PASSING\n    required_pcc: 0.95\n";
  LastOutcomes up =
      evidence({record(Outcome::Passed, 0.9875, 0.95), record(Outcome::Passed, 0.999, 0.95),
                record(Outcome::Passed, 0.999, 0.95)});
  EXPECT_EQ(changesOf(proposed(fields, {{"", up}})), Texts{"required_pcc=0.98"});
  EXPECT_EQ(changesOf(proposed(fields, {{"", three(record(Outcome::Passed, 0.9999, 0.95))}})),
            Texts{"-required_pcc"});
  EXPECT_TRUE(
      proposed(fields, {{"", three(record(Outcome::Passed, 0.953, 0.95))}}).proposals.empty());
  EXPECT_EQ(changesOf(proposed("    status: EXPECTED_PASSING\n    assert_pcc: false\n",
                               {{"", three(record(Outcome::Passed, 0.9999, 0.99, false))}})),
            Texts{"-assert_pcc"});
}

TEST(Accept, ThresholdsAreLoweredOnlyWhereThatIsAllowed) {
  std::string fields = "    status: EXPECTED_PASSING\n";
  LastOutcomes low = three(record(Outcome::Failed, 0.975));
  EXPECT_EQ(changesOf(proposed(fields, {{"", low}}))[0], "status=KNOWN_FAILURE_XFAIL");
  Acceptance found = proposed(fields, {{"", low}}, {.allowLowerPcc = true, .why = "measured"});
  EXPECT_EQ(changesOf(found), Texts{"required_pcc=0.97"});
  ASSERT_EQ(found.lowered.size(), 1u);
  EXPECT_DOUBLE_EQ(found.lowered[0].from, 0.99);
  EXPECT_DOUBLE_EQ(found.lowered[0].to, 0.97);
  // A crash is no matter of thresholds.
  found = proposed(fields, {{"", three(record(Outcome::Crashed))}},
                   {.allowLowerPcc = true, .why = "x"});
  EXPECT_TRUE(found.lowered.empty());
  EXPECT_EQ(changesOf(found)[0], "status=KNOWN_FAILURE_XFAIL");
}

TEST(Accept, WhatWasSkippedSaysNothing) {
  Acceptance found =
      proposed("    status: NOT_SUPPORTED_SKIP\n", {{"", three(record(Outcome::Skipped))}});
  EXPECT_TRUE(found.proposals.empty());
  EXPECT_TRUE(found.heldBack.empty());
}

TEST(Patch, IsAUnifiedDiff) {
  std::string before, after;
  for (int i = 1; i <= 20; ++i) {
    before += std::to_string(i) + "\n";
    after += (i == 4 ? "four\n" : i == 15 ? "" : std::to_string(i) + "\n");
  }
  EXPECT_EQ(unifiedDiff("f", before, after),
            "--- a/f\n+++ b/f\n@@ -1,7 +1,7 @@\n 1\n 2\n 3\n-4\n+four\n 5\n 6\n 7\n"
            "@@ -12,7 +12,6 @@\n 12\n 13\n 14\n-15\n 16\n 17\n 18\n");
  EXPECT_EQ(unifiedDiff("f", before, before), "");
  EXPECT_EQ(unifiedDiff("f", "", "a\n", false), "--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+a\n");
  EXPECT_EQ(unifiedDiff("f", "a", "b"),
            "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n\\ No newline at end of "
            "file\n+b\n\\ No newline at end of file\n");
}

} // namespace
} // namespace cupel::testbench::triage
