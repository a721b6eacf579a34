#include "cupel/kernels/Units.h"

#include <gtest/gtest.h>

namespace cupel::kernels {
namespace {

constexpr int64_t kMega = int64_t{1} << 20;

/// `depth` f32 numbers a column, in panels of three vectors of 16.
UnitWork workOf(int64_t rows, int64_t depth, int64_t columns, int threads, int64_t count = 1) {
  constexpr double kSpeed = 30;
  PanelCut cut{columns, (columns + 47) / 48, 16};
  return {rows, 128, cut, count, cut.size(depth) * 4, threads, double(count * rows * depth) * double(columns) / kSpeed};
}

/// What the thread with most of it has to do, as a multiple of an equal share.
double busiest(const UnitWork &work, const UnitGrid &grid) {
  int64_t units = grid.count() * work.count, most = 0;
  for (int which = 0; which < work.threads; ++which) {
    int64_t load = 0;
    for (int64_t unit = (units * which + work.threads - 1) / work.threads; unit < (units * (which + 1) + work.threads - 1) / work.threads; ++unit) {
      int64_t part = unit % grid.count(), row = grid.rowPartOf(part), panel = grid.panelPartOf(part);
      int64_t rows = work.rows * (row + 1) / grid.rowParts - work.rows * row / grid.rowParts;
      load += rows * (work.cut.columnOf(work.cut.count * (panel + 1) / grid.panelParts) - work.cut.columnOf(work.cut.count * panel / grid.panelParts));
    }
    most = std::max(most, load);
  }
  return double(most) * work.threads / (double(work.rows * work.count) * double(work.cut.columnOf(work.cut.count)));
}

/// Weights that leave a quarter of a core's cache to lines are read by all threads.
TEST(UnitsTest, LinesStayWithThreadsWhereACoresCacheHoldsTheWeights) {
  auto keeps = [](int64_t depth, int64_t columns, int64_t cache, int threads = 2) {
    UnitWork work = workOf(784, depth, columns, threads);
    UnitGrid grid = planUnits(work);
    keepLines(grid, work, cache);
    return grid.rowsFirst;
  };
  EXPECT_TRUE(keeps(512, 384, kMega));
  EXPECT_FALSE(keeps(512, 385, kMega));
  EXPECT_TRUE(keeps(512, 768, 2 * kMega));
  EXPECT_FALSE(keeps(512, 768, kMega));
  EXPECT_FALSE(keeps(512, 384, kMega, 1));
}

TEST(UnitsTest, ThreadsEndTogetherWithFewUnitsEach) {
  for (int threads : {2, 3, 4, 7, 8, 16})
    for (auto [rows, depth, columns] : {std::tuple<int64_t, int64_t, int64_t>{196, 256, 1024}, {49, 4608, 512}, {3136, 64, 256}, {128, 768, 3072}, {1024, 1024, 1024}, {784, 1152, 128}}) {
      UnitWork work = workOf(rows, depth, columns, threads);
      UnitGrid grid = planUnits(work);
      EXPECT_LE((rows + grid.rowParts - 1) / grid.rowParts, work.mostRows);
      // What can be had: one unit is the least that a thread takes.
      if (rows / 24 * work.cut.count >= 8 * threads)
        EXPECT_LE(busiest(work, grid), 1.2) << threads << " threads, " << rows << " rows, " << columns << " columns: " << grid.rowParts << " x " << grid.panelParts;
      int64_t least = (rows + work.mostRows - 1) / work.mostRows;
      EXPECT_LE(grid.count(), std::max<int64_t>(5 * threads, least + threads)) << threads << " threads, " << rows << " rows";
    }
}

/// One that is larger than a core's caches is shared, so that each thread reads a part of it.
TEST(UnitsTest, LargePanelsAreShared) {
  EXPECT_EQ(planUnits(workOf(128, 768, 3072, 2)).panelParts, 2);
  EXPECT_EQ(planUnits(workOf(128, 768, 3072, 2)).rowParts, 1);
  EXPECT_EQ(planUnits(workOf(128, 256, 256, 2)).rowParts, 2);
}

/// Where there are too few panels for all threads, few rows are shared too.
TEST(UnitsTest, FewRowsOfFewPanelsAreShared) {
  EXPECT_EQ(planUnits(workOf(32, 4096, 32, 2)).rowParts, 2);
  EXPECT_EQ(planUnits(workOf(32, 4096, 512, 2)).rowParts, 1);
  EXPECT_EQ(planUnits(workOf(8, 4096, 32, 2)).rowParts, 1);
}

TEST(UnitsTest, NothingIsCutForOneThreadOrWhereThereIsNothing) {
  EXPECT_EQ(planUnits(workOf(100, 64, 512, 1)).count(), 1);
  EXPECT_EQ(planUnits(workOf(300, 64, 512, 1)).count(), 3);
  EXPECT_EQ(planUnits(workOf(1, 1, 1, 8)).count(), 1);
  EXPECT_EQ(planUnits(workOf(0, 8, 48, 8)).panelParts, 1);
}

/// Products of a batch are units by themselves.
TEST(UnitsTest, BatchesAreNotCutWhereTheyComeOutEven) {
  EXPECT_EQ(planUnits(workOf(64, 64, 64, 2, 12)).count(), 1);
  EXPECT_GT(planUnits(workOf(128, 512, 512, 2, 3)).count(), 1);
}

/// Matrix registers hold so many rows: only the last unit has fewer of them, or more.
TEST(UnitsTest, UnitsBeginWhereRowsThatAreComputedAtOnceDo) {
  for (int threads : {1, 2, 3})
    for (int64_t rows : {1, 49, 196, 784, 3136}) {
      UnitWork work = workOf(rows, 64, 256, threads);
      work.rowStep = 32;
      UnitGrid grid = planUnits(work);
      keepLines(grid, work, kMega);
      EXPECT_EQ(grid.rowOf(0, rows), 0);
      EXPECT_EQ(grid.rowOf(grid.rowParts, rows), rows);
      for (int64_t part = 0; part < grid.rowParts; ++part) {
        EXPECT_EQ(grid.rowOf(part, rows) % 32, 0);
        int64_t count = grid.rowOf(part + 1, rows) - grid.rowOf(part, rows);
        EXPECT_GE(count, 0);
        EXPECT_LT(count, work.mostRows + 32);
      }
    }
}

} // namespace
} // namespace cupel::kernels
