// The compiler for the host's processor as a backend: StableHLO becomes tensor IR, device IR and
// kernels. What it has no kernel for runs on the golden reference's, inside the same program; whole
// programs that need other devices or sizes known at run time only are handed to the reference
// backend, which the program's notes say.

#pragma once

#include "cupel/compiler/backends/Backend.h"

namespace cupel::compiler {

const Backend &cpuBackend();

} // namespace cupel::compiler
