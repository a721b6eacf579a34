// The memory of a project: every run, every outcome, its stages, figures and reasons, in one SQLite
// file or a PostgreSQL database, and artifacts by content in a folder. `cupel run` writes it, the verbs show, diff and history
// read it, several processes at once. What is in the journal of a run must never depend on it: a
// store that cannot be written (a full disk) costs nothing but an import later.
//
// A store is a folder:
//   results.sqlite            runs, tests, outcomes (docs/reference/results.md names the tables);
//                             or these are in the database that the place names
//   journals/RUN.jsonl        what `cupel run` wrote, one JSON object a line (Journal.h)
//   artifacts/ab/abcdef...    files by the SHA-256 of their contents
#pragma once

#include "cupel/results/Record.h"
#include "cupel/results/store/Place.h"
#include "cupel/support/Error.h"

#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace cupel::results {

/// One outcome in brief, for lists and comparisons of runs.
struct OutcomeRow {
  std::string suite, id, run;
  Outcome outcome = Outcome::NotRun;
  Stage lastStage = Stage::None;
  double startedAt = 0, seconds = 0;
  uint64_t peakMemoryBytes = 0;
  bool flaky = false;
  std::optional<double> pcc;         ///< The worst of all outputs (NaN is worse than any number).
  std::optional<double> maxAbsolute; ///< The largest of all outputs.
  std::string reason;                ///< Name of the first reason.
  std::string message;

  std::string fullName() const { return suite + "::" + id; }
};

/// What earlier runs teach about a test: for scheduling, for `-R latest` and for "what changed".
struct KnownTest {
  std::string suite, id;
  std::string run; ///< The last one it had an outcome in.
  Outcome outcome = Outcome::NotRun;
  double seconds = 0;           ///< Of its last full run; 0 where it never ran.
  uint64_t peakMemoryBytes = 0; ///< 0 where nothing is known.

  std::string fullName() const { return suite + "::" + id; }
};

/// One outcome as overviews of many tests show it.
struct OutcomeBrief {
  OutcomeRow row;
  TestRecord record;        ///< Its texts, markers, guidance and notes alone (readBriefly).
  std::string arch, device; ///< Of its run.
};

/// How many outcomes of a run ended alike.
struct OutcomeCount {
  Outcome outcome = Outcome::NotRun;
  std::string bringupStatus;
  uint64_t count = 0;
  double seconds = 0; ///< Of all of them.
};

/// One run in brief.
struct RunRow {
  RunInfo info;
  uint64_t outcomes = 0; ///< How many tests have one; fewer than selected where it was killed.
  std::vector<std::pair<Outcome, uint64_t>> counts; ///< In the order of Outcome, none that are 0.
};

struct ImportSummary {
  std::string run;
  uint64_t added = 0;     ///< Outcomes the store did not have.
  uint64_t replaced = 0;  ///< Outcomes a later line of the journal put right (a resumed run).
  uint64_t unchanged = 0; ///< Outcomes the store had already.
  uint64_t damaged = 0;   ///< Lines that could not be read; the first one is described below.
  std::string firstDamage;
};

/// What became of runs that were too old.
struct PruneSummary {
  std::vector<std::string> runs;
  uint64_t outcomes = 0;
};

/// What a look at everything in a store found.
struct CheckSummary {
  uint64_t runs = 0, outcomes = 0;
  std::vector<std::string> problems; ///< A sentence each, with what to do.
};

class Store {
public:
  enum class Access {
    ReadWrite, ///< Makes the folder and the database where they are missing, migrates old ones.
    ReadOnly,  ///< The store must exist. Writing is refused; nothing is migrated.
  };
  static Result<Store> open(const StorePlace &place, Access access = Access::ReadWrite);
  /// A folder, or the address of a database whose files are kept in `.cupel/results` here.
  static Result<Store> open(const std::string &place, Access access = Access::ReadWrite);
  Store(Store &&) noexcept;
  Store &operator=(Store &&) noexcept;
  ~Store();

  const std::string &folder() const;
  /// What messages call it: the folder, or the address of the database.
  const std::string &where() const;
  /// Where the runner keeps the journal of a run (its folder exists).
  std::string journalPath(std::string_view run) const;

