// The loop of a run: what it knows of its tests, workers and devices, and what it does when
// something happens. Inside the runner only; its parts are in Loop.cpp (the loop itself, records,
// signals), LoopWorkers.cpp (giving tests to workers, hearing from them, ending them),
// LoopDevices.cpp (which devices are good), LoopKeep.cpp (saving tests that failed) and
// LoopLimits.cpp (time and memory).
#pragma once

#include "cupel/testbench/runner/Journal.h"
#include "cupel/testbench/runner/Limits.h"
#include "cupel/testbench/runner/Runner.h"
#include "cupel/testbench/runner/Schedule.h"
#include "cupel/testbench/runner/Signals.h"
#include "cupel/testbench/runner/Slot.h"

#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cupel::testbench::runner {

enum class Health : uint8_t { Good, Suspect, Checking, Bad };

struct DeviceHealth {
  Health health = Health::Good;
  uint32_t startFailures = 0, checkFailures = 0;
};

class Loop {
public:
  Loop(const std::vector<TestItem> &items, const RunnerOptions &options, Journal *journal,
       Observer &observer)
      : items(items), options(options), journal(journal), observer(observer),
        memoryBudget(options.memoryBudgetBytes ? options.memoryBudgetBytes : machineMemoryBudget()),
        health(options.devices.size()), tests(items.size()) {
    outcome.records.resize(items.size());
  }

  Result<RunOutcome> run(const std::unordered_map<std::string, results::TestRecord> &done);

private:
  struct TestState {
    std::vector<results::Outcome> tries;
    uint32_t putBacks = 0;
    bool recorded = false;
    bool isAlone = false; ///< Did not fit beside others.
    bool isDoubted = false; ///< Whether its graph is its model.
  };

  using Done = std::unordered_map<std::string, results::TestRecord>;
  std::vector<size_t> admit(const std::vector<size_t> &admitted, const Done &done);
  void admitMore(const Done &done, Clock::time_point time);
  void record(size_t test, results::TestRecord record);
  void showDurable();
  bool isOver() const;

  void useServer(Slot &slot, Server server);
  void startWorker(Slot &slot);
  void startFailed(Slot &slot, const std::string &why, bool forGood = false);
  void advance(Slot &slot);
  bool dispatch(Slot &slot);
  void serve(Slot &slot);
  void sendTest(Slot &slot);
  void checkHealth(Slot &slot);
  void healthAnswer(Slot &slot, const std::string &failure);
  void markBad(size_t device, const std::string &why);
  void clearHopeless();

  bool isToBeKept(const TestItem &item, const results::TestRecord &record) const;
  void recordOrKeep(size_t test, results::TestRecord record);
  bool keepNext(Slot &slot);
  void askToKeep(worker::Request &request, const results::TestRecord &record) const;
  void keepEnded(size_t test, results::TestRecord record, const results::TestRecord &found,
                 Clock::time_point began);
  void giveUpKeeping(const std::string &why);
  void tellOnce(const std::string &text);
  void removeHalfKept() const;

  void readReplies(Slot &slot);
  void handle(Slot &slot, worker::Reply reply);
  void finish(Slot &slot, worker::Finished finished);
  void endAttempt(Slot &slot, results::TestRecord record);
  void condemn(Slot &slot, Sentence sentence, bool politely);
  void workerEnded(Slot &slot, const WorkerEnd &end);
  void watchTimes(Slot &slot, Clock::time_point time);
  void watchMemory();
  void interrupt();
  void wait(Clock::time_point until);
  Clock::time_point nextDeadline(Clock::time_point time) const;

  const std::vector<TestItem> &items;
  const RunnerOptions &options;
  Journal *journal; ///< Null: none is kept.
  Observer &observer;
  uint64_t memoryBudget;
  std::vector<DeviceHealth> health;
  /// Of servers that have no devices: how often they did not start, and why they never will.
  std::array<uint32_t, kServerCount> startFailures{};
  std::array<std::string, kServerCount> unusable;
  std::vector<TestState> tests;
  std::optional<Schedule> schedule;
  std::vector<Slot> slots;
  std::vector<pid_t> presentBefore;
  std::deque<std::pair<uint64_t, size_t>> unshown; ///< Number in the journal, test.
  std::deque<std::pair<size_t, results::TestRecord>> toKeep; ///< Failed, and not recorded yet.
  uint64_t nextRequest = 1, memoryKills = 0, keptBytes = 0;
  uint32_t explained = 0; ///< Tests whose operation to blame was looked for,
  double explainedSeconds = 0; ///< and how long that took.
  bool toldOfKeeping = false;
  size_t recorded = 0;
  bool isAllAdmitted = true; ///< Nobody hands out more tests,
  Clock::time_point nextHandout{}; ///< who is asked again only then.
  std::string folder; ///< Our own.
  RunOutcome outcome;
  Signals *signals = nullptr;
};

} // namespace cupel::testbench::runner
