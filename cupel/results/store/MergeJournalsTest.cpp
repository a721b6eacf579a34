#include "cupel/results/store/MergeJournals.h"
#include "cupel/results/store/Store.h"
#include "cupel/results/store/TestFolder.h"

#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

using namespace cupel;
using namespace cupel::results;

namespace {

TestRecord at(const std::string &id, Outcome outcome, double finished) {
  TestRecord record = simpleRecord(id, outcome, 1);
  record.startedAt = finished - 1;
  return record;
}

/// The journal of a job, as `cupel run` leaves it.
std::string journal(const std::string &path, std::string id, std::string job,
                    const std::vector<std::string> &selected,
                    const std::vector<TestRecord> &records, bool ended) {
  RunInfo run;
  run.id = std::move(id);
  run.startedAt = 100;
  run.device = "reference";
  if (!job.empty())
    run.environment["job"] = std::move(job);
  std::ofstream out(path);
  out << journalBegin(run) << "{\"select\":[";
  for (size_t i = 0; i < selected.size(); ++i)
    out << (i ? "," : "") << "\"programs::" << selected[i] << "\"";
  out << "]}\n{\"selected\":" << selected.size() << "}\n";
  for (const TestRecord &record : records)
    out << journalLine(record);
  run.endedAt = 200;
  if (ended)
    out << journalEnd(run);
  else
    out << "{\"record\":{\"sui";
  return path;
}

TEST(MergeJournals, GivesEveryTestOneOutcome) {
  TestFolder folder;
  MergeRequest request;
  request.run = "20261116-000000-0001";
  request.jobs = {{"1", {"programs::a", "programs::b"}},
                  {"2", {"programs::c", "programs::d", "programs::e"}},
                  {"3", {"programs::f"}}};
  request.journals = {
      journal(folder / "1", "r1", "1", {"a", "b"},
              {at("a", Outcome::Passed, 110), at("b", Outcome::Failed, 111)}, true),
      // Killed in the middle, and tried again: d ran twice, e died with the job.
      journal(folder / "2", "r2", "2", {"c", "d", "e"},
              {at("c", Outcome::Passed, 110), at("d", Outcome::Passed, 112)}, false),
      journal(folder / "2b", "r2b", "2", {"c", "d", "e"}, {at("d", Outcome::Failed, 150)}, false)};
  std::ostringstream out;
  auto merged = mergeJournals(request, out);
  ASSERT_TRUE(merged) << merged.message();
  EXPECT_EQ(merged->journals, 3u);
  EXPECT_EQ(merged->open, (std::vector<std::string>{"programs::e", "programs::f"}));
  EXPECT_EQ(merged->ranTwice, 1u);
  EXPECT_EQ(merged->conflicts, std::vector<std::string>{"programs::d"});
  EXPECT_EQ(merged->run.exitCode, kExitFailure);
  EXPECT_EQ(merged->run.selected, 6u);

  std::ofstream(folder / "merged") << out.str();
  Result<Store> store = Store::open(folder / "s");
  ASSERT_TRUE(store) << store.message();
  ASSERT_TRUE(store->importJournal(folder / "merged"));
  auto outcome = [&](const char *id) {
    return **store->record(request.run, std::string("programs::") + id);
  };
  EXPECT_EQ(store->outcomes(request.run)->size(), 6u);
  EXPECT_EQ(outcome("d").outcome, Outcome::Passed); // The first that finished.
  EXPECT_TRUE(outcome("d").flaky);
  EXPECT_EQ(outcome("d").notes["ran twice"], "failed in r2b");
  EXPECT_EQ(outcome("e").outcome, Outcome::NotRun);
  EXPECT_EQ(outcome("e").message, "job died: 2 left no outcome of it");
  EXPECT_EQ(outcome("f").message, "job died: 3 left no outcome of it");

  // In another order, the same.
  std::swap(request.journals[0], request.journals[2]);
  std::ostringstream again;
  ASSERT_TRUE(mergeJournals(request, again));
  EXPECT_EQ(again.str(), out.str());
}

TEST(MergeJournals, KnowsFromJournalsAloneWhatWasSelected) {
  TestFolder folder;
  MergeRequest request;
  request.journals = {journal(folder / "1", "r1", "", {"a", "b"}, {at("a", Outcome::Passed, 110)}, false)};
  std::ostringstream out;
  auto merged = mergeJournals(request, out);
  ASSERT_TRUE(merged) << merged.message();
  EXPECT_EQ(merged->run.id, "r1");
  EXPECT_EQ(merged->open, std::vector<std::string>{"programs::b"});
  std::ofstream(folder / "no") << "hello\n";
  request.journals = {folder / "no"};
  EXPECT_FALSE(mergeJournals(request, out));
  request.journals = {folder / "nowhere"};
  EXPECT_FALSE(mergeJournals(request, out));
  request.journals = {};
  EXPECT_FALSE(mergeJournals(request, out));
}

} // namespace
