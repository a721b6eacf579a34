// What tasks on other machines wrote since one last looked: new whole lines of their journals and
// notes. Used by whoever follows a run and by tasks that take over from dead ones. Reads; a line that
// is not finished yet is read when it is.
#pragma once

#include "cupel/results/Record.h"
#include "cupel/testbench/slurm/RunFolder.h"

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace cupel::testbench::session {

class JournalTails {
public:
  explicit JournalTails(slurm::RunFolder folder) : folder(std::move(folder)) {}

  std::function<void(const std::string &fullName)> onStart;
  std::function<void(const results::TestRecord &)> onRecord;
  std::function<void(const std::string &task, const std::string &line)> onNote;

  void read();

  /// Tests that began in a journal and have no record in it, and in how many.
  std::unordered_map<std::string, uint32_t> unfinished() const;

private:
  void readNew(const std::string &path, const std::function<void(const std::string &)> &line);

  slurm::RunFolder folder;
  std::map<std::string, uint64_t> offsets; ///< By path.
  std::map<std::string, std::set<std::string>> running; ///< By journal.
};

} // namespace cupel::testbench::session
