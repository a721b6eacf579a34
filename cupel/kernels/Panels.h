// Packed right sides: which panels a matrix of a number of columns is cut into, and the loop that
// computes some rows of a result from pointers to the left side's rows. Product.cpp and
// Convolution.cpp are made of it. Internal to this folder.

#pragma once

#include "cupel/kernels/Epilogue.h"
#include "cupel/kernels/KernelTable.h"
#include "cupel/kernels/Processor.h"

#include <memory>

namespace cupel::kernels {

/// How columns are cut: into as few panels as there can be of at most so many vectors, all of nearly
/// the same width.
struct PanelCut {
  int64_t columns = 0;
  int64_t count = 0; // Of panels.
  int64_t width = 1; // Floats of a vector.

  int64_t allVectors() const { return (columns + width - 1) / width; }
  /// The first panels are one vector wider than the others, if they are not all the same.
  int64_t vectorsOf(int64_t panel) const {
    return allVectors() / count + (panel < allVectors() % count);
  }
  int64_t widthOf(int64_t panel) const { return vectorsOf(panel) * width; }
  int64_t columnOf(int64_t panel) const {
    int64_t wider = allVectors() % count;
    return (panel * (allVectors() / count) + (panel < wider ? panel : wider)) * width;
  }
  /// Without what fills the last vector.
  int64_t columnsOf(int64_t panel) const {
    int64_t left = columns - columnOf(panel), whole = widthOf(panel);
    return left < whole ? left : whole;
  }
  /// Floats of all panels for a depth.
  int64_t size(int64_t depth) const { return allVectors() * width * depth; }
};

/// Floats on a multiple of 64 bytes.
std::shared_ptr<float[]> allocateFloats(int64_t count);

/// For tiles of vectors, or for matrix registers.
PanelCut cutIntoPanels(const KernelTable &kernels, int64_t columns, bool areInBlocks = false);

/// What products of bytes (Bytes.h) are told besides.
struct ByteSides {
  bool isSigned = false; // A's have a sign.
  bool isInBlocks = false; // They are multiplied in matrix registers, and not in vectors.
  bool isMoved = false;  // They are multiplied as if each were greater by 128.
  int32_t rowFactor = 0; // Times the sum of a row's bytes, as they are multiplied, it is added to each element.
  int64_t rowBytes = 0;  // Of a row of A, or of a tap; what fills the last four is not summed.
  uint8_t filler = 0;    // What lies outside of images.
};

/// The matrix registers that products of pairs, or of bytes, are computed in; null where they are computed in vectors.
const BlockTable *blocksOf(const KernelTable &kernels, bool hasPairs, const ByteSides *bytes);

/// Rows that such registers hold, which units begin at multiples of; 1 without them.
int64_t rowStepOf(const KernelTable &kernels, bool hasPairs, const ByteSides *bytes);

/// Some rows of a result.
struct RowsTimesPanels {
  const float *const *rows; // [tap][row]
  int64_t rowCount;         // Also the distance between taps.
  int64_t taps;
  const int32_t *tapIndices; // Null for a single tap.
  const float *zeros;        // Not null: a tap whose rows of a tile are all this one is left out.
  int64_t depth;             // Of a tap.
  PanelCut cut;
  const float *panels;
  int64_t panelDepth; // All taps that were packed, times depth.
  int64_t bStride;    // Not zero: B is not packed, `panels` is a row-major matrix of this stride.
  int64_t firstPanel, endPanel;
  int64_t panelAfter; // Which will be needed soon, by this thread or another; or -1.
  float *c; // At (row, column 0 of the cut); null: the epilogue alone sees the result.
  int64_t ldc;
  int64_t row;    // What the epilogue is told about c's first element.
  int64_t column; // As above; `bias` begins there as well.
  const Epilogue *epilogue;
  bool hasPairs;    // Floats are pairs in bf16.
  bool hasIntegers; // Floats are pairs of integers, results integers.
  const ByteSides *bytes; // Not null: floats are four bytes, results and `bias` integers.
};

void multiplyRows(const KernelTable &kernels, const RowsTimesPanels &work);

/// Rows times panels, where sums are all that is asked for and the depth is not cut.
struct PlainRows {
  int64_t rows;
  const float *a;
  int64_t aStride; // Between rows, whose elements lie side by side.
  int64_t depth;
  PanelCut cut;
  const float *panels;
  int64_t bStride; // As above.
  int64_t firstPanel, endPanel;
  float *c; // At (row, column 0 of the cut).
  int64_t ldc;
};

void multiplyPlain(const KernelTable &kernels, const PlainRows &work);

/// Whether a few rows are multiplied by all panels before the next ones. Where the depth is short, writing takes longer than multiplying: rows of
/// a wide result push each other out of the nearest cache before their lines are full, if all of them are written panel by panel.
inline bool goesRowByRow(int64_t panels, int64_t depth, int64_t ldc) {
  constexpr int64_t kMostDepth = 16, kWide = 512;
  return panels > 1 && depth <= kMostDepth && ldc >= kWide;
}

} // namespace cupel::kernels
