// One run of tests, whoever started it: collects, runs, journals, stores and reports, and says how
// that ended. `cupel run` hands it its options as a value. It reads no command line, prints nothing
// but through the reporter it is given and the remarks of `say`, and links no MLIR.
#pragma once

#include "cupel/results/report/Reporter.h"
#include "cupel/results/store/Store.h"
#include "cupel/support/Error.h"
#include "cupel/testbench/matrix/Collect.h"
#include "cupel/testbench/runner/Journal.h"
#include "cupel/testbench/runner/Runner.h"
#include "cupel/testbench/slurm/Profile.h"
#include "cupel/testbench/triage/Reasons.h"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace cupel::testbench::session {

struct SessionOptions {
  /// Which tests; without what only the store knows.
  matrix::CollectOptions collect;
  /// How they run; likewise.
  runner::RunnerOptions running;
  bool chooseJobs = false; ///< So many workers as pay for their start, at most `running.jobs`.
  std::string repeat;      ///< -R: empty, or the run whose failures are wanted.
  std::string device;      ///< The devices as one text, by which outcomes are remembered.
  std::string weights = "pretrained"; ///< Of models: or `random`.
  uint32_t layers = 0;                ///< Of models with random weights, at most; 0: all.
  std::string results;     ///< Folder of the results store.
  std::string database;    ///< Where outcomes are remembered, if not there.
  std::string modelDtype;     ///< In which PyTorch's loaders are asked for models; empty: bfloat16.
  bool noDropout = false;     ///< Models train without what they would drop.
  bool unjudgedFails = false; ///< One unjudged test makes the run fail, as a failed one does.
  std::string junit, json, markdown; ///< Reports to write; empty: none.
  std::vector<std::string> reasons;  ///< Files of failure reasons besides those that ship.
  std::vector<std::string> commandLine;
  std::map<std::string, std::string> environment; ///< What else the run happens in.
  /// Where set, failed tests are kept within these limits in the results folder.
  std::optional<runner::KeepOptions> keepByDefault;

  /// Whom to tell what happens in the run.
  std::function<std::unique_ptr<results::Reporter>(const results::RunInfo &)> makeReporter;
  /// What belongs to no run: a store that cannot be used, a run that was killed.
  std::function<void(const std::string &line)> say;
  /// What collecting had to say.
  std::function<void(const matrix::Collection &)> remark;
};

/// How it ended: the exit code, and what the reporter has not told already.
struct Ending {
  ExitCode code = kExitSuccess;
  std::string error = {}; ///< What went wrong.
  std::string note = {};  ///< What else to say.
};

/// The options of a run again, from the command line that it was begun with; nothing where that
/// cannot be followed any more, which has then been told.
using ReadOptions =
    std::function<std::optional<SessionOptions>(const std::vector<std::string> &commandLine)>;

/// Where a run has its files, and which one is to go on.
struct ResumeRequest {
  std::string results;  ///< Folder of the results store.
  std::string database; ///< As of SessionOptions.
  std::string run;     ///< Its id, or how that begins; empty: the newest that is not done.
  std::function<void(const std::string &line)> say;
};

/// Whoever follows a run on Slurm once more, and what he wants of it.
struct FollowRequest {
  ResumeRequest run;     ///< Which; empty: the newest that goes on.
  bool cancel = false;   ///< It is called off,
  bool goOn = false;     ///< or goes on although it was.
};

class Session {
public:
  Ending begin(SessionOptions given);
  /// Goes on with a run that was killed or interrupted, as it was begun and from where it was.
  Ending resume(const ResumeRequest &request, const ReadOptions &read);

  /// Cuts the selection into jobs of Slurm and follows them until every test has its outcome.
  Ending beginOnSlurm(SessionOptions given, const slurm::Profile &profile);
  /// Follows a run that was begun so, from wherever the results can be seen.
  Ending followOnSlurm(const FollowRequest &request, const ReadOptions &read);
  /// Is one of its jobs: runs what is claimed by files, that of chunk `chunk` first.
  Ending runTask(const std::string &folder, uint32_t chunk, const ReadOptions &read);

private:
  Status useResults(const std::string &folder);
  void openStore();
  void learn();
  Result<std::vector<TestItem>> select();
  Status loadReasons();
  /// Takes an id that nobody else has, and says what the run is.
  void nameRun(size_t selected);
  Ending go(std::vector<TestItem> items, std::unordered_map<std::string, results::TestRecord> done);
  /// Runs them as the options say; `finished` hears of every outcome that is safe on disk.
  Result<runner::RunOutcome>
  runTests(const std::vector<TestItem> &items,
           const std::unordered_map<std::string, results::TestRecord> &done,
           const std::function<void(size_t test, const results::TestRecord &)> &finished);
  Ending follow(const std::string &folder, bool cancel, bool goOn);
  /// What a run ends in that has an outcome for every test.
  ExitCode exitCodeOf(bool isAnyBad, bool isAnyJudged, bool isAnyUnjudged) const;
  /// The end of a run whose outcomes are in the journal: summary, changes, reports.
  Ending report(const std::vector<results::TestRecord> &records);
  Ending finish(runner::RunOutcome outcome, size_t told, size_t selected);
  Status writeReports(const std::vector<results::TestRecord> &records,
                      const results::RunChanges *changes);

  SessionOptions options;
  std::optional<results::Store> store;
  std::vector<results::KnownTest> known;
  std::optional<std::vector<std::string>> only; ///< Of a resumed run: what was selected.
  std::string nothingSelected;                  ///< Why there is nothing to run.
  size_t collectionErrors = 0;                  ///< Files that could not be read.
  results::RunInfo info;
  std::unique_ptr<runner::Journal> journal;
  std::unique_ptr<results::Reporter> reporter;
  std::optional<triage::ReasonTable> reasons;
  std::string task; ///< Where this is one of many: its name.
};

/// What -R `wanted` leaves out: by full name, whether a test succeeded when it last had an outcome
/// on this architecture and device; where a run is named rather than `latest`, in that run first. A
/// test it has nothing on is new.
Result<std::unordered_map<std::string, bool>> succeededBefore(results::Store &store,
                                                              const std::string &wanted,
                                                              const std::string &arch,
                                                              const std::string &device);

} // namespace cupel::testbench::session
