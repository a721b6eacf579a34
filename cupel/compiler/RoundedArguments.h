// Weights in block floats or bf16 that arrive as arguments, rounded once for each buffer: an executable around
// another that takes them rounded. What is made of a buffer is kept as packed weights are, and goes
// with it. Used by `compile`; where it does not apply, programs round what they are given in every run.
#pragma once

#include "cupel/compiler/backends/Backend.h"

namespace cupel::compiler {

/// Null where the program has no such weights, or is for several devices or for element types of a
/// device's own: then it is to be compiled as any other.
Result<ExecutablePointer> compileWithRoundedArguments(const Backend &backend, std::string_view source,
                                                      const CompileOptions &options);

} // namespace cupel::compiler
