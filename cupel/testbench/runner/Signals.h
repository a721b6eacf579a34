// Ctrl-C as something to poll for: while one of these lives, SIGINT, SIGTERM and SIGHUP are counted
// instead of ending the process. Used by the runner, once at a time.
#pragma once

#include <array>
#include <csignal>

namespace cupel::testbench::runner {

class Signals {
public:
  explicit Signals(bool handle);
  ~Signals();
  Signals(const Signals &) = delete;
  Signals &operator=(const Signals &) = delete;

  /// Readable after a signal; -1 where none are handled.
  int descriptor() const { return handled ? ends[0] : -1; }
  /// How many came so far.
  int count();
  /// The last of those that were counted; 0: none.
  int last() const { return newest; }

private:
  static constexpr std::array<int, 3> kSignals = {SIGINT, SIGTERM, SIGHUP};
  bool handled;
  int ends[2] = {-1, -1};
  int seen = 0, newest = 0;
  std::array<struct sigaction, 3> before;
  struct sigaction pipeBefore;
};

} // namespace cupel::testbench::runner
