// What the end of a run says, gathered one record at a time: counts by outcome, reasons, the
// slowest, the flaky, the unexpected passes. Every report takes its numbers from here, so that they
// agree. It keeps short texts of what it names and never whole records.
#pragma once

#include "cupel/results/Record.h"
#include "cupel/results/report/OpCaseMetrics.h"

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace cupel::results {

class Tally {
public:
  /// One test, as much of it as a summary line needs.
  struct Line {
    std::string name; ///< suite::id
    Outcome outcome = Outcome::NotRun;
    Stage lastStage = Stage::None;
    double seconds = 0;
    std::string reason, message;
    std::string tries; ///< `passed on try 2 of 3`
    std::string again; ///< The command that runs its reproduction.
    std::string explanation; ///< What --explain found out, or why it did not.
  };

  void add(const TestRecord &record);

  uint64_t total() const;
  uint64_t count(Outcome outcome) const { return counts[size_t(outcome)]; }
  /// Tests whose outcome makes the run fail.
  uint64_t bad() const { return countOf(isBad); }
  /// Tests that failed, in whatever way.
  uint64_t failed() const { return countOf(isFailure); }
  /// Sum of all tests' times.
  double seconds() const { return totalSeconds; }

  /// Names of first reasons with their counts, most frequent first.
  std::vector<std::pair<std::string, uint64_t>> reasons() const;
  /// Longest first, at most kSlowest.
  std::vector<Line> slowest() const;
  const std::vector<Line> &flaky() const { return flakyLines; }
  const std::vector<Line> &unexpectedPasses() const { return xpassedLines; }
  /// Those of which nobody knows whether they are right.
  const std::vector<Line> &unjudged() const { return unjudgedLines; }
  /// Tests that were found right or wrong.
  uint64_t judged() const { return countOf(isVerdict); }
  /// Those that failed, in whatever way, in the order they ended.
  const std::vector<Line> &failures() const { return failureLines; }
  /// Tests with reasons whose `ambiguous` note is set: more than one reason fits.
  uint64_t ambiguous() const { return ambiguousCount; }
  const std::map<std::string, uint64_t> &guidance() const { return guidanceCounts; }
  const std::map<std::string, uint64_t> &bringup() const { return bringupCounts; }
  const OpCaseMetrics &opCases() const { return operatorCases; }
  /// Those that their own comparators let pass and the strict rule would not, with what it says.
  const std::vector<Line> &onlyAsConfigured() const { return laxLines; }
  uint64_t onlyAsConfiguredCount() const { return laxCount; }
  /// Those whose limits are wide because rounding decides their results, with how much.
  const std::vector<Line> &illConditioned() const { return unsteadyLines; }
  uint64_t illConditionedCount() const { return unsteadyCount; }
  /// Tests that should have been judged piece by piece and were not, by the reason.
  const std::map<std::string, uint64_t> &notByPieces() const { return wholeCounts; }

  static constexpr size_t kSlowest = 5;

private:
  uint64_t countOf(bool (*wanted)(Outcome)) const;

  std::array<uint64_t, kOutcomeCount> counts{};
  double totalSeconds = 0;
  uint64_t ambiguousCount = 0, laxCount = 0, unsteadyCount = 0;
  std::map<std::string, uint64_t> wholeCounts;
  OpCaseMetrics operatorCases;
  std::vector<Line> laxLines, unsteadyLines;
  std::map<std::string, uint64_t> reasonCounts, guidanceCounts, bringupCounts;
  std::vector<Line> slow, flakyLines, xpassedLines, unjudgedLines, failureLines;
};

/// `passed on try 2 of 3` from a record's attempts and its note `tries_allowed`; empty where it was
/// tried once.
std::string triesText(const TestRecord &record);

/// `explained: ...` or `not explained: ...` of a test that --explain looked at; else empty.
std::string explanationOf(const TestRecord &record);

/// The commands that run a failed test's reproduction: with `cupel run` on the device it failed on,
/// then, where that is a plugin's file, with `cupel-device`. None where it has no reproduction.
std::vector<std::string> commandsAgain(const TestRecord &record);

} // namespace cupel::results
