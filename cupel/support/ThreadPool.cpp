#include "cupel/support/ThreadPool.h"

#include <algorithm>
#include <atomic>
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
  std::atomic<int64_t> next = 0;
  int helping = 0;                   // Helpers that have joined and are not done.
  std::condition_variable left = {}; // Signalled when the last helper leaves.

  void work() {
    for (int64_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < count;)
      piece(i);
  }
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

  void run(Job &job) {
    bool wantsOne = job.wanted == 1; // Helpers change it from when they see the job.
    {
      std::lock_guard lock(mutex);
      while (helpers < job.wanted && addHelper()) {
      }
      jobs.push_back(&job);
    }
    if (wantsOne)
      offered.notify_one();
    else
      offered.notify_all();
    isInsidePiece = true;
    job.work();
    isInsidePiece = false;
    std::unique_lock lock(mutex);
    std::erase(jobs, &job);
    job.left.wait(lock, [&] { return job.helping == 0; });
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

  void help() {
    isInsidePiece = true;
    std::unique_lock lock(mutex);
    while (true) {
      offered.wait(lock, [&] { return !jobs.empty(); });
      Job *job = jobs.front();
      ++job->helping;
      if (--job->wanted == 0)
        jobs.pop_front();
      lock.unlock();
      job->work();
      lock.lock();
      // Nothing is left to do in it: others need not look.
      std::erase(jobs, job);
      if (--job->helping == 0)
        job->left.notify_one();
    }
  }

  const pid_t owner = getpid();
  std::mutex mutex;
  std::condition_variable offered;
  std::deque<Job *> jobs; // That still want helpers.
  int helpers = 0;
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

void runPieces(int64_t count, int threads, const std::function<void(int64_t)> &piece) {
  if (threads <= 1 || count <= 1 || isInsidePiece || !Pool::get().isAlive()) {
    for (int64_t i = 0; i < count; ++i)
      piece(i);
    return;
  }
  Job job{count, piece, static_cast<int>(std::min<int64_t>(threads, count)) - 1};
  Pool::get().run(job);
}

} // namespace cupel
