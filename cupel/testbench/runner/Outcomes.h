// From what a test did to what its outcome is: the configuration's statuses act here, tries add up
// here, and a record gets what is known of its item. Used by the runner; pure functions.
#pragma once

#include "cupel/results/Record.h"
#include "cupel/testbench/runner/Runner.h"

#include <optional>
#include <string>
#include <vector>

namespace cupel::testbench::runner {

/// A record with everything that is known of a test before it runs.
results::TestRecord recordFor(const TestItem &item, const RunnerOptions &options);

/// The outcome of a test that is not to be started at all, with the reason; nothing for one that
/// is.
struct Unstarted {
  results::Outcome outcome;
  std::string reason;
};
std::optional<Unstarted> withoutRunning(const TestItem &item, const RunnerOptions &options);

/// How many chips a test says it needs: those of its mesh (`mesh_2x4`), else one.
uint32_t declaredChips(const TestItem &item);

/// Whether an outcome of a try is worth another one.
bool isWorthRetry(results::Outcome outcome, const TestItem &item, const RunnerOptions &options);

/// Puts all tries together: outcome of the last one, with the status of the configuration acting
/// on it; flaky where they differ. `record` is that of the last try, `tries` their outcomes.
void conclude(results::TestRecord &record, const std::vector<results::Outcome> &tries,
              const TestItem &item, const RunnerOptions &options);

} // namespace cupel::testbench::runner
