#include "cupel/compiler/backends/cpu/TracedRuns.h"

#include "cupel/compiler/backends/cpu/LaunchWatch.h"

namespace cupel::compiler {

using tensor::Tensor;

/// Runs side by side that have traces.
static constexpr int64_t kMostTraces = 8;

Result<Recordable> recordable(const LoadedProgram &program) {
  Recordable found;
  if (const ProgramReport &report = program.report(); report.fallbacks > 0) {
    found.note = std::string(runtime::kNotRecorded) + report.firstFallback + " runs on the golden reference";
    if (report.fallbacks > 1)
      found.note += ", as " + std::to_string(report.fallbacks - 1) + " more do";
    return found;
  }
  Trace trace(program); // Its size is known before anything runs.
  if (Status status = trace.record(); !status)
    return status.error();
  found.can = true;
  found.bytes = trace.bytes();
  found.note = "recorded at the second run: " + std::to_string(trace.size()) +
               (trace.size() == 1 ? " command, " : " commands, ") + std::to_string(found.bytes) +
               " bytes";
  return found;
}

TracedRuns::~TracedRuns() {
  for (const HeldPointer &held : idle)
    region->giveBack(held->bytes, held->generation);
}

TracedRuns::HeldPointer TracedRuns::take() {
  std::lock_guard lock(mutex);
  if (!idle.empty()) {
    HeldPointer held = std::move(idle.back());
    idle.pop_back();
    return held;
  }
  if (live >= kMostTraces)
    return nullptr;
  ++live;
  return std::make_unique<Held>(program);
}

void TracedRuns::give(HeldPointer held) {
  std::lock_guard lock(mutex);
  idle.push_back(std::move(held));
}

Status TracedRuns::record(Held &held) {
  if (held.generation != 0)
    region->giveBack(held.bytes, held.generation);
  held.generation = 0;
  if (Status status = held.trace.record(); !status)
    return status;
  held.bytes = held.trace.bytes();
  Result<uint64_t> generation = region->take(held.bytes, name);
  if (!generation)
    return generation.error();
  held.generation = *generation;
  ++recorded;
  return {};
}

Result<std::vector<Tensor>> TracedRuns::run(reference::GridProcess &process,
                                            std::vector<Tensor> arguments) {
  // Who watches launches sees them one by one.
  bool isWatched = LaunchWatch::current() || guardPages();
  bool isFirst = !hasRun.load(std::memory_order_relaxed) && !hasRun.exchange(true);
  HeldPointer held;
  if (!isWatched && !isFirst)
    held = take();
  if (!held) {
    ++untraced;
    return program.run(process, std::move(arguments));
  }
  if (held->generation == 0 || !region->holds(held->generation) || held->trace.isStale()) {
    ++(held->generation == 0 ? misses : stale);
    if (Status status = record(*held); !status) {
      give(std::move(held));
      return status.error();
    }
  }
  Result<std::vector<Tensor>> results = held->trace.replay(process, std::move(arguments));
  give(std::move(held));
  ++replayed;
  return results;
}

runtime::TraceCounts TracedRuns::counts() const {
  return {misses, recorded, replayed, stale, untraced};
}

bool TracedRuns::lookAt(llvm::function_ref<void(const Trace &)> look) const {
  std::lock_guard lock(mutex);
  if (idle.empty() || idle.back()->generation == 0)
    return false;
  look(idle.back()->trace);
  return true;
}

} // namespace cupel::compiler
