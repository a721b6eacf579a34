#include "cupel/compiler/backends/cpu/Frames.h"

#include "cupel/support/ProcessTree.h"

#include <algorithm>
#include <atomic>
#include <sys/mman.h>

namespace cupel::compiler {

/// Those that are kept for the next runs of a program; simulated devices run side by side.
static constexpr size_t kMostIdleFrames = 8;
/// Smaller ones cost less than what is kept in them.
static constexpr size_t kSharedFrom = size_t{4} << 20;

namespace {

std::atomic<bool> areShared = false;

/// Those of all programs. Never destroyed: programs of other globals may end later.
struct AllFrames {
  std::mutex mutex;
  std::vector<std::weak_ptr<Frames>> each;
};
AllFrames &allFrames() {
  static AllFrames &all = *new AllFrames;
  return all;
}

Frame newFrame(size_t bytes) {
  // As large as huge pages where that matters.
  size_t alignment = bytes >= (size_t{4} << 20) ? size_t{2} << 20 : size_t{4096};
  bytes = std::max((bytes + alignment - 1) / alignment * alignment, alignment);
  if (!hasRoomFor(bytes))
    return {};
  Frame frame{.memory{static_cast<std::byte *>(std::aligned_alloc(alignment, bytes))}, .bytes = bytes};
#if defined(MADV_HUGEPAGE)
  if (frame && alignment > 4096)
    ::madvise(frame.get(), bytes, MADV_HUGEPAGE);
#endif
  return frame;
}

} // namespace

void shareFrames(bool isShared) { areShared = isShared; }

void Frames::joinAll() {
  AllFrames &all = allFrames();
  std::lock_guard lock(all.mutex);
  std::erase_if(all.each, [](const std::weak_ptr<Frames> &one) { return one.expired(); });
  all.each.push_back(weak_from_this());
}

std::optional<size_t> Frames::smallestIdle(size_t bytes) {
  std::lock_guard lock(mutex);
  std::optional<size_t> smallest;
  for (const Frame &frame : idle)
    if (frame.bytes >= bytes && (!smallest || frame.bytes < *smallest))
      smallest = frame.bytes;
  return smallest;
}

std::optional<Frame> Frames::takeIdle(size_t bytes) {
  std::lock_guard lock(mutex);
  auto found = std::find_if(idle.rbegin(), idle.rend(), [&](const Frame &frame) { return frame.bytes >= bytes; });
  if (found == idle.rend())
    return std::nullopt;
  Frame frame = std::move(*found);
  idle.erase(std::next(found).base());
  return frame;
}

Frame Frames::take(size_t bytes) {
  if (std::optional<Frame> own = takeIdle(bytes))
    return std::move(*own);
  if (bytes >= kSharedFrom && areShared.load(std::memory_order_relaxed)) {
    std::vector<std::pair<size_t, std::shared_ptr<Frames>>> others;
    {
      AllFrames &all = allFrames();
      std::lock_guard lock(all.mutex);
      for (const std::weak_ptr<Frames> &one : all.each)
        if (std::shared_ptr<Frames> other = one.lock())
          if (std::optional<size_t> size = other->smallestIdle(bytes))
            others.emplace_back(*size, std::move(other));
    }
    std::ranges::sort(others, {}, [](const auto &other) { return other.first; });
    for (const auto &[size, other] : others)
      if (std::optional<Frame> frame = other->takeIdle(bytes)) {
        frame->kept.forget();
        return std::move(*frame);
      }
  }
  Frame frame = newFrame(bytes);
  if (frame) {
    frame.owner = weak_from_this();
    if (bytes >= kSharedFrom)
      std::call_once(joined, [&] { joinAll(); });
  }
  return frame;
}

void Frames::give(Frame frame) {
  std::shared_ptr<Frames> owner = frame.owner.lock();
  if (!owner)
    return;
  std::lock_guard lock(owner->mutex);
  if (owner->idle.size() < kMostIdleFrames)
    owner->idle.push_back(std::move(frame));
}

} // namespace cupel::compiler
