// What kernels of the cpu backend take from the process: its threads, and memory that lasts for one
// call.

#pragma once

#include "cupel/kernels/Pool.h"

#include <cstdlib>

namespace cupel::compiler {

/// As many threads as the process has cores, unless somebody chose otherwise.
const kernels::Pool &kernelPool();
/// For all that runs from now on; 0: as many as there are cores. Results do not depend on it.
void useKernelThreads(int threads,
                      kernels::Pool::Sharing sharing = kernels::Pool::Sharing::WhereItPays);

/// Memory of the calling thread, valid until its next call; aligned to 64 bytes. Null for none.
void *threadScratch(int64_t bytes);

class AlignedMemory {
public:
  explicit AlignedMemory(int64_t bytes)
      : memory(bytes > 0 ? std::aligned_alloc(64, size_t(bytes + 63) / 64 * 64) : nullptr) {}
  ~AlignedMemory() { std::free(memory); }
  AlignedMemory(const AlignedMemory &) = delete;
  AlignedMemory &operator=(const AlignedMemory &) = delete;
  void *get() const { return memory; }

private:
  void *memory;
};

} // namespace cupel::compiler
