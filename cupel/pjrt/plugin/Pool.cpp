#include "cupel/pjrt/plugin/Pool.h"

#include <algorithm>

namespace cupel::pjrt {

struct Reservation::Entry {
  int64_t bytes;
  tensor::DType type;
  tensor::Shape shape;
  std::shared_ptr<const std::string> origin;
  Entry *previous = nullptr, *next = nullptr;
};

Reservation::Reservation(Reservation &&other) noexcept
    : pool(std::move(other.pool)), entry(std::exchange(other.entry, nullptr)) {}

Reservation &Reservation::operator=(Reservation &&other) noexcept {
  if (this != &other) {
    release();
    pool = std::move(other.pool);
    entry = std::exchange(other.entry, nullptr);
  }
  return *this;
}

void Reservation::release() {
  if (entry)
    pool->give(std::exchange(entry, nullptr));
  pool.reset();
}

Pool::~Pool() = default; // Reservations keep the pool alive, so none are left.

Error Pool::exhausted(int64_t bytes, const std::string &what) const {
  std::vector<const Reservation::Entry *> holders;
  for (const Reservation::Entry *entry = first; entry; entry = entry->next)
    holders.push_back(entry);
  size_t shown = std::min<size_t>(holders.size(), 5);
  std::partial_sort(holders.begin(), holders.begin() + shown, holders.end(),
                    [](const auto *a, const auto *b) { return a->bytes > b->bytes; });
  std::string text = "out of memory on " + name + ": " + what + " needs " + std::to_string(bytes) +
                     " bytes; " + std::to_string(std::max<int64_t>(limit - numbers.inUse, 0)) +
                     " of " + std::to_string(limit) + " are free.";
  for (size_t i = 0; i < shown; ++i)
    text += std::string(i ? ", " : " Largest holders: ") + std::to_string(holders[i]->bytes) +
            " bytes " + tensor::describe(holders[i]->type, holders[i]->shape) +
            (holders[i]->origin ? " (" + *holders[i]->origin + ")" : "");
  return {ErrorCode::OutOfMemory, text};
}

Result<Reservation> Pool::reserve(int64_t bytes, tensor::DType type,
                                   std::span<const int64_t> shape,
                                   std::shared_ptr<const std::string> origin) {
  auto entry = std::make_unique<Reservation::Entry>(
      Reservation::Entry{bytes, type, {shape.begin(), shape.end()}, std::move(origin)});
  std::lock_guard lock(mutex);
  if (limit && bytes > limit - numbers.inUse)
    return exhausted(bytes, "a " + tensor::describe(type, shape));
  entry->next = first;
  if (first)
    first->previous = entry.get();
  first = entry.get();
  numbers.inUse += bytes;
  numbers.peak = std::max(numbers.peak, numbers.inUse);
  numbers.largest = std::max(numbers.largest, bytes);
  ++numbers.allocations;
  Reservation reservation;
  reservation.pool = shared_from_this();
  reservation.entry = entry.release();
  return reservation;
}

Status Pool::check(int64_t bytes, std::string_view doing, std::string_view what) const {
  std::lock_guard lock(mutex);
  if (limit && bytes > limit - numbers.inUse)
    return exhausted(bytes, std::string(doing).append(what));
  return {};
}

void Pool::give(Reservation::Entry *entry) {
  {
    std::lock_guard lock(mutex);
    (entry->previous ? entry->previous->next : first) = entry->next;
    if (entry->next)
      entry->next->previous = entry->previous;
    numbers.inUse -= entry->bytes;
  }
  delete entry;
}

PoolStatistics Pool::statistics() const {
  std::lock_guard lock(mutex);
  PoolStatistics copy = numbers;
  copy.limit = limit;
  return copy;
}

void Pool::clearPeak() {
  std::lock_guard lock(mutex);
  numbers.peak = numbers.inUse;
}

} // namespace cupel::pjrt
