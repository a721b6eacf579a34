#include "cupel/compiler/backends/cpu/PackedWeights.h"

#include <unistd.h>

namespace cupel::compiler {

PackedWeights &PackedWeights::get() {
  // Never destroyed: buffers may outlive static objects.
  static auto *all =
      new PackedWeights(int64_t(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGE_SIZE) / 2);
  return *all;
}

/// What is held may be the last of a buffer, whose end must not find us locked: it goes to `dropped`.
void PackedWeights::erase(Entries::iterator entry, std::vector<KeptPointer> &dropped) {
  used -= entry->second.kept->bytes;
  dropped.push_back(std::move(entry->second.kept));
  all.erase(entry);
  entries.store(int64_t(all.size()), std::memory_order_relaxed);
}

/// What nobody asked for while all others were asked for twice is given up. What is in use is not: one
/// that takes turns with others in too little room would be packed again for every run.
bool PackedWeights::makeRoom(int64_t bytes, std::vector<KeptPointer> &dropped) {
  if (bytes > limit)
    return false;
  while (used + bytes > limit) {
    auto oldest = all.end();
    for (auto entry = all.begin(); entry != all.end(); ++entry)
      if (oldest == all.end() || entry->second.lastUse < oldest->second.lastUse)
        oldest = entry;
    if (oldest == all.end() || uses - oldest->second.lastUse <= 2 * all.size())
      return false;
    erase(oldest, dropped);
  }
  return true;
}

PackedWeights::KeptPointer
PackedWeights::find(const tensor::Tensor &weights, const std::string &layout,
                    const std::function<std::shared_ptr<const void>()> &pack, int64_t bytes) {
  std::pair key(weights.data(), layout);
  {
    std::lock_guard lock(mutex);
    if (auto found = all.find(key); found != all.end()) {
      found->second.lastUse = ++uses;
      return found->second.kept;
    }
  }
  auto made = std::make_shared<const Kept>(Kept{weights, layout, pack(), bytes});
  std::vector<KeptPointer> dropped;
  std::lock_guard lock(mutex);
  ++uses;
  if (auto found = all.find(key); found != all.end())
    return found->second.kept;
  if (!makeRoom(bytes, dropped))
    return made;
  all[key] = {made, uses};
  used += bytes;
  entries.store(int64_t(all.size()), std::memory_order_relaxed);
  return made;
}

void PackedWeights::forget(const std::byte *data) {
  if (!data || count() == 0)
    return;
  std::vector<KeptPointer> dropped;
  std::lock_guard lock(mutex);
  for (auto entry = all.lower_bound({data, std::string()});
       entry != all.end() && entry->first.first == data;)
    erase(entry++, dropped);
}

void PackedWeights::forget(const KeptPointer &one) {
  if (!one)
    return;
  std::vector<KeptPointer> dropped;
  std::lock_guard lock(mutex);
  auto entry = all.find({one->weights.data(), one->layout});
  if (entry != all.end() && entry->second.kept == one)
    erase(entry, dropped);
}

int64_t PackedWeights::packedBytes() const {
  std::lock_guard lock(mutex);
  return used;
}

} // namespace cupel::compiler
