#include "cupel/results/RecordJson.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

using namespace cupel;
using namespace cupel::results;

namespace {

TestRecord fullRecord() {
  TestRecord r;
  r.suite = "models";
  r.id = "llama/causal_lm/pytorch-3_2_1B-single_device-inference";
  r.file = "zoo/llama/causal_lm/pytorch/loader.py";
  r.framework = "pytorch";
  r.part = 3;
  r.markers = {"inference", "n150"};
  r.testStatus = "EXPECTED_PASSING";
  r.outcome = Outcome::TimedOut;
  r.lastStage = Stage::Execute;
  r.stages = {{Stage::Load, 0.25}, {Stage::Execute, 1.5}};
  r.startedAt = 1763200000.125;
  r.seconds = 1.75;
  r.peakMemoryBytes = uint64_t(1) << 40;
  r.attempts = 2;
  r.flaky = true;
  r.tryOutcomes = {Outcome::Crashed, Outcome::TimedOut};
  r.signal = 9;
  r.message = "did not end within 60 s";
  r.output = "line one\nline two \"quoted\"";
  ComparisonRecord comparison;
  comparison.output = 1;
  comparison.pcc = 0.913;
  comparison.pccThreshold = 0.99;
  comparison.pccAsserted = true;
  comparison.sentence = "pcc 0.913 < 0.99";
  comparison.rule = "configured";
  comparison.strictPassed = true;
  comparison.strictSentence = "within noise";
  comparison.precision = "bf16";
  comparison.noise = 0.01;
  comparison.worstInNoise = 2.5;
  comparison.wholeInNoise = 1.25;
  r.comparisons = {comparison};
  r.reasons = {{"TIMEOUT", "took too long", "", "60 s"}};
  r.guidance = {"ADD_CONFIG"};
  r.artifacts = {{"vhlo.mlir", "ab12", 77}};
  r.shapesTaken = {"ids=4x128"};
  r.shapesNotTaken = "it has no input 'mask'";
  r.notes = {{"duplicate_of", "x"}};
  return r;
}

TEST(RecordJson, ReadsBackWhatItWrote) {
  TestRecord record = fullRecord();
  std::string text = toJson(record);
  EXPECT_EQ(text.find('\n'), std::string::npos);
  Result<TestRecord> back = testRecordFromJson(text);
  ASSERT_TRUE(back) << back.message();
  EXPECT_EQ(*back, record);
}

TEST(RecordJson, RunReadsBack) {
  RunInfo run;
  run.id = "20261115-081530-4f2a";
  run.startedAt = 5;
  run.commandLine = {"cupel", "run"};
  run.arch = "n150";
  run.selected = 12;
  run.exitCode = 1;
  run.environment = {{"cupel", "0.1.0"}};
  Result<RunInfo> back = runInfoFromJson(toJson(run));
  ASSERT_TRUE(back) << back.message();
  EXPECT_EQ(*back, run);
}

TEST(RecordJson, KeepsFiguresThatJsonCannotWrite) {
  TestRecord record;
  record.comparisons.resize(2);
  record.comparisons[0].pcc = std::numeric_limits<double>::quiet_NaN();
  record.comparisons[1].maxAbsolute = -std::numeric_limits<double>::infinity();
  Result<TestRecord> back = testRecordFromJson(toJson(record));
  ASSERT_TRUE(back) << back.message();
  EXPECT_TRUE(std::isnan(*back->comparisons[0].pcc));
  EXPECT_EQ(*back->comparisons[1].maxAbsolute, -std::numeric_limits<double>::infinity());
}

TEST(RecordJson, ReplacesBytesThatAreNotUtf8) {
  TestRecord record;
  record.output = "a\xff"
                  "b";
  Result<TestRecord> back = testRecordFromJson(toJson(record));
  ASSERT_TRUE(back) << back.message();
  EXPECT_EQ(back->output, "a\xef\xbf\xbd"
                          "b");
}

TEST(RecordJson, NamesTheFieldThatIsWrong) {
  EXPECT_NE(testRecordFromJson(R"({"outcome":"perhaps"})").message().find("outcome"),
            std::string::npos);
  EXPECT_NE(testRecordFromJson(R"({"part":"x"})").message().find("part"), std::string::npos);
  EXPECT_NE(testRecordFromJson("{").message().find("not a JSON"), std::string::npos);
  EXPECT_FALSE(testRecordFromJson("[]"));
}

TEST(RecordJson, IgnoresWhatANewerVersionAdded) {
  Result<TestRecord> record = testRecordFromJson(R"({"id":"a","from_the_future":[1]})");
  ASSERT_TRUE(record);
  EXPECT_EQ(record->id, "a");
}

TEST(Record, NamesReadBack) {
  for (int i = 0; i <= int(Outcome::NotRun); ++i)
    EXPECT_EQ(parseOutcome(name(Outcome(i))), Outcome(i));
  for (int i = 0; i <= int(Stage::Done); ++i)
    EXPECT_EQ(parseStage(name(Stage(i))), Stage(i));
  EXPECT_EQ(parseOutcome("fine"), std::nullopt);
}

} // namespace
