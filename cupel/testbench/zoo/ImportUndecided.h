// Lets a Python process import the loaders whose text leaves something open, and takes over what it
// reports. Only for `--import`; the process has a time limit, and a loader that cannot be imported
// stays undecided with Python's own words.
#pragma once

#include "cupel/testbench/zoo/Zoo.h"

namespace cupel::testbench::zoo {

/// Decides what can be decided among `result.loaders`; true if something was.
bool importUndecided(ReadLoaders &result, const ReadOptions &options);

} // namespace cupel::testbench::zoo
