#include "cupel/kernels/Transpose.h"

#include "cupel/kernels/Isa.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>
#include <vector>

namespace cupel::kernels {
namespace {

/// A dimension of the result, from the outermost: how far apart its elements lie on both sides, in
/// elements.
struct Dimension {
  int64_t size, fromStride, toStride;
};

/// The fewest dimensions that say the same: those of size one are dropped, neighbours that stay
/// neighbours are joined.
std::vector<Dimension> simplify(std::span<const int64_t> sizes,
                                std::span<const int64_t> permutation) {
  std::vector<int64_t> strides(sizes.size(), 1);
  for (size_t i = sizes.size(); i-- > 1;)
    strides[i - 1] = strides[i] * sizes[i];
  std::vector<Dimension> result;
  for (int64_t d : permutation) {
    Dimension next{sizes[static_cast<size_t>(d)], strides[static_cast<size_t>(d)], 1};
    if (next.size == 1)
      continue;
    if (!result.empty() && result.back().fromStride == next.size * next.fromStride) {
      result.back().size *= next.size;
      result.back().fromStride = next.fromStride;
    } else {
      result.push_back(next);
    }
  }
  for (size_t i = result.size(); i-- > 1;)
    result[i - 1].toStride = result[i].toStride * result[i].size;
  return result;
}

/// Rows become columns in blocks that stay in the cache; for elements that are not four bytes.
template <typename T>
void transposeElements(const T *from, int64_t fromStride, int64_t rows, int64_t columns, T *to,
                       int64_t toStride) {
  constexpr int64_t kBlock = 16;
  for (int64_t r0 = 0; r0 < rows; r0 += kBlock)
    for (int64_t c0 = 0; c0 < columns; c0 += kBlock)
      for (int64_t c = c0; c < std::min(columns, c0 + kBlock); ++c)
        for (int64_t r = r0; r < std::min(rows, r0 + kBlock); ++r)
          to[c * toStride + r] = from[r * fromStride + c];
}

/// An element as it lies, whatever it means; it may lie anywhere.
template <int size> struct Element {
  std::byte bytes[size];
};

/// to[c, r] = from[r, c], strides in elements.
void transposePart(int64_t bytes, const std::byte *from, int64_t fromStride, int64_t rows,
                   int64_t columns, std::byte *to, int64_t toStride, bool isLarge) {
  auto run = [&]<typename T>(T) {
    transposeElements(reinterpret_cast<const T *>(from), fromStride, rows, columns,
                      reinterpret_cast<T *>(to), toStride);
  };
  switch (bytes) {
  case 1:
    return run(Element<1>{});
  case 2:
    return run(Element<2>{});
  case 4:
    return currentKernels().transpose(reinterpret_cast<const float *>(from), fromStride, rows,
                                      columns, reinterpret_cast<float *>(to), toStride, isLarge);
  case 8:
    return run(Element<8>{});
  case 16:
    return run(Element<16>{});
  default:
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < columns; ++c)
        std::memcpy(to + (c * toStride + r) * bytes, from + (r * fromStride + c) * bytes,
                    static_cast<size_t>(bytes));
  }
}

/// Where the unit of some outer dimensions begins.
struct Place {
  int64_t from = 0, to = 0;
};

Place placeOf(const std::vector<Dimension> &outer, int64_t index) {
  Place place;
  for (size_t i = outer.size(); i-- > 0;) {
    int64_t at = index % outer[i].size;
    index /= outer[i].size;
    place.from += at * outer[i].fromStride;
    place.to += at * outer[i].toStride;
  }
  return place;
}

int64_t countOf(const std::vector<Dimension> &outer) {
  int64_t count = 1;
  for (const Dimension &each : outer)
    count *= each.size;
  return count;
}

constexpr double kBytesPerNanosecond = 6;

/// Runs of bytes that stay together.
void copyRuns(std::vector<Dimension> outer, int64_t bytes, int64_t run, const std::byte *from,
              std::byte *to, const Pool &pool) {
  // Large runs are cut, small ones are done many at a time.
  constexpr int64_t kUnitBytes = 1 << 16;
  int64_t count = countOf(outer), runBytes = run * bytes;
  int64_t perRun = std::max<int64_t>(1, runBytes / kUnitBytes);
  int64_t perUnit = std::max<int64_t>(1, kUnitBytes / std::max<int64_t>(1, runBytes));
  int64_t groups = (count + perUnit - 1) / perUnit;
  double nanoseconds = static_cast<double>(runBytes / perRun * perUnit) / kBytesPerNanosecond;
  pool.parallelFor(groups * perRun, nanoseconds, [&](int64_t unit) {
    int64_t part = unit % perRun, group = unit / perRun;
    int64_t begin = runBytes * part / perRun, end = runBytes * (part + 1) / perRun;
    for (int64_t i = group * perUnit; i < std::min(count, (group + 1) * perUnit); ++i) {
      Place place = placeOf(outer, i);
      std::memcpy(to + place.to * bytes + begin, from + place.from * bytes + begin,
                  static_cast<size_t>(end - begin));
    }
  });
}

} // namespace

