// From a results store to a TriageReport: which runs count, what each test did last on each
// architecture and device, what moved. Used by `cupel triage` and by the pages; reads, and prints
// nothing.
#pragma once

#include "cupel/results/store/Store.h"
#include "cupel/support/Error.h"
#include "cupel/testbench/triage/TriageReport.h"

#include <string>

namespace cupel::testbench::triage {

struct GatherOptions {
  double from = 0;          ///< All runs that began then or later ...
  std::string onlyRun = {}; ///< ... or this one, which began then.
  std::string arch = {}, device = {}; ///< Empty: any.
};

/// The report has no runs where none fits. What was before `from` is what the last runs before it
/// say.
Result<TriageReport> gatherReport(results::Store &store, const GatherOptions &options);

} // namespace cupel::testbench::triage
