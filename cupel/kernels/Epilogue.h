// What happens to a block of a result while it is still in the cache: a factor and a bias for each
// column, which the innermost loops apply, and a function that finishes the block in place (activation, residual,
// ...). Kernels call it exactly once for each element, after its last term, on blocks of their own
// choice; it may run on several threads at once and must not depend on how blocks are cut. Kernels that are given
// no place for a result leave its blocks nowhere: then the function takes them from where they are to where it
// wants them (results in bf16).

#pragma once

#include <cstdint>

namespace cupel::kernels {

/// `c` is result[row, column], `ldc` elements lie between rows.
using EpilogueFunction = void (*)(void *const *operands, float *c, int64_t ldc, int64_t row,
                                  int64_t rows, int64_t column, int64_t columns);

struct Epilogue {
  const float *bias = nullptr; // One for each column.
  EpilogueFunction function = nullptr;
  void *const *operands = nullptr;
};

} // namespace cupel::kernels
