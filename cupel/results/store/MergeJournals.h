// One run out of the journals of many jobs: what `cupel results merge` does with what a CI uploaded.
// Every test that a job was to run has exactly one outcome in the merged journal: the one that
// counts of those there are, and `not run: job died` where no journal has any. Several journals of
// one job (tried again) and journals that were cut off are fine. It reads journals and writes one;
// stores are not its matter.
#pragma once

#include "cupel/results/Record.h"
#include "cupel/support/Error.h"

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

namespace cupel::results {

/// What a job was to run, where somebody wrote that down.
struct MergeJob {
  std::string name;
  std::vector<std::string> tests; ///< Full names.
};

struct MergeSummary;

struct MergeRequest {
  std::string run; ///< The id of the merged run; empty: that of the first journal.
  std::vector<std::string> journals;
  std::vector<MergeJob> jobs; ///< Besides what journals say that they selected.
  /// The run as it began, where journals are those of its tasks and not runs of their own.
  std::optional<RunInfo> info = {};
  /// Error class and message of tests without an outcome; empty: that their job died.
  std::string lostClass = {}, lostMessage = {};
  /// The run's exit code; without it 1 where an outcome is bad, else 0.
  std::function<int(const MergeSummary &)> exitCode = {};
};

struct MergeSummary {
  RunInfo run;
  uint64_t journals = 0, damaged = 0;
  uint64_t ranTwice = 0;             ///< Tests with more than one whole outcome.
  std::vector<std::string> conflicts; ///< Those whose outcomes differ.
  std::vector<std::string> open;     ///< Tests without a result, which should run again.
  bool isAnyBad = false, isAnyJudged = false, isAnyUnjudged = false;
};

/// Writes the merged journal; an error where a journal cannot be read or is none.
Result<MergeSummary> mergeJournals(const MergeRequest &request, std::ostream &out);

} // namespace cupel::results
