// One place for a worker in a run: the process, what it is doing, and since when; and the other
// servers that its tests need. State only; what happens next is decided in Loop*.cpp.
#pragma once

#include "cupel/testbench/Kinds.h"
#include "cupel/testbench/runner/WorkerProcess.h"

#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cupel::testbench::runner {

using Clock = std::chrono::steady_clock;
inline constexpr Clock::time_point kNever = Clock::time_point::max();

inline Clock::time_point after(Clock::time_point start, double seconds) {
  if (seconds <= 0 || seconds > 1e9)
    return kNever;
  return start +
         std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

inline double secondsBetween(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

/// An outcome that the runner decided on, whatever the worker says or how it dies.
struct Sentence {
  results::Outcome outcome;
  std::string errorClass, message;
  bool isShared = false; ///< Others had a part in it: alone the test may do better.
};

/// One try of one test in a worker.
struct Attempt {
  size_t test = 0;
  uint64_t request = 0;
  Clock::time_point began;
  double beganAt = 0; ///< Seconds since the epoch.
  results::Stage stage = results::Stage::None;
  Clock::time_point stageBegan;
  std::vector<results::StageTime> stages; ///< Those that are over.
  uint64_t peakMemory = 0;
  std::optional<Sentence> sentence;
  size_t step = 0;                ///< Which server of its kind has it.
  std::vector<results::StageTime> stagesBefore; ///< Of earlier ones.
  std::string handover;           ///< For that one.
  std::string python;             ///< The interpreter it needs; empty: that of the run.
  results::TestRecord soFar;      ///< What earlier ones found out.
  std::string printed;            ///< By earlier ones.
  uint32_t stragglers = 0; ///< Processes that the test left behind.
  /// What the test ended in, where this is not a try of it but saves it.
  std::optional<results::TestRecord> kept;

  void enter(results::Stage next, Clock::time_point now) {
    if (stage != results::Stage::None)
      results::addStageTime(stages, stage, secondsBetween(stageBegan, now));
    stage = next;
    stageBegan = now;
  }
};

struct Slot {
  enum class State : uint8_t {
    Empty,    ///< No process.
    Starting, ///< Has not said hello yet.
    Ready,
    Testing,  ///< `attempt` is set.
    Checking, ///< Runs the known-good program.
    Ending,   ///< Is being ended; `attempt` may be set.
  };

  size_t number = 0;
  size_t device = 0;
  State state = State::Empty;
  std::string folder;
  Server server = Server::Worker; ///< Which one `worker` is.
  std::unique_ptr<WorkerProcess> worker;
  /// The other servers of this place: alive and idle, as far as we know.
  std::array<std::unique_ptr<WorkerProcess>, kServerCount> parked;
  std::string python; ///< The interpreter of its Python server; empty: that of the run.
  std::shared_ptr<const int> tensors; ///< The file in memory that they hand tensors over in.
  std::optional<Attempt> attempt;
  uint64_t checkRequest = 0;
  std::string checkFailure;            ///< Why a check was ended.
  Clock::time_point deadline = kNever; ///< Of starting or checking.
  Clock::time_point killAt = kNever;   ///< When patience ends.

  /// Where a server runs: one that is started must not take the folder of one that lives.
  std::string folderOf(Server which) const {
    return which == Server::Worker ? folder : folder + "-" + std::to_string(size_t(which));
  }

  /// Bytes in memory of all its processes.
  uint64_t memoryBytes() const {
    uint64_t bytes = worker ? worker->memoryBytes() : 0;
    for (const auto &other : parked)
      bytes += other ? other->memoryBytes() : 0;
    return bytes;
  }
};

} // namespace cupel::testbench::runner
