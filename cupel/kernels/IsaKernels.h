// All kernels, compiled for the instruction set of the file that includes it (IsaBaseline.cpp,
// IsaV3.cpp, ...), and the table of them. Nobody else may include it.

#pragma once

#include "cupel/kernels/Bf16Kernels.h"
#include "cupel/kernels/ColumnKernels.h"
#include "cupel/kernels/DepthwiseKernels.h"
#include "cupel/kernels/EvenTile.h"
#include "cupel/kernels/FinishKernels.h"
#include "cupel/kernels/GroupedKernels.h"
#include "cupel/kernels/HalfTile.h"
#include "cupel/kernels/IntegerTable.h"
#include "cupel/kernels/LineKernels.h"
#include "cupel/kernels/OuterKernels.h"
#include "cupel/kernels/PackKernels.h"
#include "cupel/kernels/PlainTile.h"
#include "cupel/kernels/PlaneKernels.h"
#include "cupel/kernels/PoolingKernels.h"
#include "cupel/kernels/RowTile.h"
#include "cupel/kernels/VectorProducts.h"

namespace cupel::kernels {
namespace {

template <int vectors, int rows> constexpr void addTiles(KernelTable &table) {
  if constexpr (rows <= kTileRows[vectors - 1]) {
    table.tiles[vectors - 1][rows - 1] = computeTile<FloatStep, rows, vectors>;
#if defined(__AVX512BF16__)
    table.pairTiles[vectors - 1][rows - 1] = computeTile<PairStep, rows, vectors>;
#endif
    table.outer[vectors - 1][rows - 1] = computeOuter<rows, vectors>;
    if constexpr (rows == 1) {
      table.rowTiles[0][vectors - 1] = computeRowTile<FloatStep, vectors>;
#if defined(__AVX512BF16__)
      table.rowTiles[1][vectors - 1] = computeRowTile<PairStep, vectors>;
#endif
    }
    table.tileRows[vectors - 1] = rows;
    addTiles<vectors, rows + 1>(table);
  }
}

void multiplyAddIntegers(const int32_t *a, const int32_t *b, int64_t n, int32_t *sums) {
  for (int64_t i = 0; i < n; ++i)
    sums[i] = static_cast<int32_t>(static_cast<uint32_t>(sums[i]) +
                                   static_cast<uint32_t>(a[i]) * static_cast<uint32_t>(b[i]));
}

template <typename Element> constexpr void addDepthwise(KernelTable &table, int which) {
  auto &lines = table.depthwiseLine[which];
  lines[0][0] = depthwiseSpan<Element, 3, 1>;
  lines[0][1] = depthwiseSpan<Element, 3, 2>;
  lines[1][0] = depthwiseSpan<Element, 5, 1>;
  lines[1][1] = depthwiseSpan<Element, 5, 2>;
  lines[2][0] = depthwiseSpan<Element, 7, 1>;
  table.depthwise[which] = depthwiseAny<Element>;
}

constexpr KernelTable makeTable(const char *name) {
  KernelTable table = {};
  table.name = name;
  table.width = kWidth;
  addTiles<1, 1>(table);
  addTiles<2, 1>(table);
  addTiles<3, 1>(table);
  addTiles<4, 1>(table);
  addHalfTiles<1, 1>(table);
  addHalfTiles<2, 1>(table);
  addHalfTiles<3, 1>(table);
  addHalfTiles<4, 1>(table);
  addEvenTiles(table);
  addPlainTiles<1, 1>(table);
  addPlainTiles<2, 1>(table);
  addPlainTiles<3, 1>(table);
  addPlainTiles<4, 1>(table);
  addIntegerKernels(table);
  // Measured (bench/kernels); they say which widths of panels a matrix is cut into.
  if constexpr (kWidth == 16) {
    table.tileSpeed[0] = 0.95f, table.tileSpeed[1] = 0.99f;
    table.tileSpeed[2] = table.tileSpeed[3] = 1;
  } else if constexpr (kWidth == 8) {
    table.tileSpeed[0] = 0.75f, table.tileSpeed[1] = table.tileSpeed[2] = 1;
  } else {
    table.tileSpeed[0] = 0.8f, table.tileSpeed[1] = 0.97f, table.tileSpeed[2] = 1;
  }
  table.packPanel = packPanel;
  table.copyMatrix = copyMatrix;
  table.packPairs = packPairs;
  table.packWidened = packWidened;
  table.copyPairs = copyPairs;
  table.copyWidened = copyWidened;
  table.widenRows = widenRows;
  table.roundToBf16 = roundToBf16;
  table.roundFloats = roundFloats;
  table.vectorTimesRows = vectorTimesRows;
  table.vectorTimesColumns = vectorTimesColumns;
  addDepthwise<float>(table, 0);
  addDepthwise<uint16_t>(table, 1);
  addGrouped(table);
  table.finishBlock = finishBlock;
  table.joinColumns = joinColumns;
  table.addColumnParts = addColumnParts;
  table.foldRows[0] = foldRows<WindowFold::Max>;
  table.foldRows[1] = foldRows<WindowFold::Min>;
  table.foldRows[2] = foldRows<WindowFold::Sum>;
  table.greatestBytes[0] = greatestBytes<uint8_t>;
  table.greatestBytes[1] = greatestBytes<int8_t>;
  table.greatestHalves = greatestHalves;
  table.foldLines[0] = foldLines<WindowFold::Max>;
  table.foldLines[1] = foldLines<WindowFold::Min>;
  table.foldLines[2] = foldLines<WindowFold::Sum>;
  addPlanes(table);
  addTinyProducts<1>(table);
  table.floatKeys = floatKeys;
  table.keepLeast[0] = keepLeast<false>;
  table.keepLeast[1] = keepLeast<true>;
  table.leastOfColumns[0] = leastOfColumns<false>;
  table.leastOfColumns[1] = leastOfColumns<true>;
  table.leastOfLines[0] = leastOfLines<false>;
  table.leastOfLines[1] = leastOfLines<true>;
  addFirstOfLines<0>(table);
  table.multiplyAddIntegers = multiplyAddIntegers;
  table.sumBytes[0] = sumBytes<false>;
  table.sumBytes[1] = sumBytes<true>;
  table.transpose = transpose;
  return table;
}

} // namespace
} // namespace cupel::kernels
