#include "cupel/pjrt/plugin/Worker.h"

#include <system_error>
#include <utility>

namespace cupel::pjrt {

Worker::~Worker() {
  {
    std::lock_guard lock(state->mutex);
    state->stops = true;
    state->changed.notify_all();
  }
  if (thread.joinable()) {
    if (thread.get_id() == std::this_thread::get_id())
      thread.detach();
    else
      thread.join();
  }
  // Nobody adds or takes tasks any more.
  for (Task &task : std::exchange(state->tasks, {}))
    task(nullptr);
}

void Worker::add(Task task) {
  {
    std::lock_guard lock(state->mutex);
    if (!thread.joinable()) {
      try {
        thread = std::thread([state = state] { work(*state); });
      } catch (const std::system_error &) {
        // No thread can be had: the caller does it.
      }
    }
    if (thread.joinable()) {
      ++state->outstanding;
      state->tasks.push_back(std::move(task));
      state->changed.notify_one();
      return;
    }
  }
  task(&state->stops);
}

void Worker::work(State &state) {
  state.own = std::this_thread::get_id();
  std::unique_lock lock(state.mutex);
  while (true) {
    state.changed.wait(lock, [&] { return state.stops || !state.tasks.empty(); });
    if (state.stops)
      return;
    Task task = std::move(state.tasks.front());
    state.tasks.pop_front();
    lock.unlock();
    task(&state.stops);
    task = nullptr; // What it held is free before it is counted out.
    --state.outstanding;
    lock.lock();
  }
}

} // namespace cupel::pjrt
