#include "cupel/reference/Grid.h"

#include "cupel/reference/Parallel.h"

#include <algorithm>
#include <system_error>
#include <thread>

namespace cupel::reference {

Status Grid::wait(std::unique_lock<std::mutex> &lock, Waiter &waiter) {
  waiting.push_back(&waiter);
  checkForDeadlock();
  changed.wait(lock, [&] { return waiter.ready || !breakdown.empty(); });
  std::erase(waiting, &waiter);
  if (waiter.ready)
    return {};
  return Error{breakdown};
}

void Grid::release(Waiter &waiter) {
  waiter.ready = true;
  std::erase(waiting, &waiter);
  changed.notify_all();
}

void Grid::checkForDeadlock() {
  if (!breakdown.empty() || waiting.empty() || static_cast<int64_t>(waiting.size()) < alive)
    return;
  breakdown = "all processes that still run wait for others: " + waiting.front()->what;
  changed.notify_all();
}

Result<Grid::Meeting> Grid::meet(const GridProcess &process, const std::string &name,
                                 std::span<const int64_t> group, Tensors mine) {
  auto place = std::ranges::find(group, id(process));
  if (place == group.end())
    return Error{"the process is not in the group that it meets"};
  std::string key = name;
  for (int64_t member : group)
    key += "," + std::to_string(member);
  std::unique_lock lock(mutex);
  std::shared_ptr<Gathering> &entry = gatherings[key];
  if (!entry) {
    entry = std::make_shared<Gathering>();
    entry->values.resize(group.size());
  }
  std::shared_ptr<Gathering> gathering = entry;
  gathering->values[place - group.begin()] = std::move(mine);
  if (++gathering->arrived == group.size()) {
    gathering->done = std::make_shared<const std::vector<Tensors>>(std::move(gathering->values));
    gatherings.erase(key); // The next to come start a meeting of their own.
    for (Waiter *waiter : gathering->waiters)
      release(*waiter);
    return gathering->done;
  }
  Waiter waiter{false, "process " + std::to_string(id(process)) + " in " + name + " for " +
                           std::to_string(group.size() - gathering->arrived) + " more"};
  gathering->waiters.push_back(&waiter);
  if (Status status = wait(lock, waiter); !status) {
    std::erase(gathering->waiters, &waiter);
    return status.error();
  }
  return gathering->done;
}

void Grid::send(const std::string &channel, Tensors values) {
  std::lock_guard lock(mutex);
  auto &queue = receivers[channel];
  if (queue.empty()) {
    channels[channel].push_back(std::move(values));
    return;
  }
  Waiter *first = queue.front();
  queue.pop_front();
  first->received = std::move(values);
  release(*first);
}

Result<Grid::Tensors> Grid::receive(const std::string &channel) {
  std::unique_lock lock(mutex);
  auto &queue = channels[channel];
  if (!queue.empty()) {
    Tensors values = std::move(queue.front());
    queue.pop_front();
    return values;
  }
  Waiter waiter{false, "a receiver on channel " + channel};
  receivers[channel].push_back(&waiter);
  if (Status status = wait(lock, waiter); !status) {
    std::erase(receivers[channel], &waiter);
    return status.error();
  }
  return std::move(waiter.received);
}

void Grid::feed(Tensors values) {
  std::lock_guard lock(mutex);
  feeds.push_back(std::move(values));
}

Result<Grid::Tensors> Grid::infeed() {
  std::lock_guard lock(mutex);
  if (feeds.empty())
    return Error{"nothing is left in the infeed queue"};
  Tensors values = std::move(feeds.front());
  feeds.pop_front();
  return values;
}

bool Grid::run(Run &run, const std::function<Status(GridProcess &)> &body) {
  constexpr int64_t kMost = 4096;
  if (size() > kMost) {
    run.fail(
        Error{"a grid of more than " + std::to_string(kMost) + " processes is too large"});
    return false;
  }
  alive = size();
  // Processes share the cores.
  int allowed = run.options.threads > 0 ? run.options.threads : coreCount();
  int each = static_cast<int>(std::max<int64_t>(1, allowed / size()));
  auto work = [&](int64_t number) {
    GridProcess process{run, this, static_cast<uint32_t>(number / partitions),
                        static_cast<uint32_t>(number % partitions)};
    WorkScope scope(run, each);
    Status status = body(process);
    std::lock_guard lock(mutex);
    if (!status) {
      run.fail(status.error()); // Kept only if nobody told more.
      if (breakdown.empty())
        breakdown = "another process failed";
      changed.notify_all();
    }
    --alive;
    checkForDeadlock();
  };
  std::vector<std::thread> threads;
  for (int64_t i = 1; i < size(); ++i) {
    try {
      threads.emplace_back(work, i);
    } catch (const std::system_error &) {
      std::lock_guard lock(mutex);
      run.fail(Error{ErrorCode::OutOfMemory, "there are too few threads for a grid of " +
                                                 std::to_string(size()) + " processes"});
      breakdown = "another process failed";
      changed.notify_all();
      break;
    }
  }
  if (!run.failed())
    work(0);
  for (std::thread &thread : threads)
    thread.join();
  return !run.failed();
}

} // namespace cupel::reference
