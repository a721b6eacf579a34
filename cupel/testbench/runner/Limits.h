// What the machine gives: how much memory tests may take together, and whether the kernel ended
// something because there was none left. Used by the runner.
#pragma once

#include <cstdint>
#include <istream>
#include <string>

namespace cupel::testbench::runner {

/// Four fifths of the memory of this machine, or of what our control group may use.
uint64_t machineMemoryBudget();

/// What the control group of a process may use, with all that are above it: `groups` is its
/// /proc/PID/cgroup, `root` where the hierarchies are mounted. The largest number where nothing
/// limits it.
uint64_t controlGroupLimit(std::istream &groups, const std::string &root);

/// How many processes the kernel has killed so far for want of memory; 0 where it does not tell.
uint64_t kernelMemoryKills();

} // namespace cupel::testbench::runner
