// The worker's part of traces: a program's commands recorded into a file (`cupel compile --trace`), and
// such a file replayed (`cupel show trace --replay`).
#pragma once

#include "cupel/cli/GraphOptions.h"
#include "cupel/runtime/TraceFile.h"

namespace cupel::cli {

/// Compiles the program, runs it on made-up inputs until it is recorded, and holds what it gives against
/// a run without a trace. An error names the operation where it cannot be recorded.
Result<runtime::TraceFile> recordTrace(mlir::ModuleOp module, const GraphOptions &options);

/// `request` is the JSON object that ShowTrace.cpp makes; returns the exit code: 1 where results or
/// commands are not those of the file.
int runReplayTrace(const char *request);

} // namespace cupel::cli
