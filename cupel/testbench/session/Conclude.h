// The end of a run on many machines: the journals of its tasks become the one journal of the run,
// with one outcome for every test, beside those of other runs. Whoever follows the run does it, and
// where nobody does, the task that ends last; doing it twice is no harm.
#pragma once

#include "cupel/results/store/MergeJournals.h"
#include "cupel/testbench/slurm/RunFolder.h"

#include <functional>
#include <string>
#include <vector>

namespace cupel::testbench::session {

struct ConcludeRequest {
  const slurm::RunFolder &folder;
  const slurm::RunDescription &description;
  std::string results; ///< Folder of the results.
  std::string lostClass = {}, lostMessage = {}; ///< As of MergeRequest.
  std::function<int(const results::MergeSummary &)> exitCode = {};
};

struct Conclusion {
  results::MergeSummary summary;
  std::string journal; ///< Its path.
  std::vector<results::TestRecord> records;
};

Result<Conclusion> conclude(const ConcludeRequest &request);

} // namespace cupel::testbench::session
