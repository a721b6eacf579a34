#include "cupel/kernels/PackedAccess.h"
#include "cupel/kernels/Scratch.h"

#include <algorithm>

namespace cupel::kernels {
namespace {

/// Multiply-adds of a core in a nanosecond, cautiously: with both sides in the cache, and with a
/// right side that is read once.
constexpr double kSpeed = 30, kVectorSpeed = 4;

/// One product of a batch.
struct Item {
  MatrixView a, b;
  float *c;
  int64_t firstRow;
};

Item itemOf(const ProductBatch &batch, MatrixView a, MatrixView b, float *c, int64_t index) {
  int64_t firstRow = index * batch.rows;
  for (int d = ProductBatch::kDimensions - 1; d >= 0; --d) {
    int64_t i = index % batch.sizes[d];
    index /= batch.sizes[d];
    a.data += i * batch.aStrides[d];
    b.data += i * batch.bStrides[d];
    c += i * batch.cStrides[d];
  }
  return {a, b, c, firstRow};
}

/// A right side that is used for a single row is read where it lies.
bool isVectorProduct(const ProductBatch &batch, MatrixView b) {
  return batch.rows == 1 && (b.columnStride == 1 || b.rowStride == 1);
}

/// The same products turned round: a row of B times A turned. What ends them still counts rows.
ProductBatch turned(const ProductBatch &batch) {
  ProductBatch result = batch;
  std::swap(result.rows, result.columns);
  std::swap(result.aStrides, result.bStrides);
  return result;
}
MatrixView turned(MatrixView matrix) { return {matrix.data, matrix.columnStride, matrix.rowStride}; }

/// Columns [begin, end) of a product of one row, or if it is turned, rows of one of one column.
void multiplyVector(const KernelTable &kernels, const ProductBatch &batch, const Item &item, bool isTurned,
                    int64_t begin, int64_t end, const Epilogue &epilogue) {
  float *c = item.c + begin;
  const float *b = item.b.data + begin * item.b.columnStride;
  // Each row of a single column is summed in one order, however many there are.
  if (isTurned ? item.b.rowStride != 1 : item.b.columnStride == 1) {
    kernels.vectorTimesRows(item.a.data, item.a.columnStride, b, item.b.rowStride, batch.depth,
                            end - begin, c);
  } else {
    ScratchFrame frame;
    const float *x = item.a.data;
    if (item.a.columnStride != 1) {
      auto *copy = frame.take<float>(batch.depth);
      for (int64_t k = 0; k < batch.depth; ++k)
        copy[k] = x[k * item.a.columnStride];
      x = copy;
    }
    kernels.vectorTimesColumns(x, b, item.b.columnStride, batch.depth, end - begin, c);
  }
  if (epilogue.bias)
    for (int64_t j = 0; j < end - begin; ++j)
      c[j] += epilogue.bias[isTurned ? 0 : begin + j];
  if (begin < end && isTurned)
    epilogue.complete(kernels, false, c, 1, item.firstRow * batch.columns + begin, end - begin, 0, 1);
  else if (begin < end)
    epilogue.complete(kernels, false, c, batch.columns, item.firstRow, 1, begin, end - begin);
}

/// Up to four tiles below each other: elements of B are needed so seldom that packing it would only read and write it before.
bool hasFewRows(const KernelTable &kernels, const ProductBatch &batch, const PanelCut &cut) {
  return cut.count > 0 && batch.rows <= 4 * kernels.tileRows[cut.vectorsOf(0) - 1];
}

/// A right side of whole vectors that stays in the cache needs no packing, unless its rows would fall
/// into the same lines of it. For a few rows, one that stays in the second-level cache: copying it would take as long as some of them.
bool isReadInPlace(const KernelTable &kernels, const ProductBatch &batch, MatrixView b, const PanelCut &cut) {
  constexpr int64_t kFewRows = 128;
  if (hasFewRows(kernels, batch, cut) && b.columnStride == 1 && batch.columns % cut.width == 0 && b.rowStride > 0)
    return true;
  int64_t mostFloats = int64_t{1} << (batch.rows <= kFewRows ? 18 : 16);
  return b.columnStride == 1 && batch.columns % cut.width == 0 && b.rowStride > 0 &&
         b.rowStride % 1024 != 0 && batch.depth * batch.columns <= mostFloats;
}

/// Products [first, end) of a batch: their right sides are packed, then all are multiplied. The
/// batch's first column is `firstColumn` of what the caller asked for.
void multiplyPacked(const KernelTable &kernels, const ProductBatch &batch, MatrixView a,
                    MatrixView b, float *c, int64_t ldc, int64_t first, int64_t end,
                    int64_t firstColumn, const Epilogue &epilogue, const Pool &pool) {
  ScratchFrame frame;
  PanelCut cut = cutIntoPanels(kernels, batch.columns);
  int64_t bStride = isReadInPlace(kernels, batch, b, cut) ? b.rowStride : 0;
  auto *products = frame.take<PanelProduct>(end - first);
  for (int64_t i = first; i < end; ++i) {
    Item item = itemOf(batch, a, b, c, i);
    const float *panels = item.b.data;
    if (!bStride) {
      auto *packed = frame.take<float>(cut.size(batch.depth));
      packPanels(kernels, item.b, batch.depth, cut, packed, pool);
      panels = packed;
    }
    products[i - first] = {batch.rows, item.a, batch.depth,   cut,       panels,     bStride,
                           item.c,     ldc,    item.firstRow, &epilogue, firstColumn};
  }
  multiplyPanels(kernels, products, end - first, pool);
}

/// Products so small that what is done around their arithmetic would take as long.
bool isSmall(const ProductBatch &batch, const float *c, const Epilogue &epilogue) {
  constexpr int64_t kMostDepth = 512, kMostFloats = int64_t{1} << 14;
  return c && !epilogue.bias && batch.depth <= kMostDepth && batch.rows * batch.depth <= kMostFloats &&
         batch.depth * batch.columns <= kMostFloats && batch.rows > 0 && batch.columns > 0;
}

/// Those of a few rows whose B is read where it lies in the time that packing it would take.
bool isBrief(const KernelTable &kernels, const ProductBatch &batch, const PanelCut &cut, MatrixView b, const float *c, const Epilogue &epilogue) {
  constexpr int64_t kMostWork = int64_t{1} << 20; // 8 microseconds of a fast core.
  return c && !epilogue.bias && batch.rows > 0 && batch.depth > 0 && hasFewRows(kernels, batch, cut) && b.columnStride == 1 &&
         batch.rows * batch.depth * batch.columns <= kMostWork;
}

/// Goes through the products of a batch in their order.
class BatchWalk {
public:
  BatchWalk(const ProductBatch &batch, const Item &whole, int64_t first)
      : batch(batch), item(itemOf(batch, whole.a, whole.b, whole.c, first)) {
    for (int d = ProductBatch::kDimensions - 1; d >= 0; --d) {
      place[d] = first % batch.sizes[d];
      first /= batch.sizes[d];
    }
  }

