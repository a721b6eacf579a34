#include "cupel/tensor/KeptBlocks.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <sys/mman.h>

namespace cupel::tensor {
namespace {

/// Where a block begins and how many bytes it has: whole pages of ours, or the allocator's, which
/// has ways of its own to use small ones again and is asked where nobody keeps any.
struct Range {
  std::byte *address = nullptr;
  size_t size = 0;
  bool isOurs = false;
};

constexpr size_t kPageBytes = 4096;
/// What is left of a range behind a block that was cut off it is kept for others from here on;
/// less goes with the block.
constexpr size_t kLeastRest = size_t{256} << 10;
/// Blocks from here on are whole large pages, which the system moves one by one and does not take
/// apart.
constexpr size_t kLargePageBytes = size_t{2} << 20;
constexpr size_t kOfLargePagesFrom = 16 * kLargePageBytes;

size_t roundUp(size_t bytes, size_t to) { return (bytes + to - 1) / to * to; }
std::byte *roundUp(std::byte *address, size_t to) {
  return reinterpret_cast<std::byte *>(roundUp(reinterpret_cast<uintptr_t>(address), to));
}

/// Blocks of at least kKeptFrom bytes: how much is in use, and the ranges that are kept, which lie
/// apart from each other. Neighbours become one, so that what a few large tensors leave serves many
/// small ones, and the other way round.
class Blocks {
public:
  void begin() {
    std::lock_guard lock(mutex);
    if (keepers++ == 0)
      most = before = live;
  }

