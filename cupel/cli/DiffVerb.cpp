// `cupel diff`: what is different between two runs.

#include "cupel/cli/CommandLine.h"
#include "cupel/cli/ResultsStore.h"
#include "cupel/cli/Verbs.h"
#include "cupel/results/report/Changes.h"
#include "cupel/results/report/Text.h"

#include <fmt/format.h>

namespace cupel::cli {
namespace {

using namespace cupel::results;

int fail(std::string_view message) { return reportError("diff", message, kExitUsage); }

struct Section {
  const char *title;
  const std::vector<Change> &changes;
  enum { Outcomes, Times, Figures } kind;
};

std::vector<Section> sections(const RunChanges &changes) {
  return {{"New failures", changes.newFailures, Section::Outcomes},
          {"Fixed", changes.fixed, Section::Outcomes},
          {"Otherwise different", changes.otherwise, Section::Outcomes},
          {"Slower", changes.slower, Section::Times},
          {"Faster", changes.faster, Section::Times},
          {"Other figures", changes.figures, Section::Figures},
          {"Only in the second", changes.added, Section::Outcomes},
          {"Only in the first", changes.removed, Section::Outcomes}};
}

std::string outcomeText(const OutcomeRow &row) {
  if (row.id.empty())
    return "-";
  std::string text(name(row.outcome));
  if (!row.reason.empty())
    text += " (" + oneLine(row.reason) + ")";
  return text;
}

std::string figuresText(const OutcomeRow &row) {
  std::string text;
  if (row.pcc)
    text = "pcc " + figure(*row.pcc);
  if (row.maxAbsolute)
    text += (text.empty() ? "max abs " : ", max abs ") + figure(*row.maxAbsolute);
  return text;
}

void printSection(const Section &section, size_t most) {
  if (section.changes.empty())
    return;
  fmt::print("\n{}: {}\n", section.title, section.changes.size());
  for (size_t i = 0; i < section.changes.size() && (most == 0 || i < most); ++i) {
    const Change &change = section.changes[i];
    std::string difference;
    switch (section.kind) {
    case Section::Outcomes:
      difference = outcomeText(change.before) + " -> " + outcomeText(change.after);
      if (change.before.id.empty())
        difference = outcomeText(change.after);
      if (change.after.id.empty())
        difference = outcomeText(change.before);
      break;
    case Section::Times:
      difference = fmt::format("{} -> {} ({:.2f}x)", durationText(change.before.seconds),
                               durationText(change.after.seconds),
                               change.after.seconds / std::max(change.before.seconds, 1e-9));
      break;
    case Section::Figures:
      difference = figuresText(change.before) + " -> " + figuresText(change.after);
      break;
    }
    fmt::print("  {}: {}\n", oneLine(change.name()), difference);
  }
  if (most && section.changes.size() > most)
    fmt::print("  ... and {} more (--limit 0 lists all)\n", section.changes.size() - most);
}

} // namespace

int runDiffVerb(const Arguments &arguments) {
  CommandLine line("diff", "Compare two runs. Exit code 1: the second has new failures.");
  line.example("cupel diff", "what the last run changed: latest~1 against latest");
  line.example("cupel diff 20261115", "that run against the last one");
  line.example("cupel diff A B --slower 1.2", "count 20 % as slower");
  std::string before = "latest~1", after = "latest", results;
  ChangeOptions options;
  bool asJson = false;
  size_t limit = 50;
  line.option("A", before, "The earlier run: an id or its beginning, latest~2 (default: latest~1)");
  line.option("B", after, "The later run (default: latest)");
  addResultsOption(line, results);
  line.option("--slower", options.slowerFactor, "Slower means by more than this factor (1.5)")
      .placeholder("FACTOR")
      .between(1.0, 1e9);
  line.option("--noise", options.noiseSeconds, "... and by more than this many seconds (0.5)")
      .placeholder("SECONDS")
      .between(0.0, 1e9);
  line.option("--pcc-step", options.pccStep, "A PCC that moves by less is the same (0.001)")
      .placeholder("STEP")
      .between(0.0, 2.0);
  line.option("--limit", limit, "Most lines of each kind (50; 0: all)").placeholder("N");
  line.flag("--json", asJson, "Print a JSON object");
  if (std::optional<int> exit = line.parse(arguments))
    return *exit;

  Result<Store> store = openResults(results);
  if (!store)
    return fail(store.message());
  Result<std::string> first = store->resolveRun(before), second = store->resolveRun(after);
  if (!first)
    return fail(first.message());
  if (!second)
    return fail(second.message());
  Result<RunInfo> firstRun = store->run(*first), secondRun = store->run(*second);
  Result<std::vector<OutcomeRow>> a = store->outcomes(*first), b = store->outcomes(*second);
  if (!firstRun)
    return fail(firstRun.message());
  if (!secondRun)
    return fail(secondRun.message());
  if (!a)
    return fail(a.message());
  if (!b)
    return fail(b.message());
  RunChanges changes = compareOutcomes(*a, *b, options);
  int exitCode = changes.newFailures.empty() ? kExitSuccess : kExitFailure;

  if (asJson) {
    fmt::print("{}\n", toJson(changes, *first, *second));
    return exitCode;
  }
  auto describe = [](const RunInfo &run, size_t tests) {
    return fmt::format("{} ({} UTC, {}{}{})", run.id, peopleTime(run.startedAt),
                       counted(tests, "test"),
                       run.device.empty() ? "" : " on " + oneLine(run.device),
                       run.arch.empty() ? "" : " as " + oneLine(run.arch));
  };
  fmt::print("from {}\nto   {}\n", describe(*firstRun, a->size()), describe(*secondRun, b->size()));
  if (firstRun->device != secondRun->device || firstRun->arch != secondRun->arch)
    fmt::print("They ran on different devices.\n");
  if (changes.empty())
    fmt::print("\nNo difference.\n");
  for (const Section &section : sections(changes))
    printSection(section, limit);
  return exitCode;
}

} // namespace cupel::cli
