#include "cupel/reference/Parallel.h"

#include "cupel/tensor/Allocation.h"

namespace cupel::reference {

namespace {

thread_local Run *currentRun = nullptr;
thread_local int currentThreads = 1;

} // namespace

detail::BlockSizes detail::blockSizes;

WorkScope::WorkScope(Run &run, int threads) : outerRun(currentRun), outerThreads(currentThreads) {
  [[maybe_unused]] static const bool once = (tensor::setAllocationGuard(reserveScratch), true);
  currentRun = &run;
  currentThreads = threads;
}

WorkScope::~WorkScope() {
  currentRun = outerRun;
  currentThreads = outerThreads;
}

int workThreads() { return currentThreads; }

bool isStopped() { return currentRun && currentRun->poll(); }

Status reserveScratch(int64_t bytes) {
  if (!currentRun)
    return {};
  return currentRun->reserve(bytes);
}

void detail::runBlocks(int64_t count, int64_t block, int threads,
                       const std::function<void(int64_t, int64_t)> &body) {
  if (threads <= 1) {
    for (int64_t begin = 0; begin < count && !isStopped(); begin += block)
      body(begin, std::min(count, begin + block));
    return;
  }
  Run &run = *currentRun;
  runPieces((count + block - 1) / block, threads, [&](int64_t piece) {
    if (run.poll())
      return;
    WorkScope scope(run, 1);
    body(piece * block, std::min(count, (piece + 1) * block));
  });
}

} // namespace cupel::reference
