#include "cupel/results/store/Ingest.h"

#include "cupel/results/store/CopyRows.h"

#include <fmt/format.h>
#include <functional>
#include <utility>
#include <vector>

namespace cupel::results {
namespace {

#define CUPEL_OUTCOME_COLUMNS                                                                      \
  "run_id, test_id, outcome, last_stage, test_status, bringup_status, started_at, seconds, "       \
  "peak_memory_bytes, flaky, pcc, max_absolute, error_class, message, digest, record, shard, "     \
  "attempt, reason"
constexpr uint16_t kOutcomeColumns = 19;

/// Of which record it is and what it says.
size_t hashOf(std::string_view shard, uint32_t attempt, std::string_view digest) {
  std::hash<std::string_view> hash;
  return hash(digest) + 31 * (attempt + 31 * hash(shard));
}

/// `'passed', 'failed'`: the outcomes that are so.
template <typename Predicate> std::string outcomesThat(Predicate &&isSo) {
  std::string text;
  for (size_t i = 0; i < kOutcomeCount; ++i)
    if (isSo(Outcome(i)))
      text += fmt::format("{}'{}'", text.empty() ? "" : ", ", name(Outcome(i)));
  return text;
}

/// What the outcomes of a run teach about their tests, from ?5 on. One that came to its end says how
/// long the test takes; one that met a limit, how long at least. Memory is learned from what ran at
/// all. An older run that is imported late teaches nothing new.
const std::string &learnStatement() {
  static const std::string sql = [] {
    std::string whole = outcomesThat(ranThrough);
    std::string atLeast = outcomesThat([](Outcome o) { return familyOf(o) == Family::Limit; });
    return fmt::format(
        "INSERT INTO known (test_id, arch, device, run_id, outcome, seconds, peak_memory_bytes, "
        "run_started_at) SELECT o.test_id, CAST(?1 AS TEXT), CAST(?2 AS TEXT), o.run_id, o.outcome, "
        "CASE WHEN o.outcome IN ({0}, {1}) THEN o.seconds ELSE 0 END, o.peak_memory_bytes, "
        "CAST(?3 AS DOUBLE PRECISION) FROM outcomes o WHERE o.run_id = ?4 AND o.outcome_id > ?5 "
        "ON CONFLICT (test_id, arch, device) DO UPDATE SET run_id = excluded.run_id, "
        "outcome = excluded.outcome, run_started_at = excluded.run_started_at, "
        "seconds = CASE WHEN excluded.outcome IN ({0}) OR excluded.seconds > known.seconds "
        "THEN excluded.seconds ELSE known.seconds END, "
        "peak_memory_bytes = CASE WHEN (excluded.outcome IN ({0}) AND excluded.peak_memory_bytes > "
        "0) OR excluded.peak_memory_bytes > known.peak_memory_bytes THEN "
        "excluded.peak_memory_bytes ELSE known.peak_memory_bytes END "
        "WHERE excluded.run_started_at >= known.run_started_at",
        whole, atLeast);
  }();
  return sql;
}

} // namespace

RunIngest::RunIngest(Database &db, TestKeys &tests, RunKey run)
    : db(db), tests(tests), run(std::move(run)) {
  {
    Query last = db.query("SELECT coalesce(max(outcome_id), 0) FROM outcomes");
    last.next();
    lastBefore = last.integer();
  }
  Query query = db.query("SELECT test_id, shard, attempt, digest FROM outcomes WHERE run_id = ?");
  for (query.with(this->run.id); query.next();) {
    int64_t test = query.integer();
    std::string shard = query.text();
    auto attempt = uint32_t(query.integer());
    present[test] = hashOf(shard, attempt, query.text());
  }
}

void RunIngest::add(std::span<const RecordColumns> records) {
  std::vector<int64_t> keys = tests.of(records);
  std::vector<size_t> meeting;
  bool isPostgres = db.kind() == Database::Kind::Postgres;
  CopyRows rows(kOutcomeColumns);
  for (size_t i = 0; i < records.size(); ++i) {
    const RecordColumns &r = records[i];
    size_t hash = hashOf(r.shard, r.attempt, r.digest);
    auto [found, isFirst] = present.try_emplace(keys[i], hash);
    if (!isFirst) {
      if (found->second == hash)
        ++sum.unchanged;
      else
        meeting.push_back(i);
      continue;
    }
    ++sum.added;
    ++counts[r.outcome];
    if (isPostgres)
      rows.row()
          .integer(run.id).integer(keys[i]).text(name(r.outcome)).text(name(r.lastStage))
          .text(r.testStatus).text(r.bringupStatus).real(r.startedAt).real(r.seconds)
          .integer(int64_t(r.peakMemoryBytes)).integer(r.flaky).maybe(r.pcc).maybe(r.maxAbsolute)
          .text(r.errorClass).text(r.message).text(r.digest).text(r.json).text(r.shard)
          .integer(r.attempt).text(r.reason);
    else
      insert(keys[i], r);
  }
  if (!rows.empty())
    db.copyIn("outcomes (" CUPEL_OUTCOME_COLUMNS ")", rows.finish());
  for (size_t i : meeting)
    settle(keys[i], records[i]);
}

void RunIngest::insert(int64_t test, const RecordColumns &r) {
  db.query("INSERT INTO outcomes (" CUPEL_OUTCOME_COLUMNS ") VALUES "
           "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
      .runWith(run.id, test, name(r.outcome), name(r.lastStage), r.testStatus, r.bringupStatus,
               r.startedAt, r.seconds, r.peakMemoryBytes, r.flaky, r.pcc, r.maxAbsolute,
               r.errorClass, r.message, r.digest, r.json, r.shard, r.attempt, r.reason);
}

void RunIngest::settle(int64_t test, const RecordColumns &record) {
  RecordColumns there;
  {
    Query query = db.query("SELECT shard, attempt, digest, outcome, started_at, seconds, record "
                           "FROM outcomes WHERE run_id = ? AND test_id = ?");
    if (!query.with(run.id, test).next())
      throw DatabaseError{db.name() + ": an outcome vanished while it was looked at"};
    there.shard = query.text();
    there.attempt = uint32_t(query.integer());
    there.digest = query.text();
    there.outcome = parseOutcome(query.text()).value_or(Outcome::NotRun);
    there.startedAt = query.real();
    there.seconds = query.real();
    there.json = query.text();
  }
  bool isSameKey = there.shard == record.shard && there.attempt == record.attempt;
  if ((isSameKey && there.digest == record.digest) || !countsBefore(record, there)) {
    if (isSameKey)
      ++sum.unchanged;
    else
      note(test, record);
    return;
  }
  db.query("DELETE FROM outcomes WHERE run_id = ? AND test_id = ?").with(run.id, test).run();
  insert(test, record);
  present[test] = hashOf(record.shard, record.attempt, record.digest);
  --counts[there.outcome];
  ++counts[record.outcome];
  ++sum.replaced;
  if (!isSameKey)
    note(test, there);
}

/// Only what had its whole turn is worth remembering beside the outcome that counts.
void RunIngest::note(int64_t test, const RecordColumns &r) {
  if (!r.isFinal())
    return;
  db.query("INSERT INTO reruns (run_id, test_id, shard, attempt, outcome, digest, record) VALUES "
           "(?, ?, ?, ?, ?, ?, ?) ON CONFLICT (run_id, test_id, shard, attempt) DO NOTHING")
      .with(run.id, test, r.shard, r.attempt, name(r.outcome), r.digest, r.json)
      .run();
}

void RunIngest::learn() {
  // A replaced outcome may have got the number of the one before it: then all of the run teach again.
  db.query(learnStatement().c_str())
      .with(run.arch, run.device, run.startedAt, run.id, sum.replaced ? int64_t(0) : lastBefore)
      .run();
}

Ingested RunIngest::finish() {
  if (sum.added || sum.replaced)
    learn();
  for (const auto &[outcome, tests] : counts)
    db.query("INSERT INTO counts (run_id, outcome, tests) VALUES (?, ?, ?) "
             "ON CONFLICT (run_id, outcome) DO UPDATE SET tests = counts.tests + excluded.tests")
        .with(run.id, name(outcome), tests)
        .run();
  return sum;
}

} // namespace cupel::results
