// `cupel triage`: what fails, why, and what to fix first, over a run or all runs since a date. The
// procedures that triage one test by a table of steps are verbs of their own below it.

#include "cupel/cli/CommandLine.h"
#include "cupel/cli/ResultsStore.h"
#include "cupel/cli/TriageProcedures.h"
#include "cupel/cli/Verbs.h"
#include "cupel/results/report/Reports.h"
#include "cupel/results/report/Text.h"
#include "cupel/testbench/triage/TriageReport.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <ctime>
#include <fmt/format.h>
#include <iostream>

namespace cupel::cli {
namespace {

using namespace cupel::results;
using namespace cupel::testbench::triage;

int fail(std::string_view message) { return reportError("triage", message, kExitUsage); }

/// `2026-10-16`, `2026-10-16T08:00`, `30d`, `12h`, `2w`, or a run's name.
Result<double> parseSince(const std::string &text, Store &store) {
  double number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size() - 1 && number >= 0) {
    double unit = *end == 'h' ? 3600 : *end == 'd' ? 86400 : *end == 'w' ? 7 * 86400 : 0;
    if (unit > 0)
      return double(std::time(nullptr)) - number * unit;
  }
  for (const char *format : {"%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d"}) {
    std::tm time = {};
    const char *rest = strptime(text.c_str(), format, &time);
    if (rest && (*rest == 0 || std::string_view(rest) == "Z"))
      return double(timegm(&time));
  }
  Result<std::string> run = store.resolveRun(text);
  if (!run)
    return Error{
        fmt::format("--since {}: no date (2026-10-16), no age (30d, 12h, 2w) and no run: {}", text,
                    run.message())};
  Result<RunInfo> info = store.run(*run);
  return info ? Result<double>(info->startedAt) : Result<double>(info.error());
}

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

int runTriageVerb(const Arguments &arguments) {
  if (std::optional<int> exit = runTriageProcedure(arguments))
    return *exit;
  CommandLine line("triage", "Say what fails, why, and what to fix first.");
  line.example("cupel triage", "the last run, and what moved since the one before");
  line.example("cupel triage --since 30d --xlsx month.xlsx", "a month, also as a workbook");
  line.example("cupel triage --since 2026-10-16 --markdown -", "since a date, for a pull request");
  line.example("cupel triage bfloat16 TEST",
               "one training test through a table of steps; also inputs, unpack-forward-output");
  std::string run, since, arch, device, results, markdown, xlsx;
  bool asJson = false, all = false;
  line.option("RUN", run, "A run: its id or the beginning of it, latest, latest~1 (latest)");
  line.option("--since", since,
              "All runs since a date (2026-10-16), an age (30d, 12h, 2w) or a run, instead of one")
      .placeholder("WHEN");
  line.option("--arch", arch, "Runs of this architecture only");
  line.option("--device", device, "Runs on this device only");
  addResultsOption(line, results);
  line.flag("--json", asJson, "Print JSON");
  line.option("--markdown", markdown, "Write Markdown to this file, or - for standard output")
      .placeholder("FILE");
  line.option("--xlsx", xlsx, "Write a workbook to this file").placeholder("FILE");
  line.flag("--all", all, "Show all of every list");
  if (std::optional<int> exit = line.parse(arguments))
    return *exit;
  if (!run.empty() && !since.empty())
    return fail("a run and --since exclude each other");

  Result<Store> store = openResults(results);
  if (!store)
    return fail(store.message());
  Result<std::vector<RunRow>> rows = store->runs(100'000);
  if (!rows)
    return fail(rows.message());
  double from = 0;
  std::string only;
  if (since.empty()) {
    Result<std::string> wanted = store->resolveRun(run.empty() ? "latest" : run);
    if (!wanted)
      return fail(wanted.message());
    only = *wanted;
    Result<RunInfo> info = store->run(only);
    if (!info)
      return fail(info.message());
    from = info->startedAt;
  } else {
    Result<double> time = parseSince(since, *store);
    if (!time)
      return fail(time.message());
    from = *time;
  }
  TriageReport report;
  Gathering gathering(*store, from);
  bool hasEarlier = false;
  constexpr ptrdiff_t kMostEarlier = 60;
  ptrdiff_t earlier = std::ranges::count_if(*rows, [&](const RunRow &row) {
    return row.info.startedAt < from && (arch.empty() || row.info.arch == arch) &&
           (device.empty() || row.info.device == device);
  });
  for (auto row = rows->rbegin(); row != rows->rend(); ++row) {
    const RunInfo &info = row->info;
    if ((!arch.empty() && info.arch != arch) || (!device.empty() && info.device != device))
      continue;
    bool isInScope = only.empty() ? info.startedAt >= from : info.id == only;
    if (!isInScope && info.startedAt >= from)
      continue; // Later than the run that was asked for.
    if (!isInScope && earlier-- > kMostEarlier)
      continue; // What was before is what these say.
    hasEarlier |= !isInScope;
    if (Status status = gathering.add(info, isInScope); !status)
      return fail(status.message());
    if (isInScope)
      report.runs.push_back(info);
  }
  if (report.runs.empty())
    return reportError("triage", "no run of that time, architecture and device",
                       kExitNothingSelected);
  // A store's first run has nothing to have moved from.
  report.since = hasEarlier || report.runs.size() > 1 ? from : 0;
  if (Status status = gathering.finish(report); !status)
    return fail(status.message());
  if (report.since == 0)
    report.movement = {};
  constexpr size_t kMost = 10;
  if (asJson)
    fmt::print("{}\n", toJson(report));
  else if (markdown != "-")
    writeText(std::cout, report, all ? 0 : kMost);
  if (!markdown.empty())
    if (Status status = writeReportFile(markdown,
                                        [&](std::ostream &out) -> Status {
                                          writeMarkdown(out, report, all ? 0 : 100);
                                          return {};
                                        });
        !status)
      return fail(status.message());
  if (!xlsx.empty())
    if (Status status = writeXlsx(xlsx, report); !status)
      return fail(status.message());
  return kExitSuccess;
}

} // namespace cupel::cli
