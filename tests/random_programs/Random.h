// The numbers that random programs are drawn from. Internal to this folder.

#pragma once

#include <cstdint>
#include <vector>

namespace cupel::random_programs {

/// splitmix64: the same numbers everywhere, which std::uniform_int_distribution does not promise.
class Random {
public:
  /// Mixed: as it is, the next seed has the numbers of this one but for the first, and programs of
  /// neighbours are mostly the same.
  explicit Random(uint64_t seed) : state(mixed(seed + 0x1234567)) {}

  uint64_t next() { return mixed(state += 0x9E3779B97F4A7C15u); }
  int64_t below(int64_t end) { return static_cast<int64_t>(next() % static_cast<uint64_t>(end)); }
  int64_t between(int64_t first, int64_t last) { return first + below(last - first + 1); }
  bool chance(int percent) { return below(100) < percent; }
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  template <typename T> const T &pick(const std::vector<T> &from) {
    return from[below(from.size())];
  }

private:
  static uint64_t mixed(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }

  uint64_t state;
};

} // namespace cupel::random_programs
