#include "cupel/compiler/backends/cpu/Threads.h"

#include <atomic>
#include <memory>

namespace cupel::compiler {

/// Never freed: kernels may still run with one that was chosen before.
static std::atomic<const kernels::Pool *> &chosenPool() {
  static std::atomic<const kernels::Pool *> pool = new kernels::Pool;
  return pool;
}

const kernels::Pool &kernelPool() { return *chosenPool().load(std::memory_order_relaxed); }

void useKernelThreads(int threads, kernels::Pool::Sharing sharing) {
  chosenPool() = new kernels::Pool(threads, sharing);
}

void *threadScratch(int64_t bytes) {
  thread_local std::unique_ptr<AlignedMemory> memory;
  thread_local int64_t size = 0;
  if (bytes <= 0)
    return nullptr;
  if (size < bytes) {
    memory = std::make_unique<AlignedMemory>(bytes);
    size = memory->get() ? bytes : 0;
  }
  return memory->get();
}

} // namespace cupel::compiler
