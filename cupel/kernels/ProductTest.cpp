#include "cupel/kernels/Product.h"

#include "cupel/kernels/FinishTesting.h"
#include "cupel/kernels/IsaTesting.h"
#include "cupel/kernels/KernelTable.h"
#include "cupel/kernels/Panels.h"
#include "cupel/kernels/Scratch.h"
#include "cupel/kernels/TestBuffers.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <utility>
#include <vector>

namespace cupel::kernels {
namespace {

/// sum of a * b and of |a| * |b|, in f64.
struct Exact {
  double value = 0, magnitude = 0;
};

Exact dot(MatrixView a, MatrixView b, int64_t i, int64_t j, int64_t depth) {
  Exact sum;
  for (int64_t k = 0; k < depth; ++k) {
    double term = static_cast<double>(a.data[i * a.rowStride + k * a.columnStride]) *
                  b.data[k * b.rowStride + j * b.columnStride];
    sum.value += term;
    sum.magnitude += std::abs(term);
  }
  return sum;
}

/// What any order of f32 operations may be off by.
double boundOf(const Exact &exact, int64_t depth) {
  return (static_cast<double>(depth) + 4) * std::ldexp(1.0, -23) * (exact.magnitude + 1e-3);
}

class ProductTest : public OnEveryIsa {};
INSTANTIATE_TEST_SUITE_P(, ProductTest, everyIsa(), nameOfIsa);

/// How a matrix of rows x columns lies in memory.
struct Lie {
  int64_t rowStride, columnStride, size, origin;
};

Lie rowMajor(int64_t rows, int64_t columns, int64_t extra = 0) {
  return {columns + extra, 1, rows && columns ? (rows - 1) * (columns + extra) + columns : 0, 0};
}
Lie columnMajor(int64_t rows, int64_t columns, int64_t extra = 0) {
  return {1, rows + extra, rows && columns ? (columns - 1) * (rows + extra) + rows : 0, 0};
}
Lie reversed(int64_t rows, int64_t columns) {
  int64_t size = rows * columns * 2;
  return {-columns * 2, -2, size, size ? size - 1 : 0};
}
Lie broadcastRow(int64_t, int64_t columns) { return {0, 1, columns, 0}; }

void checkProduct(int64_t m, int64_t n, int64_t k, Lie la, Lie lb, bool hasBias, int threads) {
  SCOPED_TRACE(testing::Message() << m << " x " << n << " x " << k << " strides " << la.rowStride
                                  << "," << la.columnStride << " " << lb.rowStride << ","
                                  << lb.columnStride << " threads " << threads);
  GuardedFloats a(la.size), b(lb.size), bias(n), c(m ? (m - 1) * (n + 3) + n : 0);
  a.fill(1), b.fill(2), bias.fill(3), c.fillWith(777);
  MatrixView va{a.data() + la.origin, la.rowStride, la.columnStride};
  MatrixView vb{b.data() + lb.origin, lb.rowStride, lb.columnStride};
  Pool pool(threads);
  PackedMatrix packed = packMatrix(vb, k, n, pool);
  EXPECT_EQ(packed.rows(), k);
  EXPECT_EQ(packed.columns(), n);
  Epilogue epilogue;
  epilogue.bias = hasBias ? bias.data() : nullptr;
  multiply(m, va, packed, c.data(), n + 3, epilogue, pool);
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      Exact exact = dot(va, vb, i, j, k);
      double expected = exact.value + (hasBias ? bias[j] : 0);
      ASSERT_NEAR(c[i * (n + 3) + j], expected, boundOf(exact, k) + 1e-6) << i << ", " << j;
    }
    for (int64_t j = n; i + 1 < m && j < n + 3; ++j)
      ASSERT_EQ(c[i * (n + 3) + j], 777) << "between rows";
  }
}

TEST_P(ProductTest, OddShapes) {
  for (int64_t m : {0, 1, 2, 5, 6, 7, 8, 9, 13, 17, 33})
    for (int64_t n : {0, 1, 3, 4, 8, 15, 16, 17, 31, 48, 49, 64, 65, 100})
      for (int64_t k : {0, 1, 2, 3, 17, 40})
        checkProduct(m, n, k, rowMajor(m, k), rowMajor(k, n), (m + n + k) % 2, 1);
}

TEST_P(ProductTest, LongDepthsAreCut) {
  for (int64_t k : {511, 512, 513, 1024, 1500})
    checkProduct(11, 70, k, rowMajor(11, k), rowMajor(k, 70), true, 2);
}

