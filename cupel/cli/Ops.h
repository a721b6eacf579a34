// The worker's part of `cupel ops`: what a model or program is made of.
#pragma once

namespace cupel::cli {

/// `request` is the JSON object that OpsVerb.cpp makes; returns the exit code.
int runOps(const char *request);
/// The same for `cupel ops extract` of ONNX models.
int runOpsExtractOnnx(const char *request);

} // namespace cupel::cli
