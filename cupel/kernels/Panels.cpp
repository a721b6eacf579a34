#include "cupel/kernels/Panels.h"

#include "cupel/kernels/Isa.h"
#include "cupel/kernels/Scratch.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <sys/mman.h>

namespace cupel::kernels {
namespace {

/// Rows of B that are used for all rows of A before the next ones: with the widest panel they take
/// an eighth of a common second-level cache.
constexpr int64_t kDepthChunk = 512;

/// Of the result, a fraction of such a cache too.
constexpr int64_t kResultFloats = int64_t{1} << 15;

/// Tiles of so few steps end so often that smaller ones are faster, of which a processor sees the next while one ends. Measured
/// for vectors of this width: the most rows, of [vectors - 1].
constexpr int64_t kShallow = 32, kShallowWidth = 16;
constexpr int64_t kShallowRows[kMostTileVectors] = {10, 8, 5, 6};

/// Rows times steps that matrix registers multiply once more in less time than they are set up twice: 2 times 90 ns on an Emerald
/// Rapids, where 16 steps of 32 rows take 50.
constexpr int64_t kMostAgain = 2047;

/// Part of the depth: some taps, of each the same part.
struct Chunk {
  int64_t firstTap, taps, begin, depth;
  bool isFirst, isLast;
};

/// Chunks of about `most` steps; a part of a tap is no longer than that.
template <typename F> void forChunks(int64_t taps, int64_t depth, int64_t most, F &&body) {
  if (taps * depth == 0)
    return body(Chunk{0, 0, 0, 0, true, true});
  if (depth < most) {
    // Rather a somewhat longer chunk than a very short last one.
    int64_t parts = std::max<int64_t>(1, (taps * depth + most / 4) / most);
    int64_t step = (taps + parts - 1) / parts;
    for (int64_t tap = 0; tap < taps; tap += step)
      body(Chunk{tap, std::min(step, taps - tap), 0, depth, tap == 0, tap + step >= taps});
    return;
  }
  // Of whole registers, if the processor has them for the depth.
  constexpr int64_t kUnit = 16;
  int64_t units = (depth + kUnit - 1) / kUnit, parts = (units * kUnit + most - 1) / most;
  for (int64_t tap = 0; tap < taps; ++tap)
    for (int64_t part = 0; part < parts; ++part) {
      int64_t begin = units * part / parts * kUnit, end = std::min(depth, units * (part + 1) / parts * kUnit);
      body(Chunk{tap, 1, begin, end - begin, tap == 0 && part == 0,
                 tap + 1 == taps && part + 1 == parts});
    }
}

int64_t countChunks(int64_t taps, int64_t depth, int64_t most) {
  int64_t count = 0;
  forChunks(taps, depth, most, [&](const Chunk &) { ++count; });
  return count;
}

/// How tiles of some work are computed: in vectors or, with a block function, in matrix registers.
struct TileKernels {
  const TileFunction (*functions)[kMostTileRows];
  const TileFunction (*halves)[kMostTileRows] = nullptr; // For panels whose last vector is half empty.
  const int *rows; // The most, of [vectors - 1].
  BlockFunction block = nullptr;
  void (*release)() = nullptr;
  int64_t depthChunk = kDepthChunk;

  TileKernels(const KernelTable &kernels, const RowsTimesPanels &work)
      : functions(work.bytes         ? kernels.byteTiles[work.bytes->isSigned]
                  : work.hasIntegers ? kernels.integerTiles
                  : work.hasPairs    ? kernels.pairTiles
                                     : kernels.tiles),
        rows(kernels.tileRows) {
    if (functions == kernels.tiles && kernels.halfTiles[0][0])
      halves = kernels.halfTiles;
    const BlockTable *blocks = blocksOf(kernels, work.hasPairs, work.bytes);
    if (!blocks)
      return;
    block = work.bytes ? blocks->bytes[work.bytes->isSigned] : blocks->pairs;
    release = blocks->release;
    rows = blocks->rows;
    depthChunk = kBlockDepth;
  }

