#include "cupel/kernels/Panels.h"

#include "cupel/kernels/Scratch.h"

#include <algorithm>
#include <cstring>

namespace cupel::kernels {
namespace {

/// Rows of B that are used for all rows of A before the next ones: with the widest panel they take
/// an eighth of a common second-level cache.
constexpr int64_t kDepthChunk = 512;

/// Part of the depth: some taps, of each the same part.
struct Chunk {
  int64_t firstTap, taps, begin, depth;
  bool isFirst, isLast;
};

template <typename F> void forChunks(int64_t taps, int64_t depth, F &&body) {
  if (taps * depth == 0)
    return body(Chunk{0, 0, 0, 0, true, true});
  if (depth < kDepthChunk) {
    int64_t step = std::max<int64_t>(1, kDepthChunk / depth);
    for (int64_t tap = 0; tap < taps; tap += step)
      body(Chunk{tap, std::min(step, taps - tap), 0, depth, tap == 0, tap + step >= taps});
    return;
  }
  int64_t parts = (depth + kDepthChunk - 1) / kDepthChunk;
  for (int64_t tap = 0; tap < taps; ++tap)
    for (int64_t part = 0; part < parts; ++part) {
      int64_t begin = depth * part / parts, end = depth * (part + 1) / parts;
      body(Chunk{tap, 1, begin, end - begin, tap == 0 && part == 0,
                 tap + 1 == taps && part + 1 == parts});
    }
}

/// The tiles of one panel for a chunk. `c` and `bias` are at the panel's first column.
void multiplyPanel(const KernelTable &kernels, const RowsTimesPanels &work, const Chunk &chunk,
                   int64_t panel, float *c, int64_t ldc, const float *bias) {
  int64_t vectors = work.cut.vectorsOf(panel), width = vectors * work.cut.width;
  const float *b = work.panels + work.cut.offset(panel, work.panelDepth) + chunk.begin * width;
  Tile tile = {};
  tile.rowsPerTap = work.rowCount;
  tile.offset = chunk.begin;
  tile.taps = chunk.taps;
  tile.tapIndices = work.tapIndices ? work.tapIndices + chunk.firstTap : nullptr;
  tile.tapStride = work.depth * width;
  tile.depth = chunk.depth;
  tile.b = b;
  tile.ldc = ldc;
  tile.bias = chunk.isLast ? bias : nullptr;
  tile.accumulate = !chunk.isFirst;
  int64_t most = kernels.tileRows[vectors - 1];
  int64_t tiles = (work.rowCount + most - 1) / most;
  const float *const *rows = work.rows + chunk.firstTap * work.rowCount;
  int64_t begin = 0;
  for (int64_t i = 0; i < tiles; ++i) {
    int64_t end = work.rowCount * (i + 1) / tiles;
    tile.rows = rows + begin;
    tile.c = c + begin * ldc;
    kernels.tiles[vectors - 1][end - begin - 1](tile);
    begin = end;
  }
}

} // namespace

PanelCut cutIntoPanels(const KernelTable &kernels, int64_t columns) {
  PanelCut best{columns, 1, kernels.width};
  double bestCost = 0;
  // Panels of three vectors leave room for the most rows, so they come first.
  for (int vectors : {3, 4, 2, 1}) {
    if (kernels.tileRows[vectors - 1] == 0)
      continue;
    PanelCut cut{columns, vectors, kernels.width};
    int64_t panels = cut.count();
    if (panels == 0)
      return cut;
    auto costOf = [&](int64_t wide) {
      return static_cast<double>(wide) / kernels.tileSpeed[wide - 1];
    };
    double cost = static_cast<double>(panels - 1) * costOf(vectors) + costOf(cut.vectorsOf(panels - 1));
    if (bestCost == 0 || cost < bestCost * 0.999)
      best = cut, bestCost = cost;
  }
  return best;
}

void multiplyRows(const KernelTable &kernels, const RowsTimesPanels &work) {
  if (work.rowCount == 0 || work.firstPanel >= work.endPanel)
    return;
  const PanelCut &cut = work.cut;
  ScratchFrame frame;
  // The last panel may be wider than the result: then its tiles are computed beside it.
  int64_t lastPanel = cut.count() - 1;
  int64_t lastColumns = cut.columns - lastPanel * cut.panelWidth();
  int64_t lastWidth = cut.vectorsOf(lastPanel) * cut.width;
  bool isRagged = work.endPanel == lastPanel + 1 && lastColumns < lastWidth;
  float *aside = isRagged ? frame.take<float>(work.rowCount * lastWidth) : nullptr;
  const float *bias = work.epilogue->bias ? work.epilogue->bias + work.column : nullptr;
  float *lastBias = nullptr;
  if (isRagged && bias) {
    lastBias = frame.take<float>(lastWidth);
    std::fill(std::copy_n(bias + lastPanel * cut.panelWidth(), lastColumns, lastBias),
              lastBias + lastWidth, 0.0f);
  }
  forChunks(work.taps, work.depth, [&](const Chunk &chunk) {
    for (int64_t panel = work.firstPanel; panel < work.endPanel; ++panel) {
      int64_t column = panel * cut.panelWidth();
      bool isAside = isRagged && panel == lastPanel;
      float *c = work.c + column;
      if (isAside)
        multiplyPanel(kernels, work, chunk, panel, aside, lastWidth, lastBias);
      else
        multiplyPanel(kernels, work, chunk, panel, c, work.ldc, bias ? bias + column : nullptr);
      if (!chunk.isLast)
        continue;
      if (isAside)
        for (int64_t i = 0; i < work.rowCount; ++i)
          std::memcpy(c + i * work.ldc, aside + i * lastWidth,
                      static_cast<size_t>(lastColumns) * sizeof(float));
      if (work.epilogue->function)
        work.epilogue->function(work.epilogue->operands, c, work.ldc, work.row, work.rowCount,
                                work.column + column,
                                isAside ? lastColumns : cut.vectorsOf(panel) * cut.width);
    }
  });
}

} // namespace cupel::kernels
