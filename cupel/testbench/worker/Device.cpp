#include "cupel/testbench/worker/Device.h"

#include <algorithm>

namespace cupel::testbench::worker {

double Budget::secondsLeft() const {
  if (deadline == std::chrono::steady_clock::time_point::max())
    return 0;
  auto left = deadline - std::chrono::steady_clock::now();
  return std::max(1e-3, std::chrono::duration<double>(left).count());
}

} // namespace cupel::testbench::worker