TEST_P(ProductTest, AnyStrides) {
  for (int64_t m : {1, 4, 19})
    for (int64_t n : {1, 5, 33, 50})
      for (int64_t k : {1, 7, 16, 35}) {
        for (Lie la : {rowMajor(m, k, 5), columnMajor(m, k), columnMajor(m, k, 3), reversed(m, k),
                       broadcastRow(m, k)})
          for (Lie lb : {rowMajor(k, n, 2), columnMajor(k, n), columnMajor(k, n, 7), reversed(k, n)})
            checkProduct(m, n, k, la, lb, false, 1);
      }
}

TEST_P(ProductTest, RowsAPageApart) {
  checkProduct(40, 300, 64, rowMajor(40, 64, 1024 - 64), rowMajor(64, 300), true, 2);
}

TEST_P(ProductTest, BitsDoNotDependOnThreadsOrOtherRows) {
  constexpr int64_t kRows = 150, kColumns = 333, kDepth = 700;
  GuardedFloats a(kRows * kDepth), b(kDepth * kColumns);
  a.fill(1), b.fill(2);
  auto run = [&](int threads, int64_t row, int64_t rows) {
    Pool pool(threads);
    PackedMatrix packed = packMatrix({b.data(), kColumns}, kDepth, kColumns, pool);
    std::vector<float> c(static_cast<size_t>(rows * kColumns));
    multiply(rows, {a.data() + row * kDepth, kDepth}, packed, c.data(), kColumns, {}, pool);
    return c;
  };
  std::vector<float> expected = run(1, 0, kRows);
  for (int threads : {2, 3, 7})
    EXPECT_EQ(run(threads, 0, kRows), expected) << threads << " threads";
  std::vector<float> one = run(2, 77, 1);
  EXPECT_TRUE(std::equal(one.begin(), one.end(), expected.begin() + 77 * kColumns));
}

/// Counts how often each element was finished and checks what the epilogue was told.
struct Seen {
  float *c;
  int64_t ldc;
  std::vector<std::atomic<int>> times;
  std::atomic<int> wrongPlaces = 0;
};

void finish(void *const *operands, float *c, int64_t ldc, int64_t row, int64_t rows, int64_t column,
            int64_t columns) {
  auto &seen = *static_cast<Seen *>(operands[0]);
  if (c != seen.c + row * seen.ldc + column || (rows > 1 && ldc != seen.ldc))
    ++seen.wrongPlaces;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) {
      c[i * ldc + j] *= 2;
      ++seen.times[static_cast<size_t>((row + i) * seen.ldc + column + j)];
    }
}

TEST_P(ProductTest, TheEpilogueSeesEachFinishedElementOnce) {
  for (int threads : {1, 3})
    for (auto [m, n, k] : {std::array<int64_t, 3>{1, 1000, 100}, {37, 53, 600}, {300, 128, 70},
                           {5, 1, 1}, {3, 20, 0}}) {
      GuardedFloats a(m * k), b(k * n), bias(n), c(m * n);
      a.fill(5), b.fill(6), bias.fill(7);
      Seen seen{c.data(), n, std::vector<std::atomic<int>>(static_cast<size_t>(m * n))};
      void *operands[] = {&seen};
      Pool pool(threads);
      multiply(m, {a.data(), k}, packMatrix({b.data(), n}, k, n, pool), c.data(), n,
               {bias.data(), finish, operands}, pool);
      EXPECT_EQ(seen.wrongPlaces, 0);
      for (int64_t i = 0; i < m * n; ++i) {
        ASSERT_EQ(seen.times[static_cast<size_t>(i)], 1);
        Exact exact = dot({a.data(), k}, {b.data(), n}, i / n, i % n, k);
        ASSERT_NEAR(c[i], 2 * (exact.value + bias[i % n]), 2 * boundOf(exact, k) + 1e-5);
      }
    }
}

