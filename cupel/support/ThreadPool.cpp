#include "cupel/support/ThreadPool.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <sched.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <vector>

namespace cupel {
namespace {

/// Waking a thread takes some ten microseconds, so that much may be lost with looking out for work
/// or for the end of it; a busy machine may need longer.
constexpr auto kLookOut = std::chrono::microseconds(60);

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}

/// Looks for a while whether `isThere`.
template <typename F> void lookOutFor(F &&isThere) {
  auto end = std::chrono::steady_clock::now() + kLookOut;
  do {
    for (int i = 0; i < 32; ++i) {
      if (isThere())
        return;
      relax();
    }
  } while (std::chrono::steady_clock::now() < end);
}

/// What one thread has of a job: pieces that it takes from the front, and that others take from the
/// back when they have none left. Cores may need a quarter of a microsecond to hand a line of
/// memory to each other, so a thread touches lines of its own as long as it can, and finds all that
/// it has to know in one of them. Seats are never freed, and what is taken from one is valid
/// whoever took it: `piece` may be read behind a piece that was taken, because its job does not end
/// before that is counted in `done`.
struct Seat {
  /// Pieces [low half, high half) that nobody has taken.
  alignas(128) std::atomic<uint64_t> range = 0;
  std::atomic<const std::function<void(int64_t)> *> piece = nullptr;
  std::atomic<Seat *> next = nullptr; // The seats of a job are a ring.
  std::atomic<bool> isBrief = false;

  alignas(128) std::atomic<int64_t> done = 0; // Pieces of the range, whoever ran them.
  std::atomic<bool> isAwaited = false;        // By somebody who sleeps.
  std::mutex ending;
  std::condition_variable ended;

  // Of a helper, and under the pool's mutex.
  bool isAsleep = false, isTold = false;
  std::condition_variable woken;

  bool isEmpty() const {
    uint64_t pieces = range.load(std::memory_order_relaxed);
    return (pieces & kLow) >= pieces >> kHalf;
  }

  void give(int64_t begin, int64_t end) {
    range.store(uint64_t(end) << kHalf | uint64_t(begin), std::memory_order_release);
  }

  /// Runs pieces from one end until there are none, and counts those that it ran.
  void run(bool front) {
    int64_t count = 0;
    uint64_t pieces = range.load(std::memory_order_relaxed);
    while ((pieces & kLow) < pieces >> kHalf) {
      uint64_t rest = front ? pieces + 1 : pieces - (uint64_t{1} << kHalf);
      if (!range.compare_exchange_weak(pieces, rest, std::memory_order_acquire,
                                       std::memory_order_relaxed))
        continue;
      (*piece.load(std::memory_order_relaxed))(int64_t(front ? pieces & kLow : rest >> kHalf));
      ++count;
      pieces = range.load(std::memory_order_relaxed);
    }
    if (count == 0)
      return;
    done.fetch_add(count);
    if (isAwaited) {
      std::lock_guard lock(ending);
      ended.notify_all();
    }
  }

  void waitFor(int64_t pieces, bool looksOut) {
    auto isDone = [&] { return done == pieces; };
    if (looksOut)
      lookOutFor(isDone);
    if (isDone())
      return;
    std::unique_lock lock(ending);
    isAwaited = true;
    ended.wait(lock, isDone);
    isAwaited = false;
  }

  /// Its own pieces, then what is left to others of the ring.
  void work() {
    run(true);
    // Whoever comes late may meet a ring that was opened and closed elsewhere in the meantime.
    Seat *other = next.load(std::memory_order_acquire);
    for (int i = 0; i < kMostSeats && other && other != this; ++i) {
      other->run(false);
      other = other->next.load(std::memory_order_acquire);
    }
  }

  static constexpr int kHalf = 32, kMostSeats = 256;
  static constexpr uint64_t kLow = 0xffffffff;
};

thread_local bool isInsidePiece = false;

class Pool {
public:
  /// Never destroyed: helpers may outlive static objects.
  static Pool &get() {
    static Pool *const pool = new Pool;
    return *pool;
  }

  /// A process that was forked off has none of the helpers.
  bool isAlive() const { return getpid() == owner; }

  /// On the calling thread and up to `wanted` helpers, each of which gets neighbouring pieces: the
  /// same ones in the next job of as many, so that a thread meets what it left in its own cache.
  void run(int64_t count, int wanted, bool isBrief, const std::function<void(int64_t)> &piece) {
    Seat *own, *seats[Seat::kMostSeats];
    int helping = 0;
    {
      std::lock_guard lock(mutex);
      own = callerSeat();
      int idle = std::max(coreCount(), wanted + 1) - ++working;
      wanted = std::clamp(idle, 0, wanted);
      while (helping < wanted && (!available.empty() || addHelper())) {
        seats[1 + helping++] = available.back();
        available.pop_back();
      }
      working += helping;
      seats[0] = own;
      hand(seats, helping + 1, count, isBrief, piece);
    }
    isInsidePiece = true;
    own->work();
    isInsidePiece = false;
    for (int i = 0; i <= helping; ++i)
      seats[i]->waitFor(
          beginOfShare(count, helping + 1, i + 1) - beginOfShare(count, helping + 1, i), isBrief);
    std::lock_guard lock(mutex);
    working -= helping + 1;
    for (int i = helping; i > 0; --i)
      available.push_back(seats[i]);
    callerSeats.push_back(own);
  }

