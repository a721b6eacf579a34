#include "cupel/support/ThreadPool.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <sched.h>
#include <system_error>
#include <thread>
#include <unistd.h>

namespace cupel {
namespace {

/// What one caller shares.
struct Job {
  int64_t count;
  const std::function<void(int64_t)> &piece;
  int wanted; // Helpers that may still join.
  bool isBrief;
  /// Pieces that were taken from the front, and in the upper half those from the back. The caller takes from one
  /// end and helpers from the other: neighbours stay together, and a thread meets in the next job what it
  /// left in its own cache.
  std::atomic<uint64_t> taken = 0;
  std::atomic<int> helping = 0;      // Helpers that have joined and are not done.
  std::condition_variable left = {}; // Signalled when the last helper leaves.

  void work(bool fromBack) {
    constexpr int kHalf = 32;
    while (true) {
      uint64_t before = taken.fetch_add(fromBack ? uint64_t{1} << kHalf : 1, std::memory_order_relaxed);
      auto front = int64_t(before & 0xffffffff), back = int64_t(before >> kHalf);
      if (front + back >= count)
        return;
      piece(fromBack ? count - 1 - back : front);
    }
  }
};

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

  void run(Job &job) {
    int wake;
    {
      std::lock_guard lock(mutex);
      int idle = std::max(coreCount(), job.wanted + 1) - ++working;
      job.wanted = std::clamp(idle, 0, job.wanted);
      ++callers;
      while (helpers < working - callers + job.wanted && addHelper()) {
      }
      wake = std::min(job.wanted - lookingOut, sleeping);
      if (job.wanted > 0)
        offer(job);
    }
    for (; wake > 0; --wake)
      offered.notify_one();
    isInsidePiece = true;
    job.work(false);
    isInsidePiece = false;
    std::unique_lock lock(mutex);
    --working;
    --callers;
    withdraw(job);
    if (job.isBrief && job.helping != 0) {
      lock.unlock();
      lookOutFor([&] { return job.helping.load(std::memory_order_relaxed) == 0; });
      lock.lock();
    }
    job.left.wait(lock, [&] { return job.helping == 0; });
  }

  void expect(int wanted) {
    {
      std::lock_guard lock(mutex);
      wanted = std::min(wanted, sleeping);
      if (wanted <= expected)
        return;
      wanted -= expected;
      expected += wanted;
    }
    for (; wanted > 0; --wanted)
      offered.notify_one();
  }

private:
  static constexpr int kMostHelpers = 255;

  bool addHelper() {
    if (helpers == kMostHelpers)
      return false;
    try {
      std::thread([this] { help(); }).detach();
    } catch (const std::system_error &) {
      return false;
    }
    ++helpers;
    return true;
  }

  void offer(Job &job) {
    jobs.push_back(&job);
    offers.store(static_cast<int>(jobs.size()), std::memory_order_relaxed);
  }

  void withdraw(Job &job) {
    std::erase(jobs, &job);
    offers.store(static_cast<int>(jobs.size()), std::memory_order_relaxed);
  }

  void help() {
    isInsidePiece = true;
    std::unique_lock lock(mutex);
    while (true) {
      if (jobs.empty()) {
        ++sleeping;
        offered.wait(lock, [&] { return !jobs.empty() || expected > 0; });
        --sleeping;
        if (expected > 0)
          --expected;
        if (jobs.empty())
          lookOut(lock);
        continue;
      }
      Job *job = jobs.front();
      ++job->helping;
      ++working;
      if (--job->wanted == 0)
        withdraw(*job);
      lock.unlock();
      job->work(true);
      lock.lock();
      --working;
      bool isBrief = job->isBrief;
      // Nothing is left to do in it: others need not look.
      withdraw(*job);
      if (--job->helping == 0)
        job->left.notify_one();
      if (isBrief && jobs.empty())
        lookOut(lock);
    }
  }

  void lookOut(std::unique_lock<std::mutex> &lock) {
    ++lookingOut;
    lock.unlock();
    lookOutFor([&] { return offers.load(std::memory_order_relaxed) > 0; });
    lock.lock();
    --lookingOut;
  }

  const pid_t owner = getpid();
  std::mutex mutex;
  std::condition_variable offered;
  std::deque<Job *> jobs; // That still want helpers.
  std::atomic<int> offers = 0; // How many those are, for those who only look.
  int helpers = 0;
  int working = 0;    // Callers and helpers that have pieces to run.
  int callers = 0;    // Those of them that are callers.
  int sleeping = 0;   // Helpers that must be woken.
  int expected = 0;   // How many of these were told to look out, and have not heard it yet.
  int lookingOut = 0; // Helpers that will see a job by themselves.
};

} // namespace

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
  // Taken pieces are counted in half a word each way.
  constexpr int64_t kMostAtOnce = int64_t{1} << 31;
  for (; count > kMostAtOnce; count -= kMostAtOnce)
    run(kMostAtOnce, threads, isBrief, [&](int64_t i) { piece(count - kMostAtOnce + i); });
  Job job{count, piece, static_cast<int>(std::min<int64_t>(threads, count)) - 1, isBrief};
  Pool::get().run(job);
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
