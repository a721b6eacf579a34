// Tensors of generated code, their memory, and the threads that loops run on. Elements lie row by row;
// a tensor that is copied shares its memory, and nothing writes to a tensor that somebody else may see.
#pragma once

#include "elements.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

namespace ops {

using Dims = std::vector<int64_t>;

inline int64_t count_of(const Dims &shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}
inline Dims strides_of(const Dims &shape) {
  Dims strides(shape.size());
  int64_t step = 1;
  for (size_t d = shape.size(); d-- > 0; step *= shape[d])
    strides[d] = step;
  return strides;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// Kernels may read whole vectors, so this much lies behind every tensor.
constexpr size_t slack_bytes = 256;

/// Blocks that are given back are kept for the next tensor of that size: fresh pages cost more than
/// what is computed on them.
class Memory {
public:
  static Memory &get() {
    static Memory *memory = new Memory; // Outlives every tensor.
    return *memory;
  }
  void *take(size_t bytes) {
    bytes = rounded(bytes);
    {
      std::lock_guard<std::mutex> lock(mutex);
      auto found = free.find(bytes);
      if (found != free.end() && !found->second.empty()) {
        void *block = found->second.back();
        found->second.pop_back();
        kept -= bytes;
        return block;
      }
    }
    void *block = std::aligned_alloc(64, bytes);
    if (!block)
      throw std::bad_alloc();
    return block;
  }
  void give_back(void *block, size_t bytes) {
    bytes = rounded(bytes);
    {
      std::lock_guard<std::mutex> lock(mutex);
      if (kept + bytes <= most_kept) {
        free[bytes].push_back(block);
        kept += bytes;
        return;
      }
    }
    std::free(block);
  }

private:
  static size_t rounded(size_t bytes) {
    size_t step = bytes < (1 << 16) ? 64 : 4096;
    return (bytes + slack_bytes + step - 1) / step * step;
  }
#if defined(__SANITIZE_ADDRESS__) || defined(OPS_NO_POOL)
  static constexpr size_t most_kept = 0;
#else
  static constexpr size_t most_kept = size_t(1) << 30;
#endif
  std::mutex mutex;
  std::map<size_t, std::vector<void *>> free;
  size_t kept = 0;
};

template <class T> class Tensor {
public:
  Dims shape;
  /// Nothing writes to this memory while the program runs: what is made of it may be kept.
  bool is_fixed = false;
  Tensor() = default;
  /// Not initialised.
  explicit Tensor(Dims sizes) : shape(std::move(sizes)), count(count_of(shape)) {
    size_t bytes = size_t(count) * sizeof(T);
    elements = std::shared_ptr<T>(static_cast<T *>(Memory::get().take(bytes)),
                                  [bytes](T *p) { Memory::get().give_back(p, bytes); });
  }
  /// Of memory that somebody else keeps.
  Tensor(Dims sizes, std::shared_ptr<T> memory, bool fixed)
      : shape(std::move(sizes)), is_fixed(fixed), count(count_of(shape)), elements(std::move(memory)) {}
  explicit Tensor(const T &value) : Tensor(Dims{}) { elements.get()[0] = value; }

  int64_t size() const { return count; }
  int64_t rank() const { return int64_t(shape.size()); }
  const T *data() const { return elements.get(); }
  T *data() { return elements.get(); }
  const T &operator[](int64_t i) const { return elements.get()[i]; }
  T &operator[](int64_t i) { return elements.get()[i]; }
  const T &item() const { return elements.get()[0]; }
  /// The same elements with another shape.
  Tensor reshaped(Dims sizes) const { return Tensor(std::move(sizes), elements, is_fixed); }

private:
  int64_t count = 0;
  std::shared_ptr<T> elements;
};

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

/// Threads that wait for parts of loops; OPS_THREADS says how many (all cores).
class Workers {
public:
  static Workers &get() {
    static Workers workers;
    return workers;
  }
  int count() const { return int(threads.size()) + 1; }
  /// Calls part(0) ... part(n - 1), some of them side by side.
  void run(int64_t n, const std::function<void(int64_t)> &part) {
    if (n <= 1 || threads.empty() || inside) {
      for (int64_t i = 0; i < n; ++i)
        part(i);
      return;
    }
    {
      std::lock_guard<std::mutex> lock(mutex);
      work = &part;
      parts = n;
      next = 0;
      busy = int(threads.size());
      ++generation;
    }
    wake.notify_all();
    take();
    // What is left takes microseconds; sleeping would take longer.
    for (int turn = 0; turn < spins && busy != 0; ++turn)
      pause();
    std::unique_lock<std::mutex> lock(mutex);
    done.wait(lock, [&] { return busy == 0; });
    work = nullptr;
  }

private:
  Workers() {
    const char *given = std::getenv("OPS_THREADS");
    int wanted = given ? std::atoi(given) : int(std::thread::hardware_concurrency());
    for (int i = 1; i < std::min(std::max(wanted, 1), 256); ++i)
      threads.emplace_back([this] { serve(); });
  }
  ~Workers() {
    {
      std::lock_guard<std::mutex> lock(mutex);
      ending = true;
    }
    wake.notify_all();
    for (std::thread &thread : threads)
      thread.join();
  }
  void serve() {
    inside = true;
    uint64_t seen = 0;
    for (;;) {
      for (int turn = 0; turn < spins && generation == seen && !ending; ++turn)
        pause();
      {
        std::unique_lock<std::mutex> lock(mutex);
        wake.wait(lock, [&] { return ending || generation != seen; });
        if (ending)
          return;
        seen = generation;
      }
      take();
      std::lock_guard<std::mutex> lock(mutex);
      if (--busy == 0)
        done.notify_one();
    }
  }
  void take() {
    bool outer = inside;
    inside = true;
    for (int64_t i; (i = next.fetch_add(1)) < parts;)
      (*work)(i);
    inside = outer;
  }
  static void pause() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
  }
  static constexpr int spins = 4000;
  static inline thread_local bool inside = false;
  std::vector<std::thread> threads;
  std::mutex mutex;
  std::condition_variable wake, done;
  const std::function<void(int64_t)> *work = nullptr;
  std::atomic<int64_t> next{0};
  int64_t parts = 0;
  std::atomic<int> busy{0};
  std::atomic<uint64_t> generation{0};
  std::atomic<bool> ending{false};
};

/// Splits [0, n) into parts of at least `grain`; body(begin, end).
template <class F> inline void parallel_for(int64_t n, int64_t grain, const F &body) {
  int64_t parts = std::min<int64_t>(4 * Workers::get().count(), n / std::max<int64_t>(grain, 1));
  if (parts <= 1 || Workers::get().count() == 1) {
    if (n > 0)
      body(int64_t(0), n);
    return;
  }
  Workers::get().run(parts, [&](int64_t i) { body(n * i / parts, n * (i + 1) / parts); });
}

//===----------------------------------------------------------------------===//
// Making tensors
//===----------------------------------------------------------------------===//

template <class T> inline Tensor<T> full(Dims shape, T value) {
  Tensor<T> result(std::move(shape));
  std::fill_n(result.data(), result.size(), value);
  return result;
}
template <class T> inline Tensor<T> array(Dims shape, std::initializer_list<T> values) {
  Tensor<T> result(std::move(shape));
  std::copy(values.begin(), values.end(), result.data());
  return result;
}
template <class T> inline std::enable_if_t<is_complex_v<T> || is_float_v<T> || is_integer_v<T> || is_bool_v<T>, T>
one() {
  return convert<T>(1.0);
}

/// Calls f with the index of every element of a shape, in order.
template <class F> inline void for_each_index(const Dims &shape, const F &f) {
  if (count_of(shape) == 0)
    return;
  Dims index(shape.size(), 0);
  for (;;) {
    f(index);
    size_t d = shape.size();
    while (d > 0 && ++index[d - 1] == shape[d - 1])
      index[--d] = 0;
    if (d == 0)
      return;
  }
}

/// Copies what lies at `strides` steps from `from` into rows.
template <class T> inline Tensor<T> copy_strided(const T *from, const Dims &shape, const Dims &strides) {
  Tensor<T> result(shape);
  if (result.size() == 0)
    return result;
  // Neighbouring dimensions that lie as one become one.
  Dims sizes, steps;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 1)
      continue;
    if (!sizes.empty() && steps.back() == strides[d] * shape[d]) {
      sizes.back() *= shape[d];
      steps.back() = strides[d];
    } else {
      sizes.push_back(shape[d]);
      steps.push_back(strides[d]);
    }
  }
  if (sizes.empty()) {
    result[0] = *from;
    return result;
  }
  int64_t inner = sizes.back(), step = steps.back(), outer = result.size() / inner;
  T *to = result.data();
  parallel_for(outer, std::max<int64_t>(1, 16384 / inner), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      int64_t at = 0, left = row;
      for (size_t d = sizes.size() - 1; d-- > 0; left /= sizes[d])
        at += left % sizes[d] * steps[d];
      const T *source = from + at;
      T *target = to + row * inner;
      if (step == 1)
        std::copy_n(source, inner, target);
      else if (step == 0)
        std::fill_n(target, inner, *source);
      else
        for (int64_t i = 0; i < inner; ++i)
          target[i] = source[i * step];
    }
  });
  return result;
}

} // namespace ops
