// A record as the tables of the store hold it: the columns that questions are asked about, and the
// whole as JSON. Made from the line of a journal in one pass, without building the record: importing
// a journal is what a night's results wait for. What stands in `json` is always JSON and plain text.
#pragma once

#include "cupel/results/Record.h"
#include "cupel/support/Error.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cupel::results {

struct RecordColumns {
  std::string suite, id, file;
  std::string framework, modelPath, variant, parallelism, runMode, modelName, group;
  std::string testStatus, bringupStatus, errorClass, message;
  std::string reason; ///< The name of the first.
  Outcome outcome = Outcome::NotRun;
  Stage lastStage = Stage::None;
  double startedAt = 0, seconds = 0;
  uint64_t peakMemoryBytes = 0;
  bool flaky = false;
  std::optional<double> pcc, maxAbsolute; ///< The worst of all outputs.
  std::string json;
  std::string digest; ///< Of `json`.

  /// Which of the records of this test in this run it is: the journal (empty: the run's own), and
  /// the how-manieth there.
  std::string shard;
  uint32_t attempt = 1;

  double finishedAt() const { return startedAt + seconds; }
  /// Whether the test had its turn, and all of it.
  bool isFinal() const { return familyOf(outcome) != Family::NoResult; }
};

/// From the JSON form of a record. An error where it is none, or a field is of another kind than
/// Cupel writes.
Status readColumns(std::string_view json, RecordColumns &into);

/// What overviews of many tests show of a record, in one pass as well: its texts, markers, guidance and
/// notes. The rest of `into` stays as it is.
Status readBriefly(std::string_view json, TestRecord &into);

/// Of two records of one test in one run, whether `a` is the outcome that counts: one that is final
/// before one that is not, of those the one that was finished first, of others the last. Whatever
/// comes in whatever order, the same one is left.
bool countsBefore(const RecordColumns &a, const RecordColumns &b);

} // namespace cupel::results
