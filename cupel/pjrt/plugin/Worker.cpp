#include "cupel/pjrt/plugin/Worker.h"

#include <system_error>

namespace cupel::pjrt {

Worker::~Worker() {
  {
    std::lock_guard lock(mutex);
    stops = true;
    changed.notify_all();
  }
  if (thread.joinable()) {
    if (thread.get_id() == std::this_thread::get_id())
      thread.detach(); // The last reference died in a task of its own.
    else
      thread.join();
  }
  for (Task &task : tasks)
    task(false);
}

void Worker::add(Task task) {
  {
    std::lock_guard lock(mutex);
    if (!stops) {
      if (!thread.joinable()) {
        try {
          thread = std::thread([this] { work(); });
        } catch (const std::system_error &) {
          // No thread can be had: the caller does it.
        }
      }
      if (thread.joinable()) {
        tasks.push_back(std::move(task));
        changed.notify_one();
        return;
      }
    }
  }
  task(!stops);
}

void Worker::work() {
  std::unique_lock lock(mutex);
  while (true) {
    changed.wait(lock, [&] { return stops || !tasks.empty(); });
    if (stops)
      return;
    Task task = std::move(tasks.front());
    tasks.pop_front();
    lock.unlock();
    task(true);
    task = nullptr;
    lock.lock();
  }
}

} // namespace cupel::pjrt
