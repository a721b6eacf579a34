// The worker's part of `cupel tune --formats`: which weights of a model can be held in block floats for
// results that still correlate as asked with those of the weights as they are.
#pragma once

namespace cupel::cli {

/// `request` is the JSON object that TuneVerb.cpp makes; returns the exit code.
int runTuneFormats(const char *request);

} // namespace cupel::cli
