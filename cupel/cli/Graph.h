// The worker's part of `cupel explore`: a program at every stage of its compilation as graphs of
// operations, in JSON (cupel/results/graph reads it).
#pragma once

namespace cupel::cli {

/// `request` is the JSON object that ExploreVerb.cpp makes; returns the exit code.
int runGraph(const char *request);

} // namespace cupel::cli