TEST_P(ProductTest, FinishedSumsHaveTheBitsOfStepsOneByOne) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (int64_t m : {1, 7, 20, 31})
    for (int64_t n : {1, 15, 16, 48, 77})
      for (int64_t k : {0, 3, 700}) {
        GuardedFloats a(m * k), b(k * n), plain(m * n), c(m * n);
        a.fill(1), b.fill(2);
        for (int64_t i = 0; i < a.length(); i += 5)
          a[i] = i % 3 == 0 ? -0.0f : i % 3 == 1 ? std::nanf("") : kInfinity;
        FinishOperands operands(m, n);
        for (int64_t i = 0; i < m * n; i += 3)
          operands.rows[i] = -0.0f;
        for (int which :
             {0, 4, 8, 9, 10, 16, 20, 32, 47, 55, 64, 67, 73, 111, 128, 136, 140, 168, 200, 232, 256, 299, 456, 457, 577, 712, 744, 968, 1024, 1071, 1344, 1984}) {
          Finish finish = operands.make(which);
          Epilogue epilogue;
          epilogue.finish = &finish;
          auto expectSteps = [&](const char *how) {
            for (int64_t i = 0; i < m * n; ++i) {
              float expected = finishedElement(finish, plain[i], i / n, i % n);
              if (finish.narrow) {
                uint16_t rounded = operands.narrow[static_cast<size_t>(i)];
                ASSERT_TRUE(std::isnan(expected) ? std::isnan(std::bit_cast<float>(uint32_t{rounded} << 16)) : rounded == narrowedElement(finish, expected))
                    << how << ", steps " << which << ": " << rounded << " instead of " << expected;
                continue;
              }
              ASSERT_TRUE(std::isnan(expected) ? std::isnan(c[i]) : c[i] == expected && std::signbit(c[i]) == std::signbit(expected))
                  << how << ", steps " << which << ": " << c[i] << " instead of " << expected;
            }
          };
          Pool pool(2, Pool::Sharing::Always);
          PackedMatrix packed = packMatrix({b.data(), n}, k, n, pool);
          multiply(m, {a.data(), k}, packed, plain.data(), n, {}, pool);
          multiply(m, {a.data(), k}, packed, c.data(), n, epilogue, pool);
          expectSteps("packed");
          ProductBatch batch;
          batch.rows = m, batch.columns = n, batch.depth = k;
          multiplyBatch(batch, {a.data(), k}, {b.data(), n}, plain.data(), n, {}, pool);
          multiplyBatch(batch, {a.data(), k}, {b.data(), n}, c.data(), n, epilogue, pool);
          expectSteps("as it lies");
        }
      }
}

/// Steps for each column as one multiply-add: what it makes of numbers lies as close to the exact result as the steps one by one do.
TEST_P(ProductTest, TermsOfColumnsAreJoinedWhereThatIsRight) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (int64_t columns : {1, 4, 15, 16, 77})
    for (int which = 0; which < 32; ++which) {
      GuardedFloats bias(columns), first(columns), second(columns), addends(columns), factor(columns), addend(columns);
      bias.fill(1), first.fill(2), second.fill(3), addends.fill(4);
      ColumnTerms terms{which & 1 ? bias.data() : nullptr, {first.data(), which & 2 ? second.data() : nullptr}, which & 4 ? addends.data() : nullptr, (which & 8) != 0, (which & 16) != 0, columns};
      ASSERT_TRUE(joinTerms(terms, factor.data(), addend.data()));
      for (int64_t i = 0; i < columns; ++i)
        for (float x : {0.0f, 1.0f, -317.25f}) {
          double b = terms.bias ? terms.subtractsBias ? -bias[i] : bias[i] : 0, f = double(first[i]) * (terms.factors[1] ? second[i] : 1), a = terms.addends ? terms.subtractsAddends ? -addends[i] : addends[i] : 0;
          double size = std::abs(x * f) + std::abs(b * f) + std::abs(a);
          ASSERT_NEAR(double(x) * factor[i] + addend[i], (x + b) * f + a, 4 * size * 0x1p-24) << i << " of " << columns << ", terms " << which;
        }
      // One that does not fit is enough, wherever it stands.
      int64_t odd = columns / 2;
      auto expectRefused = [&](GuardedFloats &numbers, float value) {
        float kept = std::exchange(numbers[odd], value);
        EXPECT_FALSE(joinTerms(terms, factor.data(), addend.data())) << value << " of " << columns << ", terms " << which;
        numbers[odd] = kept;
      };
      for (float value : {kInfinity, -kInfinity, std::nanf(""), 0x1p31f, -0x1p100f}) {
        expectRefused(first, value);
        if (terms.bias)
          expectRefused(bias, value);
        if (terms.factors[1])
          expectRefused(second, value);
        if (terms.addends)
          expectRefused(addends, value);
      }
      if (terms.factors[1]) {
        second[odd] = 0x1p-100f;
        expectRefused(first, 0x1p-40f); // Digits of the product would be lost ...
        first[odd] = 0;                 // ... which those of nothing are not.
        EXPECT_TRUE(joinTerms(terms, factor.data(), addend.data()));
      }
    }
}

