// What one task of a run on many machines has claimed: hands its tests to the runner a block at a
// time, keeps the claims alive, and says of each block when all of its tests have their outcome. What
// others finished already is not run again, and a test that was running each time a task died is
// given up. Used by the task alone; the heart beats in a thread of its own.
#pragma once

#include "cupel/testbench/runner/Runner.h"
#include "cupel/testbench/scale/Claims.h"
#include "cupel/testbench/session/JournalTails.h"
#include "cupel/testbench/slurm/RunFolder.h"

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <unordered_set>
#include <vector>

namespace cupel::testbench::session {

class TaskClaims {
public:
  TaskClaims(const slurm::RunFolder &folder, const slurm::RunDescription &description,
             uint32_t chunk, std::string task);
  ~TaskClaims();

  /// What the runner runs next.
  runner::Handout handOut();
  /// The test's outcome is in the journal.
  void finished(size_t test, const results::TestRecord &record);
  /// Gives back what is not done, for others to take at once.
  void giveBack();
  /// Whether every block of the run is done, as far as this task saw.
  bool isEverythingDone() const { return claims.progress().isDone(); }

  /// Called before a block counts as done, e.g. to copy the journal; an error leaves it open.
  std::function<Status()> beforeDone;
  /// A test that nobody can run: it gets this record rather than a turn.
  std::function<std::optional<results::TestRecord>(size_t test, uint32_t deaths)> withoutTurn;
  /// Takes such a record into the journal, and tells `finished` once it is there.
  std::function<void(size_t test, const results::TestRecord &)> keepRecord;
  std::function<void(const std::string &line)> note;

private:
  struct Held {
    scale::Claim claim;
    std::set<size_t> open;
    bool isWhole = true; ///< All that ended had their turn.
  };
  using Clock = std::chrono::steady_clock;

  void beat();
  void settle(std::map<std::string, Held>::iterator held);

  const slurm::RunFolder &folder;
  const slurm::RunDescription &description;
  uint32_t chunk;
  std::string task;
  scale::Claims claims;
  JournalTails others;
  std::unordered_set<std::string> done; ///< Full names, from everybody's journals.
  std::map<std::string, Held> held;     ///< By the name of the claim.
  std::optional<Clock::time_point> idleSince, troubleSince;

  std::mutex mutex; ///< Of what the heart needs.
  std::condition_variable wake;
  std::vector<scale::Claim> beating;
  bool isOver = false;
  std::thread heart;
};

} // namespace cupel::testbench::session
