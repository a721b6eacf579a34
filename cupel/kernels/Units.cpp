#include "cupel/kernels/Units.h"

#include <algorithm>
#include <limits>

namespace cupel::kernels {
namespace {

/// Of a unit, unless there are no more: with fewer, panels are read for too little work. And where there are too few panels for all threads.
constexpr int64_t kFewestRows = 24, kFewestOfFewPanels = 8;

int64_t parts(int64_t whole, int64_t size) { return (whole + size - 1) / size; }

/// How long the thread takes that is the last to end, in nanoseconds of the estimate of the work, which is that of a slow core.
double costOf(const UnitWork &work, const UnitGrid &grid) {
  // A unit looks up its rows, and its first tiles wait for memory: 1 to 2 microseconds where a core does eight
  // times what the estimate says.
  constexpr double kUnitNanoseconds = 8'000;
  // What comes from beyond a core's own caches is not all there in time.
  constexpr double kNanosecondsPerByte = 0.004;
  int64_t units = parts(grid.count() * work.count, work.threads); // Of that thread.
  // The first panels are the widest.
  int64_t columns = work.cut.columnOf(parts(work.cut.count, grid.panelParts)), all = work.cut.columnOf(work.cut.count);
  double share = double(units * parts(work.rows, grid.rowParts)) * double(columns) / (double(work.rows * work.count) * double(all));
  int64_t read = std::min(parts(units, grid.rowParts) + (units % grid.rowParts != 0), grid.panelParts * work.count);
  return share * work.nanoseconds + double(units) * kUnitNanoseconds +
         double(read) / double(grid.panelParts) * double(work.bytes) * kNanosecondsPerByte;
}

} // namespace

UnitGrid planUnits(const UnitWork &work) {
  const int64_t fewest = parts(work.rows, work.mostRows), most = std::max(fewest, work.rows / (work.cut.count < work.threads ? kFewestOfFewPanels : kFewestRows));
  UnitGrid best{fewest, 1, false, work.rowStep};
  if (work.threads == 1 || work.rows == 0 || work.cut.count == 0 || work.count == 0)
    return best;
  double least = std::numeric_limits<double>::infinity();
  auto consider = [&](int64_t rowParts, int64_t wanted) {
    UnitGrid grid{rowParts, std::clamp<int64_t>(parts(wanted, rowParts * work.count), 1, work.cut.count), false, work.rowStep};
    if (double cost = costOf(work, grid); cost < least) {
      best = grid;
      least = cost;
    }
  };
  // A unit for each thread, or a few where so many do not come out even.
  constexpr int64_t kMostForEach = 4;
  const int64_t last = std::min(most, std::max(fewest, int64_t{2} * work.threads));
  for (int64_t each = 1; each <= kMostForEach; ++each)
    for (int64_t rowParts = fewest; rowParts <= last; ++rowParts)
      consider(rowParts, each * work.threads);
  if (fewest > work.threads) // Many rows: as many parts for each.
    consider(std::min(work.rows, parts(fewest, work.threads) * work.threads), 1);
  return best;
}

void keepLines(UnitGrid &grid, const UnitWork &work, int64_t cacheBytes) {
  // The rest is for lines.
  if (work.threads == 1 || work.bytes > cacheBytes / 4 * 3 || work.rows < kFewestRows * work.threads)
    return;
  if (grid.rowParts < work.threads) {
    grid.panelParts = std::clamp<int64_t>(parts(grid.panelParts, work.threads), 1, std::max<int64_t>(1, work.cut.count));
    grid.rowParts = work.threads;
  }
  grid.rowsFirst = true;
}

} // namespace cupel::kernels
