// What a lab's Slurm wants to be told of a job, by name: the profiles below `slurm:` of the project
// file. `cupel run --on slurm:NAME` submits with one, and the tasks find it in the folder of their
// run. A value with a JSON form; it starts nothing.
#pragma once

#include "cupel/support/Error.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cupel::testbench::slurm {

struct Profile {
  std::string name = "default";
  std::string partition, account, time; ///< As sbatch takes them; empty: the cluster's own.
  /// What a chip is called among the generic resources (`accel`, `gpu:{arch}`), and the feature that
  /// a node must have. `{arch}` stands for the architecture of the run.
  std::string gres, constraint;
  uint64_t memoryBytes = 0; ///< Of a task; 0: the cluster's own.
  uint32_t cpus = 0;        ///< Of a task; 0: the cluster's own.
  uint32_t slots = 0;       ///< Tasks that can run at once, for cutting; 0: nobody knows.
  uint32_t atOnce = 0;      ///< Tasks that may run at once; 0: no limit.
  double chunkSeconds = 60; ///< Of work in a task, at least.
  double staleSeconds = 60; ///< After so long without a sign of life a task is taken for dead.
  std::vector<std::string> modules, options; ///< `module load`; further words for sbatch.
  std::vector<std::string> before;           ///< Lines of shell before the task.
  std::string launcher;      ///< Words before the command of the task, e.g. `srun`.
  std::string cupel;         ///< The binary, where nodes have it elsewhere.
  std::string chipsVariable; ///< Environment variable that names a task its chips.
  bool drain = false;        ///< Nodes whose device is bad are drained.
  bool localJournal = false; ///< Journals are written on the node and copied after each block.

  bool operator==(const Profile &) const = default;
};

/// The profile of that name in a project file; `default`, which need not be there, where the name is
/// empty. The error names file, line and column, or the profiles that there are.
Result<Profile> readProfile(const std::string &projectFile, const std::string &name);

std::string toJson(const Profile &profile);
Result<Profile> profileFromJson(std::string_view text);

} // namespace cupel::testbench::slurm