TEST_P(ProductTest, NotANumberAndInfinityStayInTheirRowsAndColumns) {
  constexpr int64_t kRows = 9, kColumns = 21, kDepth = 18;
  GuardedFloats a(kRows * kDepth), b(kDepth * kColumns), c(kRows * kColumns);
  a.fill(1), b.fill(2);
  a[4 * kDepth + 3] = std::numeric_limits<float>::quiet_NaN();
  b[5 * kColumns + 20] = std::numeric_limits<float>::infinity();
  for (int64_t i = 0; i < kRows; ++i)
    a[i * kDepth + 5] = 1;
  Pool pool(1);
  multiply(kRows, {a.data(), kDepth}, packMatrix({b.data(), kColumns}, kDepth, kColumns, pool),
           c.data(), kColumns, {}, pool);
  for (int64_t i = 0; i < kRows; ++i)
    for (int64_t j = 0; j < kColumns; ++j) {
      EXPECT_EQ(std::isnan(c[i * kColumns + j]), i == 4);
      EXPECT_EQ(std::isinf(c[i * kColumns + j]), i != 4 && j == 20);
    }
}

void checkBatch(const ProductBatch &batch, Lie la, Lie lb, int threads, bool hasBias = true) {
  SCOPED_TRACE(testing::Message() << batch.rows << " x " << batch.columns << " x " << batch.depth
                                  << " strides " << la.rowStride << "," << la.columnStride << " "
                                  << lb.rowStride << "," << lb.columnStride);
  int64_t heads = batch.sizes[3], outer = batch.sizes[2];
  ProductBatch work = batch;
  work.aStrides = {0, 0, heads * la.size, la.size};
  work.bStrides = {0, 0, 0, lb.size}; // All outer ones share B.
  int64_t m = batch.rows, n = batch.columns, ldc = n + 1;
  int64_t span = m && n ? (m - 1) * ldc + n : 0;
  work.cStrides = {0, 0, heads * span, span};
  GuardedFloats a(outer * heads * la.size), b(heads * lb.size), c(outer * heads * span), bias(n);
  a.fill(1), b.fill(2), bias.fill(3);
  Pool pool(threads);
  multiplyBatch(work, {a.data() + la.origin, la.rowStride, la.columnStride},
                {b.data() + lb.origin, lb.rowStride, lb.columnStride}, c.data(), ldc,
                {hasBias ? bias.data() : nullptr}, pool);
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t h = 0; h < heads; ++h)
      for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j) {
          Exact exact = dot({a.data() + (o * heads + h) * la.size + la.origin, la.rowStride,
                             la.columnStride},
                            {b.data() + h * lb.size + lb.origin, lb.rowStride, lb.columnStride}, i,
                            j, batch.depth);
          ASSERT_NEAR(c[(o * heads + h) * span + i * ldc + j], exact.value + (hasBias ? bias[j] : 0),
                      boundOf(exact, batch.depth) + 1e-6)
              << "product " << o << ", " << h << " at " << i << ", " << j;
        }
}

TEST_P(ProductTest, Batches) {
  for (int64_t m : {0, 1, 3, 20})
    for (int64_t n : {0, 1, 9, 65})
      for (int64_t k : {0, 1, 17, 64})
        for (int64_t outer : {1, 3}) {
          ProductBatch batch;
          batch.sizes = {1, 1, outer, 2};
          batch.rows = m, batch.columns = n, batch.depth = k;
          for (Lie la : {rowMajor(m, k), columnMajor(m, k, 1)})
            for (Lie lb : {rowMajor(k, n, 4), columnMajor(k, n), reversed(k, n)})
              checkBatch(batch, la, lb, outer);
        }
}

TEST_P(ProductTest, ManySmallProducts) {
  for (int64_t m : {1, 2, 13, 33})
    for (int64_t n : {1, 3, 8, 17, 24, 31, 64, 77})
      for (int64_t k : {0, 1, 5, 24}) {
        ProductBatch batch;
        batch.sizes = {1, 1, 3, 9};
        batch.rows = m, batch.columns = n, batch.depth = k;
        for (Lie la : {rowMajor(m, k, 2), columnMajor(m, k), broadcastRow(m, k)})
          for (Lie lb : {rowMajor(k, n), columnMajor(k, n, 1), reversed(k, n), broadcastRow(k, n)})
            checkBatch(batch, la, lb, 2, /*hasBias=*/false);
      }
  ProductBatch batch;
  batch.sizes = {1, 1, 2, 9};
  batch.rows = 5, batch.columns = 40, batch.depth = 12;
  checkBatch(batch, rowMajor(5, 12), rowMajor(12, 40, 1024 - 40), 2, /*hasBias=*/false);
}

