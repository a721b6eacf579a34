#include "cupel/kernels/Pool.h"

#include "cupel/support/ThreadPool.h"

#include <algorithm>
#include <cmath>

namespace cupel::kernels {
namespace {

/// Handing work to a helper that looks out for it costs a microsecond or two, waking one that sleeps
/// some ten.
constexpr double kWorthSharing = 10'000;

} // namespace

Pool::Pool(int threads, Sharing sharing)
    : count(threads > 0 ? threads : coreCount()), sharing(sharing) {}

int Pool::threadsFor(double nanoseconds) const {
  if (sharing == Sharing::Always)
    return count;
  if (nanoseconds < kWorthSharing)
    return 1;
  return static_cast<int>(std::min<double>(count, 1 + nanoseconds / (kWorthSharing / 2)));
}

int Pool::threadsForColumns(int64_t rows, double row) const {
  if (sharing == Sharing::Always)
    return count;
  constexpr double kMeeting = 200; // What a row takes longer where threads meet in it: 150 to 300 on cores without a common cache.
  int threads = threadsFor(static_cast<double>(rows) * row);
  return row * (1 - 1.0 / threads) > kMeeting ? threads : 1;
}

int64_t Pool::unitsPerPart(int64_t units, double nanoseconds) const {
  constexpr double kPart = 30'000;
  auto parts = static_cast<int64_t>(std::ceil(static_cast<double>(units) * nanoseconds / kPart));
  if (parts <= 1)
    return std::max<int64_t>(1, units);
  parts = (parts + count - 1) / count * count;
  return std::max<int64_t>(1, (units + parts - 1) / parts);
}

bool Pool::isAtEdge(int64_t unit, int64_t units) const {
  for (int i = 1; i < count; ++i)
    if (int64_t begin = beginOfShare(units, count, i); unit == begin || unit == begin - 1)
      return true;
  return false;
}

void Pool::expectWork() const { expectBriefPieces(count); }

void Pool::share(int64_t units, const std::function<void(int64_t)> &body) const {
  runBriefPieces(units, count, body);
}

} // namespace cupel::kernels
