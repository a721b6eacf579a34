#include "cupel/testbench/runner/KilledRuns.h"

#include "cupel/testbench/runner/Journal.h"
#include "cupel/testbench/runner/JournalReader.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace cupel::testbench::runner {

namespace {

namespace fs = std::filesystem;
using results::Outcome;
using results::TestRecord;

/// Whether the last line says that the run ended. Journals are long, so only their end is read.
bool saysEnded(const std::string &path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  std::streamoff size = file.tellg();
  std::streamoff length = std::min<std::streamoff>(size, 64 << 10);
  std::string tail(size_t(std::max<std::streamoff>(length, 0)), '\0');
  file.seekg(size - length);
  if (length <= 0 || !file.read(tail.data(), length) || tail.back() != '\n')
    return false;
  size_t begin = tail.size() < 2 ? std::string::npos : tail.rfind('\n', tail.size() - 2);
  return std::string_view(tail)
      .substr(begin == std::string::npos ? 0 : begin + 1)
      .starts_with("{\"end\":");
}

} // namespace

std::vector<KilledRun> closeKilledRuns(const std::string &folder) {
  std::vector<KilledRun> closed;
  std::vector<std::string> paths;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    if (it->path().extension() == ".jsonl" && !saysEnded(it->path()))
      paths.push_back(it->path());
  std::ranges::sort(paths);
  for (const std::string &path : paths) {
    // Locked before it is read: nobody may resume it meanwhile.
    Result<std::unique_ptr<Journal>> journal = Journal::reopen(path);
    Result<JournalContents> contents = readJournal(path);
    if (!journal || !contents || contents->ended || !contents->selectionComplete)
      continue;
    if (!(*journal)->cutAt(contents->validBytes))
      continue;
    KilledRun run{contents->run.id};
    for (const std::string &name : contents->selection) {
      if (contents->records.contains(name))
        continue;
      TestRecord record;
      size_t colons = name.find("::");
      record.suite = name.substr(0, colons);
      record.id = colons == std::string::npos ? "" : name.substr(colons + 2);
      bool wasRunning = contents->killedWhileRunning.contains(name);
      record.outcome = wasRunning ? Outcome::Interrupted : Outcome::NotRun;
      record.errorClass = kInterrupted;
      record.message =
          wasRunning ? "was running when the run was killed" : "the run was killed before it began";
      ++(wasRunning ? run.interrupted : run.notRun);
      (*journal)->record(record);
    }
    // It ended when it was last heard of.
    contents->run.endedAt = contents->run.startedAt;
    for (const auto &[name, record] : contents->records)
      contents->run.endedAt = std::max(contents->run.endedAt, record.startedAt + record.seconds);
    contents->run.exitCode = kExitUnaccounted;
    (*journal)->ended(contents->run);
    if ((*journal)->flush())
      closed.push_back(std::move(run));
  }
  return closed;
}

} // namespace cupel::testbench::runner
