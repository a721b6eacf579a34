// Runs models in ONNX's own test layout (a folder with model.onnx and test_data_set_*) on the
// golden reference and compares with the stored outputs. Called by the worker's main alone; one
// line a case, so that whoever started the process knows which one it died of.
#pragma once

#include <string>
#include <vector>

namespace cupel::cli {

/// `PASSED name`, `FAILED name: why` or `REFUSED(reason) name: why` for each folder, then the
/// counts. Returns the exit code.
int runOnnxCases(const std::vector<std::string> &folders);

} // namespace cupel::cli
