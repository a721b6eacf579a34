#include "cupel/results/store/Schema.h"
#include "cupel/results/RecordJson.h"
#include "cupel/results/store/Store.h"
#include "cupel/results/store/StoreTesting.h"

#include <cmath>
#include <fstream>
#include <gtest/gtest.h>
#include <limits>

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

using SchemaTest = OverDatabases;

/// A store as the first schema version had it: written by SQL, not by today's code.
void makeVersion1(Database &db) {
  migrate(db, 1);
  db.execute("INSERT INTO runs (run_id, id, started_at, device) VALUES (1, 'r1', 10, 'reference'), "
             "(2, 'r2', 20, 'reference'), (3, 'r3', 30, 'cpu');"
             "INSERT INTO tests (test_id, suite, id) VALUES (1, 'programs', 'a'), (2, 'programs', "
             "'b');" +
             insertOutcome(1, 1, "passed", 1.5) + insertOutcome(2, 1, "crashed", 9) +
             insertOutcome(1, 2, "passed", 2) + insertOutcome(2, 2, "failed", 3) +
             insertOutcome(3, 2, "timed out", 60) +
             "INSERT INTO stages VALUES (1, 0, 'load', 0.5), (1, 1, 'execute', 1);"
             "INSERT INTO comparisons VALUES (4, 0, 0, 0, 0.5, 2, NULL, NULL, 0.99, NULL, NULL, 1, "
             "0, 0, 'pcc 0.5');"
             "INSERT INTO reasons VALUES (4, 0, 'PCC', 'd', 'c', 's');"
             "INSERT INTO artifacts VALUES (4, 0, 'a.mlir', 'ff', 7);");
  EXPECT_EQ(db.schemaVersion(), 1);
}

TEST_P(SchemaTest, EveryOlderVersionBecomesTheCurrentOne) {
  for (int64_t version = 0; version <= currentSchema(); ++version) {
    std::string files = folder / std::to_string(version);
    std::filesystem::create_directories(files);
    if (isPostgres())
      address = PostgresServer::get().newDatabase();
    {
      std::unique_ptr<Database> db = database(files);
      migrate(*db, version);
      if (version > 0) {
        EXPECT_EQ(db->schemaVersion(), version);
      }
    }
    Result<Store> store = Store::open(at(files));
    ASSERT_TRUE(store) << store.message();
    RunInfo run;
    ASSERT_TRUE(store->beginRun(run));
    ASSERT_TRUE(store->add(run.id, std::vector{simpleRecord("a")}));
    EXPECT_EQ(store->known("", "")->size(), 1u);
  }
}

