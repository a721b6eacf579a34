#include "cupel/reference/StridedCopy.h"

#include "cupel/reference/Parallel.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace cupel::reference {

using tensor::Tensor;

namespace {

/// Copies up to this size are one block.
constexpr int64_t kBlockBytes = 128 << 10;

template <typename T> T load(const std::byte *address) {
  T value;
  std::memcpy(&value, address, sizeof(T));
  return value;
}
template <typename T> void store(std::byte *address, T value) {
  std::memcpy(address, &value, sizeof(T));
}

/// One row of elements; the target may stride too.
template <typename T>
void copyRow(std::byte *target, int64_t targetStep, const std::byte *source, int64_t sourceStep,
             int64_t size) {
  constexpr int64_t bytes = sizeof(T);
  if (targetStep == bytes && sourceStep == bytes) {
    for (int64_t i = 0; i < size; ++i)
      store<T>(target + i * bytes, load<T>(source + i * bytes));
  } else if (targetStep == bytes && sourceStep == 0) {
    T value = load<T>(source);
    for (int64_t i = 0; i < size; ++i)
      store<T>(target + i * bytes, value);
  } else if (targetStep == bytes && sourceStep == -bytes) {
    for (int64_t i = 0; i < size; ++i)
      store<T>(target + i * bytes, load<T>(source - i * bytes));
  } else if (targetStep == bytes) {
    for (int64_t i = 0; i < size; ++i)
      store<T>(target + i * bytes, load<T>(source + i * sourceStep));
  } else {
    for (int64_t i = 0; i < size; ++i)
      store<T>(target + i * targetStep, load<T>(source + i * sourceStep));
  }
}

/// A transposition: `outer` is closest together in the source, `inner` in the target. Tiles go
/// through a small buffer, so that each cache line of either side is touched once: rows a power
/// of two apart would push each other out of the cache.
template <typename T>
void copyPlane(std::byte *target, const std::byte *source, int64_t outerSize, int64_t outerTarget,
               int64_t outerSource, int64_t innerSize, int64_t innerTarget, int64_t innerSource) {
  constexpr int64_t tile = sizeof(T) >= 8 ? 8 : static_cast<int64_t>(64 / sizeof(T));
  T buffer[tile][tile];
  for (int64_t i0 = 0; i0 < outerSize; i0 += tile) {
    int64_t rows = std::min(tile, outerSize - i0);
    for (int64_t j0 = 0; j0 < innerSize; j0 += tile) {
      int64_t columns = std::min(tile, innerSize - j0);
      const std::byte *from = source + i0 * outerSource + j0 * innerSource;
      std::byte *to = target + i0 * outerTarget + j0 * innerTarget;
      if (rows == tile && columns == tile && outerSource == int64_t{sizeof(T)} &&
          innerTarget == int64_t{sizeof(T)}) {
        for (int64_t j = 0; j < tile; ++j)
          for (int64_t i = 0; i < tile; ++i)
            buffer[i][j] = load<T>(from + j * innerSource + i * int64_t{sizeof(T)});
        for (int64_t i = 0; i < tile; ++i)
          std::memcpy(to + i * outerTarget, buffer[i], sizeof(buffer[i]));
        continue;
      }
      for (int64_t j = 0; j < columns; ++j)
        for (int64_t i = 0; i < rows; ++i)
          buffer[i][j] = load<T>(from + j * innerSource + i * outerSource);
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < columns; ++j)
          store<T>(to + i * outerTarget + j * innerTarget, buffer[i][j]);
    }
  }
}

} // namespace

StridedCopy::StridedCopy(std::span<const int64_t> shape, std::span<const int64_t> targetStrides,
                         std::span<const int64_t> sourceStrides, int64_t elementBytes)
    : bytes(elementBytes), element(elementBytes) {
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0)
      empty = true;
    if (shape[i] != 1)
      dims.push_back({shape[i], targetStrides[i], sourceStrides[i]});
  }
  if (empty) {
    dims.clear();
    return;
  }
  // Write in the order of addresses; what lies together on both sides is one dimension.
  std::sort(dims.begin(), dims.end(),
            [](const Dim &a, const Dim &b) { return std::abs(a.target) > std::abs(b.target); });
  std::vector<Dim> merged;
  for (const Dim &dim : dims) {
    if (!merged.empty() && merged.back().target == dim.target * dim.size &&
        merged.back().source == dim.source * dim.size)
      merged.back() = {merged.back().size * dim.size, dim.target, dim.source};
    else
      merged.push_back(dim);
  }
  dims = std::move(merged);
  if (dims.empty())
    return;
  const Dim inner = dims.back();
  if (inner.target == element && inner.source == element) {
    bytes = inner.size * element;
    dims.pop_back();
    return;
  }
  if (inner.source == 0)
    return;
  // The source strides: work in tiles with the dimension that is closest together there.
  size_t partner = dims.size();
  int64_t best = std::abs(inner.source);
  for (size_t i = 0; i + 1 < dims.size(); ++i)
    if (dims[i].source != 0 && std::abs(dims[i].source) < best) {
      best = std::abs(dims[i].source);
      partner = i;
    }
  if (partner == dims.size())
    return;
  std::rotate(dims.begin() + static_cast<ptrdiff_t>(partner),
              dims.begin() + static_cast<ptrdiff_t>(partner) + 1, dims.end() - 1);
  plane = true;
}

int64_t StridedCopy::contiguousBytes() const { return !empty && dims.empty() ? bytes : -1; }

