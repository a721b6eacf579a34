#include "cupel/results/store/Journal.h"
#include "cupel/results/store/TestFolder.h"

#include <fstream>
#include <gtest/gtest.h>

using namespace cupel;
using namespace cupel::results;

namespace {

TEST(Journal, ReadsBackItsLinesAndLeavesATornOne) {
  TestFolder folder;
  RunInfo run;
  run.id = "20261115-081530-4f2a";
  TestRecord record = simpleRecord("add.mlir");
  record.output = "two\nlines";
  std::string whole = journalBegin(run) + "{\"started\":\"programs::add.mlir\"}\n" +
                      journalLine(record) + "rubbish\n" + "{\"record\":{\"id\":7}}\n";
  std::ofstream(folder / "j") << whole << "{\"record\":{\"suite\":\"programs\",\"id\":\"torn";

  std::vector<RunInfo> runs;
  std::vector<TestRecord> tests;
  std::vector<std::string> others, damages;
  JournalReader reader;
  reader.onRun = [&](RunInfo info) { runs.push_back(info); };
  reader.onTest = [&](TestRecord test) { tests.push_back(test); };
  reader.onOther = [&](std::string_view line) { others.emplace_back(line); };
  reader.onDamage = [&](uint64_t, std::string message) { damages.push_back(message); };
  Result<uint64_t> bytes = readJournal(folder / "j", reader);
  ASSERT_TRUE(bytes) << bytes.message();
  EXPECT_EQ(*bytes, whole.size());
  EXPECT_EQ(runs, std::vector{run});
  EXPECT_EQ(tests, std::vector{record});
  EXPECT_EQ(others, std::vector<std::string>{"{\"started\":\"programs::add.mlir\"}"});
  ASSERT_EQ(damages.size(), 2u);
  EXPECT_TRUE(damages[0].find("/j:4: not a JSON object: rubbish") != std::string::npos)
      << damages[0];
  EXPECT_TRUE(damages[1].find("/j:5: field 'id'") != std::string::npos) << damages[1];
}

TEST(Journal, SaysWhichFileIsMissing) {
  Result<uint64_t> bytes = readJournal("/nowhere/journal.jsonl", {});
  ASSERT_FALSE(bytes);
  EXPECT_EQ(bytes.message(), "/nowhere/journal.jsonl: no such file");
}

} // namespace
