// A store that many share: clients at once, a server that dies, a role that only reads, plans of
// queries that must stay quick however much there is, and addresses that are wrong.

#include "cupel/results/store/Schema.h"
#include "cupel/results/store/StoreTesting.h"

#include <atomic>
#include <fstream>
#include <set>
#include <thread>

using namespace cupel;
using namespace cupel::results;

namespace {

class StoreShared : public OverDatabases {};
class PostgresStore : public OverDatabases {};

std::string journalOf(const std::string &path, const RunInfo &run, int tests) {
  std::ofstream out(path);
  out << journalBegin(run);
  for (int i = 0; i < tests; ++i)
    out << journalLine(simpleRecord("t" + std::to_string(i), i % 7 ? Outcome::Passed
                                                                   : Outcome::Failed));
  return path;
}

TEST_P(StoreShared, TwoImportsOfOneJournalAndTenRunsAtOnce) {
  openStore(at(folder / "s"));
  constexpr int kTests = 300;
  std::vector<std::thread> clients;
  std::atomic<int> failures = 0;
  for (int client = 0; client < 10; ++client)
    clients.emplace_back([&] {
      Result<Store> store = Store::open(at(folder / "s"));
      RunInfo run;
      run.startedAt = 1763200000; // All of them in the same instant.
      if (!store || !store->beginRun(run))
        return void(++failures);
      std::string path = journalOf(folder / (run.id + ".jsonl"), run, kTests);
      std::thread other([&] {
        Result<Store> second = Store::open(at(folder / "s"));
        if (!second || !second->importJournal(path))
          ++failures;
      });
      if (!store->importJournal(path))
        ++failures;
      other.join();
    });
  for (std::thread &client : clients)
    client.join();
  EXPECT_EQ(failures, 0);
  Store store = openStore(at(folder / "s"));
  auto runs = store.runs(50);
  ASSERT_TRUE(runs) << runs.message();
  EXPECT_EQ(runs->size(), 10u);
  for (const RunRow &run : *runs)
    EXPECT_EQ(run.outcomes, uint64_t(kTests));
  EXPECT_EQ(store.known("", "")->size(), size_t(kTests));
  EXPECT_TRUE(store.check()->problems.empty());
}

/// More records than are parsed at a time, tests that come again in another part, a damaged line.
TEST_P(StoreShared, AJournalOfManyPartsIsTakenAsOne) {
  Store store = openStore(at(folder / "s"));
  RunInfo run = begin(store, 1000);
  constexpr int kTests = 7000, kAgain = 100;
  std::string path = folder / "long.jsonl";
  {
    std::ofstream out(path);
    out << journalBegin(run);
    for (int i = 0; i < kTests; ++i)
      out << journalLine(simpleRecord("t" + std::to_string(i),
                                      i < kAgain ? Outcome::Interrupted : Outcome::Passed));
    out << "{\"record\":{\"id\":7}}\n";
    for (int i = 0; i < kAgain; ++i)
      out << journalLine(simpleRecord("t" + std::to_string(i), Outcome::Failed, 2.5));
  }
  auto imported = store.importJournal(path);
  ASSERT_TRUE(imported) << imported.message();
  EXPECT_EQ(imported->added, uint64_t(kTests));
  EXPECT_EQ(imported->replaced, uint64_t(kAgain));
  EXPECT_EQ(imported->damaged, 1u);
  EXPECT_NE(imported->firstDamage.find(":" + std::to_string(kTests + 2) + ":"), std::string::npos)
      << imported->firstDamage;
  std::vector<RunRow> rows = *store.runs(1);
  EXPECT_EQ(rows[0].outcomes, uint64_t(kTests));
  std::vector<std::pair<Outcome, uint64_t>> counts = {{Outcome::Passed, kTests - kAgain},
                                                      {Outcome::Failed, kAgain}};
  EXPECT_EQ(rows[0].counts, counts);
  std::vector<KnownTest> known = *store.known("", "reference");
  EXPECT_EQ(known.size(), size_t(kTests));
  for (const KnownTest &test : known)
    EXPECT_EQ(test.seconds, test.outcome == Outcome::Failed ? 2.5 : 0.25) << test.id;
  // A store that knows nothing of it yet, and one that knows all.
  Store other = openStore(at(folder / "s"));
  auto again = other.importJournal(path);
  ASSERT_TRUE(again) << again.message();
  EXPECT_EQ(again->added + again->replaced, 0u);
  EXPECT_EQ(again->unchanged, uint64_t(kTests));
  EXPECT_EQ(other.runs(1)->at(0).counts, counts);
  EXPECT_TRUE(other.check()->problems.empty());
}

/// Readers see the store as it was or as it is, and never anything between.
TEST_P(StoreShared, AMigrationWhileOthersRead) {
  std::filesystem::create_directories(folder / "s");
  {
    std::unique_ptr<Database> db = database(folder / "s");
    migrate(*db, 3);
    db->execute("INSERT INTO runs (run_id, id, started_at) VALUES (1, 'r1', 10);"
                "INSERT INTO tests (test_id, suite, id) VALUES (1, 'programs', 'a')");
    db->execute("INSERT INTO outcomes (run_id, test_id, outcome, last_stage, digest, record) "
                "VALUES (1, 1, 'passed', 'done', '', '" +
                toJson(simpleRecord("a")) + "')");
  }
  std::atomic<bool> stop = false;
  std::atomic<int> odd = 0, old = 0, current = 0;
  std::vector<std::thread> readers;
  for (int i = 0; i < 3; ++i)
    readers.emplace_back([&] {
      while (!stop) {
        Result<Store> store = Store::open(at(folder / "s"), Store::Access::ReadOnly);
        if (!store)
          ++(store.message().find("has schema version 3") != std::string::npos ? old : odd);
        else if (auto rows = store->outcomes("r1"); rows && rows->size() == 1)
          ++current;
        else
          ++odd;
      }
    });
  std::vector<std::thread> writers;
  std::atomic<int> failures = 0;
  for (int i = 0; i < 4; ++i)
    writers.emplace_back([&] { failures += !Store::open(at(folder / "s")); });
  for (std::thread &writer : writers)
    writer.join();
  while (!current && !odd)
    std::this_thread::yield();
  stop = true;
  for (std::thread &reader : readers)
    reader.join();
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(odd, 0);
  EXPECT_EQ(database(folder / "s")->schemaVersion(), currentSchema());
}

/// How the database goes about a statement, whatever the values in it.
std::string planOf(Database &db, bool isPostgres, const std::string &sql) {
  std::string explain = "EXPLAIN QUERY PLAN " + sql;
  if (isPostgres) {
    std::string values;
    for (int i = 1; sql.find("$" + std::to_string(i)) != std::string::npos; ++i)
      values += i > 1 ? ", NULL" : "NULL";
    db.execute("DEALLOCATE ALL");
    db.execute("PREPARE probe AS " + sql);
    explain = "EXPLAIN EXECUTE probe" + (values.empty() ? "" : "(" + values + ")");
  }
  // Kept by address: the text lives as long as the connection.
  static std::vector<std::unique_ptr<std::string>> texts;
  texts.push_back(std::make_unique<std::string>(explain));
  std::string plan;
  Query query = db.query(texts.back()->c_str());
  while (query.next()) {
    if (!isPostgres)
      query.integer(), query.integer(), query.integer();
    plan += query.text() + "\n";
  }
  return plan;
}

/// What show, diff, history and triage ask goes by indexes: nothing reads all outcomes. The
/// statements are those that the store asks, as it asks them.
TEST_P(StoreShared, QuestionsGoByIndexes) {
  {
    Store store = openStore(at(folder / "s"));
    for (int run = 0; run < 30; ++run)
      ASSERT_TRUE(store.importJournal(journalOf(folder / "j", begin(store, 1000 + run), 100)));
  }
  std::vector<std::string> asked;
  Database::asked = &asked;
  {
    Store store = openStore(at(folder / "s"));
    EXPECT_EQ(store.runs(20)->size(), 20u);
    std::string run = *store.resolveRun("latest");
    EXPECT_EQ(*store.resolveRun(run.substr(0, run.size() - 1)), run);
    EXPECT_EQ(*store.resolveTest("t3"), "programs::t3");
    EXPECT_EQ(store.run(run)->id, run);
    EXPECT_TRUE(*store.runBefore(run));
    EXPECT_TRUE(*store.record(run, "programs::t3"));
    EXPECT_EQ(store.outcomes(run)->size(), 100u);
    EXPECT_EQ(store.history("programs::t3", 6)->size(), 6u);
    EXPECT_TRUE(store.forEachRecord(run, [](const TestRecord &) {}));
    EXPECT_TRUE(store.forEachBrief(run, [](const OutcomeBrief &) {}));
    EXPECT_FALSE(store.counts(run)->empty());
    EXPECT_EQ(store.known("", "reference")->size(), 100u);
    EXPECT_TRUE(store.state());
  }
  Database::asked = nullptr;
  std::unique_ptr<Database> db = database(folder / "s");
  if (isPostgres())
    db->execute("ANALYZE; SET plan_cache_mode = force_generic_plan");
  int looked = 0;
  for (const std::string &sql : std::set<std::string>(asked.begin(), asked.end())) {
    if (sql.find("outcomes") == std::string::npos || !sql.starts_with("SELECT"))
      continue;
    ++looked;
    std::string plan = planOf(*db, isPostgres(), sql);
    EXPECT_NE(plan, "") << sql;
    for (const char *all : {"Seq Scan on outcomes", "SCAN o", "SCAN x"})
      EXPECT_EQ(plan.find(all), std::string::npos) << sql << "\n" << plan;
  }
  EXPECT_GE(looked, 7) << "of " << asked.size();
  // A question that has to read everything is found out.
  EXPECT_NE(planOf(*db, isPostgres(), "SELECT message FROM outcomes o WHERE message = 'x'")
                .find(isPostgres() ? "Seq Scan on outcomes" : "SCAN o"),
            std::string::npos);
}

TEST_P(PostgresStore, ARoleThatOnlyReadsSuffices) {
  PostgresServer &server = PostgresServer::get();
  Store store = openStore(at(folder / "s"));
  RunInfo first = begin(store, 1000), second = begin(store, 2000);
  ASSERT_TRUE(store.add(first.id, std::vector{simpleRecord("a"), simpleRecord("b")}));
  ASSERT_TRUE(store.add(second.id, std::vector{simpleRecord("a", Outcome::Failed)}));
  std::string name = address.substr(14, address.find('?') - 14);
  server.execute(name, "CREATE ROLE reader_" + name + " LOGIN; GRANT SELECT ON ALL TABLES IN SCHEMA "
                       "public TO reader_" + name);
  StorePlace place{folder / "r", server.address(name, "reader_" + name)};
  for (Store::Access access : {Store::Access::ReadOnly, Store::Access::ReadWrite}) {
    Result<Store> reading = Store::open(place, access);
    ASSERT_TRUE(reading) << reading.message();
    EXPECT_EQ(reading->runs(5)->size(), 2u);
    EXPECT_EQ(*reading->resolveRun("latest"), second.id);
    EXPECT_EQ(reading->outcomes(first.id)->size(), 2u);
    EXPECT_EQ((*reading->record(second.id, "programs::a"))->outcome, Outcome::Failed);
    EXPECT_EQ(reading->history("programs::a")->size(), 2u);
    EXPECT_EQ(reading->known("", "reference")->size(), 2u);
    size_t seen = 0;
    EXPECT_TRUE(reading->forEachRecord(first.id, [&](const TestRecord &) { ++seen; }));
    EXPECT_EQ(seen, 2u);
    RunInfo run;
    Status status = reading->beginRun(run);
    ASSERT_FALSE(status);
    EXPECT_NE(status.message().find(access == Store::Access::ReadOnly ? "read-only"
                                                                      : "this role may not"),
              std::string::npos)
        << status.message();
  }
}

TEST_P(PostgresStore, AServerThatDiesCostsNothing) {
  PostgresServer &server = PostgresServer::get();
  Store store = openStore(at(folder / "s"));
  RunInfo run = begin(store, 1000);
  std::string path = journalOf(store.journalPath(run.id), run, 50);
  server.kill();
  auto imported = store.importJournal(path);
  ASSERT_FALSE(imported);
  EXPECT_NE(imported.message().find("the database cannot be reached"), std::string::npos)
      << imported.message();
  EXPECT_EQ(imported.message().find('\n'), std::string::npos);
  Result<Store> another = Store::open(at(folder / "s"));
  ASSERT_FALSE(another);
  EXPECT_NE(another.message().find("cannot be reached"), std::string::npos) << another.message();
  server.start();
  ASSERT_EQ(server.missing(), "");
  // The same connection comes back by itself.
  auto pending = store.importPending();
  ASSERT_TRUE(pending) << pending.message();
  ASSERT_EQ(pending->size(), 1u);
  EXPECT_EQ((*pending)[0].added, 50u);
  // Only the connection is cut, in the middle of things.
  server.execute("postgres", "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE "
                             "application_name = 'cupel' AND pid <> pg_backend_pid()");
  auto again = store.importJournal(path);
  EXPECT_TRUE(again) << again.message();
  EXPECT_EQ(store.outcomes(run.id)->size(), 50u);
}

TEST_P(PostgresStore, WrongPlacesAreToldInOneLine) {
  PostgresServer &server = PostgresServer::get();
  auto told = [&](const std::string &place) {
    Result<Store> store = Store::open(StorePlace{folder / "x", place});
    std::string text = store ? "opened" : store.message();
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
    return text;
  };
  EXPECT_NE(told(server.address("nowhere")).find("database \"nowhere\" does not exist"),
            std::string::npos)
      << told(server.address("nowhere"));
  EXPECT_NE(told("postgresql:///x?host=/nowhere").find("cannot be reached"), std::string::npos);
  EXPECT_NE(told("postgresql:///x?nosuch=1").find("not one that libpq understands"), std::string::npos);
  std::string secret = told("postgresql://me:hunter2@localhost/x");
  EXPECT_NE(secret.find("holds a password"), std::string::npos) << secret;
  EXPECT_EQ(secret.find("hunter2"), std::string::npos);
  secret = told("postgresql:///x?password=hunter2");
  EXPECT_NE(secret.find("holds a password"), std::string::npos) << secret;
  EXPECT_EQ(secret.find("hunter2"), std::string::npos);
  std::string foreign = server.newDatabase();
  openPostgres(foreign, false)->execute("CREATE TABLE customers (id BIGINT)");
  EXPECT_NE(told(foreign).find("not Cupel's: it has a table 'customers'"), std::string::npos)
      << told(foreign);
}

TEST_P(PostgresStore, TakesAnyTextThatTestsPrint) {
  Store store = openStore(at(folder / "s"));
  RunInfo run = begin(store, 1000);
  TestRecord record = simpleRecord("a", Outcome::Failed);
  record.message = std::string("nul\0 and \xff\xfe", 11);
  record.output = "tab\there \\N back\\slash\nline\r\n";
  record.notes = {{"n", std::string("\0", 1)}};
  ASSERT_TRUE(store.add(run.id, std::vector{record}));
  auto loaded = store.record(run.id, "programs::a");
  ASSERT_TRUE(loaded && *loaded) << loaded.message();
  EXPECT_EQ((*loaded)->output, record.output);
  EXPECT_EQ((*loaded)->message, "nul\xef\xbf\xbd and \xef\xbf\xbd\xef\xbf\xbd");
  EXPECT_EQ((*loaded)->notes["n"], "\xef\xbf\xbd");
}

INSTANTIATE_TEST_SUITE_P(Over, StoreShared,
                         testing::Values(Database::Kind::Sqlite, Database::Kind::Postgres),
                         kindName);
INSTANTIATE_TEST_SUITE_P(Over, PostgresStore, testing::Values(Database::Kind::Postgres), kindName);

} // namespace
