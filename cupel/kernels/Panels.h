// Packed right sides: which panels a matrix of a number of columns is cut into, and the loop that
// computes some rows of a result from pointers to the left side's rows. Product.cpp and
// Convolution.cpp are made of it. Internal to this folder.

#pragma once

#include "cupel/kernels/Epilogue.h"
#include "cupel/kernels/KernelTable.h"

namespace cupel::kernels {

/// How N columns are cut: all panels but the last are `vectors` wide.
struct PanelCut {
  int64_t columns = 0;
  int64_t vectors = 1; // Of a panel.
  int64_t width = 1;   // Floats of a vector.

  int64_t panelWidth() const { return vectors * width; }
  int64_t allVectors() const { return (columns + width - 1) / width; }
  int64_t count() const { return (allVectors() + vectors - 1) / vectors; }
  int64_t vectorsOf(int64_t panel) const {
    int64_t left = allVectors() - panel * vectors;
    return left < vectors ? left : vectors;
  }
  /// Floats of all panels for a depth.
  int64_t size(int64_t depth) const { return allVectors() * width * depth; }
  /// Where a panel begins.
  int64_t offset(int64_t panel, int64_t depth) const { return panel * panelWidth() * depth; }
};

PanelCut cutIntoPanels(const KernelTable &kernels, int64_t columns);

/// Some rows of a result.
struct RowsTimesPanels {
  const float *const *rows; // [tap][row]
  int64_t rowCount;         // Also the distance between taps.
  int64_t taps;
  const int32_t *tapIndices; // Null for a single tap.
  int64_t depth;             // Of a tap.
  PanelCut cut;
  const float *panels;
  int64_t panelDepth; // All taps that were packed, times depth.
  int64_t firstPanel, endPanel;
  float *c; // At (row, column 0 of the cut).
  int64_t ldc;
  int64_t row;    // What the epilogue is told about c's first element.
  int64_t column; // As above; `bias` begins there as well.
  const Epilogue *epilogue;
};

void multiplyRows(const KernelTable &kernels, const RowsTimesPanels &work);

} // namespace cupel::kernels
