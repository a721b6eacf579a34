// Runs exported PyTorch programs with stored inputs and results (NAME.pt2 with
// NAME.inputs.safetensors, NAME.expected.safetensors and NAME.case.json beside it) on the golden
// reference. Called by the worker's main alone; one line a case, so that whoever started the
// process knows which one it died of.
#pragma once

#include <string>
#include <vector>

namespace cupel::cli {

/// `PASSED name`, `FAILED name: why` or `REFUSED(reason) name: why` for each file, and each in the
/// folders given, then the counts. `--emit` prints the module of each instead of running it;
/// `--no-composites` and `--seconds` (the time each took) are options too. Returns the exit code.
int runTorchCases(const std::vector<std::string> &arguments);

} // namespace cupel::cli
