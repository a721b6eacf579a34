// One place for a worker in a run: the process, what it is doing, and since when. State only; what
// happens next is decided in Runner.cpp.
#pragma once

#include "cupel/testbench/runner/WorkerProcess.h"

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
  uint32_t stragglers = 0; ///< Processes that the test left behind.
  /// What the test ended in, where this is not a try of it but saves it.
  std::optional<results::TestRecord> kept;

  void enter(results::Stage next, Clock::time_point now) {
    if (stage != results::Stage::None)
      stages.push_back({stage, secondsBetween(stageBegan, now)});
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
  std::unique_ptr<WorkerProcess> worker;
  std::optional<Attempt> attempt;
  uint64_t checkRequest = 0;
  std::string checkFailure;            ///< Why a check was ended.
  Clock::time_point deadline = kNever; ///< Of starting or checking.
  Clock::time_point killAt = kNever;   ///< When patience ends.
};

} // namespace cupel::testbench::runner
