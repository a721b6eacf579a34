// Waiting for memory. Hosts run ahead of the devices: what a program was given or has made may be
// freed only when runs that are under way have ended. A request that finds no room waits for them
// before it is refused, as it would on a device; who asks while nothing is under way is told at
// once. Used where buffers are made and runs begin.

#pragma once

#include "cupel/pjrt/plugin/Client.h"

#include <chrono>

namespace cupel::pjrt {

/// A run that computes, and so will come to an end by itself.
class ComputingRun {
public:
  ComputingRun() { ++count; }
  ~ComputingRun() { --count; }
  ComputingRun(const ComputingRun &) = delete;

  static inline std::atomic<int64_t> count = 0;
};

class Patience {
public:
  explicit Patience(const Client &client) : client(client) {}

  /// After a request that was refused: waits a little and says whether it is worth another one.
  bool waits();

private:
  using Clock = std::chrono::steady_clock;
  /// Runs may wait for arguments that only the host brings, which may be waiting here.
  static constexpr std::chrono::seconds kLongest{1};

  const Client &client;
  bool wasIdle = false;
  Clock::time_point lastProgress = Clock::now();
};

/// Calls a request, which answers an Outcome or a Status, until it is granted or waiting is
/// useless.
template <typename Request> auto withPatience(const Client &client, Request request) {
  auto answer = request();
  if (answer)
    return answer;
  for (Patience patience(client); !answer && patience.waits();)
    answer = request();
  return answer;
}

} // namespace cupel::pjrt
