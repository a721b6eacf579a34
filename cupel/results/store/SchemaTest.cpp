#include "cupel/results/store/Schema.h"
#include "cupel/results/RecordJson.h"
#include "cupel/results/store/Store.h"
#include "cupel/results/store/TestFolder.h"

#include <fstream>
#include <gtest/gtest.h>

using namespace cupel;
using namespace cupel::results;

namespace {

std::string insertOutcome(int run, int test, const char *outcome, double seconds) {
  TestRecord record = simpleRecord(test == 1 ? "a" : "b", *parseOutcome(outcome), seconds);
  record.stages.clear();
  return "INSERT INTO outcomes (run_id, test_id, outcome, last_stage, seconds, peak_memory_bytes, "
         "digest, record) VALUES (" +
         std::to_string(run) + ", " + std::to_string(test) + ", '" + outcome + "', 'done', " +
         std::to_string(seconds) + ", 1000, '', '" + toJson(record) + "');";
}

/// A store as the first schema version had it: written by SQL, not by today's code.
void makeVersion1(const std::string &folder) {
  std::filesystem::create_directories(folder);
  Database db(folder + "/results.sqlite", false, true);
  migrate(db, 1);
  db.execute("INSERT INTO runs (run_id, id, started_at, device) VALUES (1, 'r1', 10, 'reference'), "
             "(2, 'r2', 20, 'reference'), (3, 'r3', 30, 'cpu');"
             "INSERT INTO tests (test_id, suite, id) VALUES (1, 'programs', 'a'), (2, 'programs', "
             "'b');" +
             insertOutcome(1, 1, "passed", 1.5) + insertOutcome(2, 1, "crashed", 9) +
             insertOutcome(1, 2, "passed", 2) + insertOutcome(2, 2, "failed", 3) +
             insertOutcome(3, 2, "timed out", 60));
  EXPECT_EQ(db.userVersion(), 1);
}

TEST(Schema, EveryOlderVersionBecomesTheCurrentOne) {
  for (int64_t version = 0; version <= currentSchema(); ++version) {
    TestFolder folder;
    std::filesystem::create_directories(folder / "s");
    {
      Database db(folder / "s/results.sqlite", false, true);
      migrate(db, version);
      EXPECT_EQ(db.userVersion(), version);
    }
    Result<Store> store = Store::open(folder / "s");
    ASSERT_TRUE(store) << store.message();
    RunInfo run;
    ASSERT_TRUE(store->beginRun(run));
    ASSERT_TRUE(store->add(run.id, std::vector{simpleRecord("a")}));
    EXPECT_EQ(store->known("", "")->size(), 1u);
  }
}

TEST(Schema, KeepsWhatAnOldStoreKnew) {
  TestFolder folder;
  makeVersion1(folder / "s");
  auto readOnly = Store::open(folder / "s", Store::Access::ReadOnly);
  ASSERT_FALSE(readOnly);
  EXPECT_NE(readOnly.message().find("has schema version 1"), std::string::npos);

  Result<Store> store = Store::open(folder / "s");
  ASSERT_TRUE(store) << store.message();
  EXPECT_EQ(store->runs(10)->size(), 3u);
  EXPECT_EQ(store->history("programs::a")->size(), 2u);
  auto record = store->record("r1", "programs::a");
  ASSERT_TRUE(record && *record);
  EXPECT_EQ((*record)->seconds, 1.5);
  auto known = store->known("", "reference");
  ASSERT_TRUE(known) << known.message();
  ASSERT_EQ(known->size(), 2u);
  EXPECT_EQ((*known)[0].outcome, Outcome::Crashed);
  EXPECT_EQ((*known)[0].run, "r2");
  EXPECT_EQ((*known)[0].seconds, 1.5);
  EXPECT_EQ((*known)[1].outcome, Outcome::Failed);
  EXPECT_EQ((*known)[1].seconds, 3);
  EXPECT_EQ(store->known("", "cpu")->size(), 1u);
}

TEST(Schema, RefusesANewerStoreAndOtherFiles) {
  TestFolder folder;
  std::filesystem::create_directories(folder / "s");
  {
    Database db(folder / "s/results.sqlite", false, true);
    db.execute("PRAGMA user_version = 99");
  }
  Result<Store> store = Store::open(folder / "s");
  ASSERT_FALSE(store);
  EXPECT_NE(store.message().find("written by a newer Cupel (schema version 99"), std::string::npos)
      << store.message();

  std::filesystem::create_directories(folder / "t");
  std::ofstream(folder / "t/results.sqlite") << std::string(5000, 'x');
  store = Store::open(folder / "t");
  ASSERT_FALSE(store);
  EXPECT_NE(store.message().find("is not a results store or is damaged"), std::string::npos)
      << store.message();

  std::ofstream(folder / "file") << "x";
  store = Store::open(folder / "file");
  ASSERT_FALSE(store);
  EXPECT_NE(store.message().find("cannot make the results store"), std::string::npos);
}

} // namespace
