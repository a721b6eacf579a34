#include "cupel/kernels/Scratch.h"

#include <algorithm>
#include <cstdlib>
#include <new>
#include <vector>

namespace cupel::kernels {
namespace {

#if __has_feature(address_sanitizer)
/// What is taken is a block of its own, so that who goes beyond it is found: within a block that is shared a sanitizer sees nothing.
constexpr bool kTakesBlocks = true;
#else
constexpr bool kTakesBlocks = false;
#endif

constexpr size_t kAlignment = 64;
constexpr size_t kSmallestBlock = size_t{1} << 20;
/// A thread that once needed more gives it back.
constexpr size_t kMostKept = size_t{96} << 20;

struct Block {
  std::byte *data;
  size_t size;
};

struct Stack {
  std::vector<Block> blocks;
  size_t block = 0, used = 0; // The next byte to give.

  ~Stack() { clear(); }

  void clear() {
    for (Block &each : blocks)
      std::free(each.data);
    blocks.clear();
  }

  size_t size() const {
    size_t sum = 0;
    for (const Block &each : blocks)
      sum += each.size;
    return sum;
  }

  void *takeBlock(size_t bytes) {
    void *data = nullptr;
    if (::posix_memalign(&data, kAlignment, std::max<size_t>(bytes, 1)) != 0)
      throw std::bad_alloc();
    blocks.push_back({static_cast<std::byte *>(data), bytes});
    block = blocks.size();
    return data;
  }

  /// Those that were taken by themselves.
  void giveBlocks() {
    for (; blocks.size() > block; blocks.pop_back())
      std::free(blocks.back().data);
  }

  void *take(size_t bytes) {
    if (kTakesBlocks)
      return takeBlock(bytes);
    bytes = (bytes + kAlignment - 1) / kAlignment * kAlignment;
    while (block < blocks.size() && blocks[block].size - used < bytes) {
      ++block;
      used = 0;
    }
    if (block == blocks.size()) {
      // Growing, so that the number of blocks stays small.
      size_t larger = blocks.empty() ? 0 : std::min(2 * blocks.back().size, 8 * kSmallestBlock);
      size_t size = std::max({bytes, kSmallestBlock, larger});
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
  if (kTakesBlocks)
    stack.giveBlocks();
  if (block == 0 && used == 0 && stack.blocks.size() > 1 && stack.size() > kMostKept)
    stack.clear();
}

void *ScratchFrame::takeBytes(size_t bytes) { return stack.take(bytes); }

size_t scratchBytes() { return stack.size(); }

} // namespace cupel::kernels
