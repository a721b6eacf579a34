// Says why a test fails on a device: runs it there in a process of its own, takes it apart, and
// makes an explanation of what it finds. Used by the worker, for `cupel explain` and for the tests
// that `cupel run --explain` looks at. What it found is remembered by content; it changes no record
// and no verdict.
#pragma once

#include "cupel/results/Explanation.h"
#include "cupel/testbench/worker/Blame.h"

namespace cupel::testbench::worker {

/// What fails every other time fails so often in a row once in a thousand.
inline constexpr uint32_t kTimesToBeSure = 10;

/// How a search goes about it.
struct ExplainOptions {
  uint64_t memoryBytes = uint64_t(2) << 30; ///< Of intermediate values.
  double probeSeconds = 20;                 ///< Of one execution on the device.
  uint32_t tries = 10;                      ///< Of what fails now and then.
  unsigned jobs = 1;                        ///< Processes with the device at once.
  std::string reducedFolder;                ///< Where the smallest program goes; empty: a cache.
  std::string keepFolder;                   ///< Where intermediate values go; empty: nowhere.
  bool bisectPasses = false; ///< Which rewrite of our own compiler makes it wrong.
  bool isFresh = false;                     ///< What was found before is not looked at.
};

class Explainer {
public:
  struct Seams {
    /// Runs a test in this process, with all looks at it that a run has; for what shows over several
    /// executions of one executable only. Must not be called for a test that may not come to its end.
    std::function<results::TestRecord(Prepared)> runHere;
    /// Saves a program as a workload folder.
    std::function<Status(Prepared &, const std::string &folder)> save;
    std::function<void(const std::string &line)> tell;
  };

  /// `request` and `reference` must outlive this.
  Explainer(const Request &request, Device &reference, ExplainOptions options, Seams seams);

  /// An error says why nothing can be said.
  Result<results::Explanation> explain(const Prepared &given);

  // For those who go on from here, after a search.
  /// The smallest program that fails; null where nothing was found, or where it was remembered.
  const Prepared *smallest() const { return kept ? &*kept : nullptr; }
  /// The test without its checks.
  const Prepared *plainTest() const { return plain ? &*plain : nullptr; }
  const TriedPiece &failureOfTest() const { return failure; }
  Prober &probing() { return prober; }
  /// What tries programs and counts those that fail as the test does.
  BlameSeams seamsForSearch() { return seamsLike(failure); }

private:
  Result<results::Explanation> search(const Prepared &given);
  /// Whether the test fails on the device, and how; fills `failure`.
  Result<bool> failsAtAll(const Prepared &given, results::Explanation &found);
  void searchHere(results::Explanation &found);
  /// Whether results are wrong that no operation computed: then there is no other answer.
  Result<bool> isAnyProgram(const BlameSeams &like, results::Explanation &found);
  /// Whether one of the blamed operations alone fails when it is executed more often.
  bool failsNowAndThen(const Blame &blame);
  /// Looks for other inputs of the test's kind with which one execution is wrong; `plain` and
  /// `failure` are theirs then.
  bool failsWithOtherInputs(const Prepared &given, results::Explanation &found);
  /// Whether the device gives what others expect while the reference gives something else: an answer.
  bool isGoldenAlone(const TensorLists &expected, const std::string &whose,
                     results::Explanation &found);
  /// Whether parts of a test that is right as a whole are wrong when they are fed right values: then
  /// the first of them is the answer.
  bool failsInParts(uint32_t pieces, results::Explanation &found);
  /// Whether the test's own checks fail while everything is right by the reference: an answer.
  bool failsOwnChecks(const Prepared &given, results::Explanation &found);
  /// Names all operations of a program that is a few of them only.
  bool nameFew(results::Explanation &found);
  /// Names what can be named of a program that no part of fails, or that has no parts.
  void nameUncut(results::Explanation &found);
  Status blameIt(results::Explanation &found);
  void tell(const Blame &blame, results::Explanation &found);
  void confirm(Prepared &program, results::Explanation &found);
  void tryOtherValues(Prepared &program, results::Explanation &found);
  void trySiblings(const Blame &blame, results::Explanation &found);
  void measureDepths(results::Explanation &found);
  void keepValues(results::Explanation &found);
  void save(Prepared &program, results::Explanation &found);
  /// Finds the rewrite of our own compiler without which the test does not fail.
  void bisectPasses(results::Explanation &found);
  BlameSeams seamsLike(const TriedPiece &failure);
  std::string keyOf(const Prepared &given) const;

  const Request &request;
  Device &reference;
  ExplainOptions options;
  Seams seams;
  Prober prober;
  std::optional<Prepared> plain; ///< The test without checks, with the reference's results.
  TriedPiece failure;            ///< How it fails.
  uint32_t triesOfEach = 1;      ///< Where it fails now and then.
  std::optional<Prepared> kept;  ///< The smallest that fails.
  bool isEvaluated = true;       ///< Otherwise the reference cannot evaluate it.
};

/// Whether it is an operation that failed alone, and holds no others that may be the reason.
bool isAloneGuilty(const Blame &blame);

/// An operation as explanations name it.
results::Explanation::Operation forPeople(const BlamedOperation &one);

/// Zeros of a program's results: for what does not come to its end, whatever the values.
Result<TensorLists> zerosFor(const Prepared &program);

} // namespace cupel::testbench::worker
