#include "cupel/compiler/backends/cpu/Threads.h"

#include <memory>

namespace cupel::compiler {

const kernels::Pool &kernelPool() {
  static const kernels::Pool pool;
  return pool;
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
