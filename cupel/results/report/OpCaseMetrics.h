// The figures RFC-0186 asks for of a run of operator cases: pass rate by model and by operator,
// coverage, what deduplication saved, time; and the trend over runs. Gathered one record at a time
// like every tally, shown in the terminal, as JSON and as Markdown. Records of other suites are
// ignored.
#pragma once

#include "cupel/results/Record.h"
#include "cupel/results/store/Store.h"

#include <cstdint>
#include <iosfwd>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <vector>

namespace cupel::results {

class OpCaseMetrics {
public:
  struct Group {
    uint64_t cases = 0;
    uint64_t passed = 0, failed = 0; ///< Failed: also crashed, timed out, unexpectedly passed.
    uint64_t expectedFailures = 0, skipped = 0, notRun = 0;
    uint64_t unjudged = 0; ///< They ran, and nothing says whether they are right.
    uint64_t duplicates = 0; ///< Of the skipped: another case stood for them.
    double seconds = 0, slowest = 0;
    std::set<std::string> ops, inputs; ///< Distinct ones.

    /// Cases that ran.
    uint64_t executed() const { return passed + failed + expectedFailures + unjudged; }
    /// Of those that ran; NaN where none did.
    double passRate() const;
    double secondsPerCase() const;
  };

  /// One run of several.
  struct TrendPoint {
    std::string run, device;
    double startedAt = 0, seconds = 0;
    uint64_t executed = 0, passed = 0;
    uint64_t newFailures = 0, fixed = 0; ///< Since the run before it, of the tests both have.
  };

  void add(const TestRecord &record);
  bool empty() const { return total.cases == 0; }

  const Group &all() const { return total; }
  const std::map<std::string, Group> &models() const { return byModel; }
  const std::map<std::string, Group> &ops() const { return byOp; }
  /// Of all cases the share that need not be run, from 0 to 1.
  double dedupeEfficiency() const;

  std::string text() const;
  nlohmann::ordered_json json() const;
  void writeMarkdown(std::ostream &out) const;

private:
  Group total;
  std::map<std::string, Group> byModel, byOp;
};

/// The newest `limit` runs that have operator cases, oldest first.
Result<std::vector<OpCaseMetrics::TrendPoint>> opCaseTrend(Store &store, size_t limit);

std::string trendText(const std::vector<OpCaseMetrics::TrendPoint> &trend);
nlohmann::ordered_json trendJson(const std::vector<OpCaseMetrics::TrendPoint> &trend);
void writeTrendMarkdown(std::ostream &out, const std::vector<OpCaseMetrics::TrendPoint> &trend);

} // namespace cupel::results
