// Traces: what a device was told to do by one run of a program, recorded so that later runs tell it
// at once. Here are the part of a device's memory that holds recorded commands, which all programs of
// a client share, and what is said of a trace to people and files. Recorded and replayed by the
// backend that makes executables; no MLIR, and nothing of how a command is done, may appear here.

#pragma once

#include "cupel/support/Error.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace cupel::runtime {

/// Holds the commands of traces. One that finds no room beside the others releases them all: these are
/// stale from then on and are recorded again when they are next used.
class TraceRegion {
public:
  static constexpr int64_t kDefaultBytes = 10'000'000;

  explicit TraceRegion(int64_t bytes) : bytes(bytes) {}
  /// For programs that were given none.
  static const std::shared_ptr<TraceRegion> &ofProcess();

  int64_t size() const { return bytes; }
  /// An error that says the size needed, if the region is too small for this trace alone.
  Status fits(int64_t wanted, std::string_view program) const;
  /// Room for a trace: the generation that it is of.
  Result<uint64_t> take(int64_t wanted, std::string_view program);
  /// The room of a trace that nobody needs any more.
  void giveBack(int64_t given, uint64_t ofGeneration);
  /// Whether traces of a generation are still there.
  bool holds(uint64_t ofGeneration) const {
    return generation.load(std::memory_order_acquire) == ofGeneration;
  }
  int64_t used() const;

private:
  const int64_t bytes;
  mutable std::mutex mutex;
  int64_t inUse = 0;
  std::atomic<uint64_t> generation = 1;
};

/// How the note `trace` of a program begins that is to be recorded and cannot be.
inline constexpr std::string_view kNotRecorded = "not recorded: ";

/// How often what happened.
struct TraceCounts {
  int64_t misses = 0;   ///< Runs that found no trace.
  int64_t recorded = 0; ///< Also again.
  int64_t replayed = 0;
  int64_t stale = 0;    ///< Recorded again, because the region or a kernel had changed.
  int64_t untraced = 0; ///< Runs that were not replays: the first, and those that found all traces in use.
};

/// A buffer that a command reads or writes.
struct TraceOperand {
  std::string slot; ///< argument, constant, result or arena.
  int64_t number = 0; ///< Of the slot; its offset in the arena.
  int64_t bytes = 0;

  bool operator==(const TraceOperand &) const = default;
};

struct TraceCommand {
  std::string call; ///< code: a function of machine code; steps: operation by operation; kernel.
  std::string kernel, operation, location;
  std::vector<TraceOperand> reads, writes;

  bool operator==(const TraceCommand &) const = default;
};

/// Memory that every replay uses.
struct TraceSlot {
  std::string kind; ///< argument or result.
  int64_t number = 0, bytes = 0;
  std::string type; ///< "f32[2x3]".
  int64_t uses = 0; ///< Addresses in commands that change when the slot moves.

  bool operator==(const TraceSlot &) const = default;
};

/// A trace as people and files see it.
struct TraceRecord {
  std::string program;
  int64_t commandBytes = 0, arenaBytes = 0;
  std::vector<TraceSlot> slots;
  std::vector<TraceCommand> commands;

  bool operator==(const TraceRecord &) const = default;
};

} // namespace cupel::runtime