  const Item &get() const { return item; }

  void next() {
    item.firstRow += batch.rows;
    for (int d = ProductBatch::kDimensions - 1; d >= 0; --d) {
      item.a.data += batch.aStrides[d];
      item.b.data += batch.bStrides[d];
      item.c += batch.cStrides[d];
      if (++place[d] < batch.sizes[d])
        return;
      item.a.data -= batch.aStrides[d] * batch.sizes[d];
      item.b.data -= batch.bStrides[d] * batch.sizes[d];
      item.c -= batch.cStrides[d] * batch.sizes[d];
      place[d] = 0;
    }
  }

private:
  const ProductBatch &batch;
  Item item;
  ProductBatch::Dimensions place;
};

/// Products [first, end) of a batch of small ones, one by one, on this thread. Sides that do not lie row by row are copied.
void multiplySmall(const KernelTable &kernels, const ProductBatch &batch, const PanelCut &cut, const Item &whole, int64_t ldc, int64_t first,
                   int64_t end, int64_t firstColumn, const Epilogue &epilogue) {
  ScratchFrame frame;
  bool copiesA = whole.a.columnStride != 1 && batch.depth > 1;
  // Rows that fall into the same lines of the cache push each other out of it.
  constexpr int64_t kWays = 8;
  bool packsB = (whole.b.columnStride != 1 && batch.columns > 1) || (whole.b.rowStride == 0 && batch.depth > 1) ||
                (whole.b.rowStride % 1024 == 0 && batch.depth > kWays && !hasFewRows(kernels, batch, cut));
  auto *copyOfA = copiesA ? frame.take<float>(batch.rows * batch.depth) : nullptr;
  auto *packed = packsB ? frame.take<float>(cut.size(batch.depth)) : nullptr;
  PlainRows work = {};
  work.rows = batch.rows;
  work.aStride = copiesA ? batch.depth : whole.a.rowStride;
  work.depth = batch.depth;
  work.cut = cut;
  work.bStride = packsB ? 0 : whole.b.rowStride;
  work.endPanel = cut.count;
  work.ldc = ldc;
  BatchWalk walk(batch, whole, first);
  for (int64_t i = first; i < end; ++i, walk.next()) {
    const Item &item = walk.get();
    if (copiesA)
      kernels.copyMatrix(item.a.data, item.a.rowStride, item.a.columnStride, batch.rows, batch.depth, copyOfA, batch.depth);
    for (int64_t panel = 0; packsB && panel < cut.count; ++panel) {
      int64_t column = cut.columnOf(panel);
      kernels.packPanel(item.b.data + column * item.b.columnStride, item.b.rowStride, item.b.columnStride, batch.depth, cut.columnsOf(panel),
                        cut.widthOf(panel), packed + column * batch.depth);
    }
    work.a = copiesA ? copyOfA : item.a.data;
    work.panels = packsB ? packed : item.b.data;
    work.c = item.c;
    multiplyPlain(kernels, work);
    epilogue.complete(kernels, false, item.c, ldc, item.firstRow, batch.rows, firstColumn, batch.columns);
  }
}

/// Products whose sums are fewer than what would be done around a tile.
bool isTiny(const ProductBatch &batch, const float *c, const Epilogue &epilogue) {
  constexpr int64_t kMostSums = 64;
  return isSmall(batch, c, epilogue) && !epilogue.function && !epilogue.finish && batch.depth > 0 &&
         batch.depth <= kMostTinyDepth && batch.rows * batch.columns <= kMostSums &&
         batch.rows * batch.columns * batch.depth <= kMostSums;
}

/// Products [first, end): those of the inmost dimension of the batch at once.
void multiplyTiny(const KernelTable &kernels, const ProductBatch &batch, const Item &whole,
                  int64_t ldc, int64_t first, int64_t end) {
  int inmost = ProductBatch::kDimensions - 1;
  while (inmost > 0 && batch.sizes[inmost] == 1)
    --inmost;
  for (int64_t i = first; i < end;) {
    Item item = itemOf(batch, whole.a, whole.b, whole.c, i);
    int64_t many = std::min(end - i, batch.sizes[inmost] - i % batch.sizes[inmost]);
    kernels.tinyProducts[batch.depth - 1](
        {many, batch.rows, batch.columns, batch.depth, item.a.data, item.b.data, item.c,
         item.a.rowStride, item.a.columnStride, batch.aStrides[inmost], item.b.rowStride,
         item.b.columnStride, batch.bStrides[inmost], ldc, batch.cStrides[inmost]});
    i += many;
  }
}

/// Many of them to a unit.
void multiplyTinyBatch(const KernelTable &kernels, const ProductBatch &batch, const Item &whole,
                       int64_t ldc, int64_t count, const Pool &pool) {
  constexpr double kNanosecondsAround = 2, kNanosecondsPerSum = 0.2;
  double one = kNanosecondsAround +
               static_cast<double>(batch.rows * batch.columns * batch.depth) * kNanosecondsPerSum;
  auto perUnit = static_cast<int64_t>(10'000 / one);
  pool.parallelFor((count + perUnit - 1) / perUnit, one * static_cast<double>(perUnit),
                   [&](int64_t unit) {
                     multiplyTiny(kernels, batch, whole, ldc, unit * perUnit,
                                  std::min(count, (unit + 1) * perUnit));
                   });
}

/// Units are some products, or some columns of a product.
void multiplyVectors(const KernelTable &kernels, const ProductBatch &batch, MatrixView a,
                     MatrixView b, bool isTurned, float *c, int64_t count, double nanoseconds,
                     const Epilogue &epilogue, const Pool &pool) {
  constexpr double kUnitNanoseconds = 5'000;
  constexpr int64_t kFewestColumns = 256;
  int64_t parts = std::clamp<int64_t>(static_cast<int64_t>(nanoseconds / kUnitNanoseconds), 1,
                                      std::max<int64_t>(1, batch.columns / kFewestColumns));
  // Of short ones some to a unit, so that taking a unit is not what takes the time.
  int64_t perUnit =
      parts > 1 ? 1
                : std::clamp<int64_t>(static_cast<int64_t>(2'000 / std::max(nanoseconds, 1.0)), 1,
                                      std::max<int64_t>(1, count / (4 * pool.threads())));
  int64_t units = (count * parts + perUnit - 1) / perUnit;
  pool.parallelFor(units, nanoseconds * static_cast<double>(perUnit) / static_cast<double>(parts),
                   [&](int64_t unit) {
                     for (int64_t i = unit * perUnit;
                          i < std::min(count * parts, (unit + 1) * perUnit); ++i) {
                       int64_t part = i % parts;
                       multiplyVector(kernels, batch, itemOf(batch, a, b, c, i / parts), isTurned,
                                      batch.columns * part / parts,
                                      batch.columns * (part + 1) / parts, epilogue);
                     }
                   });
}

/// Floats of right sides that are packed at once, and what columns are cut into: a multiple of any
/// panel's width.
constexpr int64_t kMostPacked = int64_t{1} << 22, kColumnStep = 192;

/// Some columns of all products of a batch.
void multiplyColumns(const KernelTable &kernels, const ProductBatch &batch, MatrixView a,
                     MatrixView b, float *c, int64_t ldc, int64_t count, int64_t firstColumn,
                     const Epilogue &epilogue, const Pool &pool) {
  const PanelCut cut = cutIntoPanels(kernels, batch.columns);
  // What fills the last vector is multiplied as well.
  const double nanoseconds = static_cast<double>(batch.rows) * static_cast<double>(cut.size(batch.depth)) / kSpeed;
  const bool isBriefOne = isBrief(kernels, batch, cut, b, c, epilogue);
  // What the last vector of columns has too many is not there to be read: it is packed.
  if (const int64_t whole = batch.columns / cut.width * cut.width;
      !isBriefOne && whole > 0 && whole < batch.columns && hasFewRows(kernels, batch, cut) && b.columnStride == 1) {
    for (int64_t column : {int64_t{0}, whole}) {
      ProductBatch part = batch;
      part.columns = column == 0 ? whole : batch.columns - whole;
      multiplyColumns(kernels, part, a, {b.data + column, b.rowStride, 1}, c + column, ldc, count, firstColumn + column, epilogue, pool);
    }
    return;
  }
  // A few products are shared by all threads, of many each is done by one.
  if (!isBriefOne && pool.threadsFor(nanoseconds * static_cast<double>(count)) > 1 && count < 4 * pool.threads()) {
    int64_t size = std::max<int64_t>(1, batch.depth * batch.columns);
    int64_t atOnce = std::clamp<int64_t>(kMostPacked / size, 1, std::max<int64_t>(1, count));
    for (int64_t i = 0; i < count; i += atOnce)
      multiplyPacked(kernels, batch, a, b, c, ldc, i, std::min(count, i + atOnce), firstColumn,
                     epilogue, pool);
    return;
  }
  // Some products to a unit, so that taking a unit is not what takes the time.
  Pool alone(1);
  int64_t perUnit = std::clamp<int64_t>(static_cast<int64_t>(2'000 / std::max(nanoseconds, 1.0)), 1,
                                        std::max<int64_t>(1, count / (4 * pool.threads())));
  int64_t units = (count + perUnit - 1) / perUnit;
  const bool areSmall = isBriefOne || isSmall(batch, c, epilogue);
  pool.parallelFor(units, nanoseconds * static_cast<double>(perUnit), [&](int64_t unit) {
    if (areSmall)
      return multiplySmall(kernels, batch, cut, {a, b, c, 0}, ldc, unit * perUnit, std::min(count, (unit + 1) * perUnit), firstColumn, epilogue);
    for (int64_t i = unit * perUnit; i < std::min(count, (unit + 1) * perUnit); ++i)
      multiplyPacked(kernels, batch, a, b, c, ldc, i, i + 1, firstColumn, epilogue, alone);
  });
}

} // namespace

bool readsRowsOfColumn(MatrixView a, int64_t depth, int64_t columns) {
  constexpr int64_t kFewest = 32; // Of shorter rows adding up the lanes takes as long as a tile.
  return columns == 1 && depth >= kFewest && (a.columnStride == 1 || a.rowStride == 1);
}

void multiplyBatch(const ProductBatch &batch, MatrixView a, MatrixView b, float *c, int64_t ldc,
                   const Epilogue &epilogue, const Pool &pool) {
  int64_t count = 1;
  for (int64_t size : batch.sizes)
    count *= size;
  const KernelTable &kernels = currentKernels();
  double work = static_cast<double>(batch.rows * batch.depth) * static_cast<double>(batch.columns);
  if (isTiny(batch, c, epilogue)) {
    multiplyTinyBatch(kernels, batch, {a, b, c, 0}, ldc, count, pool);
    return;
  }
  if (ldc == 1 && readsRowsOfColumn(a, batch.depth, batch.columns)) {
    multiplyVectors(kernels, turned(batch), turned(b), turned(a), true, c, count, work / kVectorSpeed, epilogue, pool);
    return;
  }
  if (isVectorProduct(batch, b)) {
    multiplyVectors(kernels, batch, a, b, false, c, count, work / kVectorSpeed, epilogue, pool);
    return;
  }
  // Right sides that are too large to be packed as a whole are packed some columns at a time.
  int64_t atOnce = std::max<int64_t>(kColumnStep, kMostPacked / std::max<int64_t>(1, batch.depth) /
                                                      kColumnStep * kColumnStep);
  for (int64_t column = 0; column < batch.columns; column += atOnce) {
    ProductBatch part = batch;
    part.columns = std::min(atOnce, batch.columns - column);
    multiplyColumns(kernels, part, a, {b.data + column * b.columnStride, b.rowStride, b.columnStride},
                    c + column, ldc, count, column, epilogue, pool);
  }
}

} // namespace cupel::kernels
