// `cupel eval --device` and `--save-workload`: programs on a device behind a plugin, compared with
// the golden reference or by their own checks, or saved as folders that `cupel-device` runs
// elsewhere. Called by the worker's main alone; without these options `cupel eval` goes its own
// way.
#pragma once

#include <string>
#include <vector>

namespace cupel::cli {

/// Whether the command line of `cupel eval` asks for what is done here.
bool asksForDevice(const std::vector<std::string> &words);

/// Returns the exit code.
int runEvalOnDevice(const std::vector<std::string> &words);

} // namespace cupel::cli