void permute(std::span<const int64_t> sizes, std::span<const int64_t> permutation,
             int64_t elementBytes, const void *source, void *target, const Pool &pool) {
  assert(sizes.size() == permutation.size());
  int64_t all = 1;
  for (int64_t size : sizes)
    all *= size;
  if (all == 0)
    return;
  auto *from = static_cast<const std::byte *>(source);
  auto *to = static_cast<std::byte *>(target);
  std::vector<Dimension> dimensions = simplify(sizes, permutation);
  if (dimensions.empty() || dimensions.back().fromStride == 1) {
    int64_t run = dimensions.empty() ? 1 : dimensions.back().size;
    if (!dimensions.empty())
      dimensions.pop_back();
    // Short runs are elements of their own, so that what they form is transposed in blocks.
    auto bytes = static_cast<uint64_t>(run * elementBytes);
    bool isElement = bytes <= 16 && std::has_single_bit(bytes);
    if (dimensions.empty() || !isElement || run == 1)
      return copyRuns(dimensions, elementBytes, run, from, to, pool);
    for (Dimension &each : dimensions) {
      each.fromStride /= run;
      each.toStride /= run;
    }
    elementBytes *= run;
  }
  // The result's innermost dimension against the one that is innermost in the source.
  Dimension rows = dimensions.back();
  dimensions.pop_back();
  auto inner = std::find_if(dimensions.begin(), dimensions.end(),
                            [](const Dimension &each) { return each.fromStride == 1; });
  Dimension columns{1, 1, 1};
  if (inner != dimensions.end()) {
    columns = *inner;
    dimensions.erase(inner);
  }
  constexpr int64_t kBandRows = 128, kBandColumns = 64;
  constexpr int64_t kLargeBytes = int64_t{12} << 20;
  int64_t rowBands = (rows.size + kBandRows - 1) / kBandRows;
  int64_t columnBands = (columns.size + kBandColumns - 1) / kBandColumns;
  int64_t bands = rowBands * columnBands, count = countOf(dimensions);
  double nanoseconds = static_cast<double>(std::min(rows.size, kBandRows) *
                                           std::min(columns.size, kBandColumns) * elementBytes) /
                       kBytesPerNanosecond;
  pool.parallelFor(bands * count, nanoseconds, [&](int64_t unit) {
    Place place = placeOf(dimensions, unit / bands);
    int64_t band = unit % bands;
    int64_t row = band % rowBands * kBandRows, column = band / rowBands * kBandColumns;
    transposePart(elementBytes,
                  from + (place.from + row * rows.fromStride + column) * elementBytes,
                  rows.fromStride, std::min(kBandRows, rows.size - row),
                  std::min(kBandColumns, columns.size - column),
                  to + (place.to + column * columns.toStride + row) * elementBytes,
                  columns.toStride, all * elementBytes > kLargeBytes);
  });
}

} // namespace cupel::kernels