  int64_t mostRows() const { return *std::max_element(rows, rows + kMostTileVectors); }
  /// Whether the last vector of a panel is no more than half filled, and there are tiles for that.
  bool hasHalves(const PanelCut &cut, int64_t panel) const {
    return halves && 2 * (cut.widthOf(panel) - cut.columnsOf(panel)) >= cut.width;
  }
};

/// Matrix registers in use, until the end.
struct BlockUse {
  const TileKernels &tiles;
  BlockSetup setup;

  explicit BlockUse(const TileKernels &tiles) : tiles(tiles) {}
  ~BlockUse() {
    if (setup.key)
      tiles.release();
  }
  BlockUse(const BlockUse &) = delete;
  BlockUse &operator=(const BlockUse &) = delete;
};

/// Where a panel's part of a chunk would begin if its taps were the first ones.
const float *chunkOf(const RowsTimesPanels &work, const Chunk &chunk, int64_t panel) {
  if (work.bStride)
    return work.panels + work.cut.columnOf(panel) + chunk.begin * work.bStride;
  return work.panels + work.cut.columnOf(panel) * work.panelDepth +
         chunk.begin * work.cut.widthOf(panel);
}

/// Where a panel's part of a chunk begins, if no taps are left out.
const float *startOf(const RowsTimesPanels &work, const Chunk &chunk, int64_t panel) {
  int64_t tap = work.tapIndices && chunk.taps > 0 ? work.tapIndices[chunk.firstTap] : 0;
  return chunkOf(work, chunk, panel) + tap * work.depth * work.cut.widthOf(panel);
}

/// The taps of one tile that are not all padding.
struct TileTaps {
  const float **rows = nullptr;
  int32_t *indices = nullptr;
};

void leaveOutZeros(const RowsTimesPanels &work, const Chunk &chunk, const float *const *rows, const float *zeros,
                   int64_t count, const TileTaps &used, Tile &tile) {
  int64_t taps = 0;
  for (int64_t tap = 0; tap < chunk.taps; ++tap) {
    const float *const *from = rows + tap * work.rowCount;
    if (std::all_of(from, from + count, [&](const float *row) { return row == zeros; }))
      continue;
    std::copy_n(from, count, used.rows + taps * count);
    used.indices[taps++] = work.tapIndices[chunk.firstTap + tap];
  }
  tile.rows = used.rows;
  tile.rowsPerTap = count;
  tile.taps = taps;
  tile.tapIndices = used.indices;
}

/// Where rows of A are for a chunk.
struct ChunkRows {
  const float *const *rows; // [tap of the chunk][row]
  const float *zeros;       // What work.zeros are among them.
  int64_t offset;           // Of the chunk's first step, in all of them.
};

/// How far copies of rows of so many steps are apart: not by a multiple of what makes lines meet in a cache.
constexpr int64_t copiedStride(int64_t depth) { return depth + 16; }

/// Whether all of them are as far from the next one as the first is.
bool areEquallyFar(const float *const *rows, int64_t count) {
  for (int64_t i = 2; i < count; ++i)
    if (rows[i] - rows[i - 1] != rows[1] - rows[0])
      return false;
  return true;
}

/// Rows that matrix registers cannot load where they lie are copied for each tile, unless that is done here, once for all panels.
class RowCopies {
public:
  RowCopies(const RowsTimesPanels &work, bool areInBlocks, const Chunk *chunks, int64_t chunkCount, ScratchFrame &frame)
      : work(work) {
    constexpr int64_t kFewestPanels = 3; // Tiles of two find what the first copied in the nearest cache.
    constexpr int64_t kMostBytes = int64_t{1} << 20;
    if (!areInBlocks || work.endPanel - work.firstPanel < kFewestPanels)
      return;
    int64_t floats = 0, taps = 0;
    for (int64_t i = 0; i < chunkCount; ++i) {
      floats = std::max(floats, chunks[i].taps * work.rowCount * copiedStride(chunks[i].depth));
      taps = std::max(taps, chunks[i].taps);
    }
    if (floats * int64_t{sizeof(float)} > kMostBytes || !areApart())
      return;
    rows = frame.take<const float *>(taps * work.rowCount);
    copies = frame.take<float>(floats);
  }

