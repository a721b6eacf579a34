#include "cupel/testbench/triage/FixFirst.h"

#include "cupel/testbench/triage/TriageReport.h"

#include <gtest/gtest.h>

namespace cupel::testbench::triage {
namespace {

using results::Outcome;
using results::TestRecord;

TestRecord model(std::string path, std::string variant, std::vector<std::string> reasons) {
  TestRecord record;
  record.suite = "models";
  record.id = path + "-" + variant + "-single_device-inference";
  record.modelPath = std::move(path);
  record.variant = std::move(variant);
  record.outcome = Outcome::Failed;
  for (std::string &reason : reasons)
    record.reasons.push_back({std::move(reason), "", "", ""});
  return record;
}

const CauseGroup &groupOf(const FixPlan &plan, std::string_view name) {
  for (const CauseGroup &group : plan.groups)
    if (group.cause.name == name)
      return group;
  ADD_FAILURE() << "no group " << name;
  return plan.groups.front();
}

TEST(FixFirst, CountsATestOnlyWhenNothingElseIsInItsWay) {
  FailingTests tests;
  tests.add(model("a", "1", {"X"}), "r");
  tests.add(model("b", "1", {"X", "Y"}), "r");
  tests.add(model("c", "1", {"Y"}), "r");
  tests.add(model("d", "1", {"Y"}), "r");
  std::vector<FailingTest> failing = tests.take();
  FixPlan plan = planFixes(failing);
  EXPECT_EQ(groupOf(plan, "X").unlocked.size(), 1u);
  EXPECT_EQ(groupOf(plan, "X").touched.size(), 2u);
  EXPECT_EQ(groupOf(plan, "X").models, std::vector<std::string>{"a-1"});
  EXPECT_EQ(groupOf(plan, "Y").unlocked.size(), 2u);
  EXPECT_EQ(plan.groups.front().cause.name, "Y"); // What unlocks most.
  ASSERT_EQ(plan.joint.size(), 1u);
  EXPECT_EQ(plan.joint[0].tests.size(), 1u);
  EXPECT_EQ(plan.joint[0].models, std::vector<std::string>{"b-1"});
  EXPECT_EQ(sentence(groupOf(plan, "X")),
            "fixing X unlocks 1 test, 1 model; 1 more needs something else too");
  EXPECT_EQ(sentence(plan.joint[0]), "fixing X and Y together unlocks 1 test more, 1 model");
}

TEST(FixFirst, CausesOnAllArchitecturesStandInTheWay) {
  FailingTests tests;
  TestRecord record = model("a", "1", {"OUT_OF_MEMORY"});
  record.arch = "n150";
  tests.add(record, "r1");
  record.arch = "p150";
  record.reasons = {{"DATA_MISMATCH_WRONG_PCC", "", "", ""}};
  tests.add(record, "r2");
  std::vector<FailingTest> failing = tests.take();
  ASSERT_EQ(failing.size(), 1u);
  EXPECT_EQ(failing[0].records.size(), 2u);
  FixPlan plan = planFixes(failing);
  for (const CauseGroup &group : plan.groups)
    EXPECT_TRUE(group.unlocked.empty()) << group.cause.name;
  EXPECT_EQ(plan.joint.size(), 1u);
}

TEST(FixFirst, AModelNeedsAllOfItsTests) {
  FailingTests tests;
  TestRecord inference = model("a", "1", {"X"}), training = model("a", "1", {"Y"});
  training.id = "a-1-single_device-training";
  tests.add(inference, "r");
  tests.add(training, "r");
  FixPlan plan = planFixes(tests.take());
  for (const CauseGroup &group : plan.groups) {
    EXPECT_EQ(group.unlocked.size(), 1u);
    EXPECT_TRUE(group.models.empty()) << group.cause.name;
  }
  // No test needs both, the model does.
  ASSERT_EQ(plan.joint.size(), 1u);
  EXPECT_TRUE(plan.joint[0].tests.empty());
  EXPECT_EQ(plan.joint[0].models, std::vector<std::string>{"a-1"});
}

TEST(FixFirst, SaysWhatTheGuiltyShare) {
  FailingTests tests;
  for (const char *types :
       {"(tensor<4xbf16>) -> tensor<4xbf16>", "(tensor<9xbf16>) -> tensor<9xbf16>"}) {
    TestRecord record = model(types, "1", {"A"});
    record.notes = {{"guilty", "stablehlo.tanh"},
                    {"guilty form", std::string("stablehlo.tanh : ") + types}};
    tests.add(record, "r");
  }
  FixPlan plan = planFixes(tests.take());
  ASSERT_EQ(plan.groups.size(), 1u);
  EXPECT_EQ(describe(plan.groups[0].shared), "rank 1, type bf16");
}

TEST(FixFirst, KnownOnlyWhereItIsKnownEverywhere) {
  FailingTests tests;
  TestRecord record = model("a", "1", {"A"});
  record.outcome = Outcome::XFailed;
  tests.add(record, "r");
  record.outcome = Outcome::Failed;
  tests.add(record, "r");
  EXPECT_FALSE(tests.take().front().isKnown);
}

TEST(FixFirst, WhatAModelIs) {
  EXPECT_EQ(modelOf(model("a/b", "", {})), "a/b");
  TestRecord onnx;
  onnx.suite = "onnx";
  onnx.id = "dir/m.onnx#1";
  EXPECT_EQ(modelOf(onnx), "dir/m.onnx");
  onnx.suite = "programs";
  EXPECT_EQ(modelOf(onnx), "");
}

} // namespace
} // namespace cupel::testbench::triage
