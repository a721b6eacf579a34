// The folder that all machines of a run share, below the results: what the run is, who claimed what,
// the journal of each task, what was submitted, what tasks and Slurm said. Whoever submits makes it;
// tasks and those who come back later find everything in it. Names and one file; it starts nothing.
//
//   run.json            the run, its tests, the plan and the profile; never changed
//   job.sh              what Slurm starts
//   claims/             who runs which block (cupel/testbench/scale/Claims.h)
//   journals/TASK.jsonl what a task wrote, in the form of any run's journal
//   notes/TASK          lines of a task for whoever follows the run
//   logs/JOB_TASK.txt   what Slurm caught of its output
//   submissions.jsonl   what was handed to Slurm (Submissions.h)
//   follower            locked by whoever follows the run
//   cancelled           tasks stop when they see it
#pragma once

#include "cupel/results/Record.h"
#include "cupel/testbench/scale/Plan.h"
#include "cupel/testbench/slurm/Profile.h"

#include <string>
#include <vector>

namespace cupel::testbench::slurm {

struct RunDescription {
  results::RunInfo run; ///< As it begins; its command line and folder say how tests run.
  std::vector<scale::PlannedTest> tests;
  scale::Plan plan;
  Profile profile;
  uint32_t collectionErrors = 0; ///< Files that could not be read when tests were selected.
};

class RunFolder {
public:
  explicit RunFolder(std::string path) : root(std::move(path)) {}
  /// Where a run of that results folder has it.
  static RunFolder of(const std::string &results, const std::string &run) {
    return RunFolder(results + "/slurm/" + run);
  }
  /// Runs of a results folder, the newest first.
  static std::vector<std::string> runsIn(const std::string &results);

  const std::string &path() const { return root; }
  std::string claims() const { return root + "/claims"; }
  std::string journals() const { return root + "/journals"; }
  std::string journal(const std::string &task) const { return journals() + "/" + task + ".jsonl"; }
  std::string notes() const { return root + "/notes"; }
  std::string logs() const { return root + "/logs"; }
  std::string script() const { return root + "/job.sh"; }
  std::string submissions() const { return root + "/submissions.jsonl"; }
  std::string follower() const { return root + "/follower"; }

  /// Makes the folders, the description and the script.
  Status make(const RunDescription &description) const;
  Result<RunDescription> read() const;

  bool isCancelled() const;
  Status cancel(bool yes) const;
  /// Journals of tasks, by their paths, in the order of their names.
  std::vector<std::string> journalPaths() const;
  /// Adds a line for whoever follows the run; one that cannot be written is lost.
  void note(const std::string &task, const std::string &line) const;

private:
  std::string root;
};

/// What Slurm starts: modules, lines of the profile, then the task of chunk `$1` + its number.
std::string jobScript(const Profile &profile, const std::string &folder);

} // namespace cupel::testbench::slurm