  void expect(int wanted) {
    std::lock_guard lock(mutex);
    for (auto seat = available.rbegin(); seat != available.rend() && wanted > 0; ++seat, --wanted)
      if ((*seat)->isAsleep && !(*seat)->isTold) {
        (*seat)->isTold = true;
        (*seat)->woken.notify_one();
      }
  }

private:
  static constexpr int kMostHelpers = Seat::kMostSeats - 1;

  Seat *callerSeat() {
    if (callerSeats.empty())
      callerSeats.push_back(new Seat);
    Seat *seat = callerSeats.back();
    callerSeats.pop_back();
    return seat;
  }

  bool addHelper() {
    if (helpers == kMostHelpers)
      return false;
    auto *seat = new Seat;
    try {
      std::thread([this, seat] { help(*seat); }).detach();
    } catch (const std::system_error &) {
      delete seat;
      return false;
    }
    ++helpers;
    available.push_back(seat);
    return true;
  }

  void hand(Seat *const *seats, int shares, int64_t count, bool isBrief,
            const std::function<void(int64_t)> &piece) {
    // The caller's comes last, when others have begun to look at theirs.
    for (int i = shares - 1; i >= 0; --i) {
      Seat &seat = *seats[i];
      seat.done.store(0, std::memory_order_relaxed);
      seat.piece.store(&piece, std::memory_order_relaxed);
      seat.isBrief.store(isBrief, std::memory_order_relaxed);
      seat.next.store(seats[(i + 1) % shares], std::memory_order_release);
      seat.give(beginOfShare(count, shares, i), beginOfShare(count, shares, i + 1));
      if (seat.isAsleep)
        seat.woken.notify_one();
    }
  }

  void help(Seat &seat) {
    isInsidePiece = true;
    while (true) {
      seat.work();
      if (seat.isBrief.load(std::memory_order_relaxed))
        lookOutFor([&] { return !seat.isEmpty(); });
      std::unique_lock lock(mutex);
      while (seat.isEmpty()) {
        seat.isAsleep = true;
        seat.woken.wait(lock, [&] { return !seat.isEmpty() || seat.isTold; });
        seat.isAsleep = false;
        if (!seat.isTold)
          continue;
        seat.isTold = false;
        lock.unlock();
        lookOutFor([&] { return !seat.isEmpty(); });
        lock.lock();
      }
    }
  }

  const pid_t owner = getpid();
  std::mutex mutex;
  std::vector<Seat *>
      available; // Of helpers that nobody has pieces for; those that are asked first come last.
  std::vector<Seat *> callerSeats; // That no caller has.
  int helpers = 0;
  int working = 0; // Callers and helpers that have pieces to run.
};

} // namespace

// The caller has the largest share: it begins first.
int64_t beginOfShare(int64_t count, int threads, int which) {
  return (count * which + threads - 1) / threads;
}

int coreCount() {
  static const int count = [] {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0)
      return CPU_COUNT(&set);
    return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  }();
  return count;
}

namespace {

void run(int64_t count, int threads, bool isBrief, const std::function<void(int64_t)> &piece) {
  if (threads <= 1 || count <= 1 || isInsidePiece || !Pool::get().isAlive()) {
    for (int64_t i = 0; i < count; ++i)
      piece(i);
    return;
  }
  // Both ends of a range lie in one word.
  constexpr int64_t kMostAtOnce = int64_t{1} << 31;
  for (; count > kMostAtOnce; count -= kMostAtOnce)
    run(kMostAtOnce, threads, isBrief, [&](int64_t i) { piece(count - kMostAtOnce + i); });
  Pool::get().run(count, static_cast<int>(std::min<int64_t>(threads, count)) - 1, isBrief, piece);
}

} // namespace

void runPieces(int64_t count, int threads, const std::function<void(int64_t)> &piece) {
  run(count, threads, false, piece);
}

void runBriefPieces(int64_t count, int threads, const std::function<void(int64_t)> &piece) {
  run(count, threads, true, piece);
}

void expectBriefPieces(int threads) {
  if (threads > 1 && !isInsidePiece && Pool::get().isAlive())
    Pool::get().expect(threads - 1);
}

} // namespace cupel
