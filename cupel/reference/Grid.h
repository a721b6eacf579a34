// A grid of processes that run side by side and meet: collectives, channels and the infeed queue.
// Each process has a thread, which costs a core only while it computes. Whoever fails releases all
// that wait, and processes that wait for each other are found out, so nobody waits for ever. Knows
// nothing of MLIR.

#pragma once

#include "cupel/reference/Execute.h"

#include <condition_variable>
#include <deque>
#include <map>
#include <span>

namespace cupel::reference {

class Grid {
public:
  Grid(uint32_t replicas, uint32_t partitions) : replicas(replicas), partitions(partitions) {}

  const uint32_t replicas, partitions;
  int64_t size() const { return int64_t(replicas) * partitions; }

  /// Number of a process: replica-major.
  int64_t id(const GridProcess &process) const {
    return int64_t(process.replica) * partitions + process.partition;
  }

  using Tensors = std::vector<tensor::Tensor>;
  /// What all members brought, in the order of `group`.
  using Meeting = std::shared_ptr<const std::vector<Tensors>>;

  /// Waits until all members of `group` (numbers of processes, with this one among them) have come
  /// to the meeting of that name, then hands everybody's values to each.
  Result<Meeting> meet(const GridProcess &process, const std::string &name,
                       std::span<const int64_t> group, Tensors mine);

  /// Leaves values in a channel; never waits.
  void send(const std::string &channel, Tensors values);
  /// Waits for the next values of a channel.
  Result<Tensors> receive(const std::string &channel);

  void feed(Tensors values);
  Result<Tensors> infeed();

  /// Runs `body` once for each process, on a thread each; true if it succeeded for all.
  bool run(Run &run, const std::function<Status(GridProcess &)> &body);

private:
  struct Waiter {
    bool ready = false;
    std::string what;
    Tensors received = {}; // Of a receiver.
  };
  struct Gathering {
    std::vector<Tensors> values;
    size_t arrived = 0;
    std::vector<Waiter *> waiters;
    Meeting done;
  };

  /// Blocks until `waiter` is ready; an error if the grid broke down meanwhile.
  Status wait(std::unique_lock<std::mutex> &lock, Waiter &waiter);
  void release(Waiter &waiter);
  void checkForDeadlock();

  std::mutex mutex;
  std::condition_variable changed;
  std::map<std::string, std::shared_ptr<Gathering>> gatherings;
  std::map<std::string, std::deque<Tensors>> channels;
  std::map<std::string, std::deque<Waiter *>> receivers;
  std::deque<Tensors> feeds;
  std::vector<Waiter *> waiting;
  int64_t alive = 1;
  std::string breakdown; // Why nobody may wait any more.
};

} // namespace cupel::reference
