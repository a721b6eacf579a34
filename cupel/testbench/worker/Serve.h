// The serving side of the protocol, for a worker written in C++: reads requests, hands each to a
// handler, names stages, sends the result, and puts back what a test may have changed in the
// process (descriptors, folder, environment, signals) before the next one. Used by cupel-worker and
// by the worker that misbehaves in tests. Links no MLIR.
#pragma once

#include "cupel/testbench/worker/Protocol.h"

#include <chrono>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace cupel::testbench::worker {

/// Names the stages of one test as it enters them, and keeps their times and peaks of memory.
class Progress {
public:
  /// `forgetPeak` makes the next peak of memory that of what follows.
  Progress(int replies, uint64_t number, std::function<void()> forgetPeak = {})
      : replies(replies), number(number), forgetPeak(std::move(forgetPeak)), heldBefore(heldNow()) {}

  void enter(results::Stage stage);
  /// A line about how far it is.
  void tell(const std::string &line);
  results::Stage stage() const { return current; }
  /// What the next server of this test needs, a JSON object.
  std::string handover;
  /// The stages entered so far with the time spent in them; the last one ends now.
  std::vector<results::StageTime> times() const;
  /// What the process held at most so far.
  uint64_t peakMemoryBytes();
  /// The same by stage, for people: "compile 130 MiB, compare 1004 MiB"; empty where it is little.
  std::string memoryNote();
  /// What it held at most beyond what it held when the test began.
  uint64_t takenMemoryBytes();

private:
  static uint64_t heldNow();
  void keepPeak();

  int replies;
  uint64_t number;
  results::Stage current = results::Stage::None;
  std::chrono::steady_clock::time_point since;
  std::vector<results::StageTime> passed;
  std::function<void()> forgetPeak;
  uint64_t heldBefore;
  std::vector<std::pair<results::Stage, uint64_t>> peaks;
};

/// Runs one test or check of health. Stage Load has been entered where the test begins here. What it returns is completed with
/// stages and memory.
using Handler = std::function<results::TestRecord(const Request &, Progress &)>;

struct ServeOptions {
  int requests = -1, replies = -1;
  std::string name; ///< Of the worker, for its hello.

  /// `--requests=N --replies=N`.
  static Result<ServeOptions> parse(const std::vector<std::string> &arguments);
};

/// Serves until the runner closes its end; the exit code of the worker.
int serve(const ServeOptions &options, const Handler &handler);

} // namespace cupel::testbench::worker