  // --- Writing. Each call is one transaction: all of it is kept, or none.

  /// Gives the run an id where it has none (`newRunId`), a start time where that is 0, and enters
  /// it. A run that is there already (a resumed one) is updated.
  Status beginRun(RunInfo &run);
  /// Adds outcomes to a run; one that the run already has for that test is replaced.
  Status add(std::string_view run, std::span<const TestRecord> records);
  /// Enters when and how the run ended, and its environment as it is now.
  Status endRun(const RunInfo &run);

  /// Reads a journal and adds what the store does not have. Any number of times, also while the
  /// journal is still being written: a last line without its line break is left for the next time.
  Result<ImportSummary> importJournal(const std::string &path);
  /// Imports every journal in the journals folder that has grown since it was last imported, e.g.
  /// of a run that was killed or whose disk was full.
  Result<std::vector<ImportSummary>> importPending();

  /// Keeps a file's contents under their hash; the same contents are kept once.
  Result<ArtifactRecord> keepArtifact(std::string name, std::string_view bytes);
  Result<ArtifactRecord> keepArtifactFile(std::string name, const std::string &path);
  std::string artifactPath(std::string_view sha256) const;

  // --- Keeping it in order.

  /// Removes the outcomes of runs that began before that time (seconds since the epoch); the runs
  /// and the numbers of their outcomes stay, and their journals are not imported again.
  Result<PruneSummary> prune(double before);
  /// When the run was pruned; 0: never.
  Result<double> prunedAt(std::string_view run);
  /// Writes a run as a journal, which any store imports.
  Status exportRun(std::string_view run, std::ostream &out);
  /// Looks whether everything fits together, and whether journals hold more than the store.
  Result<CheckSummary> check();

  // --- Reading.

  /// `latest`, `latest~N`, an id or the only run whose id starts with `text`; the error names near
  /// ones.
  Result<std::string> resolveRun(std::string_view text);
  /// A full name, or an id where only one suite has it; the error names near ones.
  Result<std::string> resolveTest(std::string_view text);

  Result<RunInfo> run(std::string_view id);
  /// The newest `limit` runs, newest first.
  Result<std::vector<RunRow>> runs(size_t limit = 100);
  /// The newest run before `id`; nothing where it is the first.
  Result<std::optional<std::string>> runBefore(std::string_view id);

  /// Everything that is known of one test in one run; nothing where it has no outcome there.
  Result<std::optional<TestRecord>> record(std::string_view run, std::string_view fullName);
  /// Hands out a run's records one at a time, in the order of their names.
  Status forEachRecord(std::string_view run, const std::function<void(const TestRecord &)> &visit);
  /// All outcomes of a run in brief, in the order of their names.
  Result<std::vector<OutcomeRow>> outcomes(std::string_view run);
  /// A test's outcomes, newest first.
  Result<std::vector<OutcomeRow>> history(std::string_view fullName, size_t limit = 100);
  /// How long tests took in the last `runs` runs on that architecture and device, by full name: of
  /// those that came to their end.
  Result<std::unordered_map<std::string, std::vector<double>>>
  durations(std::string_view arch, std::string_view device, size_t runs = 20);
  /// All tests that ever had an outcome on that architecture and device.
  Result<std::vector<KnownTest>> known(std::string_view arch, std::string_view device);


  /// Every test's last outcome on each architecture and device, in the order of their names.
  Status forEachLatest(const std::function<void(const OutcomeBrief &)> &visit);
  /// The same of one run.
  Status forEachBrief(std::string_view run,
                      const std::function<void(const OutcomeBrief &)> &visit);
  Result<std::vector<OutcomeCount>> counts(std::string_view run);
  /// A text that is another one once runs or outcomes were added, replaced or ended: what was read
  /// before is then out of date.
  Result<std::string> state();

private:
  struct Impl;
  explicit Store(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

/// `20261115-081530-4f2a`: UTC, and the fraction of the second in 16 bits, so that ids sort by
/// time.
std::string newRunId(double secondsSinceEpoch);

/// The worst PCC and the largest absolute difference of a record's comparisons.
std::optional<double> worstPcc(const TestRecord &record);
std::optional<double> largestAbsolute(const TestRecord &record);

} // namespace cupel::results