TEST_P(ProductTest, ManyTinyProducts) {
  for (int64_t m : {1, 2, 3, 4, 16})
    for (int64_t n : {1, 3, 4, 15})
      for (int64_t k : {1, 2, 3, 4, 5})
        for (bool isInmost : {true, false}) {
          ProductBatch batch;
          batch.sizes = isInmost ? ProductBatch::Dimensions{1, 1, 3, 70}
                                 : ProductBatch::Dimensions{1, 1, 70, 1};
          batch.rows = m, batch.columns = n, batch.depth = k;
          for (Lie la : {rowMajor(m, k, 2), columnMajor(m, k), broadcastRow(m, k)})
            for (Lie lb :
                 {rowMajor(k, n), columnMajor(k, n, 1), reversed(k, n), broadcastRow(k, n)})
              checkBatch(batch, la, lb, 2, /*hasBias=*/false);
        }
}

/// Those that have neighbours enough for tiles, and those that have not.
TEST_P(ProductTest, BitsOfTinyProductsAreThoseOfTiles) {
  constexpr int64_t kRows = 4, kDepth = 4, kColumns = 3, kWide = 40;
  GuardedFloats a(kRows * kDepth), b(kDepth * kWide), narrow(kRows * kColumns), wide(kRows * kWide);
  a.fill(1), b.fill(2);
  ProductBatch batch;
  batch.rows = kRows, batch.columns = kColumns, batch.depth = kDepth;
  Pool pool(1);
  multiplyBatch(batch, {a.data(), kDepth}, {b.data(), kWide}, narrow.data(), kColumns, {}, pool);
  batch.columns = kWide;
  multiplyBatch(batch, {a.data(), kDepth}, {b.data(), kWide}, wide.data(), kWide, {}, pool);
  for (int64_t i = 0; i < kRows; ++i)
    for (int64_t j = 0; j < kColumns; ++j)
      EXPECT_EQ(narrow[i * kColumns + j], wide[i * kWide + j]) << i << ", " << j;
}

TEST_P(ProductTest, EpiloguesSeeSmallProductsOnce) {
  constexpr int64_t kCount = 40, kRows = 7, kColumns = 21, kDepth = 11;
  GuardedFloats a(kCount * kRows * kDepth), b(kCount * kDepth * kColumns), c(kCount * kRows * kColumns);
  a.fill(1), b.fill(2);
  ProductBatch batch;
  batch.sizes = {1, 1, 1, kCount};
  batch.aStrides[3] = kRows * kDepth, batch.bStrides[3] = kDepth * kColumns, batch.cStrides[3] = kRows * kColumns;
  batch.rows = kRows, batch.columns = kColumns, batch.depth = kDepth;
  Seen seen{c.data(), kColumns, std::vector<std::atomic<int>>(kCount * kRows * kColumns)};
  void *operands[] = {&seen};
  Pool pool(2, Pool::Sharing::Always);
  multiplyBatch(batch, {a.data(), kDepth}, {b.data(), kColumns}, c.data(), kColumns, {nullptr, finish, operands}, pool);
  EXPECT_EQ(seen.wrongPlaces, 0);
  for (int64_t i = 0; i < kCount * kRows * kColumns; ++i) {
    ASSERT_EQ(seen.times[static_cast<size_t>(i)], 1);
    int64_t product = i / (kRows * kColumns), row = i / kColumns % kRows;
    Exact exact = dot({a.data() + product * kRows * kDepth, kDepth}, {b.data() + product * kDepth * kColumns, kColumns}, row, i % kColumns, kDepth);
    ASSERT_NEAR(c[i], 2 * exact.value, 2 * boundOf(exact, kDepth));
  }
}

/// The last vector of columns may be half of one, or be cut where the columns end: an element does not show which.
TEST_P(ProductTest, BitsDoNotDependOnTheColumnsBehind) {
  constexpr int64_t kRows = 29, kMost = 80;
  for (int64_t depth : {7, 300, 600}) {
    GuardedFloats a(kRows * depth), b(depth * kMost), bias(kMost);
    a.fill(1), b.fill(2), bias.fill(3);
    Pool pool(1);
    for (bool hasBias : {false, true}) {
      auto run = [&](int64_t columns) {
        std::vector<float> c(static_cast<size_t>(kRows * columns));
        multiply(kRows, {a.data(), depth}, packMatrix({b.data(), kMost}, depth, columns, pool), c.data(), columns,
                 {hasBias ? bias.data() : nullptr}, pool);
        return c;
      };
      std::vector<float> all = run(kMost);
      for (int64_t columns : {1, 4, 8, 9, 16, 20, 24, 31, 40, 50, 56, 72}) {
        std::vector<float> some = run(columns);
        for (int64_t i = 0; i < kRows; ++i)
          ASSERT_EQ(std::memcmp(&some[static_cast<size_t>(i * columns)], &all[static_cast<size_t>(i * kMost)], static_cast<size_t>(columns) * 4), 0)
              << columns << " columns, row " << i << ", depth " << depth;
      }
    }
  }
}

