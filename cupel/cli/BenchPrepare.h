// The worker's part of `cupel bench`: programs and models become workload folders, and the
// machine's limits are measured with our own kernels. Each answers in lines of JSON.
#pragma once

namespace cupel::cli {

/// `request` is the JSON object that testbench/bench/Session.cpp makes; returns the exit code.
int runBenchPrepare(const char *request);

/// Answers every line of standard input with what the machine does on so many threads.
int runBenchLimits(const char *threads);

} // namespace cupel::cli
