#include "cupel/kernels/Product.h"

#include "cupel/kernels/PackedAccess.h"
#include "cupel/kernels/Scratch.h"
#include "cupel/kernels/Units.h"

#include <algorithm>

namespace cupel::kernels {
namespace {

/// Rows of A whose part of a chunk of the depth stays in the second-level cache.
constexpr int64_t kMostRows = 128;
/// Floats of A that a unit may copy.
constexpr int64_t kMostCopied = int64_t{1} << 18;
/// A core's multiply-adds in a nanosecond, cautiously.
constexpr double kSpeed = 30;
/// Bytes of B that a core has at hand in a nanosecond where its caches do not hold all of it: what decides for few rows.
constexpr double kReadingSpeed = 50;

int64_t bytesOfPanels(const PanelProduct &product) {
  return product.cut.size(product.depth) * int64_t{sizeof(float)} / (product.hasPairs ? 2 : 1);
}

/// The innermost loops read rows of A where they lie, if their elements lie side by side.
bool needsCopy(const PanelProduct &product) {
  if (product.isRounded)
    return true;
  if (product.narrow)
    return !product.hasPairs || product.a.columnStride != 1 || product.depth % 2 != 0;
  return product.a.columnStride != 1 && product.depth > 1;
}

/// Rows of A, whose elements lie side by side, in pairs of bf16.
void roundRows(const KernelTable &kernels, const PanelProduct &product, int64_t row, int64_t count,
               float *to, int64_t stride) {
  for (int64_t i = 0; i < count; ++i) {
    auto *halves = reinterpret_cast<uint16_t *>(to + i * stride);
    kernels.roundToBf16(product.a.data + (row + i) * product.a.rowStride, product.depth, halves);
    if (product.depth % 2)
      halves[product.depth] = 0;
  }
}

/// Of few columns, with nothing to be done to sums: all of B stays in a cache, and nothing needs to be fetched ahead.
bool isPlain(const PanelProduct &product, bool isCopied) {
  constexpr int64_t kMostDepth = 512, kMostFloats = int64_t{1} << 14;
  const Epilogue &end = *product.epilogue;
  return product.c && !isCopied && !product.narrow && !product.isRounded && !product.hasPairs && !product.hasIntegers && !product.bytes &&
         !end.bias && !end.finish && !end.function && product.depth <= kMostDepth && product.depth * product.cut.columns <= kMostFloats;
}

/// Whether a unit is computed as EvenRows has it, if rows of A are a fixed distance apart.
bool isEven(const KernelTable &kernels, const PanelProduct &product, int64_t rows, int64_t steps) {
  constexpr int64_t kMostSteps = 48;
  const Epilogue &end = *product.epilogue;
  const Finish *finish = end.finish;
  const bool isKnown = kernels.evenTiles[product.hasPairs][0] && !kernels.blocks && !product.bStride && !product.hasIntegers && !product.bytes;
  const bool hasPlace = product.c || (finish && finish->narrow);
  return isKnown && hasPlace && !end.function && !(finish && (finish->rows || finish->narrowRows)) && steps > 0 && steps <= kMostSteps &&
         rows >= *std::max_element(kernels.evenRows, kernels.evenRows + kMostTileVectors);
}

/// `work` is what is alike for all panels.
void multiplyEven(const KernelTable &kernels, const PanelProduct &product, EvenRows work, int64_t firstPanel, int64_t endPanel) {
  const PanelCut &cut = product.cut;
  const float *bias = product.epilogue->bias ? product.epilogue->bias + product.firstColumn : nullptr;
  float *c = work.c;
  for (int64_t panel = firstPanel; panel < endPanel; ++panel) {
    int64_t column = cut.columnOf(panel), vectors = cut.vectorsOf(panel);
    work.b = product.panels + column * work.depth;
    work.c = c ? c + column : nullptr;
    work.bias = bias ? bias + column : nullptr;
    work.column = product.firstColumn + column;
    work.lastColumns = cut.columnsOf(panel) - (vectors - 1) * cut.width;
    kernels.evenTiles[product.hasPairs][vectors - 1](work);
  }
}

/// Rows that are multiplied by all panels of a unit before the next ones.
int64_t rowsAtOnce(const KernelTable &kernels, const PanelProduct &product, bool isCopied, int64_t rows, int64_t firstPanel, int64_t endPanel) {
  const bool isVectors = rowStepOf(kernels, product.hasPairs, product.bytes) == 1;
  if (!isVectors || isPlain(product, isCopied) || !goesRowByRow(endPanel - firstPanel, product.depth, product.ldc))
    return std::max<int64_t>(1, rows);
  return 2 * kernels.tileRows[product.cut.vectorsOf(firstPanel) - 1]; // More is done around them than around plain ones.
}

/// Some rows of a unit.
void multiplySome(const KernelTable &kernels, const PanelProduct &product, bool isCopied,
                  int64_t row, int64_t endRow, int64_t firstPanel, int64_t endPanel,
                  int64_t panelAfter) {
  if (isPlain(product, isCopied))
    return multiplyPlain(kernels, {endRow - row, product.a.data + row * product.a.rowStride, product.a.rowStride, product.depth, product.cut,
                                   product.panels, product.bStride, firstPanel, endPanel, product.c + row * product.ldc, product.ldc});
  ScratchFrame frame;
  int64_t count = endRow - row;
  int64_t steps = product.hasPairs ? (product.depth + 1) / 2 : product.depth;
  int64_t first = row * product.a.rowStride;
  // Rows of A, which are pairs of bf16 if it has these.
  const float *a = product.narrow ? reinterpret_cast<const float *>(product.narrow + first) : product.a.data + first;
  int64_t aStride = product.a.rowStride;
  if (isCopied) {
    // An odd number of lines between rows.
    int64_t stride = (steps + 31) / 32 * 32 + 16;
    auto *copy = frame.take<float>(count * stride);
    if (product.isRounded)
      roundRows(kernels, product, row, count, copy, stride);
    else if (!product.narrow)
      kernels.copyMatrix(product.a.data + first, product.a.rowStride, product.a.columnStride, count,
                         product.depth, copy, stride);
    else
      (product.hasPairs ? kernels.copyPairs : kernels.copyWidened)(
          product.narrow + first, product.a.rowStride, product.a.columnStride, count, product.depth,
          copy, stride);
    a = copy;
    aStride = stride;
  }
  // Of bf16, rows may begin in the middle of a float.
  const bool hasHalves = !isCopied && product.narrow;
  float *c = product.c ? product.c + row * product.ldc : nullptr;
  if ((!hasHalves || aStride % 2 == 0) && isEven(kernels, product, count, steps))
    return multiplyEven(kernels, product,
                        {.rows = count,
                         .a = a,
                         .aStride = hasHalves ? aStride / 2 : aStride,
                         .b = nullptr,
                         .depth = steps,
                         .c = c,
                         .ldc = product.ldc,
                         .bias = nullptr,
                         .finish = product.epilogue->finish,
                         .row = product.firstRow + row,
                         .column = 0,
                         .lastColumns = 0},
                        firstPanel, endPanel);
  auto **rows = frame.take<const float *>(count);
  for (int64_t i = 0; i < count; ++i)
    rows[i] = hasHalves ? reinterpret_cast<const float *>(product.narrow + first + i * aStride) : a + i * aStride;
  RowsTimesPanels work = {};
  work.rows = rows;
  work.rowCount = count;
  work.taps = 1;
  work.depth = work.panelDepth = steps;
  work.hasPairs = product.hasPairs;
  work.hasIntegers = product.hasIntegers;
  work.bytes = product.bytes;
  work.cut = product.cut;
  work.panels = product.panels;
  work.bStride = product.bStride;
  work.firstPanel = firstPanel;
  work.endPanel = endPanel;
  work.panelAfter = panelAfter;
  work.c = c;
  work.ldc = product.ldc;
  work.row = product.firstRow + row;
  work.column = product.firstColumn;
  work.epilogue = product.epilogue;
  multiplyRows(kernels, work);
}

void multiplyUnit(const KernelTable &kernels, const PanelProduct &product, bool isCopied,
                  int64_t row, int64_t endRow, int64_t firstPanel, int64_t endPanel,
                  int64_t panelAfter) {
  const int64_t step = rowsAtOnce(kernels, product, isCopied, endRow - row, firstPanel, endPanel);
  for (; row < endRow; row += step)
    multiplySome(kernels, product, isCopied, row, std::min(endRow, row + step), firstPanel, endPanel, panelAfter);
}

} // namespace

PackedMatrix PackedAccess::make(int64_t rows, int64_t columns, bool hasPairs) {
  PackedMatrix packed = borrow(nullptr, rows, columns);
  packed.hasPairs = hasPairs;
  packed.panels = cutIntoPanels(*packed.kernels, columns, hasPairs && packed.kernels->blocks).count;
  int64_t floats = cut(packed).size(hasPairs ? (rows + 1) / 2 : rows);
  packed.size = floats * static_cast<int64_t>(sizeof(float));
  packed.data = allocateFloats(floats);
  return packed;
}

PackedMatrix PackedAccess::borrow(float *memory, int64_t rows, int64_t columns) {
  PackedMatrix packed;
  packed.kernels = &currentKernels();
  PanelCut cut = cutIntoPanels(*packed.kernels, columns);
  packed.depth = rows;
  packed.width = columns;
  packed.panels = cut.count;
  packed.size = cut.size(rows) * static_cast<int64_t>(sizeof(float));
  packed.data = std::shared_ptr<float[]>(std::shared_ptr<float[]>(), memory); // Nobody owns it.
  return packed;
}

int64_t packedFloats(int64_t rows, int64_t columns) {
  constexpr int64_t kWidest = 16; // Of all instruction sets: which one it will be is decided when it is packed.
  return (columns + kWidest - 1) / kWidest * kWidest * rows;
}

void packMatrixInto(MatrixView b, int64_t rows, int64_t columns, float *memory, const Pool &pool) {
  packPanels(currentKernels(), b, rows, cutIntoPanels(currentKernels(), columns), memory, pool);
}

PackedMatrix packedMatrixAt(float *memory, int64_t rows, int64_t columns) { return PackedAccess::borrow(memory, rows, columns); }

PackedMatrix packMatrix(MatrixView b, int64_t rows, int64_t columns, const Pool &pool) {
  PackedMatrix packed = PackedAccess::make(rows, columns, false);
  packPanels(PackedAccess::kernels(packed), b, rows, PackedAccess::cut(packed),
             PackedAccess::writablePanels(packed), pool);
  return packed;
}

void packPanels(const KernelTable &kernels, MatrixView b, int64_t rows, const PanelCut &cut,
                float *panels, const Pool &pool) {
  double nanoseconds = static_cast<double>(cut.size(rows)) / 4;
  pool.parallelFor(cut.count, nanoseconds / static_cast<double>(std::max<int64_t>(1, cut.count)),
                   [&](int64_t panel) {
                     int64_t column = cut.columnOf(panel);
                     kernels.packPanel(b.data + column * b.columnStride, b.rowStride, b.columnStride,
                                       rows, cut.columnsOf(panel), cut.widthOf(panel),
                                       panels + column * rows);
                   });
}

std::string_view bf16Instructions() {
  const KernelTable &kernels = currentKernels();
  return kernels.blocks ? "AMX_BF16" : kernels.pairTiles[0][0] ? "AVX512_BF16" : "";
}

bool multipliesBf16() { return !bf16Instructions().empty(); }

PackedMatrix packMatrix(Bf16View b, int64_t rows, int64_t columns, const Pool &pool) {
  bool hasPairs = multipliesBf16();
  PackedMatrix packed = PackedAccess::make(rows, columns, hasPairs);
  const KernelTable &kernels = PackedAccess::kernels(packed);
  PanelCut cut = PackedAccess::cut(packed);
  float *panels = PackedAccess::writablePanels(packed);
  int64_t steps = hasPairs ? (rows + 1) / 2 : rows;
  pool.parallelFor(cut.count, static_cast<double>(rows * cut.width), [&](int64_t panel) {
    int64_t column = cut.columnOf(panel);
    (hasPairs ? kernels.packPairs : kernels.packWidened)(
        b.data + column * b.columnStride, b.rowStride, b.columnStride, rows, cut.columnsOf(panel),
        cut.widthOf(panel), panels + column * steps);
  });
  return packed;
}

/// Rounds A before it is multiplied: units that share its rows would each do that.
static void multiplyRounded(const KernelTable &kernels, PanelProduct product, const Pool &pool) {
  constexpr double kNanosecondsPerElement = 0.1;
  constexpr int64_t kRows = 16;
  ScratchFrame frame;
  int64_t stride = (product.depth + 1) / 2;
  auto *pairs = frame.take<float>(product.rows * stride);
  pool.parallelFor((product.rows + kRows - 1) / kRows,
                   static_cast<double>(kRows * product.depth) * kNanosecondsPerElement,
                   [&](int64_t unit) {
                     int64_t row = unit * kRows, count = std::min(kRows, product.rows - row);
                     roundRows(kernels, product, row, count, pairs + row * stride, stride);
                   });
  product.narrow = reinterpret_cast<const uint16_t *>(pairs);
  product.a = {nullptr, 2 * stride, 1};
  product.depth = 2 * stride; // With the zero that fills an odd one.
  product.isRounded = false;
  multiplyPanels(kernels, &product, 1, pool);
}

void multiplyPanels(const KernelTable &kernels, const PanelProduct *products, int64_t count,
                    const Pool &pool) {
  if (count == 0)
    return;
  const PanelProduct &one = *products;
  // What fills the last vector is multiplied as well.
  double elements = static_cast<double>(count) * static_cast<double>(one.cut.size(one.depth));
  double nanoseconds = std::max(elements * static_cast<double>(one.rows) / kSpeed, elements * double{sizeof(float)} / kReadingSpeed);
  bool isCopied = needsCopy(one);
  int threads = pool.threadsFor(nanoseconds);
  int64_t mostRows = kMostRows;
  if (isCopied)
    mostRows = std::clamp<int64_t>(kMostCopied / std::max<int64_t>(1, one.depth), 16, kMostRows);
  UnitWork work{one.rows, mostRows, one.cut, count, bytesOfPanels(one), threads, nanoseconds, rowStepOf(kernels, one.hasPairs, one.bytes)};
  UnitGrid grid = planUnits(work);
  if (one.isImage)
    keepLines(grid, work);
  if (one.isRounded && grid.panelParts > 1 && count == 1)
    return multiplyRounded(kernels, one, pool);
  int64_t units = grid.count() * count, panels = one.cut.count;
  pool.parallelFor(
      units, nanoseconds / static_cast<double>(std::max<int64_t>(1, units)), [&](int64_t unit) {
        int64_t part = unit % grid.count();
        int64_t panelPart = grid.panelPartOf(part), rowPart = grid.rowPartOf(part);
        // The thread will likely come back for the unit after those of the others.
        int64_t partAfter = (part + threads) / grid.rowParts;
        int64_t panelAfter = !grid.rowsFirst && partAfter > panelPart && partAfter < grid.panelParts
                                 ? panels * partAfter / grid.panelParts
                                 : -1;
        multiplyUnit(kernels, products[unit / grid.count()], isCopied,
                     grid.rowOf(rowPart, one.rows), grid.rowOf(rowPart + 1, one.rows),
                     panels * panelPart / grid.panelParts,
                     panels * (panelPart + 1) / grid.panelParts, panelAfter);
      });
}

void multiply(int64_t rows, MatrixView a, const PackedMatrix &b, float *c, int64_t ldc,
              const Epilogue &epilogue, const Pool &pool) {
  PanelProduct product{rows, a,      b.rows(), PackedAccess::cut(b), PackedAccess::panels(b), 0, c,
                       ldc,  int64_t{0}, &epilogue};
  multiplyPanels(PackedAccess::kernels(b), &product, 1, pool);
}

void multiply(int64_t rows, Bf16View a, const PackedMatrix &b, float *c, int64_t ldc,
              const Epilogue &epilogue, const Pool &pool) {
  PanelProduct product{rows,
                       {nullptr, a.rowStride, a.columnStride},
                       b.rows(),
                       PackedAccess::cut(b),
                       PackedAccess::panels(b),
                       0,
                       c,
                       ldc,
                       0,
                       &epilogue,
                       0,
                       a.data,
                       PackedAccess::hasPairs(b)};
  multiplyPanels(PackedAccess::kernels(b), &product, 1, pool);
}

} // namespace cupel::kernels
