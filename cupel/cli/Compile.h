// The worker's part of `cupel compile`: a model or program written as StableHLO.
#pragma once

namespace cupel::cli {

/// `request` is the JSON object that CompileVerb.cpp makes; returns the exit code.
int runCompile(const char *request);

} // namespace cupel::cli
