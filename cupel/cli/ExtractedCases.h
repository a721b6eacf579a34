// How `cupel ops extract` ends: the file of cases, and what it says on standard error. Used by the
// command line for archives of torch.export and by the worker for ONNX models.
#pragma once

#include "cupel/testbench/worker/ExtractCases.h"

namespace cupel::cli {

/// Writes the cases to `output` (`-`: standard output); the exit code. `source` says what made the
/// model, for the file's heading.
int writeExtractedCases(const testbench::worker::ExtractedCases &made, const std::string &file,
                        const std::string &output, const std::string &source);

} // namespace cupel::cli
