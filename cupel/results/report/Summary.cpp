// The end of a run as text.

#include "cupel/results/report/Terminal.h"
#include "cupel/results/report/Text.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace cupel::results {
namespace {

constexpr size_t kMostFailures = 10;
constexpr size_t kMostChanges = 5;
constexpr size_t kMostReasons = 5;
constexpr size_t kMostXpassed = 10;
constexpr size_t kMostUnjudged = 10;

/// Escape sequences, or nothing where there are no colours.
struct Paint {
  bool colour;
  std::string operator()(const char *code, std::string_view text) const {
    return colour ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
  }
  std::string good(std::string_view text) const { return (*this)("32", text); }
  std::string bad(std::string_view text) const { return (*this)("31", text); }
  std::string odd(std::string_view text) const { return (*this)("33", text); }
  std::string loud(std::string_view text) const { return (*this)("1;35", text); }
  std::string head(std::string_view text) const { return (*this)("1", text); }
  std::string of(Outcome outcome, std::string_view text) const {
    switch (familyOf(outcome)) {
    case Family::Pass:
      return good(text);
    case Family::KnownFailure:
    case Family::Skip:
    case Family::Unjudged:
    case Family::NoResult:
      return odd(text);
    case Family::UnexpectedPass:
      return loud(text);
    case Family::Failure:
    case Family::Crash:
    case Family::Limit:
      return bad(text);
    }
    return std::string(text);
  }
};

std::string upper(std::string_view text) {
  std::string result(text);
  for (char &c : result)
    if (c >= 'a' && c <= 'z')
      c = char(c - 'a' + 'A');
  return result;
}

/// `at execute: REASON: message`, as much of it as there is.
std::string whyText(Stage stage, std::string_view reason, std::string_view message) {
  std::string text;
  if (stage != Stage::None && stage != Stage::Done)
    text = fmt::format("at {}", name(stage));
  for (std::string_view part : {reason, message})
    if (!part.empty())
      text += (text.empty() ? "" : ": ") + oneLine(part);
  return text;
}

std::string and_(uint64_t more, std::string_view command) {
  return more ? fmt::format("  ... and {} more ({})\n", more, command) : "";
}

std::string countsLine(const RunInfo &run, const Tally &tally, const Paint &paint) {
  std::string counts;
  for (size_t i = 0; i < kOutcomeCount; ++i)
    if (uint64_t count = tally.count(Outcome(i)))
      counts += (counts.empty() ? "" : ", ") +
                paint.of(Outcome(i), fmt::format("{} {}", count, name(Outcome(i))));
  double wall = run.endedAt > run.startedAt ? run.endedAt - run.startedAt : 0;
  std::string text = fmt::format("{} selected{}: {}\n", counted(run.selected, "test"),
                                 wall > 0 ? " in " + durationText(wall) : "",
                                 counts.empty() ? "nothing ran" : counts);
  if (tally.total() != run.selected) {
    uint64_t missing = run.selected > tally.total() ? run.selected - tally.total() : 0;
    text += paint.bad(missing ? fmt::format("UNACCOUNTED: {} of {} have no outcome",
                                            counted(missing, "selected test"), run.selected)
                              : fmt::format("UNACCOUNTED: {} outcomes for {}", tally.total(),
                                            counted(run.selected, "selected test"))) +
            "\n";
  }
  return text;
}

/// Unjudged tests by name: they are no passes, and nobody should take them for such.
std::string unjudgedText(const RunInfo &run, const Tally &tally, const Paint &paint) {
  const std::vector<Tally::Line> &lines = tally.unjudged();
  if (lines.empty())
    return "";
  std::string text =
      "\n" + paint.odd(fmt::format("UNJUDGED: {} ran, and nothing says what {} should have given{}:",
                                   counted(lines.size(), "test"), lines.size() == 1 ? "it" : "they",
                                   tally.judged() ? "" : "; no test of this run was judged")) +
      "\n";
  for (size_t i = 0; i < lines.size() && i < kMostUnjudged; ++i)
    text += fmt::format("  {} {}\n", oneLine(lines[i].name), oneLine(cutTo(lines[i].message, 200)));
  if (lines.size() > kMostUnjudged)
    text += and_(lines.size() - kMostUnjudged, "cupel show " + run.id + " --outcome unjudged");
  return text;
}

std::string changesText(const RunChanges &changes, const Paint &paint) {
  if (changes.empty())
    return "\nNothing changed since these tests ran last.\n";
  std::string counts;
  auto count = [&](size_t number, std::string_view singular, std::string_view plural) {
    if (number)
      counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ", number,
                            number == 1 ? singular : plural);
  };
  count(changes.newFailures.size(), "new failure", "new failures");
  count(changes.fixed.size(), "fixed", "fixed");
  count(changes.otherwise.size(), "otherwise different", "otherwise different");
  count(changes.slower.size(), "slower", "slower");
  count(changes.faster.size(), "faster", "faster");
  count(changes.figures.size(), "with other figures", "with other figures");
  count(changes.added.size(), "new test", "new tests");
  std::string text = fmt::format("\n{} {}\n", paint.head("Since these tests ran last:"), counts);
  auto list = [&](const std::vector<Change> &all, std::string_view label, auto &&line) {
    for (size_t i = 0; i < all.size() && i < kMostChanges; ++i)
      text += fmt::format("  {:<12} {}\n", label, line(all[i]));
    if (all.size() > kMostChanges)
      text += and_(all.size() - kMostChanges, "cupel diff latest~1 latest");
  };
  auto outcomes = [&](const Change &change) {
    std::string before =
        change.before.id.empty() ? "new" : std::string(name(change.before.outcome));
    std::string why = change.after.reason.empty() ? "" : " (" + oneLine(change.after.reason) + ")";
    return fmt::format("{}: {} -> {}{}", oneLine(change.name()), before,
                       paint.of(change.after.outcome, name(change.after.outcome)), why);
  };
  list(changes.newFailures, "new failure", outcomes);
  list(changes.fixed, "fixed", outcomes);
  list(changes.slower, "slower", [&](const Change &change) {
    return fmt::format("{}: {} -> {} ({:.1f}x)", oneLine(change.name()),
                       durationText(change.before.seconds), durationText(change.after.seconds),
                       change.after.seconds / change.before.seconds);
  });
  return text;
}

