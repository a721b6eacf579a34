// Reading a run's journal, the one thing that survives whatever happens to a run, into the store.
// The runner (cupel/testbench/runner) appends and syncs its lines, each one JSON object:
//   {"cupel_journal":1,"run":RunInfo}   first
//   {"record":TestRecord}               an outcome; a later one of the same test replaces it
//   {"key":{"attempt":N,"shard":TEXT}}  of an exported run: which record the next line holds
//   {"end":RunInfo}                     the run is over
//   anything else                       is the runner's own (selection, beginnings), skipped here
// A torn last line is what a killed process leaves; it is never an error.
#pragma once

#include "cupel/results/Record.h"
#include "cupel/support/Error.h"

#include <functional>
#include <string>
#include <string_view>

namespace cupel::results {

struct JournalReader {
  std::function<void(RunInfo)> onRun; ///< Begins, or is over.
  std::function<void(TestRecord)> onTest;
  /// Instead of onTest, the record as it stands; what that finds wrong with it is damage.
  std::function<Status(std::string_view json)> onRecord;
  /// A complete line of another kind, as it stands. May be empty.
  std::function<void(std::string_view line)> onOther;
  /// A line that is not a JSON object or whose record cannot be read. May be empty.
  std::function<void(uint64_t line, std::string message)> onDamage;
};

/// Reads all complete lines; returns how many bytes they took.
Result<uint64_t> readJournal(const std::string &path, const JournalReader &reader);

} // namespace cupel::results
