// Read-modify-write of single elements through an ElementFunction, many at a time: updates are
// collected until one hits an element that is already waiting, so the outcome is that of applying
// them one by one in order. Used by scatter and select_and_scatter.

#pragma once

#include "cupel/reference/ElementFunction.h"

#include <cstddef>
#include <vector>

namespace cupel::reference {

class LaneUpdates {
public:
  /// results[i] points to contiguous elements of the i-th type of `body`, which takes as many
  /// current values and updates (updates first if `updatesFirst`).
  LaneUpdates(const ElementFunction &body, std::vector<std::byte *> results,
              bool updatesFirst = false);

  /// Applies the body to element `target` of each result and the update elements.
  Status add(int64_t target, std::span<const std::byte *const> updates);
  /// Applies what is still waiting; to be called at the end.
  Status flush();

private:
  static constexpr int64_t kLanes = 1024;
  static constexpr uint64_t kSlots = 4096;

  const ElementFunction &body;
  std::vector<std::byte *> results;
  std::vector<int64_t> bytes;
  std::vector<std::vector<std::byte>> current, pending, fresh;
  std::vector<const void *> arguments;
  std::vector<void *> outputs;
  std::vector<int64_t> targets;
  struct Slot {
    int64_t target = -1;
    uint64_t round = 0;
  };
  std::vector<Slot> slots; // which targets wait in this round
  uint64_t round = 1;
};

} // namespace cupel::reference
