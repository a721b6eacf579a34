// Boxes of elements in memory that lies row by row: copying one to a place of another shape. Used by
// kernels that move elements. Plain C++ on addresses; nobody checks them here.

#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstddef>
#include <cstdint>

namespace cupel::compiler {

/// Copies of boxes of the same sizes: dimensions that are one stretch in both are merged once.
class BoxCopy {
public:
  BoxCopy() = default;
  /// Strides in elements.
  BoxCopy(llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<int64_t> from, llvm::ArrayRef<int64_t> to,
          int64_t elementBytes);

  /// On the calling thread.
  void run(const std::byte *from, std::byte *to) const;
  /// Shared among threads where that is worth it.
  void runShared(const std::byte *from, std::byte *to) const;

  int64_t bytes() const { return total; }
  /// Whether the whole box is one stretch.
  bool isOneRun() const {
    return outer.empty() && (count <= 1 || (fromStep == element && toStep == element));
  }

private:
  void runs(const std::byte *from, std::byte *to, int64_t begin, int64_t end) const;
  void oneRun(const std::byte *from, std::byte *to) const;

  struct Dimension {
    int64_t size, from, to; // Strides in bytes.
  };
  llvm::SmallVector<Dimension, 4> outer;
  int64_t count = 0;            // Elements of a run,
  int64_t element = 1;          // their bytes,
  int64_t fromStep = 0, toStep = 0; // and steps in bytes.
  int64_t total = 0, runCount = 0;
};

llvm::SmallVector<int64_t> stridesOf(llvm::ArrayRef<int64_t> sizes);

} // namespace cupel::compiler
