#include "cupel/testbench/session/Conclude.h"

#include "cupel/results/store/Journal.h"

#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <unistd.h>

namespace cupel::testbench::session {

namespace fs = std::filesystem;

Result<Conclusion> conclude(const ConcludeRequest &request) {
  const slurm::RunDescription &description = request.description;
  results::MergeRequest merge;
  merge.run = description.run.id;
  merge.info = description.run;
  merge.journals = request.folder.journalPaths();
  merge.lostClass = request.lostClass;
  merge.lostMessage = request.lostMessage;
  merge.exitCode = request.exitCode;
  results::MergeJob &job = merge.jobs.emplace_back();
  job.name = "its task of Slurm";
  for (const scale::PlannedTest &test : description.tests)
    job.tests.push_back(test.name);
  Conclusion conclusion;
  conclusion.journal = request.results + "/journals/" + description.run.id + ".jsonl";
  // Named by its process: two may do this at the same time.
  std::string draft = fmt::format("{}.{}.part", conclusion.journal, ::getpid());
  std::error_code error;
  {
    std::ofstream out(draft);
    Result<results::MergeSummary> merged = results::mergeJournals(merge, out);
    if (!merged) {
      out.close();
      fs::remove(draft, error);
      return merged.error();
    }
    conclusion.summary = std::move(*merged);
  }
  results::JournalReader reader;
  reader.onTest = [&](results::TestRecord record) { conclusion.records.push_back(std::move(record)); };
  Result<uint64_t> read = results::readJournal(draft, reader);
  bool isWhole = read && conclusion.records.size() == description.tests.size();
  if (isWhole)
    fs::rename(draft, conclusion.journal, error);
  if (!isWhole || error) {
    fs::remove(draft, error);
    return Error{conclusion.journal + ": the run's journal could not be written; is the disk full?"};
  }
  return conclusion;
}

} // namespace cupel::testbench::session
