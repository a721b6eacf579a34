// `cupel show`: a run, or what happened to a test.

#include "cupel/cli/CommandLine.h"
#include "cupel/cli/ResultsStore.h"
#include "cupel/cli/ShowTrace.h"
#include "cupel/cli/Verbs.h"
#include "cupel/results/RecordJson.h"
#include "cupel/results/report/Reports.h"
#include "cupel/results/report/Terminal.h"
#include "cupel/results/report/Text.h"
#include "cupel/support/Text.h"
#include "cupel/testbench/session/RunGoingOn.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fmt/format.h>
#include <iostream>
#include <nlohmann/json.hpp>

namespace cupel::cli {
namespace {

using namespace cupel::results;
using testbench::session::RunGoingOn;

struct ShowOptions {
  std::string what, results, run, junit, markdown, jsonFile;
  std::vector<std::string> outcomes;
  bool json = false, failed = false, all = false, output = false, opCases = false;
  size_t limit = 20;
};

int fail(std::string_view message) { return reportError("show", message, kExitUsage); }

std::string countsText(const RunRow &row) {
  std::string text;
  for (const auto &[outcome, count] : row.counts)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, name(outcome));
  if (row.outcomes < row.info.selected)
    text += fmt::format("{}{} without outcome", text.empty() ? "" : ", ",
                        row.info.selected - row.outcomes);
  return text.empty() ? "nothing" : text;
}

/// Runs on Slurm come into the store when they end; of those that go on, what tasks wrote so far.
Status putGoingOn(std::vector<RunRow> &runs, const std::string &folder,
                  const std::vector<std::string> &names, size_t limit) {
  for (const std::string &name : names) {
    Result<RunGoingOn> seen = RunGoingOn::look(folder, name);
    if (!seen)
      return seen.error();
    Result<std::vector<RunRow>> row = seen->store().runs(1);
    if (!row)
      return row.error();
    // A database may know already that it began.
    std::erase_if(runs, [&](const RunRow &other) { return other.info.id == name; });
    runs.insert(runs.end(), row->begin(), row->end());
  }
  std::ranges::sort(runs, std::greater(), [](const RunRow &row) {
    return std::pair(row.info.startedAt, row.info.id);
  });
  if (runs.size() > limit)
    runs.resize(limit);
  return {};
}

int showRuns(Store *store, const std::string &folder, const std::vector<std::string> &goingOn,
             const ShowOptions &options) {
  Result<std::vector<RunRow>> runs = std::vector<RunRow>();
  if (store)
    runs = store->runs(options.limit);
  if (!runs)
    return fail(runs.message());
  if (Status status = putGoingOn(*runs, folder, goingOn, options.limit); !status)
    return fail(status.message());
  if (options.json) {
    std::string text = "[";
    for (const RunRow &row : *runs)
      text += (text.size() > 1 ? ",\n" : "\n") + toJson(row.info);
    fmt::print("{}\n]\n", text);
    return kExitSuccess;
  }
  if (runs->empty())
    fmt::print("No runs yet; `cupel run` makes the first.\n");
  for (const RunRow &row : *runs)
    fmt::print("{}  {}  {:<12} {}{}\n", row.info.id, peopleTime(row.info.startedAt),
               oneLine(row.info.device + (row.info.arch.empty() ? "" : "/" + row.info.arch)),
               countsText(row),
               std::ranges::count(goingOn, row.info.id) ? " (goes on in Slurm)" : "");
  return kExitSuccess;
}

/// Which tests of a run are listed one by one.
bool isListed(const TestRecord &record, const ShowOptions &options,
              const std::vector<Outcome> &outcomes) {
  if (options.all)
    return true;
  if (options.failed && isBad(record.outcome))
    return true;
  return std::find(outcomes.begin(), outcomes.end(), record.outcome) != outcomes.end();
}

/// Since the run before this one, as far as both ran the same tests.
Result<std::optional<RunChanges>> changesSinceBefore(Store &store, const RunInfo &run) {
  Result<std::optional<std::string>> before = store.runBefore(run.id);
  if (!before)
    return before.error();
  if (!*before)
    return std::optional<RunChanges>();
  Result<std::vector<OutcomeRow>> earlier = store.outcomes(**before), now = store.outcomes(run.id);
  if (!earlier)
    return earlier.error();
  if (!now)
    return now.error();
  RunChanges changes = compareOutcomes(*earlier, *now);
  changes.removed.clear();
  return std::optional(std::move(changes));
}

int showRun(Store &store, const std::string &id, const ShowOptions &options) {
  std::vector<Outcome> outcomes;
  for (const std::string &word : options.outcomes) {
    std::optional<Outcome> outcome = parseOutcome(word);
    if (!outcome) {
      std::vector<std::string_view> names;
      for (size_t i = 0; i < kOutcomeCount; ++i)
        names.push_back(name(Outcome(i)));
      std::string_view nearest = nearestWord(word, names);
      return fail(fmt::format("--outcome {}: no such outcome{}", shellWord(word),
                              nearest.empty() ? "" : fmt::format("; did you mean '{}'?", nearest)));
    }
    outcomes.push_back(*outcome);
  }
  Result<RunInfo> run = store.run(id);
  if (!run)
    return fail(run.message());
  RecordSource records = [&](const std::function<void(const TestRecord &)> &visit) {
    return store.forEachRecord(id, visit);
  };
  Result<std::optional<RunChanges>> changes = changesSinceBefore(store, *run);
  if (!changes)
    return fail(changes.message());
  const RunChanges *since = *changes ? &**changes : nullptr;

  struct File {
    const std::string &path;
    std::function<Status(std::ostream &)> write;
  };
  bool wroteFiles = false;
  for (const File &file :
       {File{options.junit, [&](std::ostream &out) { return writeJUnit(out, *run, records); }},
        File{options.jsonFile, [&](std::ostream &out) { return writeJson(out, *run, records); }},
        File{options.markdown,
             [&](std::ostream &out) { return writeMarkdown(out, *run, records, since); }}}) {
    if (file.path.empty())
      continue;
    wroteFiles = true;
    if (Status status = writeReportFile(file.path, file.write); !status)
      return fail(status.message());
  }
  if (options.json) {
    Status status =
        writeReportFile("-", [&](std::ostream &out) { return writeJson(out, *run, records); });
    return status ? int(kExitSuccess) : fail(status.message());
  }
  if (wroteFiles)
    return kExitSuccess;

  TerminalOptions terminal = TerminalOptions::forStream(stdout);
  terminal.commandTail = resultsTail(options.results);
  terminal.runWords = wordsToRunAgain(*run, /*otherSelection=*/false);
  Tally tally;
  bool listing = options.all || options.failed || !outcomes.empty();
  Status status = records([&](const TestRecord &record) {
    tally.add(record);
    if (isListed(record, options, outcomes))
      fmt::print("{}\n", testLine(record, terminal.colour));
  });
  if (!status)
    return fail(status.message());
  if (listing)
    return kExitSuccess;
  fmt::print("Run {} of {} UTC{}{}\n", run->id, peopleTime(run->startedAt),
             run->device.empty() ? "" : " on " + oneLine(run->device),
             run->arch.empty() ? "" : " as " + oneLine(run->arch));
  if (!run->commandLine.empty()) {
    std::string command;
    for (const std::string &word : run->commandLine)
      command += (command.empty() ? "" : " ") + shellWord(word);
    fmt::print("  {}\n", oneLine(command));
  }
  if (run->endedAt == 0 && run->environment.contains("slurm"))
    fmt::print("  It goes on in Slurm: cupel run --attach {} follows it.\n", run->id);
  else if (run->endedAt == 0)
    fmt::print("  It did not end: still running, or killed (cupel run --resume goes on).\n");
  for (const auto &[key, value] : run->environment)
    fmt::print("  {}: {}\n", oneLine(key), oneLine(value));
  fmt::print("\n{}", summaryText(*run, tally, since, terminal));
  return kExitSuccess;
}

/// --opcases: the figures of a run's operator cases, and the trend over the runs.
int showOpCaseMetrics(Store &store, const ShowOptions &options) {
  Result<std::vector<OpCaseMetrics::TrendPoint>> trend = opCaseTrend(store, options.limit);
  if (!trend)
    return fail(trend.message());
  if (trend->empty())
    return reportError("show", "no run with operator cases is kept here", kExitNothingSelected);
  Result<std::string> id = options.what.empty() ? Result<std::string>(trend->back().run)
                                                : store.resolveRun(options.what);
  if (!id)
    return fail(id.message());
  OpCaseMetrics metrics;
  Status read = store.forEachRecord(*id, [&](const TestRecord &record) { metrics.add(record); });
  if (!read)
    return fail(read.message());
  auto json = [&](std::ostream &out) -> Status {
    nlohmann::ordered_json all = metrics.json();
    all["run"] = *id;
    all["trend"] = trendJson(*trend);
    out << all.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
    return {};
  };
  auto markdown = [&](std::ostream &out) -> Status {
    out << fmt::format("## Cupel: operator cases of run {}\n", markdownSafe(*id));
    metrics.writeMarkdown(out);
    writeTrendMarkdown(out, *trend);
    return {};
  };
  if (!options.jsonFile.empty())
    if (Status status = writeReportFile(options.jsonFile, json); !status)
      return fail(status.message());
  if (!options.markdown.empty())
    if (Status status = writeReportFile(options.markdown, markdown); !status)
      return fail(status.message());
  if (options.json) {
    Status status = writeReportFile("-", json);
    return status ? int(kExitSuccess) : fail(status.message());
  }
  if (options.jsonFile.empty() && options.markdown.empty())
    fmt::print("Run {}\n{}\nTrend, newest last:\n{}", *id, metrics.text(), trendText(*trend));
  return kExitSuccess;
}

void printField(std::string_view label, std::string_view text) {
  if (!text.empty())
    fmt::print("  {:<12} {}\n", label, oneLine(text));
}

std::string comparisonText(const ComparisonRecord &comparison) {
  std::string text;
  auto add = [&](const char *label, std::optional<double> value, std::optional<double> threshold,
                 bool asserted) {
    if (!value)
      return;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", label, figure(*value));
    if (threshold)
      text += fmt::format(" (required {}{})", figure(*threshold), asserted ? "" : ", not checked");
  };
  add("pcc", comparison.pcc, comparison.pccThreshold, comparison.pccAsserted);
  add("max abs", comparison.maxAbsolute, comparison.atolThreshold,
      comparison.atolAsserted || comparison.allcloseAsserted);
  add("max rel", comparison.maxRelative, comparison.rtolThreshold, comparison.allcloseAsserted);
  add("rel l2", comparison.relativeL2, std::nullopt, false);
  add("noise", comparison.noise, std::nullopt, false);
  if (!comparison.rule.empty())
    text += fmt::format("{}judged by {}{}", text.empty() ? "" : ", ", comparison.rule,
                        comparison.precision.empty() ? "" : " in " + comparison.precision);
  return text;
}

/// The lines of what a test printed, indented; the last ones unless all are asked for.
void printOutput(const std::string &output, bool all) {
  constexpr size_t kLines = 20;
  std::vector<std::string_view> lines;
  for (std::string_view rest = output; !rest.empty();) {
    size_t end = std::min(rest.find('\n'), rest.size());
    lines.push_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  size_t first = all || lines.size() <= kLines ? 0 : lines.size() - kLines;
  fmt::print("  output{}\n",
             first
                 ? fmt::format(" (last {} of {} lines; --output shows all):", kLines, lines.size())
                 : std::string(":"));
  for (size_t i = first; i < lines.size(); ++i)
    fmt::print("    | {}\n", oneLine(lines[i]));
}

int showTest(Store &store, const std::string &fullName, const ShowOptions &options) {
  std::string runId;
  Result<std::vector<OutcomeRow>> history = store.history(fullName, 6);
  if (!history)
    return fail(history.message());
  if (!options.run.empty()) {
    Result<std::string> resolved = store.resolveRun(options.run);
    if (!resolved)
      return fail(resolved.message());
    runId = *resolved;
  } else if (!history->empty()) {
    runId = history->front().run;
  }
  Result<std::optional<TestRecord>> found = store.record(runId, fullName);
  if (!found)
    return fail(found.message());
  if (!*found)
    return fail(fmt::format("{} has no outcome in run {} (cupel history {} says where it has)",
                            fullName, runId, shellWord(fullName)));
  const TestRecord &record = **found;
  Result<RunInfo> run = store.run(runId);
  if (!run)
    return fail(run.message());
  if (options.json) {
    fmt::print("{{\"run\":{},\n\"test\":{}}}\n", toJson(*run), toJson(record));
    return kExitSuccess;
  }

  TerminalOptions terminal = TerminalOptions::forStream(stdout);
  fmt::print("{}\n", testLine(record, terminal.colour));
  printField("run", run->id + " of " + peopleTime(run->startedAt) + " UTC");
  printField("file", record.file);
  printField("error", record.errorClass);
  for (size_t i = 0; i < record.reasons.size(); ++i) {
    const ReasonRecord &reason = record.reasons[i];
    std::string text = reason.name;
    if (!reason.description.empty())
      text += ": " + reason.description;
    if (!reason.component.empty())
      text += " [" + reason.component + "]";
    if (!reason.summary.empty())
      text += ": " + reason.summary;
    printField(i == 0 ? "reason" : "also fits", text);
  }
  printField("configured", record.testStatus);
  printField("bring-up", record.bringupStatus);
  std::string guidance;
  for (const std::string &word : record.guidance)
    guidance += (guidance.empty() ? "" : ", ") + word;
  printField("guidance", guidance);
  printField("device", record.device);
  std::string stages;
  for (const StageTime &stage : record.stages)
    stages += fmt::format("{}{} {}", stages.empty() ? "" : ", ", name(stage.stage),
                          durationText(stage.seconds));
  printField("stages", stages);
  if (record.peakMemoryBytes)
    printField("peak memory", bytesText(record.peakMemoryBytes));
  if (record.attempts > 1) {
    std::string tries;
    for (Outcome outcome : record.tryOutcomes)
      tries += fmt::format("{}{}", tries.empty() ? "" : ", ", name(outcome));
    printField("tries", tries);
  }
  if (record.signal)
    printField("signal", std::to_string(*record.signal));
  if (record.exitCode)
    printField("exit code", std::to_string(*record.exitCode));
  for (const ComparisonRecord &comparison : record.comparisons) {
    // A check inside the program has a sentence and no figures.
    std::string figures = comparisonText(comparison);
    printField(fmt::format("output {}", comparison.output),
               (comparison.passed ? "ok" : "NOT OK") + (figures.empty() ? "" : ": " + figures));
    printField("", comparison.sentence);
    if (!comparison.passed && comparison.strictPassed && !comparison.strictSentence.empty())
      printField("strict", comparison.strictSentence);
  }
  for (const auto &[key, value] : record.notes)
    printField(key, value);
  for (const ArtifactRecord &artifact : record.artifacts)
    printField("artifact", fmt::format("{} ({}) {}", artifact.name, bytesText(artifact.bytes),
                                       store.artifactPath(artifact.sha256)));
  printField("workload", record.reproduction);
  if (history->size() > 1) {
    std::string earlier;
    for (const OutcomeRow &row : *history)
      earlier += fmt::format("{}{}", earlier.empty() ? "" : ", ", name(row.outcome));
    printField("history", earlier + " (newest first)");
  }
  if (!record.output.empty())
    printOutput(record.output, options.output);
  fmt::print("\nAgain:\n  {}\n", rerunCommand(*run, record, resultsTail(options.results), std::filesystem::current_path().string()));
  return kExitSuccess;
}

/// Of a run that goes on in Slurm: the run, or a test that has an outcome in it. Nothing: it is the
/// store's matter.
std::optional<int> showGoingOn(const std::string &folder, const std::vector<std::string> &names,
                               bool looksLikeRun, const std::string &run,
                               const ShowOptions &options) {
  for (const std::string &name : names) {
    bool isRun = looksLikeRun && run == name;
    bool isElsewhere = !options.run.empty() && !name.starts_with(options.run);
    if (!isRun && (looksLikeRun || isElsewhere))
      continue;
    Result<RunGoingOn> seen = RunGoingOn::look(folder, name);
    if (!seen)
      return fail(seen.message());
    if (isRun)
      return showRun(seen->store(), name, options);
    Result<std::string> test = seen->store().resolveTest(options.what);
    if (!test)
      continue;
    ShowOptions there = options;
    there.run = name;
    return showTest(seen->store(), *test, there);
  }
  return std::nullopt;
}

} // namespace

int runShowVerb(const Arguments &arguments) {
  if (!arguments.empty() && arguments.front() == "trace")
    return showTrace({arguments.begin() + 1, arguments.end()});
  CommandLine line("show", "Show the runs, one run's summary, or what happened to a test; a recorded trace "
                           "(cupel show trace --help).");
  line.example("cupel show trace model.trace --replay 100", "the commands of a program that were recorded");
  line.example("cupel show", "the last runs");
  line.example("cupel show latest", "the summary of the last run");
  line.example("cupel show latest~1 --failed", "what failed in the one before");
  line.example("cupel show programs::add.mlir", "a test's last record, and how to rerun it");
  line.example("cupel show --opcases", "operator cases: pass rates by model and operator, trend");
  line.example("cupel show latest --junitxml r.xml", "write a report of a run that is over");
  ShowOptions options;
  line.option("RUN|ID", options.what,
              "A run (latest, latest~N, an id or its beginning) or a test (suite::id, or "
              "the id alone)");
  addResultsOption(line, options.results);
  line.option("--run", options.run, "Of a test: its record in this run").placeholder("RUN");
  line.flag("--failed", options.failed, "Of a run: list the tests that did not go as expected");
  line.flag("--all", options.all, "Of a run: list all tests");
  line.flag("--opcases", options.opCases,
            "Pass rates, coverage, duplicates and times of operator cases, and their "
            "trend over runs");
  line.option("--outcome", options.outcomes,
              "Of a run: list the tests with this outcome (may be repeated)")
      .placeholder("NAME")
      .oneValueEach();
  line.flag("--output", options.output, "Of a test: all that was kept of what it printed");
  line.option("--junitxml", options.junit, "Of a run: write JUnit XML").placeholder("FILE");
  line.option("--json-file", options.jsonFile, "Of a run: write the JSON report")
      .placeholder("FILE");
  line.option("--markdown", options.markdown, "Of a run: write a Markdown summary")
      .placeholder("FILE");
  line.option("--limit", options.limit, "How many runs are listed (20)").placeholder("N");
  line.flag("--json", options.json, "Print JSON (docs/reference/results.md)");
  if (std::optional<int> exit = line.parse(arguments))
    return *exit;

  Result<StorePlace> place = resultsPlace(options.results);
  if (!place)
    return fail(place.message());
  std::vector<std::string> goingOn = RunGoingOn::namesIn(place->folder);
  Result<Store> store = openResults(options.results);
  if (!store && (goingOn.empty() || options.opCases))
    return fail(store.message());
  if (options.opCases)
    return showOpCaseMetrics(*store, options);
  if (options.what.empty())
    return showRuns(store ? &*store : nullptr, place->folder, goingOn, options);
  // A run's id starts with a date; a test's name that does is found as well.
  bool looksLikeRun =
      options.what.starts_with("latest") ||
      (options.what.size() >= 4 && std::all_of(options.what.begin(), options.what.begin() + 4,
                                               [](unsigned char c) { return std::isdigit(c); }));
  Result<std::string> run =
      store ? store->resolveRun(options.what) : Result<std::string>(store.error());
  if (std::optional<int> shown = showGoingOn(place->folder, goingOn, looksLikeRun,
                                              run ? *run : options.what, options))
    return *shown;
  if (!store)
    return fail(store.message());
  if (run && looksLikeRun)
    return showRun(*store, *run, options);
  Result<std::string> test = store->resolveTest(options.what);
  if (test)
    return showTest(*store, *test, options);
  if (run)
    return showRun(*store, *run, options);
  bool nearRun = looksLikeRun || !nearestWord(options.what, {"latest"}).empty();
  return fail(nearRun ? run.message() : test.message());
}

} // namespace cupel::cli
