// How fast journals come into the results store, into a SQLite file and into a PostgreSQL server of
// its own that syncs to the disk, and how long the questions of show, diff, history and triage take
// once so many records are there. Prints each figure beside its goal: 50,000 and 20,000 records a
// second, 100 ms a question. Records are made up like real ones, in runs of --tests each. With
// --fill so many are there before the first journal comes: copies of one run within the database, of short
// records, so that ten million take some 4 GB.

#include "cupel/results/RecordJson.h"
#include "cupel/results/store/PostgresTesting.h"
#include "cupel/results/store/Store.h"
#include "cupel/results/store/TestFolder.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <deque>
#include <fstream>
#include <functional>
#include <thread>

using namespace cupel;
using namespace cupel::results;

namespace {

struct Settings {
  uint64_t records = 200'000, tests = 10'000, fill = 0;
  bool strict = false;          ///< A goal that is not reached is a failure,
  bool strictQuestions = false; ///< or one of the questions is.
  std::string only;
};

double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// A record like those of a night: stages, a comparison, now and then a failure with its reason.
TestRecord recordOf(uint64_t run, uint64_t test) {
  TestRecord r;
  r.suite = "models";
  r.id = "model_" + std::to_string(test) + "/pytorch-base-single_device-inference";
  r.file = "zoo/model_" + std::to_string(test) + "/loader.py";
  r.framework = "pytorch";
  r.arch = "n300";
  r.device = "cupel?arch=n300";
  bool fails = (test * 31 + run * 7) % 40 == 0;
  r.outcome = fails ? Outcome::Failed : Outcome::Passed;
  r.lastStage = fails ? Stage::Compare : Stage::Done;
  r.testStatus = "EXPECTED_PASSING";
  r.bringupStatus = fails ? "INCORRECT_RESULT" : "PASSED";
  r.startedAt = 1.7e9 + double(run) * 86400 + double(test);
  r.seconds = 0.5 + double(test % 100) / 7;
  r.peakMemoryBytes = (test % 1000) << 20;
  r.stages = {{Stage::Load, 0.125}, {Stage::Compile, 0.25}, {Stage::Execute, r.seconds / 2}};
  ComparisonRecord comparison;
  comparison.passed = !fails;
  comparison.pcc = fails ? 0.71 : 0.9998;
  comparison.maxAbsolute = 1e-3;
  comparison.rule = "strict";
  comparison.sentence = fails ? "output 0: 41 of 4096 elements beyond 8 times their noise" : "";
  r.comparisons = {comparison};
  if (fails) {
    r.reasons = {{"REASON_" + std::to_string(test % 17), "wrong results", "runtime", "outputs"}};
    r.message = comparison.sentence;
  }
  return r;
}

RunInfo runOf(uint64_t run, uint64_t tests) {
  RunInfo info;
  info.startedAt = 1.7e9 + double(run) * 86400;
  info.endedAt = info.startedAt + 30'000;
  info.id = newRunId(info.startedAt);
  info.arch = "n300";
  info.device = "cupel?arch=n300";
  info.selected = uint32_t(tests);
  info.exitCode = 1;
  info.commandLine = {"cupel", "run", "--arch", "n300"};
  return info;
}

/// Of this process alone: what the work costs, whatever else the machine does.
double processorSeconds() { return double(std::clock()) / CLOCKS_PER_SEC; }

struct Report {
  bool good = true, areQuestionsGood = true;
  void line(const char *what, double value, const char *unit, double goal, bool least) {
    bool reached = least ? value >= goal : value <= goal;
    good &= reached;
    std::printf("  %-44s %12.1f %s (goal %s %.0f)%s\n", what, value, unit, least ? ">=" : "<=", goal,
                reached ? "" : "   NOT REACHED");
  }
};

void ask(Report &report, const char *what, const std::function<bool()> &question) {
  double best = 1e9;
  for (int i = 0; i < 3; ++i) {
    double began = seconds();
    if (!question()) {
      std::printf("  %-44s failed\n", what);
      report.good = report.areQuestionsGood = false;
      return;
    }
    best = std::min(best, seconds() - began);
  }
  report.line(what, best * 1e3, "ms", 100, false);
  report.areQuestionsGood &= best <= 0.1;
}

void writeJournal(const std::string &path, uint64_t run, uint64_t tests, bool isShort = false) {
  std::ofstream journal(path);
  journal << journalBegin(runOf(run, tests));
  for (uint64_t test = 0; test < tests; ++test) {
    TestRecord record = recordOf(run, test);
    if (isShort) {
      record.file = record.framework = record.arch = record.device = "";
      record.stages.clear();
      record.comparisons.clear();
    }
    journal << journalLine(record);
  }
  journal << journalEnd(runOf(run, tests));
}

/// Statements are kept by their address.
Query queryOf(Database &db, std::string sql) {
  static std::deque<std::string> texts;
  return db.query(texts.emplace_back(std::move(sql)).c_str());
}

/// Copies of the first run, as runs of their own.
void copyRuns(Database &db, uint64_t first, uint64_t end, uint64_t tests) {
  Transaction transaction(db);
  for (uint64_t run = first; run < end; ++run) {
    RunInfo info = runOf(run, tests);
    db.query("INSERT INTO runs (id, started_at, ended_at, arch, device, selected, exit_code) "
             "VALUES (?, ?, ?, ?, ?, ?, ?)")
        .with(info.id, info.startedAt, info.endedAt, info.arch, info.device, info.selected, 1)
        .run();
    db.query("INSERT INTO outcomes (run_id, test_id, outcome, last_stage, test_status, "
             "bringup_status, started_at, seconds, peak_memory_bytes, flaky, pcc, max_absolute, "
             "error_class, message, digest, record, shard, attempt, reason) SELECT n.run_id, "
             "o.test_id, o.outcome, o.last_stage, o.test_status, o.bringup_status, n.started_at, "
             "o.seconds, o.peak_memory_bytes, o.flaky, o.pcc, o.max_absolute, o.error_class, "
             "o.message, o.digest, o.record, o.shard, o.attempt, o.reason FROM outcomes o, runs "
             "n WHERE o.run_id = 1 AND n.id = ? ORDER BY o.test_id")
        .with(info.id)
        .run();
    db.query("INSERT INTO counts (run_id, outcome, tests) SELECT n.run_id, c.outcome, c.tests "
             "FROM counts c, runs n WHERE c.run_id = 1 AND n.id = ?")
        .with(info.id)
        .run();
  }
  transaction.commit();
}

/// Runs of long ago, each a copy of the first, in the order of their age; how many there are then.
uint64_t fill(const StorePlace &place, const Settings &settings) {
  {
    TestFolder folder;
    std::string path = folder / "journal.jsonl";
    writeJournal(path, 0, settings.tests, /*isShort=*/true);
    Result<Store> store = Store::open(place);
    if (!store)
      throw DatabaseError{store.message()};
    if (Result<ImportSummary> imported = store->importJournal(path); !imported)
      throw DatabaseError{imported.message()};
  }
  bool isPostgres = !place.database.empty();
  std::unique_ptr<Database> owned =
      isPostgres ? openPostgres(place.database, false)
                 : openSqlite(place.folder + "/results.sqlite", false, false);
  Database &db = *owned;
  if (!isPostgres)
    db.execute("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF");
  // An index that is not in the order of runs is made at the end, as it stands in the schema.
  std::string index;
  {
    Query query = queryOf(
        db, isPostgres ? "SELECT indexdef FROM pg_indexes WHERE indexname = 'outcomes_by_test'"
                       : "SELECT sql FROM sqlite_master WHERE name = 'outcomes_by_test'");
    if (query.next())
      index = query.text();
  }
  db.execute("DROP INDEX outcomes_by_test");
  uint64_t runs = settings.fill / settings.tests;
  // A server takes them through two connections at once.
  std::vector<std::unique_ptr<Database>> connections;
  connections.push_back(std::move(owned));
  if (isPostgres)
    connections.push_back(openPostgres(place.database, false));
  // Plans are made while there is one run, and kept.
  for (const std::unique_ptr<Database> &connection : connections)
    if (isPostgres)
      connection->execute("SET enable_seqscan = off");
  std::atomic<uint64_t> next = 1;
  std::atomic<bool> isBroken = false;
  std::vector<std::thread> threads;
  for (const std::unique_ptr<Database> &connection : connections)
    threads.emplace_back([&] {
      constexpr uint64_t kAtATime = 25;
      try {
        for (uint64_t from; (from = next.fetch_add(kAtATime)) < runs;)
          copyRuns(*connection, from, std::min(runs, from + kAtATime), settings.tests);
      } catch (const DatabaseError &) {
        isBroken = true;
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  if (isBroken)
    throw DatabaseError{"the store could not be filled"};
  db.execute(index);
  // A server would have done it by itself in all that time.
  db.execute(isPostgres ? "VACUUM ANALYZE" : "PRAGMA journal_mode = WAL");
  return runs;
}

bool measure(const char *name, const StorePlace &place, double goal, const Settings &settings) {
  std::printf("%s: %llu records in runs of %llu\n", name, (unsigned long long)settings.records,
              (unsigned long long)settings.tests);
  Report report;
  TestFolder folder;
  uint64_t first = 0;
  if (settings.fill) {
    double began = seconds();
    first = fill(place, settings);
    std::printf("  %-44s %12llu in %.0f s\n", "records that are there already",
                (unsigned long long)(first * settings.tests), seconds() - began);
    std::fflush(stdout);
  }
  Result<Store> store = Error{"not opened"};
  uint64_t runs = first + std::max<uint64_t>(1, settings.records / settings.tests);
  double spent = 0, last = 0, processor = 0;
  for (uint64_t run = first; run < runs; ++run) {
    std::string path = folder / "journal.jsonl";
    writeJournal(path, run, settings.tests);
    // Every `cupel` that enters a journal is a new one, which has learned nothing yet.
    store = Store::open(place);
    if (!store)
      return std::printf("  %s\n", store.message().c_str()), false;
    double began = seconds(), processorBegan = processorSeconds();
    Result<ImportSummary> imported = store->importJournal(path);
    last = seconds() - began;
    spent += last;
    processor += processorSeconds() - processorBegan;
    if (!imported || imported->added != settings.tests) {
      std::printf("  %s\n", imported ? "not all were added" : imported.message().c_str());
      return false;
    }
  }
  report.line("records a second into it", double((runs - first) * settings.tests) / spent, "/s",
              goal, true);
  std::printf("  %-44s %12.1f us\n", "processor time of ours a record",
              processor / double((runs - first) * settings.tests) * 1e6);
  report.line("the last run of them", double(settings.tests) / last, "/s", goal, true);
  double began = seconds();
  if (Result<ImportSummary> again = store->importJournal(folder / "journal.jsonl");
      !again || again->added || again->replaced)
    return std::printf("  importing it again changed something\n"), false;
  report.line("records a second that are there already", double(settings.tests) / (seconds() - began), "/s",
              goal, true);
  std::string newest = runOf(runs - 1, 0).id, before = runOf(runs > 1 ? runs - 2 : 0, 0).id;
  std::string test = recordOf(0, settings.tests / 3).fullName();
  ask(report, "show: the last runs", [&] { return bool(store->runs(20)); });
  ask(report, "show: latest", [&] { return bool(store->resolveRun("latest")); });
  ask(report, "show: a test's record", [&] { return bool(store->record(newest, test)); });
  ask(report, "show, diff, triage: the outcomes of a run",
      [&] { return store->outcomes(newest)->size() == settings.tests; });
  ask(report, "diff: the run before", [&] { return **store->runBefore(newest) == before || runs == 1; });
  ask(report, "history: of a test", [&] { return !store->history(test)->empty(); });
  ask(report, "show: a test by its id alone",
      [&] { return *store->resolveTest(test.substr(test.find("::") + 2)) == test; });
  ask(report, "triage: how many tests of a run ended how",
      [&] { return !store->counts(newest)->empty(); });
  ask(report, "run: what is known of all tests",
      [&] { return store->known("n300", "cupel?arch=n300")->size() == settings.tests; });
  // What a report of the whole run takes is mostly the making of records.
  double reading = seconds();
  uint64_t records = 0;
  (void)store->forEachRecord(newest, [&](const TestRecord &) { ++records; });
  std::printf("  %-44s %12.1f ms for %llu\n", "show: all records of a run, in full",
              (seconds() - reading) * 1e3, (unsigned long long)records);
  return settings.strictQuestions ? report.areQuestionsGood : report.good;
}

bool measureAll(const Settings &settings) {
  bool good = true;
  if (settings.only != "postgresql") {
    TestFolder folder;
    good &= measure("sqlite", {folder / "s", ""}, 50'000, settings);
  }
  if (settings.only != "sqlite") {
    PostgresServer &server = PostgresServer::get(/*durable=*/true);
    TestFolder folder;
    if (!server.missing().empty())
      std::printf("postgresql: not measured: %s\n", server.missing().c_str());
    else
      good &= measure("postgresql", {folder / "s", server.newDatabase()}, 20'000, settings);
  }
  return good;
}

} // namespace

int main(int count, char **arguments) {
  Settings settings;
  for (int i = 1; i < count; ++i) {
    std::string word = arguments[i];
    const char *value = i + 1 < count ? arguments[i + 1] : "";
    if (word == "--strict")
      settings.strict = true;
    else if (word == "--strict-questions")
      settings.strictQuestions = true;
    else if (word == "--records" && ++i)
      settings.records = std::strtoull(value, nullptr, 10);
    else if (word == "--fill" && ++i)
      settings.fill = std::strtoull(value, nullptr, 10);
    else if (word == "--tests" && ++i)
      settings.tests = std::max(1ull, std::strtoull(value, nullptr, 10));
    else if (word == "--only" && ++i)
      settings.only = value;
    else
      return std::printf("usage: bench_store [--records N] [--tests N] [--fill N] "
                         "[--only sqlite|postgresql] [--strict|--strict-questions]\n"),
             2;
  }
  bool good = true;
  try {
    good = measureAll(settings);
  } catch (const DatabaseError &error) {
    return std::printf("  %s\n", error.message.c_str()), 1;
  }
  return (settings.strict || settings.strictQuestions) && !good;
}