  ChunkRows of(const Chunk &chunk) {
    const float *const *from = work.rows + chunk.firstTap * work.rowCount;
    if (!copies)
      return {from, work.zeros, chunk.begin};
    float *to = copies;
    int64_t stride = copiedStride(chunk.depth);
    for (int64_t tap = 0; tap < chunk.taps; ++tap)
      for (int64_t row = 0; row < work.rowCount; row += kBlockRegisterRows) {
        int64_t first = tap * work.rowCount + row, count = std::min(kBlockRegisterRows, work.rowCount - row);
        const bool staysThere = areEquallyFar(from + first, count);
        for (int64_t i = first; i < first + count; ++i) {
          rows[i] = staysThere ? from[i] + chunk.begin : to;
          if (staysThere)
            continue;
          std::memcpy(to, from[i] + chunk.begin, static_cast<size_t>(chunk.depth) * sizeof(float));
          to += stride;
        }
      }
    return {rows, work.zeros ? work.zeros + chunk.begin : nullptr, 0};
  }

private:
  const RowsTimesPanels &work;
  const float **rows = nullptr;
  float *copies = nullptr;

  /// Whether rows of some register are.
  bool areApart() const {
    for (int64_t tap = 0; tap < work.taps; ++tap)
      for (int64_t row = 0; row < work.rowCount; row += kBlockRegisterRows)
        if (!areEquallyFar(work.rows + tap * work.rowCount + row, std::min(kBlockRegisterRows, work.rowCount - row)))
          return true;
    return false;
  }
};

/// What is added at the end, from a column on; or null.
const float *from(const float *bias, int64_t column) { return bias ? bias + column : nullptr; }

/// Where the sums of a panel go: `c` is at its first row and column, or all of its tiles lie there, one after the other.
struct PanelSums {
  float *c;
  int64_t ldc;
  bool isOneTile = false;
  /// So many rows may be computed again in front of the last ones: nobody else looks there, and there is room for whole tiles. Of all
  /// chunks alike, which go on with each other's sums where they lie.
  int64_t mostAgain = 0;

