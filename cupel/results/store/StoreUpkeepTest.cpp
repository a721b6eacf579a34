#include "cupel/results/store/StoreTesting.h"

#include <algorithm>
#include <fstream>
#include <random>
#include <sstream>
#include <thread>

using namespace cupel;
using namespace cupel::results;

namespace {

using StoreUpkeep = OverDatabases;

/// Everything a run holds, as text.
std::string contents(Store &store, const std::string &run) {
  std::ostringstream out;
  Status status = store.exportRun(run, out);
  EXPECT_TRUE(status) << status.message();
  return out.str();
}

TestRecord finished(const std::string &id, Outcome outcome, double at) {
  TestRecord record = simpleRecord(id, outcome, 1);
  record.startedAt = at - 1;
  return record;
}

/// The journals of a run that two shards worked on, one of them twice at the same time.
std::vector<std::string> shardJournals(const std::string &folder, const RunInfo &run) {
  std::vector<std::string> paths;
  auto write = [&](std::string shard, std::vector<TestRecord> records) {
    RunInfo part = run;
    part.shard = shard;
    paths.push_back(folder + "/" + (shard.empty() ? run.id : shard) + ".jsonl");
    std::ofstream out(paths.back());
    out << journalBegin(part);
    for (const TestRecord &record : records)
      out << journalLine(record);
  };
  write("n1.0", {finished("a", Outcome::Passed, 20), finished("b", Outcome::Interrupted, 21)});
  write("n2.0", {finished("b", Outcome::Failed, 30), finished("c", Outcome::Passed, 31),
                 finished("b2", Outcome::NotRun, 31)});
  write("n3.1", {finished("c", Outcome::Failed, 29), finished("a", Outcome::Passed, 40),
                 finished("b2", Outcome::Passed, 41)});
  return paths;
}

TEST_P(StoreUpkeep, JournalsInAnyOrderAndAnyNumberOfTimesGiveTheSameRows) {
  Store store = openStore(at(folder / "s"));
  std::mt19937 random(3);
  std::string expected;
  RunInfo run;
  for (int round = 0; round < 12; ++round) {
    run.id = newRunId(1763200000 + round);
    run.startedAt = 10;
    run.selected = 4;
    ASSERT_TRUE(store.beginRun(run));
    std::string place = folder / std::to_string(round);
    std::filesystem::create_directories(place);
    const std::vector<std::string> once = shardJournals(place, run);
    std::vector<std::string> paths = once;
    paths.insert(paths.end(), once.begin(), once.begin() + round % 3);
    std::shuffle(paths.begin(), paths.end(), random);
    for (const std::string &path : paths) {
      // First a half of it, as if it were still being written.
      std::ifstream in(path);
      std::stringstream whole;
      whole << in.rdbuf();
      std::string text = whole.str();
      std::ofstream(place + "/half.jsonl") << text.substr(0, text.find('\n') + 1 + text.size() / 3);
      auto half = store.importJournal(place + "/half.jsonl");
      ASSERT_TRUE(half) << half.message();
      auto imported = store.importJournal(path);
      ASSERT_TRUE(imported) << imported.message();
      EXPECT_EQ(imported->damaged, 0u);
    }
    std::string got = contents(store, run.id);
    got = got.substr(got.find('\n')); // The first line has the run's own id.
    if (round == 0)
      expected = got;
    EXPECT_EQ(got, expected) << "round " << round;
  }
  // The first that finished counts; the other is a note, and a flake where it differs.
  auto record = store.record(run.id, "programs::c");
  ASSERT_TRUE(record && *record);
  EXPECT_EQ((*record)->outcome, Outcome::Failed);
  EXPECT_TRUE((*record)->flaky);
  EXPECT_EQ((*record)->notes["ran twice"], "passed in n2.0");
  record = store.record(run.id, "programs::a");
  EXPECT_EQ((*record)->notes["ran twice"], "passed in n3.1");
  EXPECT_FALSE((*record)->flaky);
  EXPECT_EQ((*store.record(run.id, "programs::b"))->outcome, Outcome::Failed);
  EXPECT_EQ((*store.record(run.id, "programs::b2"))->outcome, Outcome::Passed);
  RunRow newest = store.runs(1)->at(0);
  EXPECT_EQ(newest.outcomes, 4u);
  auto checked = store.check();
  ASSERT_TRUE(checked) << checked.message();
  EXPECT_EQ(checked->outcomes, 48u);
  EXPECT_TRUE(checked->problems.empty()) << checked->problems[0];
}

TEST_P(StoreUpkeep, ARunThatLeftComesBackAsItWas) {
  Store store = openStore(at(folder / "s"));
  RunInfo run = begin(store, 1763200000);
  for (const std::string &path : shardJournals(folder.path, run))
    ASSERT_TRUE(store.importJournal(path));
  run.endedAt = 1763200100;
  run.exitCode = 1;
  ASSERT_TRUE(store.endRun(run));
  std::string text = contents(store, run.id);
  std::ofstream(folder / "out.jsonl") << text;
  // Into a store of the other kind of database, or at least another one.
  Store other = openStore({folder / "t", ""});
  auto imported = other.importJournal(folder / "out.jsonl");
  ASSERT_TRUE(imported) << imported.message();
  EXPECT_EQ(imported->added, 4u);
  EXPECT_EQ(contents(other, run.id), text);
  EXPECT_EQ(*other.run(run.id), *store.run(run.id));
  EXPECT_EQ((*other.record(run.id, "programs::c"))->notes["ran twice"], "passed in n2.0");
  imported = store.importJournal(folder / "out.jsonl");
  EXPECT_EQ(imported->added + imported->replaced, 0u);
  EXPECT_EQ(contents(store, run.id), text);
}

TEST_P(StoreUpkeep, WhatIsOldLeavesItsSummary) {
  Store store = openStore(at(folder / "s"));
  RunInfo old = begin(store, 1000), recent = begin(store, 2000);
  for (const RunInfo &run : {old, recent}) {
    std::ofstream(store.journalPath(run.id))
        << journalBegin(run) << journalLine(simpleRecord("a"))
        << journalLine(simpleRecord("b", Outcome::Failed)) << journalEnd(run);
    ASSERT_TRUE(store.importJournal(store.journalPath(run.id)));
  }
  auto pruned = store.prune(1500);
  ASSERT_TRUE(pruned) << pruned.message();
  EXPECT_EQ(pruned->runs, std::vector{old.id});
  EXPECT_EQ(pruned->outcomes, 2u);
  EXPECT_TRUE(store.outcomes(old.id)->empty());
  EXPECT_EQ(store.outcomes(recent.id)->size(), 2u);
  RunRow row = store.runs(2)->at(1);
  EXPECT_EQ(row.info.id, old.id);
  EXPECT_EQ(row.outcomes, 2u); // The summary stays.
  EXPECT_GT(*store.prunedAt(old.id), 2000.0);
  EXPECT_EQ(*store.prunedAt(recent.id), 0.0);
  // Its journal does not bring it back.
  ASSERT_TRUE(store.importJournal(store.journalPath(old.id)));
  EXPECT_TRUE(store.outcomes(old.id)->empty());
  EXPECT_TRUE(store.check()->problems.empty());
  EXPECT_TRUE(store.prune(1500)->runs.empty());
}

TEST_P(StoreUpkeep, ALookAtEverythingFindsWhatIsWrong) {
  Store store = openStore(at(folder / "s"));
  RunInfo run = begin(store, 1000);
  TestRecord record = simpleRecord("a");
  record.artifacts = {*store.keepArtifact("x.mlir", "module {}")};
  ASSERT_TRUE(store.add(run.id, std::vector{record, simpleRecord("b")}));
  EXPECT_TRUE(store.check()->problems.empty());
  std::filesystem::remove(store.artifactPath(record.artifacts[0].sha256));
  std::unique_ptr<Database> db = database(folder / "s");
  db->execute("UPDATE outcomes SET record = '{}' WHERE test_id = (SELECT test_id FROM tests WHERE "
              "id = 'b'); UPDATE counts SET tests = 7");
  auto checked = store.check();
  ASSERT_TRUE(checked) << checked.message();
  ASSERT_EQ(checked->problems.size(), 3u);
  std::string all;
  for (const std::string &text : checked->problems)
    all += text + "\n";
  EXPECT_NE(all.find("number of its tests that passed is wrong"), std::string::npos) << all;
  EXPECT_NE(all.find("record of programs::b is damaged"), std::string::npos) << all;
  EXPECT_NE(all.find("x.mlir of programs::a is not in"), std::string::npos) << all;
  // No foreign key would have kept these out.
  db->execute("INSERT INTO reruns (run_id, test_id, shard, attempt, outcome, digest, record) VALUES "
              "(77, 99, '', 1, 'passed', '', '{}')");
  checked = store.check();
  ASSERT_TRUE(checked) << checked.message();
  ASSERT_EQ(checked->problems.size(), 4u);
  EXPECT_NE(checked->problems[0].find("rows of table reruns belong to nothing"), std::string::npos)
      << checked->problems[0];
}

INSTANTIATE_TEST_SUITE_P(Over, StoreUpkeep,
                         testing::Values(Database::Kind::Sqlite, Database::Kind::Postgres),
                         kindName);

} // namespace
