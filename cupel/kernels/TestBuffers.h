// Operands for tests of kernels: numbers between pages that cannot be touched, so that a kernel that
// reads or writes outside them dies. Only for tests.

#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <sys/mman.h>
#include <unistd.h>

namespace cupel::kernels {

class GuardedFloats {
public:
  /// The elements end where memory ends, or begin where it begins.
  explicit GuardedFloats(int64_t count, bool isAtTheEnd = true) : count(count) {
    size_t page = static_cast<size_t>(getpagesize());
    size_t bytes = static_cast<size_t>(count) * sizeof(float);
    size_t usable = (bytes + page - 1) / page * page;
    size = usable + 2 * page;
    base = static_cast<char *>(
        mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (base == MAP_FAILED || mprotect(base + page, usable, PROT_READ | PROT_WRITE) != 0) {
      std::perror("mmap");
      std::abort();
    }
    elements = reinterpret_cast<float *>(base + page + (isAtTheEnd ? usable - bytes : 0));
  }
  ~GuardedFloats() { munmap(base, size); }
  GuardedFloats(const GuardedFloats &) = delete;
  GuardedFloats &operator=(const GuardedFloats &) = delete;

  GuardedFloats &fill(unsigned seed) {
    std::mt19937 random(seed);
    for (int64_t i = 0; i < count; ++i)
      elements[i] = static_cast<float>(static_cast<int>(random() % 2001) - 1000) / 512.0f;
    return *this;
  }
  GuardedFloats &fillWith(float value) {
    for (int64_t i = 0; i < count; ++i)
      elements[i] = value;
    return *this;
  }

  float *data() { return elements; }
  float &operator[](int64_t i) { return elements[i]; }
  int64_t length() const { return count; }

private:
  int64_t count;
  char *base;
  size_t size;
  float *elements;
};

} // namespace cupel::kernels
