// The shape of a fold (reduce, reduce_window) brought into a simple form: which dimensions stay and
// which are folded, without those of size one and with neighbours merged. Used by the reduction
// loops; row-major order within both lists is that of the program.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cupel::reference {

struct FoldDim {
  int64_t size, stride; // bytes
};

struct FoldLayout {
  std::vector<FoldDim> kept, reduced; // outermost first
  int64_t keptCount = 1, reducedCount = 1;

  FoldLayout(std::span<const int64_t> shape, std::span<const int64_t> strides,
             const std::vector<bool> &isReduced) {
    for (size_t d = 0; d < shape.size(); ++d) {
      // Sizes beside a zero may be anything: wrap instead of overflowing.
      int64_t &count = isReduced[d] ? reducedCount : keptCount;
      count = static_cast<int64_t>(static_cast<uint64_t>(count) * static_cast<uint64_t>(shape[d]));
      std::vector<FoldDim> &list = isReduced[d] ? reduced : kept;
      if (shape[d] == 1)
        continue;
      int64_t joined = 0;
      if (!list.empty() && !__builtin_mul_overflow(strides[d], shape[d], &joined) &&
          list.back().stride == joined &&
          !__builtin_mul_overflow(list.back().size, shape[d], &joined))
        list.back() = {joined, strides[d]};
      else
        list.push_back({shape[d], strides[d]});
    }
  }
};

/// Walks the positions of some dimensions in row-major order as byte offsets.
class FoldWalk {
public:
  explicit FoldWalk(std::span<const FoldDim> dims) : dims(dims), at(dims.size(), 0) {}
  int64_t offset() const { return current; }
  /// Goes to a position by its number.
  void seek(int64_t number) {
    current = 0;
    for (size_t d = dims.size(); d-- > 0;) {
      at[d] = number % dims[d].size;
      number /= dims[d].size;
      current += at[d] * dims[d].stride;
    }
  }
  void next() {
    for (size_t d = dims.size(); d-- > 0;) {
      current += dims[d].stride;
      if (++at[d] < dims[d].size)
        return;
      current -= dims[d].stride * dims[d].size;
      at[d] = 0;
    }
  }

private:
  std::span<const FoldDim> dims;
  std::vector<int64_t> at;
  int64_t current = 0;
};

} // namespace cupel::reference
