// The reproductions of failed tests that earlier runs kept in the results folder: what keeps them
// from growing for ever. Never removes those of the run at hand or what somebody keeps elsewhere.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cupel::testbench::session {

/// How much of all runs together is kept: CUPEL_FAILED_LIMIT (`2G`; 4 GiB by default, 0: all of
/// it).
uint64_t failedLimit();

/// Removes the folders of the oldest runs below `folder` (`RESULTS/failed`) until the rest fits;
/// `current` and the newest other one stay. Returns the runs that are gone.
std::vector<std::string> pruneFailed(const std::string &folder, const std::string &current,
                                     uint64_t limitBytes);

} // namespace cupel::testbench::session
