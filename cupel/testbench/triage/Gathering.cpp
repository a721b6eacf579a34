#include "cupel/testbench/triage/Gathering.h"

#include <algorithm>

namespace cupel::testbench::triage {
namespace {

using namespace cupel::results;

/// What the runs say of each test, the newest last.
class Gathering {
public:
  Gathering(Store &store, double since) : store(store), since(since) {}

  Status add(const RunInfo &run, bool isInScope) {
    Result<std::vector<OutcomeRow>> rows = store.outcomes(run.id);
    if (!rows)
      return rows.error();
    auto commit = run.environment.find("git");
    for (OutcomeRow &row : *rows) {
      Sighting &one = sightings.emplace_back();
      one.at = run.startedAt;
      one.arch = run.arch;
      one.device = run.device;
      one.commit = commit == run.environment.end() ? "" : commit->second;
      one.row = std::move(row);
      if (isInScope && isVerdict(one.row.outcome)) {
        Last &last = lasts[{one.row.fullName(), run.arch, run.device}];
        if (isFailing(one.row.outcome))
          last.failures.push_back(run.id);
        last.isFailing = isFailing(one.row.outcome);
        last.run = run.id;
      }
    }
    return {};
  }

  Status finish(TriageReport &report) {
    report.movement = since > 0 ? movementSince(std::move(sightings), since) : Movement();
    std::set<std::string> flaky;
    for (const Moved &moved : report.movement.flaky)
      flaky.insert(moved.name);
    FailingTests tests;
    std::map<std::string, bool> failing;
    std::map<std::string, std::string> models;
    for (const auto &[key, last] : lasts) {
      const std::string &name = std::get<0>(key);
      Result<std::optional<TestRecord>> record = store.record(last.run, name);
      if (!record)
        return record.error();
      if (!*record)
        continue;
      failing[name] |= last.isFailing;
      models[name] = modelOf(**record);
      if (last.isFailing)
        tests.add(**record, last.run);
      // Whatever made a flaky test fail may do so again.
      if (flaky.contains(name))
        for (const std::string &run : last.failures) {
          Result<std::optional<TestRecord>> other = store.record(run, name);
          if (!other)
            return other.error();
          if (*other)
            tests.addCauses(**other);
        }
    }
    report.total = failing.size();
    for (const auto &[name, fails] : failing) {
      report.passing += !fails;
      if (const std::string &model = models[name]; !model.empty())
        ++(fails ? report.models[model].second : report.models[model].first);
    }
    report.failing = tests.take();
    report.plan = planFixes(report.failing);
    return {};
  }

private:
  static bool isFailing(Outcome outcome) {
    return isFailure(outcome) || familyOf(outcome) == Family::KnownFailure;
  }
  struct Last {
    std::string run;
    bool isFailing = false;
    std::vector<std::string> failures; ///< Runs in which it failed.
  };

  Store &store;
  double since;
  std::vector<Sighting> sightings;
  std::map<std::tuple<std::string, std::string, std::string>, Last> lasts;
};

} // namespace

Result<TriageReport> gatherReport(Store &store, const GatherOptions &options) {
  Result<std::vector<RunRow>> rows = store.runs(100'000);
  if (!rows)
    return rows.error();
  TriageReport report;
  Gathering gathering(store, options.from);
  bool hasEarlier = false;
  constexpr ptrdiff_t kMostEarlier = 60;
  auto fits = [&](const RunInfo &info) {
    return (options.arch.empty() || info.arch == options.arch) &&
           (options.device.empty() || info.device == options.device);
  };
  ptrdiff_t earlier = std::ranges::count_if(*rows, [&](const RunRow &row) {
    return row.info.startedAt < options.from && fits(row.info);
  });
  for (auto row = rows->rbegin(); row != rows->rend(); ++row) {
    const RunInfo &info = row->info;
    if (!fits(info))
      continue;
    bool isInScope =
        options.onlyRun.empty() ? info.startedAt >= options.from : info.id == options.onlyRun;
    if (!isInScope && info.startedAt >= options.from)
      continue; // Later than the run that was asked for.
    if (!isInScope && earlier-- > kMostEarlier)
      continue; // What was before is what these say.
    hasEarlier |= !isInScope;
    if (Status status = gathering.add(info, isInScope); !status)
      return status.error();
    if (isInScope)
      report.runs.push_back(info);
  }
  if (report.runs.empty())
    return report;
  // A store's first run has nothing to have moved from.
  report.since = hasEarlier || report.runs.size() > 1 ? options.from : 0;
  if (Status status = gathering.finish(report); !status)
    return status.error();
  if (report.since == 0)
    report.movement = {};
  return report;
}

} // namespace cupel::testbench::triage
