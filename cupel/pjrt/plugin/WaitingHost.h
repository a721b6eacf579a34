// Whether a host waits for what it runs. To hand a run to the device's thread and to wake the host
// when it is over takes about 20 us, which a host pays for nothing if it asks for the end at once.
// One that has something else to do meanwhile must not be kept from it, not even right after it has
// waited many times: every run is looked at, on whichever thread it was. Used where runs begin; one
// for each program.

#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>

namespace cupel::pjrt {

class WaitingHost {
public:
  /// When somebody first asked for a run's end; 0 if nobody has.
  using AskedAt = std::function<int64_t()>;

  /// Longer runs do not notice what waking costs.
  static constexpr int64_t kLongestNanoseconds = 10'000'000;

  /// After a run on the device's thread: when it began, how long it took, and when somebody first
  /// asked for its end; 0 if nobody had.
  void ran(int64_t began, int64_t took, int64_t askedAt) {
    std::lock_guard lock(mutex);
    note(began, took, askedAt);
  }

  /// After a run on the host's own, when it is still to see whether the host asks.
  void ranItself(int64_t ended, int64_t took, AskedAt askedAt) {
    std::lock_guard lock(mutex);
    last = {ended, took, std::move(askedAt)};
  }

  /// Whether the host itself shall do the next run.
  bool runsItself() {
    if (waits.load(std::memory_order_relaxed) < kConvinced)
      return false;
    std::lock_guard lock(mutex);
    if (last.askedAt) {
      note(last.ended, last.took, last.askedAt());
      last.askedAt = nullptr;
    }
    return waits.load(std::memory_order_relaxed) >= kConvinced;
  }

private:
  struct OwnRun {
    int64_t ended = 0, took = 0;
    AskedAt askedAt; // None: it has been looked at.
  };

  /// From when it could the host has asked before this part of the run's time was over, or before
  /// it would have been woken.
  static constexpr int64_t kPartBefore = 8;
  static constexpr int64_t kWakingNanoseconds = 20'000;
  static constexpr int kConvinced = 3;

  void note(int64_t couldAsk, int64_t took, int64_t askedAt) {
    bool isAtOnce = askedAt != 0 && took < kLongestNanoseconds &&
                    askedAt - couldAsk < std::max(took / kPartBefore, kWakingNanoseconds);
    waits.store(isAtOnce ? waits.load(std::memory_order_relaxed) + 1 : 0,
                std::memory_order_relaxed);
  }

  std::mutex mutex;
  std::atomic<int> waits = 0; // How often in a row.
  OwnRun last;
};

} // namespace cupel::pjrt
