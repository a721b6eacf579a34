// The golden reference as a backend: executables on its plan, one kernel after the other on whole
// tensors of the host. It runs every program, and other backends fall back on it.

#pragma once

#include "cupel/compiler/backends/Backend.h"

namespace cupel::compiler {

const Backend &referenceBackend();

} // namespace cupel::compiler
