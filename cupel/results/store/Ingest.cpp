// Records into the tables: row by row into SQLite, by COPY into PostgreSQL. Both end in the same rows,
// whatever came before, twice, or in another order; what is special about a record that meets
// another of the same test is in one place, `settle`.

#include "cupel/results/store/StoreImpl.h"

#include <cmath>
#include <fmt/format.h>
#include <iterator>

namespace cupel::results {
namespace {

/// What a record teaches about how long its test takes: nothing, at least so long, or so long. A
/// test that came to its end says how long it takes; one that timed out, how long at least.
enum Lesson : int { kNothing, kAtLeast, kDuration };

Lesson lessonOf(const RecordColumns &record) {
  return ranThrough(record.outcome)                      ? kDuration
         : familyOf(record.outcome) == Family::Limit ? kAtLeast
                                                     : kNothing;
}

double learnedSeconds(const RecordColumns &record) {
  return lessonOf(record) == kNothing ? 0 : record.seconds;
}

/// One row of COPY's text format.
class CopyRow {
public:
  explicit CopyRow(std::string &out) : out(out) {}
  CopyRow &text(std::string_view value) {
    separate();
    size_t from = 0;
    while (true) {
      size_t at = value.find_first_of("\\\t\n\r", from);
      if (at == std::string_view::npos)
        break;
      out.append(value, from, at - from);
      out += '\\';
      out += value[at] == '\\' ? '\\' : value[at] == '\t' ? 't' : value[at] == '\n' ? 'n' : 'r';
      from = at + 1;
    }
    out.append(value, from);
    return *this;
  }
  CopyRow &integer(int64_t value) {
    separate();
    fmt::format_to(std::back_inserter(out), "{}", value);
    return *this;
  }
  CopyRow &real(double value) {
    separate();
    fmt::format_to(std::back_inserter(out), "{}", value);
    return *this;
  }
  CopyRow &maybe(const std::optional<double> &value) {
    if (value)
      return real(*value);
    separate();
    out += "\\N";
    return *this;
  }
  void end() { out += '\n'; }

private:
  void separate() {
    if (!first)
      out += '\t';
    first = false;
  }
  std::string &out;
  bool first = true;
};

constexpr const char *kIncoming = R"sql(
CREATE TEMPORARY TABLE IF NOT EXISTS incoming (
  suite TEXT, id TEXT, file TEXT, framework TEXT, model_path TEXT, variant TEXT, parallelism TEXT,
  run_mode TEXT, model_name TEXT, model_group TEXT, outcome TEXT, last_stage TEXT,
  test_status TEXT, bringup_status TEXT, started_at DOUBLE PRECISION, seconds DOUBLE PRECISION,
  peak_memory_bytes BIGINT, flaky BIGINT, pcc DOUBLE PRECISION, max_absolute DOUBLE PRECISION,
  error_class TEXT, message TEXT, digest TEXT, record TEXT, shard TEXT, attempt BIGINT,
  reason TEXT, lesson BIGINT, learned DOUBLE PRECISION
) ON COMMIT DELETE ROWS;
)sql";

} // namespace

void Store::Impl::ingest(const RunKey &run, std::span<const RecordColumns> records, Ingested &sum) {
  if (records.empty())
    return;
  if (std::exchange(undoneBefore, db.undone) != db.undone)
    testKeys.clear();
  Counts counts;
  if (db.kind() == Database::Kind::Postgres)
    ingestByCopy(run, records, sum, counts);
  else
    ingestByRow(run, records, sum, counts);
  count(run, counts);
}

void Store::Impl::ingestByRow(const RunKey &run, std::span<const RecordColumns> records,
                              Ingested &sum, Counts &counts) {
  for (const RecordColumns &record : records) {
    int64_t test = testKey(record);
    if (!insertOutcome(run, test, record)) {
      settle(run, test, record, sum, counts);
      continue;
    }
    ++sum.added;
    ++counts[record.outcome];
    learn(run, test, record);
  }
}

