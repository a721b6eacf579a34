#include "cupel/reference/LaneUpdates.h"

#include "cupel/reference/StridedCopy.h"

#include <cstring>

namespace cupel::reference {

LaneUpdates::LaneUpdates(const ElementFunction &body, std::vector<std::byte *> results,
                         bool updatesFirst)
    : body(body), results(std::move(results)), slots(kSlots) {
  size_t n = this->results.size();
  for (size_t i = 0; i < n; ++i) {
    int64_t size = tensor::info(body.resultTypes()[i].storage).bytes;
    bytes.push_back(size);
    auto lanes = static_cast<size_t>(size * kLanes);
    current.emplace_back(lanes);
    pending.emplace_back(lanes);
    fresh.emplace_back(lanes);
  }
  auto &first = updatesFirst ? pending : current, &second = updatesFirst ? current : pending;
  for (auto &lanes : first)
    arguments.push_back(lanes.data());
  for (auto &lanes : second)
    arguments.push_back(lanes.data());
  for (auto &lanes : fresh)
    outputs.push_back(lanes.data());
  targets.reserve(kLanes);
}

Status LaneUpdates::add(int64_t target, std::span<const std::byte *const> updates) {
  auto place = [&] {
    uint64_t hash = (static_cast<uint64_t>(target) * 0x9e3779b97f4a7c15u) >> 52;
    while (slots[hash].round == round && slots[hash].target != target)
      hash = (hash + 1) % kSlots;
    return hash;
  };
  uint64_t slot = place();
  if (slots[slot].round == round || static_cast<int64_t>(targets.size()) == kLanes) {
    if (Status status = flush(); !status)
      return status;
    slot = place();
  }
  slots[slot] = {target, round};
  auto lane = static_cast<int64_t>(targets.size());
  targets.push_back(target);
  for (size_t i = 0; i < results.size(); ++i)
    dispatchBytes(bytes[i], [&](auto type) {
      std::memcpy(pending[i].data() + lane * int64_t{sizeof(type)}, updates[i], sizeof(type));
    });
  return {};
}

Status LaneUpdates::flush() {
  auto lanes = static_cast<int64_t>(targets.size());
  if (lanes == 0)
    return {};
  for (size_t i = 0; i < results.size(); ++i)
    dispatchBytes(bytes[i], [&](auto type) {
      constexpr int64_t size = sizeof(type);
      for (int64_t k = 0; k < lanes; ++k)
        std::memcpy(current[i].data() + k * size, results[i] + targets[k] * size, size);
    });
  if (Status status = body.run(arguments, outputs, lanes); !status)
    return status;
  for (size_t i = 0; i < results.size(); ++i)
    dispatchBytes(bytes[i], [&](auto type) {
      constexpr int64_t size = sizeof(type);
      for (int64_t k = 0; k < lanes; ++k)
        std::memcpy(results[i] + targets[k] * size, fresh[i].data() + k * size, size);
    });
  targets.clear();
  ++round;
  return {};
}

} // namespace cupel::reference
