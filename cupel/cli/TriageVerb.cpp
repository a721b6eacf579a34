// `cupel triage`: what fails, why, and what to fix first, over a run or all runs since a date. The
// procedures that triage one test by a table of steps are verbs of their own below it.

#include "cupel/cli/CommandLine.h"
#include "cupel/cli/ResultsStore.h"
#include "cupel/cli/TriageProcedures.h"
#include "cupel/cli/Verbs.h"
#include "cupel/results/report/Reports.h"
#include "cupel/results/report/Text.h"
#include "cupel/testbench/triage/Gathering.h"

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
  Result<TriageReport> gathered =
      gatherReport(*store, {.from = from, .onlyRun = only, .arch = arch, .device = device});
  if (!gathered)
    return fail(gathered.message());
  if (gathered->runs.empty())
    return reportError("triage", "no run of that time, architecture and device",
                       kExitNothingSelected);
  const TriageReport &report = *gathered;
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