std::string nextText(const RunInfo &run, const Tally &tally, const TerminalOptions &options,
                     const Paint &paint) {
  size_t word = options.commandTail.find_first_not_of(' ');
  std::string tail = word == std::string::npos ? "" : " " + options.commandTail.substr(word);
  std::vector<std::pair<std::string, std::string>> commands;
  uint64_t again = tally.bad() - tally.count(Outcome::XPassed);
  if (!tally.failures().empty())
    commands.emplace_back("cupel show " + oneLine(tally.failures().front().name) + tail,
                          "what happened to the first failure");
  else if (!tally.unexpectedPasses().empty())
    commands.emplace_back("cupel show " + oneLine(tally.unexpectedPasses().front().name) + tail,
                          "the first unexpected pass");
  if (again)
    commands.emplace_back("cupel run" + oneLine(options.runWords) + " -R latest" + tail,
                          "again what failed or did not run (" + counted(again, "test") + ")");
  if (commands.empty())
    commands.emplace_back("cupel show " + run.id + tail, "this run again, any time");
  std::string text = "\n" + paint.head("Next:") + "\n";
  for (const auto &[command, meaning] : commands)
    text += fmt::format("  {}\n      {}\n", command, meaning);
  return text;
}

} // namespace

std::string testLine(const TestRecord &record, bool colour) {
  Paint paint{colour};
  std::string text = paint.of(record.outcome, fmt::format("{:<13}", upper(name(record.outcome)))) +
                     " " + oneLine(record.fullName());
  if (record.startedAt > 0 || record.seconds > 0)
    text += fmt::format(" ({})", durationText(record.seconds));
  if (std::string tries = triesText(record); !tries.empty())
    text +=
        paint.odd(record.flaky ? fmt::format(" [flaky: {}]", tries) : fmt::format(" [{}]", tries));
  if (record.outcome != Outcome::Passed) {
    bool reached = needsReason(record.outcome) && record.outcome != Outcome::NotRun;
    std::string why =
        whyText(reached ? record.lastStage : Stage::None,
                record.reasons.empty() ? "" : record.reasons.front().name, record.message);
    if (!why.empty())
      text += " " + why;
  }
  return text;
}

