#include "cupel/testbench/session/RunGoingOn.h"

#include "cupel/testbench/slurm/RunFolder.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace cupel::testbench::session {

namespace fs = std::filesystem;

RunGoingOn::Folder::~Folder() {
  std::error_code ignored;
  fs::remove_all(path, ignored);
}

std::vector<std::string> RunGoingOn::namesIn(const std::string &results) {
  std::vector<std::string> names;
  for (const std::string &run : slurm::RunFolder::runsIn(results)) {
    std::error_code error;
    // Its own journal is what it ends with; the description, what it begins with.
    if (!fs::exists(results + "/journals/" + run + ".jsonl", error) &&
        fs::exists(slurm::RunFolder::of(results, run).path() + "/run.json", error))
      names.push_back(run);
  }
  return names;
}

Result<RunGoingOn> RunGoingOn::look(const std::string &results, const std::string &run) {
  slurm::RunFolder shared = slurm::RunFolder::of(results, run);
  Result<slurm::RunDescription> description = shared.read();
  if (!description)
    return description.error();
  RunGoingOn view;
  std::string pattern = fs::temp_directory_path() / "cupel-going-on-XXXXXX";
  if (!::mkdtemp(pattern.data()))
    return Error{pattern + ": cannot be made: " + std::strerror(errno)};
  view.folder = std::make_unique<Folder>(pattern);
  Result<results::Store> store = results::Store::open(results::StorePlace{pattern, ""});
  if (!store)
    return store.error();
  if (Status status = store->beginRun(description->run); !status)
    return status.error();
  for (const std::string &journal : shared.journalPaths()) {
    std::error_code error;
    // One whose first line is being written has nothing to say yet.
    if (fs::file_size(journal, error) > 0 && !error)
      (void)store->importJournal(journal);
  }
  view.seen = std::make_unique<results::Store>(std::move(*store));
  return view;
}

} // namespace cupel::testbench::session
