// The one loop nest behind all data movement: copies elements between two strided layouts without
// looking at what they mean. Planned once (dimensions dropped, merged and ordered), then run as
// often as needed, as gather does. Used by kernels only; the caller vouches for every address.

#pragma once

#include "cupel/tensor/Tensor.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cupel::reference {

class StridedCopy {
public:
  /// Strides are in bytes and may be zero or negative; no two elements of the target may overlap.
  StridedCopy(std::span<const int64_t> shape, std::span<const int64_t> targetStrides,
              std::span<const int64_t> sourceStrides, int64_t elementBytes);

  void run(std::byte *target, const std::byte *source) const;

  /// Set if a run is one memcpy of this many bytes; -1 otherwise.
  int64_t contiguousBytes() const;

private:
  struct Dim {
    int64_t size, target, source;
  };
  void runLevel(size_t level, std::byte *target, const std::byte *source) const;
  /// Large copies in blocks, side by side.
  void runBlocks(std::byte *target, const std::byte *source, int64_t total) const;
  /// The innermost dimension, of which `size` elements or runs are copied.
  void runInner(std::byte *target, const std::byte *source, int64_t size) const;
  /// The two innermost dimensions, of which `size` rows are copied.
  void runPlane(std::byte *target, const std::byte *source, int64_t size) const;

  std::vector<Dim> dims; // outermost first; `run` ends with one (or for a plane two) inner loops
  int64_t bytes;         // of one element; after merging a contiguous inner run, of that run
  int64_t element;       // of one element
  bool plane = false;    // the two innermost dimensions are a transposition
  bool empty = false;
};

/// Strides in bytes of a contiguous tensor.
std::vector<int64_t> contiguousStrides(std::span<const int64_t> shape, int64_t elementBytes);

/// Writes all elements of `source`, row-major, to `target`.
void copyTo(std::byte *target, const tensor::Tensor &source);

/// Fills `count` elements with copies of one.
void fillElements(std::byte *target, const std::byte *element, int64_t elementBytes, int64_t count);

/// Calls `f` with an unsigned integer (or a 16-byte struct) of the element's size, for loops that
/// only move elements.
struct Bytes16 {
  uint64_t low, high;
};
template <typename F> decltype(auto) dispatchBytes(int64_t elementBytes, F &&f) {
  switch (elementBytes) {
  case 1:
    return f(uint8_t());
  case 2:
    return f(uint16_t());
  case 4:
    return f(uint32_t());
  case 8:
    return f(uint64_t());
  default:
    return f(Bytes16());
  }
}

} // namespace cupel::reference
