// Runs that were killed and never resumed: their journals get an outcome for every test that has
// none (interrupted where it was running, else not run), so that every run is accounted for. Such a
// run can still be resumed. Used when another run begins.
#pragma once

#include <string>
#include <vector>

namespace cupel::testbench::runner {

struct KilledRun {
  std::string id;
  size_t interrupted = 0, notRun = 0;
};

/// Looks through the journals in a folder; those of runs that go on are left alone. What cannot be
/// read or written is left alone too.
std::vector<KilledRun> closeKilledRuns(const std::string &folder);

} // namespace cupel::testbench::runner