void Store::Impl::ingestByCopy(const RunKey &run, std::span<const RecordColumns> records,
                               Ingested &sum, Counts &counts) {
  // Records of one test follow each other through `settle`; the first of each goes with the others.
  std::unordered_map<std::string_view, const RecordColumns *> byName;
  std::vector<std::string> names;
  names.reserve(records.size());
  std::vector<const RecordColumns *> later;
  std::string rows;
  for (const RecordColumns &r : records) {
    names.push_back(r.suite + "::" + r.id);
    if (!byName.emplace(names.back(), &r).second) {
      later.push_back(&r);
      continue;
    }
    CopyRow(rows)
        .text(r.suite).text(r.id).text(r.file).text(r.framework).text(r.modelPath).text(r.variant)
        .text(r.parallelism).text(r.runMode).text(r.modelName).text(r.group)
        .text(name(r.outcome)).text(name(r.lastStage)).text(r.testStatus).text(r.bringupStatus)
        .real(r.startedAt).real(r.seconds).integer(int64_t(r.peakMemoryBytes)).integer(r.flaky)
        .maybe(r.pcc).maybe(r.maxAbsolute).text(r.errorClass).text(r.message).text(r.digest)
        .text(r.json).text(r.shard).integer(r.attempt).text(r.reason).integer(lessonOf(r))
        .real(learnedSeconds(r))
        .end();
  }
  db.execute(kIncoming);
  db.execute("DELETE FROM incoming");
  db.copyIn("incoming", rows);
  db.query("INSERT INTO tests (suite, id, file, framework, model_path, variant, parallelism, "
           "run_mode, model_name, model_group) SELECT suite, id, file, framework, model_path, "
           "variant, parallelism, run_mode, model_name, model_group FROM incoming i WHERE NOT "
           "EXISTS (SELECT 1 FROM tests t WHERE t.suite = i.suite AND t.id = i.id) "
           "ON CONFLICT (suite, id) DO NOTHING")
      .run();
  std::vector<std::pair<int64_t, std::string>> met;
  {
    Query query = db.query(
        "SELECT t.test_id, i.suite || '::' || i.id FROM incoming i JOIN tests t USING (suite, id) "
        "JOIN outcomes o ON o.run_id = ? AND o.test_id = t.test_id WHERE o.shard <> i.shard OR "
        "o.attempt <> i.attempt OR o.digest <> i.digest");
    for (query.with(run.id); query.next();) {
      int64_t test = query.integer();
      met.emplace_back(test, query.text());
    }
  }
  uint64_t added = 0;
  {
    Query query = db.query(
        "WITH fresh AS (INSERT INTO outcomes (run_id, test_id, outcome, last_stage, test_status, "
        "bringup_status, started_at, seconds, peak_memory_bytes, flaky, pcc, max_absolute, "
        "error_class, message, digest, record, shard, attempt, reason) SELECT CAST(? AS BIGINT), "
        "t.test_id, i.outcome, i.last_stage, i.test_status, i.bringup_status, i.started_at, "
        "i.seconds, i.peak_memory_bytes, i.flaky, i.pcc, i.max_absolute, i.error_class, i.message, "
        "i.digest, i.record, i.shard, i.attempt, i.reason FROM incoming i JOIN tests t USING "
        "(suite, id) ON CONFLICT (run_id, test_id) DO NOTHING RETURNING outcome) "
        "SELECT outcome, count(*) FROM fresh GROUP BY outcome");
    for (query.with(run.id); query.next();) {
      Outcome outcome = parseOutcome(query.text()).value_or(Outcome::NotRun);
      int64_t tests = query.integer();
      counts[outcome] += tests;
      added += uint64_t(tests);
    }
  }
  if (added) {
    db.query("UPDATE known SET run_id = ?1, outcome = i.outcome, run_started_at = ?2, "
             "seconds = CASE WHEN i.lesson = 2 OR i.learned > known.seconds THEN i.learned "
             "ELSE known.seconds END, "
             "peak_memory_bytes = CASE WHEN (i.lesson = 2 AND i.peak_memory_bytes > 0) OR "
             "i.peak_memory_bytes > known.peak_memory_bytes THEN i.peak_memory_bytes "
             "ELSE known.peak_memory_bytes END "
             "FROM incoming i JOIN tests t USING (suite, id) JOIN outcomes o ON o.run_id = ?1 AND "
             "o.test_id = t.test_id AND o.shard = i.shard AND o.attempt = i.attempt AND o.digest = "
             "i.digest WHERE known.test_id = t.test_id AND known.arch = ?3 AND known.device = ?4 "
             "AND known.run_started_at <= ?2")
        .with(run.id, run.startedAt, run.arch, run.device)
        .run();
    db.query("INSERT INTO known (test_id, arch, device, run_id, outcome, seconds, "
             "peak_memory_bytes, run_started_at) SELECT o.test_id, CAST(?1 AS TEXT), "
             "CAST(?2 AS TEXT), o.run_id, o.outcome, i.learned, i.peak_memory_bytes, "
             "CAST(?3 AS DOUBLE PRECISION) FROM incoming i JOIN tests t USING (suite, id) JOIN "
             "outcomes o ON o.run_id = ?4 AND o.test_id = t.test_id AND o.shard = i.shard AND "
             "o.attempt = i.attempt AND o.digest = i.digest "
             "ON CONFLICT (test_id, arch, device) DO NOTHING")
        .with(run.arch, run.device, run.startedAt, run.id)
        .run();
  }
  sum.added += added;
  sum.unchanged += byName.size() - added - met.size();
  for (const auto &[test, fullName] : met)
    settle(run, test, *byName.at(fullName), sum, counts);
  for (const RecordColumns *record : later)
    settle(run, testKey(*record), *record, sum, counts);
}

