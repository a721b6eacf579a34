// The lines of a run's journal, the only thing that must survive whatever happens to a run. The
// runner appends and syncs them, the store imports them. Three kinds of line, each one JSON object:
//   {"run": RunInfo}      first; again when the run is resumed or has ended (with ended_at)
//   {"test": TestRecord}  one a test; a later one of the same test replaces it
//   anything else         is the runner's own (started tests, selection) and skipped here
// A torn last line is what a killed process leaves; it is never an error.
#pragma once

#include "cupel/results/Record.h"
#include "cupel/support/Error.h"

#include <functional>
#include <string>
#include <string_view>

namespace cupel::results {

/// With the line break.
std::string journalLine(const RunInfo &run);
std::string journalLine(const TestRecord &record);

struct JournalReader {
  std::function<void(RunInfo)> onRun;
  std::function<void(TestRecord)> onTest;
  /// A complete line of another kind, as it stands. May be empty.
  std::function<void(std::string_view line)> onOther;
  /// A line that is not a JSON object or whose record cannot be read. May be empty.
  std::function<void(uint64_t line, std::string message)> onDamage;
};

/// Reads all complete lines; returns how many bytes they took.
Result<uint64_t> readJournal(const std::string &path, const JournalReader &reader);

} // namespace cupel::results
