// The main job of ./run for now: takes programs through everything that works today and prints a
// table. Called by the worker's main alone.
#pragma once

#include <string>
#include <vector>

namespace cupel::cli {

/// Reads and verifies each file, writes it as a portable artifact, reads that back and compares.
/// Returns the exit code.
int runWalk(const std::vector<std::string> &paths);

} // namespace cupel::cli
