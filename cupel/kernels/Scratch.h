// Memory that a kernel needs while it runs: a stack of blocks for each thread, kept for the next
// call. A frame gives back what it took when it ends; frames end in the reverse order of their
// beginning. Blocks are never handed from one thread to another, but may be read by others while the
// frame exists.

#pragma once

#include <cstddef>
#include <cstdint>

namespace cupel::kernels {

class ScratchFrame {
public:
  ScratchFrame();
  ~ScratchFrame();
  ScratchFrame(const ScratchFrame &) = delete;
  ScratchFrame &operator=(const ScratchFrame &) = delete;

  /// On a multiple of 64 bytes, not initialised.
  template <typename T> T *take(int64_t count) {
    return static_cast<T *>(takeBytes(static_cast<size_t>(count) * sizeof(T)));
  }

private:
  void *takeBytes(size_t bytes);

  size_t block, used; // Where this thread's stack stood.
};

/// Bytes that the calling thread keeps for later frames.
size_t scratchBytes();

} // namespace cupel::kernels
