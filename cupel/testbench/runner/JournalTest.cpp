#include "cupel/testbench/runner/Journal.h"

#include "cupel/testbench/runner/JournalReader.h"
#include "cupel/testbench/runner/KilledRuns.h"
#include "cupel/support/OutputCapture.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

namespace cupel::testbench::runner {
namespace {

using results::Outcome;
using results::TestRecord;

class Journals : public testing::Test {
protected:
  Journals() {
    path = testing::TempDir() + "cupel-journal-" + std::to_string(getpid()) + ".jsonl";
    std::filesystem::remove(path);
  }
  ~Journals() override { std::filesystem::remove(path); }

  static TestRecord record(const std::string &id, Outcome outcome) {
    TestRecord record;
    record.suite = "programs";
    record.id = id;
    record.outcome = outcome;
    return record;
  }
  std::string text() {
    std::ifstream file(path);
    std::stringstream all;
    all << file.rdbuf();
    return all.str();
  }

  std::string path;
};

TEST_F(Journals, CutAnywhereItIsStillReadable) {
  results::RunInfo run;
  run.id = "r";
  {
    auto journal = Journal::create(path, run, {"programs::a", "programs::b", "programs::c"});
    ASSERT_TRUE(journal) << journal.message();
    for (const char *id : {"a", "b", "c"}) {
      (*journal)->started(std::string("programs::") + id, 1);
      (*journal)->record(record(id, Outcome::Passed));
    }
    run.endedAt = 5;
    (*journal)->ended(run);
    ASSERT_TRUE((*journal)->flush());
    EXPECT_EQ((*journal)->durable(), 3u);
    EXPECT_FALSE(Journal::create(path, run, {})) << "the file exists";
  }
  std::string whole = text();
  size_t header = whole.find('\n') + 1, outcomes = 0;
  for (size_t length = header; length <= whole.size();
       length += length + 3 < whole.size() ? 3 : 1) {
    std::ofstream(path, std::ios::trunc) << whole.substr(0, length);
    Result<JournalContents> contents = readJournal(path);
    ASSERT_TRUE(contents) << contents.message();
    EXPECT_EQ(contents->damaged, 0u);
    EXPECT_GE(contents->records.size(), outcomes) << "outcomes only become more";
    outcomes = contents->records.size();
    EXPECT_LE(contents->validBytes, length);
    EXPECT_EQ(contents->ended, length == whole.size());
    EXPECT_EQ(contents->canResume(), length != whole.size());
  }
  EXPECT_EQ(outcomes, 3u);
}

TEST_F(Journals, AResumedRunGoesOnBehindTheLastWholeLine) {
  results::RunInfo run;
  run.id = "r";
  {
    auto journal = Journal::create(path, run, {"programs::a", "programs::b"});
    ASSERT_TRUE(journal);
    (*journal)->started("programs::a", 1);
    (*journal)->record(record("a", Outcome::Passed));
    (*journal)->started("programs::b", 1);
    ASSERT_TRUE((*journal)->flush());
  }
  std::ofstream(path, std::ios::app) << "{\"record\":{\"suite\":\"progr";
  Result<JournalContents> contents = readJournal(path);
  ASSERT_TRUE(contents);
  EXPECT_EQ(contents->records.size(), 1u);
  EXPECT_EQ(contents->killedWhileRunning.at("programs::b"), 1u);
  EXPECT_FALSE(contents->killedWhileRunning.contains("programs::a"));
  {
    auto journal = Journal::reopen(path);
    ASSERT_TRUE(journal);
    ASSERT_TRUE((*journal)->cutAt(contents->validBytes));
    (*journal)->resumed();
    auto second = Journal::reopen(path);
    ASSERT_FALSE(second);
    EXPECT_NE(second.message().find("still going on"), std::string::npos);
    (*journal)->started("programs::b", 1);
    ASSERT_TRUE((*journal)->flush());
  }
  contents = readJournal(path);
  ASSERT_TRUE(contents);
  EXPECT_EQ(contents->damaged, 0u);
  EXPECT_EQ(contents->killedWhileRunning.at("programs::b"), 2u);
}

TEST_F(Journals, OutcomesAreFinalUnlessInterrupted) {
  results::RunInfo run;
  run.id = "r";
  {
    auto journal = Journal::create(path, run, {"programs::a", "programs::b"});
    ASSERT_TRUE(journal);
    TestRecord interrupted = record("a", Outcome::Interrupted);
    (*journal)->record(interrupted);
    (*journal)->record(record("a", Outcome::Passed));
    (*journal)->record(record("b", Outcome::Failed));
    (*journal)->record(record("b", Outcome::Passed));
    ASSERT_TRUE((*journal)->flush());
  }
  Result<JournalContents> contents = readJournal(path);
  ASSERT_TRUE(contents);
  EXPECT_EQ(contents->records.at("programs::a").outcome, Outcome::Passed);
  EXPECT_EQ(contents->records.at("programs::b").outcome, Outcome::Failed);
  EXPECT_EQ(contents->doubled, 1u);
}

TEST_F(Journals, KilledRunsAreAccountedFor) {
  std::string folder = path + ".d";
  std::filesystem::create_directories(folder);
  results::RunInfo run;
  run.id = "r";
  run.startedAt = 5;
  std::string killed = folder + "/r.jsonl", running = folder + "/s.jsonl";
  auto other = Journal::create(running, run, {"programs::a"});
  ASSERT_TRUE(other);
  {
    auto journal = Journal::create(killed, run, {"programs::a", "programs::b", "programs::c"});
    ASSERT_TRUE(journal);
    (*journal)->started("programs::a", 1);
    (*journal)->record(record("a", Outcome::Passed));
    (*journal)->started("programs::b", 1);
    ASSERT_TRUE((*journal)->flush());
  }
  std::ofstream(killed, std::ios::app) << "{\"record\":{";
  std::vector<KilledRun> closed = closeKilledRuns(folder);
  ASSERT_EQ(closed.size(), 1u) << "the one that is still going on is left alone";
  EXPECT_EQ(closed[0].interrupted, 1u);
  EXPECT_EQ(closed[0].notRun, 1u);
  EXPECT_TRUE(closeKilledRuns(folder).empty());
  Result<JournalContents> contents = readJournal(killed);
  ASSERT_TRUE(contents);
  EXPECT_TRUE(contents->ended);
  EXPECT_EQ(contents->damaged, 0u);
  EXPECT_EQ(contents->records.at("programs::a").outcome, Outcome::Passed);
  EXPECT_EQ(contents->records.at("programs::b").outcome, Outcome::Interrupted);
  EXPECT_EQ(contents->records.at("programs::c").outcome, Outcome::NotRun);
  EXPECT_TRUE(contents->canResume());
  std::filesystem::remove_all(folder);
}

TEST_F(Journals, SomethingElseIsNoJournal) {
  EXPECT_FALSE(readJournal(path));
  std::ofstream(path) << "hello\n";
  EXPECT_FALSE(readJournal(path));
  std::ofstream(path, std::ios::trunc) << "";
  EXPECT_FALSE(readJournal(path));
}

TEST(OutputCapture, KeepsBothEnds) {
  OutputCapture capture(100);
  capture.append(std::string(30, 'a'));
  EXPECT_EQ(capture.text(), std::string(30, 'a'));
  for (int i = 0; i < 1000; ++i)
    capture.append(std::string(77, 'b'));
  capture.append("the last line\n\n");
  std::string text = capture.text();
  EXPECT_TRUE(text.starts_with(std::string(30, 'a') + "bbb"));
  EXPECT_TRUE(text.ends_with("the last line\n\n"));
  EXPECT_EQ(capture.total(), 30u + 77000 + 15);
  EXPECT_NE(text.find("of 77045 bytes of output left out"), std::string::npos);
  EXPECT_EQ(capture.lastLine().substr(capture.lastLine().size() - 13), "the last line");
  std::string less = capture.text(40);
  EXPECT_TRUE(less.starts_with(std::string(20, 'a') + "\n[..."));
  EXPECT_TRUE(less.ends_with("left out ...]\nbbbbb"
                             "the last line\n\n"))
      << less;
  capture.clear();
  capture.append("0123456789");
  EXPECT_EQ(capture.text(10), "0123456789");
  EXPECT_EQ(capture.text(4), "01\n[... 6 of 10 bytes of output left out ...]\n89");
  capture.clear();
  EXPECT_EQ(capture.text(), "");
  EXPECT_EQ(capture.lastLine(), "");
}

} // namespace
} // namespace cupel::testbench::runner
