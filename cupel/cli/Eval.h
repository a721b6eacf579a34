// Serves `cupel eval`: evaluates programs on the golden reference, or on a device, one at a time,
// over the protocol of workers. Called by the worker's main alone; what a program means is the
// business of cupel/reference.
#pragma once

#include <string>
#include <vector>

namespace cupel::cli {

/// The settings as JSON, then the options of a worker. Returns the exit code.
int serveEval(const std::vector<std::string> &arguments);

} // namespace cupel::cli
