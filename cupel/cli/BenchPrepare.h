// The worker's part of `cupel bench`: programs and models become workload folders, and the
// machine's limits are measured with our own kernels. Each answers in lines of JSON.
#pragma once

#include "cupel/compiler/backends/cpu/Report.h"

namespace cupel::cli {

/// `request` is the JSON object that testbench/bench/Session.cpp makes; returns the exit code.
int runBenchPrepare(const char *request);

/// What the machine does on so many threads; 0: as many as there are cores.
compiler::MachineRates measureMachine(int threads);

/// Answers every line of standard input with what the machine does on so many threads.
int runBenchLimits(const char *threads);

} // namespace cupel::cli
