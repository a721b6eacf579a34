#include "cupel/testbench/bench/Measurement.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace cupel::testbench::bench {

double Latency::percentile(double percent) const {
  if (steady.empty())
    return 0;
  std::vector<double> sorted = steady;
  std::ranges::sort(sorted);
  auto rank = std::ceil(percent / 100 * static_cast<double>(sorted.size()));
  return sorted[static_cast<size_t>(std::max(rank, 1.0)) - 1];
}

double Latency::throughput() const {
  double sum = std::accumulate(steady.begin(), steady.end(), 0.0);
  return sum > 0 ? static_cast<double>(steady.size()) / sum : 0;
}

const Contestant *Measurement::bestPeer() const {
  const Contestant *best = nullptr;
  for (const Contestant &one : contestants)
    if (one.isPeer && one.counts() &&
        (!best || one.latency.percentile(50) < best->latency.percentile(50)))
      best = &one;
  return best;
}

} // namespace cupel::testbench::bench
