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

/// Where on a page scratch begins. Tensors begin where pages do, and a processor that compares the
/// last twelve bits of addresses takes what was just stored here for what it is about to load from
/// there: a softmax took a quarter longer with scratch close behind its input or close before its
/// result.
constexpr uintptr_t kPage = 4096, kScratchOnPage = 1024;

void *threadScratch(int64_t bytes) {
  thread_local std::unique_ptr<AlignedMemory> memory;
  thread_local int64_t size = 0;
  if (bytes <= 0)
    return nullptr;
  if (size < bytes) {
    memory = std::make_unique<AlignedMemory>(bytes + int64_t(kPage + kScratchOnPage));
    size = memory->get() ? bytes : 0;
  }
  if (!memory->get())
    return nullptr;
  uintptr_t page = (reinterpret_cast<uintptr_t>(memory->get()) + kPage - 1) & ~(kPage - 1);
  return reinterpret_cast<void *>(page + kScratchOnPage);
}

} // namespace cupel::compiler
