// Which test is next: the longest known of a group first, and each only when the chips and the memory it needs
// are free. Used by the runner's loop; knows nothing of processes.
#pragma once

#include "cupel/testbench/runner/Runner.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cupel::testbench::runner {

class Schedule {
public:
  /// `forecasts` has one entry for each test; those listed in `waiting` are to be run.
  Schedule(std::vector<Forecast> forecasts, std::vector<size_t> waiting,
           const std::vector<DeviceSpec> &devices, uint64_t memoryBudget, unsigned jobs);

  /// The next test that can go to `device` now, taken out of the line with what it needs.
  std::optional<size_t> take(size_t device);
  /// Gives back what a test held.
  void release(size_t test, size_t device);
  /// Puts a test back, to be tried again: at the end of the line, or at its beginning.
  void putBack(size_t test, bool first);

  /// More tests, which wait behind the others in this order.
  void add(const std::vector<size_t> &tests) { line.insert(line.end(), tests.begin(), tests.end()); }

  size_t waiting() const { return line.size() - at; }
  /// Everything that still waits, in order; the line is empty afterwards.
  std::vector<size_t> takeAll();

  /// A device that takes no more tests.
  void retire(size_t device) { devices[device].bad = true; }
  bool isBad(size_t device) const { return devices[device].bad; }
  /// Tests that no device left can take, taken out of the line, each with the reason.
  std::vector<std::pair<size_t, std::string>> takeHopeless();

  /// From now on the test gets the machine for itself; it must not be running.
  void isolate(size_t test) { forecasts[test].memoryBytes = memoryBudget; }

  /// What is set aside for a test.
  uint64_t reservation(size_t test) const;

private:
  struct DeviceState {
    DeviceSpec spec;
    uint32_t usedChips = 0;
    bool bad = false;
  };
  bool fits(size_t test, const DeviceState &device) const;

  std::vector<Forecast> forecasts;
  std::vector<size_t> line; ///< From `at` on.
  size_t at = 0;
  std::vector<DeviceState> devices;
  uint64_t memoryBudget, defaultReservation, usedMemory = 0;
  size_t running = 0;
  uint32_t passedOver = 0; ///< How often the first in line had to let others go ahead.
};

} // namespace cupel::testbench::runner
