#include "cupel/results/store/RecordColumns.h"
#include "cupel/results/store/PlainText.h"
#include "cupel/results/store/TestFolder.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

using namespace cupel;
using namespace cupel::results;

namespace {

RecordColumns columnsOf(const std::string &json) {
  RecordColumns columns;
  Status status = readColumns(json, columns);
  EXPECT_TRUE(status) << status.message();
  return columns;
}

std::string refusalOf(const std::string &json) {
  RecordColumns columns;
  Status status = readColumns(json, columns);
  return status ? "taken" : status.message();
}

TEST(RecordColumns, AreWhatTheRecordHolds) {
  TestRecord record = simpleRecord("a\\b\"c\n\t\u03b1\U0001d6fc", Outcome::TimedOut, 2.5);
  record.startedAt = 1763200000.125;
  record.message = "line\x01";
  record.flaky = true;
  record.peakMemoryBytes = UINT64_MAX >> 2;
  ComparisonRecord one, two, three;
  one.pcc = 0.5;
  one.maxAbsolute = 2;
  two.pcc = -1e-7;
  two.maxAbsolute = std::numeric_limits<double>::infinity();
  record.comparisons = {one, two, three};
  record.reasons = {{"FIRST", "d", "c", "s"}, {"SECOND", "", "", ""}};
  RecordColumns columns = columnsOf(toJson(record));
  EXPECT_EQ(columns.suite, record.suite);
  EXPECT_EQ(columns.id, record.id);
  EXPECT_EQ(columns.message, record.message);
  EXPECT_EQ(columns.outcome, Outcome::TimedOut);
  EXPECT_EQ(columns.lastStage, Stage::Execute);
  EXPECT_EQ(columns.startedAt, record.startedAt);
  EXPECT_EQ(columns.seconds, 2.5);
  EXPECT_EQ(columns.peakMemoryBytes, record.peakMemoryBytes);
  EXPECT_TRUE(columns.flaky);
  EXPECT_EQ(columns.pcc, -1e-7);
  EXPECT_TRUE(std::isinf(*columns.maxAbsolute));
  EXPECT_EQ(columns.reason, "FIRST");
  EXPECT_EQ(columns.json, toJson(record));
  record.comparisons[0].pcc = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(std::isnan(*columnsOf(toJson(record)).pcc));
  EXPECT_NE(columnsOf(toJson(record)).digest, columns.digest);
}

TEST(RecordColumns, BrieflyReadIsWhatOverviewsShow) {
  TestRecord record = simpleRecord("x", Outcome::Failed, 1), brief;
  record.framework = "pytorch";
  record.modelPath = "llama/causal_lm/pytorch";
  record.variant = "1B";
  record.parallelism = "single_device";
  record.runMode = "inference";
  record.modelName = "Llama";
  record.group = "red";
  record.task = "nlp";
  record.source = "hub";
  record.testStatus = "EXPECTED_PASSING";
  record.bringupStatus = "PASSED";
  record.markers = {"n150", "inference"};
  record.guidance = {"ENABLE_PCC"};
  record.comparisons = {ComparisonRecord()};
  record.stages = {{Stage::Load, 1}};
  record.file = "a \\ \"b\" \n\u03b1";
  record.notes = {{"op", "add"}, {"a \"b\"", "c"}};
  ASSERT_TRUE(readBriefly(toJson(record), brief));
  auto texts = [](const TestRecord &one) {
    return std::vector{one.suite, one.id, one.file, one.framework, one.modelPath, one.variant, one.parallelism, one.runMode,
                       one.modelName, one.group, one.task, one.source, one.testStatus, one.bringupStatus};
  };
  EXPECT_EQ(texts(brief), texts(record));
  EXPECT_EQ(brief.markers, record.markers);
  EXPECT_EQ(brief.guidance, record.guidance);
  EXPECT_EQ(brief.notes, record.notes);
  for (const char *wrong : {"", "[]", "{\"suite\": 1}", "{\"markers\": \"n150\"}", "{\"notes\": []}", "{} and more"})
    EXPECT_FALSE(readBriefly(wrong, brief)) << wrong;
}

TEST(RecordColumns, RefuseWhatIsNoRecord) {
  for (const char *bad :
       {"", "x", "[]", "{", "{\"a\":}", "{\"a\":1,}", "{\"a\":01}", "{\"a\":1.}", "{\"a\":1e}",
        "{\"a\":tru}", "{\"a\":\"\\x\"}", "{\"a\":\"\\ud800\"}", "{\"a\":\"\n\"}", "{\"a\":1}x",
        "{\"id\":7}", "{\"outcome\":\"odd\"}", "{\"seconds\":\"long\"}", "{\"flaky\":1}",
        "{\"stages\":{}}", "{\"stages\":[1]}", "{\"notes\":[]}", "{\"notes\":{\"a\":1}}",
        "{\"peak_memory_bytes\":-1}", "{\"peak_memory_bytes\":1.5}"})
    EXPECT_NE(refusalOf(bad), "taken") << bad;
  EXPECT_NE(refusalOf(std::string(100000, '[')), "taken");
  EXPECT_EQ(refusalOf("{\"a\":" + std::string(60, '[') + std::string(60, ']') + "}"), "taken");
  EXPECT_NE(refusalOf("{\"flaky\":1}").find("field 'flaky'"), std::string::npos);
}

TEST(RecordColumns, HoldPlainTextOnly) {
  RecordColumns columns =
      columnsOf("{\"id\":\"a\\u0000b\",\"suite\":\"s\\\\u0000\",\"message\":\"\xff\xc3\"}");
  EXPECT_EQ(columns.id, "a\xef\xbf\xbd" "b");
  EXPECT_EQ(columns.suite, "s\\u0000"); // A backslash and five characters: no NUL.
  EXPECT_EQ(columns.message, "\xef\xbf\xbd\xef\xbf\xbd");
  EXPECT_EQ(columns.json, "{\"id\":\"a\\ufffdb\",\"suite\":\"s\\\\u0000\",\"message\":"
                          "\"\xef\xbf\xbd\xef\xbf\xbd\"}");
  EXPECT_EQ(plainText(std::string_view("a\0b", 3)), "a\xef\xbf\xbd" "b");
  EXPECT_EQ(plainText("\xed\xa0\x80"), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
  EXPECT_EQ(plainText("\xf0\x9d\x9b\xbc and more text"), "\xf0\x9d\x9b\xbc and more text");
}

TEST(RecordColumns, OfTwoTheFirstThatFinishedCounts) {
  auto make = [](Outcome outcome, double finished, std::string shard, uint32_t attempt) {
    RecordColumns columns;
    columns.outcome = outcome;
    columns.startedAt = finished;
    columns.shard = std::move(shard);
    columns.attempt = attempt;
    return columns;
  };
  std::vector<RecordColumns> inOrder = {
      make(Outcome::Failed, 10, "b", 1),      make(Outcome::Passed, 11, "a", 1),
      make(Outcome::Passed, 11, "a", 2),      make(Outcome::Interrupted, 5, "a", 3),
      make(Outcome::Interrupted, 30, "a", 1), make(Outcome::NotRun, 0, "a", 1)};
  for (size_t i = 0; i < inOrder.size(); ++i)
    for (size_t j = 0; j < inOrder.size(); ++j)
      EXPECT_EQ(countsBefore(inOrder[i], inOrder[j]), i < j) << i << " " << j;
}

} // namespace
