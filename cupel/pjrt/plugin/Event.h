// Events, and the signals behind them. A signal is set once, with success or a fault, and tells
// everybody who waits; events are handles on signals that hosts may destroy at any time, also from
// within a callback. No lock is held while callbacks run.

#pragma once

#include "cupel/pjrt/plugin/Handles.h"

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

namespace cupel::pjrt {

class Signal {
public:
  using Callback = std::function<void(const std::optional<Error> &)>;

  /// One that is set already.
  static std::shared_ptr<Signal> done();
  static std::shared_ptr<Signal> failed(Error fault);

  /// Sets it and runs the callbacks; false if it was set before.
  bool set(std::optional<Error> fault = {});
  bool isReady() const { return ready.load(std::memory_order_acquire); }
  /// The same for a host, which is noted.
  bool look() const;
  /// Only once it is ready.
  const std::optional<Error> &error() const { return outcome; }
  void wait() const;
  /// Waits as a host does, which is noted.
  void ask() const;
  /// Runs at once if ready, else on the thread that sets the signal.
  void onReady(Callback callback);
  /// When somebody first asked, by the steady clock; 0 if nobody has.
  int64_t askedAt() const { return asked.load(std::memory_order_relaxed); }
  /// When somebody first left a callback; 0 if nobody has.
  int64_t calledAt() const { return called.load(std::memory_order_relaxed); }
  /// When somebody first looked whether it is ready; 0 if nobody has.
  int64_t lookedAt() const { return looked.load(std::memory_order_relaxed); }

private:
  std::atomic<bool> ready = false;
  mutable std::atomic<int64_t> asked = 0, called = 0, looked = 0;
  std::optional<Error> outcome;
  mutable std::mutex mutex;
  mutable std::condition_variable changed;
  std::vector<Callback> callbacks;
};

class Event : public HandleBase {
public:
  explicit Event(std::shared_ptr<Signal> signal) : signal(std::move(signal)) {}
  const std::shared_ptr<Signal> signal;
};

/// A new event on a signal, which the host destroys.
PJRT_Event *makeEvent(std::shared_ptr<Signal> signal);

} // namespace cupel::pjrt
