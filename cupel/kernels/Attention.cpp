#include "cupel/kernels/Attention.h"

#include "cupel/kernels/PackedAccess.h"
#include "cupel/kernels/Scratch.h"

#include <algorithm>

namespace cupel::kernels {
namespace {

/// Multiply-adds of a core in a nanosecond, cautiously.
constexpr double kSpeed = 30;
/// Scores of a block, which stay in the second cache beside what they are multiplied with.
constexpr int64_t kBlockFloats = int64_t{1} << 15;
/// Rows of a block: tiles of kernels have fewer.
constexpr int64_t kFewestRows = 16, kMostRows = 128;

struct Head {
  MatrixView query, key, value;
  float *result;
};

Head headOf(const AttentionShape &shape, Head first, int64_t index) {
  for (int d = ProductBatch::kDimensions - 1; d >= 0; --d) {
    int64_t i = index % shape.sizes[d];
    index /= shape.sizes[d];
    first.query.data += i * shape.queryStrides[d];
    first.key.data += i * shape.keyStrides[d];
    first.value.data += i * shape.valueStrides[d];
    first.result += i * shape.resultStrides[d];
  }
  return first;
}

/// A right side that is read as it lies: whole vectors, whose rows do not fall into the same lines of
/// the cache.
bool isReadInPlace(MatrixView b, int64_t columns, const PanelCut &cut) {
  return b.columnStride == 1 && columns % cut.width == 0 && b.rowStride > 0 && b.rowStride % 1024 != 0;
}

struct RightSide {
  PanelCut cut;
  const float *panels;
  int64_t stride; // Zero for panels.
};

RightSide rightSideOf(const KernelTable &kernels, MatrixView b, int64_t rows, int64_t columns,
                      ScratchFrame &frame, const Pool &alone) {
  PanelCut cut = cutIntoPanels(kernels, columns);
  if (isReadInPlace(b, columns, cut))
    return {cut, b.data, b.rowStride};
  auto *packed = frame.take<float>(cut.size(rows));
  packPanels(kernels, b, rows, cut, packed, alone);
  return {cut, packed, 0};
}

/// Rows [begin, end) of a head.
void attendRows(const KernelTable &kernels, const AttentionShape &shape, const Head &head,
                int64_t begin, int64_t end, int64_t firstRow, const ScoreFunction &weigh,
                int64_t resultRow, const Pool &alone) {
  ScratchFrame frame;
  RightSide keys = rightSideOf(kernels, head.key, shape.depth, shape.keys, frame, alone);
  RightSide values = rightSideOf(kernels, head.value, shape.keys, shape.width, frame, alone);
  int64_t stride = scoreStride(shape.keys);
  int64_t atOnce = std::clamp(kBlockFloats / stride, kFewestRows, kMostRows);
  auto *scores = frame.take<float>(std::min(atOnce, end - begin) * stride);
  const Epilogue none;
  for (int64_t row = begin; row < end; row += atOnce) {
    int64_t rows = std::min(atOnce, end - row);
    MatrixView query = head.query;
    query.data += row * query.rowStride;
    PanelProduct product = {rows,        query,  shape.depth, keys.cut, keys.panels,
                            keys.stride, scores, stride,      0,        &none};
    multiplyPanels(kernels, &product, 1, alone);
    weigh.function(weigh.state, scores, firstRow + row, rows);
    product = {rows,          {scores, stride}, shape.keys,
               values.cut,    values.panels,    values.stride,
               head.result + row * resultRow,   resultRow, 0, &none};
    multiplyPanels(kernels, &product, 1, alone);
  }
}

} // namespace

void attend(const AttentionShape &shape, MatrixView query, MatrixView key, MatrixView value,
            const ScoreFunction &weigh, float *result, int64_t resultRow, const Pool &pool) {
  int64_t count = 1;
  for (int64_t size : shape.sizes)
    count *= size;
  if (count == 0 || shape.rows == 0)
    return;
  const KernelTable &kernels = currentKernels();
  double nanoseconds = static_cast<double>(shape.rows) * static_cast<double>(shape.keys) *
                       (static_cast<double>(shape.depth + shape.width) / kSpeed +
                        weigh.nanosecondsPerScore);
  // Where there are few heads, threads share them; each packs the keys for itself.
  constexpr int64_t kShare = 4;
  int threads = pool.threadsFor(nanoseconds * static_cast<double>(count));
  int64_t parts = threads == 1 ? 1 : (kShare * threads + count - 1) / count;
  parts = std::clamp<int64_t>(parts, 1, std::max<int64_t>(1, shape.rows / kMostRows));
  Pool alone(1);
  pool.parallelFor(count * parts, nanoseconds / static_cast<double>(parts), [&](int64_t unit) {
    int64_t head = unit / parts, part = unit % parts;
    attendRows(kernels, shape, headOf(shape, {query, key, value, result}, head),
               shape.rows * part / parts, shape.rows * (part + 1) / parts, head * shape.rows, weigh,
               resultRow, alone);
  });
}

} // namespace cupel::kernels
