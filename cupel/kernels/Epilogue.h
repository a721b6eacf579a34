// What happens to a block of a result while it is still in the cache: a bias for each column and a Finish (Finish.h), which the
// innermost loops apply, and a function that finishes the block in place (activation, ...). Kernels call it exactly once for each
// element, after its last term, on blocks of their own choice; it may run on several threads at once and must not depend on how blocks are cut. Kernels that are given
// no place for a result leave its blocks nowhere: then the Finish says where they go, or the function takes them from where they are to where it
// wants them (results in bf16).

#pragma once

#include "cupel/kernels/Finish.h"

#include <cstdint>

namespace cupel::kernels {

struct KernelTable;

/// `c` is result[row, column], `ldc` elements lie between rows.
using EpilogueFunction = void (*)(void *const *operands, float *c, int64_t ldc, int64_t row,
                                  int64_t rows, int64_t column, int64_t columns);

struct Epilogue {
  const float *bias = nullptr; // One for each column.
  EpilogueFunction function = nullptr;
  void *const *operands = nullptr;
  const Finish *finish = nullptr; // Between the bias and the function.
  /// The function gains from blocks of many rows: convolutions without a place for a result hand over what a unit of work has of some columns,
  /// not single tiles.
  bool takesUnits = false;

  /// What is left for a block in memory: the function, and all of the finish that was not done in registers.
  void complete(const KernelTable &kernels, bool isFinished, float *c, int64_t ldc, int64_t row, int64_t rows, int64_t column,
                int64_t columns) const;
};

} // namespace cupel::kernels
