// The presets of a CI: JSON files that list jobs, each with a machine, a part of the tests, marker
// and keyword expressions and a number of groups, or include other such files. From them come the
// job matrix that CI takes (`cupel ci-matrix`) and the selection of one job (`--preset`). Reads
// files, runs nothing.
#pragma once

#include "cupel/support/Error.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cupel::testbench::selection {

/// One job, before it is split into groups.
struct PresetJob {
  std::string file;    ///< The file it stands in, which may be an included one.
  uint32_t number = 0; ///< Which entry of that file, from 1.
  std::string name;
  std::string runsOn;    ///< The label of the machine, as written.
  std::string arch;      ///< What --arch would be; empty where the job passes none.
  std::string path;      ///< `dir`: what pytest would be given.
  std::string markers;   ///< `test-mark`: the -m expression.
  std::string keyword;   ///< `contains`: the -k expression.
  std::string arguments; ///< `args`: further options for pytest.
  uint32_t groups = 1;   ///< `parallel-groups`.
  bool sharedRunners = false, forked = false, forgeModels = false;
  /// The whole entry as JSON text, fields in their order, `shared-runners` a boolean.
  std::string json;

  /// What is known of the tests it selects, where somebody looked.
  struct Measured {
    uint32_t tests = 0;
    double seconds = 0; ///< All of them, one after another.
  };
  std::optional<Measured> measured;
  /// Of each group, where a plan of jobs was made: its number there from 1, and its time-out.
  struct Planned {
    uint32_t number = 0, timeoutMinutes = 0;
  };
  std::vector<Planned> planned;
  /// Splits it into as many groups as it takes for none to last longer, if its tests were measured.
  void splitByDuration(double secondsOfAGroup);

  /// `file: entry 3 (run_jax on n150)`, for messages.
  std::string where() const;
};

struct PresetJobs {
  std::vector<PresetJob> jobs;
  std::vector<std::string> warnings; ///< Fields that nobody reads.
};

/// The jobs of a file, those of included files in their place.
Result<PresetJobs> loadPreset(const std::string &path);

/// The jobs that `FILE`, `FILE:name`, `FILE:name@machine` or `FILE:#3` (the third entry) means; an
/// error if there are none.
Result<PresetJobs> findPresetJobs(const std::string &spec);

/// Labels of shared machines: what a job with `shared-runners` asks for instead of its own label.
using RunnerLabels = std::map<std::string, std::string, std::less<>>;
const RunnerLabels &sharedRunnerLabels();

/// The job matrix as JSON text: a list with one object for each group of each job, `group-id` from
/// 1; jobs on shared machines have their label mapped and keep it as `runs-on-original`; those whose
/// tests were measured say `tests`, of the whole job, and `estimated-seconds`, of a group; those of a
/// plan say `job`, their number there, and `timeout-minutes`.
Result<std::string> jobMatrix(const std::vector<PresetJob> &jobs, const RunnerLabels &labels,
                              bool compact = false);

} // namespace cupel::testbench::selection
