// Runs of a program whose commands are recorded: the first runs as ever, the second records, later ones
// replay. A trace is used by one run at a time, so that runs side by side have traces of their own, up
// to a number; beyond it they run without. Traces that are stale are recorded again.

#pragma once

#include "cupel/compiler/backends/cpu/Trace.h"

namespace cupel::compiler {

/// What recording a program comes to.
struct Recordable {
  bool can = false;
  int64_t bytes = 0; // Of the region.
  std::string note;  // "recorded at the second run: ..." or "not recorded: ...", with the operation.
};
Result<Recordable> recordable(const LoadedProgram &program);

class TracedRuns {
public:
  /// `name` is that of the program in errors. The program outlives it.
  TracedRuns(const LoadedProgram &program, std::shared_ptr<runtime::TraceRegion> region,
             std::string name)
      : program(program), region(std::move(region)), name(std::move(name)) {}
  ~TracedRuns();

  Result<std::vector<tensor::Tensor>> run(reference::GridProcess &process,
                                          std::vector<tensor::Tensor> arguments);

  runtime::TraceCounts counts() const;
  /// Hands the latest trace that is not in use to `look`; false if there is none.
  bool lookAt(llvm::function_ref<void(const Trace &)> look) const;

private:
  struct Held {
    explicit Held(const LoadedProgram &program) : trace(program) {}
    Trace trace;
    int64_t bytes = 0;       // Of the region.
    uint64_t generation = 0; // 0: none.
  };
  using HeldPointer = std::unique_ptr<Held>;

  HeldPointer take();
  void give(HeldPointer held);
  Status record(Held &held);

  const LoadedProgram &program;
  const std::shared_ptr<runtime::TraceRegion> region;
  const std::string name;
  mutable std::mutex mutex;
  std::vector<HeldPointer> idle;
  int64_t live = 0;
  std::atomic<bool> hasRun = false;
  std::atomic<int64_t> misses = 0, recorded = 0, replayed = 0, stale = 0, untraced = 0;
};

} // namespace cupel::compiler