TEST_P(SchemaTest, KeepsWhatAnOldStoreKnew) {
  std::filesystem::create_directories(folder / "s");
  makeVersion1(*database(folder / "s"));
  auto readOnly = Store::open(at(folder / "s"), Store::Access::ReadOnly);
  ASSERT_FALSE(readOnly);
  EXPECT_NE(readOnly.message().find("has schema version 1"), std::string::npos);

  Result<Store> store = Store::open(at(folder / "s"));
  ASSERT_TRUE(store) << store.message();
  EXPECT_EQ(store->runs(10)->size(), 3u);
  EXPECT_EQ(store->runs(10)->at(1).outcomes, 2u);
  EXPECT_EQ(store->history("programs::a")->size(), 2u);
  auto record = store->record("r1", "programs::a");
  ASSERT_TRUE(record && *record);
  EXPECT_EQ((*record)->seconds, 1.5);
  EXPECT_EQ((*record)->stages,
            (std::vector<StageTime>{{Stage::Load, 0.5}, {Stage::Execute, 1}}));
  auto failed = store->record("r2", "programs::b");
  ASSERT_TRUE(failed && *failed);
  ASSERT_EQ((*failed)->comparisons.size(), 1u);
  EXPECT_EQ((*failed)->comparisons[0].pcc, 0.5);
  EXPECT_EQ((*failed)->comparisons[0].maxRelative, std::nullopt);
  ASSERT_EQ((*failed)->reasons.size(), 1u);
  EXPECT_EQ((*failed)->reasons[0].summary, "s");
  ASSERT_EQ((*failed)->artifacts.size(), 1u);
  EXPECT_EQ((*failed)->artifacts[0].bytes, 7u);
  EXPECT_EQ(store->history("programs::b")->at(1).reason, "PCC");
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

TEST_P(SchemaTest, RefusesANewerStore) {
  std::filesystem::create_directories(folder / "s");
  openStore(at(folder / "s"));
  database(folder / "s")->setSchemaVersion(99);
  Result<Store> store = Store::open(at(folder / "s"));
  ASSERT_FALSE(store);
  EXPECT_NE(store.message().find("written by a newer Cupel (schema version 99"), std::string::npos)
      << store.message();
  EXPECT_EQ(database(folder / "s")->schemaVersion(), 99); // Nothing was led backward.
}

/// Parts of records can be asked about in SQL, as before they were kept in one piece.
TEST_P(SchemaTest, ShowsThePartsOfRecordsAsTables) {
  Store store = openStore(at(folder / "s"));
  RunInfo run = begin(store, 100);
  TestRecord record = simpleRecord("a", Outcome::Failed);
  ComparisonRecord comparison;
  comparison.output = 3;
  comparison.pcc = std::numeric_limits<double>::quiet_NaN();
  comparison.pccAsserted = true;
  comparison.sentence = "it's";
  record.comparisons = {comparison};
  record.reasons = {{"PCC", "d", "c", "s"}, {"OTHER", "", "", ""}};
  record.artifacts = {{"x", "ff", uint64_t(1) << 40}};
  ASSERT_TRUE(store.add(run.id, std::vector{record, simpleRecord("b")}));
  std::unique_ptr<Database> db = database(folder / "s");
  {
    Query rows = db->query("SELECT r.name, r.position FROM reasons r JOIN outcomes USING "
                           "(outcome_id) JOIN runs USING (run_id) ORDER BY r.position");
    ASSERT_TRUE(rows.next());
    EXPECT_EQ(rows.text(), "PCC");
    EXPECT_EQ(rows.integer(), 0);
    ASSERT_TRUE(rows.next());
    EXPECT_EQ(rows.text(), "OTHER");
    EXPECT_FALSE(rows.next());
  }
  {
    Query rows = db->query("SELECT output, pcc, max_absolute, passed, pcc_asserted, sentence FROM "
                           "comparisons");
    ASSERT_TRUE(rows.next());
    EXPECT_EQ(rows.integer(), 3);
    EXPECT_TRUE(std::isnan(*rows.maybeReal()));
    EXPECT_FALSE(rows.maybeReal());
    EXPECT_EQ(rows.integer(), 0);
    EXPECT_EQ(rows.integer(), 1);
    EXPECT_EQ(rows.text(), "it's");
    EXPECT_FALSE(rows.next());
  }
  Query stages = db->query("SELECT count(*), sum(seconds) FROM stages WHERE stage = 'execute'");
  ASSERT_TRUE(stages.next());
  EXPECT_EQ(stages.integer(), 2);
  EXPECT_NEAR(stages.real(), 0.3, 1e-9);
  Query artifacts = db->query("SELECT bytes FROM artifacts");
  ASSERT_TRUE(artifacts.next());
  EXPECT_EQ(artifacts.integer(), int64_t(1) << 40);
}

INSTANTIATE_TEST_SUITE_P(Over, SchemaTest,
                         testing::Values(Database::Kind::Sqlite, Database::Kind::Postgres),
                         kindName);

TEST(Schema, RefusesANewerStoreAndOtherFiles) {
  TestFolder folder;
  std::filesystem::create_directories(folder / "s");
  {
    openSqlite(folder / "s/results.sqlite", false, true)->setSchemaVersion(99);
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
