#include "cupel/tensor/KeptBlocks.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <vector>

namespace cupel::tensor {
namespace {

struct KeptBlock {
  void *address;
  size_t size;
};

/// More are not searched through.
constexpr size_t kMostBlocks = 64;
/// From so many times the size on a block is not cut for another: it would be missed.
constexpr size_t kMostTimes = 4;

/// Blocks of at least kKeptFrom bytes, those in use and those that are kept, oldest first.
class Blocks {
public:
  void begin() {
    std::lock_guard lock(mutex);
    if (keepers++ == 0)
      most = live;
  }

  void end() {
    std::lock_guard lock(mutex);
    if (--keepers == 0)
      release(0);
  }

  void releaseAll() {
    std::lock_guard lock(mutex);
    release(0);
  }

  size_t bytesKept() {
    std::lock_guard lock(mutex);
    return kept;
  }

  /// A kept one that fits, with its size; else the caller makes one of just this size.
  KeptBlock take(size_t bytes) {
    std::lock_guard lock(mutex);
    auto best = blocks.end();
    for (auto at = blocks.begin(); at != blocks.end(); ++at)
      if (at->size >= bytes && (best == blocks.end() || at->size < best->size))
        best = at;
    // One that is too large is cut where memory would have to go back for a new one anyway.
    const bool isFull = live + kept + bytes > most;
    const bool isNear = best != blocks.end() && best->size <= bytes + bytes / 16;
    if (isNear || (best != blocks.end() && isFull && best->size / bytes < kMostTimes)) {
      KeptBlock found = *best;
      blocks.erase(best);
      kept -= found.size;
      if (!isNear)
        if (void *cut = std::realloc(found.address, bytes))
          found = {cut, bytes};
      live += found.size;
      return found;
    }
    live += bytes;
    most = std::max(most, live);
    release(most - live);
    return {nullptr, bytes};
  }

  void give(KeptBlock block) {
    {
      std::lock_guard lock(mutex);
      live -= block.size;
      if (keepers > 0 && kMayKeep && block.address) {
        blocks.push_back(block);
        kept += block.size;
        if (blocks.size() > kMostBlocks)
          dropOldest();
        return;
      }
    }
    std::free(block.address);
  }

private:
  /// Until no more than so much is kept.
  void release(size_t bytes) {
    while (kept > bytes)
      dropOldest();
  }
  void dropOldest() {
    kept -= blocks.front().size;
    std::free(blocks.front().address);
    blocks.erase(blocks.begin());
  }

#if defined(CUPEL_SANITIZED)
  static constexpr bool kMayKeep = false; // What is read after its end must be seen.
#else
  static constexpr bool kMayKeep = true;
#endif

  std::mutex mutex;
  int keepers = 0;
  size_t live = 0, kept = 0, most = 0;
  std::vector<KeptBlock> blocks;
};

/// Never destroyed: tensors of other globals may end later.
Blocks &everyBlock() {
  static Blocks &blocks = *new Blocks;
  return blocks;
}

} // namespace

BlockKeeper::BlockKeeper() { everyBlock().begin(); }
BlockKeeper::~BlockKeeper() { everyBlock().end(); }

void releaseKeptBlocks() { everyBlock().releaseAll(); }
size_t keptBytes() { return everyBlock().bytesKept(); }

std::shared_ptr<const void> takeBlock(size_t bytes, bool cleared) {
  auto make = [&] { return cleared ? std::calloc(bytes, 1) : std::malloc(bytes); };
  if (bytes < kKeptFrom)
    return {static_cast<const void *>(make()),
            [](const void *p) { std::free(const_cast<void *>(p)); }};
  KeptBlock block = everyBlock().take(bytes);
  if (block.address) {
    if (cleared)
      std::memset(block.address, 0, bytes);
  } else {
    block.address = make();
  }
  // One that could not be made has no address, and is counted out again.
  std::shared_ptr<const void> owner(block.address, [size = block.size](const void *p) {
    everyBlock().give({const_cast<void *>(p), size});
  });
  return block.address ? owner : nullptr;
}

} // namespace cupel::tensor
