// How a product of rows and packed panels is cut into units, which threads take one by one. Product.cpp and
// ConvolvePixels.cpp ask; results never depend on the answer. Internal to this folder.

#pragma once

#include "cupel/kernels/Panels.h"

namespace cupel::kernels {

/// What there is to share.
struct UnitWork {
  int64_t rows;
  int64_t mostRows; ///< Of a unit.
  PanelCut cut;
  int64_t count;      ///< Of products like this.
  int64_t bytes;      ///< Of all panels of one.
  int threads;        ///< That will be there.
  double nanoseconds; ///< Of all together on one core, cautiously.
  int64_t rowStep = 1; ///< Rows that are computed at once: units begin at multiples of it.
};

/// Into how many parts rows and panels are cut; a part of each is a unit. It may depend on the number
/// of threads: results do not.
struct UnitGrid {
  int64_t rowParts, panelParts;
  /// Parts of rows follow each other, each with all of its panels; else parts of panels, each with all of its rows, which leaves a
  /// thread with as little of B as can be.
  bool rowsFirst = false;
  int64_t rowStep = 1;

  int64_t count() const { return rowParts * panelParts; }
  int64_t rowPartOf(int64_t part) const { return rowsFirst ? part / panelParts : part % rowParts; }
  int64_t panelPartOf(int64_t part) const { return rowsFirst ? part % panelParts : part / rowParts; }
  /// Where a part of so many rows begins; behind the last one, where they end.
  int64_t rowOf(int64_t rowPart, int64_t rows) const {
    return rowPart == rowParts ? rows : rows * rowPart / rowParts / rowStep * rowStep;
  }
};

/// As few units as leave all threads busy until the end: each one reads rows, panels or both anew.
UnitGrid planUnits(const UnitWork &work);

/// Puts rows first where they are those of images, which are read next line by line, and a core's
/// cache of so many bytes holds all of B: a thread that made some lines finds them in its own cache then.
void keepLines(UnitGrid &grid, const UnitWork &work, int64_t cacheBytes = coreCacheBytes());

} // namespace cupel::kernels
