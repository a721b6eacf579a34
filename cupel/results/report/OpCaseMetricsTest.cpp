#include "cupel/results/report/OpCaseMetrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sstream>

namespace cupel::results {
namespace {

using testing::HasSubstr;

TestRecord record(std::string id, std::string model, std::string op, std::string inputs,
                  Outcome outcome, double seconds = 0.01) {
  TestRecord made;
  made.suite = "opcases";
  made.id = std::move(id);
  made.modelName = std::move(model);
  made.notes = {{"op", std::move(op)}, {"inputs", std::move(inputs)}};
  made.outcome = outcome;
  made.seconds = seconds;
  return made;
}

OpCaseMetrics sample() {
  OpCaseMetrics metrics;
  metrics.add(record("a", "llama", "torch.add", "2xf32", Outcome::Passed));
  metrics.add(record("b", "llama", "torch.mul", "2xf32", Outcome::Failed, 0.03));
  metrics.add(record("c", "llama", "torch.mul", "3xf32", Outcome::Passed));
  TestRecord twin = record("d", "gpt", "torch.add", "2xf32", Outcome::Skipped, 0);
  twin.notes["duplicate_of"] = "opcases::a";
  metrics.add(twin);
  TestRecord other = record("e", "gpt", "torch.add", "2xf32", Outcome::Passed);
  other.suite = "programs";
  metrics.add(other);
  return metrics;
}

TEST(OpCaseMetrics, CountsByModelAndOperator) {
  OpCaseMetrics metrics = sample();
  EXPECT_EQ(metrics.all().cases, 4u);
  EXPECT_EQ(metrics.all().executed(), 3u);
  EXPECT_EQ(metrics.all().ops.size(), 2u);
  EXPECT_EQ(metrics.all().inputs.size(), 3u);
  EXPECT_DOUBLE_EQ(metrics.models().at("llama").passRate(), 2.0 / 3);
  EXPECT_EQ(metrics.models().at("gpt").executed(), 0u);
  EXPECT_DOUBLE_EQ(metrics.ops().at("torch.mul").passRate(), 0.5);
  EXPECT_DOUBLE_EQ(metrics.ops().at("torch.add").passRate(), 1);
  EXPECT_DOUBLE_EQ(metrics.dedupeEfficiency(), 0.25);
  EXPECT_DOUBLE_EQ(metrics.all().slowest, 0.03);
}

TEST(OpCaseMetrics, IsShownInThreeForms) {
  OpCaseMetrics metrics = sample();
  std::string text = metrics.text();
  EXPECT_THAT(text, HasSubstr("2 of 3 that ran passed (66.7 %)"));
  EXPECT_THAT(text, HasSubstr("1 of 4 cases were duplicates (25.0 % saved)"));
  // The worst comes first.
  EXPECT_LT(text.find("torch.mul"), text.find("torch.add"));
  auto json = metrics.json();
  EXPECT_EQ(json["models"]["llama"]["failed"], 1);
  EXPECT_TRUE(json["models"]["gpt"]["pass_rate"].is_null());
  EXPECT_EQ(json["dedupe"]["unique"], 3);
  std::ostringstream markdown;
  metrics.writeMarkdown(markdown);
  EXPECT_THAT(markdown.str(), HasSubstr("| torch.mul | 2 | 2 | 1 | 50.0 % |"));
}

TEST(OpCaseMetrics, TrendsAreWritten) {
  std::vector<OpCaseMetrics::TrendPoint> trend = {{"r1", "cupel", 1, 2, 10, 9, 0, 0},
                                                  {"r2", "cupel", 2, 2, 10, 8, 1, 0}};
  EXPECT_THAT(trendText(trend), HasSubstr("80.0 %"));
  EXPECT_EQ(trendJson(trend)[1]["new_failures"], 1);
  std::ostringstream markdown;
  writeTrendMarkdown(markdown, trend);
  EXPECT_THAT(markdown.str(), HasSubstr("| r2 | cupel | 10 | 8 | 80.0 % | 1 | 0 |"));
}

} // namespace
} // namespace cupel::results
