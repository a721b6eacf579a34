// Running a plan: the limits of a run, the processes of a grid and what they share. Used by plans
// (steps get a GridProcess) and by callers that start runs. Errors end a run; nothing here aborts.

#pragma once

#include "cupel/reference/Accumulate.h"
#include "cupel/reference/Jitter.h"
#include "cupel/reference/Value.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace cupel::reference {

class Grid;
struct Step;

struct RunOptions {
  /// Bytes the whole process may occupy; 0: no limit.
  int64_t maxMemory = 0;
  /// Operations a run may execute; 0: no limit.
  int64_t maxSteps = 0;
  /// 0: no limit.
  double timeoutSeconds = 0;
  /// Threads that kernels may use; 0: as many as there are cores. Never changes a result.
  int threads = 0;
  Accumulate accumulate = Accumulate::Native;
  /// Of stablehlo.rng, whose values the specification leaves open.
  uint64_t seed = 0;
  /// Moves values by a rounding of a device's precision; off for golden values.
  Jitter jitter;
  /// Where interpreter.probe writes; empty: a program with probes is refused.
  std::string probeFolder;
  /// Receives what interpreter.print prints, with a line break; null: standard output.
  std::function<void(const std::string &)> print;
  /// Ends the run soon after it becomes true; null: nobody will.
  const std::atomic<bool> *stop = nullptr;
  /// Sees the results of every operation if set.
  std::function<void(const Step &, std::span<const Value>)> trace;
};

/// What all processes of a run share.
class Run {
public:
  explicit Run(RunOptions options);

  const RunOptions options;

  /// Counts operations; an error when a limit is passed.
  Status step(int64_t count = 1);
  /// An error if that many bytes more would be too much.
  Status reserve(int64_t bytes) const;

  /// Asked by kernels while they work (Parallel.h): whether to give up, because time is over or
  /// another process failed. What they leave behind is then never looked at.
  bool poll() {
    if (hasStopped.load(std::memory_order_relaxed) || failed())
      return true;
    return options.timeoutSeconds > 0 && pollTime();
  }
  /// Why the operation that just ended may not count; to be asked after each.
  Status stopped();

  /// The first failure is the one that is told.
  void fail(Error error);
  std::optional<Error> failure();
  bool failed() const { return hasFailed.load(std::memory_order_relaxed); }

  std::mutex probeMutex;
  int64_t probeCount = 0;

private:
  Status checkTime() const;
  bool pollTime();

  std::chrono::steady_clock::time_point deadline;
  std::atomic<int64_t> steps = 0;
  std::atomic<bool> hasFailed = false, hasStopped = false;
  std::mutex mutex;
  std::optional<Error> first;
};

/// One process of a grid (the only one where there is no grid).
struct GridProcess {
  Run &run;
  Grid *grid = nullptr;
  uint32_t replica = 0, partition = 0;
  int depth = 0;            // Of calls.
  uint32_t randomCount = 0; // Of rng operations so far.
  bool located = false;     // The failure under way has been told.
  uint64_t jitters = 0;     // Values moved so far.
  int exactly = 0;          // Within how many functions of elements, where nothing is moved.
  /// What the operation under way has still to move of what it reads: its first operand.
  const MovedParts *moving = nullptr;
};

/// Calls nest no deeper than this.
inline constexpr int kMaxCallDepth = 256;

} // namespace cupel::reference
