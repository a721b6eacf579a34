// What a run leaves behind: one TestRecord for every selected test and one RunInfo for the run. The
// runner makes them, the journal and the store keep them, reports are made from them and from
// nothing else. Plain values with a JSON form (RecordJson.h); fields are only ever added.
#pragma once

#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cupel::results {

/// Every selected test ends in exactly one of these.
enum class Outcome : uint8_t {
#define CUPEL_OUTCOME(outcome, name, family, meaning) outcome,
#include "cupel/results/Outcomes.def"
};

/// What outcomes have in common for those who count, colour, judge or learn from them. Nobody else
/// needs to know an outcome by name but who makes it.
enum class Family : uint8_t {
  Pass,
  Failure, ///< It came to its end and did not do what is expected.
  KnownFailure,
  UnexpectedPass,
  Skip,
  Unjudged, ///< It ran, and nobody knows whether what it gave is right.
  Crash,
  Limit,    ///< Of time or memory.
  NoResult, ///< It had no turn, or not all of it.
};

inline constexpr Family kOutcomeFamilies[] = {
#define CUPEL_OUTCOME(outcome, name, family, meaning) Family::family,
#include "cupel/results/Outcomes.def"
};
inline constexpr size_t kOutcomeCount = std::size(kOutcomeFamilies);

constexpr Family familyOf(Outcome outcome) { return kOutcomeFamilies[size_t(outcome)]; }

/// How far a test came. The worker announces each stage as it enters it.
enum class Stage : uint8_t { None, Load, Frontend, Compile, Execute, Reference, Compare, Done };

/// `passed`, `xfailed`, `timed out`, `out of memory`, `not run`, ...; `load`, `frontend`, ...
std::string_view name(Outcome outcome);
std::string_view name(Stage stage);
std::optional<Outcome> parseOutcome(std::string_view text);
std::optional<Stage> parseStage(std::string_view text);

/// Whether the outcome makes the run's exit code 1 (a failure or an unexpected pass). What a run
/// without any verdict ends in is its session's rule.
constexpr bool isBad(Outcome outcome) {
  Family family = familyOf(outcome);
  return family != Family::Pass && family != Family::KnownFailure && family != Family::Skip &&
         family != Family::Unjudged;
}
/// Whether the test itself failed, in whatever way.
constexpr bool isFailure(Outcome outcome) {
  Family family = familyOf(outcome);
  return family == Family::Failure || family == Family::Crash || family == Family::Limit;
}
/// Whether it came to its end, so that its duration is that of the test.
constexpr bool ranThrough(Outcome outcome) {
  Family family = familyOf(outcome);
  return family == Family::Pass || family == Family::Failure || family == Family::KnownFailure ||
         family == Family::UnexpectedPass || family == Family::Unjudged;
}
/// Whether it says something of the test: that it is right, or that it is not.
constexpr bool isVerdict(Outcome outcome) {
  Family family = familyOf(outcome);
  return family != Family::Unjudged && family != Family::Skip && family != Family::NoResult;
}
/// Whether somebody should say why it did not pass.
constexpr bool needsReason(Outcome outcome) {
  Family family = familyOf(outcome);
  return family != Family::Pass && family != Family::UnexpectedPass && family != Family::Skip &&
         family != Family::Unjudged;
}

struct StageTime {
  Stage stage = Stage::None;
  double seconds = 0;
  bool operator==(const StageTime &) const = default;
};

/// Adds a stage at the end, or to the time of the one it comes to again.
void addStageTime(std::vector<StageTime> &stages, Stage stage, double seconds);

