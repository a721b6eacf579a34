// The thread of a device: takes work in order. Used for executions that are worth a thread; what is
// still waiting when the device goes away is told so instead of being run.

#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

namespace cupel::pjrt {

class Worker {
public:
  /// `run(stop)`: do it, and come to an end once `*stop` is true; `run(nullptr)`: it will not be
  /// done any more.
  using Task = std::function<void(const std::atomic<bool> *stop)>;

  Worker() = default;
  /// Asks the task under way, if any, to stop, and waits for it; the others are turned away. It may
  /// be that task which destroys the worker, in a callback of the host.
  ~Worker();
  Worker(const Worker &) = delete;
  Worker &operator=(const Worker &) = delete;

  void add(Task task);

  /// Tasks that have not ended.
  int64_t outstanding() const { return state->outstanding; }
  /// Whether the caller is a task of this worker.
  bool isOwnThread() const { return state->own == std::this_thread::get_id(); }

private:
  /// What the thread uses, which may outlive the worker.
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<Task> tasks;
    std::atomic<bool> stops = false;
    std::atomic<int64_t> outstanding = 0;
    std::atomic<std::thread::id> own;
  };
  static void work(State &state);

  std::shared_ptr<State> state = std::make_shared<State>();
  std::thread thread; // Started with the first task.
};

} // namespace cupel::pjrt