int64_t Store::Impl::testKey(const RecordColumns &r) {
  std::string fullName = r.suite + "::" + r.id;
  if (auto found = testKeys.find(fullName); found != testKeys.end())
    return found->second;
  int64_t key = 0;
  {
    Query query = db.query("SELECT test_id FROM tests WHERE suite = ? AND id = ?");
    if (query.with(r.suite, r.id).next())
      return testKeys[fullName] = query.integer();
  }
  Query query =
      db.query("INSERT INTO tests (suite, id, file, framework, model_path, variant, parallelism, "
               "run_mode, model_name, model_group) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
               "RETURNING test_id");
  query
      .with(r.suite, r.id, r.file, r.framework, r.modelPath, r.variant, r.parallelism, r.runMode,
            r.modelName, r.group)
      .next();
  key = query.integer();
  query.run();
  return testKeys[fullName] = key;
}

bool Store::Impl::insertOutcome(const RunKey &run, int64_t test, const RecordColumns &r) {
  db.query("INSERT INTO outcomes (run_id, test_id, outcome, last_stage, test_status, "
           "bringup_status, started_at, seconds, peak_memory_bytes, flaky, pcc, max_absolute, "
           "error_class, message, digest, record, shard, attempt, reason) VALUES "
           "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
           "ON CONFLICT (run_id, test_id) DO NOTHING")
      .with(run.id, test, name(r.outcome), name(r.lastStage), r.testStatus, r.bringupStatus,
            r.startedAt, r.seconds, r.peakMemoryBytes, r.flaky, r.pcc, r.maxAbsolute, r.errorClass,
            r.message, r.digest, r.json, r.shard, r.attempt, r.reason)
      .run();
  return db.changes() != 0;
}

void Store::Impl::settle(const RunKey &run, int64_t test, const RecordColumns &record,
                         Ingested &sum, Counts &counts) {
  RecordColumns present;
  {
    Query query = db.query("SELECT shard, attempt, digest, outcome, started_at, seconds, record "
                           "FROM outcomes WHERE run_id = ? AND test_id = ?");
    if (!query.with(run.id, test).next())
      throw DatabaseError{where() + ": an outcome vanished while it was looked at"};
    present.shard = query.text();
    present.attempt = uint32_t(query.integer());
    present.digest = query.text();
    present.outcome = parseOutcome(query.text()).value_or(Outcome::NotRun);
    present.startedAt = query.real();
    present.seconds = query.real();
    present.json = query.text();
  }
  bool isSameKey = present.shard == record.shard && present.attempt == record.attempt;
  if ((isSameKey && present.digest == record.digest) || !countsBefore(record, present)) {
    if (isSameKey)
      ++sum.unchanged;
    else
      note(run, test, record);
    return;
  }
  db.query("DELETE FROM outcomes WHERE run_id = ? AND test_id = ?").with(run.id, test).run();
  insertOutcome(run, test, record);
  learn(run, test, record);
  --counts[present.outcome];
  ++counts[record.outcome];
  ++sum.replaced;
  if (!isSameKey)
    note(run, test, present);
}

/// Only what had its whole turn is worth remembering beside the outcome that counts.
void Store::Impl::note(const RunKey &run, int64_t test, const RecordColumns &r) {
  if (!r.isFinal())
    return;
  db.query("INSERT INTO reruns (run_id, test_id, shard, attempt, outcome, digest, record) VALUES "
           "(?, ?, ?, ?, ?, ?, ?) ON CONFLICT (run_id, test_id, shard, attempt) DO NOTHING")
      .with(run.id, test, r.shard, r.attempt, name(r.outcome), r.digest, r.json)
      .run();
}

/// Memory is learned from what ran at all. An older run imported late teaches nothing new.
void Store::Impl::learn(const RunKey &run, int64_t test, const RecordColumns &r) {
  db.query("INSERT INTO known (test_id, arch, device, run_id, outcome, seconds, "
           "peak_memory_bytes, run_started_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) "
           "ON CONFLICT (test_id, arch, device) DO UPDATE SET run_id = excluded.run_id, "
           "outcome = excluded.outcome, run_started_at = excluded.run_started_at, "
           "seconds = CASE WHEN ?9 = 2 OR excluded.seconds > known.seconds THEN excluded.seconds "
           "ELSE known.seconds END, "
           "peak_memory_bytes = CASE WHEN (?9 = 2 AND excluded.peak_memory_bytes > 0) OR "
           "excluded.peak_memory_bytes > known.peak_memory_bytes "
           "THEN excluded.peak_memory_bytes ELSE known.peak_memory_bytes END "
           "WHERE excluded.run_started_at >= known.run_started_at")
      .with(test, run.arch, run.device, run.id, name(r.outcome), learnedSeconds(r),
            r.peakMemoryBytes, run.startedAt, int(lessonOf(r)))
      .run();
}

void Store::Impl::count(const RunKey &run, const Counts &counts) {
  for (const auto &[outcome, tests] : counts)
    db.query("INSERT INTO counts (run_id, outcome, tests) VALUES (?, ?, ?) "
             "ON CONFLICT (run_id, outcome) DO UPDATE SET tests = counts.tests + excluded.tests")
        .with(run.id, name(outcome), tests)
        .run();
}

} // namespace cupel::results