  float *at(int64_t row) const { return isOneTile ? c : c + row * ldc; }
};

/// The tiles of one panel for a chunk. `bias` is at the panel's first column, `end` what is done to
/// sums in registers; `next` are the `nextBytes` of B that will be needed next. If something is
/// left to do, `finish` is called with the first row of each tile, where it lies and the number of
/// rows.
template <typename F>
void multiplyPanel(BlockUse &use, const RowsTimesPanels &work, const Chunk &chunk, const ChunkRows &chunkRows, int64_t panel,
                   const PanelSums &sums, const float *bias, const Finish *end, const float *next,
                   int64_t nextBytes, bool isLeft, F &&finish) {
  int64_t vectors = work.cut.vectorsOf(panel), width = work.cut.widthOf(panel);
  Tile tile = {};
  tile.rowsPerTap = work.rowCount;
  tile.offset = chunkRows.offset;
  tile.taps = chunk.taps;
  tile.tapIndices = work.tapIndices ? work.tapIndices + chunk.firstTap : nullptr;
  tile.tapStride = work.depth * width;
  tile.depth = chunk.depth;
  tile.b = chunkOf(work, chunk, panel);
  tile.bStride = work.bStride ? work.bStride : width;
  tile.ldc = sums.ldc;
  const TileKernels &kernels = use.tiles;
  tile.bias = (kernels.block ? chunk.isFirst : chunk.isLast) ? bias : nullptr;
  tile.finish = chunk.isLast ? end : nullptr;
  tile.column = work.column + work.cut.columnOf(panel);
  tile.accumulate = !chunk.isFirst;
  tile.ragged = work.cut.columnsOf(panel) % work.cut.width;
  bool hasHalves = !tile.finish && kernels.hasHalves(work.cut, panel);
  // Halves by themselves wait for their loads: pointers to more rows than that are loaded as well.
  constexpr int64_t kRowsOfHalves = 8;
  int64_t most = hasHalves && vectors == 1 ? std::min<int64_t>(kRowsOfHalves, kernels.rows[0])
                                           : kernels.rows[vectors - 1];
  // Tiles of one vector read a number for each multiplication, which has no time for pointers that are in memory as well.
  if (!kernels.block && work.cut.width == kShallowWidth && (vectors == 1 || chunk.taps * chunk.depth <= kShallow))
    most = std::min(most, kShallowRows[vectors - 1]);
  int64_t tiles = (work.rowCount + most - 1) / most;
  tile.next = reinterpret_cast<const char *>(next);
  tile.nextStep = nextBytes / std::max<int64_t>(1, tiles * chunk.taps * chunk.depth);
  const float *const *rows = chunkRows.rows;
  ScratchFrame frame;
  TileTaps used;
  if (work.zeros)
    used = {frame.take<const float *>(chunk.taps * most), frame.take<int32_t>(chunk.taps)};
  const TileFunction *functions = (hasHalves ? kernels.halves : kernels.functions)[vectors - 1];
  // Tiles of nearly the same number of rows, the larger ones first.
  int64_t fewest = work.rowCount / std::max<int64_t>(1, tiles), larger = work.rowCount - fewest * tiles, begin = 0;
  // Those that are alike are computed in one go, where nothing is done between them.
  bool areKept = !sums.isOneTile || (tile.finish && tile.finish->narrow);
  bool areTogether = areKept && !work.zeros && !kernels.block && !isLeft;
  for (int64_t i = 0; i < tiles; i += tile.below) {
    tile.below = !areTogether ? 1 : i < larger ? larger - i : tiles - i;
    int64_t size = fewest + (i < larger);
    int64_t after =
        kernels.block ? std::min(work.rowCount, begin + most) : begin + size * tile.below;
    // Registers of another size would have to be set up for the last rows, and again for the next panel: where the depth
    // is short that takes longer than some of the rows before them once more.
    const bool isAgain = kernels.block && begin > 0 && most - (after - begin) <= sums.mostAgain;
    const int64_t first = isAgain ? after - most : begin;
    tile.rows = rows + first;
    tile.row = work.row + first;
    tile.c = sums.at(begin);
    if (work.zeros)
      leaveOutZeros(work, chunk, rows + first, chunkRows.zeros, after - first, used, tile);
    if (kernels.block)
      kernels.block(tile, after - first, vectors, use.setup);
    else
      functions[size - 1](tile);
    if (isLeft)
      finish(begin, tile.c + (begin - first) * tile.ldc, after - begin);
    tile.next += tile.nextStep * chunk.taps * chunk.depth * tile.below;
    begin = after;
  }
}

/// Whether a single row is multiplied by two panels at once, where two are alike. What comes from memory comes faster one after the other.
bool takesTwoPanels(const KernelTable &kernels, const RowsTimesPanels &work, const TileKernels &tiles) {
  constexpr int64_t kMostFloats = int64_t{1} << 20; // Of all panels.
  const Finish *finish = work.epilogue->finish;
  const bool hasPlace = work.c || (finish && finish->narrow && !work.epilogue->function);
  return work.rowCount == 1 && hasPlace && !tiles.block && !work.bytes && !work.hasIntegers && !work.zeros && kernels.rowTiles[work.hasPairs][0] &&
         work.cut.size(work.panelDepth) <= kMostFloats;
}

/// A single row and two panels, from `panel` on. The depth is done in one go: no result waits in a cache.
void multiplyTwoPanels(const KernelTable &kernels, const RowsTimesPanels &work, int64_t panel) {
  const PanelCut &cut = work.cut;
  const int64_t width = cut.widthOf(panel), column = cut.columnOf(panel);
  const Chunk whole{0, work.taps, 0, work.depth, true, true};
  RowTile tile = {};
  tile.rows = work.rows;
  tile.rowsPerTap = work.rowCount;
  tile.taps = work.taps;
  tile.tapIndices = work.tapIndices;
  tile.tapStride = work.depth * width;
  tile.depth = work.depth;
  tile.b = chunkOf(work, whole, panel);
  tile.bStride = work.bStride ? work.bStride : width;
  tile.panelStride = work.bStride ? width : work.panelDepth * width;
  tile.c = work.c ? work.c + column : nullptr;
  tile.bias = from(from(work.epilogue->bias, work.column), column);
  tile.finish = work.epilogue->finish;
  tile.row = work.row;
  tile.column = work.column + column;
  tile.ragged = cut.columnsOf(panel + 1) % cut.width;
  kernels.rowTiles[work.hasPairs][cut.vectorsOf(panel) - 1](tile);
  if (work.epilogue->function)
    work.epilogue->complete(kernels, true, tile.c, work.ldc, work.row, 1, tile.column, width + cut.columnsOf(panel + 1));
}

/// What is added to each element of rows of bytes; null where nothing is.
const int32_t *rowTerms(const KernelTable &kernels, const RowsTimesPanels &work, ScratchFrame &frame) {
  if (!work.bytes || work.bytes->rowFactor == 0)
    return nullptr;
  auto *terms = frame.take<int32_t>(work.rowCount);
  for (int64_t i = 0; i < work.rowCount; ++i) {
    uint32_t sum = 0;
    for (int64_t tap = 0; tap < work.taps; ++tap)
      sum += static_cast<uint32_t>(kernels.sumBytes[work.bytes->isSigned](
          reinterpret_cast<const uint8_t *>(work.rows[tap * work.rowCount + i]), work.bytes->rowBytes));
    if (work.bytes->isSigned && !work.bytes->isMoved)
      sum -= static_cast<uint32_t>(128 * work.taps * work.bytes->rowBytes);
    terms[i] = static_cast<int32_t>(sum * static_cast<uint32_t>(work.bytes->rowFactor));
  }
  return terms;
}

void addTerms(const int32_t *terms, int64_t rows, float *c, int64_t ldc, int64_t columns) {
  for (int64_t i = 0; i < rows; ++i) {
    auto *row = reinterpret_cast<uint32_t *>(c + i * ldc);
    for (int64_t j = 0; j < columns; ++j)
      row[j] += static_cast<uint32_t>(terms[i]);
  }
}

} // namespace

void Epilogue::complete(const KernelTable &kernels, bool isFinished, float *c, int64_t ldc, int64_t row, int64_t rows,
                        int64_t column, int64_t columns) const {
  if (finish && !isFinished)
    kernels.finishBlock(finish, c, ldc, c, ldc, row, rows, column, columns);
  if (function)
    function(operands, c, ldc, row, rows, column, columns);
}

bool joinTerms(const ColumnTerms &terms, float *factor, float *addend) {
  return currentKernels().joinColumns(terms, factor, addend);
}

std::shared_ptr<float[]> allocateFloats(int64_t count) {
  constexpr size_t kAlignment = 64, kHugePage = size_t{2} << 20;
  auto bytes = (static_cast<size_t>(count) * sizeof(float) + kAlignment) / kAlignment * kAlignment;
  bool isLarge = bytes >= kHugePage;
  void *data = nullptr; // aligned_alloc takes multiples of its alignment only.
  if (::posix_memalign(&data, isLarge ? kHugePage : kAlignment, bytes) != 0)
    throw std::bad_alloc();
#if defined(MADV_HUGEPAGE)
  if (isLarge) // Whole ones only: what lies behind them is not ours.
    ::madvise(data, bytes / kHugePage * kHugePage, MADV_HUGEPAGE);
#endif
  return std::shared_ptr<float[]>(static_cast<float *>(data), [](float *p) { std::free(p); });
}

PanelCut cutIntoPanels(const KernelTable &kernels, int64_t columns, bool areInBlocks) {
  PanelCut best{columns, 0, kernels.width};
  int64_t all = best.allVectors();
  if (all == 0)
    return best;
  if (areInBlocks) {
    best.count = (all + kBlockVectors - 1) / kBlockVectors;
    return best;
  }
  double bestCost = 0;
  auto costOf = [&](int64_t vectors) {
    return static_cast<double>(vectors) / kernels.tileSpeed[vectors - 1];
  };
  // Panels of three vectors leave room for the most rows, so they come first.
  for (int most : {3, 4, 2, 1}) {
    if (kernels.tileRows[most - 1] == 0)
      continue;
    int64_t count = (all + most - 1) / most, wider = all % count;
    double cost = static_cast<double>(count - wider) * costOf(all / count);
    if (wider > 0)
      cost += static_cast<double>(wider) * costOf(all / count + 1);
    if (bestCost == 0 || cost < bestCost * 0.999)
      best.count = count, bestCost = cost;
  }
  return best;
}

const BlockTable *blocksOf(const KernelTable &kernels, bool hasPairs, const ByteSides *bytes) {
  return (bytes ? bytes->isInBlocks : hasPairs) ? kernels.blocks : nullptr;
}

int64_t rowStepOf(const KernelTable &kernels, bool hasPairs, const ByteSides *bytes) {
  const BlockTable *blocks = blocksOf(kernels, hasPairs, bytes);
  return blocks ? blocks->rows[kBlockVectors - 1] : 1;
}

void multiplyRows(const KernelTable &kernels, const RowsTimesPanels &work) {
  if (work.rowCount == 0 || work.firstPanel >= work.endPanel)
    return;
  const PanelCut &cut = work.cut;
  ScratchFrame frame;
  TileKernels tiles(kernels, work);
  BlockUse use(tiles);
  int64_t lastPanel = cut.count - 1;
  int64_t lastColumns = cut.columnsOf(lastPanel), lastWidth = cut.widthOf(lastPanel);
  // Matrix registers know nothing of panels that are wider than the result, nor of what is done to sums: they leave these aside, where
  // they stay in the nearest cache until they are finished and go where they belong. What nothing is done to goes there at once.
  const bool isRagged = tiles.block && work.endPanel == cut.count && lastColumns < lastWidth;
  const bool isAside = isRagged || (tiles.block && work.epilogue->finish);
  const float *bias = from(work.epilogue->bias, work.column);
  auto whole = [&](const float *columns) -> const float * {
    if (!isRagged || !columns)
      return nullptr;
    auto *copy = frame.take<float>(lastWidth);
    std::fill(std::copy_n(columns + cut.columnOf(lastPanel), lastColumns, copy), copy + lastWidth,
              0.0f);
    return copy;
  };
  const float *lastBias = whole(bias);
  const int32_t *terms = rowTerms(kernels, work, frame);
  auto *chunks = frame.take<Chunk>(std::max<int64_t>(1, countChunks(work.taps, work.depth, tiles.depthChunk)));
  int64_t chunkCount = 0, longest = 1;
  forChunks(work.taps, work.depth, tiles.depthChunk, [&](const Chunk &chunk) {
    chunks[chunkCount++] = chunk;
    longest = std::max(longest, chunk.taps * chunk.depth);
  });
  // Some panels at a time, so that what they have so far stays in the cache from chunk to chunk.
  int64_t group = std::max<int64_t>(1, kResultFloats / (work.rowCount * cut.widthOf(0)));
  // Sums that lie aside or that nobody keeps: those of such panels or, where no chunk goes on with them, of one tile.
  const bool areKept = work.c && !isAside;
  bool isOneTile = !areKept && chunkCount == 1;
  int64_t keptColumns = cut.widthOf(0) * (isOneTile ? 1 : std::min(group, work.endPanel - work.firstPanel));
  const int64_t keptRows = isOneTile ? tiles.mostRows() : work.rowCount + (tiles.block ? tiles.mostRows() : 0);
  float *kept = areKept ? nullptr : frame.take<float>(keptColumns * keptRows);
  RowCopies copies(work, tiles.block, chunks, chunkCount, frame);
  auto multiplyOne = [&](const Chunk &chunk, const ChunkRows &rows, int64_t panel, int64_t firstOfGroup, const float *next,
                         int64_t nextBytes) {
    int64_t column = cut.columnOf(panel);
    // Matrix registers do nothing but products, and neither do tiles with half vectors, which save
    // more than that costs where the depth is long.
    constexpr int64_t kShortDepth = 32;
    bool inRegisters =
        !tiles.block && (work.taps * work.depth < kShortDepth || !tiles.hasHalves(cut, panel));
    int64_t before = isOneTile ? 0 : (column - cut.columnOf(firstOfGroup)) * keptRows;
    PanelSums sums = areKept ? PanelSums{work.c + column, work.ldc} : PanelSums{kept + before, cut.widthOf(panel), isOneTile, kMostAgain / longest};
    // While a tile is in the nearest cache: rows of a result often lie so that they push each other out of it.
    bool isLeft = chunk.isLast && (terms || isAside || !inRegisters || work.epilogue->function);
    auto finish = [&](int64_t row, float *tile, int64_t rows) {
      const int64_t columns = cut.columnsOf(panel);
      if (terms)
        addTerms(terms + row, rows, tile, sums.ldc, columns);
      if (!isAside || !work.c)
        return work.epilogue->complete(kernels, inRegisters, tile, sums.ldc, work.row + row, rows, work.column + column, columns);
      float *c = work.c + column + row * work.ldc;
      kernels.finishBlock(work.epilogue->finish, tile, sums.ldc, c, work.ldc, work.row + row, rows, work.column + column, columns);
      work.epilogue->complete(kernels, true, c, work.ldc, work.row + row, rows, work.column + column, columns);
    };
    multiplyPanel(use, work, chunk, rows, panel, sums, isRagged && panel == lastPanel ? lastBias : from(bias, column),
                  inRegisters ? work.epilogue->finish : nullptr, next, nextBytes, isLeft, finish);
  };
  const bool takesTwo = takesTwoPanels(kernels, work, tiles);
  for (int64_t first = work.firstPanel, many; first < work.endPanel; first += many) {
    many = takesTwo ? 1 : group;
    if (takesTwo && first + 1 < work.endPanel && cut.vectorsOf(first) == cut.vectorsOf(first + 1)) {
      multiplyTwoPanels(kernels, work, first);
      many = 2;
      continue;
    }
    int64_t end = std::min(first + many, work.endPanel);
    for (int64_t i = 0; i < chunkCount; ++i) {
      ChunkRows rows = copies.of(chunks[i]);
      for (int64_t panel = first; panel < end; ++panel) {
        // What comes next: a panel, the next chunk of the first one, or what follows this group.
        bool isLastPanel = panel + 1 == end, isLastChunk = i + 1 == chunkCount;
        const Chunk &nextChunk = !isLastPanel ? chunks[i] : chunks[isLastChunk ? 0 : i + 1];
        int64_t next = !isLastPanel          ? panel + 1
                       : !isLastChunk        ? first
                       : end < work.endPanel ? end
                                             : work.panelAfter;
        bool hasNext = next >= 0 && !work.bStride && work.depth > 0;
        multiplyOne(chunks[i], rows, panel, first, hasNext ? startOf(work, nextChunk, next) : nullptr,
                    hasNext ? nextChunk.taps * nextChunk.depth * cut.widthOf(next) * 4 : 0);
      }
    }
  }
}

void multiplyPlain(const KernelTable &kernels, const PlainRows &work) {
  const bool isRowByRow = goesRowByRow(work.endPanel - work.firstPanel, work.depth, work.ldc);
  if (const int64_t step = isRowByRow ? kernels.tileRows[work.cut.vectorsOf(work.firstPanel) - 1] : work.rows; work.rows > step) {
    PlainRows some = work;
    for (int64_t row = 0; row < work.rows; row += step, some.a += step * work.aStride, some.c += step * work.ldc) {
      some.rows = std::min(step, work.rows - row);
      multiplyPlain(kernels, some);
    }
    return;
  }
  for (int64_t panel = work.firstPanel; panel < work.endPanel; ++panel) {
    int64_t column = work.cut.columnOf(panel), vectors = work.cut.vectorsOf(panel), width = work.cut.widthOf(panel);
    int64_t last = work.cut.columnsOf(panel) - (vectors - 1) * work.cut.width;
    PlainEnd end = last == work.cut.width       ? PlainEnd::Whole
                   : 2 * last <= work.cut.width ? PlainEnd::Half
                                                : PlainEnd::Part;
    const PlainFunction *functions = kernels.plainTiles[int(end)][vectors - 1];
    PlainTile tile = {};
    tile.aStride = work.aStride;
    tile.b = work.panels + (work.bStride ? column : column * work.depth);
    tile.bStride = work.bStride ? work.bStride : width;
    tile.depth = work.depth;
    tile.ldc = work.ldc;
    tile.lastColumns = last;
    int64_t most = kernels.tileRows[vectors - 1], tiles = (work.rows + most - 1) / most;
    for (int64_t i = 0, begin = 0; i < tiles; ++i) {
      int64_t after = work.rows * (i + 1) / tiles;
      tile.a = work.a + begin * work.aStride;
      tile.c = work.c + begin * work.ldc + column;
      functions[after - begin - 1](tile);
      begin = after;
    }
  }
}

} // namespace cupel::kernels
