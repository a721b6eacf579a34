// Products of few rows, of a short depth or of few columns, held against those that are computed another way (ProductTest.cpp).

#include "cupel/kernels/IsaTesting.h"
#include "cupel/kernels/Product.h"
#include "cupel/kernels/TestBuffers.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <vector>

namespace cupel::kernels {
namespace {

class SkinnyProductTest : public OnEveryIsa {};
INSTANTIATE_TEST_SUITE_P(, SkinnyProductTest, everyIsa(), nameOfIsa);

/// B of a few rows is read where it lies: all but what its last vector of columns has too many, behind which nothing may be read.
TEST_P(SkinnyProductTest, FewRowsReadTheRightSideWhereItLies) {
  struct Case {
    int64_t columns, depth, apart;
  };
  for (auto [columns, depth, apart] : {Case{3, 700, 3}, {8, 1100, 8}, {100, 300, 100}, {176, 600, 176}, {100, 530, 1024}, {330, 600, 330}, {320, 520, 2048}}) {
    GuardedFloats b((depth - 1) * apart + columns);
    b.fill(2);
    const MatrixView right{b.data(), apart};
    for (int64_t rows : {1, 2, 5, 8, 17, 24, 33}) {
      SCOPED_TRACE(testing::Message() << rows << " x " << columns << " x " << depth);
      GuardedFloats a(rows * depth), c(rows * columns), bias(columns);
      a.fill(1), bias.fill(3);
      ProductBatch one;
      one.rows = rows, one.columns = columns, one.depth = depth;
      for (bool hasBias : {false, true}) {
        Epilogue epilogue;
        epilogue.bias = hasBias ? bias.data() : nullptr;
        std::vector<float> expected(static_cast<size_t>(rows * columns));
        multiply(rows, {a.data(), depth}, packMatrix(right, depth, columns, Pool(1)), expected.data(), columns, epilogue, Pool(1));
        for (int threads : {1, 2, 3, 7}) {
          c.fillWith(777);
          multiplyBatch(one, {a.data(), depth}, right, c.data(), columns, epilogue, Pool(threads));
          ASSERT_TRUE(std::equal(expected.begin(), expected.end(), c.data())) << threads << " threads, " << (hasBias ? "with" : "no") << " bias";
        }
      }
    }
  }
}

/// Where the depth is short and rows of the result are long, all panels are multiplied by a few rows before the next ones.
TEST_P(SkinnyProductTest, WideResultsOfShortDepthsAreThoseOfNarrowOnes) {
  constexpr int64_t kRows = 61, kColumns = 535;
  for (int64_t depth : {1, 3, 8, 16, 17})
    for (bool hasBias : {false, true}) {
      SCOPED_TRACE(testing::Message() << depth << (hasBias ? " with bias" : ""));
      GuardedFloats a(kRows * depth), b(depth * kColumns), bias(kColumns);
      a.fill(1), b.fill(2), bias.fill(3);
      std::vector<float> expected(kRows * kColumns), c(kRows * kColumns);
      for (int64_t column = 0, count; column < kColumns; column += count) { // Some columns, in rows that are not far apart.
        count = std::min<int64_t>(96, kColumns - column);
        std::vector<float> some(static_cast<size_t>(kRows * count));
        Epilogue epilogue;
        epilogue.bias = hasBias ? bias.data() + column : nullptr;
        multiply(kRows, {a.data(), depth}, packMatrix({b.data() + column, kColumns}, depth, count, Pool(1)), some.data(), count, epilogue, Pool(1));
        for (int64_t row = 0; row < kRows; ++row)
          std::copy_n(some.begin() + row * count, count, expected.begin() + row * kColumns + column);
      }
      Epilogue epilogue;
      epilogue.bias = hasBias ? bias.data() : nullptr;
      PackedMatrix packed = packMatrix({b.data(), kColumns}, depth, kColumns, Pool(1));
      for (int threads : {1, 2, 3, 7}) {
        std::fill(c.begin(), c.end(), 777.0f);
        multiply(kRows, {a.data(), depth}, packed, c.data(), kColumns, epilogue, Pool(threads));
        EXPECT_EQ(c, expected) << threads << " threads";
      }
    }
}

} // namespace
} // namespace cupel::kernels
