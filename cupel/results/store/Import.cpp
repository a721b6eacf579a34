// Journals into the store: one, or all that have grown since they were last imported.

#include "cupel/results/store/Ingest.h"
#include "cupel/results/store/Journal.h"
#include "cupel/results/store/JournalBatches.h"
#include "cupel/results/store/StoreImpl.h"

#include <algorithm>
#include <filesystem>
#include <unordered_map>

namespace cupel::results {

namespace fs = std::filesystem;

namespace {

/// Which run it is of may stand anywhere; lines are found quickly where nobody looks into records.
Result<RunInfo> runOf(const std::string &path) {
  std::optional<RunInfo> run;
  JournalReader headers;
  headers.onRun = [&](RunInfo info) {
    // The first line says when it began; later ones, how it went on.
    if (run)
      info.startedAt = run->startedAt;
    run = std::move(info);
  };
  headers.onRecord = [](std::string_view) { return Status(); };
  if (Result<uint64_t> read = readJournal(path, headers); !read)
    return read.error();
  if (!run)
    return Error{path + ": no line that says which run it is of; not a journal of `cupel run`?"};
  return std::move(*run);
}

} // namespace

Result<ImportSummary> Store::importJournal(const std::string &path) {
  Result<RunInfo> run = runOf(path);
  if (!run)
    return run.error();
  ImportSummary summary;
  summary.run = run->id;
  return guarded([&]() -> Result<ImportSummary> {
    JournalBatches batches(path, run->shard);
    Transaction transaction(impl->db);
    impl->lockIngest();
    impl->putRun(*run);
    RunKey key = impl->runKey(run->id);
    bool isPruned = impl->prunedAt(key.id) != 0;
    RunIngest ingest(impl->db, impl->tests, key);
    for (auto batch = batches.next(); !batch.empty(); batch = batches.next())
      if (!isPruned)
        ingest.add(batch);
    if (!batches.bytes())
      return batches.bytes().error();
    Ingested sum = ingest.finish();
    impl->markImported(run->shard.empty() ? fs::path(path).filename().string()
                                          : run->id + "/" + run->shard,
                       *batches.bytes());
    transaction.commit();
    summary.damaged = batches.damaged;
    summary.firstDamage = batches.firstDamage;
    summary.added = sum.added;
    summary.replaced = sum.replaced;
    // Tests that have several lines here count once.
    uint64_t tests = isPruned ? 0 : batches.tests;
    summary.unchanged = tests - std::min(tests, sum.added + sum.replaced);
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
         fs::directory_iterator(impl->place.folder + "/journals", error)) {
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
