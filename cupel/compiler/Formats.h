// Which versions of the program format this runtime reads.

#pragma once

#include <array>
#include <cstdint>

namespace cupel::compiler {

std::array<int64_t, 3> newestProgramVersion();
std::array<int64_t, 3> oldestProgramVersion();
/// Of the dialect that shardings are written in.
std::array<int64_t, 3> shardingDialectVersion();

} // namespace cupel::compiler
