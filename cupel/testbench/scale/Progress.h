// What is done, claimed and free of a plan, and which block whoever is free takes next: first of his
// own chunk, then of the one that is furthest behind. The same decision for tasks on a lab's
// machines (Claims.h) and for those that bench/scale plays.
#pragma once

#include "cupel/testbench/scale/Plan.h"

#include <optional>
#include <vector>

namespace cupel::testbench::scale {

struct BlockPlace {
  uint32_t chunk = 0, block = 0;
  auto operator<=>(const BlockPlace &) const = default;
};

class Progress {
public:
  enum class State : uint8_t { Free, Claimed, Done };

  explicit Progress(const Plan &plan);

  void set(BlockPlace place, State state);
  State get(BlockPlace place) const { return states[place.chunk][place.block]; }
  bool isDone() const { return open == 0; }
  bool isAnythingFree() const { return free != 0; }

  /// For a task that was made for `own`; nothing where all of its class is claimed or done.
  std::optional<BlockPlace> next(uint32_t own) const;

private:
  const Plan &plan;
  std::vector<std::vector<State>> states;
  std::vector<double> freeSeconds; ///< Of each chunk.
  std::vector<uint32_t> firstFree; ///< Of each chunk: none before it is free.
  size_t open = 0, free = 0;
};

} // namespace cupel::testbench::scale
