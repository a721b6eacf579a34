// How the drivers of this folder reach into a packed matrix. Internal to this folder.

#pragma once

#include "cupel/kernels/Isa.h"
#include "cupel/kernels/Panels.h"
#include "cupel/kernels/Product.h"

namespace cupel::kernels {

class PackedAccess {
public:
  static PanelCut cut(const PackedMatrix &b) {
    return {b.width, b.panels, b.kernels ? b.kernels->width : 1};
  }
  static const KernelTable &kernels(const PackedMatrix &b) {
    return b.kernels ? *b.kernels : currentKernels();
  }
  static const float *panels(const PackedMatrix &b) { return b.data.get(); }
  static bool hasPairs(const PackedMatrix &b) { return b.hasPairs; }

  /// Not filled yet.
  static PackedMatrix make(int64_t rows, int64_t columns, bool hasPairs);
  /// In memory of the caller's, in f32.
  static PackedMatrix borrow(float *memory, int64_t rows, int64_t columns);
  static float *writablePanels(PackedMatrix &b) { return b.data.get(); }
};

void packPanels(const KernelTable &kernels, MatrixView b, int64_t rows, const PanelCut &cut,
                float *panels, const Pool &pool);

/// A product whose B lies in panels, or in rows that are `bStride` apart.
struct PanelProduct {
  int64_t rows;
  MatrixView a;
  int64_t depth;
  PanelCut cut;
  const float *panels;
  int64_t bStride; // Zero for panels.
  float *c;
  int64_t ldc;
  int64_t firstRow; // What the epilogue is told about row 0.
  const Epilogue *epilogue;
  int64_t firstColumn = 0;          // What it is told about column 0, where the bias begins too.
  const uint16_t *narrow = nullptr; // A in bf16, with the strides of `a`, instead of its data.
  bool hasPairs = false;            // Then `depth` counts elements, B's rows are pairs of them.
  bool isRounded = false;           // With pairs: A is f32 and rounded on its way.
  bool hasIntegers = false;         // Floats of both sides are pairs of integers, which `depth` counts.
  const ByteSides *bytes = nullptr; // Not null: they are four bytes, which `depth` counts; `c` may be null.
  bool isImage = false;             // Rows are pixels.
};

/// Some products of the same shape, shared by all threads.
void multiplyPanels(const KernelTable &kernels, const PanelProduct *products, int64_t count,
                    const Pool &pool);

} // namespace cupel::kernels
