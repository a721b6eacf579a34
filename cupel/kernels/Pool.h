// The threads of kernels: a number of threads that calls may use, on top of the process's one set of
// helpers (support/ThreadPool.h), so that kernels, fused loops and the reference's fallbacks never
// fight for cores. Used by every kernel of this folder and by the runtime of device programs. It
// never wakes anybody for work that is shorter than the waking, never runs more than one thread for
// a call inside a call, and promises nothing about which thread does what: a unit's result must
// depend on the unit alone.

#pragma once

#include <cstdint>
#include <functional>

namespace cupel::kernels {

class Pool {
public:
  /// Whether brief work is shared as well, which only tests want: it takes longer.
  enum class Sharing { WhereItPays, Always };

  /// `threads` <= 0: as many as the process has cores.
  explicit Pool(int threads = 0, Sharing sharing = Sharing::WhereItPays);

  int threads() const { return count; }

  /// Calls `body(unit)` once for each unit in [0, units), the calling thread among those that do.
  /// A unit takes about `nanoseconds`; it decides whether it is worth sharing.
  template <typename F> void parallelFor(int64_t units, double nanoseconds, F &&body) const {
    if (!isWorthSharing(units, nanoseconds)) {
      for (int64_t unit = 0; unit < units; ++unit)
        body(unit);
      return;
    }
    share(units, std::ref(body));
  }

  /// How many of some units of as many nanoseconds each are worth handing over at a time. Where that makes several parts, each
  /// thread has as many as the others: of three parts one of two threads would have two.
  int64_t unitsPerPart(int64_t units, double nanoseconds) const;

  /// Work will come within microseconds: whoever would have to be woken for it wakes up.
  void expectWork() const;

  /// Whether another thread will likely have the unit before or behind this one: what units share
  /// lies in its cache then.
  bool isAtEdge(int64_t unit, int64_t units) const;

  /// Threads that a call of this many nanoseconds in all will be offered.
  int threadsFor(double nanoseconds) const;

  /// The same where each thread writes some columns of every row of a tensor, and `row` nanoseconds are what one row takes.
  /// Processors fetch lines beyond the end of what is written, which is where another thread writes: both wait for lines
  /// that the other one has, at each row.
  int threadsForColumns(int64_t rows, double row) const;

private:
  bool isWorthSharing(int64_t units, double nanoseconds) const {
    return units > 1 && threadsFor(static_cast<double>(units) * nanoseconds) > 1;
  }
  void share(int64_t units, const std::function<void(int64_t)> &body) const;

  int count;
  Sharing sharing;
};

} // namespace cupel::kernels
