#include "cupel/tensor/Strided.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace cupel::tensor {
namespace {

struct Dim {
  int64_t size, step;
};

/// Leaves out dimensions of one position and joins neighbours that are walked as one.
std::vector<Dim> coalesce(std::span<const int64_t> shape, std::span<const int64_t> steps) {
  std::vector<Dim> dims;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 1)
      continue;
    if (!dims.empty() && dims.back().step == steps[i] * shape[i])
      dims.back() = {dims.back().size * shape[i], steps[i]};
    else
      dims.push_back({shape[i], steps[i]});
  }
  return dims;
}

struct Wide {
  uint64_t low, high;
};

template <typename T> T load(const std::byte *address) {
  T value;
  std::memcpy(&value, address, sizeof(T));
  return value;
}
template <typename T> void store(std::byte *address, T value) {
  std::memcpy(address, &value, sizeof(T));
}

template <typename T>
void copyRow(std::byte *target, const std::byte *source, int64_t size, int64_t step) {
  constexpr int64_t bytes = sizeof(T);
  if (step == bytes) {
    std::memcpy(target, source, static_cast<size_t>(size * bytes));
  } else if (step == 0) {
    T value = load<T>(source);
    for (int64_t i = 0; i < size; ++i)
      store<T>(target + i * bytes, value);
  } else {
    for (int64_t i = 0; i < size; ++i)
      store<T>(target + i * bytes, load<T>(source + i * step));
  }
}

/// Two dimensions at a time, tile by tile through a small buffer: along `outer` the source lies
/// close together, along `inner` the target does, and either side is touched by whole cache lines
/// at once. (Walking one side across its rows would need all their lines in the cache together,
/// where rows a power of two apart displace each other.)
template <typename T>
void copyTiled(std::byte *target, int64_t targetStep, const std::byte *source, Dim outer,
               Dim inner) {
  constexpr int64_t bytes = sizeof(T);
  constexpr int64_t tile = bytes >= 8 ? 16 : bytes == 4 ? 32 : 64;
  T buffer[tile][tile];
  for (int64_t i0 = 0; i0 < outer.size; i0 += tile) {
    int64_t rows = std::min(tile, outer.size - i0);
    for (int64_t j0 = 0; j0 < inner.size; j0 += tile) {
      int64_t columns = std::min(tile, inner.size - j0);
      const std::byte *from = source + i0 * outer.step + j0 * inner.step;
      for (int64_t j = 0; j < columns; ++j)
        if (outer.step == bytes && rows == tile)
          std::memcpy(buffer[j], from + j * inner.step, sizeof buffer[j]);
        else
          for (int64_t i = 0; i < rows; ++i)
            buffer[j][i] = load<T>(from + j * inner.step + i * outer.step);
      std::byte *to = target + i0 * targetStep + j0 * bytes;
      if (columns == tile) {
        for (int64_t i = 0; i < rows; ++i) {
          T line[tile];
          for (int64_t j = 0; j < tile; ++j)
            line[j] = buffer[j][i];
          std::memcpy(to + i * targetStep, line, sizeof line);
        }
      } else {
        for (int64_t i = 0; i < rows; ++i)
          for (int64_t j = 0; j < columns; ++j)
            store<T>(to + i * targetStep + j * bytes, buffer[j][i]);
      }
    }
  }
}

template <typename T>
void copyAll(std::byte *target, const std::byte *source, const std::vector<Dim> &dims) {
  constexpr int64_t bytes = sizeof(T);
  if (dims.empty()) {
    store<T>(target, load<T>(source));
    return;
  }
  size_t rank = dims.size();
  Dim inner = dims.back();
  std::vector<int64_t> targetSteps(rank);
  int64_t step = bytes;
  for (size_t i = rank; i-- > 0; step *= dims[i].size)
    targetSteps[i] = step;

  // Where the inner dimension strides, tile it with the dimension that is closest together.
  size_t partner = rank;
  if (inner.step != bytes && inner.step != 0) {
    int64_t best = std::abs(inner.step);
    for (size_t i = 0; i + 1 < rank; ++i)
      if (dims[i].step != 0 && std::abs(dims[i].step) < best) {
        best = std::abs(dims[i].step);
        partner = i;
      }
  }
  std::vector<size_t> loops;
  for (size_t i = 0; i + 1 < rank; ++i)
    if (i != partner)
      loops.push_back(i);

  std::vector<int64_t> index(loops.size(), 0);
  while (true) {
    if (partner < rank)
      copyTiled<T>(target, targetSteps[partner], source, dims[partner], inner);
    else
      copyRow<T>(target, source, inner.size, inner.step);
    size_t k = loops.size();
    for (; k-- > 0;) {
      const Dim &dim = dims[loops[k]];
      target += targetSteps[loops[k]];
      source += dim.step;
      if (++index[k] < dim.size)
        break;
      target -= targetSteps[loops[k]] * dim.size;
      source -= dim.step * dim.size;
      index[k] = 0;
    }
    if (k == static_cast<size_t>(-1))
      return;
  }
}

} // namespace

void copyStrided(std::byte *target, const std::byte *source, std::span<const int64_t> shape,
                 std::span<const int64_t> steps, int elementBytes) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end())
    return;
  std::vector<Dim> dims = coalesce(shape, steps);
  switch (elementBytes) {
  case 1:
    return copyAll<uint8_t>(target, source, dims);
  case 2:
    return copyAll<uint16_t>(target, source, dims);
  case 4:
    return copyAll<uint32_t>(target, source, dims);
  case 8:
    return copyAll<uint64_t>(target, source, dims);
  case 16:
    return copyAll<Wide>(target, source, dims);
  }
}

} // namespace cupel::tensor