/// Rows are summed where they lie, each in one order: neither threads nor other rows are seen in it. What ends the sums is told of rows.
TEST_P(ProductTest, ASingleColumnIsMultipliedByRowsAsTheyLie) {
  constexpr int64_t kCount = 3;
  for (int64_t rows : {1, 2, 5, 700})
    for (int64_t depth : {32, 33, 47, 100})
      for (bool isTurned : {false, true}) {
        Lie lie = isTurned ? columnMajor(rows, depth, 2) : rowMajor(rows, depth, 3);
        MatrixView view{nullptr, lie.rowStride, lie.columnStride};
        EXPECT_TRUE(readsRowsOfColumn(view, depth, 1));
        EXPECT_FALSE(readsRowsOfColumn(view, depth, 2));
        GuardedFloats a(kCount * lie.size), b(kCount * depth * 2), c(kCount * rows), bias(1);
        a.fill(1), b.fill(2), bias.fill(3);
        ProductBatch batch;
        batch.rows = rows, batch.columns = 1, batch.depth = depth;
        auto run = [&](int64_t firstRow, int64_t count, int threads, const Epilogue &end) {
          batch.rows = count;
          batch.sizes = {1, 1, 1, kCount};
          batch.aStrides[3] = lie.size, batch.bStrides[3] = depth * 2, batch.cStrides[3] = count;
          c.fillWith(7);
          multiplyBatch(batch, {a.data() + firstRow * lie.rowStride, lie.rowStride, lie.columnStride}, {b.data(), 2, 1}, c.data(), 1, end,
                        Pool(threads, Pool::Sharing::Always));
          return std::vector<float>(c.data(), c.data() + kCount * count);
        };
        Seen seen{c.data(), 1, std::vector<std::atomic<int>>(static_cast<size_t>(kCount * rows))};
        void *operands[] = {&seen};
        std::vector<float> all = run(0, rows, 1, {bias.data(), finish, operands});
        EXPECT_EQ(seen.wrongPlaces, 0);
        for (int64_t i = 0; i < kCount * rows; ++i) {
          ASSERT_EQ(seen.times[static_cast<size_t>(i)], 1);
          Exact exact = dot({a.data() + i / rows * lie.size, lie.rowStride, lie.columnStride}, {b.data() + i / rows * depth * 2, 2, 1}, i % rows, 0, depth);
          ASSERT_NEAR(all[static_cast<size_t>(i)], 2 * (exact.value + bias[0]), 2 * boundOf(exact, depth) + 1e-5) << i;
        }
        std::vector<float> plain = run(0, rows, 1, {});
        EXPECT_EQ(run(0, rows, 3, {}), plain);
        std::vector<float> last = run(rows - 1, 1, 1, {});
        for (int64_t product = 0; product < kCount; ++product)
          EXPECT_EQ(last[static_cast<size_t>(product)], plain[static_cast<size_t>((product + 1) * rows - 1)]) << rows << " x " << depth;
      }
}

/// Whether a processor takes tiles with half vectors or not, with steps behind the sums and without.
TEST(HalfTileTest, HalfVectorsGiveTheBitsOfWholeOnes) {
#if defined(__x86_64__)
  if (!hasIsa(Isa::V4))
    GTEST_SKIP() << "this processor has no " << isaName(Isa::V4);
  constexpr int64_t kRows = 27;
  KernelTable whole = kernelsV4();
  std::memset(whole.halfTiles, 0, sizeof whole.halfTiles);
  Pool pool(1);
  for (int64_t depth : {16, 33, 700})
    for (int64_t columns : {8, 24, 40, 70}) {
      GuardedFloats a(kRows * depth), b(depth * columns);
      a.fill(1), b.fill(2);
      FinishOperands operands(kRows, columns);
      for (int which : {0, 2, 168}) {
        Finish finish = operands.make(which);
        auto run = [&](const KernelTable &table) {
          IsaScope with(table);
          std::vector<float> c(static_cast<size_t>(kRows * columns));
          Epilogue epilogue;
          epilogue.finish = which ? &finish : nullptr;
          multiply(kRows, {a.data(), depth}, packMatrix({b.data(), columns}, depth, columns, pool), c.data(), columns, epilogue, pool);
          return c;
        };
        std::vector<float> halves = run(kernelsV4()), expected = run(whole);
        EXPECT_EQ(std::memcmp(halves.data(), expected.data(), expected.size() * sizeof(float)), 0)
            << columns << " columns, depth " << depth << ", finish " << which;
      }
    }
#endif
}

