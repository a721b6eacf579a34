#include "cupel/kernels/Scratch.h"

#include <algorithm>
#include <cstdlib>
#include <new>
#include <vector>

namespace cupel::kernels {
namespace {

constexpr size_t kAlignment = 64;
constexpr size_t kSmallestBlock = size_t{1} << 20;

struct Block {
  std::byte *data;
  size_t size;
};

struct Stack {
  std::vector<Block> blocks;
  size_t block = 0, used = 0; // The next byte to give.

  ~Stack() {
    for (Block &each : blocks)
      std::free(each.data);
  }

  void *take(size_t bytes) {
    bytes = (bytes + kAlignment - 1) / kAlignment * kAlignment;
    while (block < blocks.size() && blocks[block].size - used < bytes) {
      ++block;
      used = 0;
    }
    if (block == blocks.size()) {
      // Twice what there is, so that the number of blocks stays small.
      size_t size = std::max({bytes, kSmallestBlock, blocks.empty() ? 0 : 2 * blocks.back().size});
      auto *data = static_cast<std::byte *>(std::aligned_alloc(kAlignment, size));
      if (!data)
        throw std::bad_alloc();
      blocks.push_back({data, size});
      used = 0;
    }
    void *taken = blocks[block].data + used;
    used += bytes;
    return taken;
  }
};

thread_local Stack stack;

} // namespace

ScratchFrame::ScratchFrame() : block(stack.block), used(stack.used) {}

ScratchFrame::~ScratchFrame() {
  stack.block = block;
  stack.used = used;
}

void *ScratchFrame::takeBytes(size_t bytes) { return stack.take(bytes); }

size_t scratchBytes() {
  size_t sum = 0;
  for (const Block &each : stack.blocks)
    sum += each.size;
  return sum;
}

} // namespace cupel::kernels