/// What the comparison of one output found.
struct ComparisonRecord {
  uint32_t output = 0;
  bool passed = false;
  std::optional<double> pcc, maxAbsolute, maxRelative, relativeL2;
  std::optional<double> pccThreshold, atolThreshold, rtolThreshold;
  bool pccAsserted = false, atolAsserted = false, allcloseAsserted = false;
  std::string sentence; ///< The verdict's sentence.
  /// By which rule `passed` was decided: `strict` (by noise), `configured` (comparators that the
  /// configuration or the case names), `pcc` (the default of --compare pcc). Empty: none of them.
  std::string rule;
  /// What the strict rule says, whichever decided; its sentence stands here unless it decided.
  std::optional<bool> strictPassed;
  std::string strictSentence;
  std::string precision; ///< That the device declares, as --precision.
  /// Noise as a share of the output, where it was measured; how far the worst element and the whole
  /// are off, in units of their noise (their limits are 8 and 4).
  std::optional<double> noise, worstInNoise, wholeInNoise;
  /// Passed by its own comparators, and would not by the strict rule.
  bool passesOnlyAsConfigured() const { return passed && strictPassed && !*strictPassed; }
  bool operator==(const ComparisonRecord &) const = default;
};

/// Why a test failed, by the table of reasons.
struct ReasonRecord {
  std::string name, description, component, summary;
  bool operator==(const ReasonRecord &) const = default;
};

/// A file that the test left behind, kept by content.
struct ArtifactRecord {
  std::string name, sha256;
  uint64_t bytes = 0;
  bool operator==(const ArtifactRecord &) const = default;
};

struct TestRecord {
  std::string suite, id, file;
  std::string framework, modelPath, variant, parallelism, runMode, modelName, group, task, source;
  std::string phase, arch;
  uint32_t part = 0, sequenceLength = 0, batchSize = 0;
  std::vector<std::string> markers;
  std::string testStatus;    ///< The configuration's status: EXPECTED_PASSING, ...
  std::string bringupStatus; ///< After the run: PASSED, INCORRECT_RESULT, ...

  Outcome outcome = Outcome::NotRun;
  Stage lastStage = Stage::None; ///< The last one entered.
  std::vector<StageTime> stages;
  double startedAt = 0; ///< Seconds since the epoch; 0 where it never started.
  double seconds = 0;
  uint64_t peakMemoryBytes = 0;
  uint32_t attempts = 0; ///< How often it was tried, 1 for most.
  bool flaky = false;    ///< Its tries did not all end alike.
  std::vector<Outcome> tryOutcomes;
  std::string device;                  ///< Which device or worker slot ran it.
  std::optional<int> exitCode, signal; ///< Of a worker that died.

  std::string errorClass; ///< What kind of error, e.g. `invalid_argument`, `FileNotFoundError`.
  std::string message;    ///< One line: why it failed, was skipped or not run.
  std::string output;     ///< What the test printed, cut at a cap, with a line saying so.
  std::vector<ComparisonRecord> comparisons;
  std::vector<ReasonRecord> reasons; ///< All that match, the first is the one reported.
  std::vector<std::string> guidance; ///< ENABLE_PCC, RAISE_PCC, RM_XFAIL, ADD_CONFIG, ...
  std::vector<ArtifactRecord> artifacts;
  std::vector<std::string> shapesTaken; ///< Of --shape, as typed: those its model has inputs for.
  std::string shapesNotTaken;           ///< A sentence about the others; empty: none are left.
  std::string reproduction; ///< Of a failed test: the folder with its workload, by its whole path.
  std::map<std::string, std::string> notes; ///< Anything else worth keeping, by name.

  std::string fullName() const { return suite + "::" + id; }
  /// The first comparison that only the configured comparators let pass; null: there is none.
  const ComparisonRecord *passesOnlyAsConfigured() const {
    for (const ComparisonRecord &comparison : comparisons)
      if (comparison.passesOnlyAsConfigured())
        return &comparison;
    return nullptr;
  }
  bool operator==(const TestRecord &) const = default;
};

struct RunInfo {
  std::string id;                    ///< 20261115-081530-4f2a: sorts by time, unique on one store.
  double startedAt = 0, endedAt = 0; ///< Seconds since the epoch; endedAt 0: it did not end.
  std::vector<std::string> commandLine;
  std::string arch, device, plugin; ///< plugin: path and version where there is one.
  uint32_t selected = 0;
  int exitCode = -1;
  std::map<std::string, std::string> environment; ///< versions, git commit, host, cpus, ...
  std::string shard; ///< Of a journal that holds a part of the run: which one.
  bool operator==(const RunInfo &) const = default;
};

} // namespace cupel::results
