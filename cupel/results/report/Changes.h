// What is different between two sets of outcomes: `cupel diff`, and the end of a run, which
// compares each test with its own last outcome. Values in, values out; knows neither the store's
// tables nor how a change is printed.
#pragma once

#include "cupel/results/Record.h"
#include "cupel/results/store/Store.h"

#include <span>
#include <string>
#include <vector>

namespace cupel::results {

struct ChangeOptions {
  double slowerFactor = 1.5;   ///< Slower (faster): by more than this factor ...
  double noiseSeconds = 0.5;   ///< ... and by more than this much.
  double pccStep = 0.001;      ///< A figure changed: the worst PCC moved by more than this,
  double absoluteFactor = 2.0; ///< or the largest absolute difference by more than this factor.
};

struct Change {
  OutcomeRow before, after; ///< For added and removed tests one of them has no name.
  std::string name() const { return after.id.empty() ? before.fullName() : after.fullName(); }
};

struct RunChanges {
  std::vector<Change> newFailures; ///< Were fine, or fail and were not there before.
  std::vector<Change> fixed;       ///< Ran, were bad and are fine.
  std::vector<Change> otherwise;   ///< Bad before and after, or fine before and after, differently.
  std::vector<Change> slower, faster;
  std::vector<Change> figures;
  std::vector<Change> added, removed;

  bool empty() const;
};

/// Compares by full name; the rows need no order.
RunChanges compareOutcomes(std::span<const OutcomeRow> before, std::span<const OutcomeRow> after,
                           const ChangeOptions &options = {});

/// The same for the end of a run: each test against the last outcome it had before this run.
/// Nothing counts as removed.
RunChanges compareWithKnown(std::span<const KnownTest> known, std::span<const OutcomeRow> after,
                            const ChangeOptions &options = {});

/// `{"schema": "cupel-diff-1", ...}` (docs/reference/results.md).
std::string toJson(const RunChanges &changes, std::string_view before, std::string_view after);

/// A record in brief.
OutcomeRow briefly(const TestRecord &record, std::string_view run);

} // namespace cupel::results
