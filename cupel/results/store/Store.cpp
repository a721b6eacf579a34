#include "cupel/results/store/Store.h"

#include "cupel/results/RecordJson.h"
#include "cupel/results/store/Journal.h"
#include "cupel/results/store/Schema.h"
#include "cupel/results/store/StoreImpl.h"
#include "cupel/support/Sha256.h"

#include <chrono>
#include <cmath>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <unordered_map>

namespace cupel::results {

namespace fs = std::filesystem;

namespace {

double now() {
  using namespace std::chrono;
  return duration<double>(system_clock::now().time_since_epoch()).count();
}

Error keptInJournal(const std::string &message) {
  return {message + "; the journal keeps every outcome, and the next `cupel show` or `cupel run` "
                    "imports what is missing here"};
}

} // namespace

std::string newRunId(double seconds) {
  double whole = std::floor(seconds);
  auto fraction = unsigned((seconds - whole) * 65536) & 0xffff;
  std::time_t time = std::time_t(whole);
  std::tm utc{};
  ::gmtime_r(&time, &utc);
  char text[64];
  size_t size = std::strftime(text, sizeof text, "%Y%m%d-%H%M%S", &utc);
  std::snprintf(text + size, sizeof text - size, "-%04x", fraction);
  return text;
}

std::optional<double> worstPcc(const TestRecord &record) {
  std::optional<double> worst;
  for (const ComparisonRecord &comparison : record.comparisons)
    if (comparison.pcc && (!worst || std::isnan(*comparison.pcc) || *comparison.pcc < *worst))
      worst = comparison.pcc;
  return worst;
}

std::optional<double> largestAbsolute(const TestRecord &record) {
  std::optional<double> largest;
  for (const ComparisonRecord &comparison : record.comparisons)
    if (comparison.maxAbsolute &&
        (!largest || std::isnan(*comparison.maxAbsolute) || *comparison.maxAbsolute > *largest))
      largest = comparison.maxAbsolute;
  return largest;
}

Store::Store(std::unique_ptr<Impl> impl) : impl(std::move(impl)) {}
Store::Store(Store &&) noexcept = default;
Store &Store::operator=(Store &&) noexcept = default;
Store::~Store() = default;

Result<Store> Store::open(const std::string &folder, Access access) {
  bool readOnly = access == Access::ReadOnly;
  std::error_code error;
  if (readOnly) {
    if (!fs::exists(folder + "/results.sqlite", error))
      return Error{folder + ": no results store there; `cupel run` makes one, --results DIR names "
                            "another"};
  } else {
    fs::create_directories(folder + "/journals", error);
    if (!error)
      fs::create_directories(folder + "/artifacts", error);
    if (error)
      return Error{folder + ": cannot make the results store: " + error.message()};
  }
  return guarded([&]() -> Result<Store> {
    auto impl = std::make_unique<Impl>(folder, readOnly, /*create=*/!readOnly);
    if (readOnly) {
      if (int64_t found = impl->db.userVersion(); found != currentSchema())
        return Error{impl->db.path() + ": has schema version " + std::to_string(found) +
                     ", this Cupel reads " + std::to_string(currentSchema()) +
                     (found < currentSchema() ? "; it is brought up to date once it can be written"
                                              : "; update Cupel")};
    } else {
      migrate(impl->db);
    }
    return Store(std::move(impl));
  });
}

const std::string &Store::folder() const { return impl->folder; }

std::string Store::journalPath(std::string_view run) const {
  return impl->folder + "/journals/" + std::string(run) + ".jsonl";
}

int64_t Store::Impl::runKey(std::string_view id) {
  Query query = db.query("SELECT run_id FROM runs WHERE id = ?");
  if (!query.with(id).next())
    throw DatabaseError{folder + ": no run '" + std::string(id) + "'"};
  return query.integer();
}

int64_t Store::Impl::testKey(const TestRecord &r) {
  {
    Query query = db.query("SELECT test_id FROM tests WHERE suite = ? AND id = ?");
    if (query.with(r.suite, r.id).next())
      return query.integer();
  }
  db.query("INSERT INTO tests (suite, id, file, framework, model_path, variant, parallelism, "
           "run_mode, model_name, model_group) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
      .with(r.suite, r.id, r.file, r.framework, r.modelPath, r.variant, r.parallelism, r.runMode,
            r.modelName, r.group)
      .run();
  return db.lastRowId();
}

Store::Impl::Put Store::Impl::put(int64_t run, const TestRecord &r) {
  int64_t test = testKey(r);
  std::string digest = sha256(toJson(r)).substr(0, 16);
  Put result = Put::Added;
  {
    Query query = db.query("SELECT digest FROM outcomes WHERE run_id = ? AND test_id = ?");
    if (query.with(run, test).next()) {
      if (query.text() == digest)
        return Put::Unchanged;
      result = Put::Replaced;
    }
  }
  if (result == Put::Replaced)
    db.query("DELETE FROM outcomes WHERE run_id = ? AND test_id = ?").with(run, test).run();

  TestRecord rest = r;
  rest.stages.clear();
  rest.comparisons.clear();
  rest.reasons.clear();
  rest.artifacts.clear();
  db.query("INSERT INTO outcomes (run_id, test_id, outcome, last_stage, test_status, "
           "bringup_status, started_at, seconds, peak_memory_bytes, flaky, pcc, max_absolute, "
           "error_class, message, digest, record) "
           "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
      .with(run, test, name(r.outcome), name(r.lastStage), r.testStatus, r.bringupStatus,
            r.startedAt, r.seconds, r.peakMemoryBytes, r.flaky, worstPcc(r), largestAbsolute(r),
            r.errorClass, r.message, digest, toJson(rest))
      .run();
  int64_t outcome = db.lastRowId();
  int64_t position = 0;
  for (const StageTime &s : r.stages)
    db.query("INSERT INTO stages VALUES (?, ?, ?, ?)")
        .with(outcome, position++, name(s.stage), s.seconds)
        .run();
  position = 0;
  for (const ComparisonRecord &c : r.comparisons)
    db.query("INSERT INTO comparisons VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
             "?, ?, ?, ?)")
        .with(outcome, position++, c.output, c.passed, c.pcc, c.maxAbsolute, c.maxRelative,
              c.relativeL2, c.pccThreshold, c.atolThreshold, c.rtolThreshold, c.pccAsserted,
              c.atolAsserted, c.allcloseAsserted, c.sentence, c.rule,
              c.strictPassed ? std::optional<double>(*c.strictPassed) : std::nullopt,
              c.strictSentence, c.precision, c.noise, c.worstInNoise, c.wholeInNoise)
        .run();
  position = 0;
  for (const ReasonRecord &reason : r.reasons)
    db.query("INSERT INTO reasons VALUES (?, ?, ?, ?, ?, ?)")
        .with(outcome, position++, reason.name, reason.description, reason.component,
              reason.summary)
        .run();
  position = 0;
  for (const ArtifactRecord &a : r.artifacts)
    db.query("INSERT INTO artifacts VALUES (?, ?, ?, ?, ?)")
        .with(outcome, position++, a.name, a.sha256, a.bytes)
        .run();

  // A test that came to its end says how long it takes; one that timed out, how long at least.
  // Memory is learned from what ran at all. An older run imported late teaches nothing new.
  bool complete = ranThrough(r.outcome);
  bool atLeast = familyOf(r.outcome) == Family::Limit;
  db.query(R"sql(
    INSERT INTO known SELECT ?1, arch, device, run_id, ?3, ?4, ?5 FROM runs WHERE run_id = ?2
    ON CONFLICT DO UPDATE SET run_id = excluded.run_id, outcome = excluded.outcome,
      seconds = CASE WHEN ?6 THEN excluded.seconds
                     WHEN ?7 THEN max(seconds, excluded.seconds) ELSE seconds END,
      peak_memory_bytes = CASE WHEN ?6 AND excluded.peak_memory_bytes > 0
                                 THEN excluded.peak_memory_bytes
                               ELSE max(peak_memory_bytes, excluded.peak_memory_bytes) END
    WHERE (SELECT started_at FROM runs WHERE run_id = excluded.run_id) >=
          (SELECT started_at FROM runs WHERE run_id = known.run_id))sql")
      .with(test, run, name(r.outcome), complete || atLeast ? r.seconds : 0.0, r.peakMemoryBytes,
            complete, atLeast)
      .run();
  return result;
}

void Store::Impl::putRun(const RunInfo &run) {
  db.query("INSERT INTO runs (id, started_at, ended_at, command_line, arch, device, plugin, "
           "selected, exit_code) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) "
           "ON CONFLICT (id) DO UPDATE SET ended_at = max(ended_at, excluded.ended_at), "
           "command_line = excluded.command_line, arch = excluded.arch, device = excluded.device, "
           "plugin = excluded.plugin, selected = excluded.selected, "
           "exit_code = CASE WHEN excluded.ended_at >= ended_at THEN excluded.exit_code ELSE "
           "exit_code END")
      .with(run.id, run.startedAt, run.endedAt,
            nlohmann::json(run.commandLine)
                .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace),
            run.arch, run.device, run.plugin, run.selected, run.exitCode)
      .run();
  int64_t key = runKey(run.id);
  for (const auto &[name, value] : run.environment)
    db.query("INSERT OR REPLACE INTO environment VALUES (?, ?, ?)").with(key, name, value).run();
}

void Store::Impl::markImported(const std::string &name, uint64_t bytes) {
  db.query("INSERT OR REPLACE INTO journals VALUES (?, ?)").with(name, bytes).run();
}

Status Store::beginRun(RunInfo &run) {
  Status status = guarded([&]() -> Status {
    if (run.startedAt == 0)
      run.startedAt = now();
    Transaction transaction(impl->db);
    for (double step = 0; run.id.empty(); step += 1) {
      // Another run began in the same instant: the next one is ours.
      std::string id = newRunId(run.startedAt + step / 65536);
      if (!impl->db.query("SELECT 1 FROM runs WHERE id = ?").with(id).next())
        run.id = id;
    }
    impl->putRun(run);
    transaction.commit();
    return {};
  });
  if (!status && run.id.empty())
    run.id = newRunId(run.startedAt); // A run goes on without its store, under this name.
  return status;
}

Status Store::add(std::string_view run, std::span<const TestRecord> records) {
  Status status = guarded([&]() -> Status {
    Transaction transaction(impl->db);
    int64_t key = impl->runKey(run);
    for (const TestRecord &record : records)
      impl->put(key, record);
    transaction.commit();
    return {};
  });
  return status ? Status() : Status(keptInJournal(status.message()));
}

Status Store::endRun(const RunInfo &run) {
  Status status = guarded([&]() -> Status {
    Transaction transaction(impl->db);
    impl->putRun(run);
    // All of it is here: nobody has to read the journal again.
    Query count = impl->db.query("SELECT count(*) FROM outcomes WHERE run_id = ?");
    count.with(impl->runKey(run.id)).next();
    std::error_code error;
    uint64_t bytes = fs::file_size(journalPath(run.id), error);
    if (!error && count.integer() >= run.selected)
      impl->markImported(run.id + ".jsonl", bytes);
    transaction.commit();
    return {};
  });
  return status ? Status() : Status(keptInJournal(status.message()));
}

Result<ImportSummary> Store::importJournal(const std::string &path) {
  ImportSummary summary;
  // A test may have several lines, of which the last counts. Find those first, so that what is in
  // the store already is never replaced by something older.
  std::unordered_map<std::string, uint64_t> lastLine;
  std::optional<RunInfo> run;
  uint64_t line = 0;
  JournalReader first;
  first.onRun = [&](RunInfo info) {
    // The first line says when it began; later ones, how it went on.
    if (run)
      info.startedAt = run->startedAt;
    run = std::move(info);
  };
  first.onTest = [&](TestRecord record) { lastLine[record.fullName()] = line++; };
  first.onDamage = [&](uint64_t, std::string message) {
    if (summary.damaged++ == 0)
      summary.firstDamage = std::move(message);
  };
  Result<uint64_t> bytes = readJournal(path, first);
  if (!bytes)
    return bytes.error();
  if (!run)
    return Error{path + ": no line that says which run it is of; not a journal of `cupel run`?"};
  summary.run = run->id;

  return guarded([&]() -> Result<ImportSummary> {
    Transaction transaction(impl->db);
    impl->putRun(*run);
    int64_t key = impl->runKey(run->id);
    line = 0;
    JournalReader second;
    second.onTest = [&](TestRecord record) {
      uint64_t number = line++;
      // Lines that were added since the first reading wait for the next import.
      if (auto found = lastLine.find(record.fullName());
          found == lastLine.end() || found->second != number)
        return;
      switch (impl->put(key, record)) {
      case Impl::Put::Added:
        ++summary.added;
        break;
      case Impl::Put::Replaced:
        ++summary.replaced;
        break;
      case Impl::Put::Unchanged:
        ++summary.unchanged;
        break;
      }
    };
    if (Result<uint64_t> again = readJournal(path, second); !again)
      return again.error();
    impl->markImported(fs::path(path).filename(), *bytes);
    transaction.commit();
    return summary;
  });
}

Result<std::vector<ImportSummary>> Store::importPending() {
  return guarded([&]() -> Result<std::vector<ImportSummary>> {
    std::unordered_map<std::string, uint64_t> imported;
    {
      Query query = impl->db.query("SELECT name, bytes FROM journals");
      while (query.next()) {
        std::string name = query.text();
        imported[name] = uint64_t(query.integer());
      }
    }
    std::vector<std::string> paths;
    std::error_code error;
    for (const fs::directory_entry &entry :
         fs::directory_iterator(impl->folder + "/journals", error)) {
      std::error_code ignored;
      uint64_t size = entry.file_size(ignored);
      if (ignored || entry.path().extension() != ".jsonl" || size == 0)
        continue;
      if (auto found = imported.find(entry.path().filename());
          found == imported.end() || found->second != size)
        paths.push_back(entry.path());
    }
    std::sort(paths.begin(), paths.end());
    std::vector<ImportSummary> summaries;
    for (const std::string &path : paths) {
      Result<ImportSummary> summary = importJournal(path);
      if (!summary) {
        // One that is being born, or is no journal, must not hide the others.
        ImportSummary damaged;
        damaged.damaged = 1;
        damaged.firstDamage = summary.message();
        summaries.push_back(damaged);
        continue;
      }
      if (summary->added || summary->replaced || summary->damaged)
        summaries.push_back(*summary);
    }
    return summaries;
  });
}

} // namespace cupel::results
