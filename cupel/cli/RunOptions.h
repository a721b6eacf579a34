// The options of `cupel run`, and what they mean for collecting and running. Parsed again from the
// journal when a run is resumed.
#pragma once

#include "cupel/cli/CommandLine.h"
#include "cupel/runtime/DeviceName.h"
#include "cupel/support/Error.h"
#include "cupel/testbench/session/Session.h"

#include <optional>
#include <string>
#include <vector>

namespace cupel::cli {

struct RunOptions {
  /// Which tests; without what only the store knows. With --resume its arguments are the run.
  testbench::matrix::CollectOptions collect;
  std::string repeat; ///< -R
  std::string job;    ///< FILE:NUMBER, of a plan of jobs.
  std::string on;     ///< slurm, slurm:PROFILE; empty: here.
  std::string task;   ///< FOLDER:CHUNK, of a run on Slurm, which starts us with it.
  bool attach = false, cancel = false; ///< Of a run on Slurm, which the arguments name.
  std::string results, junit, json, markdown, memory, deviceLauncher;
  std::vector<std::string> reasons; ///< Files of failure reasons besides those that ship.
  std::vector<std::string> devices, stageTimeouts;
  std::vector<std::string> compilerOptions; // NAME=VALUE.
  std::vector<std::string> fusions;         // Files.
  unsigned jobs = 0;
  double timeout = 300;
  uint32_t retries = 0, repeats = 0; ///< repeats 0: where it is cheap.
  uint64_t seed = 0;
  /// Nothing is waved through: noise judges even where a comparator is configured, what our own
  /// plugin cannot split over devices fails, and so does a run with unjudged tests.
  bool strict = false;
  std::string compare;   ///< How results without a comparator are judged: strict or pcc.
  std::string precision; ///< What devices compute in; empty: what their names or --arch say.
  uint32_t noise = 2;    ///< Jittered evaluations.
  static constexpr uint32_t kAsPrecisionAsks = UINT32_MAX;
  uint32_t pieces = kAsPrecisionAsks; ///< Into which tests are cut.
  uint32_t explain = 0;  ///< Of so many failures the operation to blame is found,
  double explainTime = 300; ///< in so many seconds for all of them.
  /// How far tests go; op by op: what an operation is, where the tables go, seconds of each.
  std::string depth = "execute", opByOpBackend = "stablehlo", opByOpFolder;
  double opTimeout = 30;
  bool forceRun = false, runXfail = false, resume = false, quiet = false;
  /// Of operator cases: the interpreter, and what is under test (`cupel`, or a backend of
  /// torch.compile).
  std::string python, compileBackend;
  std::vector<std::string> shapes; ///< NAME=2x3, as typed.
  std::string keepFailed; ///< Where failed tests are saved; empty: below the results; `none`.
  bool listModels = false, listCases = false;
  bool noModelRequirements = false, verboseRequirements = false;
  std::string dtype; ///< Of PyTorch's models.
  bool noDropout = false;
  std::string weights = "pretrained"; ///< Of models: or `random`.
  static constexpr uint32_t kAllLayers = UINT32_MAX;
  uint32_t layers = kAllLayers; ///< Of models with random weights, at most.

  /// Parses; an exit code where the verb must not go on.
  std::optional<int> parse(const Arguments &arguments);

  /// What a run is begun or resumed with; `words` are those of the command line.
  Result<testbench::session::SessionOptions> session(const std::vector<std::string> &words) const;
  /// The devices by name, as one text.
  std::string deviceText() const;
  /// The device of that name, with what other options say of it.
  runtime::DeviceName named(const std::string &name) const;
  /// A device as a worker is told of it: with the command it is reached through.
  std::string launched(const std::string &device) const {
    return deviceLauncher.empty() ? device : device + "@" + deviceLauncher;
  }

private:
  Result<testbench::runner::RunnerOptions> running() const;
  /// How results are judged, from the options and the project.
  Status setJudging(testbench::runner::RunnerOptions &run) const;
};

/// A line about runs that belongs to none.
void sayOfRun(const std::string &line);

/// `4G`, `512M`, `1.5GiB`, `100000`: bytes.
Result<uint64_t> parseByteCount(const std::string &text);

} // namespace cupel::cli
