// Reads a journal back: which run it is, what was selected, and the one outcome of each test that
// has one. Used by `cupel run --resume` and by whoever shows a run that did not end. A last line
// that was cut off does not count; damaged lines elsewhere are skipped and told.
#pragma once

#include "cupel/results/Record.h"
#include "cupel/support/Error.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace cupel::testbench::runner {

/// Error classes of tests that have no result for reasons outside them.
inline constexpr std::string_view kInterrupted = "interrupted"; ///< By a signal.
inline constexpr std::string_view kBadDevice = "bad_device";
/// It was running every time the run was killed; nobody tries it once more.
inline constexpr std::string_view kKilledRunner = "killed_runner";
inline constexpr uint32_t kMostKills = 3;

struct JournalContents {
  results::RunInfo run;               ///< As it began, or as it ended.
  std::vector<std::string> selection; ///< Full names, in order.
  bool selectionComplete = false;     ///< False: it was killed before it had begun.
  /// By full name. An outcome is final, except that a test which was interrupted or not run may
  /// get another one when the run goes on.
  std::unordered_map<std::string, results::TestRecord> records;
  /// How often a test was running when the run was killed.
  std::unordered_map<std::string, uint32_t> killedWhileRunning;
  uint32_t doubled = 0; ///< Outcomes for tests that had a final one: never happens.
  uint32_t damaged = 0; ///< Lines that are not what a journal holds.
  bool ended = false;
  uint64_t validBytes = 0; ///< Up to the end of the last whole line.

  /// Whether a record is kept when the run goes on.
  static bool isFinal(const results::TestRecord &record);
  /// Whether something is left to do.
  bool canResume() const;
};

Result<JournalContents> readJournal(const std::string &path);

} // namespace cupel::testbench::runner
