// Whether arguments are what a program takes. Every executable asks before it runs: hosts may give
// anything.

#pragma once

#include "cupel/runtime/Executable.h"

namespace cupel::runtime {

/// For every process a list of arguments of the right number, types and sizes.
Status checkArguments(const ProgramInfo &info, const ProcessTensors &arguments);

} // namespace cupel::runtime
