// What `cupel triage` found, as a value, and its four forms: for a terminal, JSON for programs,
// Markdown for a pull request, and a workbook. All show the same numbers; none computes any.
#pragma once

#include "cupel/support/Error.h"
#include "cupel/testbench/triage/FixFirst.h"
#include "cupel/testbench/triage/Movement.h"

#include <iosfwd>
#include <string>
#include <vector>

namespace cupel::testbench::triage {

struct TriageReport {
  std::vector<results::RunInfo> runs; ///< Oldest first.
  double since = 0;                   ///< What moved is told from here on; 0: nothing is.
  uint64_t total = 0;                 ///< Tests with an outcome.
  uint64_t passing = 0;               ///< Of them, those that pass now wherever they were run.
  std::vector<FailingTest> failing;
  FixPlan plan;
  Movement movement;
  /// Passing and failing tests of each model.
  std::map<std::string, std::pair<uint64_t, uint64_t>> models;
};

/// At most `most` lines of each list; 0: all.
void writeText(std::ostream &out, const TriageReport &report, size_t most);
void writeMarkdown(std::ostream &out, const TriageReport &report, size_t most);
/// `{"schema": "cupel-triage-1", ...}` (docs/reference/triage.md).
std::string toJson(const TriageReport &report);
Status writeXlsx(const std::string &path, const TriageReport &report);

/// `type bf16, rank 4`; empty where nothing is shared.
std::string describe(const Properties &properties);
/// `fixing stablehlo.tanh unlocks 3 tests, 2 models`.
std::string sentence(const CauseGroup &group);
std::string sentence(const JointFix &fix);

} // namespace cupel::testbench::triage
