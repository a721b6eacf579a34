#include "cupel/kernels/Product.h"

#include "cupel/kernels/PackedAccess.h"
#include "cupel/kernels/Scratch.h"

#include <algorithm>

namespace cupel::kernels {
namespace {

/// Rows of A whose part of a chunk of the depth stays in the second-level cache.
constexpr int64_t kMostRows = 128;
/// Floats of A that a unit may copy.
constexpr int64_t kMostCopied = int64_t{1} << 18;
/// A core's multiply-adds in a nanosecond, cautiously.
constexpr double kSpeed = 30;
/// A unit should be long enough not to be felt.
constexpr double kUnitNanoseconds = 20'000;

/// The innermost loops read rows of A where they lie, if their elements lie side by side.
bool needsCopy(const PanelProduct &product) {
  return product.a.columnStride != 1 && product.depth > 1;
}

/// How the work is cut into units. It may depend on the number of threads: results do not.
struct UnitGrid {
  int64_t rowParts, panelParts;
};

UnitGrid planUnits(const PanelProduct &product, bool isCopied, int threads, double nanoseconds) {
  int64_t mostRows = kMostRows;
  if (isCopied)
    mostRows = std::clamp<int64_t>(kMostCopied / std::max<int64_t>(1, product.depth), 16, kMostRows);
  int64_t rowParts = (product.rows + mostRows - 1) / mostRows, panelParts = 1;
  int64_t panels = product.cut.count;
  if (threads > 1) {
    int64_t wanted = std::clamp<int64_t>(static_cast<int64_t>(nanoseconds / kUnitNanoseconds),
                                         threads, int64_t{4} * threads);
    panelParts = std::clamp<int64_t>((wanted + rowParts - 1) / rowParts, 1, panels);
    if (rowParts * panelParts < wanted)
      rowParts = std::clamp<int64_t>((wanted + panelParts - 1) / panelParts, rowParts,
                                     std::max<int64_t>(rowParts, (product.rows + 7) / 8));
  }
  return {rowParts, panelParts};
}

void multiplyUnit(const KernelTable &kernels, const PanelProduct &product, bool isCopied,
                  int64_t row, int64_t endRow, int64_t firstPanel, int64_t endPanel) {
  ScratchFrame frame;
  int64_t count = endRow - row;
  auto **rows = frame.take<const float *>(count);
  const float *from = product.a.data + row * product.a.rowStride;
  int64_t stride = product.a.rowStride;
  if (isCopied) {
    // An odd number of lines between rows.
    stride = (product.depth + 31) / 32 * 32 + 16;
    auto *copy = frame.take<float>(count * stride);
    kernels.copyMatrix(from, product.a.rowStride, product.a.columnStride, count, product.depth, copy,
                       stride);
    from = copy;
  }
  for (int64_t i = 0; i < count; ++i)
    rows[i] = from + i * stride;
  RowsTimesPanels work = {};
  work.rows = rows;
  work.rowCount = count;
  work.taps = 1;
  work.depth = work.panelDepth = product.depth;
  work.cut = product.cut;
  work.panels = product.panels;
  work.bStride = product.bStride;
  work.firstPanel = firstPanel;
  work.endPanel = endPanel;
  work.c = product.c + row * product.ldc;
  work.ldc = product.ldc;
  work.row = product.firstRow + row;
  work.epilogue = product.epilogue;
  multiplyRows(kernels, work);
}

} // namespace

PackedMatrix PackedAccess::make(int64_t rows, int64_t columns) {
  PackedMatrix packed;
  packed.kernels = &currentKernels();
  PanelCut cut = cutIntoPanels(*packed.kernels, columns);
  packed.depth = rows;
  packed.width = columns;
  packed.panels = cut.count;
  packed.size = cut.size(rows) * static_cast<int64_t>(sizeof(float));
  packed.data = allocateFloats(cut.size(rows));
  return packed;
}

PackedMatrix packMatrix(MatrixView b, int64_t rows, int64_t columns, const Pool &pool) {
  PackedMatrix packed = PackedAccess::make(rows, columns);
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

void multiplyPanels(const KernelTable &kernels, const PanelProduct &product, const Pool &pool) {
  double nanoseconds = static_cast<double>(product.rows * product.depth) *
                       static_cast<double>(product.cut.columns) / kSpeed;
  bool isCopied = needsCopy(product);
  UnitGrid grid = planUnits(product, isCopied, pool.threadsFor(nanoseconds), nanoseconds);
  int64_t units = grid.rowParts * grid.panelParts, panels = product.cut.count;
  // Units that follow each other use the same panels.
  pool.parallelFor(units, nanoseconds / static_cast<double>(std::max<int64_t>(1, units)),
                   [&](int64_t unit) {
                     int64_t panelPart = unit / grid.rowParts, rowPart = unit % grid.rowParts;
                     multiplyUnit(kernels, product, isCopied,
                                  product.rows * rowPart / grid.rowParts,
                                  product.rows * (rowPart + 1) / grid.rowParts,
                                  panels * panelPart / grid.panelParts,
                                  panels * (panelPart + 1) / grid.panelParts);
                   });
}

void multiply(int64_t rows, MatrixView a, const PackedMatrix &b, float *c, int64_t ldc,
              const Epilogue &epilogue, const Pool &pool) {
  multiplyPanels(PackedAccess::kernels(b),
                 {rows, a, b.rows(), PackedAccess::cut(b), PackedAccess::panels(b), 0, c, ldc, 0,
                  &epilogue},
                 pool);
}

} // namespace cupel::kernels
