// Follows a run on Slurm until every test has its outcome: submits what is not submitted, reads what
// tasks write, shows it as one run, releases what Slurm holds by accident, submits again where tasks
// died, cancels. Everything it knows is in the run's folder, so another one can go on after it. It
// runs no test and opens no store.
#pragma once

#include "cupel/results/report/Reporter.h"
#include "cupel/testbench/runner/Signals.h"
#include "cupel/testbench/scale/Claims.h"
#include "cupel/testbench/session/JournalTails.h"
#include "cupel/testbench/slurm/Commands.h"
#include "cupel/testbench/slurm/RunFolder.h"
#include "cupel/testbench/slurm/Submissions.h"

#include <chrono>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace cupel::testbench::session {

class Follower {
public:
  enum class End {
    Done,      ///< Every test has its outcome.
    Cancelled, ///< It was called off.
    Left,      ///< Nobody follows it any more; it goes on.
    Lost,      ///< Tasks died again and again without an outcome.
  };

  Follower(const slurm::RunFolder &folder, const slurm::RunDescription &description,
           slurm::Submissions submissions, results::Reporter &reporter);

  /// An error where nothing could be submitted at all, or Slurm refused what was.
  Result<End> follow();
  /// Calls the run off and waits a little for its tasks.
  Status cancel();
  size_t ended() const { return finals.size(); }

private:
  using Clock = std::chrono::steady_clock;
  enum class Wish { GoOn, Leave, Cancel };

  Status lookAtSlurm();
  void tellOfWaiting(const std::vector<slurm::LiveTask> &tasks);
  Status submitOpen(uint32_t resources);
  Status place(const slurm::Submission &submission);
  void reopenBlocks(uint32_t resources);
  void releaseHeld(const std::vector<slurm::LiveTask> &tasks);
  std::string openTasks(uint32_t resources) const;
  Wish ask(int signal);
  void takeSlot(const std::string &name);
  void freeSlot(const std::string &name);
  uint32_t firstChunk(uint32_t resources) const;
  std::vector<std::string> jobs() const;

  const slurm::RunFolder &folder;
  const slurm::RunDescription &description;
  slurm::Submissions submissions;
  results::Reporter &reporter;
  JournalTails tails;
  std::unordered_set<std::string> finals; ///< Tests with an outcome.
  std::unordered_map<std::string, uint32_t> slots; ///< Of tests that are shown as running.
  std::set<uint32_t> freeSlots;
  std::set<std::string> badNodes;
  /// Of a class: outcomes there were when it was last submitted, and how often that brought none.
  struct Class {
    size_t outcomes = 0;
    uint32_t barren = 0;
    uint32_t missed = 0; ///< Looks at Slurm in a row that found no task of it.
  };
  std::map<uint32_t, Class> classes;
  bool isSlurmAway = false, wasSlurmAway = false, isLost = false;
  std::unordered_set<std::string> released; ///< Tasks that were held.
  Clock::time_point waitingSince{}; ///< Since when no task runs,
  std::string toldReason;           ///< and what was told of it.
};

} // namespace cupel::testbench::session
