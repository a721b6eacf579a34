#include "cupel/kernels/Attention.h"

#include "cupel/kernels/IsaTesting.h"
#include "cupel/kernels/TestBuffers.h"

#include <cstring>
#include <gtest/gtest.h>
#include <vector>

namespace cupel::kernels {
namespace {

class AttentionTest : public OnEveryIsa {};
INSTANTIATE_TEST_SUITE_P(, AttentionTest, everyIsa(), nameOfIsa);

/// A function of the row, of its number and of nothing else.
void weighRow(float *scores, int64_t row, int64_t keys) {
  float sum = 0;
  for (int64_t i = 0; i < keys; ++i)
    sum += scores[i];
  for (int64_t i = 0; i < keys; ++i)
    scores[i] = scores[i] * 0.5f + sum / static_cast<float>(keys) + static_cast<float>(row % 7);
}

void weigh(const void *state, float *scores, int64_t row, int64_t rows) {
  int64_t keys = *static_cast<const int64_t *>(state);
  for (int64_t i = 0; i < rows; ++i)
    weighRow(scores + i * scoreStride(keys), row + i, keys);
}

struct Case {
  int64_t heads, rows, keys, depth, width;
};

/// Heads that lie beside each other in every row, as after a product that made all of them.
void check(const Case &one, int threads) {
  auto [heads, rows, keys, depth, width] = one;
  GuardedFloats query(rows * heads * depth), key(keys * heads * depth), value(keys * heads * width),
      result(rows * heads * width);
  query.fill(1), key.fill(2), value.fill(3), result.fillWith(-1);
  AttentionShape shape;
  shape.sizes[3] = heads;
  shape.queryStrides[3] = shape.keyStrides[3] = depth;
  shape.valueStrides[3] = shape.resultStrides[3] = width;
  shape.rows = rows, shape.keys = keys, shape.depth = depth, shape.width = width;
  Pool pool(threads, Pool::Sharing::Always);
  attend(shape, {query.data(), heads * depth}, {key.data(), 1, heads * depth},
         {value.data(), heads * width}, {weigh, &keys, 0.5}, result.data(), heads * width, pool);

  // The same by two products, with all scores in between.
  Pool alone(1);
  ProductBatch first, second;
  first.sizes[3] = second.sizes[3] = heads;
  first.rows = rows, first.columns = keys, first.depth = depth;
  first.aStrides[3] = first.bStrides[3] = depth, first.cStrides[3] = rows * keys;
  std::vector<float> scores(heads * rows * keys), expected(heads * rows * width);
  multiplyBatch(first, {query.data(), heads * depth}, {key.data(), 1, heads * depth}, scores.data(),
                keys, {}, alone);
  for (int64_t row = 0; row < heads * rows; ++row)
    weighRow(scores.data() + row * keys, row, keys);
  second.rows = rows, second.columns = width, second.depth = keys;
  second.aStrides[3] = rows * keys, second.bStrides[3] = width, second.cStrides[3] = rows * width;
  multiplyBatch(second, {scores.data(), keys}, {value.data(), heads * width}, expected.data(), width,
                {}, alone);
  for (int64_t head = 0; head < heads; ++head)
    for (int64_t row = 0; row < rows; ++row)
      ASSERT_EQ(std::memcmp(result.data() + (row * heads + head) * width,
                            expected.data() + (head * rows + row) * width,
                            static_cast<size_t>(width) * sizeof(float)),
                0)
          << "head " << head << " row " << row << " of " << rows << " x " << keys;
}

TEST_P(AttentionTest, IsTwoProductsToTheBitOnAnyNumberOfThreads) {
  for (const Case &one : {Case{1, 1, 1, 1, 1}, Case{3, 197, 197, 64, 64}, Case{2, 9, 33, 5, 7},
                          Case{1, 300, 40, 16, 48}, Case{5, 16, 1000, 8, 16}, Case{12, 64, 64, 64, 64}})
    for (int threads : {1, 2, 3, 7})
      check(one, threads);
}

TEST_P(AttentionTest, NothingIsDoneForNoRows) {
  AttentionShape shape;
  shape.keys = shape.depth = shape.width = 4;
  int64_t keys = 4;
  attend(shape, {nullptr, 4}, {nullptr, 4}, {nullptr, 4}, {weigh, &keys, 1}, nullptr, 4, Pool(1));
}

} // namespace
} // namespace cupel::kernels
