// How kernels use several threads and notice that they should stop: work is cut into blocks whose
// bounds depend on the work alone, never on the number of threads, and between blocks the run is
// asked whether a limit was passed. Every kernel that can take long goes through here. Without a
// run (a kernel called by itself) there is one thread and no limit.

#pragma once

#include "cupel/reference/Execute.h"
#include "cupel/support/ThreadPool.h"

#include <algorithm>
#include <functional>

namespace cupel::reference {

/// The run and the threads of the kernels that this thread calls, while it exists.
class WorkScope {
public:
  WorkScope(Run &run, int threads);
  ~WorkScope();
  WorkScope(const WorkScope &) = delete;
  WorkScope &operator=(const WorkScope &) = delete;

private:
  Run *outerRun;
  int outerThreads;
};

/// How many threads the current kernel may use; within a block of a parallel loop it is 1.
int workThreads();

/// Whether to give up. A kernel may then return anything of the right type and shape, but must not
/// use as an index what it did not compute.
bool isStopped();

/// For kernels that must not go on with values they did not compute. Never the first to tell.
inline Error stoppedError() { return Error{ErrorCode::Cancelled, "the operation was stopped"}; }

/// An error if the run may not take that many bytes more; for large scratch memory.
Status reserveScratch(int64_t bytes);

namespace detail {
/// Blocks take about `block` nanoseconds, whatever is computed; less than `worth` in all is not
/// worth waking a thread. Only tests change them.
struct BlockSizes {
  double block = 20'000, worth = 80'000;
};
extern BlockSizes blockSizes;

void runBlocks(int64_t count, int64_t block, int threads,
               const std::function<void(int64_t, int64_t)> &body);
} // namespace detail

/// Items of a block if one takes `nanoseconds`, a multiple of `multiple`.
inline int64_t blockOf(double nanoseconds, int64_t multiple = 1) {
  // An item of nothing, as a row of a product of depth zero is, takes no time at all.
  auto items = static_cast<int64_t>(detail::blockSizes.block / std::max(nanoseconds, 1e-3));
  return std::max<int64_t>(items / multiple, 1) * multiple;
}

/// Calls `body(begin, end)` for consecutive blocks of [0, count), side by side where that is worth
/// it; an item takes about `nanoseconds`. Blocks begin at multiples of `multiple`.
template <typename F>
void forBlocks(int64_t count, double nanoseconds, F &&body, int64_t multiple = 1) {
  int64_t block = blockOf(nanoseconds, multiple);
  if (count <= block) {
    if (count > 0)
      body(int64_t{0}, count);
    return;
  }
  bool worth = static_cast<double>(count) * nanoseconds >= detail::blockSizes.worth;
  detail::runBlocks(count, block, worth ? workThreads() : 1, std::ref(body));
}

/// As `forBlocks` of blocks of one item each.
template <typename F> void forEach(int64_t count, double nanoseconds, F &&body) {
  bool worth = static_cast<double>(count) * nanoseconds >= detail::blockSizes.worth;
  auto one = [&](int64_t i, int64_t) { body(i); };
  detail::runBlocks(count, 1, worth ? workThreads() : 1, std::ref(one));
}

} // namespace cupel::reference
