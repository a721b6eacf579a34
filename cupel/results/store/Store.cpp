#include "cupel/results/store/Store.h"

#include "cupel/results/RecordJson.h"
#include "cupel/results/store/Schema.h"
#include "cupel/results/store/StoreImpl.h"

#include <chrono>
#include <cmath>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

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

std::unique_ptr<Database> Store::Impl::openDatabase(const StorePlace &place, bool readOnly) {
  return place.database.empty()
             ? openSqlite(place.folder + "/results.sqlite", readOnly, /*create=*/!readOnly)
             : openPostgres(place.database, readOnly);
}

Result<Store> Store::open(const std::string &place, Access access) {
  return open(StorePlace::of(place, ".cupel/results"), access);
}

Result<Store> Store::open(const StorePlace &place, Access access) {
  bool readOnly = access == Access::ReadOnly;
  std::error_code error;
  if (!readOnly) {
    fs::create_directories(place.folder + "/journals", error);
    if (!error)
      fs::create_directories(place.folder + "/artifacts", error);
    if (error)
      return Error{place.folder + ": cannot make the results store: " + error.message()};
  } else if (place.database.empty() && !fs::exists(place.folder + "/results.sqlite", error)) {
    return Error{place.folder + ": no results store there; `cupel run` makes one, --results DIR "
                                "names another"};
  }
  return guarded([&]() -> Result<Store> {
    auto impl = std::make_unique<Impl>(place, readOnly);
    if (readOnly) {
      if (int64_t found = impl->db.schemaVersion(); found != currentSchema())
        return Error{impl->db.name() + ": has schema version " + std::to_string(found) +
                     ", this Cupel reads " + std::to_string(currentSchema()) +
                     (found < currentSchema() ? "; it is brought up to date once it can be written"
                                              : "; update Cupel")};
    } else {
      migrate(impl->db);
    }
    return Store(std::move(impl));
  });
}

const std::string &Store::folder() const { return impl->place.folder; }
const std::string &Store::where() const { return impl->where(); }

std::string Store::journalPath(std::string_view run) const {
  return impl->place.folder + "/journals/" + std::string(run) + ".jsonl";
}

RunKey Store::Impl::runKey(std::string_view id) {
  Query query = db.query("SELECT run_id, arch, device, started_at FROM runs WHERE id = ?");
  if (!query.with(id).next())
    throw DatabaseError{where() + ": no run '" + std::string(id) + "'"};
  RunKey key;
  key.id = query.integer();
  key.arch = query.text();
  key.device = query.text();
  key.startedAt = query.real();
  return key;
}

void Store::Impl::putRun(const RunInfo &run) {
  const char *statement =
      run.shard.empty()
          ? "INSERT INTO runs (id, started_at, ended_at, command_line, arch, device, plugin, "
            "selected, exit_code) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) "
            "ON CONFLICT (id) DO UPDATE SET "
            "ended_at = CASE WHEN excluded.ended_at > runs.ended_at THEN excluded.ended_at "
            "ELSE runs.ended_at END, "
            "command_line = excluded.command_line, arch = excluded.arch, "
            "device = excluded.device, plugin = excluded.plugin, selected = excluded.selected, "
            "exit_code = CASE WHEN excluded.ended_at >= runs.ended_at THEN excluded.exit_code "
            "ELSE runs.exit_code END"
          : "INSERT INTO runs (id, started_at, ended_at, command_line, arch, device, plugin, "
            "selected, exit_code) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING";
  db.query(statement)
      .with(run.id, run.startedAt, run.shard.empty() ? run.endedAt : 0.0,
            nlohmann::json(run.commandLine)
                .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace),
            run.arch, run.device, run.plugin, run.selected, run.shard.empty() ? run.exitCode : -1)
      .run();
  if (!run.shard.empty())
    return;
  RunKey key = runKey(run.id);
  for (const auto &[name, value] : run.environment)
    db.query("INSERT INTO environment (run_id, name, value) VALUES (?, ?, ?) "
             "ON CONFLICT (run_id, name) DO UPDATE SET value = excluded.value")
        .with(key.id, name, value)
        .run();
}

void Store::Impl::markImported(const std::string &name, uint64_t bytes) {
  db.query("INSERT INTO journals (name, bytes) VALUES (?, ?) "
           "ON CONFLICT (name) DO UPDATE SET bytes = excluded.bytes")
      .with(name, bytes)
      .run();
}

Status Store::beginRun(RunInfo &run) {
  Status status = guarded([&]() -> Status {
    if (run.startedAt == 0)
      run.startedAt = now();
    Transaction transaction(impl->db);
    impl->db.lock("runs");
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
    std::vector<RecordColumns> columns(records.size());
    for (size_t i = 0; i < records.size(); ++i)
      if (Status read = readColumns(toJson(records[i]), columns[i]); !read)
        return read;
    Transaction transaction(impl->db);
    impl->lockIngest();
    RunIngest ingest(impl->db, impl->tests, impl->runKey(run));
    ingest.add(columns);
    ingest.finish();
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
    Query count = impl->db.query("SELECT coalesce(sum(tests), 0) FROM counts WHERE run_id = ?");
    count.with(impl->runKey(run.id).id).next();
    std::error_code error;
    uint64_t bytes = fs::file_size(journalPath(run.id), error);
    if (!error && count.integer() >= run.selected)
      impl->markImported(run.id + ".jsonl", bytes);
    transaction.commit();
    return {};
  });
  return status ? Status() : Status(keptInJournal(status.message()));
}

} // namespace cupel::results
