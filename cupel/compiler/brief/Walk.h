// A view in the order of the loop that reads it: runs of elements between memory and short arrays in
// which bodies work. Used by Brief.cpp.

#pragma once

#include "cupel/compiler/codegen/Kernels.h"

#include <cstddef>
#include <span>

namespace cupel::brief {

class Walk {
public:
  Walk(const codegen::View &view, std::span<const int64_t> sizes);

  /// The elements of `count` indices of the loop from `begin` on, in row-major order, in their compute
  /// type (ElementLoops.h).
  void load(const std::byte *memory, int64_t begin, int64_t count, void *to) const;
  void store(std::byte *memory, int64_t begin, int64_t count, const void *from) const;

private:
  struct Dimension {
    int64_t size, stride;
    codegen::ValidRange valid;
  };

  /// Calls `work(offset, stride, at, count)` for runs along the last dimension that are in memory,
  /// and `outside(at, count)` for the rest.
  template <typename Work, typename Outside>
  void forRuns(int64_t begin, int64_t count, Work work, Outside outside) const;

  tensor::DType type;
  int64_t offset;
  bool isPadded;
  uint64_t padding;
  std::vector<Dimension> dimensions; // At least one.
};

} // namespace cupel::brief
