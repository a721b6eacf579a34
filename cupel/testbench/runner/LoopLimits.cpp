#include "cupel/testbench/runner/Loop.h"

#include <algorithm>
#include <fmt/format.h>

namespace cupel::testbench::runner {

using results::Outcome;

void Loop::watchTimes(Slot &slot, Clock::time_point time) {
  if (!slot.worker)
    return;
  if (time >= slot.killAt) {
    condemn(slot,
            {Outcome::Crashed, "lost_connection", "closed the worker's connection to the runner"},
            false);
    return;
  }
  if (time >= slot.deadline) {
    slot.deadline = kNever;
    bool starting = slot.state == Slot::State::Starting;
    condemn(slot,
            {Outcome::Crashed, "",
             fmt::format("no answer within {:g} s",
                         starting ? options.servers[size_t(slot.server)].startSeconds
                                  : options.healthTimeoutSeconds)},
            false);
    return;
  }
  if (slot.state != Slot::State::Testing)
    return;
  const Attempt &attempt = *slot.attempt;
  std::string_view stage = results::name(attempt.stage);
  if (options.timeoutSeconds > 0 &&
      time >= after(attempt.began, options.timeoutSeconds + options.timeoutSlackSeconds)) {
    condemn(slot,
            {Outcome::TimedOut, "timeout",
             fmt::format("took longer than {:g} s; it was in stage {} (--timeout sets the limit)",
                         options.timeoutSeconds, stage)},
            true);
    return;
  }
  auto limit = options.stageTimeouts.find(attempt.stage);
  if (limit != options.stageTimeouts.end() && time >= after(attempt.stageBegan, limit->second))
    condemn(slot,
            {Outcome::TimedOut, "timeout",
             fmt::format("stage {} took longer than {:g} s (--stage-timeout sets the limit)", stage,
                         limit->second)},
            true);
}

void Loop::watchMemory() {
  uint64_t total = 0, farthest = 0;
  size_t running = 0;
  Slot *worst = nullptr;
  for (Slot &slot : slots) {
    if (slot.state != Slot::State::Testing)
      continue;
    uint64_t bytes = slot.memoryBytes();
    Attempt &attempt = *slot.attempt;
    attempt.peakMemory = std::max(attempt.peakMemory, bytes);
    total += bytes;
    ++running;
    if (options.memoryLimitBytes && bytes > options.memoryLimitBytes) {
      condemn(
          slot,
          {Outcome::OutOfMemory, "out_of_memory",
           fmt::format("held {} MiB in stage {}, more than the {} MiB it may "
                       "(--memory sets the limit)",
                       bytes >> 20, results::name(attempt.stage), options.memoryLimitBytes >> 20)},
          false);
      continue;
    }
    uint64_t reserved = schedule->reservation(attempt.test);
    uint64_t excess = bytes > reserved ? bytes - reserved : 0;
    if (!worst || excess > farthest) {
      worst = &slot;
      farthest = excess;
    }
  }
  if (worst && total > memoryBudget)
    condemn(*worst,
            {Outcome::OutOfMemory, "out_of_memory",
             fmt::format("held {} MiB in stage {} when all tests together passed the {} MiB "
                         "that they may have",
                         worst->attempt->peakMemory >> 20, results::name(worst->attempt->stage),
                         memoryBudget >> 20),
             /*isShared=*/running > 1},
            false);
}

} // namespace cupel::testbench::runner
