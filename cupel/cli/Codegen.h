// The worker's part of `cupel codegen`: a model or program written as standalone source code.
#pragma once

namespace cupel::cli {

/// `request` is the JSON object that CodegenVerb.cpp makes; returns the exit code.
int runCodegen(const char *request);

} // namespace cupel::cli
