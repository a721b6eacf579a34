// Explanations survive their JSON form, and say what they say in words.

#include "cupel/results/Explanation.h"

#include <cmath>
#include <gtest/gtest.h>

namespace cupel::results {
namespace {

Explanation sample() {
  Explanation e;
  e.answer = Explanation::Answer::Neighbours;
  e.sentence = "2 operations are wrong together";
  e.test = "programs::a.mlir";
  e.device = "plugin.so?x=1";
  e.outcome = "incorrect";
  e.stage = "compare";
  e.operations = {{"stablehlo.add", "(tensor<f32>) -> tensor<f32>", "a.py:3:4"},
                  {"stablehlo.tanh", "(tensor<f32>) -> tensor<f32>", "a.py:4:4", "accuracy = 1",
                   "flax/linear.py:7:1", "Cnn/Conv_0"}};
  e.inside = "in iteration 3 of stablehlo.while (a.py:2:1)";
  e.result = 1;
  e.pcc = std::nan("");
  e.maxAbsolute = 0.25;
  e.worst = "worst at [1]: 2 vs 1";
  e.picture = "scaled by 2";
  e.failures = 3;
  e.executions = 10;
  e.remarks = {"right for others"};
  e.depths = {{12, "stablehlo.add a.py:3:4", 0.5, 0.25, 0.125}};
  e.pass = "rewrite 3: pass form-maps";
  e.reduced = "/tmp/out";
  e.command = "cupel-device run plugin.so /tmp/out";
  e.probes = 40;
  e.known = 7;
  e.seconds = 1.5;
  e.isRemembered = true;
  return e;
}

TEST(ExplanationTest, SurvivesItsJson) {
  Explanation before = sample();
  Result<Explanation> after = explanationFromJson(toJson(before));
  ASSERT_TRUE(after) << after.message();
  EXPECT_TRUE(std::isnan(*after->pcc));
  before.pcc = after->pcc = 1; // What is no number equals nothing.
  EXPECT_EQ(*after, before);
  EXPECT_FALSE(explanationFromJson("[1]"));
  EXPECT_FALSE(explanationFromJson(""));
}

TEST(ExplanationTest, SaysItInWords) {
  std::string text = describe(sample());
  for (const char *part : {"together", "stablehlo.tanh", "a.py:4:4, through flax/linear.py:7:1", "of Cnn/Conv_0", "iteration 3", "result 1: worst",
                           "scaled by 2", "3 of 10 times", "right for others", "form-maps",
                           "cupel-device run plugin.so /tmp/out", "known before"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " in " << text;
}

} // namespace
} // namespace cupel::results
