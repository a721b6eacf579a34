// The memory of one device, as far as its architecture limits it: who holds how much of it. Used by
// buffers and by executions before they start. It counts; it never allocates.

#pragma once

#include "cupel/pjrt/plugin/Handles.h"
#include "cupel/tensor/Tensor.h"

#include <mutex>

namespace cupel::pjrt {

class Pool;

/// A share of a pool, given back when it dies.
class Reservation {
public:
  Reservation() = default;
  Reservation(Reservation &&other) noexcept;
  Reservation &operator=(Reservation &&other) noexcept;
  ~Reservation() { release(); }

  void release();

private:
  friend class Pool;
  struct Entry;
  std::shared_ptr<Pool> pool;
  Entry *entry = nullptr;
};

struct PoolStatistics {
  int64_t inUse = 0, peak = 0, allocations = 0, largest = 0, limit = 0;
};

class Pool : public std::enable_shared_from_this<Pool> {
public:
  /// `limit` in bytes; 0: none.
  Pool(std::string name, int64_t limit) : name(std::move(name)), limit(limit) {}
  ~Pool();

  /// Takes memory for a tensor; `origin` says where it comes from ("a result of jit_f").
  Result<Reservation> reserve(int64_t bytes, tensor::DType type, std::span<const int64_t> shape,
                               std::shared_ptr<const std::string> origin);
  /// RESOURCE_EXHAUSTED if that many bytes more would not fit for a while.
  Status check(int64_t bytes, std::string_view doing, std::string_view what) const;

  PoolStatistics statistics() const;
  void clearPeak();

private:
  friend class Reservation;
  void give(Reservation::Entry *entry);
  Error exhausted(int64_t bytes, const std::string &what) const;

  const std::string name;
  const int64_t limit;
  mutable std::mutex mutex;
  Reservation::Entry *first = nullptr;
  PoolStatistics numbers;
};

} // namespace cupel::pjrt