std::string summaryText(const RunInfo &run, const Tally &tally, const RunChanges *changes,
                        const TerminalOptions &options) {
  Paint paint{options.colour};
  std::string text;
  if (!tally.failures().empty()) {
    text += paint.head("Failures:") + "\n";
    for (size_t i = 0; i < tally.failures().size() && i < kMostFailures; ++i) {
      const Tally::Line &line = tally.failures()[i];
      text += fmt::format("  {} {} {}\n", paint.of(line.outcome, upper(name(line.outcome))),
                          oneLine(line.name),
                          whyText(line.lastStage, line.reason, cutTo(line.message, 200)));
      if (!line.explanation.empty())
        text += "      " + oneLine(line.explanation) + "\n";
      if (!line.again.empty())
        text += "      again: " + oneLine(line.again) + "\n";
    }
    if (uint64_t all = tally.failed(); all > kMostFailures)
      text += and_(all - kMostFailures, "cupel show " + run.id + " --failed");
    text += "\n";
  }
  text += countsLine(run, tally, paint);
  if (auto rule = run.environment.find("comparison"); rule != run.environment.end())
    text += "Judged by: " + oneLine(rule->second) + "\n";
  if (changes)
    text += changesText(*changes, paint);

  text += unjudgedText(run, tally, paint);
  if (!tally.unexpectedPasses().empty()) {
    text += "\n" +
            paint.loud(fmt::format(
                "XPASS: {} the configuration expects to fail now {}; take the expectation away:",
                counted(tally.count(Outcome::XPassed), "test"),
                tally.count(Outcome::XPassed) == 1 ? "passes" : "pass")) +
            "\n";
    const auto &lines = tally.unexpectedPasses();
    for (size_t i = 0; i < lines.size() && i < kMostXpassed; ++i)
      text += "  " + oneLine(lines[i].name) + "\n";
    if (uint64_t all = tally.count(Outcome::XPassed); all > kMostXpassed)
      text += and_(all - kMostXpassed, "cupel show " + run.id + " --failed");
  }
  if (uint64_t all = tally.onlyAsConfiguredCount()) {
    text += "\n" +
            paint.odd(fmt::format("{} by {} own comparators alone; --strict would fail {}:",
                                  counted(all, "test") + (all == 1 ? " passes" : " pass"),
                                  all == 1 ? "its" : "their", all == 1 ? "it" : "them")) +
            "\n";
    const auto &lines = tally.onlyAsConfigured();
    for (size_t i = 0; i < lines.size() && i < kMostChanges; ++i)
      text += fmt::format("  {}: {}\n", oneLine(lines[i].name),
                          oneLine(cutTo(lines[i].message, 200)));
    if (all > kMostChanges)
      text += and_(all - kMostChanges, "cupel show " + run.id);
  }
  if (uint64_t all = tally.illConditionedCount()) {
    text += "\n" +
            paint.odd(fmt::format("{} ill-conditioned, and limits are wide: rounding decides much",
                                  counted(all, "test") + (all == 1 ? " is" : " are"))) +
            "\n";
    const auto &lines = tally.illConditioned();
    for (size_t i = 0; i < lines.size() && i < kMostChanges; ++i)
      text += fmt::format("  {}: {}\n", oneLine(lines[i].name), oneLine(lines[i].message));
    if (all > kMostChanges)
      text += and_(all - kMostChanges, "cupel show " + run.id);
  }
  for (const auto &[why, count] : tally.notByPieces())
    text += "\n" + paint.odd(fmt::format("{} not judged by pieces, as a whole alone: {}",
                                         counted(count, "test") + (count == 1 ? " was" : " were"),
                                         oneLine(why))) +
            "\n";
  if (auto reasons = tally.reasons(); !reasons.empty()) {
    text += "\n" + paint.head("Top reasons:") + "\n";
    for (size_t i = 0; i < reasons.size() && i < kMostReasons; ++i)
      text += fmt::format("  {:>6}  {}\n", reasons[i].second, oneLine(reasons[i].first));
    if (reasons.size() > kMostReasons)
      text += and_(reasons.size() - kMostReasons, "cupel show " + run.id);
    if (tally.ambiguous())
      text += fmt::format("  {} fit more than one reason; the first is counted\n",
                          counted(tally.ambiguous(), "test"));
  }
  if (!tally.flaky().empty()) {
    text += "\n" + paint.head(fmt::format("Flaky: {}", tally.flaky().size())) + "\n";
    for (size_t i = 0; i < tally.flaky().size() && i < kMostFailures; ++i)
      text += fmt::format("  {}: {}\n", oneLine(tally.flaky()[i].name),
                          paint.odd("flaky: " + tally.flaky()[i].tries));
    if (tally.flaky().size() > kMostFailures)
      text += and_(tally.flaky().size() - kMostFailures, "cupel show " + run.id);
  }
  if (auto slowest = tally.slowest(); slowest.size() > 1 && slowest.front().seconds >= 0.1) {
    text += "\n" + paint.head("Slowest:") + "\n";
    for (const Tally::Line &line : slowest)
      if (line.seconds >= 0.1)
        text += fmt::format("  {:>11}  {}\n", durationText(line.seconds), oneLine(line.name));
  }
  if (!tally.guidance().empty()) {
    text += "\n" + paint.head("The configuration could say:");
    for (const auto &[advice, count] : tally.guidance())
      text += fmt::format(" {} {}", count, advice);
    text += "\n";
  }
  if (!tally.opCases().empty())
    text += "\n" + tally.opCases().text();
  return text + nextText(run, tally, options, paint);
}

} // namespace cupel::results
