// How long something has lasted, for those who wait and give up.
#pragma once

#include <chrono>

namespace cupel::testbench::session {

inline double secondsSince(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

} // namespace cupel::testbench::session
