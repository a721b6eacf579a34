// Products whose results are made into weights, row by row, and multiplied again: attention. Some rows
// of scores at a time stay in the cache of the thread that made them, so that there is never a matrix of
// all of them. Used by the runtime of device programs. Results are those of two products with the
// rows' function between them, to the bit, whatever the number of threads.

#pragma once

#include "cupel/kernels/Product.h"

namespace cupel::kernels {

/// Heads of the same shape side by side. Batch dimensions count from the outermost; unused ones are 1.
struct AttentionShape {
  using Dimensions = ProductBatch::Dimensions;

  Dimensions sizes = {1, 1, 1, 1};
  Dimensions queryStrides = {}, keyStrides = {}, valueStrides = {}, resultStrides = {};
  int64_t rows = 0, keys = 0, depth = 0, width = 0;
};

/// Floats between rows of scores: whole lines of the cache.
constexpr int64_t scoreStride(int64_t keys) { return (keys + 15) / 16 * 16; }

/// Makes weights of scores in place. `row` counts rows of all heads, one head below the other.
struct ScoreFunction {
  void (*function)(const void *state, float *scores, int64_t row, int64_t rows);
  const void *state;
  double nanosecondsPerScore; // About.
};

/// For each head: weigh(query * key) * value. `query` is rows x depth, `key` depth x keys, `value` keys
/// x width; the result's rows are `resultRow` floats apart.
void attend(const AttentionShape &shape, MatrixView query, MatrixView key, MatrixView value,
            const ScoreFunction &weigh, float *result, int64_t resultRow, const Pool &pool);

} // namespace cupel::kernels