  size_t taken() {
    std::lock_guard lock(mutex);
    return most - before;
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

  /// The smallest that is kept and fits, or a part of it, or one that can be made to fit; else room
  /// is made for a new one of just this size, which the caller asks the system for.
  Range take(size_t bytes) {
    std::lock_guard lock(mutex);
    if (keepers == 0 || !kMayKeep) {
      live += bytes;
      most = std::max(most, live);
      return {nullptr, bytes, false};
    }
    if (bytes >= kOfLargePagesFrom)
      bytes = roundUp(bytes, kLargePageBytes);
    auto best = ranges.end();
    for (auto at = ranges.begin(); at != ranges.end(); ++at)
      if (at->second >= bytes && (best == ranges.end() || at->second < best->second))
        best = at;
    if (best != ranges.end()) {
      Range found{best->first, best->second, true};
      ranges.erase(best);
      kept -= found.size;
      if (found.size - bytes >= kLeastRest) {
        keep({found.address + bytes, found.size - bytes, true});
        found.size = bytes;
      }
      live += found.size;
      most = std::max(most, live);
      release(most - live);
      return found;
    }
    Range found = bytes >= kOfLargePagesFrom ? assembled(bytes) : stretched(bytes);
    live += bytes;
    most = std::max(most, live);
    release(most - live);
    return found;
  }

  void give(Range block) {
    {
      std::lock_guard lock(mutex);
      live -= block.size;
      if (block.isOurs && block.address && keepers > 0)
        return keep(block);
    }
    if (!block.isOurs)
      std::free(block.address);
    else if (block.address)
      munmap(block.address, block.size);
  }

private:
  /// The large pages of a range that is kept.
  static Range largePagesOf(std::byte *address, size_t size) {
    std::byte *begin = roundUp(address, kLargePageBytes), *end = address + size;
    return {begin, begin < end ? size_t(end - begin) / kLargePageBytes * kLargePageBytes : 0, true};
  }

  /// Several that are kept, moved side by side: a block that long-lived ones were cut off, or that
  /// ended in parts, would not be found again as a whole. Pages move without being touched; what is
  /// missing is new. One without an address where too little is kept.
  Range assembled(size_t bytes) {
    Range found{nullptr, bytes, true};
#if defined(__linux__)
    size_t total = 0;
    for (auto [address, size] : ranges)
      total += largePagesOf(address, size).size;
    if (total < bytes / 4)
      return found;
    const size_t slack = bytes + kLargePageBytes;
    void *reserved =
        mmap(nullptr, slack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (reserved == MAP_FAILED)
      return found;
    auto *begin = static_cast<std::byte *>(reserved), *end = begin + slack;
    found.address = roundUp(begin, kLargePageBytes);
    if (found.address > begin)
      munmap(begin, size_t(found.address - begin));
    if (end > found.address + bytes)
      munmap(found.address + bytes, size_t(end - (found.address + bytes)));
    for (size_t filled = 0; filled < bytes;) {
      Range part;
      std::byte *of = nullptr;
      for (auto [address, size] : ranges)
        if (Range pages = largePagesOf(address, size); pages.size > part.size) {
          part = pages;
          of = address;
        }
      if (part.size == 0)
        break;
      part.size = std::min(part.size, bytes - filled);
      std::byte *partEnd = part.address + part.size, *ofEnd = of + ranges[of];
      kept -= ranges[of];
      ranges.erase(of);
      if (of < part.address)
        keep({of, size_t(part.address - of), true});
      if (partEnd < ofEnd)
        keep({partEnd, size_t(ofEnd - partEnd), true});
      std::byte *place = found.address + filled;
      if (mremap(part.address, part.size, part.size, MREMAP_MAYMOVE | MREMAP_FIXED, place) ==
          MAP_FAILED) {
        // Older systems do not move several mappings at once; whatever was moved, both are new now.
        munmap(part.address, part.size);
        if (mmap(place, part.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
                 -1, 0) == MAP_FAILED) {
          munmap(found.address, bytes);
          return {nullptr, bytes, true};
        }
      }
      filled += part.size;
    }
#endif
    return found;
  }

  /// The largest that is kept where it is most of what is wanted: a small block that was cut off it
  /// may live on, and only what is missing has to be cleared. Else one without an address.
  Range stretched(size_t bytes) {
    Range found{nullptr, bytes, true};
#if defined(__linux__)
    auto largest = std::max_element(ranges.begin(), ranges.end(), [](const auto &a, const auto &b) {
      return a.second < b.second;
    });
    if (largest == ranges.end() || largest->second < bytes / 2)
      return found;
    void *moved = mremap(largest->first, largest->second, bytes, MREMAP_MAYMOVE);
    if (moved == MAP_FAILED) // It lies in several mappings.
      return found;
    kept -= largest->second;
    ranges.erase(largest);
    found.address = static_cast<std::byte *>(moved);
#endif
    return found;
  }

  void keep(Range range) {
    kept += range.size;
    auto after = ranges.lower_bound(range.address);
    if (after != ranges.end() && range.address + range.size == after->first) {
      range.size += after->second;
      after = ranges.erase(after);
    }
    if (after != ranges.begin())
      if (auto before = std::prev(after); before->first + before->second == range.address) {
        before->second += range.size;
        return;
      }
    ranges.emplace_hint(after, range.address, range.size);
  }

  /// Until no more than so much is kept; of the smallest first, which serve fewest, and no more of
  /// one than must be.
  void release(size_t bytes) {
    while (kept > bytes) {
      auto least = std::min_element(ranges.begin(), ranges.end(), [](const auto &a, const auto &b) {
        return a.second < b.second;
      });
      size_t surplus = (kept - bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
      size_t size = std::min(least->second, surplus);
      munmap(least->first + (least->second - size), size);
      kept -= size;
      if (size == least->second)
        ranges.erase(least);
      else
        least->second -= size;
    }
  }

#if defined(CUPEL_SANITIZED)
  static constexpr bool kMayKeep = false; // What is read after its end must be seen.
#else
  static constexpr bool kMayKeep = true;
#endif

  std::mutex mutex;
  int keepers = 0;
  size_t live = 0, kept = 0, most = 0, before = 0;
  std::map<std::byte *, size_t> ranges;
};

/// Never destroyed: tensors of other globals may end later.
Blocks &everyBlock() {
  static Blocks &blocks = *new Blocks;
  return blocks;
}

std::byte *fresh(const Range &block, bool cleared) {
  if (!block.isOurs)
    return static_cast<std::byte *>(cleared ? std::calloc(block.size, 1) : std::malloc(block.size));
  void *address =
      mmap(nullptr, block.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return address == MAP_FAILED ? nullptr : static_cast<std::byte *>(address);
}

} // namespace

BlockKeeper::BlockKeeper() { everyBlock().begin(); }
BlockKeeper::~BlockKeeper() { everyBlock().end(); }
size_t BlockKeeper::taken() const { return everyBlock().taken(); }

void releaseKeptBlocks() { everyBlock().releaseAll(); }
size_t keptBytes() { return everyBlock().bytesKept(); }

std::shared_ptr<const void> takeBlock(size_t bytes, bool cleared) {
  if (bytes < kKeptFrom)
    return {static_cast<const void *>(cleared ? std::calloc(bytes, 1) : std::malloc(bytes)),
            [](const void *p) { std::free(const_cast<void *>(p)); }};
  Range block = everyBlock().take(roundUp(bytes, kPageBytes));
  if (block.address) {
    if (cleared)
      std::memset(block.address, 0, bytes);
  } else {
    block.address = fresh(block, cleared);
  }
  // One that could not be made has no address, and is counted out again.
  std::shared_ptr<const void> owner(block.address, [block](const void *p) {
    everyBlock().give({static_cast<std::byte *>(const_cast<void *>(p)), block.size, block.isOurs});
  });
  return block.address ? owner : nullptr;
}

} // namespace cupel::tensor