/// Other panels, or groups of a convolution, may have written there before.
TEST_P(ProductTest, NothingBesideItsColumnsIsWritten) {
  constexpr int64_t kRows = 13, kBeside = 16;
  Pool pool(1);
  for (int64_t depth : {20, 3000}) // In one part, and in several.
    for (int64_t n : {1, 3, 8, 9, 24, 40, 50}) {
      std::vector<float> a(static_cast<size_t>(kRows * depth), 0.5f), b(static_cast<size_t>(depth * n), 0.25f);
      std::vector<float> c(static_cast<size_t>(kRows * (n + kBeside)), 7);
      PackedMatrix packed = packMatrix({b.data(), n, 1}, depth, n, pool);
      multiply(kRows, {a.data(), depth, 1}, packed, c.data(), n + kBeside, {}, pool);
      for (int64_t i = 0; i < kRows; ++i)
        for (int64_t j = 0; j < n + kBeside; ++j)
          ASSERT_EQ(c[static_cast<size_t>(i * (n + kBeside) + j)], j < n ? static_cast<float>(depth) / 8 : 7) << i << ", " << j << " of " << n;
    }
}

TEST_P(ProductTest, PacksIntoMemoryThatIsGiven) {
  constexpr int64_t kRows = 5, kColumns = 37, kDepth = 19;
  GuardedFloats a(kRows * kDepth), b(kDepth * kColumns), c(kRows * kColumns), expected(kRows * kColumns);
  a.fill(1), b.fill(2);
  Pool pool(1);
  GuardedFloats memory(packedFloats(kDepth, kColumns));
  MatrixView right{b.data(), 1, kDepth};
  packMatrixInto(right, kDepth, kColumns, memory.data(), pool);
  multiply(kRows, {a.data(), kDepth}, packedMatrixAt(memory.data(), kDepth, kColumns), c.data(), kColumns, {}, pool);
  multiply(kRows, {a.data(), kDepth}, packMatrix(right, kDepth, kColumns, pool), expected.data(), kColumns, {}, pool);
  EXPECT_EQ(std::memcmp(c.data(), expected.data(), kRows * kColumns * sizeof(float)), 0);
}

TEST_P(ProductTest, LargeProductsOfABatchAreShared) {
  ProductBatch batch;
  batch.rows = 150, batch.columns = 130, batch.depth = 260;
  checkBatch(batch, rowMajor(150, 260), columnMajor(260, 130), 3);
  batch.rows = 1, batch.columns = 3000;
  checkBatch(batch, rowMajor(1, 260), columnMajor(260, 3000), 3);
  checkBatch(batch, columnMajor(1, 260, 2), rowMajor(260, 3000), 3);
}

TEST_P(ProductTest, LargeRightSidesArePackedInParts) {
  constexpr int64_t kRows = 2, kColumns = 500, kDepth = 20'000;
  GuardedFloats a(kRows * kDepth), b(kDepth * kColumns), c(kRows * kColumns), bias(kColumns);
  a.fill(1), b.fill(2), bias.fill(3);
  ProductBatch batch;
  batch.rows = kRows, batch.columns = kColumns, batch.depth = kDepth;
  Seen seen{c.data(), kColumns, std::vector<std::atomic<int>>(kRows * kColumns)};
  void *operands[] = {&seen};
  Pool pool(2);
  multiplyBatch(batch, {a.data(), kDepth}, {b.data(), kColumns}, c.data(), kColumns,
                {bias.data(), finish, operands}, pool);
  EXPECT_LT(scratchBytes(), size_t{kDepth} * kColumns * sizeof(float));
  EXPECT_EQ(seen.wrongPlaces, 0);
  for (int64_t j = 0; j < kColumns; j += 7) {
    Exact exact = dot({a.data(), kDepth}, {b.data(), kColumns}, 1, j, kDepth);
    ASSERT_EQ(seen.times[static_cast<size_t>(kColumns + j)], 1);
    ASSERT_NEAR(c[kColumns + j], 2 * (exact.value + bias[j]), 2 * boundOf(exact, kDepth)) << j;
  }
}

