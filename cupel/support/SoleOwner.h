// Whether something shared has one owner left, who may then change it. Used by tensors and by the
// plugin, which write over what nobody else looks at any more. Never for objects that somebody may
// still take a weak or plain pointer from.

#pragma once

#include <atomic>
#include <memory>

namespace cupel {

/// Whether `pointer` is the only one to its object. What the others did with the object before they
/// let go of it has then happened before this returns.
template <typename T> bool isSoleOwner(const std::shared_ptr<T> &pointer) {
  if (pointer.use_count() != 1)
    return false;
  // The count alone is read without any order.
  std::atomic_thread_fence(std::memory_order_acquire);
#if __has_feature(thread_sanitizer)
  std::shared_ptr<T>(pointer).reset(); // The same in terms of the count: it knows no fences.
#endif
  return true;
}

} // namespace cupel
