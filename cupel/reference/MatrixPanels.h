// How the matrix product reads and writes elements that lie anywhere: offsets as runs of
// neighbours, and panels of one side of a product, packed for the tiles. Used by MatrixProduct.cpp
// only. Moves numbers and never computes with them.

#pragma once

#include "cupel/tensor/Float.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

namespace cupel::reference {

/// Offsets of elements, and which of them follow each other in memory: such elements are read and
/// written together, which is several times as fast as one by one.
class Runs {
public:
  struct Run {
    int64_t first, count; // places in the list of offsets
  };

  Runs(std::span<const int64_t> offsets, int64_t bytes) : list(offsets) {
    // On average a run is worth a call from so many elements on.
    constexpr size_t kWorth = 6;
    const size_t most = offsets.size() / kWorth;
    for (size_t i = 0; i < offsets.size();) {
      size_t end = i + 1;
      while (end < offsets.size() && offsets[end] - offsets[end - 1] == bytes)
        ++end;
      if (runs.size() == std::max<size_t>(most, 1)) {
        runs.clear();
        return;
      }
      runs.push_back({static_cast<int64_t>(i), static_cast<int64_t>(end - i)});
      i = end;
    }
  }

  bool areLong() const { return !runs.empty(); }
  bool isOne() const { return runs.size() == 1; }
  std::span<const Run> all() const { return runs; }
  std::span<const int64_t> offsets() const { return list; }
  int64_t count() const { return static_cast<int64_t>(list.size()); }

private:
  std::span<const int64_t> list;
  std::vector<Run> runs; // none where they are short
};

/// How stored elements become the numbers that are summed (T), and back.
template <typename T> struct Access {
  void (*gather)(T *target, const std::byte *row, const int64_t *columns, int64_t count);
  /// The same from elements that lie together.
  void (*load)(T *target, const std::byte *first, int64_t count);
  void (*scatter)(std::byte *row, const int64_t *columns, const T *source, int64_t count);
  void (*store)(std::byte *first, const T *source, int64_t count);
  int64_t bytes; // of an element

  void read(const Runs &columns, T *target, const std::byte *row) const {
    if (!columns.areLong())
      return gather(target, row, columns.offsets().data(), columns.count());
    for (auto [first, count] : columns.all())
      load(target + first, row + columns.offsets()[first], count);
  }
  void write(const Runs &columns, std::byte *row, const T *source) const {
    if (!columns.areLong())
      return scatter(row, columns.offsets().data(), source, columns.count());
    for (auto [first, count] : columns.all())
      store(row + columns.offsets()[first], source + first, count);
  }
};

template <tensor::DType type, typename T> T loaded(tensor::Storage<type> stored) {
  if constexpr (tensor::isFloat(type) && std::is_same_v<T, double>)
    return tensor::toDouble<type>(stored);
  else if constexpr (tensor::isFloat(type))
    return tensor::toFloat<type>(stored);
  else
    return static_cast<T>(stored);
}

template <tensor::DType type, typename T> tensor::Storage<type> storedFrom(T value) {
  constexpr tensor::DTypeInfo info = tensor::info(type);
  if constexpr (tensor::isFloat(type) && std::is_same_v<T, double>) {
    return tensor::fromDouble<type>(value);
  } else if constexpr (tensor::isFloat(type)) {
    return tensor::fromFloat<type>(value);
  } else if constexpr (info.kind == tensor::Kind::Boolean) {
    return value != 0;
  } else if constexpr (info.kind == tensor::Kind::Signed) {
    constexpr int spare = sizeof(T) * 8 - info.bits;
    return static_cast<tensor::Storage<type>>(static_cast<std::make_signed_t<T>>(value << spare) >>
                                              spare);
  } else if constexpr (info.kind == tensor::Kind::Unsigned) {
    constexpr int spare = sizeof(T) * 8 - info.bits;
    return static_cast<tensor::Storage<type>>(static_cast<T>(value << spare) >> spare);
  } else {
    return static_cast<tensor::Storage<type>>(value);
  }
}

template <tensor::DType type, typename T> Access<T> accessTo() {
  using Stored = tensor::Storage<type>;
  return {[](T *target, const std::byte *row, const int64_t *columns, int64_t count) {
            for (int64_t i = 0; i < count; ++i)
              target[i] = loaded<type, T>(*reinterpret_cast<const Stored *>(row + columns[i]));
          },
          [](T *target, const std::byte *first, int64_t count) {
            const auto *stored = reinterpret_cast<const Stored *>(first);
            for (int64_t i = 0; i < count; ++i)
              target[i] = loaded<type, T>(stored[i]);
          },
          [](std::byte *row, const int64_t *columns, const T *source, int64_t count) {
            for (int64_t i = 0; i < count; ++i)
              *reinterpret_cast<Stored *>(row + columns[i]) = storedFrom<type, T>(source[i]);
          },
          [](std::byte *first, const T *source, int64_t count) {
            auto *stored = reinterpret_cast<Stored *>(first);
            for (int64_t i = 0; i < count; ++i)
              stored[i] = storedFrom<type, T>(source[i]);
          },
          sizeof(Stored)};
}

/// The runs of every `length` of the offsets.
inline std::vector<Runs> runsOfParts(std::span<const int64_t> offsets, int64_t length,
                                     int64_t bytes) {
  std::vector<Runs> parts;
  for (size_t first = 0; first < offsets.size(); first += static_cast<size_t>(length))
    parts.emplace_back(
        offsets.subspan(first, std::min(static_cast<size_t>(length), offsets.size() - first)),
        bytes);
  return parts;
}

inline int64_t roundUp(int64_t value, int64_t step) { return (value + step - 1) / step * step; }

/// How many lines packAlong reads before it writes: `line` has room for so many.
constexpr int64_t kLinesTogether = 4;

/// Writes lines of `length`, one behind another, as columns of a panel of `width`: vectors of four
/// elements of each, turned.
template <typename T> void turnLines(const T *lines, int64_t length, int64_t width, T *target) {
  static_assert(kLinesTogether == 4);
  typedef T Four __attribute__((vector_size(4 * sizeof(T))));
  int64_t k = 0;
  for (; k + 4 <= length; k += 4) {
    Four a, b, c, d;
    std::memcpy(&a, lines + k, sizeof a);
    std::memcpy(&b, lines + length + k, sizeof b);
    std::memcpy(&c, lines + 2 * length + k, sizeof c);
    std::memcpy(&d, lines + 3 * length + k, sizeof d);
    const Four ab = __builtin_shufflevector(a, b, 0, 4, 1, 5), abBehind = __builtin_shufflevector(a, b, 2, 6, 3, 7);
    const Four cd = __builtin_shufflevector(c, d, 0, 4, 1, 5), cdBehind = __builtin_shufflevector(c, d, 2, 6, 3, 7);
    const Four turned[] = {__builtin_shufflevector(ab, cd, 0, 1, 4, 5), __builtin_shufflevector(ab, cd, 2, 3, 6, 7),
                           __builtin_shufflevector(abBehind, cdBehind, 0, 1, 4, 5),
                           __builtin_shufflevector(abBehind, cdBehind, 2, 3, 6, 7)};
    for (int i = 0; i < 4; ++i)
      std::memcpy(target + (k + i) * width, &turned[i], sizeof(Four));
  }
  for (; k < length; ++k)
    for (int i = 0; i < 4; ++i)
      target[k * width + i] = lines[i * length + k];
}

/// Packs `rows` x `depth` elements as panels of `width` rows, depth-major within a panel; rows that
/// do not exist are zero.
template <typename T>
void packAlong(const Access<T> &access, const std::byte *base, std::span<const int64_t> rows,
               std::span<const int64_t> depth, int width, T *target, T *line) {
  auto height = static_cast<int64_t>(rows.size()), length = static_cast<int64_t>(depth.size());
  const Runs along(depth, access.bytes);
  for (int64_t first = 0; first < height; first += width) {
    for (int64_t i = 0; i < width;) {
      T *column = target + i;
      if constexpr (sizeof(T) == 4)
        if (i + kLinesTogether <= width && first + i + kLinesTogether <= height) {
          for (int64_t l = 0; l < kLinesTogether; ++l)
            access.read(along, line + l * length, base + rows[first + i + l]);
          turnLines(line, length, width, column);
          i += kLinesTogether;
          continue;
        }
      if (first + i < height) {
        access.read(along, line, base + rows[first + i]);
        for (int64_t k = 0; k < length; ++k)
          column[k * width] = line[k];
      } else {
        for (int64_t k = 0; k < length; ++k)
          column[k * width] = T{};
      }
      ++i;
    }
    target += length * width;
  }
}

/// The same from elements that lie side by side across the panel.
template <typename T>
void packAcross(const Access<T> &access, const std::byte *base, std::span<const int64_t> depth,
                std::span<const int64_t> columns, int width, T *target, T *line) {
  auto length = static_cast<int64_t>(depth.size());
  auto count = static_cast<int64_t>(columns.size());
  std::fill_n(line, roundUp(count, width), T{});
  const Runs across(columns, access.bytes);
  for (int64_t k = 0; k < length; ++k) {
    access.read(across, line, base + depth[k]);
    auto copy = [&](size_t bytes) {
      for (int64_t first = 0; first < count; first += width)
        std::memcpy(target + first * length + k * width, line + first, bytes);
    };
    // The usual width is known here, and no call is made for it.
    constexpr size_t kUsual = 128;
    if (width * sizeof(T) == kUsual)
      copy(kUsual);
    else
      copy(width * sizeof(T));
  }
}

/// Packs one side of a product into panels, walking memory in its closer order. `line` has room for
/// whole panels' width of lines, and for kLinesTogether times the depth.
template <typename T>
void packPanels(const Access<T> &access, const std::byte *base, std::span<const int64_t> across,
                std::span<const int64_t> depth, int width, T *target, T *line) {
  auto stepOf = [](std::span<const int64_t> offsets) {
    return offsets.size() > 1 ? std::abs(offsets[1] - offsets[0]) : INT64_MAX;
  };
  if (stepOf(across) < stepOf(depth))
    packAcross(access, base, depth, across, width, target, line);
  else
    packAlong(access, base, across, depth, width, target, line);
}

} // namespace cupel::reference
