// The thread of a device: takes work in order. Used for executions that are worth a thread; what is
// still waiting when the device goes away is told so instead of being run.

#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace cupel::pjrt {

class Worker {
public:
  /// `run(true)`: do it; `run(false)`: it will not be done any more.
  using Task = std::function<void(bool run)>;

  Worker() = default;
  /// Asks the task under way, if any, to stop, and waits for it; the others are turned away.
  ~Worker();
  Worker(const Worker &) = delete;
  Worker &operator=(const Worker &) = delete;

  void add(Task task);

  /// True once the task under way had better come to an end.
  const std::atomic<bool> &stopped() const { return stops; }

private:
  void work();

  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Task> tasks;
  std::atomic<bool> stops = false;
  std::thread thread; // Started with the first task.
};

} // namespace cupel::pjrt