TEST_P(ProductTest, CallsKeepToTheScratchOfThreads) {
  GuardedFloats a(64 * 300), b(300 * 200), c(64 * 200);
  a.fill(1), b.fill(2);
  Pool pool(1);
  ProductBatch batch;
  batch.rows = 64, batch.columns = 200, batch.depth = 300;
  auto run = [&] {
    multiplyBatch(batch, {a.data(), 1, 64}, {b.data(), 200}, c.data(), 200, {}, pool);
  };
  run();
  size_t kept = scratchBytes();
  for (int i = 0; i < 10; ++i)
    run();
  EXPECT_EQ(scratchBytes(), kept);
}

/// Rows of a wide result lie so far apart that a block of many would have left the nearest cache.
TEST_P(ProductTest, EpiloguesGetTilesOfWideResults) {
  constexpr int64_t kRows = 100, kColumns = 192, kDepth = 5;
  GuardedFloats a(kRows * kDepth), b(kDepth * kColumns), c(kRows * kColumns);
  a.fill(1), b.fill(2);
  int64_t most = 0, elements = 0;
  void *operands[] = {&most, &elements};
  auto see = [](void *const *seen, float *, int64_t, int64_t, int64_t rows, int64_t, int64_t columns) {
    auto &most = *static_cast<int64_t *>(seen[0]);
    most = std::max(most, rows);
    *static_cast<int64_t *>(seen[1]) += rows * columns;
  };
  Pool pool(1);
  PackedMatrix packed = packMatrix({b.data(), kColumns, 1}, kDepth, kColumns, pool);
  multiply(kRows, MatrixView{a.data(), kDepth, 1}, packed, c.data(), kColumns, {nullptr, see, operands}, pool);
  EXPECT_LE(most, kMostTileRows);
  EXPECT_EQ(elements, kRows * kColumns);
}

/// The sums of one row and one panel are too few for the multipliers: what lies behind each other in the result is computed together.
TEST_P(ProductTest, ASingleRowTakesTwoPanelsAtOnce) {
  const KernelTable &kernels = currentKernels();
  constexpr int64_t kDepth = 70;
  for (int64_t columns : {int64_t{6} * kernels.width, int64_t{6} * kernels.width - 3, int64_t{12} * kernels.width + 5}) {
    GuardedFloats a(kDepth), b(kDepth * columns), bias(columns), c(columns), rows(3 * kDepth), expected(3 * columns);
    a.fill(1), b.fill(2), bias.fill(3), rows.fill(4);
    std::copy_n(a.data(), kDepth, rows.data() + kDepth);
    int64_t most = 0;
    void *operands[] = {&most};
    auto see = [](void *const *seen, float *, int64_t, int64_t, int64_t, int64_t, int64_t columns) {
      auto &most = *static_cast<int64_t *>(seen[0]);
      most = std::max(most, columns);
    };
    Pool pool(1);
    PackedMatrix packed = packMatrix({b.data(), columns, 1}, kDepth, columns, pool);
    multiply(1, MatrixView{a.data(), kDepth, 1}, packed, c.data(), columns, {bias.data(), see, operands}, pool);
    EXPECT_GT(most, kMostTileVectors * kernels.width) << columns << " columns";
    multiply(3, MatrixView{rows.data(), kDepth, 1}, packed, expected.data(), columns, {bias.data()}, pool);
    for (int64_t j = 0; j < columns; ++j)
      ASSERT_EQ(c[j], expected[columns + j]) << "bits are those of a row among others";
  }
}

/// A tile of one vector reads a number for each multiplication: more rows than there are registers for would have their pointers read as well.
TEST_P(ProductTest, TilesOfOneVectorHaveFewRows) {
  const KernelTable &kernels = currentKernels();
  constexpr int64_t kRows = 96, kDepth = 80;
  const int64_t columns = kernels.width;
  GuardedFloats a(kRows * kDepth), b(kDepth * columns), c(kRows * columns);
  a.fill(1), b.fill(2);
  int64_t most = 0;
  void *operands[] = {&most};
  auto see = [](void *const *seen, float *, int64_t, int64_t, int64_t rows, int64_t, int64_t) {
    auto &most = *static_cast<int64_t *>(seen[0]);
    most = std::max(most, rows);
  };
  Pool pool(1);
  PackedMatrix packed = packMatrix({b.data(), columns, 1}, kDepth, columns, pool);
  multiply(kRows, MatrixView{a.data(), kDepth, 1}, packed, c.data(), columns, {nullptr, see, operands}, pool);
  EXPECT_LE(most, 10);
}

} // namespace
} // namespace cupel::kernels
