// Keeping a store in order: what is too old goes, a run leaves as a journal, and everything is looked
// at once to see whether it fits together.

#include "cupel/results/RecordJson.h"
#include "cupel/results/store/StoreImpl.h"

#include <chrono>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <ostream>

namespace cupel::results {

namespace fs = std::filesystem;

namespace {

#define CUPEL_ORPHANS(table)                                                                       \
  {table, "SELECT 1 FROM " table " x WHERE NOT EXISTS (SELECT 1 FROM runs r WHERE r.run_id = "     \
          "x.run_id) OR NOT EXISTS (SELECT 1 FROM tests t WHERE t.test_id = x.test_id) LIMIT 1"}

struct Orphans {
  const char *table, *question;
};
/// Rows whose run or test is not there, where the database does not see to it by itself.
constexpr Orphans kOrphans[] = {CUPEL_ORPHANS("outcomes"), CUPEL_ORPHANS("known"),
                                CUPEL_ORPHANS("reruns")};

} // namespace

double Store::Impl::prunedAt(int64_t run) {
  Query query = db.query("SELECT pruned_at FROM runs WHERE run_id = ?");
  query.with(run).next();
  return query.real();
}

Result<double> Store::prunedAt(std::string_view run) {
  return guarded([&]() -> Result<double> { return impl->prunedAt(impl->runKey(run).id); });
}

Result<PruneSummary> Store::prune(double before) {
  return guarded([&]() -> Result<PruneSummary> {
    using namespace std::chrono;
    double now = duration<double>(system_clock::now().time_since_epoch()).count();
    PruneSummary summary;
    {
      Transaction transaction(impl->db);
      impl->lockIngest();
      std::vector<int64_t> keys;
      {
        Query query = impl->db.query("SELECT run_id, id FROM runs WHERE started_at < ? AND "
                                     "pruned_at = 0 ORDER BY started_at, id");
        for (query.with(before); query.next();) {
          keys.push_back(query.integer());
          summary.runs.push_back(query.text());
        }
      }
      for (int64_t key : keys) {
        impl->db.query("DELETE FROM outcomes WHERE run_id = ?").with(key).run();
        summary.outcomes += uint64_t(impl->db.changes());
        impl->db.query("DELETE FROM reruns WHERE run_id = ?").with(key).run();
        impl->db.query("UPDATE runs SET pruned_at = ? WHERE run_id = ?").with(now, key).run();
      }
      transaction.commit();
    }
    // A file gives its room back only when asked; a server does by itself.
    if (!summary.runs.empty() && impl->db.kind() == Database::Kind::Sqlite)
      impl->db.execute("VACUUM");
    return summary;
  });
}

Status Store::exportRun(std::string_view id, std::ostream &out) {
  Result<RunInfo> info = run(id);
  if (!info)
    return info.error();
  return guarded([&]() -> Status {
    ReadTransaction snapshot(impl->db);
    int64_t key = impl->runKey(id).id;
    RunInfo begun = *info;
    begun.endedAt = 0;
    begun.exitCode = -1;
    out << "{\"cupel_journal\":1,\"run\":" << toJson(begun) << "}\n";
    auto write = [&](Query &query) {
      while (query.next()) {
        std::string shard = query.text();
        int64_t attempt = query.integer();
        if (!shard.empty() || attempt != 1)
          out << nlohmann::json({{"key", {{"shard", shard}, {"attempt", attempt}}}}).dump() << "\n";
        out << "{\"record\":" << query.text() << "}\n";
      }
    };
    {
      Query query = impl->db.query("SELECT o.shard, o.attempt, o.record FROM outcomes o JOIN tests "
                                   "t USING (test_id) WHERE o.run_id = ? ORDER BY t.suite, t.id",
                                   Database::Rows::Streamed);
      query.with(key);
      write(query);
    }
    {
      Query query = impl->db.query("SELECT shard, attempt, record FROM reruns WHERE run_id = ? "
                                   "ORDER BY test_id, shard, attempt",
                                   Database::Rows::Streamed);
      query.with(key);
      write(query);
    }
    if (info->endedAt > 0)
      out << "{\"end\":" << toJson(*info) << "}\n";
    out.flush();
    return out ? Status() : Status(Error{"the journal could not be written; is the disk full?"});
  });
}

Result<CheckSummary> Store::check() {
  return guarded([&]() -> Result<CheckSummary> {
    CheckSummary summary;
    auto problem = [&](std::string text) {
      constexpr size_t kMost = 20;
      if (summary.problems.size() < kMost)
        summary.problems.push_back(std::move(text));
    };
    Database &db = impl->db;
    ReadTransaction snapshot(db);
    if (db.kind() == Database::Kind::Sqlite) {
      Query sound = db.query("PRAGMA integrity_check");
      if (sound.next())
        if (std::string said = sound.text(); said != "ok")
          problem(db.name() + ": damaged: " + said +
                  "; move it away, the journals beside it are imported into a new one");
      Query keys = db.query("PRAGMA foreign_key_check");
      if (keys.next())
        problem(db.name() + ": rows of table " + keys.text() + " belong to nothing");
    } else {
      for (const auto &[table, orphans] : kOrphans)
        if (Query query = db.query(orphans); query.next())
          problem(db.name() + ": rows of table " + table + " belong to nothing");
    }
    {
      Query count = db.query("SELECT count(*) FROM runs");
      count.next();
      summary.runs = uint64_t(count.integer());
    }
    {
      Query query = db.query(
          "SELECT r.id, c.outcome FROM counts c JOIN runs r USING (run_id) LEFT JOIN (SELECT "
          "run_id, outcome, count(*) AS tests FROM outcomes GROUP BY run_id, outcome) AS real "
          "ON real.run_id = c.run_id AND real.outcome = c.outcome WHERE r.pruned_at = 0 AND "
          "c.tests <> coalesce(real.tests, 0)");
      while (query.next()) {
        std::string run = query.text();
        problem("run " + run + ": the number of its tests that " + query.text() + " is wrong");
      }
    }
    Query query = db.query("SELECT r.id, t.suite, t.id, o.digest, o.record FROM outcomes o JOIN "
                           "tests t USING (test_id) JOIN runs r USING (run_id)",
                           Database::Rows::Streamed);
    while (query.next()) {
      ++summary.outcomes;
      std::string run = query.text(), name = query.text();
      name += "::" + query.text();
      std::string digest = query.text(), json = query.text();
      RecordColumns columns;
      if (Status status = readColumns(json, columns); !status || columns.digest != digest)
        problem(fmt::format("run {}: the record of {} is damaged; `cupel results ingest` of its "
                            "journal puts it right",
                            run, name));
      if (json.find("\"artifacts\":") == std::string::npos)
        continue;
      Result<TestRecord> record = testRecordFromJson(json);
      std::error_code error;
      for (size_t i = 0; record && i < record->artifacts.size(); ++i)
        if (const ArtifactRecord &artifact = record->artifacts[i];
            fs::file_size(artifactPath(artifact.sha256), error) != artifact.bytes || error)
          problem(fmt::format("run {}: {} of {} is not in {}/artifacts", run, artifact.name, name,
                              impl->place.folder));
    }
    return summary;
  });
}

} // namespace cupel::results