void StridedCopy::run(std::byte *target, const std::byte *source) const {
  if (empty)
    return;
  int64_t total = bytes;
  for (const Dim &dim : dims)
    total *= dim.size;
  if (total <= kBlockBytes)
    return runLevel(0, target, source);
  runBlocks(target, source, total);
}

void StridedCopy::runBlocks(std::byte *target, const std::byte *source, int64_t total) const {
  // About what memory gives; a transposition has to wait for it more often.
  double nanoseconds = plane ? 0.5 : 0.12;
  if (dims.empty()) {
    forBlocks(
        total, nanoseconds,
        [&](int64_t begin, int64_t end) {
          std::memcpy(target + begin, source + begin, static_cast<size_t>(end - begin));
        },
        4096);
    return;
  }
  // As many outer dimensions as it takes for small enough blocks make a block's number together
  // with a part of the next dimension.
  size_t level = 0;
  int64_t outer = 1, inner = total;
  for (; level + 1 < dims.size() - plane && inner > kBlockBytes; ++level) {
    outer *= dims[level].size;
    inner /= dims[level].size;
  }
  const Dim &split = dims[level];
  // Tiles of a transposition begin at multiples of a cache line on either side.
  int64_t multiple = plane && level + 2 == dims.size() ? 64 : 1;
  int64_t each = inner / split.size; // bytes for one step along `split`
  int64_t rows = std::clamp<int64_t>(kBlockBytes / each / multiple * multiple, multiple,
                                     (split.size + multiple - 1) / multiple * multiple);
  int64_t parts = (split.size + rows - 1) / rows;
  double cost = nanoseconds * static_cast<double>(rows * each);
  forEach(outer * parts, cost, [&](int64_t number) {
    int64_t part = number % parts, rest = number / parts;
    std::byte *to = target;
    const std::byte *from = source;
    for (size_t d = level; d-- > 0;) {
      int64_t at = rest % dims[d].size;
      rest /= dims[d].size;
      to += at * dims[d].target;
      from += at * dims[d].source;
    }
    to += part * rows * split.target;
    from += part * rows * split.source;
    int64_t count = std::min(rows, split.size - part * rows);
    if (plane && level + 2 == dims.size())
      return runPlane(to, from, count);
    if (level + 1 == dims.size())
      return runInner(to, from, count);
    for (int64_t i = 0; i < count; ++i)
      runLevel(level + 1, to + i * split.target, from + i * split.source);
  });
}

void StridedCopy::runLevel(size_t level, std::byte *target, const std::byte *source) const {
  size_t left = dims.size() - level;
  if (left == 0) {
    std::memcpy(target, source, static_cast<size_t>(bytes));
    return;
  }
  if (plane && left == 2)
    return runPlane(target, source, dims[level].size);
  if (left == 1)
    return runInner(target, source, dims[level].size);
  const Dim &dim = dims[level];
  for (int64_t i = 0; i < dim.size; ++i)
    runLevel(level + 1, target + i * dim.target, source + i * dim.source);
}

void StridedCopy::runInner(std::byte *target, const std::byte *source, int64_t size) const {
  const Dim &dim = dims.back();
  if (bytes == element) {
    dispatchBytes(element, [&](auto type) {
      copyRow<decltype(type)>(target, dim.target, source, dim.source, size);
    });
    return;
  }
  // Short runs are not worth a call of memcpy each.
  if (bytes <= 64) {
    int64_t count = bytes / element;
    dispatchBytes(element, [&](auto type) {
      using T = decltype(type);
      for (int64_t i = 0; i < size; ++i)
        for (int64_t k = 0; k < count; ++k)
          store<T>(target + i * dim.target + k * int64_t{sizeof(T)},
                   load<T>(source + i * dim.source + k * int64_t{sizeof(T)}));
    });
    return;
  }
  for (int64_t i = 0; i < size; ++i)
    std::memcpy(target + i * dim.target, source + i * dim.source, static_cast<size_t>(bytes));
}

void StridedCopy::runPlane(std::byte *target, const std::byte *source, int64_t size) const {
  const Dim &outer = dims[dims.size() - 2], &inner = dims.back();
  dispatchBytes(element, [&](auto type) {
    copyPlane<decltype(type)>(target, source, size, outer.target, outer.source, inner.size,
                              inner.target, inner.source);
  });
}

std::vector<int64_t> contiguousStrides(std::span<const int64_t> shape, int64_t elementBytes) {
  std::vector<int64_t> strides(shape.size());
  int64_t stride = elementBytes;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    // Sizes beside a zero may be anything: wrap instead of overflowing.
    stride = static_cast<int64_t>(static_cast<uint64_t>(stride) *
                                  static_cast<uint64_t>(std::max<int64_t>(shape[i], 1)));
  }
  return strides;
}

void copyTo(std::byte *target, const Tensor &source) {
  int64_t bytes = info(source.dtype()).bytes;
  if (source.size() == 0)
    return;
  StridedCopy(source.shape(), contiguousStrides(source.shape(), bytes), source.strides(), bytes)
      .run(target, source.data());
}

void fillElements(std::byte *target, const std::byte *value, int64_t elementBytes, int64_t count) {
  dispatchBytes(elementBytes, [&](auto type) {
    forBlocks(
        count, 0.12 * static_cast<double>(elementBytes),
        [&](int64_t begin, int64_t end) {
          copyRow<decltype(type)>(target + begin * elementBytes, sizeof(type), value, 0,
                                  end - begin);
        },
        64);
  });
}

} // namespace cupel::reference
